"""A custom function of one of JAX's own functions, with defaults that this needs as they are."""

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from certgrad import check

pytestmark = pytest.mark.usefixtures("verdicts_alone")

STRAIGHT = "straight-through estimator"


def of_round(kind: Any, factor: float) -> Any:
    """`round` with so many times the cotangent of its output as its own."""
    found = kind(jnp.round)
    if kind is jax.custom_jvp:
        found.defjvp(lambda primals, tangents: (jnp.round(primals[0]), factor * tangents[0]))
    else:
        found.defvjp(lambda x, *others: (jnp.round(x), None), lambda _, g: (factor * g, None, None))
    return found


@pytest.mark.parametrize("kind", [jax.custom_jvp, jax.custom_vjp])
def test_defaults_stand_as_they_are(kind: Any) -> None:
    right, wrong = (check(of_round(kind, factor), "*s -> *s") for factor in (0.0, 1.0))
    assert (right.verdict, wrong.verdict) == ("proved under hypotheses", "refuted")
    assert [h.text for h in right.claims[0].hypotheses] == ["a − 1/2 is not an integer"]
    assert right.left_out == (
        "calls under jax.jit: JAX traces decimals and out there, of which the default stands, and the function fails",
    )


def test_the_usual_straight_through_estimator_is_one() -> None:
    report = check(of_round(jax.custom_jvp, 1.0), "*s -> *s", surrogate=STRAIGHT)
    assert [claim.verdict for claim in report.claims] == ["surrogate", "proved", "proved"]


def test_a_cotangent_for_an_integer_is_no_rule_of_an_array() -> None:
    found = jax.custom_vjp(jnp.round)
    found.defvjp(lambda x, *others: (jnp.round(x), None), lambda _, g: (0.0 * g, g, None))
    assert check(found, "*s -> *s").verdict in ("refuted", "unproved")


@pytest.mark.slow
def test_a_number_that_the_function_compares_is_told() -> None:
    @jax.custom_jvp
    def scaled(x: Any, power: int = 2) -> Any:
        return x if power == 1 else 3.0 * x

    scaled.defjvp(lambda primals, tangents: (scaled.fun(*primals), (1.0 if primals[1] == 1 else 3.0) * tangents[0]))
    assert check(scaled, "n -> n").verdict == "proved"
    assert check(scaled, "n -> n", static={"power": 1}).verdict != "proved"  # given by a call, it is traced


@pytest.mark.parametrize(("factor", "verdict"), [(2.0, "proved"), (3.0, "refuted")])
def test_a_default_that_jax_does_not_see_is_left_to_the_function(factor: float, verdict: str) -> None:
    """`jax.custom_gradient` hands on what a call gives: the cotangents are as many, and no claim is left out."""

    @jax.custom_gradient
    def doubled(x: jax.Array, name: Any = None) -> Any:
        if x.shape[0] == 5:  # which keeps it from being traced at every size at once
            int(x.shape[0])
        return 2 * x, lambda g: factor * g

    report = check(doubled, "n -> n")
    assert report.verdict == verdict
    assert report.left_out == ()
