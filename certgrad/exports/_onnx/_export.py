"""`export_onnx`: a program of a certified graph as an ONNX model, with the certificate in its metadata."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import onnx
from onnx import helper

import certgrad
from certgrad.accel._export import ExportError
from certgrad.exports._flat import Flat, Step
from certgrad.exports._onnx import _control, _elementwise, _indexing, _products, _shapes
from certgrad.exports._onnx._graph import Shared, Writer, info
from certgrad.exports._programs import Exported, identifiers
from certgrad.graph.certificate import GraphCertificate, decode, encode
from certgrad.process.files import write_atomically

OPSET = 18
"""The oldest version of ONNX's operators that suffices: it has reductions whose axes are an operand, and Pad along some
axes. It is of 2022, so that programs which read models know it.
"""
IR_VERSION = 8
TABLE = {**_elementwise.TABLE, **_shapes.TABLE, **_products.TABLE, **_indexing.TABLE, **_control.TABLE}
CERTIFICATE, DIGEST, PROGRAM, VERDICT, NODES = (
    f"certgrad.{name}" for name in ("certificate", "graph", "program", "verdict", "sha256")
)


def graph_of(
    flat: Flat,
    inputs: Sequence[str],
    outputs: Sequence[str],
    title: str,
    where: Callable[[Step], str],
    axes: Mapping[str, tuple[int, int]],
) -> onnx.GraphProto:
    """Return a program as an ONNX graph.

    `axes` says at which input and axis the size of each symbolic dimension is read. `where` gives the node and the line
    of a step, for messages.
    """
    writer = Writer(Shared(TABLE, where, {dim: (inputs[k], axis) for dim, (k, axis) in axes.items()}))
    for name, value in zip(inputs, flat.inputs, strict=True):
        writer.names[id(value)] = name
    results = writer.write(flat)
    returns = [
        helper.make_node("Identity", [f], [n], name=f"returns_{n}") for f, n in zip(results, outputs, strict=True)
    ]
    return helper.make_graph(
        [*writer.sized, *writer.nodes, *returns],
        title,
        [info(n, v) for n, v in zip(inputs, flat.inputs, strict=True)],
        [info(n, v) for n, v in zip(outputs, flat.outputs, strict=True)],
        list(writer.shared.initializers.values()),
    )


def model_of(graph: onnx.GraphProto, metadata: Mapping[str, str]) -> onnx.ModelProto:
    """Return the model of a graph, after onnx has checked its operators and the shapes that it infers."""
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="certgrad",
        producer_version=certgrad.__version__,
    )
    helper.set_model_props(model, {**metadata, NODES: _digest(model)})
    onnx.checker.check_model(model, full_check=True)
    return model


def write(exported: Exported, path: Path, program: str) -> Path:
    """Write an exported program as an ONNX file; return its path. One graph at the same sizes gives the same bytes."""
    certificate = exported.certified.certificate
    graph = graph_of(
        exported.flat,
        identifiers(exported.inputs),
        identifiers(exported.outputs),
        exported.certified.traced.ir.name,
        exported.where,
        exported.axes,
    )
    metadata = {CERTIFICATE: encode(certificate).decode(), DIGEST: certificate.digest, VERDICT: certificate.verdict}
    model = model_of(graph, {**metadata, PROGRAM: program})
    write_atomically(path, model.SerializeToString(deterministic=True))
    return path


def certificate_of(path: Path) -> GraphCertificate:
    """Return the certificate in a model. Raises ExportError where it has none, or one that belongs to another graph."""
    try:
        model = onnx.load(str(path))
    except Exception as error:
        raise ExportError(
            f"{path} is no ONNX model: {type(error).__name__}. Give a file that export_onnx wrote."
        ) from None
    metadata = {p.key: p.value for p in model.metadata_props}
    if missing := [key for key in (CERTIFICATE, DIGEST, NODES) if key not in metadata]:
        raise ExportError(f"{path} has no {missing[0]} in its metadata. Give a file that export_onnx wrote.")
    if metadata[NODES] != _digest(model):
        raise ExportError(f"{path}: its nodes are not those that were written with its certificate. Write it anew.")
    certificate = decode(metadata[CERTIFICATE].encode())
    if certificate.digest != metadata[DIGEST]:
        raise ExportError(f"{path}: its certificate is of another graph. Write it anew.")
    return certificate


def _digest(model: onnx.ModelProto) -> str:
    return hashlib.sha256(model.graph.SerializeToString(deterministic=True)).hexdigest()
