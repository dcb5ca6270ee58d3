"""Points: real numbers of several styles, each with a free element of the field; some special, with zeros and ties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb

from ._field import ball
from ._model import Model
from ._number import Number

if TYPE_CHECKING:
    from certgrad._subject import Structure

STYLES = ("any", "positive", "unit", "small", "large", "negative", "above one")
_BETWEEN = {
    "any": (-3, 3),
    "positive": (0, 3),
    "unit": (0, 1),
    "small": (-1, 1),
    "large": (-30, 30),
    "negative": (-3, 0),
    "above one": (1, 5),
}
KINDS = 8
"""Kinds of integers that are drawn, in turn."""
GRAIN = 2**40
"""Real numbers are drawn as multiples of its inverse: ties are rare."""


@dataclass(frozen=True)
class Slot:
    """An argument: its name, kind and shape."""

    name: str
    kind: str
    shape: tuple[int, ...]
    role: Any
    structure: Structure | None = None
    """What the programs make of it, whatever it is."""


@dataclass(frozen=True, eq=False)
class Point:
    """The arguments' entries, as numbers of a model, by role and index."""

    model: Model
    entries: Mapping[tuple[Any, tuple[int, ...]], Any]
    arrays: Mapping[str, Any]
    """The same as arrays, by the arguments' names."""


def _draw_real(style: str, rng: Random) -> Fraction:
    low, high = _BETWEEN[style]
    return Fraction(rng.randrange(low * GRAIN + 1, high * GRAIN), GRAIN)


def _draw_integer(style: int, lengths: list[int], numbers: Sequence[int], rng: Random) -> int:
    most, least = max(lengths), min(lengths)
    inside = rng.randrange(least)
    return (
        inside,
        rng.randrange(most),
        inside if rng.random() < 0.6 else rng.choice((-1, *numbers)),
        rng.randrange(-most - 2, most + 3),
        rng.randrange(1, 4),
        rng.randrange(2),
        rng.randint(min(0, *numbers), max(1, *numbers)) if numbers else inside,
        0,  # all labels are one
    )[style]


def drawn(model: Model, slots: list[Slot], rng: Random, k: int, special: bool, numbers: Sequence[Fraction]) -> Point:
    """Draw the k-th point.

    At a `special` point some numbers coincide: they are 0, 1, −1, one of `numbers`, or another entry up to its sign,
    which is of the same argument at even k and of any at odd k. `numbers` are those that the programs compare with; at
    odd k numbers are drawn near to these, on both sides.
    """
    lengths = [n for slot in slots for n in slot.shape] or [2]
    entries: dict[tuple[Any, tuple[int, ...]], Any] = {}
    arrays: dict[str, Any] = {}
    near = numbers if numbers and k % 2 else ()
    same = STYLES[k // 2 if numbers else k] if k < len(STYLES) else None
    integers = k % KINDS
    whole = [int(n) for n in numbers if n.denominator == 1]
    share = (0.5, 0.5, 1.0)[k % 3]
    if special:
        rng.shuffle(slots := [*slots])
    before: list[Number] = []
    for slot in slots:
        style = same or rng.choice(STYLES)
        array = np.empty(slot.shape, dtype=object)
        if not k % 2:
            before = []
        for at in np.ndindex(slot.shape):
            key = (slot.role, at)
            if slot.kind == "int":
                value: Any = _draw_integer(integers, lengths, whole, rng)
            elif slot.kind == "bool":
                value = rng.random() < 0.5
            else:
                centre = rng.choice(near) if near and rng.random() < 0.5 else Fraction(0)
                same_as = special and slot.structure is None and rng.random() < share
                x = _coincidence(model, before, numbers, rng) if same_as else None
                value = _number(model, key, style, centre, slot.kind, rng, x)
                before.append(value)
            array[at] = value
        if slot.structure is not None:
            array = _structured(model, slot, slot.structure, array)
        arrays[slot.name] = array
        entries |= {(slot.role, at): array[at] for at in np.ndindex(slot.shape)}
    return Point(model, entries, arrays)


def _structured(model: Model, slot: Slot, structure: Structure, array: Any) -> Any:
    """The array with the real numbers that the programs make of it, which they leave as they are."""
    out = structure.structured(np.vectorize(_rational, otypes=[object])(array)).astype(object)
    for at in np.ndindex(slot.shape):
        u = array[at]
        if isinstance(u, Number):
            x = ball(out[at])
            made = model.variable(("x", (slot.role, at)), x) if out[at] else model.lifted(0)
            out[at] = Number(model, made.a, made.b, x, u.d, u.dx)
    return out


def _rational(u: Any) -> Any:
    """A real number that was drawn is one."""
    if not isinstance(u, Number):
        return u
    whole, exponent = u.x.man_exp()
    return int(whole) * Fraction(2) ** int(exponent)


def _coincidence(model: Model, before: Sequence[Number], numbers: Sequence[Fraction], rng: Random) -> Number:
    """Return a number that is equal to another one, or to it up to its sign."""
    if before and rng.random() < 0.4:
        return model.lifted(model.mul(rng.choice((1, 1, -1)), rng.choice(before)))
    return model.lifted(rng.choice(numbers if numbers and rng.random() < 0.3 else (0, 0, 0, 1, -1)))


def _number(
    model: Model, key: Any, style: str, centre: Fraction, kind: str, rng: Random, value: Number | None
) -> Number:
    d, dx = None, None
    if kind == "float":
        d, dx = model.residue("d", key), ball(_draw_real("any", rng))
    if value is not None:
        return Number(model, value.a, value.b, value.x, d, dx)
    return model.variable(("x", key), ball(centre + _draw_real(style, rng)), d, dx)


def seed_of(model: Model, k: int, at: tuple[int, ...], rng: Random) -> Number:
    """An entry of a cotangent."""
    x: arb = ball(_draw_real("any", rng))
    return model.drawn(("seed", k, at), x)
