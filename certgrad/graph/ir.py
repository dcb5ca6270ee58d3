"""The graph: an op-tagged DAG as data. A node's id is its position, and its parents come before it."""

from __future__ import annotations

from typing import Literal as OneOf

import msgspec

FORMAT = 1
Kind = OneOf[
    "input", "constant", "primitive", "op", "custom_jvp", "custom_vjp", "call", "region", "scan", "cond", "while"
]


class Struct(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, gc=False):
    """Base: immutable, and unknown fields are refused on decoding. Trees of data, so no cycles to collect."""


class ArrayType(Struct, frozen=True):
    """Shape, with dimensions as text (`n`, `2*n`, `3`), and dtype."""

    shape: list[str]
    dtype: str

    @property
    def real(self) -> bool:
        return self.dtype.startswith(("float", "bfloat"))

    def __str__(self) -> str:
        return f"{_SHORT.get(self.dtype, self.dtype)}[{', '.join(self.shape)}]"


_SHORT = {"float64": "f64", "float32": "f32", "int64": "i64", "int32": "i32"}


class Ref(Struct, frozen=True, tag_field="is", tag="node"):
    """An output of another node."""

    node: int
    output: int = 0

    def __str__(self) -> str:
        return f"%{self.node}" if self.output == 0 else f"%{self.node}.{self.output}"


class Literal(Struct, frozen=True, tag_field="is", tag="literal"):
    """A scalar that stands in the program text."""

    text: str
    dtype: str

    def __str__(self) -> str:
        return self.text


Operand = Ref | Literal


class Node(Struct, frozen=True):
    """One operation: a primitive of JAX with its parameters, or an op kept whole.

    kinds: `input`, `constant` (an array of the program, whose value is kept outside), `primitive`, `op` (of
    certgrad.ops), `custom_jvp` and `custom_vjp` (functions with a rule of their own), `call` (a function kept whole),
    `region` (several operations that are certified together), `scan`, `cond` and `while`, with graphs inside.
    """

    id: int
    kind: Kind
    name: str
    outputs: list[ArrayType]
    operands: list[Operand] = []
    params: dict[str, str] = {}
    source: str = ""
    function: str = ""
    bodies: list[Graph] = []
    """The body of a `scan`, the branches of a `cond`, test and body of a `while`."""

    @property
    def parents(self) -> list[Ref]:
        """The operands that are outputs of nodes, each once."""
        return list({str(o): o for o in self.operands if isinstance(o, Ref)}.values())

    def __str__(self) -> str:
        """One line: `%5 f64[n, h] = max(%4, 0.0)   mlp.py:12`."""
        outputs = ", ".join(map(str, self.outputs))
        params = ", ".join(f"{k}={v}" for k, v in self.params.items())
        call = f"{self.name}({', '.join(map(str, self.operands))})" + (f" [{params}]" if params else "")
        if self.kind in ("input", "constant"):
            call = f"{self.kind} {self.name}"
        elif self.kind != "primitive":
            call = f"{self.kind} {call}"
        return f"%{self.id} {outputs} = {call}" + (f"   {self.source}" if self.source else "")


class Graph(Struct, frozen=True):
    """A program: nodes in order, and what it returns. Values of constants are kept outside, by node id."""

    format: int
    name: str
    dims: list[str]
    nodes: list[Node]
    outputs: list[Operand]

    @property
    def inputs(self) -> list[Node]:
        return [n for n in self.nodes if n.kind == "input"]

    def type_of(self, operand: Operand) -> ArrayType:
        if isinstance(operand, Literal):
            return ArrayType(shape=[], dtype=operand.dtype)
        return self.nodes[operand.node].outputs[operand.output]

    @property
    def scalar_loss(self) -> bool:
        """The graph returns exactly one real number."""
        return len(self.outputs) == 1 and self.type_of(self.outputs[0]) == ArrayType(shape=[], dtype="float64")

    def __str__(self) -> str:
        lines = [f"graph {self.name} over dimensions {', '.join(self.dims) or 'none'}", *map(str, self.nodes)]
        return "\n".join([*lines, f"return {', '.join(map(str, self.outputs))}"])


ARITY: dict[str, tuple[int, int]] = {
    **dict.fromkeys("abs cos exp log log1p expm1 neg sin sqrt rsqrt tanh logistic integer_pow square".split(), (1, 1)),
    **dict.fromkeys("broadcast_in_dim reshape squeeze transpose reduce_sum reduce_max reduce_min".split(), (1, 1)),
    **dict.fromkeys("add sub mul div max min pow atan2 dot_general eq ne lt le gt ge".split(), (2, 2)),
    "iota": (0, 0),
    "dim_as_value": (0, 0),
    "clamp": (3, 3),
    "select_n": (2, 1 << 16),
    "concatenate": (1, 1 << 16),
}
"""How many operands the common primitives take."""


def check(graph: Graph) -> str | None:
    """The first broken invariant, precisely; None where the graph is well formed."""
    for position, node in enumerate(graph.nodes):
        if problem := _check_node(graph, position, node):
            return problem + line_of(node)
    for k, operand in enumerate(graph.outputs):
        if isinstance(operand, Ref) and (problem := _check_ref(graph, len(graph.nodes), operand, f"output {k}")):
            return problem
    return None


def line_of(node: Node) -> str:
    """Where a node comes from, at the end of a message about it."""
    return f" (the node comes from {node.source})" if node.source else ""


def _check_node(graph: Graph, position: int, node: Node) -> str | None:
    where = f"node {node.id} ({node.name})"
    if node.id != position:
        return f"{where} stands at position {position}; a node's id is its position"
    if not node.outputs:
        return f"{where} has no output"
    low, high = (0, 0) if node.kind in ("input", "constant") else ARITY.get(node.name, (0, 1 << 16))
    if node.kind in ("input", "constant", "primitive") and not low <= len(node.operands) <= high:
        wanted = str(low) if low == high else f"{low} or more"
        return f"{where} has {len(node.operands)} operands; a node of this kind has {wanted}"
    for k, operand in enumerate(node.operands):
        if isinstance(operand, Ref) and (problem := _check_ref(graph, position, operand, f"{where}, operand {k}")):
            return problem
    return None


def _check_ref(graph: Graph, position: int, ref: Ref, where: str) -> str | None:
    if not 0 <= ref.node < len(graph.nodes):
        return f"{where} is {ref}, but there is no such node (the graph has {len(graph.nodes)})"
    if ref.node >= position:
        return f"{where} is {ref}, which does not come before it; parents come before their children"
    count = len(graph.nodes[ref.node].outputs)
    if not 0 <= ref.output < count:
        return f"{where} is output {ref.output} of node {ref.node}, which has {count}"
    return None


def encode(graph: Graph) -> bytes:
    """Deterministic JSON."""
    return msgspec.json.format(msgspec.json.encode(graph, order="deterministic"), indent=2) + b"\n"


def decode(data: bytes) -> Graph:
    """The graph. Raises msgspec.ValidationError for anything that is not one, unknown fields included."""
    return msgspec.json.decode(data, type=Graph)
