"""From a JAX function to a graph: traced at symbolic dimensions, each equation a node, calls inlined."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from types import MethodType
from typing import Any

import jax
import msgspec
import numpy as np

from certgrad.errors import CertgradError, TraceError
from certgrad.graph.ir import FORMAT, ArrayType, Graph, Kind, Literal, Node, Operand, Ref
from certgrad.graph.tracing import jaxpr as _jaxpr
from certgrad.graph.tracing.fold import exact_literal
from certgrad.graph.tracing.jaxpr import Equation, literal_of, type_of
from certgrad.graph.tracing.shared_equations import Shared
from certgrad.graph.tracing.spec import Specs, read_specs
from certgrad.graph.tracing.wellformed import check, check_equations, line_of
from certgrad.jaxpr.kinds import INLINES
from certgrad.obligations.generality.reach import is_own, reached_from, remembered_by_jax, users_files
from certgrad.obligations.generality.state import ReadState, forget
from certgrad.obligations.tracing.ambient_reads import Heard, hearing
from certgrad.obligations.tracing.jax_dimensions import sizes_as_integers
from certgrad.obligations.tracing.jax_internals import (
    Program,
    branch_programs,
    inner_program,
    is_dropped,
    is_literal,
    kind_of,
    sampler,
    scan_loop,
    serialised,
    unremembered,
    while_loop,
    wide_floats,
)
from certgrad.obligations.tracing.jax_internals import trace as trace_program
from certgrad.process.threads import without_collection
from certgrad.signatures.sizes import Size

_KINDS: dict[str, Kind] = {
    "custom_jvp_call": "custom_jvp",
    "custom_vjp_call": "custom_vjp",
    "scan": "scan",
    "while": "while",
    "cond": "cond",
}


@dataclass
class TracedGraph:
    """A graph with its nodes' equations, constants and function. Graphs inside nodes have no function and no specs."""

    ir: Graph
    equations: dict[int, Equation]
    constants: dict[int, Any]
    program: Program
    fn: Callable[..., Any] | None = None
    specs: Specs = field(default_factory=lambda: Specs((), ()))
    ops: dict[int, tuple[Any, dict[str, Any]]] = field(default_factory=dict)
    """The op and its keyword arguments, for nodes that are calls of one."""
    bodies: dict[int, list[TracedGraph]] = field(default_factory=dict)
    """The graphs inside a node: the body of a `scan`, the branches of a `cond`."""
    as_traced: tuple[list[Node], list[Operand], dict[int, Any]] | None = None
    """The nodes, outputs and constants at the end of tracing, to notice later changes; None inside of nodes."""
    heard: Heard = field(default_factory=Heard)
    """What the function read of its surroundings (the platform, options of JAX), in all its traces."""
    changes: str = ""
    """What state tracing the function changed that outlives the trace, in words."""

    @property
    def nodes(self) -> list[Node]:
        return self.ir.nodes

    def all(self) -> dict[str, Program]:
        """Return the program under a name, as a rule returns its programs."""
        return {"graph": self.program}

    def slots(self, node: Node) -> list[Ref]:
        """Return the operands that the function of the node's equation takes: each once, without literals."""
        return [node.operands[k] for k in self.equations[node.id].positions]  # type: ignore[misc]

    def retraced(self, fixed: Mapping[str, Size]) -> TracedGraph:
        """Return the function's graph traced again with dimensions set by `fixed`: to `1`, another name or `2*n`."""
        assert self.fn is not None, "the graph inside a node is not traced again"
        again = _finished(_traced(self.fn, self.specs, self.ir.name, fixed))
        self.heard.add(again.heard)
        return replace(again, heard=self.heard, specs=self.specs.at(fixed))

    def is_same_in(self, real: Any, wide: bool) -> bool:
        """Return whether the function traces to the same program, dtypes aside, with floats of dtype `real`.

        `wide` says whether JAX has 64-bit numbers in that trace. False for the graph inside a node, for arguments of
        several float dtypes, and where the function does not trace.
        """
        if self.fn is None or len({str(d) for d in self.specs.dtypes if kind_of(d) == "f"}) > 1:
            return False
        arguments = [replace(a, given=real) if a.spec.dtype == "float" else a for a in self.specs.arguments]
        try:
            retraced = _traced(self.fn, replace(self.specs, arguments=tuple(arguments), wide=wide), self.ir.name, {})
        except TraceError:
            return False
        return len({serialised(p, erase_dtypes=True, fold_sizes=True) for p in (self.program, retraced.program)}) == 1

    def changed(self) -> str | None:
        """Return in words the first difference from the graph as it was traced, in a node or an output; or None."""
        if self.as_traced is None:
            return None
        nodes, outputs, constants = self.as_traced
        for k, (node, traced) in enumerate(zip(self.nodes, nodes, strict=False)):
            where = f"node {k} ({traced.name})"
            if node is not traced and node != traced:
                part = next(f for f in Node.__struct_fields__ if getattr(node, f) != getattr(traced, f))
                return f"{where} has other {part} than the function's{line_of(traced)}"
            if [b.ir for b in self.bodies.get(k, ())] != traced.bodies:
                return f"{where} holds another graph than the function's{line_of(traced)}"
            if node.kind == "constant" and self.constants.get(k) is not constants[k]:
                return f"{where} has another value than the function's"
        if len(self.nodes) != len(nodes) or self.ir.outputs != outputs:
            return "it has other nodes or outputs than the function's"
        return None

    def check(self) -> str | None:
        """Return the first broken invariant of the graph, or the first node that differs from its equation, or None."""
        return check(self.ir) or check_equations(self)

    def __str__(self) -> str:
        return str(self.ir)


def trace(fn: Callable[..., Any], *specs: Any, name: str = "") -> TracedGraph:
    """Return the graph of `fn` at symbolic dimensions, in the dtypes that it is called with.

    A spec gives the shape of one argument: `"n d"`, `"W1: d h"` with a name, `""` for a scalar, `"n:int"` for
    integers, `"n d:bfloat16"` or `"bf16[n, d]"` for a dtype, `":key"` for a random key; an array; a list or dict of
    specs for an argument that is one. A spec without a dtype means JAX's own: float32, or float64 with jax_enable_x64.
    Raises UsageError or TraceError.
    """
    with without_collection():
        return _finished(_traced(fn, read_specs(fn, specs), name or getattr(fn, "__name__", "function"), {}))


def _finished(traced: TracedGraph) -> TracedGraph:
    traced = _without_dead_nodes(traced)
    return replace(traced, as_traced=([*traced.nodes], [*traced.ir.outputs], {**traced.constants}))


def _traced(fn: Callable[..., Any], read: Specs, title: str, fixed: Mapping[str, Size]) -> TracedGraph:
    """Return the graph of a function at specs, with sizes set by `fixed`; `title` is its name in messages.

    The graph says as well what the code asked while it was traced (`heard`), and which state of objects it changed
    (`changes`). Raises TraceError where JAX cannot trace it or it has side effects.
    """
    with wide_floats(read.wide):
        table = _jaxpr.dimension_table(read.dims, fixed)
        # the dimensions that stay open
        names = [d for d in table if d not in fixed or d in _jaxpr.dims_in(table[d])]
        leaves = [
            jax.ShapeDtypeStruct(a.spec.shape(table, {}), dtype)
            for a, dtype in zip(read.arguments, read.dtypes, strict=True)
        ]
        try:
            code = [*reached_from([fn])]
            if not fixed:  # in the first trace no memo of the user's code may answer for the code itself
                forget(code)
            state = ReadState(fn, calls=True) if any(map(_is_of_object, code)) else None
            with (
                unremembered() if remembered_by_jax(code) else nullcontext(),
                sizes_as_integers(filter(is_own, code)),
                hearing(users_files(code)) as heard,
            ):
                program = trace_program(lambda *arrays: fn(*read.nest(arrays)), leaves)
            changes = "" if state is None else state.compare()
        except CertgradError:
            raise
        except Exception as error:
            raise _untraceable(title, read, error) from error
        if getattr(program.jaxpr, "effects", None):
            raise TraceError(
                f"{title} has side effects ({', '.join(map(str, program.jaxpr.effects))}). "
                "A graph is a function of its arguments alone; remove printing, callbacks and state."
            )
        inputs = [a.name for a in read.arguments]
        graph = _built(program, title, inputs, names, Shared(read.wide))
        return replace(graph, fn=fn, specs=read, heard=heard, changes=changes)


def _is_of_object(value: Any) -> bool:
    """Return whether `value` is a method bound to an object, which may keep state there from call to call."""
    return isinstance(value, MethodType) and not isinstance(value.__self__, type)


def _built(program: Program, title: str, inputs: Sequence[str], dims: list[str], shared: Shared) -> TracedGraph:
    builder = _Builder(shared)
    outputs = builder.run(program, inputs)
    graph = Graph(format=FORMAT, name=title, dims=dims, nodes=builder.nodes, outputs=outputs)
    return TracedGraph(graph, builder.equations, builder.constants, program, ops=builder.ops, bodies=builder.bodies)


def _untraceable(title: str, read: Specs, error: Exception) -> TraceError:
    """Return the error for a function that JAX cannot trace, with its types, JAX's reason and what to try."""
    text = str(error).strip().splitlines()
    types = ", ".join(
        f"{a.name}: {type_of(jax.ShapeDtypeStruct(tuple(map(str, a.spec.dims)), dtype))}"
        for a, dtype in zip(read.arguments, read.dtypes, strict=True)
    )
    bits = "with 64-bit numbers" if read.wide else "without 64-bit numbers, as jax_enable_x64 is off"
    why = f"{type(error).__name__}: {text[0].rstrip(' .') if text else ''}"
    return TraceError(
        f"JAX could not trace {title} of {types} ({bits}): {why}. "
        "Call it once on arrays of such shapes and dtypes. If it fails there too, mend the specs; dimensions with "
        "different names are different, and a spec says its dtype as 'x: bf16[n, d]'. If it runs, it asks for a number "
        "or a value that is not known here."
    )


def _text(value: Any) -> str:
    """Return a parameter of an equation as text for the graph."""
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return str(np.dtype(value))
    if isinstance(value, tuple | list):
        return "(" + ", ".join(map(_text, value)) + ")"
    if _jaxpr.is_program(value):
        return f"program {hashlib.blake2b(str(value).encode(), digest_size=8).hexdigest()}"
    return str(getattr(value, "__name__", "a function")) if callable(value) else str(value)


_HIDDEN = frozenset(
    "sharding out_sharding weak_type precision preferred_element_type call_jaxpr jaxpr jvp_jaxpr_fun bwd "
    "fwd_jaxpr_thunk num_consts symbolic_zeros out_trees ctx_mesh donated_invars inline keep_unused in_shardings "
    "out_shardings in_layouts out_layouts resource_env compiler_options_kvs name accuracy "
    "branches cond_jaxpr body_jaxpr update_jaxpr update_consts".split()
)
_INSIDE = frozenset({"scan", "while", "cond"})


class _Builder:
    """Collects the nodes of a graph while it walks a program, and the programs that it calls, in order."""

    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        self.nodes: list[Node] = []
        self.equations: dict[int, Equation] = {}
        self.constants: dict[int, Any] = {}
        self.ops: dict[int, tuple[Any, dict[str, Any]]] = {}
        self.bodies: dict[int, list[TracedGraph]] = {}
        self.moving: set[int] = set()
        self.judged = 0
        """The number of nodes, from the first, of which `moving` is complete."""

    def run(self, program: Program, names: Sequence[str]) -> list[Operand]:
        """Add the inputs under these names, then the nodes of the program; return its outputs."""
        inputs: list[Operand] = []
        for name, var in zip(names, program.jaxpr.invars, strict=True):
            inputs.append(self.add("input", name, [], [type_of(var.aval)]))
        return self.walk(program, inputs, ("", ""))

    def add(self, kind: Kind, name: str, operands: list[Operand], outputs: list[ArrayType], **rest: Any) -> Ref:
        node = Node(id=len(self.nodes), kind=kind, name=name, operands=operands, outputs=outputs, **rest)
        self.nodes.append(node)
        return Ref(node=node.id)

    def moves(self, operands: Sequence[Operand]) -> bool:
        """Return whether an operand may depend on the real inputs, by the operands of all nodes so far."""
        for node in self.nodes[self.judged :]:
            reads = node.kind == "input" or any(type(o) is Ref and o.node in self.moving for o in node.operands)
            if reads and any(o.real for o in node.outputs):
                self.moving.add(node.id)
        self.judged = len(self.nodes)
        return any(type(o) is Ref and o.node in self.moving for o in operands)

    def walk(
        self, program: Program, inputs: Sequence[Operand], site: tuple[str, str], atoms: Sequence[Any] = ()
    ) -> list[Operand]:
        """Add the nodes of a program and return its outputs.

        `inputs` are the values of its arguments in the graph. For a program that is called, `site` is the user's line
        and function of the call, and `atoms` are JAX's operands of it. An equation makes no node where its result is a
        number computed from literals, or where it selects by a known predicate: its value is put in where it is read.
        """
        env: dict[Any, Operand] = dict(zip(program.jaxpr.invars, inputs, strict=True))
        # Variables whose values are literals: arguments of a call, results of arithmetic on sizes.
        literal_of_var = {v: a for v, a in zip(program.jaxpr.invars, atoms, strict=False) if is_literal(a)}
        for var, value in zip(program.jaxpr.constvars, program.consts, strict=False):
            env[var] = self.constant(var, value)
        for original in program.jaxpr.eqns:
            eqn = original
            if literal_of_var and any(not is_literal(v) and v in literal_of_var for v in eqn.invars):
                eqn = eqn.replace(invars=[v if is_literal(v) else literal_of_var.get(v, v) for v in eqn.invars])
            if (folded := exact_literal(eqn)) is not None:
                literal_of_var[eqn.outvars[0]] = folded
                continue
            operands = [self.read(v, env) for v in eqn.invars]
            if (chosen := _chosen(eqn)) is not None:
                env[eqn.outvars[0]] = operands[chosen]
                if is_literal(eqn.invars[chosen]):
                    literal_of_var[eqn.outvars[0]] = eqn.invars[chosen]
                continue
            outputs = self.equation(eqn, original, program.jaxpr, operands, site if site[0] else self.shared.place(eqn))
            for v, operand in zip(eqn.outvars, outputs, strict=True):
                if not is_dropped(v):
                    env[v] = operand
                if type(operand) is Literal:
                    literal_of_var[v] = self.shared.atoms[id(operand)]
        return [self.read(v if is_literal(v) else literal_of_var.get(v, v), env) for v in program.jaxpr.outvars]

    def read(self, atom: Any, env: Mapping[Any, Operand]) -> Operand:
        """Return the operand for a variable or literal of JAX; equal scalar literals are one object."""
        if not is_literal(atom):
            return env[atom]
        if np.ndim(atom.val):
            return self.constant(atom, atom.val)
        key = (np.asarray(atom.val).tobytes(), atom.aval)
        literal = self.shared.literals.get(key)
        if literal is None:
            literal = self.shared.literals[key] = literal_of(atom)
            self.shared.atoms[id(literal)] = atom
        return literal

    def constant(self, var: Any, value: Any) -> Ref:
        ref = self.add("constant", f"c{len(self.constants)}", [], [type_of(var.aval)])
        self.constants[ref.node] = value
        return ref

    def equation(
        self, eqn: Any, original: Any, jaxpr: Any, operands: list[Operand], where: tuple[str, str]
    ) -> list[Operand]:
        """Add the node of an equation, or those of a call without a rule of its own; return its outputs.

        `original` is `eqn` before literals were put in, in the program `jaxpr`; `where` is its line and function.
        """
        equation = self.shared.equation(eqn, original, jaxpr, operands)
        called_program = self.shared.called.get(equation)
        if called_program is None:
            called_program = self.shared.called[equation] = inner_program(eqn), sampler(eqn)
        inner, drawn = called_program
        if drawn and self.moves(operands):
            drawn = ""  # of bounds that move, what is drawn has a derivative
        if inner is not None and equation.name in INLINES and not drawn:
            return self.walk(inner, operands, where, eqn.invars)
        if equation not in self.shared.params:
            self._describe(equation, where)
        kind: Kind = _KINDS.get(equation.name, "primitive" if inner is None else "call")
        name = equation.name
        if inner is not None:
            name = str(eqn.params.get("name", "")) or _jaxpr.called_name(inner) or name
        node = len(self.nodes)
        op = self.shared.ops[equation]
        if drawn:
            kind, name = "draw", drawn
        elif op is not None:
            kind, name = "op", op[0].name
            self.ops[node] = op
        elif equation.name in _INSIDE:
            self.bodies[node] = [
                _without_dead_nodes(_built(program, title, names, [], self.shared))
                for title, program, names in inner_programs(equation)
            ]
        self.equations[node] = equation
        outputs, params = self.shared.outputs[equation], self.shared.params[equation]
        bodies = [b.ir for b in self.bodies[node]] if node in self.bodies else []
        self.add(kind, name, operands, outputs, params=params, source=where[0], function=where[1], bodies=bodies)
        return [Ref(node=node, output=k) for k in range(len(outputs))]

    def _describe(self, equation: Equation, where: tuple[str, str]) -> None:
        """Store the outputs, parameters and op that all nodes of this equation have."""
        inner = equation.inner
        if inner is not None and _jaxpr.captures(inner):
            raise TraceError(
                f"The function with a rule of its own at {where[0] or 'an unknown line'} closes over a value "
                "that is being traced: its gradient there would be silently zero. Pass the value as an argument."
            )
        op = _jaxpr.op_of(equation)
        params = {k: _text(v) for k, v in sorted(equation.eqn.params.items()) if k not in _HIDDEN and v is not None}
        if op is not None:
            params = {k: str(v) for k, v in op[1].items()}
        if equation.name == "scan":  # jax 0.11 says it by trees
            params["num_carry"] = str(scan_loop(equation.eqn).carries)
        self.shared.ops[equation], self.shared.params[equation] = op, params
        self.shared.outputs[equation] = equation.output_types


def inner_programs(equation: Equation) -> list[tuple[str, Program, list[str]]]:
    """Return the programs inside a loop or a branch, each with its name before it and its inputs' names after it."""
    if equation.name == "cond":
        branches = branch_programs(equation.eqn)
        return [(f"branch {k}", b, [f"x{i}" for i in range(len(b.jaxpr.invars))]) for k, b in enumerate(branches)]
    if equation.name == "while":
        loop = while_loop(equation.eqn)
        carries = [f"carry{i}" for i in range(len(equation.eqn.outvars))]
        parts = (("test", loop.test, loop.test_consts), ("body", loop.body, loop.body_consts))
        return [(title, p, [*(f"const{i}" for i in range(n)), *carries]) for title, p, n in parts]
    scan = scan_loop(equation.eqn)
    rows = len(scan.body.jaxpr.invars) - scan.consts - scan.carries
    counts = (("const", scan.consts), ("carry", scan.carries), ("row", rows))
    return [("body", scan.body, [f"{part}{i}" for part, n in counts for i in range(n)])]


def _chosen(eqn: Any) -> int | None:
    """Return which operand a `select_n` by a literal predicate selects; None for another equation or shape."""
    if eqn.primitive.name != "select_n" or not is_literal(eqn.invars[0]) or np.ndim(eqn.invars[0].val):
        return None
    chosen = 1 + int(np.asarray(eqn.invars[0].val))
    return chosen if eqn.invars[chosen].aval.shape == eqn.outvars[0].aval.shape else None


def moving_values(traced: TracedGraph, moving: Sequence[bool]) -> set[tuple[int, int]]:
    """Return the real values of a graph that depend on inputs that move, each as its node and output.

    `moving` says for each input whether it moves.
    """
    values = {(n.id, 0) for n, m in zip(traced.ir.inputs, moving, strict=True) if m and n.outputs[0].real}
    for node in traced.nodes:
        operands = [o for o in node.operands if isinstance(o, Ref) and (o.node, o.output) in values]
        if operands and node.kind != "input":
            values.update((node.id, k) for k, out in enumerate(node.outputs) if out.real)
    return values


def nodes_of(traced: TracedGraph) -> Iterator[Node]:
    """Yield the nodes of a graph, each followed by those of the graphs inside it."""
    for node in traced.nodes:
        yield node
        for body in traced.bodies.get(node.id, ()):
            yield from nodes_of(body)


def equations_in(traced: TracedGraph) -> list[Equation]:
    """Return the equations of a graph's nodes and of the graphs inside them, each once: equal nodes share one."""
    equations = dict.fromkeys(traced.equations.values())
    for bodies in traced.bodies.values():
        for body in bodies:
            equations |= dict.fromkeys(equations_in(body))
    return [*equations]


def _without_dead_nodes(traced: TracedGraph) -> TracedGraph:
    """Return the graph without the nodes that no output depends on; all inputs stay."""
    wanted = {o.node for o in traced.ir.outputs if isinstance(o, Ref)}
    for node in reversed(traced.nodes):
        if node.id in wanted:
            wanted.update([o.node for o in node.operands if type(o) is Ref])
    kept = [n for n in traced.nodes if n.kind == "input" or n.id in wanted]
    return traced if len(kept) == len(traced.nodes) else renumbered(traced, kept)


def renumbered(traced: TracedGraph, kept: Sequence[Node]) -> TracedGraph:
    """Return the graph with the nodes `kept`, numbered by their positions.

    A node of `kept` may also be new, under the id of the node that it replaces.
    """
    place = {n.id: k for k, n in enumerate(kept)}

    def moved(operand: Operand) -> Operand:
        return Ref(node=place[operand.node], output=operand.output) if isinstance(operand, Ref) else operand

    nodes = [msgspec.structs.replace(n, id=place[n.id], operands=[moved(o) for o in n.operands]) for n in kept]
    ir = msgspec.structs.replace(traced.ir, nodes=nodes, outputs=[*map(moved, traced.ir.outputs)])

    def renumbered_keys(table: Mapping[int, Any]) -> dict[int, Any]:
        return {place[k]: v for k, v in table.items() if k in place}

    return replace(
        traced,
        ir=ir,
        equations=renumbered_keys(traced.equations),
        constants=renumbered_keys(traced.constants),
        ops=renumbered_keys(traced.ops),
        bodies=renumbered_keys(traced.bodies),
    )
