"""The graph as data: a DAG of operations. A node's id is its position, and its parents come before it."""

from __future__ import annotations

from typing import Literal as OneOf

import msgspec

FORMAT = 1
Kind = OneOf[
    "input",
    "constant",
    "primitive",
    "op",
    "custom_jvp",
    "custom_vjp",
    "call",
    "draw",
    "region",
    "scan",
    "cond",
    "while",
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

    @property
    def is_real_number(self) -> bool:
        return self.real and not self.shape

    def __str__(self) -> str:
        return f"{_SHORT.get(self.dtype, self.dtype)}[{', '.join(self.shape)}]"


_SHORT = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}
_SHORT |= {f"{sign}int{bits}": f"{sign or 'i'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}


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
    `draw` (what a function of `jax.random` makes of a key: some constant),
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
        """Return the operands that are outputs of nodes, each once."""
        return list({str(o): o for o in self.operands if isinstance(o, Ref)}.values())

    def __str__(self) -> str:
        """Return the node in one line: `%5 f64[n, h] = max(%4, 0.0)   mlp.py:12`."""
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
        """Whether the graph returns exactly one real number."""
        return len(self.outputs) == 1 and self.type_of(self.outputs[0]).is_real_number

    def __str__(self) -> str:
        lines = [f"graph {self.name} over dimensions {', '.join(self.dims) or 'none'}", *map(str, self.nodes)]
        return "\n".join([*lines, f"return {', '.join(map(str, self.outputs))}"])


def encode(graph: Graph) -> bytes:
    """Return the graph as deterministic JSON."""
    return msgspec.json.format(msgspec.json.encode(graph, order="deterministic"), indent=2) + b"\n"


def decode(data: bytes) -> Graph:
    """Return the graph that the JSON holds. Raises msgspec.ValidationError where it is none, or has unknown fields."""
    return msgspec.json.decode(data, type=Graph)
