"""Calls of a rule outside of any trace, compared with the program that was proved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from certgrad.errors import first_line

from ..floats import compute
from ..tracing.jax_internals import EndlessError, computed_by, kind_of, typed, wide_floats
from ._at_numbers import Difference, in_words, unlike
from ._compared import BY_ONE_CALL, Compared, Point, Sizes, sized


@dataclass(frozen=True)
class Precision:
    """A dtype of floats in which rules are called."""

    dtype: str
    under_x64: bool = False
    """Arrays of a narrower dtype while JAX computes in 64 bits where nothing else is said."""

    @property
    def wide(self) -> bool:
        return self.dtype == "float64" or self.under_x64

    @property
    def half(self) -> bool:
        return self.dtype in ("float16", "bfloat16")

    def __str__(self) -> str:
        return f"{self.dtype}{' under x64' if self.under_x64 else ''}"


def precisions(dtypes: Sequence[str]) -> list[Precision]:
    """Return the dtypes of calls: each dtype once, and a narrow one while JAX computes in 64 bits."""
    return [Precision(d, under_x64=d == "float16") for d in dtypes]


POINTS = 3
"""Points at which scalars that are Python's numbers are tried."""
TRIES = 4
"""Draws, at most, of a point at which a rule takes integers as they are."""
_NUMBERS = ("f", "i", "u", "b")
PLAIN = "numbers of Python's and arrays of numpy's"


CHANGED = "calls change the arrays of numpy's that they are given"


class ChangedError(Exception):
    """A call changes the tangents or cotangents that it is given."""


def compare_call(
    subject: Compared, place: Sizes, second: Sizes, precision: Precision, plainly: bool = False
) -> tuple[Difference | None, str]:
    """Return how a call in one dtype differs from what was proved, and why it could not be made.

    With `plainly`, numbers of Python and arrays of numpy are passed where the rule takes them, as JAX hands on what it
    is given. There `~True` is −2, `True + True` is 2, and `x -= 1` changes the caller's array. What such a number does
    may depend on its value, so that scalars are given at several points. A difference in half precision, where few
    units of rounding count, must show at the `second` place too.
    """
    difference, problem = _compare_at_point(subject, place, precision, plainly)
    for k in range(1, TRIES if plainly and subject.integers and subject.unseen else 1):
        known = {**subject.unseen}  # numpy raises an error for an index that is out of range, where JAX does not
        subject.unseen.clear()
        difference, problem = _compare_at_point(subject, place, precision, plainly, k)
        if not subject.unseen:
            break
        subject.unseen.update(known)
    if difference is not None and precision.half:
        difference, problem = _compare_at_point(subject, second, precision, plainly)
    if plainly and difference is None and not problem:
        point = subject.point(place, 0)
        scalars = [] if point is None else [x for x in point.args if x.shape == () and kind_of(x.dtype) in _NUMBERS]
        for k in range(1, POINTS if scalars else 1):
            difference = difference or _compare_at_point(subject, place, precision, plainly, k)[0]
    return difference, problem


def _compare_at_point(
    subject: Compared, sizes: Sizes, precision: Precision, plainly: bool, which: int = 0
) -> tuple[Difference | None, str]:
    """Return how a call in one precision differs from the trace, and why it could not be made.

    With `plainly`, numbers of Python and arrays of numpy are passed; if the rule refuses these, JAX's are. `which` is
    the number of the drawn point.
    """
    point = subject.point(sizes, which)
    if point is None:
        return None, "no point of the domain was found"
    point = point.rounded(precision.dtype)
    given = [_as_number(x) if plainly else x for x in point.args]
    plainly = any(a is not x for a, x in zip(given, point.args, strict=True))
    before = [x.tobytes() if isinstance(x, np.ndarray) else b"" for x in given]
    try:
        differences = _unlike(subject, sizes, point, precision, given if plainly else point.args)
    except ChangedError:
        return Difference((), CHANGED, {}, anywhere=True), ""
    except EndlessError as error:
        return None, first_line(error, 100)
    except Exception as error:  # a rule may refuse a dtype, in its own way; code for JAX's arrays may want one: x.at[…]
        if not plainly:
            return None, f"{type(error).__name__}: {first_line(error, 100)}"
        subject.unseen[f"calls with {PLAIN} ({type(error).__name__}: {first_line(error, 100)})"] = None
        try:
            differences = _unlike(subject, sizes, point, precision, point.args)
        except Exception as problem:
            return None, f"{type(problem).__name__}: {first_line(problem, 100)}"
    where = f"at {sized(subject.names, sizes)} " if subject.names else ""
    if before != [x.tobytes() if isinstance(x, np.ndarray) else b"" for x in given]:
        return Difference((), CHANGED, {}, anywhere=True), ""
    if not differences:
        return None, ""
    plain = f" with {PLAIN}" if plainly else ""
    text = f"called {where}in {precision}{plain} it returns something else: {in_words(differences)}"
    return Difference(tuple(differences), text, sizes, precision.wide, anywhere=plainly), ""


def _unlike(subject: Compared, sizes: Sizes, point: Point, precision: Precision, args: Sequence[Any]) -> dict[str, str]:
    """Return, by program, how a callable's results differ from the program that was proved."""
    general, how = subject.programs(precision.dtype), dict[str, str]()
    for name, function in subject.callables(sizes).items():
        for program, values in _outcome(function, name, point, precision, args).items():
            operands = [_narrow_integers(x, precision.wide) for x in point.of(program)]
            if text := unlike(values, general[program], operands, sizes, precision.dtype):
                how[program] = text
    return how


def _as_number(x: np.ndarray) -> Any:
    """A scalar as Python's number, an array as one of its own; keys as they are."""
    if kind_of(x.dtype) not in _NUMBERS:
        return x
    return x.item() if x.shape == () else x.copy()


def _outcome(
    function: Callable[..., Any], name: str, point: Point, precision: Precision, args: Sequence[Any]
) -> dict[str, list[np.ndarray]]:
    """Return the results of a call, by the names of the programs that were proved for them.

    `args` are the point's own arrays, which are passed as arrays of JAX, or Python's numbers and copies by numpy, which
    are passed as they are, with tangents or seeds by numpy. Raises ChangedError if the call changes these.
    """

    def array(x: np.ndarray) -> Any:
        return x if kind_of(x.dtype) == "k" else typed(_narrow_integers(x, precision.wide), False)

    names = BY_ONE_CALL.get(name, (name,))
    directions_given = point.tangents if "jvp" in names else point.seeds if "vjp" in names else None
    with wide_floats(precision.wide), computed_by(compute):
        given = [array(x) if x is own else x for x, own in zip(args, point.args, strict=True)]
        directions = [x.copy() if args is not point.args else array(x) for x in directions_given or []]
        groups = [given] if directions_given is None else [given, directions]
        results = function(*groups, [float(x) for x in point.scalars])
        if args is not point.args and any(
            a.tobytes() != b.tobytes() for a, b in zip(directions, directions_given or [], strict=True)
        ):
            raise ChangedError
        values = results if name in BY_ONE_CALL else (results,)
        return {n: [np.asarray(v) for v in value] for n, value in zip(names, values, strict=True)}


def _narrow_integers(values: np.ndarray, wide: bool) -> np.ndarray:
    return values.astype(np.int32) if values.dtype == np.int64 and not wide else values
