"""The reverse sweep over a tape, with every cotangent on its way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from certgrad.graph.tape._value import Value, is_real

if TYPE_CHECKING:
    from certgrad.graph.tape._tape import Record, Tape

Key = tuple[int, int]
"""A value of a tape: its record, and which of the record's outputs it is."""


@dataclass(frozen=True)
class Contribution:
    """A step's contribution to the cotangent of a value that its operation read."""

    to: Value
    cotangent: Any
    total: Any
    """The value's cotangent so far, with this contribution."""


@dataclass(frozen=True)
class SweepStep:
    """One operation, swept: the cotangents that arrived at its outputs, and what its VJP gives to its parents."""

    record: Record
    arrived: tuple[Any, ...]
    """The cotangent of each output; None where an output is no real number."""
    contributions: tuple[Contribution, ...]


@dataclass(frozen=True)
class Sweep:
    """A reverse sweep: its seeds, its steps from the last operation to the first, and every value's cotangent."""

    tape: Tape
    seeds: tuple[tuple[Value, Any], ...]
    steps: tuple[SweepStep, ...]
    cotangents: dict[Key, Any]

    @property
    def gradients(self) -> dict[str, Any]:
        """Return the cotangent of each real input, by name; zero where no output depends on the input."""
        inputs = {n: v for n, v in self.tape.inputs.items() if is_real(v.value)}
        return {n: self.of(v) for n, v in inputs.items()}

    def of(self, value: Value) -> Any:
        """Return the cotangent of a value of the tape; zero where none arrived."""
        cotangent = self.cotangents.get((value.record, value.output))
        return jnp.zeros_like(value.value) if cotangent is None else cotangent

    def __str__(self) -> str:
        from certgrad.graph.tape._views import sweep_text

        return sweep_text(self)


def swept(tape: Tape, seeds: Sequence[tuple[Value, Any]]) -> Sweep:
    """Return the sweep of a tape from these seeds: from the last record to the first, each VJP adds to its parents."""
    cotangents: dict[Key, Any] = {}

    def add(key: Key, cotangent: Any) -> Any:
        cotangents[key] = cotangents[key] + cotangent if key in cotangents else cotangent
        return cotangents[key]

    for output, seed in seeds:
        add((output.record, output.output), seed)
    steps: list[SweepStep] = []
    for record in reversed(tape.records):
        keys = [(record.id, k) for k in range(len(record.outputs))]
        if record.vjp is None or not any(k in cotangents for k in keys):
            continue
        real = [is_real(y) for y in record.outputs]
        # The VJP needs a cotangent for each real output: zero where no later record gave one.
        arrived = [
            cotangents.get(k, jnp.zeros_like(y)) if r else None
            for k, y, r in zip(keys, record.outputs, real, strict=True)
        ]
        results = record.vjp([ct for ct in arrived if ct is not None])
        parents = [p for p in record.parents if is_real(p.value)]
        contributions = [
            Contribution(p, ct, add((p.record, p.output), ct)) for p, ct in zip(parents, results, strict=True)
        ]
        steps.append(SweepStep(record, tuple(arrived), tuple(contributions)))
    return Sweep(tape, tuple(seeds), tuple(steps), cotangents)
