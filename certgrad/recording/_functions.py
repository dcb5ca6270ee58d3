"""Functions that a run differentiated, and their certificates.

They are the functions given to `jax.grad`, `value_and_grad`, `vjp` and `linearize`, with the shapes of their calls.
"""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from certgrad.errors import CertgradError
from certgrad.graph import certify, trace
from certgrad.graph.wording.report import excluded, grouped
from certgrad.obligations.generality.likeness import Likeness
from certgrad.obligations.generality.state import ReadState
from certgrad.obligations.tracing.jax_internals import weakly_typed
from certgrad.process.threads import PROCESS_LOCK
from certgrad.rules.subject.layers import plain_function, unwrapped

from ._audit import CHANGED_DURING_RUN, located
from ._limit import OverError, limited
from ._notes import COUNTED_PACKAGES

MAX_FUNCTIONS = 64
MAX_ENTRIES = 1 << 20
"""Entries of a call's arrays, at most, for copies of them to be kept."""
MAX_SHAPES = 2
"""For one function, calls of at most this many different shapes are examined."""


@dataclass(frozen=True)
class Point:
    """The arguments of a call: arrays by their shapes and dtypes, other objects as they are."""

    tree: Any
    """The tree of the positional and keyword arguments."""
    leaves: tuple[Any, ...]
    """The leaves of that tree. A Python number is a weakly typed array, and passed on as one: with bfloat16 it gives
    bfloat16, not float32."""
    arrays: tuple[Any, ...] | None
    """Copies of the arrays, at which the hypotheses are evaluated; None where they were traced or are large."""

    @property
    def specs(self) -> tuple[Any, ...]:
        """Return specs of the positional arguments, then of those by name as a dict; None stands for other objects."""
        arrays = iter(self.arrays or filter(_is_shape, self.leaves))
        args, kwargs = jax.tree.unflatten(self.tree, [next(arrays) if _is_shape(x) else None for x in self.leaves])
        return (*args, kwargs)

    def filled(self, values: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments with arrays in the place of shapes, nested as in `specs`."""
        arrays = iter(jax.tree.leaves(list(values)))
        leaves = [_as(x, next(arrays)) if _is_shape(x) else x for x in self.leaves]
        args, kwargs = jax.tree.unflatten(self.tree, leaves)
        return list(args), kwargs


@dataclass
class Function:
    """A function that was differentiated."""

    function: Callable[..., Any]
    has_aux: bool
    points: dict[Hashable, Point] = field(default_factory=dict)
    count: int = 0
    problem: str = ""
    state: ReadState | None = None
    """The state that its code reads, as it was at the first call."""


@dataclass(frozen=True)
class Differentiated:
    """The result for a function that was differentiated: its verdict, or the reason why there is none."""

    name: str
    where: str
    count: int
    verdict: str
    hypotheses: tuple[str, ...] = ()
    shapes: str = ""
    reason: str = ""
    seconds: float = 0.0
    left: str = ""
    """The calls that nothing is claimed of, in words."""


class Functions:
    """The functions that were differentiated in this process."""

    def __init__(self) -> None:
        self.found: dict[Hashable, Function] = {}
        self.more = 0
        """The number of calls of functions beyond `MAX_FUNCTIONS`, which are not kept."""
        self._process = os.getpid()

    def note(self, function: Any, has_aux: bool, args: tuple, kwargs: dict) -> None:
        """Note a call of a user's function; not one in a forked process, nor of a function of JAX or certgrad."""
        plain = plain_function(unwrapped(function))
        package = str(getattr(plain, "__module__", "")).partition(".")[0]
        if os.getpid() != self._process or package in COUNTED_PACKAGES:
            return
        with PROCESS_LOCK:
            likeness = Likeness(function)
            key = (likeness.key, has_aux)
            if key not in self.found and len(self.found) >= MAX_FUNCTIONS:
                self.more += 1
                return
            noted = self.found.setdefault(key, Function(function, has_aux))
            noted.count += 1
            if likeness.traced:  # its trace has ended by the time of the audit, and must not be kept
                noted.function, noted.problem = plain, f"it closes over a traced value ({likeness.traced[0]})"
                return
            if noted.state is None:
                noted.state = ReadState(function)
            else:
                noted.state.called()
            leaves, tree = jax.tree.flatten((args, dict(kwargs)))
            shapes = [_shape(x) for x in leaves]
            shapes_key = (str(tree), *map(str, shapes))
            if shapes_key not in noted.points and len(noted.points) < MAX_SHAPES:
                noted.points[shapes_key] = Point(tree, tuple(shapes), _copies(leaves, shapes))


def _is_shape(x: Any) -> bool:
    return isinstance(x, jax.ShapeDtypeStruct)


def _shape(x: Any) -> Any:
    """Return the shape and dtype of an array, without its values; numbers are arrays here, as JAX takes them."""
    if isinstance(x, (bool, int, float)) or (hasattr(x, "shape") and hasattr(x, "dtype")):
        kind = jax.typeof(x)
        return jax.ShapeDtypeStruct(kind.shape, kind.dtype, weak_type=bool(getattr(kind, "weak_type", False)))
    return x


def _as(shape: Any, value: Any) -> Any:
    """Return an array as the call had it: weakly typed if the call's was."""
    return weakly_typed(value) if shape.weak_type else value


def _copies(leaves: Sequence[Any], shapes: Sequence[Any]) -> tuple[Any, ...] | None:
    """Return copies of a call's arrays, since the program may change or donate them; None if traced or too large."""
    arrays = [x for x, shape in zip(leaves, shapes, strict=True) if _is_shape(shape)]
    if (
        any(isinstance(x, jax.core.Tracer) for x in arrays)
        or sum(s.size for s in filter(_is_shape, shapes)) > MAX_ENTRIES
    ):
        return None
    return tuple(jnp.array(x) for x in arrays)


def certified(functions: Functions, seconds: float) -> Iterator[Differentiated]:
    """Yield the result of each function at the shapes of each of its calls, with `seconds` for each result."""
    for noted in functions.found.values():
        if noted.state is not None:
            noted.state.compare()  # before any function runs again and changes state
    for noted in functions.found.values():
        located_at = located(unwrapped(noted.function))
        name, where = located_at.name, located_at.where
        if noted.problem:
            yield Differentiated(name, where, noted.count, "not certified", reason=noted.problem)
        changed = noted.state.difference if noted.state is not None else ""
        left_text = f"no claim is made about some calls: {CHANGED_DURING_RUN}: {changed}" if changed else ""
        for point in noted.points.values():
            started = time.perf_counter()
            verdict, hypotheses, reason = "not certified", tuple[str, ...](), ""
            try:
                with limited(seconds):
                    certificate = certify(trace(_in_arguments(noted, point), *point.specs, name=name))
                verdict, hypotheses = certificate.verdict, tuple(grouped(certificate))
                reason = "; ".join([*excluded(certificate), *certificate.findings])
            except OverError:
                reason = f"it took more than {seconds:g} seconds"
            except CertgradError as error:
                reason = str(error)
            except Exception as error:  # the program's code may raise anything when it is traced again
                reason = f"{type(error).__name__}: {error}"
            spent = time.perf_counter() - started
            shapes = _shapes_text(point)
            yield Differentiated(name, where, noted.count, verdict, hypotheses, shapes, reason, spent, left_text)


def _in_arguments(found: Function, point: Point) -> Callable[..., Any]:
    """Return the function of the arguments in `specs`, without the auxiliary output.

    It is certified in all float arguments, also in those by which it was not differentiated.
    """

    def run(*values: Any) -> Any:
        args, kwargs = point.filled(values)
        out = found.function(*args, **kwargs)
        return out[0] if found.has_aux else out

    with suppress(TypeError, ValueError):
        run.__signature__ = inspect.signature(found.function)  # type: ignore[attr-defined]  # for the arguments' names
    return run


def _shapes_text(point: Point) -> str:
    """Return the shapes of the arrays in arguments: `float32[8, 3], int32[8]`."""
    arrays = list(filter(_is_shape, point.leaves))
    texts = [f"{x.dtype}[{', '.join(map(str, x.shape))}]" for x in arrays[:6]]
    return ", ".join([*texts, *(["…"] if len(arrays) > 6 else [])])
