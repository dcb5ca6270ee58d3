"""Conditions on entries of padded and joined arrays: hypotheses speak of every array that is read, and of paddings."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from certgrad import check


def asked_of(made, signature):
    """The verdict on a rule of Σ x whose backward adds 0·Σ log of an array, and what it is proved under."""
    rule = jax.custom_vjp(lambda x, *more: jnp.sum(x))

    def backward(saved, seed):
        x, *more = saved
        return (seed * jnp.ones_like(x) + 0.0 * jnp.sum(jnp.log(made(*saved))), *(0.0 * y for y in more))

    rule.defvjp(lambda *args: (jnp.sum(args[0]), args), backward)
    found = check(rule, signature, conformance=False, sizes=None)
    (claim,) = (c for c in found.claims if c.kind == "vjp_is_adjoint")
    return claim.verdict, sorted(h.text for h in claim.hypotheses), found.reason


@pytest.mark.parametrize(
    "made, signature, hypotheses",
    [
        (lambda x, y: jnp.concatenate([x, y]), "n, m -> ", ["more_0 > 0", "x > 0"]),
        (lambda x, y: jnp.concatenate([y, x, y]), "n, m -> ", ["more_0 > 0", "x > 0"]),
        (lambda x, y: jnp.concatenate([x, y]), "2, 3 -> ", ["more_0 > 0", "x > 0"]),
        (lambda x, s: lax.pad(x, s, [(0, 2, 0)]), "n,  -> ", ["more_0 > 0", "x > 0"]),
        (lambda x, s: lax.pad(x, s, [(2, 0, 0)]), "n,  -> ", ["more_0 > 0", "x > 0"]),
        (lambda x: lax.pad(x, 1.0, [(0, 2, 0)]), "n -> ", ["x > 0"]),
        (lambda x, s: jnp.where(jnp.arange(2 * x.shape[0]) >= x.shape[0], s, 1.0), "n,  -> ", ["more_0 > 0"]),
    ],
)
def test_every_array_that_is_read_is_spoken_of(made, signature, hypotheses):
    assert asked_of(made, signature)[:2] == ("proved under hypotheses", hypotheses)


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    "made",
    [
        lambda x: jnp.pad(x, (0, 2)),
        lambda x: jnp.pad(x, (2, 0)),
        lambda x: lax.pad(x, -1.0, [(0, 2, 0)]),
        lambda x: jnp.concatenate([x, 0.0 * x]),
        lambda x: jnp.diag(x),
    ],
)
@pytest.mark.parametrize("signature", ["n -> ", "3 -> "])
def test_what_holds_nowhere_in_a_padding_proves_nothing(made, signature):
    verdict, _, reason = asked_of(made, signature)
    assert verdict in ("unproved", "refuted")
    assert "defect" not in reason


def test_of_two_conditions_on_one_term_that_with_more_places_counts():
    def joined(x, y):
        whole = jnp.concatenate([x, y])
        return whole * jnp.exp(jnp.sum(0.0 * jnp.log(whole[: x.shape[0] + 1])))

    assert asked_of(joined, "n, m -> ")[1] == ["more_0 > 0", "x > 0"]


def test_a_seam_in_an_array_that_is_joined():
    """The rule is wrong where an entry of the second array is 0, and right elsewhere."""

    def f(x, y):
        return jnp.sum(jnp.abs(jnp.concatenate([x, y])))

    rule = jax.custom_vjp(f)
    rule.defvjp(lambda x, y: (f(x, y), (x, y)), lambda r, g: (g * jnp.sign(r[0]), g * jnp.sign(r[1])))
    found = check(rule, "n, m -> ", conformance=False)
    assert sorted({h.text for c in found.claims for h in c.hypotheses}) == ["x ≠ 0", "y ≠ 0"]
    wrong = jax.custom_vjp(f)
    wrong.defvjp(lambda x, y: (f(x, y), (x, y)), lambda r, g: (g * jnp.sign(r[0]), g * jnp.ones_like(r[1])))
    assert check(wrong, "n, m -> ", conformance=False).verdict == "refuted"


def test_a_condition_on_the_factors_of_a_small_matrix():
    """A point for hypotheses is looked for at sizes at which the matrix has fewer rows."""

    def made(a):
        return lax.linalg.lu(a)[0]

    assert asked_of(made, "2 2 -> ")[0] in ("proved under hypotheses", "unproved", "refuted")
