"""How tracing, certifying and one reverse sweep grow with the number of nodes, and GPT-2 beside JAX's own tracing.

Chains (`tanh`, then a product, in turn) and fan-outs (one value read by every second node) of the sizes given: seconds
and resident memory for each part, and per node. The sweep runs node by node, without compiling. Then GPT-2 with 12
layers at its own sizes: seconds to certify it, its lemmas known, beside those that `jax.make_jaxpr` takes. Seconds are
the least of several rounds.

Run from anywhere: `python benchmarks/graph_scaling.py [--sizes 1000 4000 16000] [--rounds 3]`
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import jax
import jax.numpy as jnp
import numpy as np

from certgrad.accel._sweep import Sweep
from certgrad.graph import trace
from certgrad.graph._certify import certification
from certgrad.graph._jaxpr import Numbers
from examples.models.transformers import gpt2_in_full

SIZES = (1_000, 4_000, 16_000)


def chain(nodes: int) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        for _ in range(nodes // 2):
            x = jnp.tanh(x) * 0.5
        return jnp.sum(x)

    return f


def fan_out(nodes: int) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        total = x
        for _ in range(nodes // 2):
            total = total + jnp.sin(x)
        return jnp.sum(total)

    return f


def resident() -> float:
    """Megabytes of memory in use (Linux)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = run()
    return time.perf_counter() - start, found


def measured(make: Callable[[int], Callable], nodes: int, rounds: int) -> None:
    best = [float("inf")] * 3
    memory = 0.0
    for _ in range(rounds):
        gc.collect()
        before = resident()
        built, traced = seconds(lambda: trace(make(nodes), "4"))
        certified, done = seconds(lambda t=traced: certification(t))
        memory = max(memory, resident() - before)
        assert done.certificate.verdict == "proved"
        sweep = Sweep(done.induction, {}, Numbers(np.float32, np.int32))
        swept, _ = seconds(lambda s=sweep: s.backward(s.forward([jnp.ones(4)]), [jnp.ones(())]))
        best = [min(a, b) for a, b in zip(best, (built, certified, swept), strict=True)]
        del traced, done, sweep
    per_node = "  ".join(f"{t:8.3f} s {t / nodes * 1e6:7.1f} µs" for t in best)
    print(f"{make.__name__:8}  {nodes:7}  {per_node}  {memory:7.0f} MB", flush=True)


def gpt2(rounds: int) -> None:
    fn, args = gpt2_in_full()
    certification(trace(fn, *args))
    best = [float("inf")] * 3
    for _ in range(rounds):
        jax.clear_caches()
        alone, _ = seconds(lambda: jax.make_jaxpr(fn)(*args))
        jax.clear_caches()
        built, traced = seconds(lambda: trace(fn, *args))
        certified, done = seconds(lambda t=traced: certification(t))
        best = [min(a, b) for a, b in zip(best, (alone, built, certified), strict=True)]
    nodes = len(done.certificate.graph.nodes)
    print(f"\nGPT-2, 12 layers, {nodes} nodes, {len(done.certificate.lemmas)} lemmas: {done.certificate.verdict}")
    print(f"jax.make_jaxpr {best[0]:.3f} s, certgrad.trace {best[1]:.3f} s, certify {best[2]:.3f} s")
    print(f"certify / make_jaxpr = {best[2] / best[0]:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for make in (chain, fan_out):
        certification(trace(make(10), "4"))  # the lemmas
    print(f"{'graph':8}  {'nodes':>7}  {'trace':>20}  {'certify':>20}  {'sweep':>20}  {'memory':>10}")
    for make in (chain, fan_out):
        for nodes in options.sizes:
            measured(make, nodes, options.rounds)
    gpt2(options.rounds)


if __name__ == "__main__":
    main()
