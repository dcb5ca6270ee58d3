"""Entries of solutions of equations at concrete points, as balls around roots that are proved to exist."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import product

from flint import arb, arb_mat

from certgrad.numbers.roots import enclosed_root
from certgrad.obligations.assume.conditions import Clause, name_of_solver
from certgrad.obligations.decide.evaluate import Values, evaluate
from certgrad.obligations.laws.solutions import UNKNOWN, Solution, solution_of
from certgrad.obligations.terms.functions import UndecidedError
from certgrad.obligations.terms.polynomials import Poly
from certgrad.obligations.terms.variables import template

STARTS, STARTS_BY_ENTRY = 3, 12
"""From how many random points Newton's method starts: for all entries at once, and for one that has an equation of its
own."""
Place = tuple[int, ...]


class NoRootError(UndecidedError):
    """Newton's method found no root."""


def with_solutions(values: Values, dims: Mapping[str, int], rng: random.Random) -> Values:
    """Return the function that gives an entry of any tensor: of inputs as `values` does, of a solution by a root.

    A solution's equation is solved when an entry is asked for; which of its roots is found depends on `rng`. The
    returned function raises UndecidedError if none is found.
    """
    roots: dict[str, dict[Place, arb]] = {}

    def value(tensor: str, index: Place) -> arb:
        solution = solution_of(tensor)
        if solution is None:
            return values(tensor, index)
        if tensor not in roots:
            roots[tensor] = _root(solution, dims, value, rng)
        return roots[tensor][index]

    return value


def terms_of(equation: Clause) -> list[Poly]:
    """Return the terms in a solver's equation: a point must give the dimensions in these terms."""
    solution = solution_of(name_of_solver(equation))
    return [] if solution is None else [*solution.shape, solution.residual]


def has_solution(equation: Clause, values: Values) -> bool:
    """Return whether the equation of a solver has a root at these values, which `with_solutions` gave.

    Raises UndecidedError if no root is found.
    """
    solution = solution_of(name_of_solver(equation))
    if solution is None:
        return False
    values(solution.name, (0,) * len(solution.shape))
    return True


def _root(solution: Solution, dims: Mapping[str, int], values: Values, rng: random.Random) -> dict[Place, arb]:
    """Return the entries of one root of a solution's equation. Raises NoRootError if none is found."""
    sizes = [round(float(evaluate(n, dims, values).mid())) for n in solution.shape]
    places = list(product(*map(range, sizes)))
    if solution.jacobian.axis is not None:
        return _root_at(places, STARTS, solution, dims, values, rng)
    root: dict[Place, arb] = {}
    for place in places:  # without an axis in the Jacobian, each entry has an equation of its own
        root |= _root_at([place], STARTS_BY_ENTRY, solution, dims, values, rng)
    return root


def _root_at(
    places: Sequence[Place],
    starts: int,
    solution: Solution,
    dims: Mapping[str, int],
    values: Values,
    rng: random.Random,
) -> dict[Place, arb]:
    """Return balls around a solution's entries at these places, a root of the equations there.

    Newton's method starts from `starts` random points; `enclosed_root` proves that a root lies in the balls. Raises
    NoRootError if no start leads to one.
    """
    envs = [{template(k): i for k, i in enumerate(place)} for place in places]

    def at(z: list[arb], direction: int | None = None) -> Values:
        """Return the values with `z` for the solution, and a unit vector for the change of the solution."""
        table = dict(zip(places, z, strict=True))

        def value(tensor: str, index: Place) -> arb:
            if tensor == solution.name:
                return table[index]
            if tensor == UNKNOWN:
                return arb(1 if direction is not None and index == places[direction] else 0)
            return values(tensor, index)

        return value

    def residual(z: list[arb]) -> list[arb]:
        here = at(z)
        return [evaluate(solution.residual, dims, here, env) for env in envs]

    def jacobian(z: list[arb]) -> arb_mat:
        # `change` is the derivative of the residual along the tensor `UNKNOWN`: along unit vector k it is column k.
        columns = [[evaluate(solution.change, dims, at(z, k), env) for env in envs] for k in range(len(places))]
        return arb_mat([[column[i] for column in columns] for i in range(len(places))])

    for attempt in range(starts):
        start = [arb(rng.uniform(-1, 1) * (0.1, 1, 3)[attempt % 3]) for _ in places]
        try:
            root = enclosed_root(residual, jacobian, start)
        except UndecidedError:
            continue
        if root is not None:
            return dict(zip(places, root, strict=True))
    raise NoRootError("no root of an equation was found")
