"""Loops in an obligation: its difference with tangent recurrences transposed and equal recurrences written alike."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from certgrad.obligations.laws.recurrences import has_loop
from certgrad.obligations.laws.transposition import LookedAt, without_carried
from certgrad.obligations.terms.atoms import Access, Sum
from certgrad.obligations.terms.determined import CARRY, Loop, Rec
from certgrad.obligations.terms.index import Ix, of_var
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, Atom, Poly, poly_of
from certgrad.obligations.terms.rewriting import Rewriter
from certgrad.obligations.terms.session import Memo
from certgrad.obligations.terms.sums import open_sum, sum_over
from certgrad.obligations.terms.walk import deep_atoms, indices_of

from .cases import Region
from .correspondence import Relation, matched

MOST_REVERSALS = 4
"""The most ranges of one sum for which both directions are tried; further ones stay as they are."""


def by_induction(
    poly: Poly, region: Region, tangents: Iterable[str] | None = None, looked_at: LookedAt = LookedAt.EARLY
) -> tuple[Poly, list[Relation]]:
    """Return a difference with its loops matched, and the relations between carries that this rests on.

    With `tangents`, the difference is linear in them, and becomes free of loops that carry tangents. Raises
    NoInvariantError where a loop cannot be transposed. `looked_at` says how its reads at varying times are treated.
    """
    if not has_loop(poly):
        return poly, []
    poly, relations = matched(poly, region)
    if tangents is not None:
        poly, further_relations = matched(without_carried(poly, tangents, looked_at), region)
        relations += further_relations
    return oriented(poly), relations


def oriented(poly: Poly) -> Poly:
    """Return the term with its sums counting up, so that equal ones have one form: Σ_{t<n} f(n − 1 − t) = Σ_{t<n} f(t).

    Of the ways to reverse ranges, the one that leaves the fewest indices counting down is taken. For a loop that reads
    arrays from the end on, a time that counts down counts as counting up.
    """

    def turned(a: Atom) -> Poly | None:
        """Return a sum with the best choice of its ranges reversed; None leaves the atom's parts to the rewriter."""
        if not isinstance(a, Sum):
            return poly_of(a) if isinstance(a, Rec) or not has_loop(poly_of(a)) else None
        dummies, body = open_sum(a)
        body = oriented(body)
        backward_times = [a.time for a in deep_atoms(body) if isinstance(a, Rec) and _runs_back(a.loop)]
        reversible = [
            (v, n)
            for v, n in dummies
            if any(ix.coefficient(v) < 0 for ix in indices_of(body))
            or any(ix.coefficient(v) > 0 for ix in backward_times)
        ]
        if not reversible:
            return sum_over(body, dummies)
        best: tuple[tuple, Poly] | None = None
        for choice in product((False, True), repeat=min(len(reversible), MOST_REVERSALS)):
            turn = {
                v: of_var(v).scaled(-1).shifted(n - ONE)
                for (v, n), is_reversed in zip(reversible, choice, strict=False)
                if is_reversed
            }
            form = sum_over(Rewriter(turn)(body), dummies)
            rank = (_directions(form), form.key)
            if best is None or rank < best[0]:
                best = (rank, form)
        applied(Law.SUM_TURNED)
        assert best is not None
        return best[1]

    return Rewriter(replace=turned)(poly)


def _directions(poly: Poly) -> list[int]:
    """Return how many indices count down: those of inputs first, then those of recurrences, innermost loops first."""
    down: dict[int, int] = {}
    for a in deep_atoms(poly):
        if isinstance(a, (Access, Rec)):
            level = 0 if isinstance(a, Access) else a.level
            counting_down = sum(isinstance(v, tuple) and c * sign < 0 for ix, sign in _places(a) for v, c in ix.terms)
            down[level] = down.get(level, 0) + counting_down
    return [down[k] for k in sorted(down)]


def _places(a: Access | Rec) -> list[tuple[Ix, int]]:
    """Return the indices of an entry, each with a sign: −1 for the time of a loop that runs back, else 1."""
    if isinstance(a, Access):
        return [(ix, 1) for ix in a.index]
    return [(a.time, -1 if _runs_back(a.loop) else 1), *((ix, 1) for ix in a.index)]


_backwards: Memo[Loop, bool] = Memo()


def _runs_back(loop: Loop) -> bool:
    """Return whether a loop's steps read arrays from the end on."""
    runs_back = _backwards.table.get(loop)
    if runs_back is None:
        time = ("b", loop.level, 0)
        read = [a for c in loop.carries for a in deep_atoms(c.step) if isinstance(a, (Access, Rec))]
        read_arrays = [a for a in read if isinstance(a, Rec) or not a.tensor.startswith(CARRY)]
        runs_back = sum(ix.coefficient(time) * sign for a in read_arrays for ix, sign in _places(a)) < 0
        _backwards.table[loop] = runs_back
    return runs_back
