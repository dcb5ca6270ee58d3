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
    """Whether JAX computes in 64 bits, where no dtype is given, although the arrays have a narrower dtype."""

    @property
    def wide(self) -> bool:
        """Whether JAX computes in 64 bits where no dtype is given."""
        return self.dtype == "float64" or self.under_x64

    @property
    def half(self) -> bool:
        return self.dtype in ("float16", "bfloat16")

    def __str__(self) -> str:
        return f"{self.dtype}{' under x64' if self.under_x64 else ''}"


def precisions(dtypes: Sequence[str]) -> list[Precision]:
    """Return the precisions of calls: each dtype once; float16 is called while JAX computes in 64 bits."""
    return [Precision(d, under_x64=d == "float16") for d in dtypes]


POINTS = 3
"""At this many points scalars are given as Python's numbers."""
TRIES = 4
"""At most this many points are drawn until a rule accepts integers as they are."""
_NUMBERS = ("f", "i", "u", "b")
PLAIN = "numbers of Python's and arrays of numpy's"


CHANGED = "calls change the arrays of numpy's that they are given"


class ChangedError(Exception):
    """A call changes the tangents or cotangents that it is given."""


def compare_call(
    subject: Compared, place: Sizes, second: Sizes, precision: Precision, plainly: bool = False
) -> tuple[Difference | None, str]:
    """Return how a call in one dtype differs from what was proved, or None, and why it could not be made, or "".

    With `plainly`, numbers of Python and arrays of numpy are passed where the rule takes them, as JAX hands on what it
    is given. There `~True` is −2, `True + True` is 2, and `x -= 1` changes the caller's array. The effect of such a
    number may depend on its value, so that scalars are given at several points. `place` holds the sizes of the call. A
    difference in half precision, where few units of rounding count, must show at the sizes `second` too.
    """
    difference, problem = _compare_at_point(subject, place, precision, plainly)
    for k in range(1, TRIES if plainly and subject.integers and subject.unseen else 1):
        unseen_before = {**subject.unseen}  # numpy refuses an index out of range, as JAX does not: try other points
        subject.unseen.clear()
        difference, problem = _compare_at_point(subject, place, precision, plainly, k)
        if not subject.unseen:
            break
        subject.unseen.update(unseen_before)
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
    """Return how a call in one precision differs from the trace, or None, and why it could not be made, or "".

    With `plainly`, numbers of Python and arrays of numpy are passed; if the rule refuses them, JAX's are. `which` is
    the number of the drawn point.
    """
    point = subject.point(sizes, which)
    if point is None:
        return None, "no point of the domain was found"
    point = point.rounded(precision.dtype)
    passed = [_as_number(x) if plainly else x for x in point.args]
    plainly = any(a is not x for a, x in zip(passed, point.args, strict=True))
    bytes_before = [x.tobytes() if isinstance(x, np.ndarray) else b"" for x in passed]
    try:
        differences = _unlike(subject, sizes, point, precision, passed if plainly else point.args)
    except ChangedError:
        return Difference((), CHANGED, {}, anywhere=True), ""
    except EndlessError as error:
        return None, first_line(error, 100)
    except Exception as error:  # a rule may refuse a dtype, by any error; code may need an array of JAX: x.at[…]
        if not plainly:
            return None, f"{type(error).__name__}: {first_line(error, 100)}"
        subject.unseen[f"calls with {PLAIN} ({type(error).__name__}: {first_line(error, 100)})"] = None
        try:
            differences = _unlike(subject, sizes, point, precision, point.args)
        except Exception as problem:
            return None, f"{type(problem).__name__}: {first_line(problem, 100)}"
    where = f"at {sized(subject.names, sizes)} " if subject.names else ""
    if bytes_before != [x.tobytes() if isinstance(x, np.ndarray) else b"" for x in passed]:
        return Difference((), CHANGED, {}, anywhere=True), ""
    if not differences:
        return None, ""
    plain = f" with {PLAIN}" if plainly else ""
    text = f"called {where}in {precision}{plain} it returns something else: {in_words(differences)}"
    return Difference(tuple(differences), text, sizes, precision.wide, anywhere=plainly), ""


def _unlike(subject: Compared, sizes: Sizes, point: Point, precision: Precision, args: Sequence[Any]) -> dict[str, str]:
    """Return, by the names of programs, how the results of calls differ from theirs; empty if they do not."""
    general, differences = subject.programs(precision.dtype), dict[str, str]()
    for name, function in subject.callables(sizes).items():
        for program, values in _outcome(function, name, point, precision, args).items():
            operands = [_narrow_integers(x, precision.wide) for x in point.of(program)]
            if text := unlike(values, general[program], operands, sizes, precision.dtype):
                differences[program] = text
    return differences


def _as_number(x: np.ndarray) -> Any:
    """Return a scalar as Python's number, an array as a copy, and random keys as they are."""
    if kind_of(x.dtype) not in _NUMBERS:
        return x
    return x.item() if x.shape == () else x.copy()


def _outcome(
    function: Callable[..., Any], name: str, point: Point, precision: Precision, args: Sequence[Any]
) -> dict[str, list[np.ndarray]]:
    """Return the results of a call, by the names of the programs that were proved for them.

    If `args` are the point's own arrays, they and the tangents or seeds are passed as arrays of JAX. Else `args` holds
    Python's numbers and copies by numpy, which are passed as they are, and so are copies of tangents or seeds. Raises
    ChangedError if the call changes these.
    """

    def array(x: np.ndarray) -> Any:
        return x if kind_of(x.dtype) == "k" else typed(_narrow_integers(x, precision.wide), False)

    names = BY_ONE_CALL.get(name, (name,))
    directions_given = point.tangents if "jvp" in names else point.seeds if "vjp" in names else None
    with wide_floats(precision.wide), computed_by(compute):
        passed = [array(x) if x is point_array else x for x, point_array in zip(args, point.args, strict=True)]
        directions = [x.copy() if args is not point.args else array(x) for x in directions_given or []]
        groups = [passed] if directions_given is None else [passed, directions]
        results = function(*groups, [float(x) for x in point.scalars])
        if args is not point.args and any(
            a.tobytes() != b.tobytes() for a, b in zip(directions, directions_given or [], strict=True)
        ):
            raise ChangedError
        values = results if name in BY_ONE_CALL else (results,)
        return {n: [np.asarray(v) for v in value] for n, value in zip(names, values, strict=True)}


def _narrow_integers(values: np.ndarray, wide: bool) -> np.ndarray:
    return values.astype(np.int32) if values.dtype == np.int64 and not wide else values
