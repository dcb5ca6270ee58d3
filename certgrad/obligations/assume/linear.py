"""Linear arithmetic over the rationals by Fourier-Motzkin elimination; monomials stand as unknowns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flint import fmpq

from certgrad.obligations.terms.budget import budget
from certgrad.obligations.terms.polynomials import Poly

MAX_ROWS = 300


@dataclass(frozen=True)
class Constraint:
    """poly > 0 if `strict`, else poly ≥ 0."""

    poly: Poly
    strict: bool


Row = tuple[tuple[tuple[int, fmpq], ...], bool]
"""Coefficients of numbered unknowns (0 is the constant) in order, and whether the row is strict."""


def infeasible(constraints: Iterable[Constraint]) -> bool:
    """True only if no assignment of reals to the monomials satisfies all constraints.

    Elimination that grows past a bound counts as feasible: the answer False is always safe.
    """
    current = list(dict.fromkeys((_scaled(c.poly.row), c.strict) for c in constraints))
    while True:
        if any(_contradiction(r) for r in current):
            return True
        signs: dict[int, list[int]] = {}
        for terms, _ in current:
            for unknown, k in terms:
                if unknown:
                    signs.setdefault(unknown, [0, 0])[k > 0] += 1
        if not signs:
            return False
        chosen = min(signs, key=lambda u: (signs[u][0] * signs[u][1] - sum(signs[u]), u))
        budget.spend(len(current) + signs[chosen][0] * signs[chosen][1])
        current = _eliminate(chosen, current)
        if len(current) > MAX_ROWS:
            return False


def _contradiction(row: Row) -> bool:
    terms, strict = row
    if not terms:
        return strict
    return len(terms) == 1 and terms[0][0] == 0 and terms[0][1] < 0


def _eliminate(unknown: int, rows: list[Row]) -> list[Row]:
    """Rows without the unknown that hold for some value of it exactly where the given rows do."""
    out: dict[Row, None] = {}
    lower: list[tuple[dict[int, fmpq], fmpq, bool]] = []
    upper: list[tuple[dict[int, fmpq], fmpq, bool]] = []
    for row in rows:
        terms, strict = row
        coefficients = dict(terms)
        k = coefficients.pop(unknown, None)
        if k is None:
            out.setdefault(row)
        else:
            (lower if k > 0 else upper).append((coefficients, abs(k), strict))
    for low, a, s in lower:
        for high, b, t in upper:
            mixed = {u: c * b for u, c in low.items()}
            for u, c in high.items():
                mixed[u] = mixed[u] + c * a if u in mixed else c * a
            out.setdefault((_scaled(tuple(sorted((u, c) for u, c in mixed.items() if c != 0))), s or t))
    return list(out)


def _scaled(items: tuple[tuple[int, fmpq], ...]) -> tuple[tuple[int, fmpq], ...]:
    """The row scaled by a positive number to a canonical representative."""
    scale = next((abs(c) for u, c in items if u), None)
    return items if scale is None or scale == 1 else tuple((u, c / scale) for u, c in items)
