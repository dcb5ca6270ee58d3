"""Rules that are wrong at large sizes alone, or at one, are not said to be exact for all sizes.

What is wrong with them rests on functions inside of one another, on numbers that are equal at one size, on what is made
of a sum by a function, or on what is 0 at a size though its form looks positive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad import exact
from tests.exact.test_widths import with_jvp

X64 = jax.enable_x64


def below(a: Any) -> Any:
    i = jnp.arange(a.shape[0])
    return jnp.where(i[:, None] > i[None, :], a[None, :], 0.0)


def chain(x: Any, function: Callable[[Any], Any] = jnp.tanh, depth: int = 12) -> Any:
    """0 at `depth` entries and fewer."""
    a = jnp.ones_like(x)
    for _ in range(depth):
        a = function(jnp.sum(below(a), axis=1))
    return a


def total(x: Any) -> Any:
    return jnp.sum(0 * x + 1)


def ones(x: Any) -> Any:
    return jnp.sum(jnp.ones_like(x))


def left(x: Any) -> Any:
    """Above 0 at a few hundred entries of 3, and below at more."""
    return 200.5 - jnp.sum(jnp.tanh(x))


def truth(x: Any) -> Any:
    return jnp.where(x, 1.0, 0.0)


def nothing(x: Any) -> Any:
    """0 times the size."""
    whole = jax.lax.mul(jnp.asarray(x.shape[0], jnp.int32), jnp.asarray(0, jnp.int32))
    return jax.lax.convert_element_type(whole, x.dtype)


TERMS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "a chain of tanh": (chain, 20),
    "a chain of exponentials": (lambda x: chain(x, lambda u: jnp.exp(u) - 1), 20),
    "a chain of signs": (lambda x: chain(x, lambda u: truth(u > 0.5)), 20),
    "a chain of maxima": (lambda x: chain(x, lambda u: jnp.max(below(u), axis=1)), 30),
    "a function of a count": (lambda x: truth(jnp.tanh(-left(x)) > 0), 300),
    "a maximum of a count": (lambda x: truth(jnp.max(0 * x - left(x)) > 0), 300),
    "a maximum of shares": (lambda x: truth(jnp.max(jax.nn.softmax(x)) < 0.01), 300),
    "a root of a square": (lambda x: jnp.sqrt(jnp.tanh(left(x) / 200) ** 2) - jnp.tanh(left(x) / 200), 300),
    "a sign": (lambda x: jnp.sqrt(jnp.sign(left(x)) ** 2) - jnp.sign(left(x)), 300),
    "or equal": (lambda x: truth(total(x) >= 9) - truth(total(x) > 9), 9),
    "between": (lambda x: 1 - truth(total(x) < 9) - truth(total(x) > 9), 9),
    "equal": (lambda x: truth(ones(x) == 9), 9),
    "a function that is equal": (lambda x: truth(jnp.tanh(total(x) - 9) == 0), 9),
    "places": (lambda x: truth((p := jnp.sum(below(jnp.ones_like(x)), 1)) >= 9) - truth(p > 9), 12),
    "beside what is no size": (lambda x: truth(nothing(x) <= 0) * chain(x), 20),
}


def with_term(term: Callable[[Any], Any]) -> Any:
    rule = jax.custom_vjp(jnp.sin)
    rule.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (g * jnp.cos(x) + term(x),))
    return rule


@pytest.mark.parametrize("name", TERMS)
def test_a_wrong_term_that_shows_at_one_size_or_at_large_ones(name: str) -> None:
    term, size = TERMS[name]
    with X64(True):
        assert np.max(np.abs(np.asarray(term(jnp.full(size, 3.0))))) > 0.1
        assert not any(np.any(np.abs(np.asarray(term(jnp.full(n, 3.0)))) > 1e-9) for n in (1, 2, 3, 4))
    assert not exact.check(with_term(term), "n", one_program=True).everywhere


POLES: dict[str, Callable[[Any], Any]] = {
    "a count that is chosen": lambda x: jnp.where(jnp.tanh(-left(x)) > 0, 0.0, 1.0),
    "no size": lambda x: nothing(x) + (ones(x) - 9) ** 2,
    "an empty sum": lambda x: jnp.sum(jnp.exp(jnp.zeros((0,)))) + (ones(x) - 9) ** 2,
    "a sum along no entry": lambda x: (
        jnp.sum(jnp.exp(jnp.broadcast_to(x[:, None], (x.shape[0], 0)))) + (ones(x) - 9) ** 2
    ),
}


@pytest.mark.parametrize("name", POLES)
def test_a_pole_at_a_size(name: str) -> None:
    pole = POLES[name]
    rule = jax.custom_vjp(jnp.sin)
    rule.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (g * jnp.cos(x) * pole(x) / pole(x),))
    assert not exact.check(rule, "n", one_program=True).everywhere


ROOTS: dict[str, Callable[[Any], Any]] = {
    "less 0": lambda x: jnp.sqrt(left(x) ** 2 - 0.0),
    "a sum of one": lambda x: jnp.sqrt(jnp.sum(jnp.reshape(left(x), (1,)) ** 2)),
    "an absolute value": lambda x: jnp.abs(jnp.tanh(left(x) / 200)),
    "a logarithm": lambda x: jnp.exp(jnp.log(left(x) ** 2 - 0.0) / 2),
}


@pytest.mark.parametrize("name", ROOTS)
def test_a_root_of_a_square_of_a_sum(name: str) -> None:
    """The rule takes the sum for it, which is below 0 at large sizes."""
    function = ROOTS[name]
    other = (lambda x: jnp.tanh(left(x) / 200)) if "absolute" in name else left
    rule = jax.custom_vjp(function)
    rule.defvjp(lambda x: (other(x), x), lambda x, g: jax.vjp(other, x)[1](g))
    assert not exact.check(rule, "n", one_program=True).everywhere


SMOOTH: dict[str, Callable[[Any], Any]] = {
    "x² sin(1/x)": lambda x: jnp.where(x == 0, 0.0, x * x * jnp.sin(1 / jnp.where(x == 0, 1.0, x))),
    "x |x| / (|x| + tiny)": lambda x: x * jnp.abs(x) / (jnp.abs(x) + 1e-30),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_the_derivative_of_jax_is_not_called_different_at_a_seam(name: str) -> None:
    assert exact.check(with_jvp(SMOOTH[name]), "n").verdict != "differs"


def test_what_has_another_slope_in_each_direction_has_no_derivative() -> None:
    def function(x: Any, y: Any) -> Any:
        square = x * x + y * y
        return jnp.where(square == 0, 0.0, x * x * y / jnp.where(square == 0, 1.0, square))

    assert exact.check(with_jvp(function), "n, n").verdict != "differs"


def test_functions_inside_of_one_another_are_told_apart_at_more_indices() -> None:
    layers = with_jvp(lambda x, w, v: jnp.tanh(jnp.tanh(x @ w) @ v))
    assert exact.check(layers, "d, d h, h", one_program=True).everywhere


def last_of_a_chain(w: Any, x: Any, depth: int = 9) -> Any:
    """w² at more than `depth` entries, and 0 at fewer."""
    a = w * w + 0 * x
    for _ in range(depth):
        a = jnp.max(below(a), axis=1)
    return jnp.max(a)


def test_extrema_along_two_sizes_that_differ_at_other_numbers() -> None:
    """Along n and along m they are equal where both have one number, and where both are small."""

    def function(w: Any, x: Any, y: Any) -> Any:
        return w * w * jnp.sum(x) * jnp.sum(y)

    def wrong(w: Any, x: Any, y: Any, g: Any) -> Any:
        dw, dx, dy = jax.vjp(function, w, x, y)[1](g)
        return dw + g * (last_of_a_chain(w, x) - last_of_a_chain(w, y)), dx, dy

    rule = jax.custom_vjp(function)
    rule.defvjp(lambda *xs: (function(*xs), xs), lambda xs, g: wrong(*xs, g))
    with X64(True):
        args = jnp.asarray(0.7), jnp.ones(9), jnp.ones(10)
        assert jax.grad(rule)(*args) != jax.grad(function)(*args)
    result = exact.check(rule, ", n, m", one_program=True)
    assert not result.everywhere
    assert "extrema along axes of several lengths" in result.limited
