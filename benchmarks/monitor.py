"""What a monitor costs: steps of a transformer with `monitor=True` against the same steps without, in turn, in one run.

The transformer is a block of GPT-2 with its loss over a batch, and in it what users write that asks for something: the
log of an array, a root, a division, a relu, a look-up of labels. Each hypothesis of its certificate is counted.

The ratio is the median of the rounds, with their quartiles, and that of the processor's time, which other work on the
machine disturbs less; operations and bytes accessed are those of the compiled programs, as XLA counts them.

Run from anywhere: `python benchmarks/monitor.py [--rounds 30]`
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import jax
import jax.numpy as jnp

import certgrad
from benchmarks.counted import counted
from benchmarks.train_vs_jax import MODELS, _Draw, _quartiles, _steps, device_text
from certgrad.graph.certifying.certify import certification
from certgrad.training import ADAM, training_step
from examples.models.transformers import block, gpt_parameters

LIMIT = 1.05


def task(s: dict[str, int]) -> tuple[Any, Any, Any]:
    """The loss, its parameters and its data."""
    draw = _Draw()
    params = gpt_parameters(draw, s["vocabulary"], s["length"], s["width"], 1)
    own = {name: jnp.ones(s["width"]) for name in ("gate", "rates", "scale", "spread")}

    def row(p: Any, w: Any, tokens: Any) -> Any:
        x = block(p["layers"][0], p["tokens"][tokens[:-1]] + p["positions"], s["heads"])
        x = x + jax.nn.relu(w["gate"]) + jnp.log(w["rates"]) / w["scale"] + jnp.sqrt(w["spread"])
        log_probabilities = jax.nn.log_softmax(x @ p["tokens"].T)
        return -jnp.mean(jnp.take_along_axis(log_probabilities, tokens[1:, None], axis=-1))

    def loss(params: Any, tokens: Any) -> Any:
        return jnp.mean(jax.vmap(lambda tokens: row(params["model"], params["own"], tokens))(tokens))

    return loss, {"model": params, "own": own}, draw.integers(s["vocabulary"], s["n"], s["length"] + 1)


def measured(sizes: dict[str, int], rounds: int) -> tuple[str, float]:
    """A line, with seconds a step with and without the monitor, what it costs, and how much is counted; the ratio."""
    loss, params, tokens = task(sizes)
    graph = certification(certgrad.trace(loss, params, tokens))
    sides = []
    for monitor in (True, False):
        step = training_step(graph, ADAM, ["params"], keep_gradients=False, monitor=monitor)
        sides.append(_Side(step, step.start({"params": params}), tokens))
    found = counted(*(side.step.program(side.context, tokens=tokens).compile() for side in sides)).ratios
    times, ratios, processor = _steps(sides[0].take, sides[1].take, rounds)
    assert sides[0].step.monitor is not None
    assert len(sides[0].step.monitor.rows) >= rounds
    low, high = _quartiles(ratios)
    line = (
        f"{times[0] * 1e6:8.0f} µs with a monitor of {len(sides[0].step.monitor.columns)}, {times[1] * 1e6:8.0f} µs "
        f"without: {median(ratios):.3f} ({low:.3f} to {high:.3f}), {median(processor):.3f} of the processor's time; "
        f"operations {found['operations']:.4f}, bytes accessed {found['accessed']:.4f}"
    )
    return line, median(ratios)


class _Side:
    def __init__(self, step: Any, context: Any, tokens: Any) -> None:
        self.step, self.context, self.tokens = step, context, tokens

    def take(self) -> None:
        self.context, _ = self.step(self.context, tokens=self.tokens)
        jax.block_until_ready(self.context.parameters)


def main() -> None:
    """Measure and print. Exit code 1 above the limit at the large size."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    print(device_text())
    for name, sizes in MODELS["gpt2 block"][1].items():
        line, ratio = measured(sizes, options.rounds)
        print(f"{name:6} {line}", flush=True)
    sys.exit(ratio > LIMIT)


if __name__ == "__main__":
    main()
