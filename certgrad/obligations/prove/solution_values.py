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
    """The entries of inputs as given, and of a solution those of one root of its equation there, which `rng` chooses.

    Asking for an entry of a solution raises UndecidedError where no root is found.
    """
    found: dict[str, dict[Place, arb]] = {}

    def value(tensor: str, index: Place) -> arb:
        solution = solution_of(tensor)
        if solution is None:
            return values(tensor, index)
        if tensor not in found:
            found[tensor] = _root(solution, dims, value, rng)
        return found[tensor][index]

    return value


def terms_of(equation: Clause) -> list[Poly]:
    """The terms of the dimensions that must be known to solve a solver's equation."""
    solution = solution_of(name_of_solver(equation))
    return [] if solution is None else [*solution.shape, solution.residual]


def has_solution(equation: Clause, values: Values) -> bool:
    """Return whether the equation of a solver has a root at these values."""
    solution = solution_of(name_of_solver(equation))
    if solution is None:
        return False
    values(solution.name, (0,) * len(solution.shape))
    return True


def _root(solution: Solution, dims: Mapping[str, int], values: Values, rng: random.Random) -> dict[Place, arb]:
    sizes = [round(float(evaluate(n, dims, values).mid())) for n in solution.shape]
    places = list(product(*map(range, sizes)))
    if solution.jacobian.axis is not None:
        return _root_at(places, STARTS, solution, dims, values, rng)
    found: dict[Place, arb] = {}
    for place in places:  # each entry has an equation of its own
        found |= _root_at([place], STARTS_BY_ENTRY, solution, dims, values, rng)
    return found


def _root_at(
    places: Sequence[Place],
    starts: int,
    solution: Solution,
    dims: Mapping[str, int],
    values: Values,
    rng: random.Random,
) -> dict[Place, arb]:
    """Return the values of a solution's entries at these places, which the equations there determine."""
    envs = [{template(k): i for k, i in enumerate(place)} for place in places]

    def at(z: list[arb], direction: int | None = None) -> Values:
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
