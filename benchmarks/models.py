"""Certifies every model of `examples/models`, compares its reverse sweep with `jax.grad`, and writes the table.

For each: nodes (those inside loops counted once), distinct lemmas, hypotheses discharged and left, and how far the
executed sweep, compiled from the programs of the lemmas, is from `jax.grad` in float64: the largest difference of an
entry, relative to the largest entry of the gradient. What certifying costs is measured by `make bench`.

Run from anywhere: `python benchmarks/models.py [--output reports/models.md] [NAME ...]`
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import equinox as eqx
import jax
import jax.numpy as jnp

from certgrad.accel import compile_graph
from certgrad.graph import GraphCertificate, trace
from certgrad.graph._certify import certification
from certgrad.graph.ir import Graph

MODELS = {
    "perceptrons": ("mlp",),
    "convolutions": ("cnn", "resnet_block", "unet_block"),
    "transformers": ("attention_block", "gpt2", "gpt2_in_full", "llama_block"),
    "recurrent": ("lstm",),
    "generative": ("vae", "flow"),
    "scientific": ("neural_ode", "pinn", "gcn"),
    "contrastive": ("simclr",),
    "libraries": ("classifier", "gru", "vit", "adam_step"),
}
ROUNDING = 1e-12
"""What the order of sums may change in float64; a wrong rule changes far more."""


def count(graph: Graph) -> int:
    """Nodes, those of graphs inside nodes counted once."""
    return sum(1 + sum(count(body) for body in node.bodies) for node in graph.nodes)


def discharged(certificate: GraphCertificate) -> int:
    def of(steps: Any) -> int:
        return sum(len(s.discharged) + sum(of(part.steps) for part in s.inside) for s in steps)

    return of(certificate.steps)


def difference(found: tuple[Any, Any], fn: Callable[..., Any], args: tuple[Any, ...]) -> float:
    """Of the executed sweep, what `value_and_grad` of the compiled graph returned, from `jax.grad`."""
    value, gradients = found
    moving, held = eqx.partition(args, eqx.is_inexact_array)
    expected, wanted = jax.value_and_grad(lambda part: fn(*eqx.combine(part, held)))(moving)
    ours, theirs = (
        [x for x in jax.tree.leaves(g) if eqx.is_array(x)] for g in (eqx.filter(gradients, eqx.is_array), wanted)
    )
    assert len(ours) == len(theirs), "a gradient is missing"
    largest = max(float(jnp.max(jnp.abs(x))) for x in theirs)
    apart = max(float(jnp.max(jnp.abs(a - b))) for a, b in zip(ours, theirs, strict=True))
    return max(apart / largest, abs(float(value - expected)) / max(1.0, abs(float(expected))))


def row(name: str, make: Callable[[], Any]) -> tuple[list[str], GraphCertificate]:
    fn, args = make()
    shapes_only = any(isinstance(x, jax.ShapeDtypeStruct) for x in jax.tree.leaves(args))
    if not shapes_only:
        args = jax.tree.map(lambda x: x.astype(jnp.float64) if eqx.is_inexact_array(x) else x, args)
    traced = trace(fn, *args)
    done = certification(traced)
    found = done.certificate
    apart = "shapes alone"
    if not found.verdict.startswith("proved"):
        apart = "not run"
    elif not shapes_only:
        far = difference(compile_graph(done).value_and_grad(*args), fn, args)
        assert far < ROUNDING, f"{name}: the executed sweep is {far} from jax.grad"
        apart = f"{far:.0e}" if far else "0"
    cells = [
        f"`{name}`",
        found.verdict,
        str(count(traced.ir)),
        str(len(found.lemmas)),
        str(discharged(found)),
        str(len(found.hypotheses)),
        apart,
    ]
    return cells, found


HEADER = ["model", "verdict", "nodes", "lemmas", "discharged", "left", "from jax.grad"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="models; all without")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    lines = ["# Models", "", __doc__.split("\n\n")[1].replace("\n", " "), ""]
    lines += [f"| {' | '.join(HEADER)} |", "|---|---|" + "---:|" * (len(HEADER) - 2)]
    details = ["", "## What is left to ask"]
    with jax.enable_x64(True):
        for module, names in MODELS.items():
            functions = importlib.import_module(f"examples.models.{module}")
            for name in names:
                if options.names and name not in options.names:
                    continue
                make = getattr(functions, name)
                cells, found = row(name, make)
                print("  ".join(cells), flush=True)
                lines.append(f"| {' | '.join(cells)} |")
                asked: dict[str, int] = {}
                for text in [*(h.text for h in found.hypotheses), *found.dimensions, *found.findings]:
                    asked[text] = asked.get(text, 0) + 1
                if asked:
                    summary = make.__doc__.splitlines()[0] if make.__doc__ else ""
                    details += ["", f"### `{name}`", "", *([summary, ""] if summary else [])]
                    details += [f"- {text}" + (f" ({n} times)" if n > 1 else "") for text, n in asked.items()]
    if options.output:
        options.output.write_text("\n".join([*lines, *details]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
