"""Certified graphs in the languages of others: ONNX models and PyTorch code."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from certgrad.errors import UsageError
from certgrad.exports._programs import Name, exported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from certgrad.accel import CompiledGraph
    from certgrad.graph import GraphCertificate

__all__ = ["export_onnx", "export_torch", "onnx_certificate", "torch_function", "torch_module"]


def export_onnx(
    compiled: CompiledGraph,
    path: str | Path,
    *,
    program: Name = "forward",
    sizes: Mapping[str, int] | None = None,
) -> Path:
    """Write a program of a certified graph as an ONNX model, with the certificate in its metadata; return the path.

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


def export_torch(
    compiled: CompiledGraph, path: str | Path, *, sizes: Mapping[str, int] | None = None, dtype: str | None = None
) -> Path:
    """Write a certified graph as a file of Python that needs torch alone, with a function for autograd and a `Module`.

    The forward and the backward are written step by step, each step with its node and line. The backward is the VJP
    that the certificate's steps name. Returns the path.

    Args:
        compiled: from `certgrad.compile_graph`.
        path: the file to write, such as `loss.py`.
        sizes: dimensions that are numbers in the code. All others are read from the arguments.
        dtype: the dtype of real numbers, such as `float64`; None keeps the dtype in which the graph was traced.

    Raises:
        UsageError: a step has no counterpart in PyTorch (with its node and line), the function is another program in
            that dtype, or it cannot be written for all sizes.
    """
    from certgrad.exports._torch._export import source_of
    from certgrad.process.files import write_atomically

    write_atomically(Path(path), source_of(exported(compiled, "vjp", sizes, _parse_real_dtype(dtype))).encode())
    return Path(path)


def torch_function(
    compiled: CompiledGraph, *, sizes: Mapping[str, int] | None = None, dtype: str | None = None
) -> Callable[..., Any]:
    """Return the function of the file that `export_torch` writes: of tensors, with the certified VJP as its backward.

    It takes the arrays of the graph's arguments flat, and returns a tuple where the graph has several outputs.
    Raises UsageError as `export_torch` does, and where torch is not installed.
    """
    function: Callable[..., Any] = _torch_code(compiled, sizes, dtype).FUNCTION
    return function


def torch_module(
    compiled: CompiledGraph, *, sizes: Mapping[str, int] | None = None, dtype: str | None = None, **parameters: Any
) -> Any:
    """Return a `torch.nn.Module` that calls `torch_function`.

    `parameters` are the values of the graph's arguments that become parameters of the module, by name. All other
    arguments are passed at each call, in order. Raises UsageError as `torch_function` does.
    """
    return _torch_code(compiled, sizes, dtype).Module(**parameters)


def onnx_certificate(path: str | Path) -> GraphCertificate:
    """Return the certificate in a model that `export_onnx` wrote.

    Raises CertgradError where the file has no certificate, or its nodes are not those that were written with the
    certificate. This check finds accidents only: whoever can write the file can also write its digests.
    """
    _check_installed("onnx")
    from certgrad.exports._onnx._export import certificate_of

    return certificate_of(Path(path))


def _parse_real_dtype(dtype: str | None) -> Any:
    real_dtypes = ("float16", "bfloat16", "float32", "float64")
    if dtype is not None and dtype not in real_dtypes:
        raise UsageError(f"'{dtype}' is no dtype of real numbers: {', '.join(real_dtypes)}.")
    return None if dtype is None else jnp.dtype(dtype)


def _torch_code(compiled: CompiledGraph, sizes: Mapping[str, int] | None, dtype: str | None) -> Any:
    _check_installed("torch")
    from certgrad.exports._torch._export import loaded

    return loaded(exported(compiled, "vjp", sizes, _parse_real_dtype(dtype)))


def _check_installed(package: str) -> None:
    if find_spec(package) is None:
        raise UsageError(f"{package} is not installed: pip install 'certgrad[{package}]'.")
