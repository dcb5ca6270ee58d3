"""The named functions of terms, at balls."""

from __future__ import annotations

from collections.abc import Callable

from flint import arb

from certgrad.language.functions import ball
from certgrad.obligations.terms.functions import integer_of_ball
from certgrad.obligations.tracing.jax_internals import bits_function

_BITS: dict[str, Callable[..., int]] = {
    "bitwise_and": lambda x, y: x & y,
    "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y,
}


def _machine(name: str, dtype: str, args: list[arb]) -> arb:
    """A function of the bits of integers, as JAX computes it."""
    numbers = [integer_of_ball(x) for x in args]
    if not dtype:
        return arb(_BITS[name](*numbers))
    return arb(bits_function(name, dtype, numbers))


def function(name: str, args: list[arb]) -> arb:
    """A named function of the terms' language at balls."""
    name, _, dtype = name.partition(":")
    if dtype or name in _BITS:
        return _machine(name, dtype, args)
    if name == "whole_power":
        return args[0] ** integer_of_ball(args[1])
    found: arb = ball(name)(*args)
    return found
