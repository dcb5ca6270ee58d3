"""Sums over both sides of a number: they are all there is where it is not 0, and only there."""

import jax
import jax.numpy as jnp
import pytest

from certgrad import check


def counted(x):
    """How many entries are not 0, times the sum."""
    return jnp.sum(jnp.where(x > 0, 1.0, 0.0) + jnp.where(x < 0, 1.0, 0.0)) * jnp.sum(x)


def rule(forward, value, slope):
    f = jax.custom_vjp(forward)
    f.defvjp(lambda x: (value(x), x), lambda x, g: (g * slope(x),))
    return f


ALL = rule(counted, lambda x: x.shape[0] * jnp.sum(x), lambda x: x.shape[0] * jnp.ones_like(x))


def test_where_no_entry_is_zero():
    assert check(ALL, "n -> ", domain="x != 0").verdict in ("proved", "proved under hypotheses")


@pytest.mark.parametrize("domain", ["x >= 0", "x > -1", "abs(x) < 1"])
def test_where_an_entry_may_be_zero(domain):
    """The value differs at x = 0, which the domain allows."""
    assert check(ALL, "n -> ", domain=domain).verdict in ("unproved", "refuted")


LOGS = rule(
    lambda x: jnp.sum(jnp.log(jnp.abs(x))) ** 2,
    lambda x: jnp.sum(jnp.log(jnp.abs(x))) ** 2,
    lambda x: 2 * jnp.sum(jnp.log(jnp.abs(x))) / x,
)


def test_the_reciprocal_of_a_sign():
    assert check(LOGS, "n -> ").verdict == "proved under hypotheses"
    of_squares = rule(
        lambda x: jnp.sum(x / jnp.abs(x)) * jnp.sum(x),
        lambda x: jnp.sum(jnp.abs(x) / x) * jnp.sum(x),
        lambda x: jnp.sum(jnp.sign(x)) * jnp.ones_like(x),
    )
    assert check(of_squares, "n -> ").verdict == "proved under hypotheses"


def test_a_sign_is_not_its_square():
    wrong = rule(
        lambda x: jnp.sum(x / jnp.abs(x)) * jnp.sum(x),
        lambda x: jnp.sum(x**2 / jnp.abs(x) ** 2) * jnp.sum(x),
        lambda x: jnp.sum(jnp.sign(x) ** 2) * jnp.ones_like(x),
    )
    assert check(wrong, "n -> ").verdict == "refuted"


def of_eigenvectors(factor):
    """The JVP of a symmetric matrix's eigenvalues and eigenvectors, with 1/(λ_j − λ_i) as the factor gives it."""

    @jax.custom_jvp
    def f(a):
        return jnp.linalg.eigh((a + a.T) / 2, symmetrize_input=False)

    @f.defjvp
    def jvp(primals, tangents):
        (a,), (da,) = primals, tangents
        w, v = f(a)
        m = v.T @ ((da + da.T) / 2) @ v
        gap = w[None, :] - w[:, None]
        return (w, v), (jnp.diagonal(m), v @ (factor(gap) * m))

    return f


def guarded(gap, otherwise=0.0):
    return jnp.where(gap == 0, otherwise, 1 / jnp.where(gap == 0, 1.0, gap))


def off_diagonal(gap, inverse):
    return jnp.where(jnp.eye(gap.shape[0], dtype=bool), 0.0, inverse)


FACTORS = {
    "no gap at equal places alone": (guarded, "proved under hypotheses"),
    "by both sides": (
        lambda gap: jnp.where((gap > 0) | (gap < 0), 1 / jnp.where(gap == 0, 1.0, gap), 0.0),
        "proved under hypotheses",
    ),
    "by an absolute value": (
        lambda gap: jnp.where(jnp.abs(gap) > 0, 1 / jnp.where(gap == 0, 1.0, gap), 0.0),
        "proved under hypotheses",
    ),
    "turned twice": (lambda gap: -guarded(-gap), "proved under hypotheses"),
    "off the diagonal": (lambda gap: off_diagonal(gap, 1 / gap), "proved under hypotheses"),
    "off the diagonal, turned": (lambda gap: off_diagonal(gap, 1 / gap.T), "refuted"),
    "off the diagonal, turned twice": (lambda gap: off_diagonal(gap, -1 / gap.T), "proved under hypotheses"),
    "a perfect square": (lambda gap: off_diagonal(gap, gap / (gap * gap)), "proved under hypotheses"),
    "the diagonal too": (lambda gap: guarded(gap, 1.0), "refuted"),
    "above the diagonal": (lambda gap: jnp.where(gap > 0, guarded(gap), 0.0), "refuted"),
    "broadened": (lambda gap: gap / (gap * gap + 1e-6), "refuted"),
    "another sign": (lambda gap: guarded(-gap), "refuted"),
}


@pytest.mark.parametrize("name", FACTORS)
def test_gaps_of_eigenvalues(name):
    factor, verdict = FACTORS[name]
    report = check(of_eigenvectors(factor), "n n", conformance=False)
    assert report.verdict == verdict
    if verdict != "refuted":
        assert any("no repeated eigenvalue" in h for h in report.hypotheses)


@pytest.mark.parametrize("name", FACTORS)
def test_gaps_of_eigenvalues_in_reverse_mode(name):
    """Sums over both places of a gap, which can be turned about."""
    factor, verdict = FACTORS[name]
    function = of_eigenvectors(factor)
    rule = jax.custom_vjp(lambda a: tuple(jnp.linalg.eigh((a + a.T) / 2, symmetrize_input=False)))
    rule.defvjp(lambda a: (rule(a), a), lambda a, g: jax.vjp(lambda x: tuple(function(x)), a)[1](g))
    assert check(rule, "n n", conformance=False).verdict == verdict
