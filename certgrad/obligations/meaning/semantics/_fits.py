"""Whether integers stay in the range of their type: arithmetic on them is read as that of whole numbers.

Three kinds of integers are told apart. One that is made of constants, sizes and indices is bounded by a number as soon
as sizes are, so that it is decided up to which sizes it fits: quietly where that is `QUIET` and more, under the
hypothesis that sizes are no larger where it is less, and below `LEAST` it is refused. One that is made of integers that
the caller gives, or of real numbers, can leave any range: the certificate says that it does not. An index plus a size
is neither where it is chosen only for a negative index, as in where(i < 0, i + n, i): there it fits.

Code that asks for 64 bits gets 32 from JAX unless it is told otherwise, so that 32 bits are what is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from certgrad.jaxpr import kinds
from certgrad.obligations.assume.conditions import Clauses, condition, merge_clauses
from certgrad.obligations.assume.signs import NEG
from certgrad.obligations.assume.tensor import Tensor
from certgrad.obligations.terms.atoms import Access, Dim, IndexNumber, Max, Sum
from certgrad.obligations.terms.determined import CARRY
from certgrad.obligations.terms.index import IntegerAtom, Ix, IxTerm
from certgrad.obligations.terms.index_terms import as_index, index_pred
from certgrad.obligations.terms.integers import Chosen, Entry, Quotient, Remainder, Rounded, RowMajor, by_entries
from certgrad.obligations.terms.polynomials import ONE, Atom, Mono, Poly, number, poly_of
from certgrad.obligations.terms.predicates import PREDICATES
from certgrad.obligations.terms.variables import Var
from certgrad.obligations.terms.walk import deep_atoms, mentions, own_indices
from certgrad.obligations.tracing.jax_internals import bits_of, kind_of
from certgrad.signatures.sizes import NoSizeError, parse_size

from ._registry import Context, UnprovedError

FITS = "integers that fit their type"
"""The origin of a condition on sizes."""
IN_RANGE = "integer arithmetic stays in the range of its type"
OF_BITS = ("bitcast_convert_type‹", "random_bits‹")
"""How the names of values begin whose integers fill the range of their type: arithmetic on these wraps around."""
QUIET = 2**24
"""Sizes of axes up to which integers made of them fit without a word: a general assumption (docs/trust.md)."""
LEAST = 2**10
"""Integers that overflow at sizes as small as this are refused."""
WIDTH = 32
"""Bits of integers, at most, as JAX has them unless told otherwise."""
GROWING_PRIMITIVES = ("add", "mul")
"""What unsigned integers may leave their type by only upwards."""

_WITHIN = (kinds.ENTRIES | kinds.PLACES | kinds.LOGIC) | frozenset(
    "argmax argmin clz dim_as_value div empty empty2 lu mulhi platform_index population_count rem "
    "shift_right_arithmetic shift_right_logical sign tie top_k".split()
)
"""Primitives whose integers are entries of their operands, or fit whatever these are."""


def noted(ctx: Context, eqn: Any, inputs: Sequence[Tensor], outs: Sequence[Tensor]) -> list[Tensor]:
    """Return the outputs, each defined only at sizes at which its integers fit their dtype; a range hypothesis covers
    the rest.

    Raises UnprovedError where integers made of constants and sizes overflow at small sizes.
    """
    name = eqn.primitive.name
    note_wrapped_index_uses(ctx, inputs, name)
    fitting = list(outs)
    if name in _WITHIN:
        return fitting
    for k, (v, out) in enumerate(zip(eqn.outvars, outs, strict=True)):
        if out.kind != "i" or kind_of(v.aval.dtype) != "i":
            continue
        if name == "convert_element_type" and inputs[0].kind != "i":
            continue  # a boolean fits, and of real numbers it is said already
        if name == "convert_element_type" and np.dtype(v.aval.dtype).itemsize < 4:
            continue  # it is wrapped
        if name in ("reduce_sum", "cumsum") and _magnitude_bound(inputs[0], ctx.ranges, QUIET) in (0, 1):
            continue  # at most as many as the array has entries
        if small := _look(ctx, name, np.dtype(v.aval.dtype), inputs, out):
            fitting[k] = replace(
                out, defined=merge_clauses(out.defined, small), smooth=merge_clauses(out.smooth, small)
            )
    return fitting


def _look(ctx: Context, name: str, dtype: np.dtype, inputs: Sequence[Tensor], out: Tensor) -> Clauses:
    """The condition on sizes under which an output's integers fit; none where they fit at every size up to `QUIET`."""
    largest = _largest(out, ctx.ranges, _limit(dtype))
    if largest is None and dtype.kind == "u" and name in GROWING_PRIMITIVES:
        raise UnprovedError(f"integers of dtype {dtype}, which wrap")
    if largest is None:
        if any(isinstance(a, Access) and a.tensor.startswith(f"{CARRY}~") for a in deep_atoms(out.body)):
            return ()  # of what a loop carries, the loop says it
        if name == "convert_element_type":
            if bits_of(dtype) < bits_of(ctx.dtypes[0]):
                ctx.note(f"integers are in the range of {dtype}")
            return ()
        index = _from_the_end(inputs) if name == "add" else None
        if index is not None:
            ctx.wrapped[id(out)] = out, index
        else:
            unbounded(ctx, name, out.body)
    elif largest < LEAST:
        raise UnprovedError(f"{name} of {_type(dtype)} numbers that overflow at sizes above {largest}")
    elif largest < QUIET:
        bound = number(largest)
        return merge_clauses(*(condition(">= 0", bound - poly_of(n), FITS) for n in _sizes(out, ctx.ranges)))
    return ()


def _sizes(x: Tensor, ranges: Mapping[Var, Poly]) -> list[Dim]:
    """Return the sizes in the entries, by name."""
    every = {**ranges, **dict(x.variables)}
    terms = [x.body, *x.shape, *(every[v] for v in x.body.free if v in every)]
    return sorted({a for p in terms for a in deep_atoms(p) if isinstance(a, Dim)}, key=lambda a: a.name)


def unbounded(ctx: Context, name: str, body: Poly) -> None:
    """Record that integers made of what the caller gives are in range. Raises UnprovedError where nothing is given."""
    if mentions(body, [n for n in ctx.opaque if n.startswith(OF_BITS)]):
        raise UnprovedError(f"{name} of the bits of a number, which leaves the range of its type")
    atoms = deep_atoms(body)
    given = any(isinstance(a, Access) and not a.tensor.startswith(CARRY) for a in atoms)
    if not given and not any(by_entries(ix) for a in atoms for ix in own_indices(a)):
        raise UnprovedError(f"{name} of integers made of constants and sizes, of which nothing shows that they fit")
    ctx.note(IN_RANGE)


def note_wrapped_index_uses(ctx: Context, inputs: Sequence[Tensor | None], name: str = "") -> None:
    """An index plus a size that goes elsewhere than into where(i < 0, i + n, i) is arithmetic like any other."""
    for k, x in enumerate(inputs):
        if x is None or id(x) not in ctx.wrapped:
            continue
        negative = index_pred(ctx.wrapped[id(x)][1].scaled(-1).shifted(-ONE))
        if not (name == "select_n" and k == 2 and inputs[0] is not None and inputs[0].body == negative):
            ctx.note(IN_RANGE)


def _from_the_end(inputs: Sequence[Tensor]) -> Ix | None:
    """The index to which an addition adds a number that is not negative, and fits."""
    for x, y in (inputs, inputs[::-1]):
        added = _magnitude_bound(y, {}, QUIET)
        if added is not None and added <= QUIET and not y.signs & NEG:
            return as_index(x.body)
    return None


def _limit(dtype: np.dtype) -> int:
    bits = min(bits_of(dtype), WIDTH)
    return 2**bits - 1 if dtype.kind == "u" else 2 ** (bits - 1) - 1


def _type(dtype: np.dtype) -> str:
    return f"{'uint' if dtype.kind == 'u' else 'int'}{min(bits_of(dtype), WIDTH)}"


def _largest(out: Tensor, ranges: Mapping[Var, Poly], limit: int) -> int | None:
    """Return the largest number up to `QUIET` that sizes may be for the entries to fit, 0 where there is none.

    None where sizes do not bound the entries.
    """
    found = _magnitude_bound(out, ranges, QUIET)
    if found is None or found <= limit:
        return None if found is None else QUIET
    fits, fails = 0, QUIET
    while fails - fits > 1:
        size = (fits + fails) // 2
        found = _magnitude_bound(out, ranges, size)
        fits, fails = (size, fails) if found is not None and found <= limit else (fits, size)
    return fits


def _magnitude_bound(x: Tensor, ranges: Mapping[Var, Poly], size: int) -> Fraction | None:
    """Return a bound of the entries' magnitude where no axis is larger than `size`, or None."""
    try:
        return _Magnitude(size, {**ranges, **dict(x.variables)}).poly(x.body)
    except _UnboundedError:
        return None


class _UnboundedError(Exception):
    """Sizes do not bound the term."""


class _Magnitude:
    """Bounds of terms, given that of sizes."""

    def __init__(self, size: int, ranges: Mapping[Var, Poly]) -> None:
        self.size, self.ranges = size, ranges

    def poly(self, p: Poly) -> Fraction:
        return sum((self.mono(m) * abs(Fraction(int(c.p), int(c.q))) for m, c in p.items()), Fraction(0))

    def mono(self, mono: Mono) -> Fraction:
        total = Fraction(1)
        for a, e in mono:
            if isinstance(e, int) and e > 0:
                total *= self.atom(a) ** e
            elif not (isinstance(a, Dim) and a.positive):  # the inverse of a size is at most 1
                raise _UnboundedError
        return total

    def atom(self, a: Atom) -> Fraction:
        if isinstance(a, PREDICATES):
            return Fraction(1)
        if isinstance(a, Dim):
            try:
                return Fraction(parse_size(a.name).most(self.size))
            except NoSizeError:
                raise _UnboundedError from None
        if isinstance(a, IndexNumber):
            return self.integer(a.var)
        if isinstance(a, (Sum, Max)):
            inner = _Magnitude(self.size, {**self.ranges, **dict(zip(a.vars, a.ranges, strict=True))})
            if isinstance(a, Max):
                return inner.poly(a.body)
            total = inner.mono(a.body)
            for n in a.ranges:
                total *= self.along(n) + 1
            return total
        raise _UnboundedError

    def along(self, n: Poly) -> Fraction:
        """Return the last index of an axis."""
        c = n.constant()
        return Fraction(max(int(c.p), 1) if c is not None else self.size) - 1

    def integer(self, v: IxTerm) -> Fraction:
        if not isinstance(v, IntegerAtom):
            if v not in self.ranges:
                raise _UnboundedError
            return self.along(self.ranges[v])
        if isinstance(v, Chosen):
            return self.along(v.room)
        if isinstance(v, Remainder):
            return self.along(v.divisor)
        if isinstance(v, RowMajor):  # a place along an axis that was reshaped
            return Fraction(self.size - 1)
        if isinstance(v, Quotient):
            return self.index(v.ix)
        assert isinstance(v, (Entry, Rounded))
        raise _UnboundedError

    def index(self, ix: Ix) -> Fraction:
        return self.poly(ix.const) + sum((abs(c) * self.integer(v) for v, c in ix.terms), Fraction(0))
