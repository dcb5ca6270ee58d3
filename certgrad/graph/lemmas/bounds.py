"""Bounds of the entries of a value: the possible signs of x and, where they say more, those of x − 1 and x + 1.

They are coded as one integer: bits 0 to 2 are the possible signs of x, as in the kernel's facts; bits 3 to 5 those of
x − 1 and bits 6 to 8 those of x + 1, or no bits where the rest implies them. So bounds that only say a sign are the
code of that sign, and 7, all signs of x, says nothing. The kernel gives the bounds of an operation's results, by the
signs of x, x − 1 and x + 1. Where the operation selects an operand entry by entry (`max`, `where`), the bounds are also
read off the operands, since the normal form of a term can hide the selection.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from certgrad.jaxpr import kinds
from certgrad.language.relations import SIGNS
from certgrad.language.tree import Array, Compare, Number, Relation, Statement
from certgrad.obligations.assume.fact import Fact
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.signs import ANY_SIGN, NEG, NONNEG, NONPOS, NONZERO, POS, ZERO
from certgrad.obligations.terms.polynomials import ONE, Poly
from certgrad.obligations.tracing.jax_internals import kind_of

CUTS = (0, 1, -1)
"""The numbers that values are compared with, in the order of the bits."""
_PLACES = tuple(Fraction(k, 2) for k in (-4, -2, -1, 0, 1, 2, 4))
"""A number of each part into which the cuts divide the line: −2 of x < −1, −1 of x = −1, and so on."""
_RELATIONS: dict[int, Relation] = {POS: ">", NONNEG: ">=", NEG: "<", NONPOS: "<=", NONZERO: "!=", ZERO: "="}
_WORDS = {signs: SIGNS[relation] for signs, relation in _RELATIONS.items()}


@lru_cache(maxsize=4096)
def bounds_from_signs(signs: tuple[int, ...]) -> int:
    """Return the encoded bounds for the possible signs of x, x − 1 and x + 1."""
    return _code(k for k, p in enumerate(_PLACES) if all(s & _sign(p - c) for s, c in zip(signs, CUTS, strict=False)))


@lru_cache(maxsize=4096)
def joined(a: int, b: int) -> int:
    """Return the bounds of a value that is one of two values with bounds `a` and `b`."""
    return _code((*_line_parts(a), *_line_parts(b)))


@lru_cache(maxsize=4096)
def intersection(a: int, b: int) -> int:
    """Return the bounds of a value that has both bounds `a` and `b`; `a` where they exclude each other."""
    return _code(set(_line_parts(a)) & set(_line_parts(b))) or a


def of_selection(name: str, operands: Sequence[int]) -> int:
    """Return the bounds of the results of an operation that selects an operand entry by entry; 7 for any other."""
    parts = [_line_parts(o) for o in operands]
    if name in ("max", "min") and len(parts) == 2:
        chosen = max if name == "max" else min
        return _code(chosen(a, b) for a in parts[0] for b in parts[1])
    if name == "clamp" and len(parts) == 3:
        return _code(min(max(low, x), high) for low in parts[0] for x in parts[1] for high in parts[2])
    if (name == "select_n" or name in kinds.JOINS) and parts:
        return _code(k for p in (parts[1:] if name == "select_n" else parts) for k in p)
    return ANY_SIGN


def above(low: int) -> int:
    """Return the bounds of a value that is not below a value with the bounds `low`."""
    return _code(range(min(_line_parts(low), default=0), len(_PLACES)))


def sign(where: int) -> int:
    """Return the signs alone of encoded bounds."""
    return where & ANY_SIGN


def facts(body: Poly, where: int) -> list[Fact]:
    """Return the bounds `where` of a term as facts for the kernel: about the term, itself minus 1 and plus 1."""
    shifted = (body, body - ONE, body + ONE)
    return [Fact(term, s) for term, s in zip(shifted, _signs(where), strict=True) if s not in (0, ANY_SIGN)]


def of_term(body: Poly, given: Facts, signs: int = ANY_SIGN) -> int:
    """Return the kernel's bounds of a term with these known signs."""
    return bounds_from_signs((signs & given.signs(body), given.signs(body - ONE), given.signs(body + ONE)))


def of_array(value: Any) -> int:
    """Return the bounds of an array's entries; 7 if one of them is NaN."""
    if kind_of(value.dtype if hasattr(value, "dtype") else np.asarray(value).dtype) not in "fi":
        return ANY_SIGN
    array = np.asarray(value)
    if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
        return ANY_SIGN
    parts = [
        (array < -1).any(),
        (array == -1).any(),
        ((array > -1) & (array < 0)).any(),
        (array == 0).any(),
        ((array > 0) & (array < 1)).any(),
        (array == 1).any(),
        (array > 1).any(),
    ]
    return _code(k for k, occurs in enumerate(parts) if occurs)


def holds(value: Fraction | int, where: int) -> bool:
    """Return whether a number is within the bounds."""
    return all(s == 0 or s & _sign(value - c) for s, c in zip(_signs(where), CUTS, strict=True)) and bool(
        where & ANY_SIGN
    )


def conditions(name: str, where: int) -> list[str]:
    """Return the bounds of an argument as comparisons: `y > 0`, `y < 1`."""
    pairs = zip(_signs(where), CUTS, strict=True)
    return [f"{name} {_WORDS[s]} {_number(c)}" for s, c in pairs if s in _WORDS]


def statements(name: str, where: int) -> list[Statement]:
    """Return the bounds of an argument as statements that can be evaluated."""
    pairs = zip(_signs(where), CUTS, strict=True)
    return [Compare(_RELATIONS[s], Array(name), Number(str(c))) for s, c in pairs if s in _RELATIONS]


def from_comparisons(texts: Iterable[str], names: Sequence[str]) -> tuple[int, ...] | None:
    """Return each argument's bounds from the comparisons that `conditions` writes; None for other texts."""
    signs_by_name = {name: [ANY_SIGN] * len(CUTS) for name in names}
    for text in texts:
        name, _, rest = text.partition(" ")
        word, _, number = rest.partition(" ")
        if name not in signs_by_name or word not in _BY_WORD or number not in _BY_NUMBER:
            return None
        signs_by_name[name][_BY_NUMBER[number]] = _BY_WORD[word]
    return tuple(bounds_from_signs(tuple(signs)) for signs in signs_by_name.values())


@lru_cache(maxsize=4096)
def relation(where: int) -> str:
    """Return encoded bounds in words: `> 0`, `in (0, 1]`, `≠ 0`; "" where nothing is known.

    The parts of the line are numbered: 1, 3, 5 are −1, 0, 1, and 0, 2, 4, 6 the open intervals before and after these.
    """
    parts = _line_parts(where)
    if not parts or where == ANY_SIGN:
        return ""
    ends = {1: -1, 3: 0, 5: 1}
    low, high = parts[0], parts[-1]
    if low == high and low in ends:
        return f"= {_number(ends[low])}"
    # an end of the range: whether it is part of it, and its number; None where the range is unbounded
    lower = None if low == 0 else (low in ends, ends.get(low, ends.get(low - 1, 0)))
    upper = None if high == 6 else (high in ends, ends.get(high, ends.get(high + 1, 0)))
    missing = [f"≠ {_number(ends[k])}" for k in ends if low < k < high and k not in parts]
    if lower is None and upper is None:
        return " and ".join(missing)
    if upper is None and lower is not None:
        text = f"{'≥' if lower[0] else '>'} {_number(lower[1])}"
    elif lower is None and upper is not None:
        text = f"{'≤' if upper[0] else '<'} {_number(upper[1])}"
    elif lower is not None and upper is not None:
        brackets = "[" if lower[0] else "(", "]" if upper[0] else ")"
        text = f"in {brackets[0]}{_number(lower[1])}, {_number(upper[1])}{brackets[1]}"
    return " and ".join([text, *missing])


@lru_cache(maxsize=1)
def _by_words() -> dict[str, int]:
    """Return the bounds for every text that `relation` gives."""
    codes = {_code(k for k in range(len(_PLACES)) if parts >> k & 1) for parts in range(1, 1 << len(_PLACES))}
    return {relation(code): code for code in codes}


def parse_relation(text: str) -> int | None:
    """Return the bounds that a text of `relation` writes; None for other texts."""
    return _by_words().get(text)


def side(text: str) -> str:
    """Return what a relation in words says about 0: `> 0`, `< 0` or `≠ 0`; "" where 0 is possible."""
    signs = sign(_by_words().get(text, ANY_SIGN))
    return "" if signs & ZERO else f"{_WORDS.get(signs, '≠')} 0"


def _number(cut: int) -> str:
    return str(cut).replace("-", "−")


_BY_WORD = {word: signs for signs, word in _WORDS.items()}
_BY_NUMBER = {_number(cut): k for k, cut in enumerate(CUTS)}


def _sign(number: Fraction | int) -> int:
    return POS if number > 0 else NEG if number < 0 else ZERO


def _signs(where: int) -> tuple[int, int, int]:
    return where & ANY_SIGN, where >> 3 & ANY_SIGN, where >> 6 & ANY_SIGN


@lru_cache(maxsize=4096)
def _line_parts(where: int) -> tuple[int, ...]:
    """Return the parts of the line in which x can be: 0 is x < −1, 1 is x = −1, 2 is −1 < x < 0, … 6 is x > 1."""
    pairs = list(zip(_signs(where), CUTS, strict=True))
    return tuple(
        k
        for k, p in enumerate(_PLACES)
        if where & ANY_SIGN & _sign(p) and all(s == 0 or s & _sign(p - c) for s, c in pairs[1:])
    )


def _code(parts: Iterable[int]) -> int:
    """Return the code of these parts of the line: signs of x − 1 and x + 1 only where they exclude a further part."""
    places = [_PLACES[k] for k in dict.fromkeys(parts)]
    code = 0
    for shift, cut in zip((0, 3, 6), CUTS, strict=True):
        signs = 0
        for p in places:
            signs |= _sign(p - cut)
        if shift == 0 or len(_line_parts(code | signs << shift)) < len(_line_parts(code)):
            code |= signs << shift
    return code
