"""How far each op strays from the exact value in floats: forward, JVP and VJP, in units in the last place.

The arguments are floats of the dtype, drawn inside the domain. The exact value is that of the same program in ball
arithmetic at these arguments; the derivative rules are those that are proved. An entry counts its distance in units in
the last place of the exact value, or of the largest exact entry of its array divided by 8 where it is smaller than
that: a sum that cancels has no more digits. What is above 4 in float32 is named.

Run from anywhere: `python benchmarks/floats.py [--ops relu,softmax] [--dtypes float32,bfloat16] [--output PATH]`
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import jax
import jax.numpy as jnp
import numpy as np

from certgrad.obligations import balls
from certgrad.ops import Op, registry
from tests.ops.sampling import Call, draw

DTYPES = {"float64": jnp.float64, "float32": jnp.float32, "bfloat16": jnp.bfloat16, "float16": jnp.float16}
PARTS = ("forward", "jvp", "vjp")
LIMIT = 4.0
CANCELLED = 8.0


@dataclass
class Row:
    """One op: for each dtype and part the worst entry; or why there is none."""

    name: str
    ulps: dict[str, dict[str, float]] = field(default_factory=dict)
    without: dict[str, str] = field(default_factory=dict)

    def beyond(self) -> list[str]:
        """The parts that are above the limit in float32."""
        return [f"{part} {ulp:.3g}" for part, ulp in self.ulps.get("float32", {}).items() if not ulp <= LIMIT]


def programs(op: Op, call: Call, count: int) -> dict[str, Callable[..., list[Any]]]:
    """The forward and the rules as functions of the float arguments, then tangents or seeds."""
    statics = {**op.defaults, **call.keywords}

    def flat(found: Any) -> list[Any]:
        return list(found) if isinstance(found, tuple | list) else [found]

    def given(floats: Any) -> Any:
        full = call.filled(tuple(floats))
        if op.fwd_rule is None:
            return full
        return [op.call_rule(op.fwd_rule, *full, statics=statics)[1]]

    def rule(which: Any) -> Callable[..., list[Any]]:
        return lambda *xs: flat(op.call_rule(which, *given(xs[:count]), *xs[count:], statics=statics))

    found: dict[str, Callable[..., list[Any]]] = {"forward": lambda *xs: flat(call.forward(*xs[:count]))}
    return found | {part: rule(r) for part, r in (("jvp", op.jvp_rule), ("vjp", op.vjp_rule)) if r is not None}


def measured(name: str, dtypes: list[str]) -> Row:
    """One op at its first case."""
    row, op = Row(name), registry.get(name)
    with jax.enable_x64(True):
        call = draw(op, op.cases[0], zlib.crc32(name.encode()))
        rng = np.random.default_rng(1)
        tangents = [rng.normal(size=x.shape) for x in call.floats]
        seeds = [rng.normal(size=shape) for shape in call.out_shapes]
        for part, run in programs(op, call, len(call.floats)).items():
            further = {"forward": [], "jvp": tangents, "vjp": seeds}[part]
            for kind in dtypes:
                try:
                    arguments = [jnp.asarray(x, DTYPES[kind]) for x in [*call.floats, *further]]
                    found = jax.jit(run)(*arguments)
                    wide = [x.astype(jnp.float64) for x in arguments]
                    exact = balls.evaluate(jax.make_jaxpr(run)(*wide), [_fractions(x) for x in wide]).values
                except Exception as error:  # what has no kernel in a dtype, or no rule in balls, is said
                    row.without.setdefault(f"{part}, {kind}", f"{type(error).__name__}: {str(error)[:120]}")
                    continue
                pairs = [(a, b) for a, b in zip(found, exact, strict=True) if jnp.issubdtype(a.dtype, jnp.floating)]
                row.ulps.setdefault(kind, {})[part] = max((apart(a, b, DTYPES[kind]) for a, b in pairs), default=0.0)
    return row


def _fractions(x: Any) -> Any:
    return (
        np.vectorize(lambda v: Fraction(float(v)), otypes=[object])(np.asarray(x)) if x.size else np.asarray(x, object)
    )


def apart(found: Any, exact: Any, dtype: Any) -> float:
    """The worst entry, in units in the last place."""
    eps = float(jnp.finfo(dtype).eps)
    least = float(jnp.finfo(dtype).smallest_subnormal)
    wanted = np.vectorize(lambda v: float(balls_mid(v)), otypes=[float])(exact) if exact.size else np.zeros(exact.shape)
    numbers = np.asarray(found, np.float64)
    if not numbers.size:
        return 0.0
    if not np.isfinite(numbers).all():
        return float("inf")
    scale = np.maximum(np.abs(wanted), np.abs(wanted).max() / CANCELLED)
    unit = np.maximum(eps * 2.0 ** np.floor(np.log2(np.maximum(scale, least))), least)
    return float((np.abs(numbers - wanted) / unit).max())


def balls_mid(value: Any) -> Any:
    """A scalar of the ball arithmetic as a float: its middle."""
    if hasattr(value, "mid"):
        return float(value.mid())
    return int(value.p) / int(value.q) if hasattr(value, "q") else float(value)


def markdown(rows: list[Row]) -> list[str]:
    """The table, what is named, and what is not measured."""
    kinds = [k for k in DTYPES if any(k in r.ulps for r in rows)]
    titles = [f"{kind} {part}" for kind in kinds for part in PARTS]
    lines = ["# Floats", "", (__doc__ or "").split("\n\n")[1].replace("\n", " "), ""]
    lines += [f"| op | {' | '.join(titles)} |", "|---|" + "---:|" * len(titles)]
    for r in rows:
        cells = [r.ulps.get(kind, {}).get(part) for kind in kinds for part in PARTS]
        lines.append(f"| `{r.name}` | {' | '.join('' if c is None else f'{c:.2f}' for c in cells)} |")
    named = [f"- `{r.name}`: {', '.join(r.beyond())}" for r in rows if r.beyond()]
    lines += ["", f"Above {LIMIT:g} in float32:" if named else f"None is above {LIMIT:g} in float32.", *named]
    missing = [f"- `{r.name}`, {where}: {why}" for r in rows for where, why in r.without.items()]
    return [*lines, *(["", "Not measured:", *missing] if missing else [])]


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--ops", default="", help="names of ops, separated by commas (default: all)")
    parser.add_argument("--dtypes", default="float32", help=f"of {','.join(DTYPES)} (default: float32)")
    parser.add_argument("--output", type=Path, help="a Markdown file")
    options = parser.parse_args()
    dtypes = options.dtypes.split(",")
    if unknown := [d for d in dtypes if d not in DTYPES]:
        parser.error(f"there is no dtype '{unknown[0]}'; there are {', '.join(DTYPES)}")
    rows = []
    for name in options.ops.split(",") if options.ops else registry.names():
        rows.append(measured(name, dtypes))
        print(name, rows[-1].ulps, *rows[-1].without.items(), flush=True)
    lines = markdown(rows)
    print("\n".join(lines))
    if options.output:
        options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
