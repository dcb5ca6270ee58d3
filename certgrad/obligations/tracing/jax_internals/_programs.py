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
    """A question about dimensions that Python answered while tracing: the answer held for symbols, unproved.

    `difference` was taken to be nonzero; it is None where a dimension was hashed, printed or ordered in vain,
    which asks no question that could be answered otherwise. `asker` is `rule`; `library` where code of JAX did: it
    asks in every broadcast, and each time that one of its caches compares two keys.
    """

    difference: Poly | None
    asker: str

    @property
    def by_library(self) -> bool:
        """JAX's own code asked."""
        return self.asker != "rule"


@dataclass(eq=False)
class Program:
    """A traced program: a jaxpr with its constants, and the decisions on dimensions that tracing took unproved."""

    jaxpr: Any
    consts: Sequence[Any]
    out_tree: Any = None
    decisions: tuple[Decision, ...] = ()
    marked: int | None = None
    """How many equations were made before the call of `mark`, where there was one."""


_MARK = jex.Primitive("mark")
_MARK.multiple_results = True
_MARK.def_impl(list)
_MARK.def_abstract_eval(list)


def mark() -> None:
    """Mark this place in the program that is traced. Nothing happens where it runs."""
    _MARK.bind()


def without_mark(jaxpr: Any) -> tuple[Any, int | None]:
    """The program without its mark, and how many equations were made before it, where it has one."""
    place = next((k for k, eqn in enumerate(jaxpr.eqns) if eqn.primitive is _MARK), None)
    if place is None:
        return jaxpr, None
    return jaxpr.replace(eqns=[*jaxpr.eqns[:place], *jaxpr.eqns[place + 1 :]]), place


def inner_program(eqn: Any) -> Program | None:
    """The program that a call-like equation runs."""
    program = executed_program(eqn)
    return None if program is None else program_of(program)


def program_of(closed: Any) -> Program:
    """A closed jaxpr as a program."""
    return Program(jaxpr_of(closed), consts_of(closed))


def of_equation(eqn: Any) -> Program:
    """The program that consists of one equation."""
    seen = dict.fromkeys(v for v in eqn.invars if not is_literal(v))
    return Program(SimpleNamespace(invars=list(seen), constvars=[], eqns=[eqn], outvars=list(eqn.outvars)), [])


def primal_body(closed: Any) -> Program:
    """The program inside, where all that a program does is to call one custom function: without the custom rule."""
    program = program_of(closed)
    while len(program.jaxpr.eqns) == 1:
        (eqn,) = program.jaxpr.eqns
        inner, held = inner_program(eqn), dict(zip(program.jaxpr.constvars, program.consts, strict=True))
        count = sum(not is_literal(v) and v in held for v in eqn.invars)  # constants come first
        same = list(eqn.invars[count:]) == list(program.jaxpr.invars) and eqn.outvars == program.jaxpr.outvars
        if inner is None or not same:
            break
        given, consts = inner.jaxpr.invars, [held[v] for v in eqn.invars[:count]]
        of_values = SimpleNamespace(
            invars=given[count:],
            constvars=[*inner.jaxpr.constvars, *given[:count]],
            eqns=inner.jaxpr.eqns,
            outvars=inner.jaxpr.outvars,
        )
        program = Program(of_values, [*inner.consts, *consts])
    return program


def evaluate(program: Any, args: Sequence[Any], seen: Callable[[Any, list, list], list] | None = None) -> list[Any]:
    """Run a program, called programs inlined; `seen(equation, operands, outputs)` may replace what an equation gives,
    that of a call after those of the program that it calls.

    A custom function with a rule in forward mode keeps it; of one in reverse mode its primal function runs.
    """

    def rule(eqn: Any, operands: list[Any]) -> list[Any]:
        inner = inner_program(eqn) if eqn.primitive.name not in ("custom_jvp_call", "custom_lin") else None
        outs = bound(eqn, operands) if inner is None else evaluate(inner, operands, seen)
        return outs if seen is None else seen(eqn, operands, outs)

    return results(program, args, rule)


@contextmanager
def own_lines() -> Iterator[None]:
    """Equations made in the block have their own lines: JAX gives those of a backward function the line of the call."""
    held = _source_info._source_info_context
    before = held.context
    held.context = _source_info.new_source_info()
    try:
        yield
    finally:
        held.context = before


def source_place(eqn: Any) -> tuple[str, int, int, int]:
    """File and line of the user's code that made an equation, and where in that line its expression begins and ends, in
    bytes of UTF-8; both 0 where the expression goes on in other lines. An empty file where nothing is known.
    """
    frame = _source_info.user_frame(eqn.source_info.traceback)
    if frame is None:
        return "", 0, 0, 0
    columns = (frame.start_column, frame.end_column) if frame.start_line == frame.end_line else (0, 0)
    return frame.file_name, frame.start_line, *columns
