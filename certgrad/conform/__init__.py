"""How far ops stray from the exact value in floats: measured, and no part of any proof.

found = conform(registry.get("softmax"), ["float32"])
"""

from certgrad.conform._bounds import Bounded, Proved, bounded
from certgrad.conform._measure import DTYPES, LIMIT, PARTS, Conformity, Hard, Measured, conform, devices, explained
from certgrad.conform._reasons import REASONS, reason

__all__ = [
    "DTYPES",
    "LIMIT",
    "PARTS",
    "REASONS",
    "Bounded",
    "Conformity",
    "Hard",
    "Measured",
    "Proved",
    "bounded",
    "conform",
    "devices",
    "explained",
    "reason",
]
