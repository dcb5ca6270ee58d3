"""The logarithms of densities, masses and distribution functions in `jax.scipy.stats`."""

from __future__ import annotations

import inspect

import jax.scipy.stats as stats

from benchmarks.libraries._part import Part, function


def public() -> list[str]:
    modules = [name for name in sorted(dir(stats)) if inspect.ismodule(getattr(stats, name))]
    return [f"{m}.{name}" for m in modules for name in sorted(dir(getattr(stats, m))) if name.startswith("log")]


_ARGUMENTS = {
    "bernoulli": ("x: n:int", "p: n"),
    "beta": ("x: n", "a: n", "b: n"),
    "betabinom": ("x: n:int", "m: n:int", "a: n", "b: n"),
    "binom": ("x: n:int", "m: n:int", "p: n"),
    "cauchy": ("x: n", "loc: n", "scale: n"),
    "chi2": ("x: n", "df: n"),
    "dirichlet": ("x: d", "alpha: d"),
    "expon": ("x: n", "loc: n", "scale: n"),
    "gamma": ("x: n", "a: n", "loc: n", "scale: n"),
    "gennorm": ("x: n", "p: n"),
    "geom": ("x: n:int", "p: n"),
    "gumbel_l": ("x: n", "loc: n", "scale: n"),
    "gumbel_r": ("x: n", "loc: n", "scale: n"),
    "laplace": ("x: n", "loc: n", "scale: n"),
    "logistic": ("x: n", "loc: n", "scale: n"),
    "multinomial": ("x: d:int", "n: :int", "p: d"),
    "multivariate_normal": ("x: d", "mean: d", "cov: d d"),
    "nbinom": ("x: n:int", "m: n", "p: n"),
    "norm": ("x: n", "loc: n", "scale: n"),
    "pareto": ("x: n", "b: n", "loc: n", "scale: n"),
    "poisson": ("x: n:int", "mu: n"),
    "t": ("x: n", "df: n", "loc: n", "scale: n"),
    "truncnorm": ("x: n", "a: n", "b: n", "loc: n", "scale: n"),
    "uniform": ("x: n", "loc: n", "scale: n"),
    "vonmises": ("x: n", "kappa: n"),
    "wrapcauchy": ("x: n", "c: n"),
}


def _part(name: str) -> Part:
    module, function_name = name.split(".")
    return function(getattr(getattr(stats, module), function_name), *_ARGUMENTS[module], d=3)


PARTS = {name: _part(name) for name in public() if name.split(".")[0] in _ARGUMENTS}
