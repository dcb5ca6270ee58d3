"""What XLA counts of two compiled programs: nothing that other work on the machine could disturb."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass
class Counted:
    """What XLA counts of our program and of JAX's: bytes at the peak, operations, bytes that are accessed."""

    memory: tuple[float, float]
    operations: tuple[float, float]
    accessed: tuple[float, float]

    @property
    def ratios(self) -> dict[str, float]:
        """Of certgrad to JAX."""
        return {what: a / b for what, (a, b) in asdict(self).items()}


def counted(ours: Any, theirs: Any) -> Counted:
    """Of two compiled programs."""
    sides = [(bytes_of(c.memory_analysis()), *_costs(c.cost_analysis())) for c in (ours, theirs)]
    return Counted(*zip(*sides, strict=True))


def _costs(analysis: Any) -> tuple[float, float]:
    found = analysis[0] if isinstance(analysis, list) else analysis
    return float(found["flops"]), float(found["bytes accessed"])


def bytes_of(analysis: Any) -> int:
    """What a program holds at its peak, as XLA plans it."""
    held = analysis.argument_size_in_bytes + analysis.output_size_in_bytes + analysis.temp_size_in_bytes
    return int(held - analysis.alias_size_in_bytes)
