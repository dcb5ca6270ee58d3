"""Concrete programs on rigorous reals: the evaluator that decides refutations, independent of the symbolic kernel."""

from certgrad.obligations.balls._errors import BallError, MalformedRule, NotDifferentiable, Undecided, Unsupported
from certgrad.obligations.balls._evaluate import PRECISION, Evaluation, evaluate
from certgrad.obligations.balls._primitives import RULES
from certgrad.obligations.balls._scalars import UNKNOWN
from certgrad.obligations.balls._tangents import KINK

__all__ = [
    "KINK",
    "PRECISION",
    "RULES",
    "UNKNOWN",
    "BallError",
    "Evaluation",
    "MalformedRule",
    "NotDifferentiable",
    "Undecided",
    "Unsupported",
    "evaluate",
]
