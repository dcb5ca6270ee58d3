"""Figures that are drawn into a file, by matplotlib where it is installed."""

from __future__ import annotations

from typing import Any

from certgrad.errors import UsageError


def figure(needing: str, width: float, height: float) -> Any:
    """An empty figure of so many inches, which no window shows. Raises UsageError, saying what needs matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError(f"{needing} matplotlib. Install it with: pip install 'certgrad[train]'.") from None
    found = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(found)
    return found
