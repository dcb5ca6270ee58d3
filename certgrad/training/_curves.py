"""The curves of a log as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from certgrad._figures import figure
from certgrad.training._log import Log


def curves(log: Log, path: str | Path, names: Sequence[str] = ()) -> Path:
    """Draw a log's series by step, one below the other, and return the file: PNG, SVG or PDF by its ending.

    Args:
        log: from `read_log`, or `Run.log`.
        path: the file to write.
        names: the series to draw, `"loss"` or metrics; all series by default.

    Raises:
        UsageError: matplotlib is not installed, the log is empty, or it has no series of that name.
    """
    metrics = dict.fromkeys(n for e in log.entries for n in e.metrics)
    series = {name: log.series(name) for name in names or ["loss", *metrics]}
    picture = figure("Curves need", 7, 0.6 + 2.2 * len(series))
    for axes, (name, points) in zip(picture.subplots(len(series), squeeze=False)[:, 0], series.items(), strict=True):
        steps, values = zip(*points, strict=True)
        axes.plot(steps, values, linewidth=1.2, marker="." if len(points) < 50 else "")
        axes.set_ylabel(name)
        axes.grid(alpha=0.3)
        axes.margins(x=0.01)
        if name == "loss" and all(v > 0 for v in values):
            axes.set_yscale("log")
    axes.set_xlabel("step")
    picture.savefig(path, metadata={"Date": None} if str(path).endswith((".svg", ".pdf")) else None)
    return Path(path)
