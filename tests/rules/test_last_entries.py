"""Hypotheses on entries beside each other, or on arrays of different lengths, say nothing of the entries beyond."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import certgrad

pytestmark = pytest.mark.usefixtures("proofs_alone")


def asked(value, signature):
    """The hypotheses of the rule that is JAX's own derivative."""
    rule = jax.custom_vjp(value)
    rule.defvjp(lambda *args: (value(*args), args), lambda args, seed: jax.vjp(value, *args)[1](seed))
    report = certgrad.check(rule, signature)
    assert report.verdict == "proved under hypotheses", report
    return set(report.hypotheses)


def beside(x, y):
    """y < 0 and x[i] > −y[i] leave the last x as it may be."""
    return jnp.log(x[:-1] + y).sum() + jnp.log(-y).sum()


LAST = {
    "its logarithm": (lambda x, y: beside(x, y) + jnp.log(x).sum(), "x > 0"),
    "that of its square": (lambda x, y: beside(x, y) + jnp.log(x * x).sum(), "x ≠ 0"),
    "beside squares": (lambda x, y: beside(x, y) + jnp.log(x + jnp.pad(y * y, (0, 1))).sum(), "x[n] > 0"),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", LAST)
def test_the_last_entry_of_a_longer_array(name):
    value, wanted = LAST[name]
    assert wanted in asked(value, "n+1, n -> ")


ONE_EACH = lax.GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,))


def taken(x, places):
    """x at these places, which are in range: none counts from the end."""
    return lax.gather(x, jnp.reshape(places, (*places.shape, 1)), ONE_EACH, (1,), mode="promise_in_bounds")


def test_what_is_said_from_a_place_on_is_nothing_before_it():
    """x[2], x[4], … > 0 says nothing of x[0], which a label of −1 reads."""
    value = lambda x, label: jnp.log(x[2::2]).sum() + jnp.log(taken(x, 2 * label + 2)).sum()
    rule = jax.custom_vjp(value)
    rule.defvjp(
        lambda *args: (value(*args), args),
        lambda args, seed: (jax.grad(value)(*args) * seed, None),
    )
    report = certgrad.check(rule, "2*n+2, m:int ->")
    assert "x[2·label[i]+2] > 0" in report.hypotheses, report


@pytest.mark.slow
def test_what_a_sum_over_nothing_reads_is_not_there():
    """x > y[1], y[2], … > 0 says nothing of x where y has one entry, and the logarithm is that of x alone."""

    def value(x, y, z):
        inner = jnp.exp(z[:, None] * y[None, 1:]).sum(0)
        return jnp.log(x - y[1:]).sum() + jnp.log(y[1:]).sum() + jnp.log(x + jnp.exp(y[1:] + inner).sum())

    found = asked(value, ", n, k+1 ->")
    assert any("Σ" in text and text.endswith("> 0") for text in found), found


@pytest.mark.slow
def test_an_argument_may_be_empty():
    """x³ + 5x > y > 0 says nothing of x where y has no entry."""

    def value(x, y, z):
        small = (x**3 + 5 * x) * 1e-6 + 0.4
        chosen = jnp.where(small + jnp.exp(y).sum() > 0, x, x * x)
        return jnp.log(x**3 + 5 * x - y).sum() + jnp.log(y).sum() + z.sum() * chosen

    def bwd(args, seed):
        x, y, _ = args
        right = jax.vjp(value, *args)[1](seed)
        wrong = (x**3 + 5 * x) * 1e-6 + 0.4 + jnp.exp(y).sum() <= 0
        return jnp.where(wrong, 5 * seed, right[0]), right[1], right[2]

    rule = jax.custom_vjp(value)
    rule.defvjp(lambda *args: (value(*args), args), bwd)
    assert certgrad.check(rule, ", n-1, k+1 ->").verdict in ("refuted", "unproved")


def cubic(x):
    return x**3 + 5 * x


def bent(x):
    """Off its zero at x = −158 a term that no search for points comes near."""
    return cubic(x) * 1e-7 + 0.4


def paired(x, y):
    """It asks of pairs what bends elsewhere could not be beside: cubic(x[i]) > y[i + 1] > 0."""
    above = cubic(x[:-1]) - y[1:]
    return jnp.log(above + 1) + jnp.log(y[1:]) + 1 / above


@pytest.mark.one_in(2)
@pytest.mark.parametrize("signature", ["3, 3 -> 2, 3", "n+2, n+2 -> n+1, n+2"])
def test_no_region_is_left_out_for_what_is_asked_at_other_places(signature):
    """At the last x nothing is asked of it."""

    def value(x, y):
        return paired(x, y), jnp.where(bent(x) > 0, x, x * x)

    rule = jax.custom_vjp(value)
    rule.defvjp(
        lambda x, y: ((paired(x, y), jnp.where(bent(x) > 0, x, x * x + 1)), (x, y)),
        lambda args, seeds: jax.vjp(value, *args)[1](seeds),
    )
    assert certgrad.check(rule, signature).verdict in ("refuted", "unproved")


@pytest.mark.slow
def test_no_region_is_left_out_for_what_may_be_asked_of_no_entry():
    def value(x, y, z):
        return paired(x[None].repeat(y.shape[0]), y).sum() + z.sum() * jnp.where(bent(x) > 0, x, x * x)

    def bwd(args, seed):
        right = jax.vjp(value, *args)[1](seed)
        return jnp.where(bent(args[0]) > 0, right[0], 5 * seed), right[1], right[2]

    rule = jax.custom_vjp(value)
    rule.defvjp(lambda *args: (value(*args), args), bwd)
    assert certgrad.check(rule, ", n, k+1 ->").verdict in ("refuted", "unproved")


def test_a_hypothesis_in_another_region_is_listed():
    def value(x, y):
        return jnp.log(jnp.where(x >= 0, y, 1.0)), jnp.log(jnp.where(x > 0, y, 1.0))

    rule = jax.custom_vjp(value)
    rule.defvjp(
        lambda x, y: (value(x, y), (x, y)),
        lambda args, seeds: (jnp.zeros_like(args[0]), jax.vjp(lambda y: value(args[0], y), args[1])[1](seeds)[0]),
    )
    report = certgrad.check(rule, "n, n -> n, n", differentiable=["y"])
    assert report.hypotheses == ["y > 0 wherever x > 0", "y > 0 wherever x ≥ 0"]


def test_alternatives_hold_at_the_same_places():
    """Each pair across the diagonal has one above 5 or one above 3: that is no bound on every entry."""

    def value(x, k):
        chosen = jnp.where(k > 3, x, jnp.where(k.T > 5, x, 1 / (x - x)))
        return chosen + jnp.where(k > 3, x, 2 * x)

    rule = jax.custom_vjp(value)
    rule.defvjp(lambda x, k: (value(x, k), None), lambda _, seed: (2 * seed, None))
    assert certgrad.check(rule, "n n, n n:int -> n n").verdict in ("refuted", "unproved")


ONCE = {
    "total variation": (lambda x: jnp.abs(x[1:] - x[:-1]).sum(), "n+1 ->", {"x[i] ≠ x[i+1] for i<n"}),
    "increasing": (
        lambda x: jnp.log(x[1:] - x[:-1]) + jnp.log((x[1:] - x[:-1]) ** 2).sum(),
        "n+1 -> n",
        {"x[i+1] > x[i] for i<n"},
    ),
    "an edge and all": (lambda x: jnp.log(x[:-1]).sum() + jnp.sqrt(x).sum(), "n+1 ->", {"x > 0"}),
    "of two lengths": (
        lambda x, y: jnp.log(x[:-1] + y) + jnp.log(-y),
        "n+1, n -> n",
        {"x[i] + y[i] > 0 for i<n", "y < 0"},
    ),
    "in pairs": (lambda x: jnp.log(x[::2] - x[1::2]).sum(), "2*n ->", {"x[2i] > x[2i+1] for i<n"}),
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", ONCE)
def test_a_hypothesis_is_listed_once(name):
    value, signature, wanted = ONCE[name]
    assert asked(value, signature) == wanted
