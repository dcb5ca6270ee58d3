"""One op at one family of shapes: its callables traced at symbolic dimensions, and read as terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np

from certgrad._subject import Rules, Subject
from certgrad.errors import CertgradError, RuleError, TraceError, first_line
from certgrad.jaxpr.references import shares_references
from certgrad.obligations import meaning
from certgrad.obligations.assume.assumptions import facts_of
from certgrad.obligations.assume.conditions import Clause, discharged
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.tensor import Tensor, argument
from certgrad.obligations.differentiate.derivative import polynomial
from certgrad.obligations.laws.solutions import implicit, reserve, solution_shapes
from certgrad.obligations.meaning.literals import Reading
from certgrad.obligations.meaning.semantics import Context, Opaque, interpret
from certgrad.obligations.terms.polynomials import Poly
from certgrad.obligations.terms.session import clear_caches
from certgrad.obligations.terms.variables import Var
from certgrad.obligations.tracing.jax_internals import (
    Program,
    abstract,
    dim_poly,
    is_literal,
    key_dtype,
    part_of,
    trace,
    trace_or_failure,
    up_to_mark,
    wide_floats,
)


@dataclass(frozen=True)
class Shapes:
    """The arguments' shapes at one trace: dimensions are symbols of one scope, or integers."""

    inputs: tuple[tuple[Any, ...], ...]
    dtypes: tuple[str, ...]
    """`float`, `int`, `bool`, `key`, or `held`: floats that the claim does not move."""
    statics: Mapping[str, Any] = field(default_factory=dict)
    """The structural arguments at these dimensions."""
    exact: tuple[Any, ...] = ()
    """The dtypes in which arguments are traced, where the signature names some; empty for an argument without one."""

    @property
    def floats(self) -> list[int]:
        """The positions of the active arguments, which the claim differentiates in."""
        return [k for k, d in enumerate(self.dtypes) if d == "float"]

    def integers(self, names: Sequence[str]) -> frozenset[str]:
        """Return those of the arguments' `names` that are arrays of integers or booleans."""
        return frozenset(n for n, d in zip(names, self.dtypes, strict=True) if d in ("int", "bool"))

    def structs(self, floats: str = "float32") -> list[jax.ShapeDtypeStruct]:
        """Return the arguments as abstract arrays, with floats of the dtype `floats` and integers of 32 bits."""
        dtypes = {"int": "int32", "bool": "bool", "key": key_dtype()}
        return [jax.ShapeDtypeStruct(s, dtypes.get(d, floats)) for s, d in zip(self.inputs, self.dtypes, strict=True)]


@dataclass
class Programs:
    """The traces of one op at one family of shapes.

    `jvp` is None for a rule without a JVP, `primal` (what the rule itself returns as the output) where that is
    `forward`, and `reference` where nothing is declared to equal the forward.
    """

    forward: Program
    jvp: Program | None
    vjp: Program
    primal: Program | None
    out_shapes: tuple[tuple[Any, ...], ...]
    reference: Program | None = None
    whole_primal: Program | None = None
    """The primal with all that the `fwd` computes, used or not, if it was traced together with the vjp; else None."""

    def all(self) -> dict[str, Program]:
        """Return the programs that exist, by name."""
        names = ("forward", "jvp", "vjp", "primal", "reference")
        return {name: program for name in names if (program := getattr(self, name)) is not None}


def trace_rules(
    rules: Rules, shapes: Shapes, params: int, where: str, wide: bool = True, real: Any = None, together: bool = False
) -> Programs:
    """Return the traces of all callables of a rule, with their outputs' shapes and dtypes checked.

    Raises TraceError or RuleError, naming the rule and what it did.

    Args:
        rules: the callables.
        shapes: the arguments' shapes, and their dtypes where `shapes.exact` names some.
        params: how many real parameters follow the arguments.
        where: the op's name for messages.
        wide: floats have 64 bits, else 32.
        real: the dtype of floats, if it is neither.
        together: the primal is a part of one trace with the vjp, or with the jvp, where one call of the rule gives
            both, as JAX calls it. Of the primal's equations only those stay that its outputs need.
    """
    with wide_floats(wide):
        args, scalars = _specs(shapes, params, wide, real)
        tangents = [args[k] for k in shapes.floats]
        try:
            forward = _traced(rules.forward, (args, scalars), f"the forward of {where}")
        except CertgradError as error:
            error.of_function = True  # the function is at fault, and no rule of it
            raise
        outs = [v.aval for v in forward.jaxpr.outvars]
        seeds = [abstract(a.shape, a.dtype) for a in outs]
        # `pushed` and `both` are single calls of the rule, which return the primal output with the derivative.
        jvp: Program | None
        primal: Program | None = None
        whole: Program | None = None
        if together and rules.pushed and rules.jvp and rules.primal:
            pushed = _traced(rules.pushed, (args, tangents, scalars), f"the jvp of {where}")
            jvp, primal = _derivative_and_primal(pushed, len(args), len(tangents), len(outs))
        else:
            jvp = _traced(rules.jvp, (args, tangents, scalars), f"the jvp of {where}") if rules.jvp else None
        if together and rules.both and rules.primal:
            both = _traced(rules.both, (args, seeds, scalars), f"the vjp of {where}")
            vjp, primal = _derivative_and_primal(both, len(args), len(outs), len(outs))
            whole = up_to_mark(both, _inputs_without_directions(both, len(args), len(outs)), range(len(outs)))
        else:
            vjp = _traced(rules.vjp, (args, seeds, scalars), f"the vjp of {where}")
        if rules.primal and primal is None:
            primal = _traced(rules.primal, (args, scalars), f"the fwd of {where}")
        plain = _traced(rules.reference, (args, scalars), f"the reference of {where}") if rules.reference else None
    if jvp is not None:
        _check_outputs(jvp, outs, f"the jvp of {where}", "tangent", "output")
    _check_outputs(vjp, [args[k] for k in shapes.floats], f"the vjp of {where}", "cotangent", "float argument")
    if primal is not None:
        _check_outputs(primal, outs, f"the fwd of {where}", "primal output", "output of the forward")
    if plain is not None:
        _check_outputs(plain, outs, f"the reference of {where}", "output", "output of the forward")
    return Programs(forward, jvp, vjp, primal, tuple(tuple(a.shape) for a in outs), plain, whole)


def trace_forward(rules: Rules, shapes: Shapes, params: int, where: str, wide: bool = True) -> Program:
    """Return the trace of the forward alone. Raises TraceError or RuleError, as `trace_rules` does."""
    with wide_floats(wide):
        return _traced(rules.forward, _specs(shapes, params, wide), f"the forward of {where}")


def forward_or_failure(
    rules: Rules, shapes: Shapes, params: int, wide: bool
) -> tuple[Any, Exception | None, list[Poly]]:
    """Return the jaxpr of the forward, or the error in its place with the differences of sizes that it compared.

    (See `trace_or_failure`.)
    """
    with wide_floats(wide):
        return trace_or_failure(rules.forward, _specs(shapes, params, wide))


def trace_primal(rules: Rules, shapes: Shapes, params: int, where: str, wide: bool = True) -> Program:
    """Return the trace of the rule's own primal output, by a call of its own. Raises as `trace_rules` does."""
    assert rules.primal is not None
    with wide_floats(wide):
        return _traced(rules.primal, _specs(shapes, params, wide), f"the fwd of {where}")


def _specs(shapes: Shapes, params: int, wide: bool, real: Any = None) -> tuple[list[Any], list[Any]]:
    """Return the arguments as abstract arrays, and `params` abstract scalars for the real parameters."""
    real = real or (np.float64 if wide else np.float32)
    dtypes = {
        "float": real,
        "held": real,
        "int": np.int64 if wide else np.int32,
        "bool": np.bool_,
    }
    exact = shapes.exact or [""] * len(shapes.dtypes)
    argument_dtypes = [
        e or (key_dtype() if d == "key" else dtypes[d]) for d, e in zip(shapes.dtypes, exact, strict=True)
    ]
    return [abstract(s, d) for s, d in zip(shapes.inputs, argument_dtypes, strict=True)], [
        abstract((), real, weak=True)
    ] * params


def _derivative_and_primal(program: Program, args: int, directions: int, outs: int) -> tuple[Program, Program | None]:
    """Return the derivative's program and the primal's, from a trace of both in which the primal's `outs` outputs come
    first.

    The inputs of the trace are `args` arguments, then as many tangents or seeds as `directions` says, then the real
    parameters. The primal is None if it cannot be taken apart, as where one call computes both.
    """
    jaxpr = program.jaxpr
    primal = part_of(program, _inputs_without_directions(program, args, directions), range(outs))
    defined = {*primal.jaxpr.invars, *primal.jaxpr.constvars, *(v for eqn in primal.jaxpr.eqns for v in eqn.outvars)}
    reads = [*primal.jaxpr.outvars, *(v for eqn in primal.jaxpr.eqns for v in eqn.invars)]
    separable = all(is_literal(v) or v in defined for v in reads)
    derivative = SimpleNamespace(
        invars=jaxpr.invars, constvars=jaxpr.constvars, eqns=jaxpr.eqns, outvars=jaxpr.outvars[outs:]
    )
    return Program(derivative, program.consts, None, program.decisions), primal if separable else None


def _inputs_without_directions(program: Program, args: int, directions: int) -> list[int]:
    """Return the positions of the inputs that are no tangents or seeds: the arguments, and the real parameters."""
    return [*range(args), *range(args + directions, len(program.jaxpr.invars))]


def _traced(fn: Callable, specs: tuple, what: str) -> Program:
    """Return the trace of a callable; `what` names it in messages. Raises TraceError or RuleError."""
    try:
        program = trace(fn, specs)
    except (TraceError, RuleError):
        raise
    except Exception as error:
        message = f"{type(error).__name__}: {first_line(error)}"
        raise TraceError(
            f"JAX could not trace {what} at symbolic shapes: {message}. Call it once on small arrays to see the full "
            "error; if it runs there, it depends on a concrete shape or value.",
            message,
        ) from error
    if shares_references(program):
        raise RuleError(
            f"{what.capitalize()} reads or writes a mutable array (jax.Ref) from outside, so that later calls may do "
            "other things. Pass its value as an argument."
        )
    return program


def _check_outputs(program: Program, expected: Sequence[Any], what: str, returned: str, source: str) -> None:
    """Raise RuleError unless the outputs of a program have the `expected` number, shapes and dtypes.

    In messages, `what` names the program, `returned` each output, and `source` what the output has to be like.
    """
    outputs = [v.aval for v in program.jaxpr.outvars]
    if len(outputs) != len(expected):
        raise RuleError(
            f"{what.capitalize()} returns {len(outputs)} arrays, but there are {len(expected)} ({source}s). "
            f"Return one {returned} for each {source}, in order."
        )
    for k, (f, e) in enumerate(zip(outputs, expected, strict=True)):
        if tuple(f.shape) != tuple(e.shape):
            raise RuleError(
                f"{what.capitalize()} returns {returned} {k} of shape ({', '.join(map(str, f.shape))}), but the "
                f"{source} has shape ({', '.join(map(str, e.shape))}). Sum over broadcast axes, or transpose, so that "
                "they agree."
            )
        if f.dtype != e.dtype:
            raise RuleError(
                f"{what.capitalize()} returns {returned} {k} of dtype {f.dtype}, but the {source} has dtype {e.dtype}. "
                "Compute it in the dtype of the input."
            )


@dataclass
class Problem:
    """The programs of one op as terms: everything that its obligations are about.

    `inputs` and `seeds` are tensors with arbitrary entries, and `forward`, `jvp`, `vjp`, `primal` and `reference` have
    for each output of a program its entries as terms in them. `tangents` gives the name of each active argument's
    tangent, and of the differential of each solution of an equation. `facts` are the constraints on the op's
    parameters, `domain` is its declared domain.
    """

    names: list[str]
    shapes: Shapes
    inputs: list[Tensor]
    forward: list[Tensor]
    jvp: list[Tensor] | None
    vjp: list[Tensor]
    primal: list[Tensor] | None
    reference: list[Tensor] | None
    tangents: dict[str, str]
    seeds: list[Tensor]
    seed_names: list[str]
    facts: Facts
    domain: list[Clause]
    notes: list[str] = field(default_factory=list)
    used_facts: list[str] = field(default_factory=list)
    primitives: list[str] = field(default_factory=list)
    opaque: Mapping[str, Opaque] = field(default_factory=dict)
    """The values that the calculus does not look into, by the names under which they stand in terms."""
    tests: Mapping[Var, Poly] = field(default_factory=dict)
    """For each loop that ends by its values, its test, by the variable that numbers the loop's steps."""
    in_range: list[Clause] = field(default_factory=list)
    """The conditions that the function's clamped indices are in range, so that clamping changes nothing."""
    also: list[Clause] = field(default_factory=list)
    """Conditions that a claim about the JVP requires beside those of the derivative."""

    @property
    def differentiable(self) -> list[int]:
        return self.shapes.floats

    @property
    def input_shapes(self) -> dict[str, tuple[Poly, ...]]:
        return {name: x.shape for name, x in zip(self.names, self.inputs, strict=True)}

    @property
    def array_shapes(self) -> dict[str, tuple[Poly, ...]]:
        """The shapes of the inputs, and of the solutions that solvers return."""
        return solution_shapes() | self.input_shapes

    def smooth_as_it_is(self, out: Tensor) -> bool:
        """Return whether the output is a polynomial wherever inputs are numbers: √(x² + y²)² needs no root to be
        differentiable.

        The derivative is that of the value, which is this term at every point; the steps of the program, such as the
        root, have no part in it. An output that is not defined everywhere has an edge, at which it has a derivative on
        one side alone.
        """
        everywhere = not out.infinite and all(discharged(c, self.facts) for c in out.defined)
        return everywhere and polynomial(out.body, self.input_shapes)


def _unused(name: str, taken: set[str]) -> str:
    """Return the name with primes added until it is not in `taken`, and add it to `taken`."""
    while name in taken:
        name += "′"
    taken.add(name)
    return name


def _domain_clauses(texts: tuple[str, ...], table: Mapping[str, tuple[Poly, ...]], where: str) -> list[Clause]:
    """Return the clauses of a declared domain; none if no condition is declared."""
    return meaning.domain.read_domain(texts, table, where) if texts else []


@dataclass(frozen=True)
class Posed:
    """What `build` needs for a problem: programs at shapes, and what is declared of their arguments."""

    names: Sequence[str]
    params: Mapping[str, str | None]
    domain: tuple[str, ...]
    shapes: Shapes
    programs: Programs
    where: str
    reading: Reading | None = None
    """What float literals mean, if not their shortest decimals."""


def posed(subject: Subject, shapes: Shapes, programs: Programs, reading: Reading | None = None) -> Posed:
    """Return the programs of a subject with what it declares of its arguments."""
    name = f"'{subject.name}'"
    return Posed(subject.arg_names, subject.params, subject.domain, shapes, programs, name, reading)


def build(given: Posed) -> Problem:
    """Return the programs as terms: each is interpreted on tensors with arbitrary entries for the arguments, tangents
    and seeds.

    The calculus differentiates the forward, so stop_gradient is marked in its terms (context `stopped`); the rules are
    read as they stand (`plain`). Both contexts share what they learn of tensors. Raises UnprovedError where the
    calculus cannot follow a program.
    """
    clear_caches()  # a problem shares no terms with earlier ones
    names, params, shapes, programs = [*given.names], given.params, given.shapes, given.programs
    polys = [tuple(dim_poly(d) for d in s) for s in shapes.inputs]
    inputs = [argument(n, s, d) for n, s, d in zip(names, polys, shapes.dtypes, strict=True)]
    taken = {*names, *params}  # a tangent or seed must not be called like an argument
    tangents = {names[k]: _unused(f"d{names[k]}", taken) for k in shapes.floats}
    dxs = [argument(tangents[names[k]], polys[k], "float") for k in shapes.floats]
    outs = [tuple(dim_poly(d) for d in s) for s in programs.out_shapes]
    seed_names = [_unused("seed" if len(outs) == 1 else f"seed{k}", taken) for k in range(len(outs))]
    seeds = [argument(n, s, "float") for n, s in zip(seed_names, outs, strict=True)]
    reserve(taken)  # nor must a solution of an equation
    facts = _facts_of_parameters(given)
    # The constraint of a parameter gives the signs that it can have.
    scalars = [replace(t, signs=facts.signs(t.body)) for t in (argument(p, (), "float") for p in params)]
    stopped, plain = _contexts(facts, given.reading, frozenset(names[k] for k in shapes.floats))
    forward = _outputs(stopped, programs.forward, [*inputs, *scalars])
    jvp = _outputs(plain, programs.jvp, [*inputs, *dxs, *scalars]) if programs.jvp else None
    vjp = _outputs(plain, programs.vjp, [*inputs, *seeds, *scalars])
    primal = _outputs(plain, programs.primal, [*inputs, *scalars]) if programs.primal else None
    reference = _outputs(plain, programs.reference, [*inputs, *scalars]) if programs.reference else None
    shapes_by_name = dict(zip(names, polys, strict=True)) | dict.fromkeys(params, ())
    return Problem(
        names,
        shapes,
        inputs,
        forward,
        jvp,
        vjp,
        primal,
        reference,
        tangents=tangents | {s.name: f"d{s.name}" for s in implicit()},
        seeds=seeds,
        seed_names=seed_names,
        facts=facts,
        domain=_domain_clauses(given.domain, shapes_by_name, given.where),
        notes=[*stopped.notes, *plain.notes],
        used_facts=[*stopped.used_facts, *plain.used_facts],
        primitives=[*stopped.primitives, *plain.primitives],
        opaque=stopped.opaque,
        tests={**stopped.tests, **plain.tests},
        in_range=[*stopped.in_range],
    )


def _facts_of_parameters(given: Posed) -> Facts:
    """Return the signs that the conditions of the parameters give, with the names of the arguments of integers.

    A condition of a parameter may name parameters alone, so that it holds in every call, before any domain.
    """
    scalars_only = dict.fromkeys(given.params, ())
    constraints = _domain_clauses(tuple(c for c in given.params.values() if c), scalars_only, given.where)
    return Facts(facts_of(constraints, scalars_only)[0], given.shapes.integers(given.names))


def _contexts(facts: Facts, reading: Reading | None, moving: frozenset[str]) -> tuple[Context, Context]:
    """Return the contexts in which the forward and the rules are read, which share what they learn of tensors.

    `moving` are the names of the arguments that the forward is differentiated in.
    """
    opaque: dict[str, Opaque] = {}
    stopped = Context(facts, stop=True, reading=reading, opaque=opaque, moving=moving)
    plain = Context(facts, reading=reading, opaque=opaque)
    plain.known, plain.untouched, plain.wrapped = stopped.known, stopped.untouched, stopped.wrapped
    plain.integers = stopped.integers
    return stopped, plain


def _outputs(context: Context, program: Program, args: list[Tensor]) -> list[Tensor]:
    """Return the outputs of a program as terms in the arguments."""
    context.untouched |= {id(x): x for x in args}
    out = interpret(context, program, args, [True] * len(program.jaxpr.outvars))
    return [t for t in out if t is not None]
