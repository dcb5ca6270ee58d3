"""An infinity that is passed by is to have a value all the same: −∞·exp(log x) is none for x < 0."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certgrad


def low(x):
    return -np.inf * jnp.exp(jnp.log(x))


THROUGH = {
    "maximum": lambda x, g: jnp.maximum(g, low(x)),
    "minimum": lambda x, g: jnp.minimum(g, -low(x)),
    "above": lambda x, g: jnp.where(g > low(x), g, 0.0),
    "two of them": lambda x, g: jnp.where(low(x) < -low(x), g, 0.0),
}


@pytest.mark.parametrize("name", THROUGH)
def test_a_cotangent_that_passes_by_an_infinity(name):
    f = jax.custom_vjp(lambda x: x * x / 2)
    f.defvjp(lambda x: (x * x / 2, x), lambda x, g: (x * THROUGH[name](x, g),))
    found = certgrad.check(f, "n -> n")
    assert (found.verdict, [str(h) for h in found.hypotheses]) == ("proved under hypotheses", ["x > 0"]), found


def test_one_entry_that_is_raised_to_an_infinity():
    """`exp(−∞)` is a number, and its slope is not that of the entry without its mask."""

    def value(x, y, kept):
        return jnp.exp(-x.at[0].max(jnp.where(kept, y, np.inf)))

    def back(r, g):
        x, y = r
        more = jnp.where(x[0] > y, 1.0, 0.0)
        g = -jnp.exp(-x.at[0].max(y)) * g
        return g.at[0].multiply(more), g[0] * (1 - more), None

    f = jax.custom_vjp(value)
    f.defvjp(lambda x, y, kept: (value(x, y, kept), (x, y)), back)
    found = certgrad.check(f, "n, , :bool -> n")
    assert "kept > 0" in [str(h) for h in found.hypotheses] or not found.proved, found


def over(divisor):
    return 1 / divisor


def guarded(x):
    return over(jnp.where(x == 0, np.inf, x))


def spectrum(a):
    return tuple(jnp.linalg.eigh(a))


def of_spectrum(factor):
    """With 1/(λj − λi) off the diagonal, where there is such a gap."""

    def bwd(a, g):
        (w, v), (dw, dv) = jnp.linalg.eigh(a), g
        gap = w[None, :] - w[:, None]
        return (v @ (jnp.diag(dw) + factor * over(jnp.where(gap == 0, np.inf, gap)) * (v.T @ dv)) @ v.T,)

    return bwd


def masked(x, m):
    return x / jnp.where(m, np.inf, 1 + x**2)


DIVIDED = {
    "an inverse": (guarded, lambda x, g: (-g * guarded(x) ** 2,), "n", (), "proved under hypotheses"),
    "its sign": (guarded, lambda x, g: (g * guarded(x) ** 2,), "n", (), "refuted"),
    "gaps": (spectrum, of_spectrum(1), "n n", "a is symmetric", "proved under hypotheses"),
    "gaps the other way": (spectrum, of_spectrum(-1), "n n", "a is symmetric", "refuted"),
    "a mask": (
        masked,
        lambda x, m, g: (jnp.where(m, 0, g * (1 - x**2) / (1 + x**2) ** 2), None),
        "n, n:bool",
        (),
        "proved",
    ),
    "a mask that is forgotten": (
        masked,
        lambda x, m, g: (g * (1 - x**2) / (1 + x**2) ** 2, None),
        "n, n:bool",
        (),
        "refuted",
    ),
    "a large number is no infinity": (
        lambda x: x * 1.0,
        lambda x, g: (g + g / jnp.where(x > 0, 1e30, 1e31),),
        "n",
        (),
        "unproved",
    ),
}


@pytest.mark.parametrize("name", DIVIDED)
def test_a_number_divided_by_an_infinity_is_0(name):
    f, bwd, signature, domain, verdict = DIVIDED[name]
    rule = jax.custom_vjp(lambda a: f(a)) if f is spectrum else jax.custom_vjp(f)
    rule.defvjp(lambda *a: (f(*a), a), lambda r, g: bwd(*r, g))
    report = certgrad.check(rule, signature, domain=domain)
    assert report.verdict == verdict, report
