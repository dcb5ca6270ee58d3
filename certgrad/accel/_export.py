"""Certified graphs as files: StableHLO and the artefacts of `jax.export`, with the certificate beside them.

The file is a zip archive of JSON, text and the bytes of `jax.export`. Reading a file runs no Python code from it.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jax
from jax import export

from certgrad.accel._compile import CompiledGraph
from certgrad.errors import CertgradError, UsageError
from certgrad.graph.certificate import GraphCertificate, decode, encode
from certgrad.process.files import write_atomically

FORMAT = 1
MANIFEST, CERTIFICATE = "manifest.json", "certificate.json"
_NEEDED = "Exported graphs need flatbuffers, which jax.export writes with: pip install 'certgrad[export]'."
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The date in every archive, so that equal graphs give equal bytes."""


class ExportError(CertgradError):
    """The error for a file that is no exported graph, or whose parts were not written together."""


@dataclass(frozen=True)
class ExportedGraph:
    """A graph read from a file. Its programs take the arrays that `arguments` names, in that order, nested or not."""

    certificate: GraphCertificate
    arguments: Mapping[str, str]
    """The type of each array, as `float32[3, 2]`."""
    platforms: Sequence[str]
    programs: Mapping[str, export.Exported]
    stablehlo: Mapping[str, str]
    """The text of each program."""

    def forward(self, *arrays: Any) -> Any:
        """Return the outputs of the function, as a tuple where there are several."""
        return self._run("forward", arrays)

    def value_and_grad(self, *arrays: Any) -> Any:
        """Return the loss, and its gradient by name. Raises UsageError for a graph that returns no single number."""
        return self._run("value_and_grad", arrays)

    def vjp(self, arrays: Sequence[Any], seeds: Sequence[Any]) -> Any:
        """Return the outputs, and the cotangents by name, with one seed for each output."""
        return self._run("vjp", [*arrays, *seeds])

    def _run(self, name: str, arrays: Sequence[Any]) -> Any:
        """Return a program's results at arrays. Raises UsageError for a missing program or another number of arrays."""
        if name not in self.programs:
            raise UsageError(f"The graph was written with {' and '.join(self.programs)}, and not with {name}.")
        flat, program = jax.tree.leaves(arrays), self.programs[name]
        if len(flat) != len(program.in_avals):
            raise UsageError(
                f"{name} takes {len(program.in_avals)} arrays and got {len(flat)}. Pass {', '.join(self.arguments)}"
                f"{', then a seed for each output' if name == 'vjp' else ''}."
            )
        return program.call(*flat)


def export_graph(compiled: CompiledGraph, path: str | Path, *args: Any, platforms: Sequence[str] = ()) -> Path:
    """Write a certified graph at the sizes of these arguments, and return the path.

    The file has the graph's programs and its certificate. The programs are the forward, and the reverse sweep that the
    certificate's steps name: for a scalar loss `value_and_grad`, else `vjp`. Guards are no part of them.

    Args:
        compiled: from `compile_graph`.
        path: the file to write.
        args: the arguments of the function, nested as they are: arrays, or `jax.ShapeDtypeStruct`s.
        platforms: such as `cpu` and `cuda`; that of this process by default.

    Raises:
        UsageError: the arguments do not fit the specs, or flatbuffers is not installed (`certgrad[export]`).
    """
    _check_installed()
    certified = compiled.at(*args).certified
    plain = CompiledGraph(certified)
    flat = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in certified.traced.specs.flat(args)]
    names = [a.name for a in certified.traced.specs.arguments]
    outputs = jax.eval_shape(lambda *xs: tuple(jax.tree.leaves(plain._forward(xs)[0])), *flat)

    def forward(*arrays: Any) -> Any:
        return _bare(jax.tree.leaves(plain._forward(arrays)[0]))

    def by_name(gradients: Any) -> dict[str, Any]:
        leaves = jax.tree.leaves(gradients, is_leaf=lambda x: x is None)
        return {n: g for n, g in zip(names, leaves, strict=True) if g is not None}

    def value_and_grad(*arrays: Any) -> Any:
        loss, gradients = plain._value_and_grad(arrays)[0]
        return loss, by_name(gradients)

    def vjp(*arrays: Any) -> Any:
        seeds = jax.tree.unflatten(certified.traced.program.out_tree, arrays[len(names) :])
        value, gradients = plain._vjp(arrays[: len(names)], seeds)[0]
        return _bare(jax.tree.leaves(value)), by_name(gradients)

    programs: dict[str, tuple[Callable[..., Any], list[Any]]] = {"forward": (forward, flat)}
    if certified.traced.ir.scalar_loss:
        programs["value_and_grad"] = value_and_grad, flat
    else:
        programs["vjp"] = vjp, [*flat, *outputs]
    files = {CERTIFICATE: encode(certified.certificate)}
    exported: export.Exported | None = None
    for name, (program, example_args) in programs.items():
        program.__name__ = f"{certified.traced.ir.name}_{name}"
        jitted = jax.jit(program)
        with _without_locations():
            exported = export.export(jitted, platforms=list(platforms) or None)(*example_args)
            files[f"{name}.jax"] = bytes(exported.serialize())
            files[f"{name}.stablehlo.mlir"] = jitted.lower(*example_args).as_text().encode()
    assert exported is not None
    manifest = {
        "format": FORMAT,
        "graph": certified.certificate.digest,
        "arguments": {n: _type(x) for n, x in zip(names, flat, strict=True)},
        "programs": list(programs),
        "platforms": list(exported.platforms),
        "versions": {"jax": jax.__version__},
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())},
    }
    files[MANIFEST] = json.dumps(manifest, indent=1, sort_keys=False).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
    write_atomically(Path(path), packed.getvalue())
    return Path(path)


def load_exported(path: str | Path) -> ExportedGraph:
    """Return the graph that `export_graph` wrote.

    Each part must have the digest in the manifest, and the certificate must be that of the graph. This finds accidents,
    but no forgery: whoever can write the file can write its digests.

    Raises:
        ExportError: a part is missing or was replaced; the message names it.
        UsageError: flatbuffers is not installed (`certgrad[export]`).
    """
    _check_installed()
    try:
        with zipfile.ZipFile(path) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
            manifest = json.loads(files[MANIFEST])
            digests, names = manifest["sha256"], list(manifest["programs"])
            parts = [CERTIFICATE, *(f"{n}{end}" for n in names for end in (".jax", ".stablehlo.mlir"))]
            if manifest["format"] != FORMAT:
                raise ExportError(f"{path} has format {manifest['format']}; this certgrad reads {FORMAT}.")
    except (OSError, zipfile.BadZipFile, KeyError, TypeError, ValueError) as error:
        raise ExportError(f"{path} is no exported graph: {error}. Give a file that export_graph wrote.") from None
    for name in parts:
        if name not in files or hashlib.sha256(files[name]).hexdigest() != digests.get(name):
            problem = "is missing" if name not in files else "is not the one that was written"
            raise ExportError(f"{path}: {name} {problem}. Write the graph anew.")
    certificate = decode(files[CERTIFICATE])
    if certificate.digest != manifest["graph"]:
        raise ExportError(f"{path}: its certificate is of another graph. Write the graph anew.")
    return ExportedGraph(
        certificate,
        dict(manifest["arguments"]),
        list(manifest["platforms"]),
        {name: export.deserialize(bytearray(files[f"{name}.jax"])) for name in names},
        {name: files[f"{name}.stablehlo.mlir"].decode() for name in names},
    )


@contextmanager
def _without_locations() -> Iterator[None]:
    """Within it, JAX writes no source lines into programs: they are no part of the graph."""
    name = "jax_traceback_in_locations_limit"
    before = getattr(jax.config, name)
    jax.config.update(name, 0)
    try:
        yield
    finally:
        jax.config.update(name, before)


def _check_installed() -> None:
    if find_spec("flatbuffers") is None:
        raise UsageError(_NEEDED)


def _bare(arrays: Sequence[Any]) -> Any:
    return arrays[0] if len(arrays) == 1 else tuple(arrays)


def _type(x: Any) -> str:
    return f"{x.dtype}[{', '.join(map(str, x.shape))}]"
