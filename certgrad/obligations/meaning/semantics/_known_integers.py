"""Integers and booleans whose values are known: constants of a program, and what it computes of them.

What decides how a program goes on (how many steps a loop takes, which branch runs, which entry is read) is often made
of integers that are given: the degrees of some polynomials, the rows of a sparse matrix. Then it is computed, and the
result is a constant like those that it was made of. Nothing of it depends on an input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from certgrad.obligations.assume.tensor import Tensor
from certgrad.obligations.tracing.jax_internals import (
    computed,
    integers,
    integers_throughout,
    is_computed,
)

from ._registry import Context


@dataclass(eq=False)
class KnownIntegers:
    """An array of integers or booleans, computed where it is asked for.

    `listed`: a constant whose entries differ has a part in it, so that the term is the list of its entries; of others,
    such as an iota, the term says more.
    """

    eqn: Any
    operands: Sequence[tuple[Any, KnownIntegers]]
    place: int
    listed: bool

    @cached_property
    def array(self) -> np.ndarray | None:
        given = [None if x.array is None else integers(x.array, aval) for aval, x in self.operands]
        if any(x is None for x in given):
            return None
        found = computed(self.eqn, [x for x in given if x is not None])
        return None if found is None else found[self.place]


class Constant(KnownIntegers):
    """A constant of the program."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.listed = array, bool(array.size and (array != array.flat[0]).any())


def is_constant(ctx: Context, x: Tensor, value: Any, aval: Any) -> None:
    """Keep in mind that a tensor is a constant of the program."""
    found = integers(value, aval)
    if found is not None:
        ctx.integers[id(x)] = x, Constant(found)


def known_integers(ctx: Context, x: Tensor, aval: Any) -> KnownIntegers | None:
    """The integers that a tensor is, if that is known."""
    if id(x) in ctx.integers:
        return ctx.integers[id(x)][1]
    value = None if x.kind not in "ib" or x.defined or x.smooth or x.infinite else x.body.constant()
    if value is None or value.q != 1:
        return None
    found = integers(int(value), aval) if not aval.shape else integers_throughout(int(value), aval)
    return None if found is None else Constant(found)


def known_results(ctx: Context, eqn: Any, values: Sequence[Tensor]) -> list[KnownIntegers] | None:
    """Return an equation's results if all its operands are known integers and it can be computed; else None."""
    if not is_computed(eqn):
        return None
    operands: list[tuple[Any, KnownIntegers]] = []
    for v, x in zip(eqn.invars, values, strict=True):
        one = known_integers(ctx, x, v.aval)
        if one is None:
            return None
        operands.append((v.aval, one))
    listed = any(x.listed for _, x in operands)
    return [KnownIntegers(eqn, operands, place, listed) for place in range(len(eqn.outvars))]


def keep(ctx: Context, outs: Sequence[Tensor], found: Sequence[KnownIntegers] | None) -> None:
    """Keep in mind what the tensors are."""
    for x, one in zip(outs, found or (), strict=False):
        ctx.integers.setdefault(id(x), (x, one))
