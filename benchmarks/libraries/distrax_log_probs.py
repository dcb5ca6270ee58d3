"""The log-probabilities of distrax, of the value and of every parameter."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import distrax

from benchmarks.libraries._part import Part, function, untried


def public() -> list[str]:
    return [
        n
        for n in sorted(dir(distrax))
        if inspect.isclass(one := getattr(distrax, n)) and issubclass(one, distrax.Distribution)
    ]


def log_prob(make: Callable[..., Any], *specs: str, **sizes: int) -> Part:
    """Of a distribution made of all arguments but the first, at the first."""
    return function(lambda x, *parameters: make(*parameters).log_prob(x), *specs, **sizes)


def quantised(loc: Any, scale: Any) -> Any:
    return distrax.Quantized(distrax.Normal(loc, scale), low=0, high=9)


def through_bijectors(loc: Any, scale: Any) -> Any:
    return distrax.Transformed(
        distrax.Normal(loc, scale), distrax.Chain([distrax.Tanh(), distrax.ScalarAffine(0.5, 2.0)])
    )


PARTS: dict[str, Part] = {
    "Bernoulli": log_prob(distrax.Bernoulli, "x: n:int", "logits: n"),
    "Beta": log_prob(distrax.Beta, "x: n", "a: n", "b: n"),
    "Categorical": log_prob(distrax.Categorical, "x: n:int", "logits: n k"),
    "CategoricalUniform": log_prob(
        lambda low, high, logits: distrax.CategoricalUniform(low=low, high=high, logits=logits),
        "x: n",
        "low: n",
        "high: n",
        "logits: n k",
    ),
    "Clipped": log_prob(
        lambda loc, scale: distrax.Clipped(distrax.Logistic(loc, scale), -1.0, 1.0), "x: n", "loc: n", "scale: n"
    ),
    "ClippedLogistic": log_prob(
        lambda loc, scale: distrax.ClippedLogistic(loc, scale, -1.0, 1.0), "x: n", "loc: n", "scale: n"
    ),
    "ClippedNormal": log_prob(
        lambda loc, scale: distrax.ClippedNormal(loc, scale, -1.0, 1.0), "x: n", "loc: n", "scale: n"
    ),
    "Deterministic": log_prob(distrax.Deterministic, "x: n", "loc: n"),
    "Dirichlet": log_prob(distrax.Dirichlet, "x: n d", "concentration: n d"),
    "Distribution": untried("the base class"),
    "EpsilonGreedy": log_prob(lambda q: distrax.EpsilonGreedy(q, 0.1), "x: n:int", "q: n k"),
    "Gamma": log_prob(distrax.Gamma, "x: n", "concentration: n", "rate: n"),
    "Greedy": log_prob(distrax.Greedy, "x: n:int", "q: n k"),
    "Gumbel": log_prob(distrax.Gumbel, "x: n", "loc: n", "scale: n"),
    "Independent": log_prob(
        lambda loc, scale: distrax.Independent(distrax.Normal(loc, scale), 1), "x: n d", "loc: n d", "scale: n d"
    ),
    "Joint": function(
        lambda x, y, loc, scale, rate: distrax.Joint((distrax.Normal(loc, scale), distrax.Gamma(rate, rate))).log_prob(
            (x, y)
        ),
        "x: n",
        "y: n",
        "loc: n",
        "scale: n",
        "rate: n",
    ),
    "Laplace": log_prob(distrax.Laplace, "x: n", "loc: n", "scale: n"),
    "LogStddevNormal": log_prob(distrax.LogStddevNormal, "x: n", "loc: n", "log_scale: n"),
    "Logistic": log_prob(distrax.Logistic, "x: n", "loc: n", "scale: n"),
    "MixtureOfTwo": log_prob(
        lambda loc, scale: distrax.MixtureOfTwo(0.3, distrax.Normal(loc, scale), distrax.Laplace(loc, scale)),
        "x: n",
        "loc: n",
        "scale: n",
    ),
    "MixtureSameFamily": log_prob(
        lambda logits, loc, scale: distrax.MixtureSameFamily(distrax.Categorical(logits), distrax.Normal(loc, scale)),
        "x: n",
        "logits: n k",
        "loc: n k",
        "scale: n k",
    ),
    "Multinomial": log_prob(lambda logits: distrax.Multinomial(total_count=5, logits=logits), "x: n k", "logits: n k"),
    "MultivariateNormalDiag": log_prob(distrax.MultivariateNormalDiag, "x: n d", "loc: n d", "scale: n d"),
    "MultivariateNormalDiagPlusLowRank": log_prob(
        distrax.MultivariateNormalDiagPlusLowRank, "x: d", "loc: d", "scale: d", "u: d k", k=2
    ),
    "MultivariateNormalFromBijector": log_prob(
        lambda loc, matrix: distrax.MultivariateNormalFromBijector(loc, distrax.TriangularLinear(matrix)),
        "x: d",
        "loc: d",
        "matrix: d d",
    ),
    "MultivariateNormalFullCovariance": log_prob(
        distrax.MultivariateNormalFullCovariance, "x: d", "loc: d", "covariance: d d", d=3
    ),
    "MultivariateNormalTri": log_prob(distrax.MultivariateNormalTri, "x: d", "loc: d", "scale: d d"),
    "Normal": log_prob(distrax.Normal, "x: n", "loc: n", "scale: n"),
    "OneHotCategorical": log_prob(distrax.OneHotCategorical, "x: n k", "logits: n k"),
    "Quantized": log_prob(quantised, "x: n:int", "loc: n", "scale: n"),
    "Softmax": log_prob(lambda logits: distrax.Softmax(logits, 0.5), "x: n:int", "logits: n k"),
    "Transformed": log_prob(through_bijectors, "x: n", "loc: n", "scale: n"),
    "Uniform": log_prob(distrax.Uniform, "x: n", "low: n", "high: n"),
    "VonMises": log_prob(distrax.VonMises, "x: n", "loc: n", "concentration: n"),
}
