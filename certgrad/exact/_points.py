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
"""The number of ways in which `_draw_integer` draws integers; points take them in turn."""
GRAIN = 2**40
"""Real numbers are drawn as multiples of 1/GRAIN, so that two of them are rarely equal."""


@dataclass(frozen=True)
class Slot:
    """An argument: its name, kind and shape."""

    name: str
    kind: str
    shape: tuple[int, ...]
    role: Any
    structure: Structure | None = None
    """The property, such as symmetric, that the programs give the array before they read it; None if it has none."""


@dataclass(frozen=True, eq=False)
class Point:
    """The arguments' entries, as numbers of a model, by role and index."""

    model: Model
    entries: Mapping[tuple[Any, tuple[int, ...]], Any]
    arrays: Mapping[str, Any]
    """The same entries as arrays, by the arguments' names."""


def _draw_real(style: str, rng: Random) -> Fraction:
    low, high = _BETWEEN[style]
    return Fraction(rng.randrange(low * GRAIN + 1, high * GRAIN), GRAIN)


def _draw_integer(style: int, lengths: list[int], numbers: Sequence[int], rng: Random) -> int:
    """Return an integer, drawn in one of `KINDS` ways: within all axes, within the longest, out of range at times, …"""
    longest, shortest = max(lengths), min(lengths)
    in_range = rng.randrange(shortest)
    return (
        in_range,
        rng.randrange(longest),
        in_range if rng.random() < 0.6 else rng.choice((-1, *numbers)),
        rng.randrange(-longest - 2, longest + 3),
        rng.randrange(1, 4),
        rng.randrange(2),
        rng.randint(min(0, *numbers), max(1, *numbers)) if numbers else in_range,
        0,  # all labels are one
    )[style]


def drawn(model: Model, slots: list[Slot], rng: Random, k: int, special: bool, numbers: Sequence[Fraction]) -> Point:
    """Return the k-th point: numbers of the model for the entries of each argument.

    At a `special` point some numbers coincide: they are 0, 1, −1, one of `numbers`, or another entry up to its sign,
    which is of the same argument at even k and of any at odd k. `numbers` are those that the programs compare with; at
    odd k numbers are drawn near to these, on both sides.
    """
    lengths = [n for slot in slots for n in slot.shape] or [2]
    entries: dict[tuple[Any, tuple[int, ...]], Any] = {}
    arrays: dict[str, Any] = {}
    centres = numbers if numbers and k % 2 else ()
    # The first points draw all arguments in one style; later ones choose a style for each argument.
    common_style = STYLES[k // 2 if numbers else k] if k < len(STYLES) else None
    integers = k % KINDS
    integer_numbers = [int(n) for n in numbers if n.denominator == 1]
    share = (0.5, 0.5, 1.0)[k % 3]
    if special:  # an entry coincides with earlier ones, which at odd k may be of any other argument
        rng.shuffle(slots := [*slots])
    earlier_numbers: list[Number] = []
    for slot in slots:
        style = common_style or rng.choice(STYLES)
        array = np.empty(slot.shape, dtype=object)
        if not k % 2:
            earlier_numbers = []
        for at in np.ndindex(slot.shape):
            key = (slot.role, at)
            if slot.kind == "int":
                value: Any = _draw_integer(integers, lengths, integer_numbers, rng)
            elif slot.kind == "bool":
                value = rng.random() < 0.5
            else:
                centre = rng.choice(centres) if centres and rng.random() < 0.5 else Fraction(0)
                coincides = special and slot.structure is None and rng.random() < share
                x = _coincidence(model, earlier_numbers, numbers, rng) if coincides else None
                value = _number(model, key, style, centre, slot.kind, rng, x)
                earlier_numbers.append(value)
            array[at] = value
        if slot.structure is not None:
            array = _structured(model, slot, slot.structure, array)
        arrays[slot.name] = array
        entries |= {(slot.role, at): array[at] for at in np.ndindex(slot.shape)}
    return Point(model, entries, arrays)


def _structured(model: Model, slot: Slot, structure: Structure, array: Any) -> Any:
    """Return the array with its property (it is made symmetric, say), so that the programs leave it as it is."""
    out = structure.structured(np.vectorize(_rational, otypes=[object])(array)).astype(object)
    for at in np.ndindex(slot.shape):
        u = array[at]
        if isinstance(u, Number):
            x = ball(out[at])
            free_number = model.variable(("x", (slot.role, at)), x) if out[at] else model.lifted(0)
            out[at] = Number(model, free_number.a, free_number.b, x, u.d, u.dx)
    return out


def _rational(u: Any) -> Any:
    """Return the rational number that the ball of a drawn number is, exactly; return other entries as they are."""
    if not isinstance(u, Number):
        return u
    whole, exponent = u.x.man_exp()
    return int(whole) * Fraction(2) ** int(exponent)


def _coincidence(model: Model, before: Sequence[Number], numbers: Sequence[Fraction], rng: Random) -> Number:
    """Return an earlier number up to its sign, one of `numbers`, or 0, 1 or −1."""
    if before and rng.random() < 0.4:
        return model.lifted(model.mul(rng.choice((1, 1, -1)), rng.choice(before)))
    return model.lifted(rng.choice(numbers if numbers and rng.random() < 0.3 else (0, 0, 0, 1, -1)))


def _number(
    model: Model, key: Any, style: str, centre: Fraction, kind: str, rng: Random, value: Number | None
) -> Number:
    """Return an entry: `value` if given, else a free number near `centre`; a float has a drawn tangent as well."""
    d, dx = None, None
    if kind == "float":
        d, dx = model.residue("d", key), ball(_draw_real("any", rng))
    if value is not None:
        return Number(model, value.a, value.b, value.x, d, dx)
    return model.variable(("x", key), ball(centre + _draw_real(style, rng)), d, dx)


def seed_of(model: Model, k: int, at: tuple[int, ...], rng: Random) -> Number:
    """Return a drawn number for an entry of the cotangent of output k."""
    x: arb = ball(_draw_real("any", rng))
    return model.drawn(("seed", k, at), x)
