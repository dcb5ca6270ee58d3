"""A figure: what was measured, in which unit, beside what, and what it may be."""

from __future__ import annotations

from dataclasses import dataclass

CALLS = "thousand calls"
"""The unit of what is counted: it is the same however busy the machine is."""


@dataclass(frozen=True)
class Figure:
    """One measured number of a group."""

    name: str
    value: float | None
    """None: it was not run, and `note` says why."""
    unit: str = ""
    """`s` (seconds of processor time), `s by the clock`, `ms a node`, `GB`, `thousand calls`; nothing for a
    ratio."""
    peer: float | None = None
    """What the same run took for a peer, in the unit of `value`: other machines differ by as much."""
    beside: str = ""
    """The peer in words, such as `jax.make_jaxpr`."""
    at_most: float | None = None
    """The aim, in `unit`."""
    note: str = ""
    optional: bool = False
    """It needs a package that may not be installed, so that it may be left out."""

    @property
    def relative(self) -> float | None:
        """What is compared between two runs: the value over its peer's, or alone where it is a ratio by itself."""
        if self.value is None or not self.peer:
            return self.value
        return self.value / self.peer


def ratio(name: str, ours: float, theirs: float, beside: str, at_most: float | None = None, note: str = "") -> Figure:
    """Ours over theirs, with the seconds of both in its note."""
    seconds = f"{ours:.2f} s and {theirs:.2f} s"
    return Figure(name, ours / theirs, beside=beside, at_most=at_most, note=f"{seconds}; {note}" if note else seconds)


def not_installed(name: str, package: str, unit: str = "") -> Figure:
    """What needs a package that is not there."""
    return Figure(name, None, unit, note=f"{package} is not installed", optional=True)
