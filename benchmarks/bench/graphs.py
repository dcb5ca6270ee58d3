"""Tracing and certifying a graph: how it grows with the number of nodes, and GPT-2 with 12 layers."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.bench._clock import ROUNDS, alternately, python, repeated, seconds
from benchmarks.bench._figure import Figure, ratio
from certgrad import certify, trace
from certgrad.graph import Graph
from examples.models.transformers import gpt2_in_full

LENGTHS = (1_000, 16_000, 128_000, 1_000_000)
SHORT_LENGTHS = (500, 4_000)
A_NODE, GIGABYTES = 0.06, 4.0
COLD, WITH_LEMMAS = 1.0, 1.0
LIMIT, SHORT_LIMIT = 600, 20
"""Seconds of processor time for a chain or a model."""


def figures(short: bool) -> Iterator[Figure]:
    """Each chain and GPT-2 in a process of its own, whose memory is its own too."""
    limit = SHORT_LIMIT if short else LIMIT
    for nodes in SHORT_LENGTHS if short else LENGTHS:
        names = {_name(nodes): "ms a node"} | ({_memory(nodes): "GB"} if nodes == LENGTHS[-1] else {})
        yield from _apart(str(nodes), names, limit)
    names = {GPT2_COLD: "s"} if short else {GPT2_COLD: "s", GPT2_WARM: "", GPT2_TRACE: "", GPT2_FROM_START: "s"}
    yield from _apart("gpt2", names, limit, short)


def _name(nodes: int) -> str:
    return f"trace and certify a chain of {nodes:,} nodes"


def _memory(nodes: int) -> str:
    return f"memory of a chain of {nodes:,} nodes"


GPT2_COLD = "certify GPT-2, 12 layers, cold"
GPT2_WARM = "certify GPT-2, 12 layers, lemmas known"
GPT2_TRACE = "trace GPT-2, 12 layers"
GPT2_FROM_START = "trace and certify GPT-2, 12 layers, cold"


def _apart(what: str, names: dict[str, str], limit: int, short: bool = False) -> Iterator[Figure]:
    """The figures of one graph; those that its process does not come to within the limit have no value."""
    done = python("-m", "benchmarks.bench.graphs", what, *(["short"] if short else []), limit=limit)
    measured = {one["name"]: Figure(**one) for one in map(json.loads, done.output.splitlines())}
    last = (done.errors.strip().splitlines() or ["no message"])[-1]
    note = f"not done in {limit} s" if done.out_of_time else f"it failed: {last}"
    for name, unit in names.items():
        yield measured.get(name, Figure(name, None, unit, note=note))


def chain(nodes: int) -> Callable[[Any], Any]:
    """`tanh`, then a product, in turn."""

    def f(x: Any) -> Any:
        for _ in range(nodes // 2):
            x = jnp.tanh(x) * 0.5
        return jnp.sum(x)

    return f


def _certified(fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    return _proved(trace(fn, *args))


def _proved(graph: Graph) -> Any:
    certificate = certify(graph)
    assert certificate.verdict.startswith("proved"), certificate.verdict
    return certificate


def _of_chain(nodes: int) -> Iterator[Figure]:
    _certified(chain(10), ("4",))  # the lemmas, and all that a first use loads
    x = jnp.ones(4)
    ours, peer = alternately(lambda: _certified(chain(nodes), ("4",)), lambda: jax.make_jaxpr(chain(nodes))(x))
    each = 1e3 / nodes
    yield Figure(_name(nodes), ours * each, "ms a node", peer * each, "jax.make_jaxpr", A_NODE, f"{ours:.2f} s")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    yield Figure(_memory(nodes), memory, "GB", at_most=GIGABYTES)


def _of_gpt2(short: bool) -> Iterator[Figure]:
    """Cold means the first graph of the process: no lemma is known, and the prover's modules are not loaded."""
    fn, args = gpt2_in_full()
    jax.make_jaxpr(fn)(*args)  # JAX's own start
    tracing, graph = seconds(lambda: trace(fn, *args))
    certifying, certificate = seconds(lambda: _proved(graph))

    def peer() -> float:
        return repeated(lambda: (jax.clear_caches(), jax.make_jaxpr(fn)(*args)))

    note = f"{len(certificate.graph.nodes)} nodes, {len(certificate.lemmas)} lemmas"
    yield Figure(GPT2_COLD, certifying, "s", peer(), "jax.make_jaxpr", COLD, note)
    if not short:
        graphs = [trace(fn, *args) for _ in range(ROUNDS)]
        known = min(seconds(lambda graph=graph: (jax.clear_caches(), _proved(graph)))[0] for graph in graphs)
        yield ratio(GPT2_WARM, known, peer(), "jax.make_jaxpr", WITH_LEMMAS)
        traced = repeated(lambda: (jax.clear_caches(), trace(fn, *args)))
        yield ratio(GPT2_TRACE, traced, peer(), "jax.make_jaxpr")
        yield Figure(GPT2_FROM_START, tracing + certifying, "s", peer(), "jax.make_jaxpr")


if __name__ == "__main__":
    for figure in _of_gpt2("short" in sys.argv) if sys.argv[1] == "gpt2" else _of_chain(int(sys.argv[1])):
        print(json.dumps(asdict(figure)), flush=True)
