"""The programs of a rule at given sizes, as the specification reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from jax._src.core import jaxprs_in_params

from certgrad._subject import Subject
from certgrad.jaxpr import at_shapes
from certgrad.language import tree as t
from certgrad.signatures.cases import Case, Shape
from certgrad.specification.program import Definition, Loop, Program, Table, expressions_of
from certgrad.specification.reading import Literals, meaning
from certgrad.specification.rule import UnreadableError

LONG = 20
"""A number with more characters than this is taken for a float with all the digits that its dtype has."""


class OutsideError(Exception):
    """The rule is beyond this check. The message says why."""


@dataclass(frozen=True, eq=False)
class Programs:
    """The programs of a rule at one shape.

    Each takes the arguments, then inputs of its own (tangents or cotangents), then the parameters.
    """

    dtypes: tuple[str, ...]
    parameters: int
    forward: Program
    vjp: Program | None
    jvp: Program | None
    primal: Program | None
    reference: Program | None
    sizes: Mapping[str, int] = field(default_factory=dict)
    """The numbers that symbolic sizes stand for; empty for programs that were traced at numbers."""
    lengths: Mapping[t.Node, int] = field(default_factory=dict)
    """The axes whose indices have weights: their lengths as expressions, and as numbers."""
    free: bool = False
    """Whether the outcome of comparing two real numbers is a free number (`_free.py`)."""
    positive: frozenset[int] = frozenset()
    """The positions of the arguments, and behind them of the parameters, that are above 0."""

    def above_0(self, program: Program) -> frozenset[str]:
        """Return the names of the inputs of one of the programs that are above 0."""
        offset = len(program.inputs) - self.parameters - len(self.dtypes)
        return frozenset(program.inputs[k if k < len(self.dtypes) else k + offset].name for k in self.positive)

    @property
    def outputs(self) -> list[tuple[int, ...]]:
        """The shapes of the outputs."""
        return [tuple(n.value if isinstance(n, t.Integer) else self.lengths[n] for n in tensor.shape)
                for tensor in self.forward.outputs]  # fmt: skip

    @property
    def moving(self) -> list[int]:
        """The positions of the arguments that have a tangent."""
        return [k for k, d in enumerate(self.dtypes) if d == "float"]

    @property
    def long(self) -> bool:
        """Whether the programs hold floats with all of their digits, which may stand for other numbers."""
        return self._literals[0]

    @property
    def numbers(self) -> tuple[Fraction, ...]:
        """The numbers of ordinary size with which the programs compare, other than 0 and 1."""
        return self._literals[1]

    @cached_property
    def _literals(self) -> tuple[bool, tuple[Fraction, ...]]:
        """Whether the programs hold long floats, and the numbers with which they compare."""
        programs = (self.forward, self.vjp, self.jvp, self.primal, self.reference)
        long, compared = False, set()
        expressions = (x for p in programs if p is not None for x in _expressions(p.definitions))
        for node in (node for x in expressions for node in t.walk(x)):
            if type(node) is t.Number:
                long = long or len(node.value) > LONG
            elif type(node) is t.Compare:
                compared |= {Fraction(x.value) for x in (node.left, node.right) if isinstance(x, t.Number | t.Integer)}
        return long, tuple(sorted(x for x in compared if abs(x) <= 10**4 and x not in (0, 1)))


def _expressions(definitions: Sequence[Definition]) -> Iterator[t.Node]:
    """Yield the expressions of definitions, those inside of loops included."""
    for d in definitions:
        if isinstance(d, Loop):
            yield from (x for carry in d.carries for x in expressions_of(carry))
            yield from _expressions(d.body)
        else:
            yield from d.values if isinstance(d, Table) else expressions_of(d)


def traced(subject: Subject, case: Case, shape: Shape) -> at_shapes.Programs:
    """Return the programs that JAX traces at a shape. Raises DoesNotTraceError."""
    specs = case.signature.inputs
    kinds = [s.exact if s.dtype == "int" and s.exact else s.dtype for s in specs]
    return at_shapes.traced(subject, case.keywords(shape.ranks, shape.sizes), shape.inputs, kinds)


def interpreted_programs(subject: Subject, case: Case, found: at_shapes.Programs, literals: Literals) -> Programs:
    """Return a subject's programs as the specification reads them, traced at a shape or at symbolic sizes.

    `literals` reads each literal. Raises OutsideError where a program has no meaning in the specification.
    """
    kinds = tuple(s.dtype for s in case.signature.inputs)
    if unknown_kinds := [kind for kind in kinds if kind not in at_shapes.DTYPES]:
        raise OutsideError(f"an argument of {unknown_kinds[0]}")
    # Without a float argument and an output there is no derivative to compare.
    has_derivative = bool(found.forward.jaxpr.outvars) and "float" in kinds

    def meant(what: str, program: Any) -> Program:
        try:
            return meaning(program, literals=literals)
        except UnreadableError as error:
            raise OutsideError(f"the {what} has no meaning here: {error}") from error

    return Programs(
        kinds,
        len(subject.params),
        meant("forward", found.forward),
        meant("vjp", found.vjp) if has_derivative else None,
        meant("jvp", found.jvp)
        if has_derivative and found.jvp is not None and not _reverse_only(found.jvp.jaxpr)
        else None,
        meant("fwd", found.primal) if has_derivative and found.primal is not None else None,
        meant("reference", found.reference) if found.reference is not None else None,
    )


def _reverse_only(jaxpr: Any) -> bool:
    """Return whether JAX has no forward mode of the function.

    The JVP then has a linear function, `custom_lin`, of which JAX knows the transpose alone.
    """
    inner = (program for eqn in jaxpr.eqns for program in jaxprs_in_params(eqn.params))
    return any(eqn.primitive.name == "custom_lin" for eqn in jaxpr.eqns) or any(map(_reverse_only, inner))
