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
    """Return the value of a function of the bits of integers, as JAX computes it."""
    numbers = [integer_of_ball(x) for x in args]
    if not dtype:
        return arb(_BITS[name](*numbers))
    return arb(bits_function(name, dtype, numbers))


def function(name: str, args: list[arb]) -> arb:
    """Return the value at balls of a named function of terms; a name may end in `:` and the dtype of integers."""
    name, _, dtype = name.partition(":")
    if dtype or name in _BITS:
        return _machine(name, dtype, args)
    if name == "whole_power":
        return args[0] ** integer_of_ball(args[1])
    value: arb = ball(name)(*args)
    return value
