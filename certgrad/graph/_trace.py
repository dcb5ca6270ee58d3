"""From a JAX function to a graph: traced at symbolic dimensions, each equation a node, calls inlined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import msgspec
import numpy as np

from certgrad.errors import CertgradError, TraceError
from certgrad.graph import _jaxpr
from certgrad.graph._jaxpr import Equation
from certgrad.graph._spec import Specs, read_specs
from certgrad.graph.ir import FORMAT, ArrayType, Graph, Kind, Literal, Node, Operand, Ref, check
from certgrad.obligations._jax_internals import Program, is_dropped, is_literal, wide_floats
from certgrad.obligations._jax_internals import trace as trace_program

_DTYPES = {"float": np.float64, "int": np.int64, "bool": np.bool_}
_CUSTOM: dict[str, Kind] = {"custom_jvp_call": "custom_jvp", "custom_vjp_call": "custom_vjp"}
_KEPT_WHOLE = "stop_gradient"


@dataclass
class TracedGraph:
    """A graph with what it was traced from: the equation of each node, the values of constants, and the function."""

    ir: Graph
    equations: dict[int, Equation]
    constants: dict[int, Any]
    fn: Callable[..., Any]
    specs: Specs
    program: Program
    ops: dict[int, tuple[Any, dict[str, Any]]] = field(default_factory=dict)
    """The op and its keyword arguments, for nodes that are calls of one."""

    @property
    def nodes(self) -> list[Node]:
        return self.ir.nodes

    def slots(self, node: Node) -> list[Ref]:
        """The operands that the node's equation takes, as its function has them: distinct, without literals."""
        equation = self.equations[node.id]
        first = {v: k for k, v in reversed(list(enumerate(equation.eqn.invars))) if not is_literal(v)}
        return [node.operands[first[v]] for v in equation.variables]

    def retraced(self, fixed: Mapping[str, str]) -> TracedGraph:
        """The function's graph with dimensions set to what `fixed` says: `1`, another one, `2*n`."""
        return _without_dead_nodes(_traced(self.fn, self.specs, self.ir.name, fixed))

    def check(self) -> str | None:
        """The first broken invariant of the graph, or the first node that is not what its equation says."""
        if problem := check(self.ir):
            return problem
        for node in self.nodes:
            if (equation := self.equations.get(node.id)) is not None:
                if problem := self._check_equation(node, equation):
                    return problem
            elif node.kind not in ("input", "constant"):
                return f"node {node.id} ({node.name}) has no equation behind it"
        return None

    def _check_equation(self, node: Node, equation: Equation) -> str | None:
        where = f"node {node.id} ({node.name})"
        found: dict[Any, Operand] = {}
        if len(node.operands) != len(equation.eqn.invars):
            return f"{where} has {len(node.operands)} operands; its equation has {len(equation.eqn.invars)}"
        for k, (operand, atom) in enumerate(zip(node.operands, equation.eqn.invars, strict=True)):
            given, expected = self.ir.type_of(operand), _type(atom.aval)
            if given != expected:
                return f"{where}, operand {k} ({operand}) is {given}, but the operation takes {expected} there"
            if not is_literal(atom) and found.setdefault(atom, operand) != operand:
                return f"{where}, operand {k} is {operand}, but the operation reads {found[atom]} there as well"
        for k, (declared, var) in enumerate(zip(node.outputs, equation.eqn.outvars, strict=False)):
            if declared != _type(var.aval):
                return f"{where}, output {k} is declared {declared}, but the operation gives {_type(var.aval)}"
        if len(node.outputs) != len(equation.eqn.outvars):
            return f"{where} declares {len(node.outputs)} outputs; its equation has {len(equation.eqn.outvars)}"
        return None

    def __str__(self) -> str:
        return str(self.ir)


def trace(fn: Callable[..., Any], *specs: Any, name: str = "") -> TracedGraph:
    """The graph of `fn` at symbolic dimensions, in float64.

    A spec gives the shape of one argument: `"n d"`, `"W1: d h"` with a name, `""` for a scalar, `"n:int"` for
    integers; a list or dict of specs for an argument that is one. Raises UsageError or TraceError.
    """
    return _without_dead_nodes(_traced(fn, read_specs(fn, specs), name or getattr(fn, "__name__", "function"), {}))


def _traced(fn: Callable[..., Any], read: Specs, title: str, fixed: Mapping[str, str]) -> TracedGraph:
    with wide_floats():
        table = _jaxpr.dimension_table(read.dims, fixed)
        names = [d for d in table if d not in fixed or d in _jaxpr.dims_in(table[d])]
        leaves = [jax.ShapeDtypeStruct(a.spec.shape(table, {}), _DTYPES[a.spec.dtype]) for a in read.arguments]
        args = _nested(read, leaves)
        try:
            program = trace_program(fn, args)
        except CertgradError:
            raise
        except Exception as error:
            raise _untraceable(title, read, error) from error
        if getattr(program.jaxpr, "effects", None):
            raise TraceError(
                f"{title} has side effects ({', '.join(map(str, program.jaxpr.effects))}). "
                "A graph is a function of its arguments alone; remove printing, callbacks and state."
            )
        builder = _Builder(read, title)
        outputs = builder.run(program)
        graph = Graph(format=FORMAT, name=title, dims=names, nodes=builder.nodes, outputs=outputs)
    return TracedGraph(graph, builder.equations, builder.constants, fn, read, program, builder.ops)


def _nested(read: Specs, leaves: Sequence[Any]) -> list[Any]:
    out, start = [], 0
    for tree in read.tree:
        out.append(jax.tree.unflatten(tree, leaves[start : start + tree.num_leaves]))
        start += tree.num_leaves
    return out


def _untraceable(title: str, read: Specs, error: Exception) -> TraceError:
    text = str(error).strip().splitlines()
    shapes = ", ".join(f"{a.name}: {a.spec}" for a in read.arguments)
    return TraceError(
        f"JAX could not trace {title} at the shapes {shapes}: {type(error).__name__}: {text[0] if text else ''} "
        "Check the specs against the shapes that the function expects; dimensions with different names are different."
    )


def _type(aval: Any) -> ArrayType:
    return ArrayType(shape=[str(d) for d in aval.shape], dtype=str(aval.dtype))


def _text(value: Any) -> str:
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return str(np.dtype(value))
    return "(" + ", ".join(map(_text, value)) + ")" if isinstance(value, tuple | list) else str(value)


_HIDDEN = frozenset(
    "sharding out_sharding weak_type precision preferred_element_type call_jaxpr jaxpr jvp_jaxpr_fun fun_jaxpr bwd "
    "fwd_jaxpr_thunk num_consts symbolic_zeros out_trees ctx_mesh donated_invars inline keep_unused in_shardings "
    "out_shardings in_layouts out_layouts resource_env compiler_options_kvs name accuracy".split()
)


class _Builder:
    """Appends nodes while it walks a program; calls are walked into."""

    def __init__(self, specs: Specs, title: str) -> None:
        self.specs, self.title = specs, title
        self.nodes: list[Node] = []
        self.equations: dict[int, Equation] = {}
        self.constants: dict[int, Any] = {}
        self.ops: dict[int, tuple[Any, dict[str, Any]]] = {}

    def run(self, program: Program) -> list[Operand]:
        inputs: list[Operand] = []
        for argument, var in zip(self.specs.arguments, program.jaxpr.invars, strict=True):
            inputs.append(self.add("input", argument.name, [], [_type(var.aval)]))
        return self.walk(program, inputs, ("", ""))

    def add(self, kind: Kind, name: str, operands: Sequence[Operand], outputs: list[ArrayType], **rest: Any) -> Ref:
        node = Node(id=len(self.nodes), kind=kind, name=name, operands=list(operands), outputs=outputs, **rest)
        self.nodes.append(node)
        return Ref(node=node.id)

    def walk(
        self, program: Program, inputs: Sequence[Operand], site: tuple[str, str], atoms: Sequence[Any] = ()
    ) -> list[Operand]:
        """The outputs of a program whose inputs are these. `site` is where it is called from, for inner programs."""
        env: dict[Any, Operand] = dict(zip(program.jaxpr.invars, inputs, strict=True))
        given = dict(zip(program.jaxpr.invars, atoms, strict=False))  # an inner program may be called on a literal

        def resolved(atom: Any) -> Any:
            found = atom if is_literal(atom) else given.get(atom)
            return found if found is not None and is_literal(found) else atom

        for var, value in zip(program.jaxpr.constvars, program.consts, strict=False):
            env[var] = self.constant(var, value)

        def read(atom: Any) -> Operand:
            if not is_literal(atom):
                return env[atom]
            if np.ndim(atom.val):
                return self.constant(atom, atom.val)
            return Literal(text=repr(np.asarray(atom.val).item()), dtype=str(atom.aval.dtype))

        for eqn in program.jaxpr.eqns:
            eqn = eqn.replace(invars=[resolved(v) for v in eqn.invars])
            operands = [read(v) for v in eqn.invars]
            where = site if site[0] else _jaxpr.source_of(eqn)
            outputs = self.equation(Equation(eqn, program.jaxpr), operands, where)
            env.update((v, out) for v, out in zip(eqn.outvars, outputs, strict=True) if not is_dropped(v))
        return [read(v) for v in program.jaxpr.outvars]

    def constant(self, var: Any, value: Any) -> Ref:
        ref = self.add("constant", f"c{len(self.constants)}", [], [_type(var.aval)])
        self.constants[ref.node] = value
        return ref

    def equation(self, equation: Equation, operands: list[Operand], where: tuple[str, str]) -> list[Operand]:
        inner = equation.inner
        kind: Kind = _CUSTOM.get(equation.name, "primitive")
        if inner is not None and kind == "primitive":
            if not _jaxpr.mentions(inner, _KEPT_WHOLE) and not getattr(inner.jaxpr, "effects", None):
                return self.walk(inner, operands, where, equation.eqn.invars)
            kind = "call"
        if inner is not None and _jaxpr.captures(inner):
            raise TraceError(
                f"The function with a rule of its own at {where[0] or 'an unknown line'} closes over a value "
                "that is being traced: its gradient there would be silently zero. Pass the value as an argument."
            )
        found = _jaxpr.op_of(equation)
        name = equation.name if inner is None else str(equation.eqn.params.get("name", "")) or _jaxpr.called_name(inner)
        params = {k: _text(v) for k, v in sorted(equation.eqn.params.items()) if k not in _HIDDEN and v is not None}
        if found is not None:
            kind, name = "op", found[0].name
            params = {k: str(v) for k, v in found[1].items()}
            self.ops[len(self.nodes)] = found
        self.equations[len(self.nodes)] = equation
        outputs = [_type(v.aval) for v in equation.eqn.outvars]
        ref = self.add(
            kind, name or equation.name, operands, outputs, params=params, source=where[0], function=where[1]
        )
        return [Ref(node=ref.node, output=k) for k in range(len(outputs))]


def _without_dead_nodes(traced: TracedGraph) -> TracedGraph:
    """The graph without nodes that no output depends on; inputs stay."""
    wanted = {o.node for o in traced.ir.outputs if isinstance(o, Ref)}
    for node in reversed(traced.nodes):
        if node.id in wanted:
            wanted.update(p.node for p in node.parents)
    kept = [n for n in traced.nodes if n.kind == "input" or n.id in wanted]
    if len(kept) == len(traced.nodes):
        return traced
    place = {n.id: k for k, n in enumerate(kept)}

    def moved(operand: Operand) -> Operand:
        return Ref(node=place[operand.node], output=operand.output) if isinstance(operand, Ref) else operand

    nodes = [msgspec.structs.replace(n, id=place[n.id], operands=[moved(o) for o in n.operands]) for n in kept]
    ir = Graph(
        format=FORMAT, name=traced.ir.name, dims=traced.ir.dims, nodes=nodes, outputs=[*map(moved, traced.ir.outputs)]
    )
    return replace(
        traced,
        ir=ir,
        equations={place[k]: v for k, v in traced.equations.items() if k in place},
        constants={place[k]: v for k, v in traced.constants.items() if k in place},
        ops={place[k]: v for k, v in traced.ops.items() if k in place},
    )
