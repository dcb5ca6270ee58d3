"""A traced function as a subject of audits, whose derivative by JAX runs the rules of all its nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp

from certgrad._subject import OF_RULES, Rules, Subject
from certgrad.errors import CertgradError
from certgrad.graph.tracing.calls import called_alone, draws, uncalled
from certgrad.graph.tracing.trace import TracedGraph, equations_in
from certgrad.obligations.conformance import (
    NOT_COMPARED,
    ONLY_LIBRARIES,
    WIDTHS,
    Compared,
    Conformance,
    Effort,
    conformance,
)
from certgrad.obligations.generality.hidden import unlike_its_traces
from certgrad.obligations.generality.in_code import tells_numbers
from certgrad.obligations.generality.reach import is_users, reachable_from, rules_in
from certgrad.obligations.generality.traces import Traces
from certgrad.obligations.tracing.jax_internals import kind_of
from certgrad.signatures.cases import Case
from certgrad.signatures.signature import Signature

TRACES = 2
"""Sizes at which a graph with users' rules is traced and compared."""


class GraphSubject(Subject):
    """The function that a graph was traced from, with what JAX makes of it by the rules of the nodes.

    Args:
        moving: the real arguments, by place, that are differentiated; all if None.
        used: the real outputs, by place, that are returned; all if None.
        forward_mode: whether the claims are also about JAX's jvp of the function.
    """

    rules_of_nodes = True

    def __init__(
        self,
        traced: TracedGraph,
        moving: Sequence[int] | None = None,
        used: Sequence[int] | None = None,
        forward_mode: bool = False,
    ) -> None:
        """Read a graph as a subject of audits; the arguments are those of the class."""
        arguments, dtypes = traced.specs.arguments, traced.specs.dtypes
        specs = tuple(
            replace(a.spec, exact=str(d) if kind_of(d) in "fi" and a.own is not None else "")
            for a, d in zip(arguments, dtypes, strict=True)
        )
        self.traced = traced
        self.name = traced.ir.name
        self.arg_names = tuple(a.name for a in arguments)
        reals = [k for k, a in enumerate(arguments) if a.spec.dtype == "float"]
        self.moving = reals if moving is None else list(moving)
        self.used, self.forward_mode = used, forward_mode
        fixed = {*reals} - {*self.moving}
        specs = tuple(replace(s, dtype="held") if k in fixed else s for k, s in enumerate(specs))
        self.cases = (Case(Signature(specs, ())),)
        self.params: Mapping[str, str | None] = {}

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the obligations without that of the JVP: the rules of a node need have no forward mode."""
        return OF_RULES[1:]

    @property
    def code(self) -> Sequence[Any]:
        """The function alone; the rules of the nodes are reached from the program."""
        return [self.traced.fn]

    def rules(self, statics: Mapping[str, Any]) -> Rules:
        """Return the function of the flat list of its arrays, its real outputs in order, and its derivatives by JAX.

        Float arguments whose specs say a dtype are converted to it, and cotangents to the dtypes of the outputs.
        """

        dtypes_by_argument = zip(self.traced.specs.arguments, self.traced.specs.dtypes, strict=True)
        given_dtypes = [d if a.own is not None and kind_of(d) == "f" else None for a, d in dtypes_by_argument]

        def forward(args: Sequence[Any], params: Sequence[Any] = ()) -> list[Any]:
            assert self.traced.fn is not None
            given = [x if d is None else x.astype(d) for x, d in zip(args, given_dtypes, strict=True)]
            outputs = jax.tree.leaves(self.traced.fn(*self.traced.specs.nest(given)))
            floats = [y for y in outputs if jnp.issubdtype(jnp.result_type(y), jnp.floating)]
            return floats if self.used is None else [floats[k] for k in self.used]

        def of_moving(args: Sequence[Any]) -> Callable[..., list[Any]]:
            def run(*xs: Any) -> list[Any]:
                all_args = list(args)
                for k, x in zip(self.moving, xs, strict=True):
                    all_args[k] = x
                return forward(all_args)

            return run

        def value_and_pullback(args: Sequence[Any]) -> tuple[list[Any], Any]:
            return jax.vjp(of_moving(args), *(args[k] for k in self.moving))

        def jvp(args: Sequence[Any], tangents: Sequence[Any], params: Any) -> list[Any]:
            return jax.jvp(of_moving(args), [args[k] for k in self.moving], list(tangents))[1]

        def both(args: Sequence[Any], seeds: Sequence[Any] | None, params: Any) -> tuple[list[Any], list[Any]]:
            value, pull = value_and_pullback(args)
            given = value if seeds is None else [ct.astype(y.dtype) for ct, y in zip(seeds, value, strict=True)]
            return value, list(pull(list(given)))

        return Rules(
            forward,
            jvp if self.forward_mode else None,
            lambda args, seeds, params: both(args, seeds, params)[1],
            lambda args, params: value_and_pullback(args)[0],
            both=both,
        )


def _as_program(traced: TracedGraph) -> Any:
    """Return an object with all equations of a graph, for searches that take a jaxpr and need no order."""
    return SimpleNamespace(eqns=[equation.eqn for equation in equations_in(traced)])


def unlike_its_graph(traced: TracedGraph) -> str:
    """Return why the function, or a rule that it runs, may do something else than the graph says; "" if not."""
    hidden = unlike_its_traces(GraphSubject(traced), [_as_program(traced)])
    return "" if hidden is None else hidden.reason


def rules_of_users(traced: TracedGraph) -> bool:
    """Return whether differentiation runs a rule that is users' code, which tracing the function does not show.

    JAX's own rules are trusted to be one program at all sizes, and those of the library's ops are proved for all.
    """
    behind = [getattr(value, "f", value) for value in rules_in(_as_program(traced))]
    return any(map(is_users, reachable_from(behind)))


def measured(traced: TracedGraph) -> Conformance:
    """Return how the traced program compares with what the function does when it is called.

    Its gradient, and traces at concrete sizes, are compared as well where users wrote rules, or where code can tell a
    number from a symbol or read state while it was traced. The dtype is the traced one; a function that was traced in
    float64 only because no spec said a dtype is compared in float32 as well.
    """
    code = [*filter(is_users, reachable_from([traced.fn, *rules_in(_as_program(traced))]))]
    if not code:
        return Conformance((ONLY_LIBRARIES,))
    try:
        telling = tells_numbers(code)
        if telling or traced.heard or rules_of_users(traced):
            return _with_gradients(traced, None if telling else TRACES)
        return called_alone(GraphSubject(traced), traced, _compared_dtypes(traced))
    except CertgradError as error:
        return Conformance((f"{NOT_COMPARED}: {error}",))


def _compared_dtypes(traced: TracedGraph) -> tuple[str, ...]:
    """Return the dtypes in which the function is called: the traced one, or both widths where no spec says a dtype."""
    reals = {str(d) for d in traced.specs.dtypes if kind_of(d) == "f"}
    default = "float64" if traced.specs.wide else "float32"
    dtype = reals.pop() if len(reals) == 1 else default
    written = any(a.own is not None and a.spec.dtype == "float" for a in traced.specs.arguments)
    return WIDTHS if dtype == "float64" and not written and not draws(traced) else (dtype,)


def _with_gradients(traced: TracedGraph, sizes: int | None) -> Conformance:
    """Compare the function and its gradient with traces at numbers and with one call in each dtype.

    `sizes` is the number of sizes that are traced; None leaves it to `conformance`.
    """
    traces = Traces(GraphSubject(traced))
    claimed = _compared_dtypes(traced)
    traces.wide = claimed[0] == "float64"
    subject = Compared([traces], traces.families[0].prove[0])
    why = uncalled(traced) or _uncalled_in(traced, claimed[0])
    effort = Effort(sizes, 0 if why else len(claimed), either=traced.specs.wide and not why)
    comparison = conformance(subject, claimed, effort, traced.heard)
    if not why or comparison.difference is not None:
        return comparison
    return Conformance((*comparison.compared, f"not compared with calls: {why}"), only=comparison.only)


def _uncalled_in(traced: TracedGraph, dtype: str) -> str:
    """Return why the function is not called in this dtype, or ""."""
    reals = sorted({str(d) for d in traced.specs.dtypes if kind_of(d) == "f"})
    if len(reals) > 1:
        return f"its arguments are of {' and '.join(reals)}"
    return f"it is of {dtype} while JAX computes in 64 bits" * (traced.specs.wide and dtype != "float64")
