"""Every check and benchmark of a GPU in one run of a few minutes, with the device's name.

Checks: each op's forward, JVP and VJP in float64, float32 and bfloat16 on the device, against the CPU in float64 at the
same arguments; the compiled sweep of each model of `examples/models` against `jax.grad` on the device, in float64, with
the sums that define backprop; a compiled graph in float32. Benchmarks: `train_vs_jax.py`. Where there is no GPU all of
it runs on the CPU, and says so.

Run from anywhere: `python benchmarks/gpu.py [--output PATH] [--ops relu,softmax] [--skip ops,sweeps,train]`

With `--output PATH` it writes PATH.json and PATH.md, after each part what is there so far.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import os
import sys
import time
import zlib
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the processes of train_vs_jax.py share the device

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks import train_vs_jax
from benchmarks.models import MODELS, difference
from certgrad.accel import check_sweep, compile_graph
from certgrad.graph import trace
from certgrad.graph.certifying.certify import certification
from certgrad.ops import registry
from tests.ops.sampling import draw

DTYPES = {"float64": jnp.float64, "float32": jnp.float32, "bfloat16": jnp.bfloat16}
FAR = {"float64": 64.0, "float32": 64.0, "bfloat16": 16.0}
"""How many times further than the CPU is in the same dtype, in units of rounding relative to the largest entry, a
result may be. What cancels (1 − tanh² far out) is as far off on the CPU; a wrong kernel is not. In float64, which the
CPU's results are compared in, it is that of float32, as what cancels loses as many units."""
WRONG = 1e-9
"""How far a sweep in float64 may be from `jax.grad`: sums in another order, on the device."""
PARTS = ("forward", "jvp", "vjp")


@dataclass
class OpRow:
    """One op: by dtype, the units of rounding by which forward, JVP and VJP differ from the CPU in float64."""

    name: str
    ulps: dict[str, list[float]] = field(default_factory=dict)
    on_cpu: dict[str, list[float]] = field(default_factory=dict)
    """The same of the CPU in the dtype."""
    not_run: dict[str, str] = field(default_factory=dict)

    def far(self) -> list[str]:
        """What is further than it should be, by dtype and part."""
        return [
            f"{part} in {dtype}: {ulp:.3g}"
            for dtype, found in self.ulps.items()
            for part, ulp, own in zip(
                PARTS, found, self.on_cpu.get(dtype) or self.on_cpu.get("float32", [1.0] * 3), strict=True
            )
            if not ulp <= FAR[dtype] * max(1.0, own)
        ]


@dataclass
class SweepRow:
    """One model: how far the sweep in float64 is from `jax.grad` on the device; whether every cotangent is a sum."""

    name: str
    verdict: str
    apart: float | None
    broken: str | None
    single: float | None
    """In float32, relative to the largest entry of all gradients in float64."""


def op_row(name: str) -> OpRow:
    """One op on the device against the CPU."""
    row, op = OpRow(name), registry.get(name)
    device, host = jax.devices()[0], jax.devices("cpu")[0]
    with jax.enable_x64(True):
        call = draw(op, op.cases[0], zlib.crc32(name.encode()))
        rng = np.random.default_rng(1)
        tangents = [rng.normal(size=x.shape) for x in call.floats]
        seeds = [rng.normal(size=shape) for shape in call.out_shapes]

        def all_of(fixed: Any, xs: Any, dxs: Any, gs: Any) -> Any:
            def f(*floats: Any) -> Any:
                full = list(fixed)
                for i, x in zip(call.moving, floats, strict=True):
                    full[i] = x
                return op.call_case(*full, **call.keywords)

            out, pull = jax.vjp(f, *xs)
            return out, jax.jvp(f, tuple(xs), tuple(dxs))[1], pull(call.shaped(gs))

        exact = jax.jit(all_of)
        here = exact if device == host else jax.jit(all_of)  # on the CPU its float64 is what it is compared with
        for kind, dtype in DTYPES.items():
            try:
                given = jax.tree.map(lambda x, t=dtype: jnp.asarray(x, t), (call.floats, tangents, seeds))
                fixed = [None if i in call.moving else x for i, x in enumerate(call.arrays)]
                found = here(*jax.device_put((fixed, *given), device))
                wide = jax.tree.map(lambda x: jnp.asarray(x, jnp.float64), given)
                wanted = exact(*jax.device_put((fixed, *wide), host))
            except Exception as error:  # what JAX has no kernel for, or no bfloat16 of, is said, and the rest goes on
                row.not_run[kind] = f"{type(error).__name__}: {str(error).splitlines()[0][:160]}"
                continue
            eps = float(jnp.finfo(dtype).eps)
            row.ulps[kind] = [_far(a, b) / eps for a, b in zip(found, wanted, strict=True)]
            if kind != "float64":
                own = found if device == host else exact(*jax.device_put((fixed, *given), host))
                row.on_cpu[kind] = [_far(a, b) / eps for a, b in zip(own, wanted, strict=True)]
    return row


def _far(found: Any, wanted: Any) -> float:
    """The largest difference of entries, relative to the largest entry of its array. Equal infinities and NaN agree."""
    worst = 0.0
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        if not jnp.issubdtype(b.dtype, jnp.floating):
            continue
        x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
        if not np.array_equal(np.isfinite(x), np.isfinite(y)) or not np.array_equal(
            x[~np.isfinite(x)], y[~np.isfinite(y)], equal_nan=True
        ):
            return float("inf")
        kept = np.isfinite(x)
        scale = float(np.max(np.abs(y[kept]), initial=0.0))
        apart = float(np.max(np.abs(x[kept] - y[kept]), initial=0.0))
        worst = max(worst, apart / scale if scale else float(apart > 0) * float("inf") if apart else 0.0)
    return worst


def sweep_row(module: str, name: str) -> SweepRow | None:
    """One model's sweep on the device. Nothing if it is a model for all shapes, without arguments to run it at."""
    with jax.enable_x64(True):
        fn, args = getattr(importlib.import_module(f"examples.models.{module}"), name)()
        if any(isinstance(x, jax.ShapeDtypeStruct) for x in jax.tree.leaves(args)):
            return None
        return sweep_row_at(name, fn, args)


def sweep_row_at(name: str, fn: Callable[..., Any], args: Any) -> SweepRow:
    def in_dtype(dtype: Any) -> Any:
        real = lambda x: hasattr(x, "dtype") and jnp.issubdtype(x.dtype, jnp.floating)  # noqa: E731
        return jax.tree.map(lambda x: x.astype(dtype) if real(x) else x, args)

    args = in_dtype(jnp.float64)
    done = certification(trace(fn, *args))
    verdict = done.certificate.verdict
    if not verdict.startswith("proved"):
        return SweepRow(name, verdict, None, None, None)
    compiled = compile_graph(done)
    found = compiled.value_and_grad(*args)
    apart = difference(found, fn, args)
    broken = check_sweep(compiled, *args) if len(done.traced.nodes) < 300 else None
    try:
        single = _far(_as_one(compiled.value_and_grad(*in_dtype(jnp.float32))[1]), _as_one(found[1]))
    except Exception as error:  # a model whose code names float64 is another program in float32
        print(f"{name} in float32: {str(error).splitlines()[0]}")
        single = None
    return SweepRow(name, verdict, apart, broken, single)


def _as_one(tree: Any) -> Any:
    """All gradients in one array: that of a bias before a normalisation is 0, and only rounding is left of it."""
    return jnp.concatenate([jnp.ravel(x) for x in jax.tree.leaves(tree) if hasattr(x, "dtype")])


@dataclass
class Found:
    """What was found so far."""

    device: str
    note: str
    seconds: dict[str, float] = field(default_factory=dict)
    ops: list[OpRow] = field(default_factory=list)
    sweeps: list[SweepRow] = field(default_factory=list)
    train: list[train_vs_jax.Row] = field(default_factory=list)

    @property
    def wrong(self) -> list[str]:
        """What fails the run."""
        far = [f"{r.name}, {what} units" for r in self.ops for what in r.far()]
        sweeps = [
            f"{r.name}: {r.apart:.0e} from jax.grad" for r in self.sweeps if r.apart is not None and not r.apart < WRONG
        ]
        sums = [f"{r.name}: {r.broken}" for r in self.sweeps if r.broken]
        steps = [f"{r.model}, {r.size}: the two sides take different steps" for r in self.train if not r.apart < 1e-2]
        return far + sweeps + sums + steps

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        data = json.dumps(asdict(self) | {"wrong": self.wrong}, indent=1, default=str)
        path.with_suffix(".json").write_text(data + "\n", encoding="utf-8")
        path.with_suffix(".md").write_text(self.markdown() + "\n", encoding="utf-8")

    def markdown(self) -> str:
        lines = ["# Checks and benchmarks on a device", "", f"{self.device}. {self.note}", ""]
        lines += [", ".join(f"{part}: {took:.0f} s" for part, took in self.seconds.items()) + "."]
        lines += [
            "",
            "What is further away than it should be:" if self.wrong else "Nothing is further away than it should be.",
        ]
        lines += [f"- {one}" for one in self.wrong]
        if self.ops:
            lines += ["", "## Ops", "", *self._ops()]
        if self.sweeps:
            lines += ["", "## Sweeps of certified graphs against `jax.grad`, both on the device", "", *self._sweeps()]
        if self.train:
            lines += ["", "## Training steps", "", *train_vs_jax.markdown(self.train)]
        return "\n".join(lines)

    def _ops(self) -> list[str]:
        lines = [
            "Units of rounding of the dtype, relative to the largest entry, from the CPU in float64 at the same "
            f"arguments. Matrix products in full precision. Named is what is more than {FAR['float32']:.0f} times "
            f"({FAR['bfloat16']:.0f} in bfloat16) as far as the CPU in the same dtype, and as a unit.",
            "",
            "| dtype | ops | " + " | ".join(f"{part}, median" for part in PARTS) + " | worst |",
            "|---|---:|" + "---:|" * (len(PARTS) + 1),
        ]
        for kind in DTYPES:
            rows = [(r.name, r.ulps[kind]) for r in self.ops if kind in r.ulps]
            if rows:
                medians = [f"{float(np.median([u[k] for _, u in rows])):.2f}" for k in range(len(PARTS))]
                name, worst = max(rows, key=lambda r: max(r[1]))
                lines.append(f"| {kind} | {len(rows)} | {' | '.join(medians)} | {max(worst):.3g} (`{name}`) |")
        missing: dict[str, list[str]] = {}
        for r in self.ops:
            for kind, why in r.not_run.items():
                missing.setdefault(f"{kind}: {why}", []).append(f"`{r.name}`")
        return lines + [""] + [f"- Not run in {why}: {', '.join(names)}" for why, names in missing.items()]

    def _sweeps(self) -> list[str]:
        lines = ["| model | verdict | from jax.grad, float64 | float32, relative | sums |", "|---|---|---:|---:|---|"]
        for r in self.sweeps:
            cells = ["" if x is None else f"{x:.0e}" for x in (r.apart, r.single)]
            lines.append(f"| `{r.name}` | {r.verdict} | {' | '.join(cells)} | {r.broken or 'hold'} |")
        return lines


def _pool(processes: int) -> Executor:
    """Processes of their own: tracing holds the interpreter, so that threads would wait for one another."""
    return ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _precise)


def _precise() -> None:
    """Matrix products in full precision; training, which is measured in the first process, keeps JAX's own."""
    jax.config.update("jax_default_matmul_precision", "highest")


def main() -> None:
    """Run the parts, print, write. Exit code 1 if something is further away than it should be."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--output", type=Path, help="write PATH.json and PATH.md")
    parser.add_argument("--rounds", type=int, default=20, help="rounds of timing of train_vs_jax.py (default: 20)")
    parser.add_argument("--times", type=int, default=2, help="fresh compilations that are timed (default: 2)")
    parser.add_argument("--ops", default="", help="names of ops, separated by commas (default: all)")
    parser.add_argument("--skip", default="", help="parts that are left out: ops, sweeps, train")
    parser.add_argument(
        "--processes",
        type=int,
        default=min(os.cpu_count() or 2, 14),
        help="for ops and sweeps (default: the cores, 14 at most)",
    )
    options = parser.parse_args()
    on_gpu = jax.default_backend() == "gpu"
    note = "" if on_gpu else "There is no GPU here: all of this ran on the CPU."
    found = Found(train_vs_jax.device_text(), note)
    print(found.device, note, flush=True)
    left_out = options.skip.split(",")

    def write() -> None:
        if options.output:
            found.write(options.output)

    sweeps = [] if "sweeps" in left_out else [(module, name) for module, names in MODELS.items() for name in names]
    ops = [] if "ops" in left_out else options.ops.split(",") if options.ops else registry.names()
    begin = time.perf_counter()
    with _pool(options.processes) as pool:
        running: dict[Future[Any], list[Any]] = {pool.submit(sweep_row, *one): found.sweeps for one in sweeps}
        running |= {pool.submit(op_row, name): found.ops for name in ops}
        for done in as_completed(running):
            if (row := done.result()) is not None:
                running[done].append(row)
                found.seconds["ops and sweeps"] = time.perf_counter() - begin
                print(f"{time.perf_counter() - begin:4.0f} s  {row.name}", flush=True)
                write()  # so that a run which is cut off leaves what is done
    for rows in (found.sweeps, found.ops):
        rows.sort(key=lambda row: row.name)
    if "train" not in left_out:
        begin = time.perf_counter()

        def so_far(rows: list[train_vs_jax.Row]) -> None:
            found.train, found.seconds["train"] = rows, time.perf_counter() - begin
            write()

        so_far(train_vs_jax.measure_all(list(train_vs_jax.MODELS), options.rounds, options.times, so_far=so_far))
    write()
    print("\n" + found.markdown())
    sys.exit(bool(found.wrong))


if __name__ == "__main__":
    main()
