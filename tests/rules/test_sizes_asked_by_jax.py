"""Rules that are others at sizes about which only code of JAX's asks."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy
from jax import Array

import certgrad

TABLE = jnp.zeros((13, 11))
HELD: dict[str, tuple[Callable[..., Any], str]] = {
    "a stride": (lambda x: jnp.array_equal(0 * x[2::8], jnp.zeros(30)), "n -> "),
    "two sizes of one array": (lambda x: jnp.array_equal(0 * x, jnp.zeros((7, 5))), "n d -> "),
    "a multiple": (lambda x: jnp.array_equal(0 * jnp.concatenate([x, x, x]), jnp.zeros(51)), "n -> "),
    "a matrix": (lambda x: jnp.array_equal(x, jnp.eye(3, 4)), "n d -> "),
    "broadcast": (lambda x: jnp.array_equiv(0 * x, jnp.zeros((7, 5))), "n d -> "),
    "itself transposed": (lambda x: jnp.array_equal(x, x.T), "n d -> "),
    "types": (lambda x: jax.typeof(x) == jax.typeof(TABLE.astype(x.dtype)), "n d -> "),
    "types of any rank": (lambda x: jax.typeof(x) == jax.typeof(TABLE.astype(x.dtype)), "*s -> "),
    "two sizes at any rank": (lambda x: jnp.array_equal(0 * x, jnp.zeros((13, 11))), "*s -> "),
    "the last axis, however many there are": (
        lambda x: jnp.array_equal(0 * x.sum(tuple(range(x.ndim - 1))), jnp.zeros(17)) if x.ndim > 1 else False,
        "*s -> ",
    ),
    "the last of two, at any rank": (
        lambda x: (x.shape[0] - 1) * jnp.array_equal(0 * x[0], jnp.zeros(1)) if x.ndim == 2 else 0,
        "*s -> ",
    ),
    "the first two of three, at any rank": (
        lambda x: (x.shape[0] - x.shape[2]) * jnp.array_equal(0 * x[:, 0, 0], 0 * x[0, :, 0]) if x.ndim == 3 else 0,
        "*s -> ",
    ),
    "types of rank 7": (lambda x: jax.typeof(x) == jax.typeof(jnp.ones((2,) * 7, x.dtype)), "*s -> "),
    "types of a multiple": (
        lambda x: jax.typeof(jnp.concatenate([x, x, x])) == jax.typeof(jnp.zeros(int("159"), x.dtype)),
        "n -> ",
    ),
    "types of a product": (lambda x: jax.typeof(x.reshape(-1)) == jax.typeof(jnp.zeros(143, x.dtype)), "n d -> "),
    "a type in words": (lambda x: "13,11" in str(jax.typeof(x)), "n d -> "),
    "a program in words": (lambda x: "[13,11]" in str(jax.make_jaxpr(lambda a: a + 1)(x)), "n d -> "),
    "a type behind a stride": (lambda x: jax.typeof(x[::8]) == jax.typeof(jnp.zeros(3, x.dtype)), "n -> "),
    "which multiple": (lambda x: x.shape[0] % 8 == 0 and x.shape[0] // 8 == 3, "n -> "),
    "a multiple of another size": (lambda x: x.shape[0] % 3 == 0 and x.shape[0] // 3 == x.shape[1], "a b -> "),
    "which odd number": (lambda x: x.shape[0] % 2 == 1 and (x.shape[0] - 1) // 2 == 10, "n -> "),
    "structures": (lambda x: x.aval.update(weak_type=False) == TABLE.aval.update(dtype=x.dtype), "n d -> "),
}


def _five_times(holds: Callable[..., Any]) -> Callable[..., Any]:
    """Half a sum of squares whose slope is five times too large where the condition holds."""

    def backward(x: Array, g: Array) -> tuple[Array]:
        held = holds(x)
        return ((5 * x * g if held else x * g) if isinstance(held, bool) else jnp.where(held, 5, 1) * x * g,)

    rule = jax.custom_vjp(lambda x: jnp.sum(x**2) / 2)
    rule.defvjp(lambda x: (jnp.sum(x**2) / 2, x), backward)
    return rule


@pytest.mark.usefixtures("verdicts_alone")
@pytest.mark.one_in(24)
@pytest.mark.parametrize(("holds", "signature"), HELD.values(), ids=HELD)
def test_nothing_is_proved_for_all_sizes(holds: Callable[..., Any], signature: str) -> None:
    rule = _five_times(holds)
    # JAX remembers what it traced. What is proved at single sizes afterwards is looked at in test_at_sizes.py.
    verdicts = [certgrad.check(rule, signature, sizes=None).verdict for _ in range(2)]
    assert verdicts[0] == verdicts[1]
    assert verdicts[0] in ("refuted", "unproved")


@pytest.mark.slow
def test_a_sum_of_sizes() -> None:
    def backward(r: tuple[Array, Array], g: Array) -> tuple[Array, Array]:
        x, y = r
        held = jnp.array_equal(0 * jnp.concatenate([x, y]), jnp.zeros(160))
        return jnp.where(held, 5, 1) * x * g, g * jnp.ones_like(y)

    rule = jax.custom_vjp(lambda x, y: jnp.sum(x**2) / 2 + jnp.sum(y))
    rule.defvjp(lambda x, y: (jnp.sum(x**2) / 2 + jnp.sum(y), (x, y)), backward)
    assert certgrad.check(rule, "n, m -> ", sizes=None).verdict in ("refuted", "unproved")


def _shape(x: Array) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


OF_TWO: dict[str, Callable[[Array, Array], Any]] = {
    "each a number": lambda x, y: jnp.array_equal(0 * x, jnp.zeros(7)) & jnp.array_equal(0 * y, jnp.zeros(5)),
    "twice another": lambda x, y: jnp.array_equal(0 * x, 0 * jnp.concatenate([y, y])),
    "another padded": lambda x, y: jnp.array_equal(0 * x, jnp.pad(0 * y, (0, y.shape[0]))),
    "all but the first": lambda x, y: jnp.array_equal(0 * x[1:], 0 * y),
    "each second": lambda x, y: jnp.array_equal(0 * x[::2], 0 * y),
    "a square": lambda x, y: jnp.array_equal(0 * x, 0 * jnp.outer(y, y).ravel()),
    "shapes with dtypes": lambda x, y: _shape(x) == _shape(jnp.concatenate([y, y, y])),
    "shapes in a set": lambda x, y: _shape(x) in {_shape(jnp.concatenate([y, y, y]))},
    "types in a table": lambda x, y: {jax.typeof(jnp.concatenate([y, y, y])): 5}.get(jax.typeof(x)) == 5,
}


@pytest.mark.slow
@pytest.mark.parametrize("holds", OF_TWO.values(), ids=OF_TWO)
def test_sizes_of_two_arrays(holds: Callable[[Array, Array], Any]) -> None:
    def backward(r: tuple[Array, Array], g: Array) -> tuple[Array, Array]:
        x, y = r
        return jnp.where(holds(x, y), 5, 1) * x * g, g * jnp.ones_like(y)

    rule = jax.custom_vjp(lambda x, y: jnp.sum(x**2) / 2 + jnp.sum(y))
    rule.defvjp(lambda x, y: (jnp.sum(x**2) / 2 + jnp.sum(y), (x, y)), backward)
    assert certgrad.check(rule, "n, m -> ", sizes=None).verdict in ("refuted", "unproved")


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 3])
def test_a_sum_of_sizes_where_it_matters_only_beyond_one(count: int) -> None:
    """No term of the claim is other where one of the sizes is 1."""

    def backward(arrays: tuple[Array, ...], g: Array) -> tuple[Array, ...]:
        held = jnp.array_equal(0 * jnp.concatenate(arrays), jnp.zeros(35))
        more = jnp.where(held, math.prod(x.shape[0] - 1.0 for x in arrays), 0)
        return ((1 + more) * g * jnp.ones_like(arrays[0]), *(g * jnp.ones_like(x) for x in arrays[1:]))

    rule = jax.custom_vjp(lambda *arrays: sum(map(jnp.sum, arrays)))
    rule.defvjp(lambda *arrays: (sum(map(jnp.sum, arrays)), arrays), backward)
    signature = f"{', '.join('abc'[:count])} -> "
    assert certgrad.check(rule, signature, sizes=None).verdict in ("refuted", "unproved")


def _alike(x: Array, y: Array) -> Array:
    return jnp.array_equal(0 * x, 0 * y)


TOGETHER: dict[str, Callable[..., Any]] = {
    "two equal, told by an error": lambda a, b, c: _mapped_over_both(a, b),
}


def _mapped_over_both(a: Array, b: Array) -> bool:
    try:
        jax.vmap(jnp.add)(a, b)
    except ValueError:
        return False
    return True


def _wrong_together(holds: Callable[..., Any]) -> Any:
    """Where all sizes are equal, or all are 1, nothing is wrong."""

    def backward(arrays: tuple[Array, ...], g: Array) -> tuple[Array, ...]:
        more = jnp.where(holds(*arrays), arrays[0].shape[0] - arrays[2].shape[0], 0)
        return ((1 + more) * g * jnp.ones_like(arrays[0]), *(g * jnp.ones_like(x) for x in arrays[1:]))

    rule = jax.custom_vjp(lambda *arrays: sum(map(jnp.sum, arrays)))
    rule.defvjp(lambda *arrays: (sum(map(jnp.sum, arrays)), arrays), backward)
    return rule


@pytest.mark.usefixtures("verdicts_alone")
@pytest.mark.parametrize("holds", TOGETHER.values(), ids=TOGETHER)
def test_what_broadcasts_ask_may_matter_together_alone(holds: Callable[..., Any]) -> None:
    assert certgrad.check(_wrong_together(holds), "a, b, c -> ", sizes=None).verdict in ("refuted", "unproved")


@pytest.mark.slow  # tests/graph/test_sizes_asked.py asks graphs about others of this kind
@pytest.mark.parametrize("holds", TOGETHER.values(), ids=TOGETHER)
def test_what_broadcasts_ask_may_matter_together_alone_in_a_graph(holds: Callable[..., Any]) -> None:
    rule = _wrong_together(holds)
    found = certgrad.certify(certgrad.trace(lambda *arrays: rule(*arrays), "a", "b", "c"))
    assert found.verdict == "unproved" or any("b = a" in one for one in found.dimensions)


class OfItsOwn:
    """Equal to 53, as it says itself and no constant does."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return type(other) is int and other == ord("5")


NUMBERS = [OfItsOwn(), Fraction(17), Decimal(17), 17 + 0j, np.complex64(17), sympy.Integer(17)]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("number", NUMBERS, ids=lambda n: type(n).__name__)
def test_a_size_that_is_a_number_of_another_kind(number: Any) -> None:
    rule = _five_times(lambda x: bool(x.shape[0] == number))
    assert certgrad.check(rule, "n -> ", sizes=None).verdict in ("refuted", "unproved")


def test_functions_that_differ_at_one_shape_are_not_equal() -> None:
    def other(x: Array) -> Array:
        return jnp.where(jnp.array_equal(0 * x, jnp.zeros((7, 5))), x, 2 * x)

    assert certgrad.equal(other, lambda x: 2 * x, "n d").verdict in ("refuted", "unproved")
