"""Concrete programs on rigorous reals: the evaluator that decides refutations, independent of the symbolic kernel."""

from typing import TYPE_CHECKING

from certgrad.process.on_demand import door

if TYPE_CHECKING:
    from certgrad.obligations.balls import _indexing
    from certgrad.obligations.balls._consistent import agrees_somewhere
    from certgrad.obligations.balls._distance import Distance, compared, distance
    from certgrad.obligations.balls._draw import nested, seeded
    from certgrad.obligations.balls._errors import BallError, MalformedRule, NotDifferentiable, Undecided, Unsupported
    from certgrad.obligations.balls._evaluate import PRECISION, Evaluation, evaluate
    from certgrad.obligations.balls._factorisations import FACTORS, factor
    from certgrad.obligations.balls._gaps import (
        SIDES,
        Gap,
        Point,
        Side,
        derivative,
        gap_at,
        settled_gap,
    )
    from certgrad.obligations.balls._readings import NEGLIGIBLE, Run, reads_otherwise
    from certgrad.obligations.balls._registry import RULES
    from certgrad.obligations.balls._rule import Dims, Input, Programs, Rule
    from certgrad.obligations.balls._scalars import UNKNOWN, ball, finite, precision
    from certgrad.obligations.balls._tangents import KINK
    from certgrad.obligations.balls._values import Literals, Stored, shortest
    from certgrad.obligations.balls._witness import (
        Criterion,
        Scope,
        SearchLimits,
        WitnessPoint,
        find_witness,
        witness_at,
    )
    from certgrad.obligations.balls.statements import all_conditions_hold

_PUBLIC = {
    "NEGLIGIBLE": "_readings",
    "Literals": "_values",
    "Run": "_readings",
    "Stored": "_values",
    "reads_otherwise": "_readings",
    "shortest": "_values",
    "BallError": "_errors",
    "Criterion": "_witness",
    "Dims": "_rule",
    "Distance": "_distance",
    "Evaluation": "_evaluate",
    "FACTORS": "_factorisations",
    "Gap": "_gaps",
    "Input": "_rule",
    "KINK": "_tangents",
    "MalformedRule": "_errors",
    "NotDifferentiable": "_errors",
    "PRECISION": "_evaluate",
    "Point": "_gaps",
    "Programs": "_rule",
    "RULES": "_registry",
    "Rule": "_rule",
    "SIDES": "_gaps",
    "Scope": "_witness",
    "SearchLimits": "_witness",
    "Side": "_gaps",
    "UNKNOWN": "_scalars",
    "Undecided": "_errors",
    "Unsupported": "_errors",
    "WitnessPoint": "_witness",
    "agrees_somewhere": "_consistent",
    "ball": "_scalars",
    "compared": "_distance",
    "derivative": "_gaps",
    "distance": "_distance",
    "evaluate": "_evaluate",
    "factor": "_factorisations",
    "find_witness": "_witness",
    "finite": "_scalars",
    "gap_at": "_gaps",
    "all_conditions_hold": "statements",
    "nested": "_draw",
    "precision": "_scalars",
    "seeded": "_draw",
    "settled_gap": "_gaps",
    "witness_at": "_witness",
}

__getattr__ = door(__name__, _PUBLIC, "_indexing")
