"""Constant arrays whose entries differ, as terms over their indices.

A small one is written out. A large one is a tensor of which nothing is known but its name, which is made of its
entries: what is proved of any table of that shape is proved of this one. Tables that are each other's transpose or
negative have one name, so that a rule may multiply by `-M.T` where its function multiplies by `M`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
from flint import fmpq

from certgrad.obligations.assume.signs import NEG, NONNEG, POS, ZERO
from certgrad.obligations.assume.tensor import Tensor, own_index
from certgrad.obligations.meaning.literals import Reading
from certgrad.obligations.terms.atoms import access
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.index_terms import index_equal, index_number
from certgrad.obligations.terms.polynomials import ONE, Poly, number
from certgrad.obligations.terms.polynomials import ZERO as NOTHING
from certgrad.obligations.terms.power import pred
from certgrad.obligations.terms.variables import template
from certgrad.obligations.tracing.jax_internals import literal_value

from ._opaque import Opaque
from ._registry import Context, UnprovedError

MAX_ENTRIES = 64
"""A table is written out that has so many entries beside the most common one: it stands in a term once for each."""
MAX_LOOKED_AT = 1 << 12
"""The entries of a larger table are not examined one by one."""


class LargeTableError(UnprovedError):
    """A constant array that is not written out."""


def table(array: Any, kind: str, reading: Reading | None = None) -> Tensor:
    """A constant array T: T[k] = a + Σ bₐ·kₐ where its entries progress so, else Σⱼ (T[j] − c)·[k = j] + c.

    Both are identities for every index in range; c is the most common entry, so that one-hot tables are short. Where a
    table is written out, its long entries are read as the `reading` says, like literals.

    Raises UnprovedError for a table that is empty or has infinite entries, LargeTableError for one that is large.
    """
    if array.size == 0:
        raise UnprovedError("an empty constant array")
    if kind == "f" and not np.isfinite(array).all():
        raise UnprovedError("a constant array with infinite entries among others")
    if array.size > MAX_LOOKED_AT:
        raise LargeTableError(f"a constant array of {array.size} entries that differ")
    entries = {at: x for at in np.ndindex(array.shape) if (x := literal_value(array[at])) is not None}
    body = _progression(array.shape, entries)
    if body is None:
        others = array.size - Counter(entries.values()).most_common(1)[0][1]
        if others > MAX_ENTRIES:
            raise LargeTableError(f"a constant array of {array.size} entries that differ")
        body = _listed(array.shape, _entry_terms(array, kind, entries, reading))
    shape = tuple(number(n) for n in array.shape)
    return Tensor(shape, body, kind, signs=_signs(array, kind))  # type: ignore[arg-type]


def _signs(array: Any, kind: str) -> int:
    if kind == "b":
        return NONNEG
    return sum(sign for sign, some in ((POS, array > 0), (ZERO, array == 0), (NEG, array < 0)) if some.any())


def named_table(ctx: Context, array: Any, kind: str, reason: str) -> Tensor:
    """A constant array as a tensor of which only the name is known; see the head of the file.

    Where T∘π = ±T for permutations π of the axes, T[k] is written as their mean, Σ_π ±T[π(k)] / their number: a
    symmetric table is its own transpose. Of the entries' values only the signs are known. A claim that needs more (that
    they sum to 1) is not proved; where a condition does, `reason` is why.
    """
    axes = [k for k, n in enumerate(array.shape) if n != 1]
    form, order, sign, alike = _canonical(array.squeeze(), kind)
    name = f"table‹{form}›"
    ctx.opaque[name] = Opaque(reason, frozenset())
    ctx.note(
        f"a table of {array.size} constants: nothing of its entries is used but which of them are equal by symmetry"
    )
    own = own_index(tuple(number(n) for n in array.shape))
    index = [own[axes[k]] for k in order]
    body = NOTHING
    for way, turned in alike:
        body = body + access(name, tuple(index[k] for k in way)).scale(turned)
    if len(alike) > 1:
        body = body.scale(fmpq(1, len(alike)))
    shape = tuple(number(n) for n in array.shape)
    if kind == "b":
        return Tensor(shape, pred(body), "b", signs=NONNEG)
    return Tensor(shape, body.scale(sign), kind, signs=_signs(array, kind))  # type: ignore[arg-type]


MAX_TURNED = 3
"""Tables of more axes are told apart from their transposes."""
Order = tuple[int, ...]


def _canonical(array: Any, kind: str) -> tuple[str, Order, int, list[tuple[Order, int]]]:
    """Return a name that the array shares with its transposes and negatives, and how it is turned from the one so
    named.

    That is: the name; the order of axes and the sign that give the named array; the orders of axes, each with a sign,
    in which the named array is itself again.
    """

    def written(a: Any) -> bytes:
        """Return an array's text by shortest decimals, as all literals, so that the dtype does not matter; a large
        one's bytes.
        """
        if a.size > MAX_LOOKED_AT:
            return f"{a.dtype}{a.shape}".encode() + np.ascontiguousarray(a).tobytes()
        return f"{kind}{a.shape}{[str(x) for x in a.ravel()]}".encode()

    def sign_of(a: Any) -> int:
        """The sign of the first nonzero entry."""
        return 1 if kind != "f" or a.ravel()[(a != 0).argmax()] > 0 else -1

    def positive(a: Any) -> Any:
        return a if sign_of(a) > 0 else -a

    array = array + 0.0 if kind == "f" else array  # −0 is 0
    orders = list(permutations(range(array.ndim))) if array.ndim <= MAX_TURNED else [tuple(range(array.ndim))]
    texts = {order: written(positive(array.transpose(order))) for order in orders}
    order = min(orders, key=lambda o: texts[o])
    form = array.transpose(order)
    sign, form = sign_of(form), positive(form)
    alike: list[tuple[Order, int]] = []
    for way in orders:
        turned = form.transpose(way)
        if turned.shape == form.shape:
            alike += [(way, s) for s in ((1, -1) if kind == "f" else (1,)) if np.array_equal(turned, s * form)]
    return hashlib.blake2b(texts[order], digest_size=16).hexdigest(), order, sign, alike


def _progression(shape: tuple[int, ...], entries: dict[tuple[int, ...], Fraction]) -> Poly | None:
    """The entries as one number and a multiple of each index, if they are of that form."""
    origin = (0,) * len(shape)
    first = entries[origin]
    steps = [
        entries[tuple(int(j == k) for j in range(len(shape)))] - first if n > 1 else Fraction(0)
        for k, n in enumerate(shape)
    ]
    if any(x != first + sum(b * k for b, k in zip(steps, at, strict=True)) for at, x in entries.items()):
        return None
    body = number(first)
    for k, b in enumerate(steps):
        if b:
            body = body + index_number(of_var(template(k))) * number(b)
    return body


def _entry_terms(
    array: Any, kind: str, entries: dict[tuple[int, ...], Fraction], reading: Reading | None
) -> dict[tuple[int, ...], Poly]:
    """The entries as terms: as written, or what a long one stands for."""
    out = {at: number(x) for at, x in entries.items()}
    if reading is not None and kind == "f":
        out |= {at: meant for at in entries if (meant := reading.term(array[at])) is not None}
    return out


def _listed(shape: tuple[int, ...], entries: dict[tuple[int, ...], Poly]) -> Poly:
    common = Counter(entries.values()).most_common(1)[0][0]
    body = common
    for at, x in entries.items():
        if x == common:
            continue
        here = ONE
        for k, (j, n) in enumerate(zip(at, shape, strict=True)):
            if n > 1:  # else the index is 0
                here = here * index_equal(of_var(template(k)).shifted(number(-j)))
        body = body + here * (x - common)
    return body
