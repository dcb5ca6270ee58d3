"""One part: what came of it, as data."""

from __future__ import annotations

import re
import time
from typing import Any

from benchmarks.libraries._part import Call, Part
from certgrad.graph import GraphCertificate, trace
from certgrad.graph._certify import certification

NOT_TRIED = "not tried"
FAILED = "failed"


def certified(part: Part | None) -> dict[str, Any]:
    """The row of a part: of the first attempt that is proved, or else of the last one that came to a verdict."""
    if part is None or part.why:
        return {"verdict": NOT_TRIED, "why": part.why if part else "no entry", "seconds": 0.0}
    start = time.perf_counter()
    before: list[dict[str, Any]] = []
    try:
        for claimed, call in part.attempts():
            row = {"for": claimed} | _attempt(call)
            if row["verdict"].startswith("proved"):
                before, failed = [], before
                return row | {"narrower": _said(failed), "seconds": time.perf_counter() - start}
            before.append(row)
    except Exception as error:
        before.append({"for": "", "verdict": FAILED, "why": _words(error)})
    verdicts = [row for row in before if row["verdict"] != FAILED]
    return (verdicts or before)[-1] | {"narrower": _said(before[:-1]), "seconds": time.perf_counter() - start}


def _attempt(call: Call) -> dict[str, Any]:
    try:
        found = certification(trace(call.fn, *call.specs)).certificate
    except Exception as error:
        return {"verdict": FAILED, "why": _words(error)}
    return {
        "verdict": str(found.verdict),
        "specs": list(call.specs),
        "asks": list(dict.fromkeys(_asks(found))),
        "why": "; ".join(found.findings),
    }


def _asks(found: GraphCertificate) -> list[str]:
    return [h.text for h in found.hypotheses] + found.dimensions


def _said(rows: list[dict[str, Any]]) -> list[str]:
    """Why an attempt at more sizes did not do."""
    return [f"{row['for']}: {row['why']}" for row in rows]


def _words(error: Exception) -> str:
    text = re.sub(r"/\S*/(?=[\w.-]+/[\w.-]+\.py)", "", " ".join(str(error).split()))
    return f"{type(error).__name__}: {re.sub(r' at 0x[0-9a-f]+', '', text)}"[:600]
