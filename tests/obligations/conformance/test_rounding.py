"""Calls are compared up to the rounding of what is computed: of products that cancel, more than is left of them."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import certgrad


def ruled(function: Callable[..., Any], backward: Callable[..., Any]) -> Callable[..., Any]:
    rule = jax.custom_vjp(function)
    rule.defvjp(lambda *args: (function(*args), args), backward)
    return rule


# In JAX's convention the cotangent of a holomorphic function is that of the output times the derivative.
COMPLEX = {
    "a square": (lambda z: z * z, lambda r, g: (2 * g * r[0],), "n:complex -> n:complex"),
    "a quotient": (
        lambda z, w: z / w,
        lambda r, g: (g / r[1], -g * r[0] / (r[1] * r[1])),
        "n:complex, n:complex -> n:complex",
    ),
    "an exponential": (jnp.exp, lambda r, g: (g * jnp.exp(r[0]),), "n:complex -> n:complex"),
    "a product with a conjugate": (
        lambda z, w: z * jnp.conj(w),
        lambda r, g: (g * jnp.conj(r[1]), jnp.conj(g * r[0])),
        "n:complex, n:complex -> n:complex",
    ),
    "a square of the modulus": (
        lambda z: (z * jnp.conj(z)).real,
        lambda r, g: (2 * g * jnp.conj(r[0]),),
        "n:complex -> n",
    ),
    "a cube by pairs": (
        lambda x, y: (x * x * x - 3 * x * y * y, 3 * x * x * y - y * y * y),
        lambda r, g: (
            g[0] * 3 * (r[0] * r[0] - r[1] * r[1]) + g[1] * 6 * r[0] * r[1],
            -g[0] * 6 * r[0] * r[1] + g[1] * 3 * (r[0] * r[0] - r[1] * r[1]),
        ),
        "n, n -> n, n",
    ),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", COMPLEX)
def test_complex_products_that_cancel(name: str) -> None:
    function, backward, signature = COMPLEX[name]
    report = certgrad.check(ruled(function, backward), signature)
    assert report.proved, report


def test_some_units_of_rounding_are_a_difference_where_nothing_cancels() -> None:
    def backward(r: Any, g: Any) -> Any:
        return (2 * g * r[0] * (1.0 if isinstance(g, jax.core.Tracer) else 1 + 1e-13),)

    report = certgrad.check(ruled(lambda x: x * x, backward), "n -> n")
    assert report.verdict == "unproved", report
