"""A count, step by step, of how often each hypothesis failed while a certified graph ran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

NOT_FINITE = "not finite"
MOST_WAITING = 256
"""Calls whose counts stay on the device, at most, so that a long training does not fill it."""


class Monitor:
    """The counts of all calls of a program. They leave the device many at a time, or when they are read."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self._waiting: list[tuple[Sequence[str], Any, Any]] = []
        self._calls: list[dict[str, int]] = []

    def add(self, names: Sequence[str], times: Any, finite: Any) -> None:
        """Add the counts of one call, one for each of `names`; at other sizes a program may have other hypotheses."""
        self.names += [name for name in names if name not in self.names]
        self._waiting.append((names, times, finite))
        if len(self._waiting) >= MOST_WAITING:
            self._fetch()

    def _fetch(self) -> None:
        counts = jax.device_get([(times, finite) for _, times, finite in self._waiting])
        for (names, _, _), (times, finite) in zip(self._waiting, counts, strict=True):
            row = dict(zip(names, np.asarray(times).tolist(), strict=True))
            self._calls.append({**row, NOT_FINITE: int(not finite)})
        self._waiting.clear()

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns of `rows`."""
        return [*self.names, NOT_FINITE]

    @property
    def rows(self) -> list[list[int]]:
        """Return, for each call, how often each hypothesis failed; last, whether an output was not finite."""
        self._fetch()
        return [[counts.get(name, 0) for name in self.columns] for counts in self._calls]

    def series(self, name: str) -> list[int]:
        """Return the counts of one hypothesis, by call. Raises KeyError for a hypothesis that is not monitored."""
        k = self.columns.index(name) if name in self.columns else None
        if k is None:
            raise KeyError(f"'{name}' is not monitored; there are {', '.join(self.columns)}")
        return [row[k] for row in self.rows]

    def metrics(self) -> dict[str, int]:
        """Return the counts of the last call by name, for a log: `log.append(step, loss, **monitor.metrics())`."""
        return dict(zip(self.columns, self.rows[-1], strict=True)) if self.rows else {}

    def __str__(self) -> str:
        rows = self.rows
        lines = [f"after {len(rows)} call{'' if len(rows) == 1 else 's'}"]
        for k, name in enumerate(self.columns):
            counts = [row[k] for row in rows]
            calls = sum(c > 0 for c in counts)
            summary = (
                f"failed {sum(counts)} times in {calls} call{'' if calls == 1 else 's'}" if calls else "never failed"
            )
            if name == NOT_FINITE:
                summary = f"in {calls} call{'' if calls == 1 else 's'}" if calls else "never"
            lines.append(f"  {name}: {summary}")
        return "\n".join(lines)
