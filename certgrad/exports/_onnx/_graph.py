"""An ONNX graph while it is written: its nodes, its constants, and the sizes that are known only when it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from certgrad.errors import UsageError
from certgrad.exports._flat import Atom, Constant, Flat, Step, Value
from certgrad.signatures.sizes import Call, Factor, Power, Size, parse_size

Rule = Callable[["Writer", Step, list[str]], "str | list[str]"]
"""Writes a step: takes the writer, the step and the names of its operands, and returns the names of its results."""


@dataclass
class Shared:
    """The state that a graph and its inner graphs share."""

    table: Mapping[str, Rule]
    where: Callable[[Step], str]
    """The node and the line that a step comes from, in words."""
    axes: Mapping[str, tuple[str, int]]
    """Where the size of each symbolic dimension is read: the name of an input, and its axis."""
    initializers: dict[Any, onnx.TensorProto] = field(default_factory=dict)
    count: int = 0


class Writer:
    """Writes the nodes of one graph. A graph inside another graph also reads the names of the outer graph."""

    def __init__(self, shared: Shared, outer: Writer | None = None) -> None:
        self.shared, self.outer = shared, outer
        self.nodes: list[onnx.NodeProto] = []
        self.names: dict[int, str] = {} if outer is None else dict(outer.names)
        self.sizes: dict[str, str] = {} if outer is None else outer.sizes
        self.place: str = "" if outer is None else outer.place
        self.sized: list[onnx.NodeProto] = []
        """The nodes that compute sizes; they stand before all other nodes."""

    @property
    def outermost(self) -> Writer:
        return self if self.outer is None else self.outer.outermost

    def op(self, kind: str, *inputs: str, count: int = 1, **attributes: Any) -> Any:
        """Add a node, and return the name of its result, or the list of names of its `count` results."""
        names = [self.fresh() for _ in range(count)]
        node = helper.make_node(kind, list(inputs), names, name=f"{kind}_{names[0]}", **attributes)
        node.doc_string = self.place
        self.nodes.append(node)
        return names[0] if count == 1 else names

    def fresh(self) -> str:
        self.shared.count += 1
        return f"v{self.shared.count}"

    def constant(self, value: Any, dtype: Any = None) -> str:
        """Return the name of a constant; equal constants are stored once in a model."""
        array = np.ascontiguousarray(np.asarray(value, dtype))
        array = array.reshape(np.shape(value))
        key = array.dtype, array.shape, array.tobytes()
        if key not in self.shared.initializers:
            name = f"c{len(self.shared.initializers)}"
            self.shared.initializers[key] = numpy_helper.from_array(array, name)
        return self.shared.initializers[key].name

    def integers(self, values: Sequence[int]) -> str:
        return self.constant(np.asarray(values, np.int64))

    def read(self, atom: Atom) -> str:
        """Return the name of an operand."""
        return self.constant(atom.data) if isinstance(atom, Constant) else self.names[id(atom)]

    # --- sizes

    def size(self, size: int | str) -> str:
        """Return the name of a dimension as an array of one integer; write the nodes that compute it once."""
        if isinstance(size, int):
            return self.integers([size])
        if size not in self.sizes:
            first = Writer(self.shared)  # its nodes go to the outermost graph
            self.sizes[size] = first._size(parse_size(size))
            self.outermost.sized.extend(first.nodes)
        return self.sizes[size]

    def _size(self, size: Size) -> str:
        (sign, factors), *rest = size.terms
        total = self._product(factors) if sign > 0 else str(self.op("Neg", self._product(factors)))
        for sign, factors in rest:
            total = str(self.op("Add" if sign > 0 else "Sub", total, self._product(factors)))
        return total

    def _product(self, factors: Sequence[Factor]) -> str:
        product, *rest = map(self._factor, factors)
        for factor in rest:
            product = str(self.op("Mul", product, factor))
        return product

    def _factor(self, factor: Factor) -> str:
        match factor:
            case int():
                return self.integers([factor])
            case str():
                array, axis = self.shared.axes[factor]
                return str(self.op("Shape", array, start=axis, end=axis + 1))
            case Size():
                return self._size(factor)
            case Power(base=base, exponent=exponent):
                return self._product([base] * exponent)
            case Call(function=function, left=left, right=right):
                return str(self.op(_FUNCTIONS[function], self._size(left), self._size(right)))

    def shape(self, sizes: Sequence[int | str]) -> str:
        """Return the name of a shape as an array of integers."""
        if all(isinstance(s, int) for s in sizes):
            return self.integers([int(s) for s in sizes])
        parts = [self.size(s) for s in sizes]
        return parts[0] if len(parts) == 1 else str(self.op("Concat", *parts, axis=0))

    def scalar(self, size: int | str) -> str:
        """Return the name of a dimension as an integer without axes."""
        return self.constant(np.int64(size)) if isinstance(size, int) else str(self.op("Squeeze", self.size(size)))

    # --- shapes

    def reshape(self, x: str, shape: Sequence[int | str]) -> str:
        return str(self.op("Reshape", x, self.shape(shape)))

    def transpose(self, x: str, order: Sequence[int]) -> str:
        return x if list(order) == sorted(order) else str(self.op("Transpose", x, perm=[int(k) for k in order]))

    def cast(self, x: str, dtype: Any) -> str:
        return str(self.op("Cast", x, to=type_of(dtype)))

    # --- programs

    def write(self, flat: Flat) -> list[str]:
        """Write the steps of a program whose inputs already have names; return the names of its outputs."""
        for step in flat.steps:
            self.place = self.shared.where(step)
            rule = self.shared.table.get(step.primitive)
            if rule is None:
                raise unwritten(self.shared.where(step), step.primitive, "has no counterpart in ONNX")
            result = rule(self, step, [self.read(a) for a in step.inputs])
            names = [result] if isinstance(result, str) else result
            self.names.update((id(v), n) for v, n in zip(step.outputs, names, strict=True))
        return [self.read(a) for a in flat.outputs]

    def inner(
        self,
        flat: Flat,
        title: str,
        bound: Sequence[Value],
        before: Sequence[tuple[str, Any]] = (),
        outputs: Callable[[Writer, list[str]], list[str]] | None = None,
    ) -> onnx.GraphProto:
        """Return the graph of a program inside a node.

        `bound` are the program's inputs that the graph takes, after the scalars in `before`; all other inputs already
        have names. `outputs` gets the names of the program's outputs and writes what the graph returns; if it is None,
        the graph returns the program's outputs.
        """
        writer = Writer(self.shared, self)
        infos = [helper.make_tensor_value_info(writer.fresh(), type_of(dtype), []) for _, dtype in before]
        for value in bound:
            writer.names[id(value)] = name = writer.fresh()
            infos.append(info(name, value))
        names = writer.write(flat)
        names = [writer.op("Identity", n) for n in names] if outputs is None else outputs(writer, names)
        return writer.graph(title, infos, names)

    def block(self, title: str, body: Callable[[Writer], list[str]]) -> onnx.GraphProto:
        """Return a graph inside a node that has no inputs, such as a branch of an If; `body` writes it."""
        writer = Writer(self.shared, self)
        return writer.graph(title, [], body(writer))

    def graph(self, title: str, inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[str]) -> onnx.GraphProto:
        return helper.make_graph(
            self.nodes, title, list(inputs), [helper.make_empty_tensor_value_info(n) for n in outputs]
        )


_FUNCTIONS = {"floordiv": "Div", "mod": "Mod", "max": "Max", "min": "Min"}
_TYPES = {
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16,
    "int8": TensorProto.INT8,
    "int16": TensorProto.INT16,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "uint8": TensorProto.UINT8,
    "uint16": TensorProto.UINT16,
    "uint32": TensorProto.UINT32,
    "uint64": TensorProto.UINT64,
    "bool": TensorProto.BOOL,
}


def type_of(dtype: Any) -> int:
    """Return ONNX's number for a dtype. Raises UsageError for one that it does not have."""
    if (number := _TYPES.get(str(np.dtype(dtype)))) is None:
        raise UsageError(f"ONNX has no numbers of {np.dtype(dtype)}. Trace the function in another dtype.")
    return int(number)


def info(name: str, value: Atom) -> onnx.ValueInfoProto:
    """Return an array's name, dtype and shape as ONNX declares them; a symbolic dimension stands there as text."""
    return helper.make_tensor_value_info(name, type_of(value.dtype), list(value.shape))


def unwritten(where: str, primitive: str, why: str) -> UsageError:
    """Return the error about a primitive that cannot be written: where it stands, why, and what to do instead."""
    return UsageError(
        f"{where}: {primitive} {why}. Write that line of the function with other operations, or export the graph as "
        "StableHLO (certgrad.accel.export_graph), which has all of JAX's."
    )
