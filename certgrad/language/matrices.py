"""Functions of a matrix of numbers in a reader's arithmetic, and the order of its rows after elimination."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .evaluate import Reader

MAX_ROWS = 6
"""The most rows of a determinant that is expanded."""
Rows = list[list[Any]]


def determinant(reader: Reader, rows: Rows) -> Any:
    """Return the determinant, by expansion along the first row."""
    a = reader.a
    if not rows:
        return a.number(1)
    total = a.number(0)
    for k, x in enumerate(rows[0]):
        minor = determinant(reader, [[*row[:k], *row[k + 1 :]] for row in rows[1:]])
        total = a.add(total, a.mul(a.number((-1) ** k), a.mul(x, minor)))
    return total


def smallest_minor(reader: Reader, rows: Rows) -> Any:
    """Return the smallest leading minor."""
    return _minimum(reader, [determinant(reader, [row[:k] for row in rows[:k]]) for k in range(1, len(rows) + 1)])


def _minimum(reader: Reader, values: list[Any]) -> Any:
    minus = reader.a.number(-1)
    return reader.a.mul(minus, reader.greatest([reader.a.mul(minus, x) for x in values]))


def inverse(reader: Reader, rows: Rows, i: int, j: int) -> Any:
    """Return an entry of the inverse, by Cramer's rule."""
    a = reader.a
    minor = [[x for k, x in enumerate(row) if k != i] for r, row in enumerate(rows) if r != j]
    cofactor = a.mul(a.number((-1) ** (i + j)), determinant(reader, minor))
    return a.mul(cofactor, a.power(determinant(reader, rows), Fraction(-1)))


def discriminant(reader: Reader, rows: Rows) -> Any:
    """Return Π_{k<l} (λ_k − λ_l)² for the eigenvalues λ.

    It is the determinant of the sums of powers Σ_k λ_k^(i+j), which are the traces of Aⁱ⁺ʲ.
    """
    a, n = reader.a, len(rows)
    power = [[a.number(int(i == j)) for j in range(n)] for i in range(n)]
    traces = []
    for _ in range(2 * n - 1):
        traces.append(reduce(a.add, [power[i][i] for i in range(n)]))
        columns = list(zip(*power, strict=True))
        power = [[reduce(a.add, [a.mul(x, y) for x, y in zip(row, c, strict=True)]) for c in columns] for row in rows]
    return determinant(reader, [traces[i : i + n] for i in range(n)])


def eliminated(reader: Reader, rows: Rows) -> tuple[list[int], Any]:
    """Return the row that elimination with pivots puts into each place, and the least gap of a pivot.

    The gap is between the modulus of a pivot and that of another entry which could have been taken, 1 if there is none.
    Of equal candidates the first is the pivot.
    """
    a, n, remaining = reader.a, len(rows), [list(row) for row in rows]
    order, minus, gaps = list(range(n)), a.number(-1), []
    for k in range(n):
        sizes = [a.apply("abs", [row[k]]) for row in remaining[k:]]
        best = 0
        for i, x in enumerate(sizes):
            best = i if reader.order(x, sizes[best]) > 0 else best
        gaps += [a.add(sizes[best], a.mul(minus, x)) for i, x in enumerate(sizes) if i != best]
        best += k
        remaining[k], remaining[best], order[k], order[best] = remaining[best], remaining[k], order[best], order[k]
        if reader.order(remaining[k][k], a.number(0)) == 0:
            continue  # a column of zeros
        for i in range(k + 1, n):
            factor = a.mul(minus, a.mul(remaining[i][k], a.power(remaining[k][k], Fraction(-1))))
            remaining[i] = [a.add(x, a.mul(factor, y)) for x, y in zip(remaining[i], remaining[k], strict=True)]
    return order, _minimum(reader, gaps) if gaps else a.number(1)


def pivot_gap(reader: Reader, rows: Rows) -> Any:
    """Return the least gap between the modulus of a pivot and that of another candidate; 1 if there is none."""
    return eliminated(reader, rows)[1]


KINDS: dict[str, Callable[..., Any]] = {
    "determinant": determinant,
    "smallest minor": smallest_minor,
    "inverse": inverse,
    "discriminant": discriminant,
    "pivot gap": pivot_gap,
}
