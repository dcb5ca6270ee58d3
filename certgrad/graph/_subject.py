"""A traced function as every proof sees a subject: it reaches the rules of all its nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from certgrad._subject import OF_RULES, Rules, Subject
from certgrad.errors import CertgradError
from certgrad.graph._trace import TracedGraph, nodes_of
from certgrad.obligations.conformance import NOT_COMPARED, WIDTHS, Compared, Conformance, Effort, conformance
from certgrad.obligations.generality.guards import unlike_its_traces
from certgrad.obligations.generality.traces import Traces
from certgrad.obligations.tracing.jax_internals import kind_of
from certgrad.signatures.cases import Case
from certgrad.signatures.signature import Signature

NODES = 200
"""In all sizes together that a graph is traced at, and in all calls together, if not at the fewest."""
FEWEST = 3


class GraphSubject(Subject):
    """The function that a graph was traced from, with what JAX makes of it by the rules of the nodes."""

    rules_of_nodes = True

    def __init__(self, traced: TracedGraph) -> None:
        arguments, dtypes = traced.specs.arguments, traced.specs.dtypes
        specs = tuple(
            replace(a.spec, exact=str(d) if kind_of(d) in "fi" and a.own is not None else "")
            for a, d in zip(arguments, dtypes, strict=True)
        )
        self.traced = traced
        self.name = traced.ir.name
        self.arg_names = tuple(a.name for a in arguments)
        self.cases = (Case(Signature(specs, ())),)
        self.params: Mapping[str, str | None] = {}
        self.moving = [k for k, a in enumerate(arguments) if a.spec.dtype == "float"]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The rules of a node need have no forward mode."""
        return OF_RULES[1:]

    @property
    def code(self) -> Sequence[Any]:
        """The function; the rules of the nodes are reached from the program."""
        return [self.traced.fn]

    def rules(self, statics: Mapping[str, Any]) -> Rules:
        """The function of the flat list of its arrays, its real outputs in order, and JAX's reverse mode of it."""

        def forward(args: Sequence[Any], params: Sequence[Any] = ()) -> list[Any]:
            assert self.traced.fn is not None
            found = jax.tree.leaves(self.traced.fn(*self.traced.specs.nest(args)))
            return [y for y in found if jnp.issubdtype(jnp.result_type(y), jnp.floating)]

        def pulled(args: Sequence[Any]) -> tuple[list[Any], Any]:
            def of_moving(*xs: Any) -> list[Any]:
                full = list(args)
                for k, x in zip(self.moving, xs, strict=True):
                    full[k] = x
                return forward(full)

            return jax.vjp(of_moving, *(args[k] for k in self.moving))

        def both(args: Sequence[Any], seeds: Sequence[Any] | None, params: Any) -> tuple[list[Any], list[Any]]:
            value, pull = pulled(args)
            return value, list(pull(list(value if seeds is None else seeds)))

        return Rules(
            forward,
            None,
            lambda args, seeds, params: both(args, seeds, params)[1],
            lambda args, params: pulled(args)[0],
            both=both,
        )


def unlike_its_graph(traced: TracedGraph) -> str:
    """Why the function, or a rule that it runs, may do something else than the graph says, or an empty text."""
    return unlike_its_traces(GraphSubject(traced), [traced.program.jaxpr])


def measured(traced: TracedGraph) -> Conformance:
    """The function and its gradient, compared with traces at numbers and with calls in the dtype that was traced.

    What was traced in float64, because nothing else was said, is compared in float32 as well.
    """
    dtypes = traced.specs.dtypes
    reals = {str(d) for d in dtypes if kind_of(d) == "f"}
    default = "float64" if traced.specs.wide else "float32"
    dtype = reals.pop() if len(reals) == 1 else default
    uncalled = ""
    if reals:
        uncalled = f"its arguments are of {' and '.join(sorted(reals))}"
    elif traced.specs.wide and dtype != "float64":
        uncalled = f"it is of {dtype} while JAX computes in 64 bits"
    told = any(a.own is not None and a.spec.dtype == "float" for a in traced.specs.arguments)
    drawn = any(n.kind == "draw" for n in nodes_of(traced))  # other dtypes draw other numbers
    try:
        traces = Traces(GraphSubject(traced))
        traces.wide = dtype == "float64"
        subject = Compared([traces], traces.families[0].prove[0])
        claimed = WIDTHS if dtype == "float64" and not told and not drawn else (dtype,)
        many = NODES // (1 + len(subject.programs("float64")["vjp"].jaxpr.eqns))
        sizes = FEWEST if drawn else max(FEWEST, many)  # each size draws anew, which takes long
        effort = Effort(sizes, 0 if uncalled else max(1, many), either=traced.specs.wide and not uncalled)
        found = conformance(subject, claimed, effort)
        if not uncalled or found.difference is not None:
            return found
        return Conformance((*found.compared, f"not compared with calls: {uncalled}"), only=found.only)
    except CertgradError as error:
        return Conformance((f"{NOT_COMPARED}: {error}",))
