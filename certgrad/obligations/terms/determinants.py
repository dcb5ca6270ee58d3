"""Determinants of small matrices as polynomials in their entries."""

from __future__ import annotations

from itertools import combinations, permutations

from .index import of_const, whole_number
from .law import Law, applied
from .polynomials import ONE, ZERO, Poly, number
from .rewriting import substitute
from .variables import Var

SMALL = 3


def explicit_determinant(body: Poly, row: Var, column: Var, size: Poly) -> Poly | None:
    """The determinant of a matrix of at most SMALL rows, as a polynomial in its entries."""
    n = whole_number(size)
    return None if n is None or n > SMALL else leibniz(body, row, column, list(range(n)), list(range(n)))


def leibniz(body: Poly, row: Var, column: Var, rows: list[int], columns: list[int]) -> Poly:
    """The minor of these rows and columns, by the formula of Leibniz."""
    applied(Law.LEIBNIZ_DETERMINANT)
    total = ZERO
    for order in permutations(columns):
        turns = sum(1 for k, m in combinations(order, 2) if k > m)
        term = ONE.scale((-1) ** turns)
        for r, k in zip(rows, order, strict=True):
            term = term * substitute(body, {row: of_const(number(r)), column: of_const(number(k))})
        total = total + term
    return total
