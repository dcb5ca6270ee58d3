"""Programs as JAX makes them: jaxprs with their constants, what is inside them, and what their outputs need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from jax._src import source_info_util as _source_info
from jax.extend import core as jex

from certgrad.jaxpr.lowerings import executed_program
from certgrad.jaxpr.programs import bound, consts_of, is_literal, jaxpr_of, results
from certgrad.obligations.terms.polynomials import Poly


@dataclass(frozen=True)
class Decision:
    """A question about dimensions that was answered while tracing: for the symbols, and not proved for all sizes.

    The question was whether `difference` is 0, and the answer no. It is None where a dimension was hashed or printed,
    or an order of dimensions could not be decided: no sizes answer that otherwise. `asker` is "rule", or "library"
    where code of JAX asked, as it does in every broadcast, and each time that one of its caches compares two keys.
    """

    difference: Poly | None
    asker: str

    @property
    def by_library(self) -> bool:
        """Return whether JAX's own code asked."""
        return self.asker != "rule"


@dataclass(eq=False)
class Program:
    """A traced program: a jaxpr with its constants, and the decisions on dimensions that tracing took unproved."""

    jaxpr: Any
    consts: Sequence[Any]
    out_tree: Any = None
    decisions: tuple[Decision, ...] = ()
    marked: int | None = None
    """How many equations were made before the call of `mark`; None where there was no call."""


_MARK = jex.Primitive("mark")
_MARK.multiple_results = True
_MARK.def_impl(list)
_MARK.def_abstract_eval(list)


def mark() -> None:
    """Mark this place in the program that is being traced. A call outside of a trace does nothing."""
    _MARK.bind()


def without_mark(jaxpr: Any) -> tuple[Any, int | None]:
    """Return a jaxpr without its mark, and how many equations are before the mark; None for that if there is none."""
    place = next((k for k, eqn in enumerate(jaxpr.eqns) if eqn.primitive is _MARK), None)
    if place is None:
        return jaxpr, None
    return jaxpr.replace(eqns=[*jaxpr.eqns[:place], *jaxpr.eqns[place + 1 :]]), place


def inner_program(eqn: Any) -> Program | None:
    """Return the program that an equation calls (as `jit` does); None for an equation that calls none."""
    program = executed_program(eqn)
    return None if program is None else program_of(program)


def program_of(closed: Any) -> Program:
    """Return a closed jaxpr as a program."""
    return Program(jaxpr_of(closed), consts_of(closed))


def of_equation(eqn: Any) -> Program:
    """Return the program that consists of one equation."""
    variables = dict.fromkeys(v for v in eqn.invars if not is_literal(v))
    return Program(SimpleNamespace(invars=list(variables), constvars=[], eqns=[eqn], outvars=list(eqn.outvars)), [])


def primal_body(closed: Any) -> Program:
    """Return what a program computes without custom rules, if all that it does is to call one custom function.

    While its only equation calls a program with the same inputs, after constants, and the same outputs, that program
    takes its place; any other program is returned as it is.
    """
    program = program_of(closed)
    while len(program.jaxpr.eqns) == 1:
        (eqn,) = program.jaxpr.eqns
        inner, constants = inner_program(eqn), dict(zip(program.jaxpr.constvars, program.consts, strict=True))
        count = sum(not is_literal(v) and v in constants for v in eqn.invars)  # constants come first
        same = list(eqn.invars[count:]) == list(program.jaxpr.invars) and eqn.outvars == program.jaxpr.outvars
        if inner is None or not same:
            break
        invars, consts = inner.jaxpr.invars, [constants[v] for v in eqn.invars[:count]]
        without_constants = SimpleNamespace(
            invars=invars[count:],
            constvars=[*inner.jaxpr.constvars, *invars[:count]],
            eqns=inner.jaxpr.eqns,
            outvars=inner.jaxpr.outvars,
        )
        program = Program(without_constants, [*inner.consts, *consts])
    return program


def evaluate(program: Any, args: Sequence[Any], seen: Callable[[Any, list, list], list] | None = None) -> list[Any]:
    """Return the outputs of a program that is run equation by equation, called programs inlined.

    `seen(equation, operands, outputs)` returns what stands for the outputs of each equation, of a call after those of
    the program that it calls. A custom function with a JVP rule is called with it; of one with a VJP rule the primal
    function runs.
    """

    def rule(eqn: Any, operands: list[Any]) -> list[Any]:
        inner = inner_program(eqn) if eqn.primitive.name not in ("custom_jvp_call", "custom_lin") else None
        outs = bound(eqn, operands) if inner is None else evaluate(inner, operands, seen)
        return outs if seen is None else seen(eqn, operands, outs)

    return results(program, args, rule)


@contextmanager
def own_lines() -> Iterator[None]:
    """In the context, give equations their own source lines: JAX gives those of a backward function the call's line."""
    current = _source_info._source_info_context
    before = current.context
    current.context = _source_info.new_source_info()
    try:
        yield
    finally:
        current.context = before


def source_place(eqn: Any) -> tuple[str, int, int, int]:
    """Return file and line of the user's code that made an equation, and where its expression begins and ends there.

    The last two are columns in bytes of UTF-8, both 0 where the expression has several lines. The file is "" where
    nothing is known.
    """
    frame = _source_info.user_frame(eqn.source_info.traceback)
    if frame is None:
        return "", 0, 0, 0
    columns = (frame.start_column, frame.end_column) if frame.start_line == frame.end_line else (0, 0)
    return frame.file_name, frame.start_line, *columns
