"""What the certificate of a graph rests on: a digest of graph, lemmas and theorems, the versions, the dtypes."""

from __future__ import annotations

import hashlib
from itertools import chain
from typing import Any

from certgrad.graph.certificate import Step, pieces
from certgrad.graph.tracing.jaxpr import bytes_of
from certgrad.graph.tracing.trace import TracedGraph, equations_in, nodes_of
from certgrad.obligations.certificate import KERNEL
from certgrad.obligations.tracing.jax_internals import versions


def installed() -> dict[str, str]:
    """Return the versions of libraries and kernel that a certificate made now rests on."""
    return {**versions(), "kernel": KERNEL}


def traced_in(traced: TracedGraph) -> str:
    """Return, as text, the dtypes of the program's floats and whether JAX had 64-bit numbers."""
    reals = dtypes_of(traced) or ["no floats"]
    return f"{', '.join(reals)}, {'with' if traced.specs.wide else 'without'} 64-bit numbers"


def dtypes_of(traced: TracedGraph) -> list[str]:
    """Return the dtypes of the program's floats, in order of their names."""
    alone = (n.outputs for n in nodes_of(traced) if n.kind in ("input", "constant"))
    outputs = [*alone, *(equation.output_types for equation in equations_in(traced))]
    return sorted({o.dtype for row in outputs for o in row if o.real})


def digest(traced: TracedGraph, steps: list[Step], laws: list[str]) -> str:
    """Return a digest of what the certificate rests on: the graph, its constants, each step's lemma, the theorems."""
    hasher = hashlib.blake2b(digest_size=32)
    lemmas = [s.lemma if not s.inside else [s.lemma, *_inner_lemmas(s)] for s in steps]
    for piece in chain(pieces(traced.ir), pieces(lemmas)):
        hasher.update(piece)
    _add_constants(hasher, traced)
    for law in laws:
        hasher.update(law.encode())
    return hasher.hexdigest()


def kinds_of(traced: TracedGraph) -> set[str]:
    """Return the kinds of nodes in a graph and in the graphs inside it."""
    inner = (kind for bodies in traced.bodies.values() for body in bodies for kind in kinds_of(body))
    return {*(n.kind for n in traced.nodes), *inner}


def _inner_lemmas(step: Step) -> list[str]:
    return [text for part in step.inside for s in part.steps for text in (s.lemma, *_inner_lemmas(s))]


def _add_constants(hasher: Any, traced: TracedGraph) -> None:
    """Add the constants of a graph and of the graphs inside it to a digest."""
    for node, value in sorted(traced.constants.items()):
        dtype, shape, contents = bytes_of(value)
        hasher.update(f"{node} {dtype} {shape}".encode())
        hasher.update(contents)
    for bodies in traced.bodies.values():
        for body in bodies:
            _add_constants(hasher, body)
