"""Comparisons of what is one and the same ask nothing; what stands on their way need not be differentiable."""

import jax
import jax.numpy as jnp
import pytest

from certgrad.accel.verify import verify_graph
from certgrad.graph import certify, trace

pytestmark = pytest.mark.usefixtures("proofs_alone")


def symmetric(z):
    return (z + z.T) / 2


def on_support(holds, x):
    """A density, which is minus infinity where a check of its argument fails."""
    return jnp.where(jnp.all(holds), jnp.sum(x**3), -jnp.inf)


def checked(z):
    x = symmetric(z)
    return on_support((x == x.T) & (jnp.abs(x - x.T) <= 1e-8 + 1e-5 * jnp.abs(x.T)), x)


def asked(fn, *specs):
    found = certify(trace(fn, *specs))
    return found.verdict, [h.text.partition(": ")[2] for h in found.hypotheses]


@pytest.mark.slow
@pytest.mark.parametrize("size", ["3", "n"])
def test_a_matrix_that_was_made_symmetric_passes_the_check(size) -> None:
    verdict, texts = asked(checked, f"z: {size} {size}")
    assert verdict == "proved under hypotheses"
    (text,) = texts
    assert text.endswith("> 0"), "that the check passes, and no more"


def test_of_any_matrix_the_check_fails_beside_those_where_it_passes() -> None:
    verdict, _ = asked(lambda x: on_support(x == x.T, x), "x: 3 3")
    assert verdict == "unproved"


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "fn, at_least",
    [
        (lambda x: on_support(x / x == 1, x), "every element of `x` ≠ 0"),
        (lambda x: on_support(jnp.sqrt(x) ** 2 == x, x), "every element of `x` > 0"),
    ],
    ids=["x / x", "a square root squared"],
)
def test_sides_that_are_the_same_where_they_are_defined(fn, at_least) -> None:
    verdict, texts = asked(fn, "x: n")
    assert verdict == "proved under hypotheses"
    assert at_least in texts


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "holds",
    [lambda x: jnp.maximum(x, 0) == 0 * x, lambda x: jnp.floor(x) == x, lambda x: x * x <= 0],
    ids=["on half of the points, and a seam", "at whole numbers", "at a point"],
)
def test_sides_that_meet_at_some_points_alone(holds) -> None:
    verdict, _ = asked(lambda x: on_support(holds(x), x), "x: n")
    assert verdict == "unproved"


def test_a_comparison_that_can_differ_stays_as_it_is() -> None:
    verdict, texts = asked(lambda x: jnp.sum(jnp.where(jnp.abs(x) < 1, x * x, 2 * x)), "x: n")
    assert verdict == "proved under hypotheses"
    assert texts == ["every element of `x` ≠ 0", "every element of `abs(x)` ≠ 1"]


@jax.custom_vjp
def square(x):
    return x * x


square.defvjp(lambda x: (x * x, x), lambda x, g: (jnp.where(x == x.T, 3 * x, 2 * x) * g,))


def test_a_rule_that_is_wrong_where_the_comparison_holds() -> None:
    found = certify(trace(lambda z: on_support(symmetric(z) == symmetric(z).T, square(symmetric(z))), "z: 3 3"))
    assert found.verdict == "unproved", "the hypothesis at the comparison holds nowhere, and a witness keeps to it"
    assert "square at test_comparisons.py:" in found.findings[0]
    right = certify(trace(lambda z: on_support(symmetric(z) == symmetric(z).T, symmetric(z) ** 2), "z: 3 3"))
    assert right.verdict == "proved under hypotheses"


@pytest.mark.slow
def test_the_second_check_accepts_such_a_certificate() -> None:
    found = certify(trace(checked, "z: 3 3"))
    assert any(n.kind == "region" for n in found.graph.nodes)
    assert verify_graph(found, checked, "z: 3 3").outcome == "verified"


def best(x):
    """Twice what is not the largest of its row."""
    return jnp.where(x == jnp.max(x, axis=-1, keepdims=True), x, 2 * x)


def with_backward(bwd):
    rule = jax.custom_vjp(best)
    rule.defvjp(lambda x: (best(x), x), bwd)
    return rule


@pytest.mark.one_in(2)
@pytest.mark.parametrize("spec", ["x: 2 3", "x: n d"])
def test_the_largest_entry_stays_the_largest_where_there_is_one_alone(spec) -> None:
    right = with_backward(lambda x, g: (jnp.where(x == jnp.max(x, axis=-1, keepdims=True), g, 2 * g),))
    assert asked(right, spec) == ("proved under hypotheses", ["argmax of x[i,j] over j is unique for every index"])
    assert asked(lambda x: jnp.sum(best(x)), spec)[0] == "proved under hypotheses"


@pytest.mark.parametrize(
    "bwd", [lambda x, g: (2 * g,), lambda x, g: (g,)], ids=["wrong at the largest", "wrong at the others"]
)
def test_a_rule_that_is_wrong_at_the_largest_entry_or_at_the_others(bwd) -> None:
    assert certify(trace(with_backward(bwd), "x: 2 3")).verdict in ("refuted", "unproved")


@pytest.mark.slow
def test_the_maximum_of_other_entries_is_one_that_an_entry_can_cross() -> None:
    _, texts = asked(lambda x: jnp.where(x >= jnp.max(x[:, :3], axis=-1, keepdims=True), x, 2 * x), "x: 2 5")
    assert "`x` ≠ `max(slice(x))` at every element" in texts


def test_sizes_that_are_numbers_ask_no_more() -> None:
    found = certify(trace(lambda x: jnp.sum(best(x)), "x: n d"))
    assert not any("≠" in text for text in found.dimensions)
