"""Hypotheses with predicates inside, and rounding where its argument does not move."""

from typing import Any

import jax
import jax.numpy as jnp

from certgrad import check


def rule(value: Any, bwd: Any) -> Any:
    found = jax.custom_vjp(value)
    found.defvjp(lambda *args: (value(*args), args), bwd)
    return found


def under(report: Any) -> list[str]:
    assert report.proved, report
    return report.hypotheses


def cast(x: Any) -> Any:
    return x * jnp.clip(x, 0, 255).astype(jnp.int32)


def test_a_cast_after_a_clip_asks_nothing_where_the_clip_is_flat() -> None:
    right = rule(cast, lambda r, g: (g * jnp.clip(r[0], 0, 255).astype(jnp.int32),))
    asked = ["x is not an integer wherever x < 255 and x > 0", "x ≠ 0", "x ≠ 255"]
    assert under(check(right, "n", conformance=False)) == asked
    wrong = rule(cast, lambda r, g: (g * jnp.clip(r[0], 0, 9).astype(jnp.int32),))
    assert check(wrong, "n", conformance=False).verdict == "refuted"


def test_a_flat_part_is_flat_in_what_moves() -> None:
    """Where x < 0, the rounded y moves: round(y) jumps there."""

    def value(x: Any, y: Any) -> Any:
        return jnp.round(jnp.where(x > 0, 2.0, y))

    zero = rule(value, lambda r, g: (jnp.zeros_like(g), jnp.zeros_like(g)))
    assert "y − 1/2 is not an integer wherever x < 0" in under(check(zero, "n, n", conformance=False))
    held = check(zero, "n, n", differentiable=["x"], conformance=False)
    assert under(held) == ["x ≠ 0"]


def test_at_a_seam_rounding_jumps_though_both_sides_are_flat() -> None:
    """[x > 1] + [x > 2] rounds to what it is, and jumps at 1 and 2."""

    def value(x: Any) -> Any:
        return jnp.floor(jnp.where(x > 2, 2.0, jnp.where(x > 1, 1.0, 0.0)) + 0.5)

    assert {"x ≠ 1", "x ≠ 2"} <= {*under(check(rule(value, lambda r, g: (0.0 * g,)), "n", conformance=False))}


def test_what_is_asked_on_both_sides_alike_is_asked_once() -> None:
    def value(x: Any, y: Any) -> Any:
        return jnp.where(x == 0, 0.0, x * jnp.log(jnp.where(x == 0, 1.0, y)))

    hypotheses = under(check(rule(value, lambda r, g: jax.vjp(value, *r)[1](g)), "n, n", conformance=False))
    assert [h for h in hypotheses if "wherever" not in h] == ["x ≠ 0", "y > 0"]


def test_a_value_that_is_a_polynomial_is_smooth_whatever_its_steps_are() -> None:
    def squared(z: Any) -> Any:
        return jnp.abs(z) ** 2

    right, wrong = (rule(squared, lambda r, g, c=c: (c * g * jnp.conj(r[0]),)) for c in (2.0, 1.0))
    assert under(check(right, "n:complex -> n", conformance=False)) == []
    assert check(wrong, "n:complex -> n", conformance=False).verdict == "refuted"


def test_a_root_of_what_may_be_negative_is_no_polynomial() -> None:
    """√x² is x for x ≥ 0, and at 0 it has a derivative on one side alone."""

    def squared(x: Any) -> Any:
        return jnp.sqrt(x) ** 2

    assert under(check(rule(squared, lambda r, g: (g,)), "n", conformance=False)) == ["x > 0"]


def test_a_number_of_steps_that_values_decide_is_no_coefficient() -> None:
    """x times the number of steps is a polynomial in name alone: the steps jump."""

    def value(x: Any) -> Any:
        return x * jax.lax.while_loop(lambda c: c < jnp.round(x), lambda c: c + 1, 0.0)

    found = rule(value, lambda r, g: (g * value(r[0]) / r[0],))
    assert "x − 1/2 is not an integer" in under(check(found, "", conformance=False, sizes=None))
