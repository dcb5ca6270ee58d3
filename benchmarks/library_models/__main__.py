"""Certifies the models, compares the executed sweep with `jax.grad` in the model's own dtypes, and writes the page."""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

import benchmarks.library_models.flax_models
import benchmarks.library_models.other_models  # noqa: F401
from benchmarks.libraries._certify import OutOfTime, limit
from benchmarks.library_models._model import MODELS, Model
from benchmarks.statements import digests
from certgrad import trace
from certgrad.accel import compile_graph
from certgrad.graph._certify import Certification, certification

REPORTS = Path(__file__).resolve().parents[2] / "reports"
RESULTS, PAGE = REPORTS / "library_models.json", REPORTS / "library_models.md"
SECONDS = 120
"""Of processor time, for one model."""
INTRODUCTION = """# Models of libraries

Made by `python -m benchmarks.library_models`, which says what each is. Libraries are as installed, models as they are
written, in training mode and in their own dtypes; parameters, state, keys and inputs are arguments, at numbers. Seconds
are those of tracing and certifying, in a process that keeps its lemmas from model to model. The last column is how far
the executed sweep is from `jax.grad` of the same function: the largest difference of an entry, relative to the largest
entry of the gradient, both computed in the model's dtypes."""
HEADER = ("model", "library", "dtypes", "what is special", "verdict", "hypotheses", "nodes", "seconds", "from jax.grad")
UNITS = 64
"""How many units in the last place of the coarsest dtype two orders of the same sums may be apart."""


def difference(done: Certification, fn: Any, args: tuple[Any, ...]) -> float:
    """Of the executed sweep from `jax.grad`."""
    value, gradients = compile_graph(done).value_and_grad(*args)
    moving, held = eqx.partition(args, eqx.is_inexact_array)
    expected, wanted = jax.jit(jax.value_and_grad(lambda part: fn(*eqx.combine(part, held))))(moving)
    ours, theirs = (
        [x.astype(jnp.float32) for x in jax.tree.leaves(g) if eqx.is_inexact_array(x)] for g in (gradients, wanted)
    )
    assert len(ours) == len(theirs), "a gradient is missing"
    largest = max(float(jnp.max(jnp.abs(x))) for x in theirs)
    apart = max(float(jnp.max(jnp.abs(a - b))) for a, b in zip(ours, theirs, strict=True))
    return max(apart / largest, abs(float(value - expected)) / max(1.0, abs(float(expected))))


def rounding(done: Certification) -> float:
    """What rounding may change in the coarsest dtype of the program."""
    words = done.certificate.traced_in.split(",")[0].replace(" and ", " ").split()
    return UNITS * max(float(jnp.finfo(word).eps) for word in words if word.startswith(("float", "bfloat")))


def row(one: Model) -> dict[str, Any]:
    """The cells of a model's line, and what its certificate asks or finds."""
    fn, args = one.make()
    start = time.perf_counter()
    done = certification(trace(fn, *args, name=one.name))
    seconds = time.perf_counter() - start
    found = done.certificate
    apart = "not run"
    if found.verdict.startswith("proved"):
        far = difference(done, fn, args)
        assert far < rounding(done), f"{one.name}: the executed sweep is {far} from jax.grad"
        apart = f"{far:.0e}" if far else "0"
    floats = found.traced_in.split(", with")[0]
    hypotheses = len(found.hypotheses) + len(found.dimensions)
    shown = (f"`{one.name}`", one.library, floats, one.special, found.verdict, hypotheses, len(found.graph.nodes))
    asked = [h.text for h in found.hypotheses] + found.dimensions + found.findings
    return {
        "cells": [*map(str, shown), f"{seconds:.1f}", apart],
        "asks": list(dict.fromkeys(asked)),
        "statements": digests((h.formula, h.tree) for h in found.hypotheses),
    }


def attempted(one: Model) -> dict[str, Any]:
    """The same, also where it fails."""
    try:
        with limit(SECONDS):
            return row(one)
    except OutOfTime:
        why = f"out of time after {SECONDS} s of processor time"
    except Exception as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"
    return {"cells": [f"`{one.name}`", one.library, "", one.special, "failed", "", "", "", ""], "asks": [why]}


def rendered(found: Mapping[str, Any]) -> str:
    """The page, of what was found of each model."""
    libraries = ("jax", "flax", "equinox", "dm-haiku", "optax", "distrax", "numpyro")
    versions = "Versions: " + ", ".join(f"{name} {metadata.version(name)}" for name in libraries) + "."
    proved = sum(one["cells"][HEADER.index("verdict")].startswith("proved") for one in found.values())
    counted = (
        f"{proved} of {len(found)} models, of {len({m['cells'][1] for m in found.values()})} libraries, are proved."
    )
    lines = ["| " + " | ".join(one["cells"]) + " |" for one in found.values()]
    table = "\n".join([f"| {' | '.join(HEADER)} |", "|---|---|---|---|---|---:|---:|---:|---:|", *lines])
    details = [
        "\n".join([f"### `{name}`", "", *(f"- {text}" for text in one["asks"])])
        for name, one in found.items()
        if one["asks"]
    ]
    return "\n\n".join([INTRODUCTION, versions, counted, table, "## What is left to ask", *details]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.library_models", description=__doc__)
    parser.add_argument("names", nargs="*", help="models; all without, and what is not named stays as it was found")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    known = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    for name, one in MODELS.items():
        if not options.names or name in options.names:
            known[name] = attempted(one)
            print("  ".join(known[name]["cells"]), *known[name]["asks"][:3], sep="\n    ", flush=True)
    found = {name: known[name] for name in MODELS if name in known}
    RESULTS.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    PAGE.write_text(rendered(found), "utf-8")


if __name__ == "__main__":
    main()
