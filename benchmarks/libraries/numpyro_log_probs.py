"""The log-probabilities of numpyro, of the value and of every parameter."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpyro.distributions as dist

from benchmarks.libraries._part import Part, function, untried


def public() -> list[str]:
    """Distributions, and functions that make one."""
    others = {"biject_to", "kl_divergence"}
    return [n for n in sorted(dist.__all__) if not inspect.ismodule(getattr(dist, n)) and n not in others]


def log_prob(make: Callable[..., Any], *specs: str, **sizes: int) -> Part:
    """Of a distribution made of all arguments but the first, at the first."""
    return function(lambda x, *parameters: make(*parameters).log_prob(x), *specs, **sizes)


def named(make: Callable[..., Any], x: str, *parameters: str, **sizes: int) -> Part:
    """The same with parameters that are handed on by their names."""
    names = [spec.split(":")[0] for spec in parameters]
    return log_prob(lambda *given: make(**dict(zip(names, given, strict=True))), x, *parameters, **sizes)


def symmetric(x: Any) -> Any:
    return (x + x.T) / 2


def of_matrix(made: Callable[[Any], Any], distribution: Callable[..., Any], **sizes: int) -> Part:
    """Of a matrix that is made symmetric, or triangular, first: beside such matrices there is no density."""

    def of(x: Any, concentration: Any, scale_tril: Any) -> Any:
        return distribution(concentration, scale_tril=scale_tril).log_prob(made(x))

    return function(of, "x: d d", "concentration: ", "scale_tril: d d", **sizes)


REAL, WHOLE = "x: n", "x: n:int"
LOC_SCALE = (REAL, "loc: n", "scale: n")


def normal(loc: Any, scale: Any) -> Any:
    return dist.Normal(loc, scale)


def drift(x: Any, t: Any) -> Any:
    """Of an Ornstein–Uhlenbeck process, and its diffusion."""
    return -x, jnp.ones_like(x)


PARTS: dict[str, Part] = {
    "AsymmetricLaplace": log_prob(dist.AsymmetricLaplace, *LOC_SCALE, "asymmetry: n"),
    "AsymmetricLaplaceQuantile": log_prob(dist.AsymmetricLaplaceQuantile, *LOC_SCALE, "quantile: n"),
    "Bernoulli": log_prob(dist.Bernoulli, WHOLE, "probs: n"),
    "BernoulliLogits": log_prob(dist.BernoulliLogits, WHOLE, "logits: n"),
    "BernoulliProbs": log_prob(dist.BernoulliProbs, WHOLE, "probs: n"),
    "Beta": log_prob(dist.Beta, REAL, "a: n", "b: n"),
    "BetaBinomial": log_prob(dist.BetaBinomial, WHOLE, "a: n", "b: n", "total: n:int"),
    "BetaNegativeBinomial": log_prob(dist.BetaNegativeBinomial, WHOLE, "a: n", "b: n", "total: n"),
    "BetaProportion": log_prob(dist.BetaProportion, REAL, "mean: n", "concentration: n"),
    "Binomial": log_prob(dist.Binomial, WHOLE, "total: n:int", "probs: n"),
    "BinomialLogits": log_prob(dist.BinomialLogits, WHOLE, "logits: n", "total: n:int"),
    "BinomialProbs": log_prob(dist.BinomialProbs, WHOLE, "probs: n", "total: n:int"),
    "CAR": named(dist.CAR, "x: d", "loc: d", "correlation: ", "conditional_precision: ", "adj_matrix: d d", d=3),
    "Categorical": log_prob(dist.Categorical, WHOLE, "probs: n k"),
    "CategoricalLogits": log_prob(dist.CategoricalLogits, WHOLE, "logits: n k"),
    "CategoricalProbs": log_prob(dist.CategoricalProbs, WHOLE, "probs: n k"),
    "Cauchy": log_prob(dist.Cauchy, *LOC_SCALE),
    "Chi2": log_prob(dist.Chi2, REAL, "df: n"),
    "CirculantNormal": log_prob(dist.CirculantNormal, "x: d", "loc: d", "covariance_row: d"),
    "Dagum": log_prob(dist.Dagum, REAL, "concentration: n", "sharpness: n", "scale: n"),
    "Delta": log_prob(dist.Delta, REAL, "v: n", "log_density: n"),
    "Dirichlet": log_prob(dist.Dirichlet, "x: n d", "concentration: n d"),
    "DirichletMultinomial": log_prob(dist.DirichletMultinomial, "x: n d:int", "concentration: n d", "total: n:int"),
    "DiscreteUniform": log_prob(dist.DiscreteUniform, WHOLE, "low: n:int", "high: n:int"),
    "Distribution": untried("the base class"),
    "DoublyTruncatedPowerLaw": log_prob(dist.DoublyTruncatedPowerLaw, REAL, "alpha: n", "low: n", "high: n"),
    "EulerMaruyama": log_prob(
        lambda t, loc, scale: dist.EulerMaruyama(t, drift, dist.Normal(loc, scale)),
        "x: t",
        "times: t",
        "loc: ",
        "scale: ",
    ),
    "ExpandedDistribution": log_prob(
        lambda loc, scale: dist.Normal(loc, scale).expand([3, *loc.shape]), "x: 3 n", "loc: n", "scale: n"
    ),
    "Exponential": log_prob(dist.Exponential, REAL, "rate: n"),
    "FoldedDistribution": log_prob(lambda *given: dist.FoldedDistribution(normal(*given)), *LOC_SCALE),
    "Gamma": log_prob(dist.Gamma, REAL, "concentration: n", "rate: n"),
    "GammaPoisson": log_prob(dist.GammaPoisson, WHOLE, "concentration: n", "rate: n"),
    "GaussianCopula": log_prob(
        lambda loc, scale, matrix: dist.GaussianCopula(normal(loc, scale), correlation_cholesky=matrix),
        "x: d",
        "loc: d",
        "scale: d",
        "correlation: d d",
    ),
    "GaussianCopulaBeta": log_prob(
        lambda a, b, matrix: dist.GaussianCopulaBeta(a, b, correlation_cholesky=matrix),
        "x: d",
        "a: d",
        "b: d",
        "correlation: d d",
    ),
    "GaussianRandomWalk": function(
        lambda x, scale: dist.GaussianRandomWalk(scale, x.shape[-1]).log_prob(x), "x: n t", "scale: n"
    ),
    "GaussianStateSpace": function(
        lambda x, transition, scale: dist.GaussianStateSpace(x.shape[0], transition, scale_tril=scale).log_prob(x),
        "x: t d",
        "transition: d d",
        "scale: d d",
    ),
    "Geometric": log_prob(dist.Geometric, WHOLE, "probs: n"),
    "GeometricLogits": log_prob(dist.GeometricLogits, WHOLE, "logits: n"),
    "GeometricProbs": log_prob(dist.GeometricProbs, WHOLE, "probs: n"),
    "Gompertz": log_prob(dist.Gompertz, REAL, "concentration: n", "rate: n"),
    "Gumbel": log_prob(dist.Gumbel, *LOC_SCALE),
    "HalfCauchy": log_prob(dist.HalfCauchy, REAL, "scale: n"),
    "HalfNormal": log_prob(dist.HalfNormal, REAL, "scale: n"),
    "HurdleDistribution": log_prob(
        lambda rate, gate: dist.HurdleDistribution(dist.Poisson(rate), gate=gate), WHOLE, "rate: n", "gate: n"
    ),
    "HurdleGamma": log_prob(dist.HurdleGamma, REAL, "gate: n", "concentration: n", "rate: n"),
    "HurdleLogNormal": log_prob(dist.HurdleLogNormal, REAL, "gate: n", "loc: n", "scale: n"),
    "HurdleLogits": log_prob(
        lambda rate, gate: dist.HurdleLogits(dist.Poisson(rate), gate), WHOLE, "rate: n", "gate: n"
    ),
    "HurdleNegativeBinomial2": log_prob(dist.HurdleNegativeBinomial2, WHOLE, "gate: n", "mean: n", "concentration: n"),
    "HurdlePoisson": log_prob(dist.HurdlePoisson, WHOLE, "gate: n", "rate: n"),
    "HurdleProbs": log_prob(lambda rate, gate: dist.HurdleProbs(dist.Poisson(rate), gate), WHOLE, "rate: n", "gate: n"),
    "ImproperUniform": log_prob(lambda: dist.ImproperUniform(dist.constraints.real, (), ()), REAL),
    "Independent": log_prob(
        lambda loc, scale: dist.Independent(dist.Normal(loc, scale), 1), "x: n d", "loc: n d", "scale: n d"
    ),
    "IntervalCensoredDistribution": log_prob(
        lambda loc, scale, left, right: dist.IntervalCensoredDistribution(normal(loc, scale), left, right),
        "x: n 2",
        "loc: n",
        "scale: n",
        "left: n:bool",
        "right: n:bool",
    ),
    "InverseGamma": log_prob(dist.InverseGamma, REAL, "concentration: n", "rate: n"),
    "InverseWishart": of_matrix(symmetric, dist.InverseWishart, d=2),
    "InverseWishartCholesky": of_matrix(jnp.tril, dist.InverseWishartCholesky, d=2),
    "Kumaraswamy": log_prob(dist.Kumaraswamy, REAL, "a: n", "b: n"),
    "LKJ": function(lambda x, c: dist.LKJ(x.shape[-1], c).log_prob(symmetric(x)), "x: d d", "concentration: ", d=3),
    "LKJCholesky": function(
        lambda x, c: dist.LKJCholesky(x.shape[-1], c).log_prob(jnp.tril(x)), "x: d d", "concentration: ", d=3
    ),
    "Laplace": log_prob(dist.Laplace, *LOC_SCALE),
    "LeftCensoredDistribution": log_prob(
        lambda loc, scale, censored: dist.LeftCensoredDistribution(normal(loc, scale), censored),
        *LOC_SCALE,
        "censored: n:bool",
    ),
    "LeftTruncatedDistribution": log_prob(
        lambda loc, scale, low: dist.LeftTruncatedDistribution(normal(loc, scale), low), *LOC_SCALE, "low: n"
    ),
    "LeftTruncatedGamma": log_prob(
        lambda a, rate, low: dist.LeftTruncatedGamma(dist.Gamma(a, rate), low), REAL, "a: n", "rate: n", "low: n"
    ),
    "Levy": log_prob(dist.Levy, *LOC_SCALE),
    "LogNormal": log_prob(dist.LogNormal, *LOC_SCALE),
    "LogUniform": log_prob(dist.LogUniform, REAL, "low: n", "high: n"),
    "Logistic": log_prob(dist.Logistic, *LOC_SCALE),
    "LowRankMultivariateNormal": log_prob(
        dist.LowRankMultivariateNormal, "x: d", "loc: d", "factor: d k", "diagonal: d", d=3, k=2
    ),
    "LowerTruncatedPowerLaw": log_prob(dist.LowerTruncatedPowerLaw, REAL, "alpha: n", "low: n"),
    "MaskedDistribution": log_prob(
        lambda loc, scale, mask: dist.MaskedDistribution(normal(loc, scale), mask), *LOC_SCALE, "mask: n:bool"
    ),
    "MatrixNormal": log_prob(dist.MatrixNormal, "x: n d", "loc: n d", "rows: n n", "columns: d d", d=3),
    "Mixture": log_prob(
        lambda logits, loc, scale: dist.Mixture(dist.Categorical(logits=logits), dist.Normal(loc, scale)),
        REAL,
        "logits: n k",
        "loc: n k",
        "scale: n k",
    ),
    "MixtureGeneral": log_prob(
        lambda logits, loc, scale: dist.MixtureGeneral(
            dist.Categorical(logits=logits), [dist.Normal(loc, scale), dist.Laplace(loc, scale)]
        ),
        REAL,
        "logits: n 2",
        "loc: n",
        "scale: n",
    ),
    "MixtureSameFamily": log_prob(
        lambda logits, loc, scale: dist.MixtureSameFamily(dist.Categorical(logits=logits), dist.Normal(loc, scale)),
        REAL,
        "logits: n k",
        "loc: n k",
        "scale: n k",
    ),
    "Multinomial": log_prob(lambda probs: dist.Multinomial(5, probs, total_count_max=5), "x: n k:int", "probs: n k"),
    "MultinomialLogits": log_prob(
        lambda logits: dist.MultinomialLogits(logits, 5, total_count_max=5), "x: n k:int", "logits: n k"
    ),
    "MultinomialProbs": log_prob(
        lambda probs: dist.MultinomialProbs(probs, 5, total_count_max=5), "x: n k:int", "probs: n k"
    ),
    "MultivariateNormal": log_prob(dist.MultivariateNormal, "x: d", "loc: d", "covariance: d d", d=3),
    "MultivariateStudentT": log_prob(dist.MultivariateStudentT, "x: d", "df: ", "loc: d", "scale_tril: d d", d=3),
    "NegativeBinomial": log_prob(dist.NegativeBinomial, WHOLE, "total: n", "probs: n"),
    "NegativeBinomial2": log_prob(dist.NegativeBinomial2, WHOLE, "mean: n", "concentration: n"),
    "NegativeBinomialLogits": log_prob(dist.NegativeBinomialLogits, WHOLE, "total: n", "logits: n"),
    "NegativeBinomialProbs": log_prob(dist.NegativeBinomialProbs, WHOLE, "total: n", "probs: n"),
    "Normal": log_prob(dist.Normal, *LOC_SCALE),
    "OrderedLogistic": log_prob(dist.OrderedLogistic, WHOLE, "predictor: n", "cutpoints: k"),
    "Pareto": log_prob(dist.Pareto, REAL, "scale: n", "alpha: n"),
    "Poisson": log_prob(dist.Poisson, WHOLE, "rate: n"),
    "ProjectedNormal": log_prob(dist.ProjectedNormal, "x: n 2", "concentration: n 2"),
    "RelaxedBernoulli": log_prob(lambda t, logits: dist.RelaxedBernoulli(t, logits=logits), REAL, "t: n", "logits: n"),
    "RelaxedBernoulliLogits": log_prob(dist.RelaxedBernoulliLogits, REAL, "t: n", "logits: n"),
    "RightCensoredDistribution": log_prob(
        lambda loc, scale, censored: dist.RightCensoredDistribution(normal(loc, scale), censored),
        *LOC_SCALE,
        "censored: n:bool",
    ),
    "RightTruncatedDistribution": log_prob(
        lambda loc, scale, high: dist.RightTruncatedDistribution(normal(loc, scale), high), *LOC_SCALE, "high: n"
    ),
    "RightTruncatedGamma": log_prob(
        lambda a, rate, high: dist.RightTruncatedGamma(dist.Gamma(a, rate), high), REAL, "a: n", "rate: n", "high: n"
    ),
    "SineBivariateVonMises": log_prob(
        dist.SineBivariateVonMises, "x: n 2", "phi: n", "psi: n", "a: n", "b: n", "correlation: n"
    ),
    "SineSkewed": log_prob(
        lambda loc, concentration, skewness: dist.SineSkewed(dist.VonMises(loc, concentration).to_event(1), skewness),
        "x: d",
        "loc: d",
        "concentration: d",
        "skewness: d",
    ),
    "SoftLaplace": log_prob(dist.SoftLaplace, *LOC_SCALE),
    "StudentT": log_prob(dist.StudentT, REAL, "df: n", "loc: n", "scale: n"),
    "TransformedDistribution": log_prob(
        lambda loc, scale: dist.TransformedDistribution(
            normal(loc, scale), [dist.transforms.AffineTransform(1.0, 2.0), dist.transforms.ExpTransform()]
        ),
        *LOC_SCALE,
    ),
    "TruncatedCauchy": named(dist.TruncatedCauchy, *LOC_SCALE, "low: n", "high: n"),
    "TruncatedDistribution": log_prob(
        lambda loc, scale, low, high: dist.TruncatedDistribution(normal(loc, scale), low=low, high=high),
        *LOC_SCALE,
        "low: n",
        "high: n",
    ),
    "TruncatedGamma": named(dist.TruncatedGamma, REAL, "concentration: n", "rate: n", "low: n", "high: n"),
    "TruncatedNormal": named(dist.TruncatedNormal, *LOC_SCALE, "low: n", "high: n"),
    "TruncatedPolyaGamma": log_prob(lambda: dist.TruncatedPolyaGamma(), REAL),
    "TwoSidedTruncatedDistribution": log_prob(
        lambda loc, scale, low, high: dist.TwoSidedTruncatedDistribution(normal(loc, scale), low, high),
        *LOC_SCALE,
        "low: n",
        "high: n",
    ),
    "TwoSidedTruncatedGamma": log_prob(
        lambda a, rate, low, high: dist.TwoSidedTruncatedGamma(dist.Gamma(a, rate), low, high),
        REAL,
        "a: n",
        "rate: n",
        "low: n",
        "high: n",
    ),
    "Uniform": log_prob(dist.Uniform, REAL, "low: n", "high: n"),
    "Unit": log_prob(dist.Unit, REAL, "log_factor: n"),
    "VonMises": log_prob(dist.VonMises, REAL, "loc: n", "concentration: n"),
    "Weibull": log_prob(dist.Weibull, REAL, "scale: n", "concentration: n"),
    "Wishart": of_matrix(symmetric, dist.Wishart, d=2),
    "WishartCholesky": of_matrix(jnp.tril, dist.WishartCholesky, d=2),
    "ZeroInflatedDistribution": log_prob(
        lambda rate, gate: dist.ZeroInflatedDistribution(dist.Poisson(rate), gate=gate), WHOLE, "rate: n", "gate: n"
    ),
    "ZeroInflatedLogits": log_prob(
        lambda rate, gate: dist.ZeroInflatedLogits(dist.Poisson(rate), gate), WHOLE, "rate: n", "gate: n"
    ),
    "ZeroInflatedNegativeBinomial2": log_prob(
        lambda mean, concentration, gate: dist.ZeroInflatedNegativeBinomial2(mean, concentration, gate=gate),
        WHOLE,
        "mean: n",
        "concentration: n",
        "gate: n",
    ),
    "ZeroInflatedPoisson": log_prob(dist.ZeroInflatedPoisson, WHOLE, "gate: n", "rate: n"),
    "ZeroInflatedProbs": log_prob(
        lambda rate, gate: dist.ZeroInflatedProbs(dist.Poisson(rate), gate), WHOLE, "rate: n", "gate: n"
    ),
    "ZeroSumNormal": function(
        lambda x, scale: dist.ZeroSumNormal(scale, event_shape=(x.shape[-1],)).log_prob(x), "x: d", "scale: "
    ),
}
