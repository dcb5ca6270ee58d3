"""Constant arrays whose entries differ, as terms over their indices."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np

from certgrad.obligations.assume.signs import ANY, NEG, NONNEG, POS, ZERO
from certgrad.obligations.assume.tensor import Tensor
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.index_terms import index_equal, index_number
from certgrad.obligations.terms.polynomials import ONE, Poly, number
from certgrad.obligations.terms.variables import template
from certgrad.obligations.tracing.jax_internals import literal_value

from ._registry import UnprovedError

MAX_ENTRIES = 64
"""A table stands in a term once for each entry that is not the most common one."""


def table(array: Any, kind: str) -> Tensor:
    """A constant array T: T[k] = a + Σ bₐ·kₐ where its entries progress so, else Σⱼ (T[j] − c)·[k = j] + c.

    Both are identities for every index in range; c is the most common entry, so that one-hot tables are short.

    Raises UnprovedError for a table that is large, empty, or has infinite entries.
    """
    if array.size == 0:
        raise UnprovedError("an empty constant array")
    entries = {at: literal_value(array[at]) for at in np.ndindex(array.shape)}
    known = {at: x for at, x in entries.items() if x is not None}
    if len(known) < len(entries):
        raise UnprovedError("a constant array with infinite entries among others")
    body = _progression(array.shape, known)
    if body is None:
        if array.size > MAX_ENTRIES:
            raise UnprovedError(f"a constant array of {array.size} entries that differ")
        body = _listed(array.shape, known)
    least, most = min(known.values()), max(known.values())
    signs = POS if least > 0 else NEG if most < 0 else POS | ZERO if least == 0 else ANY
    shape = tuple(number(n) for n in array.shape)
    return Tensor(shape, body, kind, signs=NONNEG if kind == "b" else signs)  # type: ignore[arg-type]


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


def _listed(shape: tuple[int, ...], entries: dict[tuple[int, ...], Fraction]) -> Poly:
    common = Counter(entries.values()).most_common(1)[0][0]
    body = number(common)
    for at, x in entries.items():
        if x == common:
            continue
        here = ONE
        for k, (j, n) in enumerate(zip(at, shape, strict=True)):
            if n > 1:  # else the index is 0
                here = here * index_equal(of_var(template(k)).shifted(number(-j)))
        body = body + here * number(x - common)
    return body
