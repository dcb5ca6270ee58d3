"""One part: what comes of it."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.libraries import NO_ENTRY, REFUSED
from benchmarks.libraries._part import Call, Part, abstract
from certgrad.graph import trace
from certgrad.graph.certifying.certify import certification

NOT_TRIED = "not tried"
FAILED = "failed"


class OutOfTime(BaseException):
    """An attempt took longer than its limit. No `except Exception` on the way stops it."""


def certified(part: Part | None, seconds: int) -> dict[str, str]:
    """The first attempt that is proved, or else the last one that came to a verdict: what it is `for`, and `why` not.

    Of a part that is proved it says why it is not at more sizes; of one that JAX refuses, what JAX says.
    """
    if part is None or part.why:
        return {"for": "", "verdict": NOT_TRIED, "why": part.why if part else NO_ENTRY}
    before: list[dict[str, str]] = []
    try:
        for claimed, call in part.attempts():
            row = {"for": claimed} | _attempt(call, seconds)
            if row["verdict"].startswith("proved"):
                return row | {"why": f"{before[-1]['for']}: {before[-1]['why']}" if before else ""}
            before.append(row)
    except Exception as error:
        before.append({"for": "", "verdict": FAILED, "why": _words(error)})
    row = next((row for row in reversed(before) if row["verdict"] != FAILED), before[-1])
    refused = _refused_by_jax(part, seconds)
    return row | ({"why": f"{REFUSED}: {refused}"} if refused else {})


def _attempt(call: Call, seconds: int) -> dict[str, str]:
    try:
        with limit(seconds):
            found = certification(trace(call.fn, *call.specs)).certificate
    except OutOfTime:
        return {"verdict": FAILED, "why": f"out of time after {seconds} s of processor time"}
    except Exception as error:
        return {"verdict": FAILED, "why": _words(error)}
    return {
        "verdict": str(found.verdict),
        "why": "; ".join(found.findings),
    }


def _refused_by_jax(part: Part, seconds: int) -> str:
    """What JAX itself says where it runs the part at numbers, and does not differentiate it."""
    try:
        with limit(seconds):
            *_, (_, call) = part.attempts()
            arrays = abstract(call.specs, {})
            moving = [k for k, x in enumerate(arrays) if jnp.issubdtype(x.dtype, jnp.inexact)]

            def of(*floats: Any) -> Any:
                given = {**dict(enumerate(arrays)), **dict(zip(moving, floats, strict=True))}
                out = call.fn(*(_zeros(x) if isinstance(x, jax.ShapeDtypeStruct) else x for x in given.values()))
                return [x for x in jax.tree.leaves(out) if jnp.issubdtype(x.dtype, jnp.inexact)]

            def pulled(*floats: Any) -> Any:
                out, pull = jax.vjp(of, *floats)
                return pull(out)

            given = [arrays[k] for k in moving]
            jax.eval_shape(of, *given)
            try:
                jax.eval_shape(pulled, *given)
            except Exception as error:
                return _words(error)
    except (OutOfTime, Exception):
        pass
    return ""


def _zeros(x: jax.ShapeDtypeStruct) -> Any:
    return jax.random.key(0) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else jnp.zeros(x.shape, x.dtype)


@contextmanager
def limit(seconds: int) -> Iterator[None]:
    """Of processor time."""

    def ring(signum: int, frame: FrameType | None) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _words(error: Exception) -> str:
    """Without folders, the shapes that it was traced at, and advice."""
    text = re.sub(r"/\S*/(?=[\w.-]+/[\w.-]+\.py)", "", " ".join(str(error).split()))
    text = re.sub(r"JAX could not trace .*? as jax_enable_x64 is off\): (.*?)\. Call it once.*", r"\1", text)
    return f"{type(error).__name__}: {re.sub(r' at 0x[0-9a-f]+', '', text)}"[:600]
