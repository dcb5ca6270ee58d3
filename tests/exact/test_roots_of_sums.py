"""Roots and logarithms that are right at small sizes alone: of squares behind summands that are 0, of what is 0 at one
size; and labels that coincide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from certgrad import exact


def reached(rule: Any, signature: str, **options: Any) -> bool:
    found = exact.check(rule, signature, one_program=True, seconds=20, **options)
    return found.verdict == "agrees" and exact.level(found).startswith("exact for all sizes")


def logarithm_at_nine(x: Any, total: Callable[[Any], Any]) -> Any:
    return jnp.log(total((x.shape[0] - 9.0) ** 2 * jnp.exp(x)))


@pytest.mark.parametrize("beside", [lambda s: 0 * s, lambda s: s - s])
def test_a_logarithm_of_what_is_0_at_one_size(beside: Callable[[Any], Any]) -> None:
    rule = jax.custom_vjp(jnp.sin)
    rule.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (g * jnp.cos(x) + beside(logarithm_at_nine(x, jnp.sum)),))
    assert not reached(rule, "n")


def far(x: Any) -> Any:
    """Above 0 up to 60 entries."""
    return 60.5 - jnp.sum(jnp.tanh(x))


HIDDEN: dict[str, Callable[[Any], Any]] = {
    "beside 0": lambda x: jnp.linalg.norm(jnp.stack([far(x), 0.0 * far(x)])),
    "0 times a sum added": lambda x: jnp.sqrt(far(x) ** 2 + 0 * jnp.sum(x)),
    "one summand of three": lambda x: jnp.sqrt(jnp.sum(jnp.where(jnp.arange(3) == 1, far(x) ** 2, 0))),
    "padded": lambda x: jnp.sqrt(jnp.sum(jnp.pad(far(x)[None] ** 2, (0, 1)))),
    "a modulus": lambda x: jnp.abs(jax.lax.complex(far(x), 0 * far(x))),
}


@pytest.mark.parametrize("how", HIDDEN)
def test_a_square_under_a_root_behind_summands_that_are_0(how: str) -> None:
    rule = jax.custom_vjp(HIDDEN[how])
    rule.defvjp(lambda x: (far(x), x), lambda x, g: jax.vjp(far, x)[1](g))
    assert not reached(rule, "n")


def test_labels_that_are_all_equal() -> None:
    def value(x: Any, k: Any) -> Any:
        return jnp.sum(x[k] ** 2)

    def wrong(x: Any, k: Any) -> Any:
        """Not 0 where ten labels coincide."""
        i = jnp.arange(k.shape[0])
        same = (k[:, None] == jnp.arange(x.shape[0])) * 1.0
        after = (i[:, None] > i) * 1.0
        y = same
        for _ in range(9):
            y = same * (after @ y)
        return jnp.sum(y, 0)

    rule = jax.custom_vjp(value)
    rule.defvjp(
        lambda x, k: (value(x, k), (x, k)),
        lambda saved, g: (jax.vjp(lambda x: value(x, saved[1]), saved[0])[1](g)[0] + g * wrong(*saved), None),
    )
    assert not reached(rule, "n, b:int", domain="k >= 0 and k < n")


def layer(x: Any) -> Any:
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    return centred / jnp.sqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + 1e-5)


def test_a_variance_beside_a_number_above_0_has_a_theorem() -> None:
    rule = jax.custom_vjp(layer)
    rule.defvjp(lambda x: (layer(x), x), lambda x, g: jax.vjp(layer, x)[1](g))
    assert reached(rule, "n d")
