"""Checks that a graph is well formed; a check returns the first problem in words, with its node and line, or None."""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from certgrad.graph.ir import FORMAT, ArrayType, Graph, Literal, Node, Operand, Ref
from certgrad.language.functions import FUNCTIONS
from certgrad.obligations.tracing.jax_internals import is_literal
from certgrad.signatures.sizes import NoSizeError, parse_size
from certgrad.specification.rule import RULES

if TYPE_CHECKING:
    from certgrad.graph.tracing.jaxpr import Equation
    from certgrad.graph.tracing.trace import TracedGraph

MANY = 1 << 16
"""Operands of a node, at most: more than any has."""
ANY = [inspect.Parameter.VAR_POSITIONAL]
_BODIES = {"scan": (1, 1), "cond": (1, MANY), "while": (2, 2)}
_DTYPE = re.compile(r"bool|u?int(2|4|8|16|32|64)|b?float\d+\w*|key<\w+>|float0")


def check(graph: Graph) -> str | None:
    """Return the first broken invariant of a graph in words; None where the graph is well formed.

    A node's id is its position, its parents exist and come before it, it has as many operands as its kind takes, its
    shapes are over the graph's dimensions; the graphs inside a node are well formed and fit it. Shapes and dtypes are
    compared with those of the operation itself by `check_equations`.
    """
    if graph.format != FORMAT:
        return f"the format is {graph.format}; this version reads format {FORMAT}"
    for name in graph.dims:
        if not name.isidentifier() or graph.dims.count(name) > 1:
            return f"the dimension '{name}' is {'listed twice' if name.isidentifier() else 'no name'}"
    return _Checker(graph, frozenset(graph.dims)).run()


def line_of(node: Node) -> str:
    """Return a node's source line, for the end of a message about it."""
    return f" (the node comes from {node.source})" if node.source else ""


def check_equations(traced: TracedGraph) -> str | None:
    """Return the first node that differs from its equation, in a graph or those inside it; None if none does."""
    for node in traced.nodes:
        if (equation := traced.equations.get(node.id)) is not None:
            if problem := _check_equation(traced.ir, node, equation):
                return problem + line_of(node)
            for body in traced.bodies.get(node.id, ()):
                if problem := check_equations(body):
                    return f"node {node.id} ({node.name}), inside its {body.ir.name}: {problem}"
        elif node.kind not in ("input", "constant"):
            return f"node {node.id} ({node.name}) has no equation behind it"
    return None


def _check_equation(graph: Graph, node: Node, equation: Equation) -> str | None:
    """Return how a node differs from its equation: in its operands, their types or its outputs. None if it does not."""
    if _as_equation(graph, node, equation):
        return None
    where = _name(node)
    operand_of: dict[Any, Operand] = {}
    if len(node.operands) != len(equation.eqn.invars):
        return f"{where} has {len(node.operands)} operands; its equation has {len(equation.eqn.invars)}"
    types = equation.operand_types
    for k, (operand, atom) in enumerate(zip(node.operands, equation.eqn.invars, strict=True)):
        operand_type, expected = graph.type_of(operand), types[k]
        if operand_type is not expected and operand_type != expected:
            return f"{where}, operand {k} ({operand}) is {operand_type}, but the operation takes {expected} there"
        if is_literal(atom):
            if (own_literal := equation.literals[k]) is not None and operand != own_literal:
                return f"{where}, operand {k} is {operand}, but the operation has {own_literal} there"
        elif isinstance(operand, Literal):
            return f"{where}, operand {k} is the number {operand}, but the operation reads a value there"
        elif operand_of.setdefault(atom, operand) != operand:
            return f"{where}, operand {k} is {operand}, but the operation reads {operand_of[atom]} there as well"
    for k, (declared, inferred) in enumerate(zip(node.outputs, equation.output_types, strict=False)):
        if declared is not inferred and declared != inferred:
            return f"{where}, output {k} is declared {declared}, but the operation gives {inferred}"
    if len(node.outputs) != len(equation.output_types):
        return f"{where} declares {len(node.outputs)} outputs; its equation has {len(equation.output_types)}"
    return None


def _as_equation(graph: Graph, node: Node, equation: Equation) -> bool:
    """Return whether a node fits its equation in the plain case: distinct operands of its very types, its own literals.

    False means only that `_check_equation` has to look closely.
    """
    operands, types, literals = node.operands, equation.operand_types, equation.literals
    if len(operands) != len(types) or len(equation.variables) + equation.scalars != len(types):
        return False
    nodes = graph.nodes
    for k, operand in enumerate(operands):
        if type(operand) is Ref:
            if literals[k] is not None or nodes[operand.node].outputs[operand.output] is not types[k]:
                return False
        elif operand is not literals[k] and operand != literals[k]:
            return False
    outputs = equation.output_types
    return node.outputs is outputs or node.outputs == outputs


class _Checker:
    """The check of one graph, whose sizes may name the dimensions `dims` of the outermost graph."""

    def __init__(self, graph: Graph, dims: frozenset[str], seen: set[int] | None = None) -> None:
        self.graph, self.dims = graph, dims
        self.seen: set[int] = set() if seen is None else seen
        """The ids of types and literals that were checked: nodes share them."""

    def run(self) -> str | None:
        """Return the first problem of the graph, or None."""
        names: set[str] = set()
        for position, node in enumerate(self.graph.nodes):
            if problem := self._node(position, node):
                return problem + line_of(node)
            if node.kind == "input":
                if node.name in names:
                    return f"node {node.id} is a second input named {node.name}; inputs have names of their own"
                names.add(node.name)
        for k, operand in enumerate(self.graph.outputs):
            if problem := self._operand(len(self.graph.nodes), operand):
                return f"output {k} {problem}"
        return None

    def _node(self, position: int, node: Node) -> str | None:
        """Return the first problem of a node: its id, outputs, operands, types or inner graphs; or None."""
        if node.id != position:
            return f"{_name(node)} stands at position {position}; a node's id is its position"
        if not node.outputs:
            return f"{_name(node)} has no output"
        low, high = _arity(node)
        if not low <= len(node.operands) <= high:
            return f"{_name(node)} has {len(node.operands)} operands; a node of this kind has {_range(low, high)}"
        for k, operand in enumerate(node.operands):
            if problem := self._operand(position, operand):
                return f"{_name(node)}, operand {k} {problem}"
        for k, output in enumerate(node.outputs):
            if id(output) not in self.seen:
                if problem := self._type(output, f"{_name(node)}, output {k}"):
                    return problem
                self.seen.add(id(output))
        return self._bodies(node, _name(node)) if node.bodies or node.kind in _BODIES else None

    def _operand(self, position: int, operand: Operand) -> str | None:
        """Return what is wrong with an operand, as the rest of a sentence."""
        if isinstance(operand, Literal):
            if id(operand) in self.seen:
                return None
            self.seen.add(id(operand))
            return None if _DTYPE.fullmatch(operand.dtype) else f"has the dtype {operand.dtype}, which is none"
        nodes = self.graph.nodes
        if not 0 <= operand.node < len(nodes):
            return f"is {operand}, but there is no such node (the graph has {len(nodes)})"
        if operand.node >= position:
            return f"is {operand}, which does not come before it; parents come before their children"
        outputs = len(nodes[operand.node].outputs)
        if not 0 <= operand.output < outputs:
            return f"is output {operand.output} of node {operand.node}, which has {outputs}"
        return None

    def _type(self, output: ArrayType, where: str) -> str | None:
        """Return the problem of a type: an unknown dtype, a length that is no size, an unknown dimension; or None."""
        if not _DTYPE.fullmatch(output.dtype):
            return f"{where} has the dtype {output.dtype}, which is none"
        for size in output.shape:
            try:
                read = parse_size(size)
            except NoSizeError:
                read = None
            if read is None or (read.value is None and not read.names):
                return f"{where} has an axis of length '{size}', which is no size"
            for name in read.names:
                if name not in self.dims:
                    dims_text = ", ".join(sorted(self.dims)) or "none"
                    return (
                        f"{where} has an axis of length '{size}', but {name} is no dimension of the graph ({dims_text})"
                    )
        return None

    def _bodies(self, node: Node, where: str) -> str | None:
        """Return the first problem of the graphs inside a node: their number, themselves, or how they fit it."""
        low, high = _BODIES.get(node.kind, (0, 0))
        if not low <= len(node.bodies) <= high:
            return f"{where} has {len(node.bodies)} graphs inside; a node of this kind has {_range(low, high)}"
        for body in node.bodies:
            if problem := _Checker(body, self.dims, self.seen).run():
                return f"{where}, inside its {body.name}: {problem}"
            if problem := self._fits(node, body):
                return f"{where}, inside its {body.name}: {problem}"
        return None

    def _fits(self, node: Node, body: Graph) -> str | None:
        """Return how the inputs of a loop's or a branch's body differ from what they are given, or None.

        The body of a scan takes what the scan takes, with a row in the place of each array that it runs over; a branch
        takes all operands but the index.
        """
        if node.kind == "while":
            return None
        operands = node.operands[1:] if node.kind == "cond" else node.operands
        if len(body.inputs) != len(operands):
            return f"it takes {len(body.inputs)} values, but the node gives it {len(operands)}"
        if len(body.outputs) != len(node.outputs):
            return f"it returns {len(body.outputs)} values, but the node has {len(node.outputs)}"
        given = [
            (f"operand {k}", n.outputs[0], self.graph.type_of(o), node.kind == "scan")
            for k, (n, o) in enumerate(zip(body.inputs, operands, strict=True))
        ]
        carries = node.params.get("num_carry", "")
        first = int(carries) if carries.isdigit() else 0  # JAX 0.11 does not say how many are carried
        returned = [
            (f"output {k}", body.type_of(o), out, node.kind == "scan" and k >= first)
            for k, (o, out) in enumerate(zip(body.outputs, node.outputs, strict=True))
        ]
        for slot, inner_type, node_type, is_row in (*given, *returned):
            stacked = is_row and inner_type.shape == node_type.shape[1:]
            if inner_type.dtype != node_type.dtype or not (stacked or inner_type.shape == node_type.shape):
                return f"{slot} is {inner_type}, but {node_type} at the node"
        return None


def _name(node: Node) -> str:
    return f"node {node.id} ({node.name})"


def _arity(node: Node) -> tuple[int, int]:
    """Return the least and the largest number of operands of a node of this kind and name."""
    if node.kind in ("input", "constant"):
        return 0, 0
    if node.kind == "primitive":
        return _taken_by(node.name)
    return (1, MANY) if node.kind == "cond" else (0, MANY)


@cache
def _taken_by(primitive: str) -> tuple[int, int]:
    """Return the least and the largest number of operands that a primitive takes."""
    if primitive in FUNCTIONS:
        return (len(FUNCTIONS[primitive].arguments),) * 2
    parameter_kinds = (
        [p.kind for p in inspect.signature(RULES[primitive]).parameters.values()][1:] if primitive in RULES else ANY
    )
    fewest = sum(kind is not inspect.Parameter.VAR_POSITIONAL for kind in parameter_kinds)
    return fewest, fewest if fewest == len(parameter_kinds) else MANY


def _range(low: int, high: int) -> str:
    if low == high:
        return str(low)
    return f"{low} or more" if high == MANY else f"{low} to {high}"
