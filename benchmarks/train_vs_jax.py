"""A certified training step against `jax.jit` of `jax.value_and_grad` with the same update, in one run.

Certified for batches of any size. An MLP, a CNN, a block of GPT-2 with its loss, and an LSTM, each at small and at
large sizes, take steps of Adam whose hyperparameters are arguments, as for a schedule; neither side returns the
gradients. The two sides run in turn, who goes first alternating; the ratio of steps is the median of the ratios of
the rounds, with their quartiles; beside it that of the processor's time, which other work on the machine disturbs
less. Compiling is timed as tracing, lowering and XLA's compilation of the step, the fastest of fresh ones in turn;
the first step is what a user waits for: tracing, compiling and one step, with the certificate at hand. Peak memory is
what XLA plans for the step, arguments and results among it; on a GPU each side also runs in a process of its own, and
the peak of the device is compared. The operations of both compiled programs, and the bytes that they access, are as
XLA counts them: nothing disturbs that.

Run from anywhere: `python benchmarks/train_vs_jax.py [--rounds 20] [--models mlp,lstm] [--output PATH]`

With `--output PATH` it writes PATH.json and PATH.md; with `--count` it counts alone, and takes no time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # several processes share a device

import jax
import jax.numpy as jnp
import numpy as np

import certgrad
from benchmarks.counted import Counted, counted
from certgrad.training import ADAM, training_step
from examples.mlp import loss as perceptron
from examples.models.convolutions import batch_norm, conv
from examples.models.transformers import gpt, gpt_parameters

LIMITS = {"step": 1.02, "compile": 1.2, "memory": 1.05, "operations": 1.01, "accessed": 1.01}
SECONDS = 0.05
"""That one timed stretch of steps takes, about."""

Sizes = dict[str, int]
Task = tuple[Callable[..., Any], dict[str, Any], dict[str, Any]]
"""A loss, its parameters (one argument, `params`) and its data by name."""


def mlp(s: Sizes) -> Task:
    """Two layers with relu, mean squared error."""
    draw = _Draw()
    params = {"W1": draw(s["d"], s["h"]), "b1": draw(s["h"]), "W2": draw(s["h"], s["c"]), "b2": draw(s["c"])}

    def loss(params, x, target):
        return perceptron(x, params["W1"], params["b1"], params["W2"], params["b2"], target)

    return loss, params, {"x": draw(s["n"], s["d"], scale=1), "target": draw(s["n"], s["c"], scale=1)}


def cnn(s: Sizes) -> Task:
    """Two convolutions with batch norm and relu, max pooling between, a linear layer, cross-entropy."""
    draw, c, side = _Draw(), s["channels"], s["side"]

    def norm(channels):
        return {"g": 1 + draw(channels), "b": draw(channels)}

    params = {
        "conv1": draw(c, 3, 3, 3),
        "norm1": norm(c),
        "conv2": draw(2 * c, c, 3, 3),
        "norm2": norm(2 * c),
        "head": draw(2 * c, 10),
    }

    def loss(params, images, labels):
        h = jax.nn.relu(batch_norm(params["norm1"], conv(params["conv1"], images)))
        h = jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        h = jax.nn.relu(batch_norm(params["norm2"], conv(params["conv2"], h)))
        log_probabilities = jax.nn.log_softmax(h.mean(axis=(2, 3)) @ params["head"])
        return -jnp.mean(jnp.take_along_axis(log_probabilities, labels[:, None], axis=1))

    return loss, params, {"images": draw(s["n"], 3, side, side, scale=1), "labels": draw.integers(10, s["n"])}


def gpt2(s: Sizes) -> Task:
    """Embeddings, one block of GPT-2, the loss of predicting each next token, over a batch."""
    draw = _Draw()
    params = gpt_parameters(draw, s["vocabulary"], s["length"], s["width"], 1)

    def loss(params, tokens):
        return jnp.mean(jax.vmap(lambda row: gpt(params, row, s["heads"]))(tokens))

    return loss, params, {"tokens": draw.integers(s["vocabulary"], s["n"], s["length"] + 1)}


def lstm(s: Sizes) -> Task:
    """An LSTM over `jax.lax.scan`, over a batch."""
    draw, h = _Draw(), s["h"]
    params = {"W": draw(s["d"], 4 * h), "U": draw(h, 4 * h), "b": draw(4 * h), "out": draw(h, 2)}

    def loss(params, xs, target):
        def cell(state, x):
            hidden, c = state
            i, f, g, o = jnp.split(x @ params["W"] + hidden @ params["U"] + params["b"], 4, axis=-1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            hidden = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (hidden, c), hidden

        start = jnp.zeros((xs.shape[1], h), xs.dtype)
        _, hs = jax.lax.scan(cell, (start, start), xs)
        return jnp.mean((hs @ params["out"] - target) ** 2)

    return loss, params, {"xs": draw(s["t"], s["n"], s["d"], scale=1), "target": draw(s["t"], s["n"], 2, scale=1)}


MODELS: dict[str, tuple[Callable[[Sizes], Task], dict[str, Sizes]]] = {
    "mlp": (mlp, {"small": {"n": 32, "d": 8, "h": 16, "c": 2}, "large": {"n": 512, "d": 256, "h": 512, "c": 64}}),
    "cnn": (cnn, {"small": {"n": 8, "channels": 4, "side": 8}, "large": {"n": 16, "channels": 16, "side": 16}}),
    "gpt2 block": (
        gpt2,
        {
            "small": {"n": 2, "vocabulary": 64, "length": 16, "width": 32, "heads": 2},
            "large": {"n": 4, "vocabulary": 512, "length": 64, "width": 128, "heads": 4},
        },
    ),
    "lstm": (lstm, {"small": {"t": 8, "n": 4, "d": 8, "h": 16}, "large": {"t": 32, "n": 32, "d": 64, "h": 128}}),
}
LARGER: dict[str, Sizes] = {
    "mlp": {"n": 8192, "d": 1024, "h": 4096, "c": 256},
    "cnn": {"n": 256, "channels": 64, "side": 64},
    "gpt2 block": {"n": 8, "vocabulary": 50257, "length": 512, "width": 768, "heads": 12},
    "lstm": {"t": 128, "n": 512, "d": 256, "h": 1024},
}
"""The large sizes on a GPU."""


@dataclass
class Row:
    """One model at one size. Times in seconds, memory in bytes; ratios are of certgrad to JAX."""

    model: str
    size: str
    sizes: Sizes
    certified: float
    certificate: str
    step: tuple[float, float]
    step_ratio: float
    quartiles: tuple[float, float]
    """Of the ratios of the rounds."""
    processor: float
    """The median ratio of the processor's time."""
    compile: tuple[float, float]
    compile_ratio: float
    first: tuple[float, float]
    counted: Counted
    apart: float
    """Of the parameters after one step, relative to the largest change."""
    peak: tuple[int, int] | None = None

    @property
    def memory_ratio(self) -> float:
        return max(self.counted.ratios["memory"], *([self.peak[0] / self.peak[1]] if self.peak else [0]))

    @property
    def beyond(self) -> list[str]:
        """What is above its limit."""
        found = self.counted.ratios | {
            "step": self.step_ratio,
            "compile": self.compile_ratio,
            "memory": self.memory_ratio,
        }
        return [f"{what} {ratio:.2f}" for what, ratio in found.items() if ratio > LIMITS[what]]


class _Draw:
    def __init__(self) -> None:
        self.random = np.random.default_rng(0)

    def __call__(self, *shape: int, scale: float = 0.1) -> Any:
        return jnp.asarray(self.random.normal(size=shape) * scale, jnp.float32)

    def integers(self, high: int, *shape: int) -> Any:
        return jnp.asarray(self.random.integers(0, high, size=shape), jnp.int32)


class Certified:
    """Our side."""

    def __init__(self, task: Task) -> None:
        loss, self.params, self.data = task
        begin = time.perf_counter()
        self.graph = certgrad.trace(loss, self.params, *map(_of_any_batch, self.data.values()))
        self.step = training_step(self.graph, ADAM, ["params"], keep_gradients=False)
        self.certified = time.perf_counter() - begin
        self.context = self.step.start({"params": self.params})

    def program(self) -> Any:
        """The step's program, lowered anew: nothing of an earlier trace is used."""
        return self.step.program(self.context, **self.data)

    def take(self) -> None:
        self.context, _ = self.step(self.context, **self.data)
        jax.block_until_ready(self.context.parameters)


def _of_any_batch(x: Any) -> str:
    """The spec of an array whose batch is left open: its first axis, or the second of a sequence's three."""
    axis = 1 if x.ndim == 3 else 0
    dims = ["n" if k == axis else str(size) for k, size in enumerate(x.shape)]
    return f"{' '.join(dims)}:{x.dtype}"


class Plain:
    """JAX's side: what one would write."""

    def __init__(self, task: Task, hyper: Any) -> None:
        self.loss, self.params, self.data = task
        self.hyper, self.state = hyper, ADAM.start(_flat(self.params))
        self.run = self.fresh()

    def fresh(self) -> Any:
        def step(params: Any, state: Any, hyper: Any, data: Any) -> Any:
            value, grads = jax.value_and_grad(lambda p: self.loss(p, **data))(params)
            flat, tree = jax.tree.flatten(params)
            named, state = ADAM.run(_flat(flat), _flat(jax.tree.leaves(grads)), state, hyper)
            return jax.tree.unflatten(tree, [named[str(k)] for k in range(len(flat))]), state, value

        return jax.jit(step)

    def program(self) -> Any:
        return self.fresh().lower(self.params, self.state, self.hyper, self.data)

    def take(self) -> None:
        self.params, self.state, _ = self.run(self.params, self.state, self.hyper, self.data)
        jax.block_until_ready(self.params)


def _flat(tree: Any) -> dict[str, Any]:
    return {str(k): x for k, x in enumerate(jax.tree.leaves(tree))}


def measured(model: str, size: str, sizes: Sizes, rounds: int, times: int = 5) -> Row:
    """All of one model at one size."""
    task = MODELS[model][0](sizes)
    ours = Certified(task)
    theirs = Plain(task, ours.context.hyperparameters)
    compiling, programs = _compiling(ours, theirs, times)
    first = _timed(ours.take), _timed(theirs.take)
    apart = _apart(task[1], ours.context.parameters.values(), theirs.params)
    step, ratios, processor = _steps(ours.take, theirs.take, rounds)
    return Row(
        model,
        size,
        sizes,
        ours.certified,
        ours.step.certificate.verdict,
        step,
        statistics.median(ratios),
        _quartiles(ratios),
        statistics.median(processor),
        compiling,
        compiling[0] / compiling[1],
        first,
        counted(*programs),
        apart,
    )


def _apart(before: Any, ours: Any, theirs: Any) -> float:
    """How far the parameters are after the first step, which both sides take from the same place."""
    found = list(zip(ours, jax.tree.leaves(theirs), jax.tree.leaves(before), strict=True))
    change = max(float(jnp.abs(t - b).max()) for _, t, b in found)
    return max(float(jnp.abs(a - t).max()) for a, t, _ in found) / change


def _compiling(ours: Certified, theirs: Plain, times: int) -> tuple[tuple[float, float], tuple[Any, Any]]:
    """The fastest of each side in seconds, and the compiled programs."""
    found: dict[Any, list[float]] = {ours: [], theirs: []}
    programs = {}
    for k in range(times):
        for side in (ours, theirs) if k % 2 else (theirs, ours):
            jax.clear_caches()
            begin = time.perf_counter()
            programs[side] = side.program().compile()
            found[side].append(time.perf_counter() - begin)
    jax.clear_caches()
    return (min(found[ours]), min(found[theirs])), (programs[ours], programs[theirs])


def _timed(run: Callable[[], None]) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def _steps(
    ours: Callable[[], None], theirs: Callable[[], None], rounds: int
) -> tuple[tuple[float, float], list[float], list[float]]:
    """Seconds a step on each side, and of each round the ratio, and that of the processor's time."""
    count = max(1, round(SECONDS / max(_mean(theirs, 3)[0], 1e-6)))
    times, processor = [], []
    for k in range(rounds):
        order = (ours, theirs) if k % 2 else (theirs, ours)
        found = {side: _mean(side, count) for side in order}
        times.append((found[ours][0], found[theirs][0]))
        processor.append(found[ours][1] / found[theirs][1])
    medians = [statistics.median(t) for t in zip(*times, strict=True)]
    return (medians[0], medians[1]), [a / b for a, b in times], processor


def _quartiles(ratios: list[float]) -> tuple[float, float]:
    cuts = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else [ratios[0]] * 3
    return cuts[0], cuts[2]


def _mean(side: Callable[[], None], count: int) -> tuple[float, float]:
    """Of so many steps: seconds by the clock, and by the processor."""
    begin = time.perf_counter(), time.process_time()
    for _ in range(count):
        side()
    return (time.perf_counter() - begin[0]) / count, (time.process_time() - begin[1]) / count


def peak(model: str, sizes: Sizes, side: str) -> int | None:
    """The device's peak in bytes after three steps of one side, in this process; None where a device does not say."""
    task = MODELS[model][0](sizes)
    ours = Certified(task)
    chosen = ours if side == "certgrad" else Plain(task, ours.context.hyperparameters)
    for _ in range(3):
        chosen.take()
    stats = jax.devices()[0].memory_stats()
    return int(stats["peak_bytes_in_use"]) if stats else None


def peaks(wanted: list[tuple[str, Sizes]], processes: int) -> list[tuple[int, int] | None]:
    """Both sides of each, each in a process of its own."""

    def one(what: tuple[str, Sizes, str]) -> int | None:
        model, sizes, side = what
        command = [sys.executable, __file__, "--peak", json.dumps([model, sizes, side])]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
        last = (done.stdout.strip().splitlines() or [""])[-1]
        if done.returncode or not last.isdigit():
            print(f"the peak of {model} on the side of {side} is not known: {done.stderr.strip()[-300:]}")
            return None
        return int(last)

    asked = [(model, sizes, side) for model, sizes in wanted for side in ("certgrad", "jax")]
    with ThreadPoolExecutor(processes) as pool:
        found = list(pool.map(one, asked))
    pairs = zip(found[::2], found[1::2], strict=True)
    return [(a, b) if a is not None and b is not None else None for a, b in pairs]


def measure_all(
    names: list[str],
    rounds: int,
    times: int = 5,
    largest: str = "large",
    so_far: Callable[[list[Row]], None] = lambda rows: None,
) -> list[Row]:
    """Every model at its sizes, compiled so many times; on a GPU with the peaks of the device. `so_far` is called after
    each, with what is measured.
    """
    on_gpu = jax.default_backend() == "gpu"
    wanted = []
    for name in names:
        own = MODELS[name][1]
        wanted.append((name, "small", own["small"]))
        if largest == "large":
            wanted.append((name, "large", LARGER[name] if on_gpu else own["large"]))
    rows = []
    print(HEADER, flush=True)
    for name, size, sizes in wanted:
        rows.append(measured(name, size, sizes, rounds, times))
        print(line(rows[-1]), flush=True)
        so_far(rows)
        jax.clear_caches()
    if on_gpu:
        for row, found in zip(rows, peaks([(n, s) for n, _, s in wanted], processes=4), strict=True):
            row.peak = found
    return rows


HEADER = (
    f"{'model':12}{'size':7}{'step':>12}{'jax':>12}{'ratio':>7}{'quartiles':>12}{'cpu':>6}{'compile':>9}{'jax':>8}{'ratio':>7}"
    f"{'memory':>8}{'operations':>12}{'accessed':>10}"
)


def line(row: Row) -> str:
    step = f"{row.step[0] * 1e6:9.0f} µs{row.step[1] * 1e6:9.0f} µs{row.step_ratio:7.2f}"
    compiling = f"{row.compile[0]:7.2f} s{row.compile[1]:6.2f} s{row.compile_ratio:7.2f}"
    ratios = row.counted.ratios
    spread = f"{row.quartiles[0]:7.2f}-{row.quartiles[1]:.2f}{row.processor:6.2f}"
    return (
        f"{row.model:12}{row.size:7}{step}{spread}{compiling}{row.memory_ratio:8.2f}"
        f"{ratios['operations']:12.4f}{ratios['accessed']:10.4f}"
    )


def markdown(rows: list[Row]) -> list[str]:
    """The table, and what is above its limit."""
    titles = [
        "model",
        "size",
        "certified s",
        "step µs",
        "jax µs",
        "ratio",
        "quartiles",
        "cpu",
        "compile s",
        "jax s",
        "ratio",
    ]
    titles += ["first step s", "jax s", "planned MiB", "jax MiB", "device's peak MiB", "jax MiB", "memory"]
    titles += ["operations", "bytes accessed", "apart"]
    lines = [f"| {' | '.join(titles)} |", "|---|---|" + "---:|" * (len(titles) - 2)]
    for r in rows:
        peak = [f"{x / 2**20:.1f}" for x in r.peak] if r.peak else ["", ""]
        cells = [r.model, r.size, f"{r.certified:.2f}", *(f"{x * 1e6:.0f}" for x in r.step), f"{r.step_ratio:.3f}"]
        cells += [f"{r.quartiles[0]:.3f} to {r.quartiles[1]:.3f}", f"{r.processor:.3f}"]
        cells += [*(f"{x:.2f}" for x in r.compile), f"{r.compile_ratio:.2f}", *(f"{x:.2f}" for x in r.first)]
        cells += [*(f"{x / 2**20:.1f}" for x in r.counted.memory), *peak, f"{r.memory_ratio:.3f}"]
        cells += [*(f"{r.counted.ratios[what]:.4f}" for what in ("operations", "accessed")), f"{r.apart:.0e}"]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "Sizes: " + "; ".join(f"{r.model}, {r.size}: {_shown(r.sizes)}" for r in rows) + "."]
    beyond = [f"- {r.model}, {r.size}: {', '.join(r.beyond)}" for r in rows if r.beyond]
    limits = ", ".join(f"{what} {limit}" for what, limit in LIMITS.items())
    return [*lines, "", f"Above the limits ({limits}):" if beyond else f"None is above the limits ({limits}).", *beyond]


def _shown(sizes: Sizes) -> str:
    return ", ".join(f"{k} = {v}" for k, v in sizes.items())


def device_text() -> str:
    """The device's name, its platform, and JAX's version."""
    device = jax.devices()[0]
    return f"{device.device_kind} ({device.platform}), jax {jax.__version__}"


def programs(model: str, sizes: Sizes) -> tuple[Any, Any]:
    """Our compiled step and JAX's."""
    task = MODELS[model][0](sizes)
    ours = Certified(task)
    return ours.program().compile(), Plain(task, ours.context.hyperparameters).program().compile()


def _counts(model: str, size: str, sizes: Sizes) -> bool:
    """Print what is counted; whether anything is above its limit."""
    found = counted(*programs(model, sizes)).ratios
    print(f"{model:12}{size:7}{'  '.join(f'{what} {ratio:.4f}' for what, ratio in found.items())}", flush=True)
    return any(ratio > LIMITS[what] for what, ratio in found.items())


def main() -> None:
    """Measure, print, write. Exit code 1 if the two sides take different steps."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=20, help="rounds of timing for each size (default: 20)")
    parser.add_argument("--models", default="", help=f"separated by commas (default: {','.join(MODELS)})")
    parser.add_argument("--count", action="store_true", help="count operations and bytes alone")
    parser.add_argument("--output", type=Path, help="write PATH.json and PATH.md")
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        print(peak(*json.loads(options.peak)))
        return
    print(device_text())
    names = options.models.split(",") if options.models else list(MODELS)
    if unknown := [n for n in names if n not in MODELS]:
        parser.error(f"there is no model '{unknown[0]}'; there are {', '.join(MODELS)}")
    if options.count:
        beyond = [_counts(name, size, sizes) for name in names for size, sizes in MODELS[name][1].items()]
        sys.exit(any(beyond))
    rows = measure_all(names, options.rounds)
    print("\n".join(markdown(rows)))
    if options.output:
        written = {"device": device_text(), "limits": LIMITS, "rows": [asdict(r) for r in rows]}
        options.output.with_suffix(".json").write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
        text = "\n".join(["# Training steps against JAX", "", device_text(), "", *markdown(rows)])
        options.output.with_suffix(".md").write_text(text + "\n", encoding="utf-8")
    sys.exit(any(r.apart > 1e-2 for r in rows))


if __name__ == "__main__":
    main()
