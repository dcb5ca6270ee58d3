"""Early stopping: a run ends when a watched value has not become smaller for a while."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from certgrad.errors import UsageError


@dataclass(frozen=True)
class EarlyStop:
    """Stop a run whose logged value `watch` does not improve.

    The run stops when `patience` entries of the log in a row are not more than `least` below the best value so far. To
    watch a value that should grow, log its negative.
    """

    patience: int
    watch: str = "loss"
    least: float = 0.0


class Watch:
    """An early stop in progress: the best value, and the entries `since` it. Its state is in each checkpoint."""

    def __init__(self, stop: EarlyStop, state: Mapping[str, Any] | None = None) -> None:
        self.stop = stop
        self.best: float | None = (state or {}).get("best")
        self.since: int = (state or {}).get("since", 0)

    def reason(self, entry: Mapping[str, float]) -> str:
        """Return why to stop after this entry, "" to go on. Raises UsageError if the entry lacks the watched value."""
        if self.stop.watch not in entry:
            raise UsageError(
                f"EarlyStop watches '{self.stop.watch}', which the log has not; it has {', '.join(entry)}. "
                "Return it from `metrics`."
            )
        value = float(entry[self.stop.watch])
        if self.best is None or value < self.best - self.stop.least:
            self.best, self.since = value, 0
            return ""
        self.since += 1
        if self.since < self.stop.patience:
            return ""
        return f"{self.stop.watch} has not fallen below {self.best:.6g} in {self.since} entries"

    def state(self) -> dict[str, Any]:
        return {"best": self.best, "since": self.since}
