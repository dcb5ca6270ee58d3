"""Linear arithmetic over the rationals by Fourier-Motzkin elimination; monomials stand as unknowns."""

from __future__ import annotations

from dataclasses import dataclass

from flint import fmpq

from ._terms import Mono, Poly

MAX_CONSTRAINTS = 400


@dataclass(frozen=True)
class Constraint:
    """poly > 0 if `strict`, else poly ≥ 0."""

    poly: Poly
    strict: bool


def infeasible(constraints: list[Constraint]) -> bool:
    """True only if no assignment of reals to the monomials satisfies all constraints.

    Elimination that grows past a bound counts as feasible: the answer False is always safe.
    """
    rows = {(_normal(dict(c.poly.items())), c.strict) for c in constraints}
    current = sorted(((dict(r), s) for r, s in rows), key=_order)
    unknowns = sorted({m for r, _ in current for m in r if m}, key=lambda m: "*".join(f"{a.key}^{e}" for a, e in m))
    while True:
        if any(not any(m for m in r) and (r.get((), fmpq(0)) < 0 or (s and r.get((), fmpq(0)) <= 0)) for r, s in current):
            return True
        if not unknowns:
            return False
        m = min(unknowns, key=lambda u: _growth(u, current))
        unknowns.remove(m)
        current = _eliminate(m, current)
        if len(current) > MAX_CONSTRAINTS:
            return False


Row = tuple[dict[Mono, fmpq], bool]


def _order(row: Row) -> str:
    return f"{row[1]}" + ";".join(sorted(f"{c}*{[(a.key, e) for a, e in m]}" for m, c in row[0].items()))


def _growth(m: Mono, rows: list[Row]) -> int:
    up = sum(1 for r, _ in rows if r.get(m, fmpq(0)) > 0)
    down = sum(1 for r, _ in rows if r.get(m, fmpq(0)) < 0)
    return up * down - up - down


def _eliminate(m: Mono, rows: list[Row]) -> list[Row]:
    lower = [(r, s) for r, s in rows if r.get(m, fmpq(0)) > 0]
    upper = [(r, s) for r, s in rows if r.get(m, fmpq(0)) < 0]
    out: dict[tuple, Row] = {}
    for r, s in rows:
        if m not in r:
            out[(_normal(r), s)] = (r, s)
    for r, s in lower:
        for q, t in upper:
            a, b = r[m], -q[m]
            mixed: dict[Mono, fmpq] = {}
            for k, c in r.items():
                mixed[k] = mixed.get(k, fmpq(0)) + c / a
            for k, c in q.items():
                mixed[k] = mixed.get(k, fmpq(0)) + c / b
            mixed = {k: c for k, c in mixed.items() if c != 0}
            key = _normal(mixed), s or t
            out[key] = (dict(key[0]), key[1])
    return list(out.values())


def _normal(row: dict[Mono, fmpq]) -> tuple[tuple[Mono, fmpq], ...]:
    """The row scaled by a positive number to a canonical representative."""
    items = sorted(row.items(), key=lambda t: "*".join(f"{a.key}^{e}" for a, e in t[0]))
    scale = next((abs(c) for m, c in items if m), fmpq(1))
    return tuple((m, c / scale) for m, c in items)
