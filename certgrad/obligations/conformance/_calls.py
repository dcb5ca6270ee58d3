"""Calls of a rule outside of any trace, compared with the value of what was proved.

There JAX runs the rule's code on arrays: what asks whether it is traced is answered no. It is called in each dtype that
the claim is about, weak and strong, and several times with the same arguments, under `jit` and under `vmap`; what it
holds is looked at before and after. JAX hands on what is not differentiated as it was given, so it is called with
Python's numbers and numpy's arrays too: there `~True` is −2, and `x -= 1` changes the array of whoever calls.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from certgrad.errors import CertgradError

from ..tracing.jax_internals import EndlessError, computed_by, kind_of, typed, unremembered, wide_floats
from ._at_numbers import Difference, said, unlike, values_apart
from ._compared import Compared
from ._points import Point, sized
from ._precision import Precision, Sizes, numbers
from ._state import State
from ._values import compute

TIMES = 3


def precisions(dtypes: Sequence[str], either: bool) -> list[Precision]:
    """The dtypes, the weak ones that Python's numbers become, and float32 where JAX computes in 64 bits."""
    weak = [Precision(d, weak=True) for d in dtypes if d in ("float32", "float64")]
    return [
        *map(Precision, dtypes),
        *weak,
        *(Precision(d, under_x64=True) for d in dtypes if d == "float32" and either),
    ]


Plan = Mapping[Precision, Sequence[tuple[Sizes, int]]]
"""For each precision the places, and how often it is called there."""


def plan_of(places: Sequence[Sizes], dtypes: Sequence[str], calls: int | None = None, either: bool = True) -> Plan:
    """All precisions at each place, the first several times; or as much of it as so many calls allow."""
    listed = precisions(dtypes, either)
    if calls is not None and calls < TIMES + len(listed):
        return {p: [(places[0], 1)] for p in listed[:calls]}
    return {
        p: [(place, TIMES if not k and not n else 1) for n, place in enumerate(places) if not n or p.everywhere]
        for k, p in enumerate(listed)
    }


def called(subject: Compared, plan: Plan) -> tuple[Difference | None, list[str]]:
    """How calls differ from what was proved; and in which dtypes nothing could be called, with the reason."""
    state = State(subject.roots)
    refused: list[str] = []
    for precision, calls in plan.items():
        found, problem = _in_one(subject, calls, precision)
        if found is not None:
            return found, refused
        if problem:
            refused.append(f"{precision} ({problem})")
        if changed := state.changed():  # each time: after some more calls a cycle is where it was
            text = f"calls change {changed}, which outlives them: later calls may do other things"
            return Difference((), text, {}), []
    return None, refused


def _in_one(
    subject: Compared, calls: Sequence[tuple[Sizes, int]], precision: Precision
) -> tuple[Difference | None, str]:
    """In one dtype, at each place. A difference in half precision must show at each."""
    seen: list[Difference] = []
    problem, looked = "", 0
    for sizes, times in calls:
        point = subject.point(sizes, 0)
        if point is None:
            problem = "no point of the domain was found"
            continue
        here = point.rounded(precision.dtype)
        try:
            how = _compared(subject, sizes, here, precision, times)
        except Exception as error:  # a rule may refuse a dtype, in its own way
            problem = (
                _first_line(error)
                if isinstance(error, EndlessError)
                else f"{type(error).__name__}: {_first_line(error)}"
            )
            continue
        looked += 1
        if isinstance(how, str):
            return Difference((), how, sizes, precision.wide), ""
        if how:
            where = f" at {sized(subject.names, sizes)}" if subject.names else ""
            text = f"called{where} in {precision} it returns something else: {said(how)}"
            seen.append(Difference(tuple(how), text, sizes, precision.wide))
    if seen and (not precision.half or len(seen) == looked):
        return seen[0], ""
    if precision.half and not problem and not precision.weak:
        return _traced(subject, calls[0][0], precision), ""
    return None, problem


def _compared(subject: Compared, sizes: Sizes, point: Point, precision: Precision, times: int) -> dict[str, str] | str:
    """For each program, how the calls differ from it; a text where calls differ from one another."""
    general, out = subject.programs(precision.dtype), dict[str, str]()
    under_jit = subject.callables(sizes, under_jit=True) if times > 1 else {}
    for called_by, function in subject.callables(sizes).items():
        results = [outcome(function, called_by, point, precision) for _ in range(times)]
        looked = [("", point, results[0])]
        if times > 1 and (same := point.with_one_array()) is not None:
            looked.append(("", same, outcome(function, called_by, same, precision)))
        if times > 1:
            if called_by == "both" and (own := _with_own_value(point, results[0]["primal"])) is not None:
                looked.append((" for its own value", own, outcome(function, called_by, own, precision, pulled=True)))
            program = _as_one_program(under_jit[called_by])
            looked.append((" under jit", point, outcome(program, called_by, point, precision)))
            if (mapped := _mapped(subject, function, called_by, point, precision)) is not None:
                looked.append((" under vmap", point, mapped))
            plain = _plainly(subject, function, called_by, point, precision)
            if isinstance(plain, str):
                return plain
            looked += [(f" with {PLAIN}", point, plain)] if plain is not None else []
        for name in results[0]:
            texts = {b"".join(x.tobytes() for x in one[name]) for one in results}
            if len(texts) > 1:
                return f"called {times} times with the same, the {name} returned {len(texts)} values"
            for way, at, found in looked:
                operands = [_whole(x, precision.wide) for x in at.of(name)]
                if how := unlike(found[name], general[name], operands, sizes, precision.dtype):
                    out[name] = f"{how}{way}"
    return out


PLAIN = "numbers of Python's and arrays of numpy's"


def _plainly(
    subject: Compared, function: Callable[..., Any], name: str, point: Point, precision: Precision
) -> dict[str, list[np.ndarray]] | str | None:
    """What a call returns that is given numbers and numpy's arrays; None where it takes none. A text says what is wrong
    whatever it returns.
    """
    args = [_as_number(_whole(x, precision.wide)) for x in point.args]
    before = [x.tobytes() if isinstance(x, np.ndarray) else b"" for x in args]
    try:
        with np.errstate(all="ignore"):  # numpy warns of what JAX does not
            found = outcome(function, name, point, precision, args)
        subject.plainly = True
    except Exception as error:  # code for JAX's arrays may want one: x.at[…]
        subject.unseen[f"calls with {PLAIN} ({type(error).__name__}: {_first_line(error)})"] = None
        found = None
    if before != [x.tobytes() if isinstance(x, np.ndarray) else b"" for x in args]:
        return "calls change the arrays of numpy's that they are given"
    return found


def _mapped(
    subject: Compared, function: Callable[..., Any], name: str, point: Point, precision: Precision
) -> dict[str, list[np.ndarray]] | None:
    """What a call under `vmap` returns for the first of two equal points; None where the rule cannot be mapped."""

    def run(*groups: Any) -> Any:
        *arrays, scalars = groups
        twice = jax.tree.map(lambda x: jax.numpy.stack([x, x]), arrays)
        return jax.tree.map(lambda y: y[0], jax.vmap(lambda *one: function(*one, scalars))(*twice))

    try:
        found = outcome(run, name, point, precision)
        subject.mapped = True
        return found
    except Exception as error:  # not all that runs can be mapped
        subject.unseen[f"calls under vmap ({type(error).__name__}: {_first_line(error)})"] = None
        return None


def _as_number(x: np.ndarray) -> Any:
    """A scalar as Python's number, any other array as one of its own."""
    if kind_of(x.dtype) == "k":
        return x
    return x.item() if x.shape == () and x.dtype.kind in "fiub" else x.copy()


def _with_own_value(point: Point, value: Sequence[np.ndarray]) -> Point | None:
    """With what the function returns as its cotangent, as `y, pull = vjp(f, x); pull(y)` has it; None where not all of
    it is real and finite."""
    given, own = ([(x.shape, x.dtype) for x in arrays] for arrays in (point.seeds, value))
    return replace(point, seeds=list(value)) if given == own and all(map(_finite, value)) else None


def _finite(x: np.ndarray) -> bool:
    return bool(np.isfinite(x.astype(np.float64)).all())


def outcome(
    function: Callable[..., Any],
    name: str,
    point: Point,
    precision: Precision,
    args: Sequence[Any] | None = None,
    pulled: bool = False,
) -> dict[str, list[np.ndarray]]:
    """What a call returns, by the name of the program that says so. `args` are given as they are; if `pulled`, the
    cotangents are the very arrays that the function returns."""
    more = {"jvp": point.tangents, "vjp": point.seeds, "both": point.seeds}.get(name)
    with ExitStack() as stack:
        stack.enter_context(wide_floats(precision.wide))
        stack.enter_context(computed_by(compute))

        made: dict[tuple[int, bool], Any] = {}

        def array(x: np.ndarray, weak: bool) -> Any:
            """One array of JAX's for one of numpy's, also where that stands at several places."""
            if kind_of(x.dtype) == "k":
                return x
            weak = weak and x.dtype == np.dtype(precision.dtype)
            if (found := made.get((id(x), weak))) is None:
                found = made[id(x), weak] = typed(_whole(x, precision.wide), weak)
            return found

        given = [array(x, precision.weak) for x in point.args] if args is None else list(args)
        groups: list[Any] = [given]
        if more is not None:
            groups.append(None if pulled else [array(x, False) for x in more])
        found = function(*groups, [float(x) for x in point.scalars])
        if name != "both":
            return {name: numbers(found)}
        return dict(zip(("primal", "vjp"), map(numbers, found), strict=True))


def _as_one_program(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function by the program that JAX makes of it under `jit`.

    There one call of a helper may be served with the program of another whose static arguments are equal to its own,
    which a proof, and a call outside of `jit`, follows by itself.
    """

    def run(*operands: Any) -> Any:
        with unremembered():
            program, shapes = jax.make_jaxpr(function, return_shape=True)(*operands)
        found = jax.core.eval_jaxpr(program.jaxpr, program.consts, *jax.tree.leaves(operands))
        return jax.tree.unflatten(jax.tree.structure(shapes), found)

    return run


def _whole(values: np.ndarray, wide: bool) -> np.ndarray:
    return values.astype(np.int32) if values.dtype == np.int64 and not wide else values


def _traced(subject: Compared, sizes: Sizes, precision: Precision) -> Difference | None:
    """A trace in half precision, which is where rules under `jit` meet it."""
    try:
        found = subject.at(sizes, precision.dtype)
    except CertgradError:
        return None
    how = values_apart(subject, subject.programs(precision.dtype), found, sizes, precision.dtype, everywhere=True)
    if not how:
        return None
    return Difference(tuple(how), f"traced in {precision} it is another program: {said(how)}", sizes, False)


def _first_line(error: Exception) -> str:
    lines = inspect.cleandoc(str(error)).splitlines()
    return lines[0][:100].rstrip(" .:") if lines else ""
