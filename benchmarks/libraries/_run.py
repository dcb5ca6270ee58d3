"""All parts of a library, in a process of their own; where a part ends it, or hangs, another one goes on after it."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.libraries._certify import certified

LIBRARIES = {
    "flax.linen": ("flax_linen", "flax"),
    "flax.nnx": ("flax_nnx", "flax"),
    "equinox.nn": ("equinox_nn", "equinox"),
    "haiku": ("haiku_modules", "dm-haiku"),
    "optax losses": ("optax_losses", "optax"),
    "optax optimisers": ("optax_optimisers", "optax"),
    "jax.scipy.stats": ("jax_stats", "jax"),
    "distrax": ("distrax_log_probs", "distrax"),
    "numpyro": ("numpyro_log_probs", "numpyro"),
}
"""The module of each, and the distribution that it comes from."""
SECONDS = 60
"""Of processor time, for one attempt at a part: what else the machine does decides nothing."""
_HANGS = 10
"""How many times its limit a part may take by the clock. Where compiled code does not return, no signal is heard."""


def library(name: str) -> Any:
    """The module of a library: `public()` and `PARTS`."""
    return importlib.import_module(f"benchmarks.libraries.{LIBRARIES[name][0]}")


def surveyed(name: str, names: Sequence[str], seconds: int = SECONDS) -> dict[str, Any]:
    """What came of the parts of a library whose names contain one of `names`; of all of them where there is none."""
    rows: dict[str, Any] = {}
    problem = ""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "rows"
        out.touch()
        while True:
            command = [sys.executable, "-m", "benchmarks.libraries", "--only", name, "--worker", str(out)]
            done = subprocess.Popen([*command, "--seconds", str(seconds), *names], stderr=subprocess.PIPE, text=True)
            problem = _watched(done, out, seconds)
            lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
            rows = {line["part"]: line for line in lines}
            broken = lines[-1] if lines and "verdict" not in lines[-1] else None
            if broken is None:
                break
            with out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(broken | {"verdict": "failed", "why": problem, "seconds": 0.0}) + "\n")
    assert rows or not problem, problem
    return {"version": metadata.version(LIBRARIES[name][1]), "parts": list(rows.values())}


def _watched(process: subprocess.Popen[str], out: Path, seconds: int) -> str:
    """How the process ended."""
    while process.poll() is None:
        time.sleep(0.5)
        if time.time() - out.stat().st_mtime > _HANGS * seconds:
            process.kill()
            process.wait()
            return f"it did not end within {_HANGS * seconds} s, nor hear that its time was over"
    assert process.stderr is not None
    said = process.stderr.read().strip().splitlines()
    return f"it ended the process: {said[-1] if said else f'exit code {process.returncode}'}"


def work(name: str, out: Path, seconds: int, names: Sequence[str]) -> None:
    """Certify a library's parts, a line when each begins and one when it ends."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    warnings.simplefilter("ignore")
    seen = {json.loads(line)["part"] for line in out.read_text("utf-8").splitlines()}
    module = library(name)
    with out.open("a", encoding="utf-8") as file:
        for part in module.public():
            if part in seen or (names and not any(text in part for text in names)):
                continue
            file.write(json.dumps({"part": part}) + "\n")
            file.flush()
            row = {"part": part} | certified(module.PARTS.get(part), seconds)
            print(f"{name}  {part}  {row['verdict']}  {row['seconds']:.1f} s  {row['why'][:200]}", flush=True)
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            file.flush()
