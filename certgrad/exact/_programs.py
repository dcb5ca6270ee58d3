"""What is compared, at given sizes: the programs of a rule, traced and read by the specification."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import permutations
from math import prod
from typing import Any

import jax
import numpy as np
from jax._src.core import jaxprs_in_params

from certgrad._subject import Subject
from certgrad.errors import first_line
from certgrad.jaxpr.complex_numbers import NoPairsError, has_complex, on_pairs
from certgrad.jaxpr.references import shares_references, without_references
from certgrad.language import tree as t
from certgrad.signatures.cases import Case, Shape
from certgrad.specification._jax import literal
from certgrad.specification.program import Definition, Loop, Program, Table, held
from certgrad.specification.reading import Literals, meaning
from certgrad.specification.rule import UnreadableError

MAX_ENTRIES = 40
"""The largest input that is drawn."""
GRID = 9
"""All sizes up to a number are looked at, as long as these are at most so many."""
LONG = 20
"""A fraction of more characters is a float with as many digits as its dtype has."""


class OutsideError(Exception):
    """The rule is beyond this check. The message says why."""


def shapes(subject: Subject, case: Case) -> Iterator[Shape]:
    """All small ones, some larger ones with sizes that differ, and other ranks of star groups; the smallest first."""
    seen: set[Any] = set()
    for shape in sorted(_shapes(subject, case), key=lambda one: sum(map(prod, one.inputs))):
        lengths = [n for x in shape.inputs for n in x]
        key = (tuple(shape.sizes.items()), shape.inputs)
        if key not in seen and min(lengths, default=1) > 0 and max(map(prod, shape.inputs), default=0) <= MAX_ENTRIES:
            seen.add(key)
            yield shape


def _shapes(subject: Subject, case: Case) -> Iterator[Shape]:
    if subject.broadcast:
        count = len(case.signature.inputs)
        for forms in (((2, 3),), ((1,),), ((),), ((2, 1), (1, 3)), ((3,), (2, 3)), ((2, 3), ())):
            yield Shape({}, {}, tuple(forms[k % len(forms)] for k in range(count)))
        return
    names, stars = case.names, case.signature.stars
    own = [*names, *(f"*{star}" for star in stars)]

    def made(lengths: Sequence[int], rank: int = 1) -> Shape:
        of = dict(zip(own, lengths, strict=True))
        sizes = {name: of[name] for name in names}
        groups = {star: () if rank == 0 else (*(2,) * (rank - 1), of[f"*{star}"]) for star in stars}
        return Shape(sizes, groups, tuple(tuple(spec.shape(sizes, groups)) for spec in case.signature.inputs))

    count = len(own)
    for i, j in permutations(range(count), 2):
        yield made([4 if k == i else 2 if k == j else 1 for k in range(count)])
    distinct = [2 + k % 2 for k in range(len(own))]
    yield made(distinct)
    most = next((n for n in range(4, 1, -1) if n**count <= GRID), 1)
    for index in np.ndindex(*(most,) * count):
        yield made([k + 1 for k in index])
    yield made([2] * len(own))
    yield made([3 - k % 2 for k in range(len(own))])
    for k in range(count):  # for code that divides sizes
        yield made([8 if k == i else 1 for i in range(count)])
    if stars:
        yield made(distinct, 0)
        yield made(distinct, 2)


@dataclass(frozen=True, eq=False)
class Programs:
    """The programs of a rule at one shape. Each takes the arguments, then what its own are, then the parameters."""

    shape: Shape
    dtypes: tuple[str, ...]
    parameters: int
    forward: Program
    vjp: Program | None
    jvp: Program | None
    primal: Program | None
    reference: Program | None
    outputs: tuple[tuple[int, ...], ...]

    @property
    def moving(self) -> list[int]:
        """The arguments that have a tangent."""
        return [k for k, d in enumerate(self.dtypes) if d == "float"]

    @cached_property
    def long(self) -> bool:
        """They hold floats with as many digits as floats have: such a one may stand for another number."""
        return any(isinstance(node, t.Number) and len(node.value) > LONG for node in self._nodes)

    @cached_property
    def numbers(self) -> tuple[Fraction, ...]:
        """Numbers of ordinary size with which the programs compare."""
        compared = (side for node in self._nodes if isinstance(node, t.Compare) for side in (node.left, node.right))
        found = {Fraction(side.value) for side in compared if isinstance(side, t.Number | t.Integer)}
        return tuple(sorted(x for x in found if abs(x) <= 10**4 and x not in (0, 1)))

    @property
    def _nodes(self) -> Iterator[t.Node]:
        programs = (self.forward, self.vjp, self.jvp, self.primal, self.reference)
        return (node for p in programs if p is not None for x in _expressions(p.definitions) for node in t.walk(x))


def _expressions(definitions: Sequence[Definition]) -> Iterator[t.Node]:
    for d in definitions:
        if isinstance(d, Loop):
            yield from (x for carry in d.carries for x in held(carry))
            yield from _expressions(d.body)
        else:
            yield from d.values if isinstance(d, Table) else held(d)


_DTYPES = {"float": np.float64, "held": np.float64, "int": np.int64, "bool": np.bool_}


def traced(subject: Subject, case: Case, shape: Shape, literals: Literals = literal) -> Programs:
    """The programs at a shape, each literal read as `literals` says.

    Raises OutsideError for what does not trace, or has no meaning.
    """
    specs = case.signature.inputs
    if any(s.dtype not in _DTYPES for s in specs):
        raise OutsideError(f"an argument of {next(s.dtype for s in specs if s.dtype not in _DTYPES)}")
    with jax.enable_x64(True):
        rules = subject.rules(case.keywords(shape.ranks, shape.sizes))
        args = [
            jax.ShapeDtypeStruct(x, np.dtype(s.exact) if s.dtype == "int" and s.exact else _DTYPES[s.dtype])
            for x, s in zip(shape.inputs, specs, strict=True)
        ]
        tangents = [x for x, s in zip(args, specs, strict=True) if s.dtype == "float"]
        params = [jax.ShapeDtypeStruct((), np.float64, weak_type=True) for _ in subject.params]
        forward, outs = _program(literals, "forward", rules.forward, args, params)
        outs = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in outs]
        vjp = jvp = primal = reference = None
        if tangents and outs:
            vjp, _ = _program(literals, "vjp", rules.vjp, args, outs, params)
        if rules.jvp is not None and tangents and outs:
            try:
                jvp, _ = _program(literals, "jvp", rules.jvp, args, tangents, params)
            except _ReverseOnlyError:
                jvp = None
        if rules.primal is not None and tangents:
            primal, _ = _program(literals, "fwd", rules.primal, args, params)
        if rules.reference is not None:
            reference, _ = _program(literals, "reference", rules.reference, args, params)
    sizes = tuple(tuple(x.shape) for x in outs)
    kinds = tuple(s.dtype for s in specs)
    return Programs(shape, kinds, len(subject.params), forward, vjp, jvp, primal, reference, sizes)


class _ReverseOnlyError(Exception):
    """JAX has no forward mode of the function: it has a rule in reverse mode."""


def _program(literals: Literals, what: str, function: Callable[..., Any], *specs: Any) -> tuple[Program, list[Any]]:
    try:
        program = jax.make_jaxpr(function)(*specs)
    except Exception as error:  # whatever a user's function raises
        raise OutsideError(f"the {what} does not trace: {first_line(error)}") from error
    if what == "jvp" and _reverse_only(program.jaxpr):
        raise _ReverseOnlyError
    outs = [v.aval for v in program.jaxpr.outvars]
    try:
        return meaning(_of_reals(program, jax.tree.leaves(specs)), literals=literals), outs
    except (UnreadableError, NoPairsError) as error:
        raise OutsideError(f"the {what} has no meaning here: {error}") from error


def _reverse_only(jaxpr: Any) -> bool:
    """In place of a tangent stands a linear function, of which JAX knows the transpose alone."""
    inner = (one for eqn in jaxpr.eqns for one in jaxprs_in_params(eqn.params))
    return any(eqn.primitive.name == "custom_lin" for eqn in jaxpr.eqns) or any(map(_reverse_only, inner))


def _of_reals(program: Any, specs: Sequence[Any]) -> Any:
    """The program as one of values and of real numbers."""
    if shares_references(program):
        raise UnreadableError("a mutable reference from outside")
    values = without_references(program)
    program = program if values is None else values
    if not has_complex(program.jaxpr):
        return program
    return jax.make_jaxpr(on_pairs(program.jaxpr, program.consts))(*specs)
