"""How tracing, certifying and one reverse sweep grow with the number of nodes, and GPT-2 beside JAX's own tracing.

Chains (`tanh`, then a product, in turn) and fan-outs (one value read by every second node), each size in a process of
its own: processor seconds and resident memory of each part, and of `jax.make_jaxpr` on the same function, which tracing
calls. The sweep runs node by node, without compiling. The last line of each gives the exponent p of time ~ nodesᵖ from
4,000 nodes on: 1 is linear growth. Memory is what the process has beyond `import jax` at its most.

Then GPT-2 with 12 layers at its own sizes: seconds to certify it, its lemmas known and not, beside those of
`jax.make_jaxpr`. Seconds are processor time, which other work on the machine does not change much, and the least of
several rounds, but for the largest graphs.

Run from anywhere: `python benchmarks/graph_scaling.py [--sizes 1000 4000 16000] [--rounds 3]`
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import jax
import jax.numpy as jnp
import numpy as np

from certgrad.accel._sweep import Sweep
from certgrad.graph import trace
from certgrad.graph._certify import certification
from certgrad.graph._numbers import Numbers
from examples.models.transformers import gpt2_in_full

SIZES = (1_000, 4_000, 16_000, 64_000, 128_000)
LINEAR_FROM = 4_000
ONE_ROUND_FROM = 64_000
PARTS = ("make_jaxpr", "trace", "certify", "sweep")


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


GRAPHS = {"chain": chain, "fan_out": fan_out}


def megabytes() -> float:
    """The most memory that this process has held (Linux)."""
    return megabytes_in(Path("/proc/self/status").read_text())


def megabytes_in(status: str) -> float:
    return int(re.search(r"VmHWM:\s*(\d+) kB", status)[1]) * 1024 / 1e6


def after_jax() -> float:
    """The memory of a process that imports JAX."""
    code = "import jax.numpy; print(open('/proc/self/status').read())"
    return megabytes_in(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    """Processor time, and what the run returned."""
    gc.collect()
    start = time.process_time()
    found = run()
    return time.process_time() - start, found


def measured(name: str, nodes: int, rounds: int) -> dict[str, float]:
    """Seconds of each part, and megabytes after certifying and after the sweep."""
    make = GRAPHS[name]
    certification(trace(make(10), "4"))  # the lemmas
    best = dict.fromkeys(PARTS, float("inf"))
    for k in range(rounds):
        built, traced = seconds(lambda: trace(make(nodes), "4"))
        certified, done = seconds(lambda t=traced: certification(t))
        assert done.certificate.verdict == "proved"
        if k == 0:
            most = megabytes()
        sweep = Sweep(done.induction, {}, Numbers(np.float32, np.int32))
        swept, _ = seconds(lambda s=sweep: s.backward(s.forward([jnp.ones(4)]), [jnp.ones(())]))
        del traced, done, sweep
        alone, _ = seconds(lambda: jax.make_jaxpr(make(nodes))(jnp.ones(4)))
        best = {part: min(best[part], t) for part, t in zip(PARTS, (alone, built, certified, swept), strict=True)}
    return {**best, "memory": most, "with sweep": megabytes()}


def in_a_process(name: str, nodes: int, rounds: int) -> dict[str, float]:
    """The same, in a process of its own."""
    command = [sys.executable, __file__, "--one", name, str(nodes), "--rounds", str(rounds)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def exponent(nodes: Sequence[int], values: Sequence[float]) -> float:
    """The slope of the values over the nodes, both as logarithms."""
    return float(np.polyfit(np.log(nodes), np.log(values), 1)[0])


def scaling(sizes: Sequence[int], rounds: int) -> None:
    head = "  ".join(f"{f'{part} s':>12} {'µs/node':>8}" for part in PARTS)
    jax_alone = after_jax()
    print(f"{'graph':8} {'nodes':>7}  {head}  {'MB':>6} {'KB/node':>8}  {'MB, swept':>10}")
    for name in GRAPHS:
        rows: dict[int, dict[str, float]] = {}
        for n in sorted(sizes):
            row = rows[n] = in_a_process(name, n, rounds if n < ONE_ROUND_FROM else 1)
            parts = "  ".join(f"{row[p]:12.3f} {row[p] / n * 1e6:8.1f}" for p in PARTS)
            held, swept = row["memory"] - jax_alone, row["with sweep"] - jax_alone
            smallest = min(rows)
            more = row["memory"] - rows[smallest]["memory"]
            each = f"{more / (n - smallest) * 1e3:8.1f}" if n > smallest else f"{'':8}"
            print(f"{name:8} {n:7}  {parts}  {held:6.0f} {each}  {swept:10.0f}", flush=True)
        large = [n for n in rows if n >= LINEAR_FROM]
        if len(large) > 1:
            slopes = {p: exponent(large, [rows[n][p] for n in large]) for p in PARTS}
            print(f"{name:8} exponents: {', '.join(f'{p} {slope:.2f}' for p, slope in slopes.items())}\n", flush=True)


def gpt2(rounds: int) -> None:
    fn, args = gpt2_in_full()
    cold, _ = seconds(lambda: certification(trace(fn, *args)))
    best = [float("inf")] * 3
    for _ in range(rounds):
        jax.clear_caches()
        alone, _ = seconds(lambda: jax.make_jaxpr(fn)(*args))
        jax.clear_caches()
        built, traced = seconds(lambda: trace(fn, *args))
        certified, done = seconds(lambda t=traced: certification(t))
        best = [min(a, b) for a, b in zip(best, (alone, built, certified), strict=True)]
    alone, built, certified = best
    nodes = len(done.certificate.graph.nodes)
    print(f"GPT-2, 12 layers, {nodes} nodes, {len(done.certificate.lemmas)} lemmas: {done.certificate.verdict}")
    print(
        f"jax.make_jaxpr {alone:.3f} s, certgrad.trace {built:.3f} s (JAX's part included), certify {certified:.3f} s"
    )
    print(f"certify / make_jaxpr = {certified / alone:.2f}; traced and certified, no lemma known: {cold:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(options.one[0], int(options.one[1]), options.rounds)))
        return
    scaling(options.sizes, options.rounds)
    gpt2(options.rounds)


if __name__ == "__main__":
    main()
