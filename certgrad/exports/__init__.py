"""Certified graphs in the languages of others: ONNX models and PyTorch code."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from certgrad.errors import UsageError
from certgrad.exports._programs import Name, exported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from certgrad.accel import CompiledGraph
    from certgrad.graph import GraphCertificate

__all__ = ["export_onnx", "onnx_certificate"]


def export_onnx(
    compiled: CompiledGraph,
    path: str | Path,
    *,
    program: Name = "forward",
    sizes: Mapping[str, int] | None = None,
) -> Path:
    """Write a program of a certified graph as an ONNX model, with the certificate in its metadata.

    Args:
        compiled: from `certgrad.compile_graph`.
        path: the file to write, such as `loss.onnx`.
        program: `forward`; or the reverse sweep that the certificate's steps name, `value_and_grad` of a scalar loss or
            `vjp`, which takes a seed for each output after the arguments.
        sizes: dimensions that are numbers in the model. All others are symbolic there (`dim_param`).

    Raises:
        UsageError: onnx is not installed (`certgrad[onnx]`), a step has no counterpart in ONNX (with its node and
            line), or the program cannot be written for all sizes.
    """
    _check_installed("onnx")
    from certgrad.exports._onnx._export import write

    return write(exported(compiled, program, sizes), Path(path), program)


def onnx_certificate(path: str | Path) -> GraphCertificate:
    """The certificate in a model that `export_onnx` wrote.

    Raises CertgradError where the file has none, or its nodes are not those that were written with it. This finds
    accidents; who can write the file can write its digests.
    """
    _check_installed("onnx")
    from certgrad.exports._onnx._export import certificate_of

    return certificate_of(Path(path))


def _check_installed(package: str) -> None:
    if find_spec(package) is None:
        raise UsageError(f"{package} is not installed: pip install 'certgrad[{package}]'.")
