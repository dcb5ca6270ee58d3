"""Concrete programs on rigorous reals: the evaluator that decides refutations, independent of the symbolic kernel."""

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
    adjoint_gap,
    derivative,
    forward_gap,
    jvp_gap,
    settled_gap,
)
from certgrad.obligations.balls._primitives import RULES  # importing it fills the table
from certgrad.obligations.balls._readings import Run, decides_otherwise, reads_otherwise
from certgrad.obligations.balls._roots import enclosed_root
from certgrad.obligations.balls._rule import Dims, Input, Programs, Rule
from certgrad.obligations.balls._scalars import UNKNOWN, ball, finite, precision
from certgrad.obligations.balls._tangents import KINK
from certgrad.obligations.balls._values import Literals, Stored, shortest
from certgrad.obligations.balls._witness import WitnessPoint, find_witness, witness_at
from certgrad.obligations.balls.statements import inside
