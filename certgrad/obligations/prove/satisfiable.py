"""A checked rational point for each set of hypotheses: hypotheses that nothing satisfies would prove anything."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import product

from flint import arb, fmpq

from certgrad.obligations.assume.conditions import LOOP_STEP, Atomic, Clause, of_solver
from certgrad.obligations.balls import precision
from certgrad.obligations.decide.evaluate import Evaluation
from certgrad.obligations.laws.order import different_entries, maximum_once
from certgrad.obligations.laws.solutions import solution_of
from certgrad.obligations.terms.atoms import Access, Dim
from certgrad.obligations.terms.budget import BudgetError, budget
from certgrad.obligations.terms.determined import Rec
from certgrad.obligations.terms.functions import UndecidedError
from certgrad.obligations.terms.polynomials import Poly
from certgrad.obligations.terms.variables import Var
from certgrad.obligations.terms.walk import deep_atoms, indices_of
from certgrad.signatures.sizes import parse_size

from .solution_values import NoRootError, has_solution, terms_of, with_solutions

TRIES = 400
"""Points drawn at most; if none of them satisfies the hypotheses, the claim is unproved."""
ROOTLESS = 24
"""Points without a solution of a solver's equation, after which the search ends."""
PRECISION = 128
"""Bits of the balls; the roots of equations are known to fewer bits."""


MAX_STEPS = 256
"""A point at which a loop takes more steps than this does not count."""


ENDS = 3
"""Places that are checked at each end of a long axis."""


def satisfiable(
    clauses: Sequence[Clause],
    integers: Collection[str] = (),
    tests: Mapping[Var, Poly] | None = None,
    ranges: Mapping[Var, Poly] | None = None,
    shapes: Mapping[str, Sequence[object]] | None = None,
) -> bool:
    """Return whether a drawn point satisfies all clauses at all their indices, checked with balls.

    At a point all open dimensions have one size, 2 or 3, and the entries are odd sixteenths, from small or wide ranges,
    of both signs or of one. Raises BudgetError where the audit's time ends first.

    Args:
        clauses: the hypotheses; each must hold for all values of its index variables.
        integers: the names of the tensors of integers.
        tests: for each loop that ends by its values, its test, by the variable that numbers the loop's steps.
        ranges: sizes that index variables stay below; any other runs over an axis, with the size of the point.
        shapes: the shapes of the arguments: an axis whose length is a number keeps it. If one has the length 1, the
            later points may have the size 1 too.
    """
    if not clauses:
        return True
    tests, ranges = tests or {}, ranges or {}
    try:
        dims = _dimensions(clauses, ranges)
    except ValueError:
        return False  # a dimension that is the number of steps of a loop, which no point gives
    clauses = sorted(clauses, key=_speaks_of_a_solution)  # a root is looked for last: few points satisfy all else
    rng = random.Random(20)
    without_root = 0
    axes = {(t, k): n for t, dims in (shapes or {}).items() for k, n in enumerate(dims) if isinstance(n, int)}
    has_unit_axis = 1 in axes.values()
    for attempt in range(TRIES):
        size = 1 if has_unit_axis and attempt >= TRIES // 2 else 2 + attempt % 2
        # One size for all, so that every index runs over whole axes; not 1, where next to nothing would be claimed.
        sizes = dict.fromkeys(dims, size)
        try:
            with precision(PRECISION):
                values = with_solutions(_drawn_entries(attempt, size, integers, rng), sizes, rng)
                at = Evaluation(sizes, values)
                if all(_holds(c, at, size, tests, ranges, axes) for c in clauses):
                    return True
        except NoRootError:
            without_root += 1
            if without_root == ROOTLESS:
                return False
        except (UndecidedError, ZeroDivisionError, KeyError, ValueError, IndexError):  # no such row of a matrix, say
            continue
    return False


def _dimensions(clauses: Sequence[Clause], ranges: Mapping[Var, Poly]) -> list[str]:
    """Return the names of the open dimensions in the clauses, and in the ranges of their index variables.

    Raises ValueError for a dimension that is no size of an argument.
    """
    polys = [a.poly for c in clauses for a in c.alternatives] + [g for c in clauses for g, _ in c.guards]
    polys += [p for c in clauses if of_solver(c) for p in terms_of(c)]
    polys += [n for v, n in ranges.items() if any(v in c.free for c in clauses)]
    return sorted({n for p in polys for a in _all_atoms(p) if isinstance(a, Dim) for n in parse_size(a.name).names})


def _drawn_entries(
    attempt: int, size: int, integers: Collection[str], rng: random.Random
) -> Callable[[str, tuple[int, ...]], fmpq]:
    """Return the function from a tensor's name and an index to the entry of a point, which is drawn at its first use.

    `attempt`, the number of the point, says from which numbers the entries are drawn, and `size` is that of its axes.
    `integers` are the names of the tensors of integers.
    """
    table: dict[tuple[str, tuple[int, ...]], fmpq] = {}
    spread = (1, 4, 16)[attempt % 3]
    low = 0 if attempt % 2 else -spread * 8
    # Every third time the entries of each array are of one sign, as hypotheses mostly ask for.
    signs: dict[str, int] = defaultdict(lambda: rng.choice((1, -1))) if attempt % 3 == 2 else defaultdict(int)
    # Large diagonals, now and then: many matrices that are all to be positive definite are hardly met by chance.
    weight = 8 * spread * size if attempt % 5 == 4 else 0

    def entry(tensor: str, index: tuple[int, ...]) -> fmpq:
        if tensor in integers:
            return table.setdefault((tensor, index), fmpq(rng.randint(0, spread - 1)))
        on_diagonal = weight if len(index) > 1 and index[-1] == index[-2] else 0
        sign = signs[tensor]
        drawn = fmpq(rng.randint(0 if sign else low, spread * 8) * 2 + 1, 16)
        return table.setdefault((tensor, index), (sign or 1) * drawn + on_diagonal)

    return entry


def _speaks_of_a_solution(clause: Clause) -> bool:
    """Return whether the clause is the equation of a solver, or reads an entry of a solution."""
    polys = [*(a.poly for a in clause.alternatives), *(g for g, _ in clause.guards)]
    accesses = (a for p in polys for a in deep_atoms(p) if isinstance(a, Access))
    return of_solver(clause) or any(solution_of(a.tensor) is not None for a in accesses)


def _all_atoms(poly: Poly) -> list:
    """Return the atoms of a term, also those in the ranges of sums and loops and in the constants of indices."""
    out = list(deep_atoms(poly))
    for a in list(out):
        ranges = [n for c in a.carries for n in c.ranges] if isinstance(a, Rec) else getattr(a, "ranges", ())
        for n in ranges:
            out += deep_atoms(n)
    for ix in indices_of(poly):
        out += deep_atoms(ix.const)
    return out


def _steps(test: Poly, step: Var, at: Evaluation) -> int:
    """Return how often a loop's test is evaluated until it fails. Raises UndecidedError above `MAX_STEPS`."""
    for s in range(MAX_STEPS):
        if at.poly(test, {step: s}) == 0:
            return s + 1
    raise UndecidedError("a loop of many steps")


def _places(size: int) -> Sequence[int]:
    """Return the places along an axis that are checked: all of them, or those at both ends of a long axis."""
    return range(size) if size <= 2 * ENDS else [*range(ENDS), *range(size - ENDS, size)]


def _lengths(clause: Clause, axes: Mapping[tuple[str, int], int]) -> dict[Var, int]:
    """Return the ranges of the clause's index variables that number axes of a concrete length (`axes`)."""
    polys = [*(a.poly for a in clause.alternatives), *(g for g, _ in clause.guards)]
    accesses = (a for p in polys for a in deep_atoms(p) if isinstance(a, Access))
    lengths = ((ix.variable(), axes.get((a.tensor, k))) for a in accesses for k, ix in enumerate(a.index))
    return {v: n for v, n in lengths if v is not None and n is not None}


def _holds(
    clause: Clause,
    at: Evaluation,
    size: int,
    tests: Mapping[Var, Poly],
    known: Mapping[Var, Poly],
    axes: Mapping[tuple[str, int], int],
) -> bool:
    """Return whether a clause holds at a point for all values of its index variables.

    A variable runs over the steps of its loop (`tests`), over an axis of concrete length (`axes`), below its range in
    `known`, or else over an axis of the point's `size`. A relation that balls do not decide does not hold. Raises
    BudgetError when time is over, and UndecidedError where a term has no value that balls can tell.
    """
    lengths = _lengths(clause, axes) if axes else {}
    variables: list[Var] = sorted(clause.free)
    ranges: list[Sequence[int]] = []
    for v in variables:
        if v[0] == LOOP_STEP:
            ranges.append(range(_steps(tests[v], v, at)))
        else:
            range_size = int(at.poly(known[v], {}).unique_fmpz()) if v in known else size
            ranges.append(_places(lengths.get(v, range_size)))
    # Two kinds of clauses are decided from the entries: that these are all different, or that a maximum is attained
    # once. As terms they are equations between counts of equal entries, which balls seldom decide.
    relations, different = [(a, maximum_once(a)) for a in clause.alternatives], different_entries(clause)
    for place in product(*ranges):
        if not budget.seconds_left():
            raise BudgetError(budget.over("a point was found that satisfies all hypotheses"))
        env = dict(zip(variables, place, strict=True))
        if different is not None and not clause.guards:
            if not at.all_different(*different, env):
                return False
            continue
        if any((at.poly(g, env) == 1) != want for g, want in clause.guards):
            continue  # a guard does not hold here: the clause says nothing
        if of_solver(clause):
            if not has_solution(clause, at.values):
                return False
            continue
        if not any(
            _relation_holds(a, at.poly(a.poly, env)) if once is None else at.attained_once(once, env)
            for a, once in relations
        ):
            return False
    return True


def _relation_holds(a: Atomic, x: arb) -> bool:
    """Return whether every number in the ball `x` satisfies the relation."""
    if a.relation == "> 0":
        return bool(x > 0)
    if a.relation == ">= 0":
        return bool(x >= 0)
    if a.relation == "= 0":
        return bool(x == 0)
    if a.relation == "!= 0":
        return bool(x != 0)
    if a.relation == "not integer":
        return not x.contains_integer()
    return bool(x > 0) or not x.contains_integer()
