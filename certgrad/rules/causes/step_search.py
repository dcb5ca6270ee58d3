"""A wrong rule at some points, where numpy evaluates its backward with a changed step in microseconds.

A change that is right at all of the points is worth a proof (`changes.py` says which changes are tried).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, cycle, islice
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from certgrad._subject import Rules
from certgrad.jaxpr.kinds import KEEPS_CONSTANTS
from certgrad.obligations.certificate import Witness
from certgrad.obligations.floats import Setting, applied
from certgrad.obligations.floats import run as evaluated
from certgrad.obligations.generality.instances import family
from certgrad.obligations.tracing.jax_internals import own_lines, trace, wide_floats
from certgrad.rules.subject.layers import backward_of
from certgrad.rules.subject.returned import with_own_lines
from certgrad.rules.subject.traced import primal_of
from certgrad.rules.subject.user_rule import UserRule
from certgrad.signatures.sizes import integer_size

from .plausible import drawn
from .steps import Act, Change, Key, Run, Step, Steps, ValueRef
from .words import place_of_step, word_of

MAX_STEPS = 150
"""Steps of a backward in which changes are tried; a longer one is not searched."""
MAX_VALUES = 30
"""Known values that are tried in the place of another at one step; further ones are not."""
MAX_TOGETHER = 4
"""Steps that together may be a mistake, at most."""
MAX_FIRST = 2
"""Changes that mend some entries after which a second change is searched for, at most."""
MAX_PARTS = 3
"""Changes of one step, each of which mends some entries, that are kept, at most."""
TOLERANCE = 1e-9
"""The relative gap up to which an entry is right at a point."""
SIZES = ((3, 4, 5, 2, 7), (5, 3, 4, 7, 2))
"""Sizes at which changes are tried; no product or quotient of two of them is the same at both."""


_Place = tuple[dict[str, int], list, list]
"""Sizes by name, arguments and seeds: what a point is evaluated at."""


@dataclass(frozen=True)
class Point:
    """The run of the backward at one point, the cotangent that it returned, and the right one."""

    sizes: Mapping[str, int]
    run: Run
    returned: np.ndarray
    right: np.ndarray

    def with_acts(self, acts: Mapping[Key, Act]) -> Point:
        """Return the point with some steps replaced."""
        run = Run(self.run.program, self.run.inputs, self.run.apply, self.run.literal, np, self.run.statics, acts)
        return replace(self, run=run, returned=run.all()[0])


@dataclass(frozen=True)
class _Part:
    """A change of a step with which more entries of the cotangent are right, and none becomes wrong."""

    change: Change
    right: np.ndarray
    """Which entries are right with the change, as booleans."""


@contextmanager
def in_own_lines(one: UserRule) -> Iterator[None]:
    """Attribute the equations of a rule that is traced inside the context to the rule's own lines, whoever calls it."""
    bwd = backward_of(one.custom)
    with own_lines(), nullcontext() if bwd is None else with_own_lines(*bwd):
        yield


def numbers_of(one: UserRule) -> Mapping[str, float]:
    """Return the real numbers among its static arguments."""
    return {name: value for name, value in one.cases[0].statics.items() if type(value) is float}


def backward(rules: Rules, count: int, params: list) -> Callable[..., list]:
    """Return the backward as a function of `count` arguments and then the cotangents of the outputs.

    Each cotangent is copied first, so that a step of the program gives it, which can be changed as any other.
    """
    return lambda *xs: rules.vjp(list(xs[:count]), [jnp.copy(x) for x in xs[count:]], params)


@dataclass
class Search:
    """The search for a change of the backward that is right at some points.

    The constructor raises ValueError if there is nothing to search, and whatever the rule raises when it is traced.
    """

    one: UserRule
    rules: Rules
    witness: Witness | None
    points: list[Point] = field(default_factory=list)
    _parts: dict[Key, list[_Part]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Trace the backward and the right cotangent, and evaluate both at the points.

        Raises ValueError if the backward has too many steps, or is right at all of the points.
        """
        self.instance = family(self.one, self.one.cases[0]).prove[0]
        self.statics = numbers_of(self.one)
        with wide_floats():
            inputs = self.instance.shapes().structs("float64")
            count = len(inputs)
            with in_own_lines(self.one):
                forward = trace(lambda *xs: self.rules.forward(list(xs), []), inputs)
            outs = [v.aval for v in forward.jaxpr.outvars]
            seeds = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in outs]
            with in_own_lines(self.one):
                program = trace(backward(self.rules, count, []), [*inputs, *seeds])
            right = trace(_adjoint(self.one, self.rules, count), [*inputs, *seeds])
        self.program, self.seeds = Steps.of(program.jaxpr, program.consts), len(seeds)
        if len(self.program.live()) > MAX_STEPS:
            raise ValueError
        self._shared = {s.key[1] for s in Steps.of(forward.jaxpr, forward.consts).steps}
        for places in self._places(outs):
            self.points += islice(filter(None, (self._at(right, *place) for place in places)), 1)
        self.points.sort(key=lambda at: _has_same_entries(at.returned, at.right))  # points where it is wrong first
        if not self.points or _has_same_entries(self.points[0].returned, self.points[0].right):
            raise ValueError
        self._first = _entries(self.points[0].returned, self.points[0].right)

    def _at(self, right: Any, sizes: dict[str, int], args: list, seeds: list) -> Point | None:
        """Return the point of these values; None if the right cotangent is not finite there."""
        setting, values = Setting(sizes), [*args, *seeds]
        with np.errstate(all="ignore"):
            due = evaluated(right, values, setting)[0]
            if not np.all(np.isfinite(due)):
                return None
            run = Run(self.program, values, _numerically(setting), lambda v: np.asarray(v.val), np, self.statics)
            return Point(sizes, run, run.all()[0], due)

    def _places(self, outs: Sequence[Any]) -> Iterator[Iterator[_Place]]:
        """Yield sources of points, of each of which one point is used.

        Two sources draw arguments and seeds, each at one choice of sizes; the third has the witness alone. Points with
        negative integers, which count from the end as indices, are left out.
        """

        def at(sizes: dict[str, int], k: int) -> Iterator[_Place]:
            numbers = {n: integer_size(v) for n, v in sizes.items()}
            for args, rng in drawn(self.one, self.instance, numbers, self.one.domain, seed=k):
                if not any(map(_counts_back, args)):
                    yield sizes, args, [rng.standard_normal(_shape(aval, sizes)) for aval in outs]

        for k, numbers in enumerate(SIZES):
            yield at(dict(zip(self.instance.names, cycle(numbers), strict=False)), k)
        if self.witness is not None and {*self.witness.dims} >= {*self.instance.names}:
            inputs, seeds = self.witness.inputs, self.witness.seeds
            sizes = {n: self.witness.dims[n] for n in self.instance.names}
            args = [_array(inputs[n], d) for n, d in zip(self.one.arg_names, self.instance.dtypes, strict=True)]
            fit = all(x.ndim == len(dims) for x, dims in zip(args, self.instance.inputs, strict=True))
            if fit and not any(map(_counts_back, args)):
                own_seeds = [_array(x, "float") for x in seeds.values()]
                yield iter([(sizes, args, own_seeds or [np.ones(_shape(aval, sizes)) for aval in outs])])

    def live(self, own: bool) -> list[Step]:
        """Return the steps with one output that the result depends on, the last one first.

        If `own`, only steps of source lines that the backward alone runs; else steps of lines that the function runs as
        well.
        """
        steps = reversed(self.program.live())
        return [s for s in steps if len(s.outs) == 1 and (s.key[1] in self._shared) != own]

    def tried(self, step: Step, what: str, act: Act) -> Iterator[Change]:
        """Yield the change of a step to `act`, described by `what`, if the cotangent is right with it at all points.

        A change that is not right is noted if it mends a part of the entries.
        """
        change = Change(what, {step.key: act})
        for k, at in enumerate(self.points):
            try:
                value, before = np.asarray(act(at.run, step)), at.run.values[step.outs[0]]
                if value.shape != np.shape(before):
                    return
                out = at.run.with_value(step, value.astype(before.dtype, copy=False))[0]
            except Exception:  # the changed step does not run, or a later step on its value
                return
            if not _has_same_entries(out, at.right):
                self._note(step, change, np.ones_like(self._first) if k else _entries(out, at.right))
                return
        yield change

    def _note(self, step: Step, change: Change, right: np.ndarray) -> None:
        """Keep a change that makes more entries `right` and none wrong, if no other change of this step mends more."""
        parts = self._parts.setdefault(step.key, [])
        most = parts[0].right.sum() if parts else self._first.sum() + 1
        if right.shape == self._first.shape and np.all(right >= self._first) and right.sum() >= most:
            self._parts[step.key] = [p for p in parts if p.right.sum() == right.sum()][: MAX_PARTS - 1]
            self._parts[step.key].append(_Part(change, right))

    def together(self) -> Iterator[Change]:
        """Yield changes of several steps that each mend some of the entries, as in a loop that Python unrolls."""
        for k in range(MAX_PARTS):
            change = self._together([parts[k] for parts in self._parts.values() if len(parts) > k])
            if change is not None and self.is_right_with(change.acts):
                yield change

    def _together(self, parts: Sequence[_Part]) -> Change | None:
        """Return a change of several steps that together mend all entries; None if there is none.

        The steps are chosen greedily: always the one that mends most of the entries that are still wrong.
        """
        chosen: list[_Part] = []
        covered = self._first
        while not np.all(covered):
            best = max(parts, key=lambda p: (p.right & ~covered).sum(), default=None)
            if best is None or not np.any(best.right & ~covered) or len(chosen) == MAX_TOGETHER:
                return None
            covered = covered | best.right
            chosen.append(best)
        acts = {key: act for part in chosen for key, act in part.change.acts.items()}
        return Change("; ".join(dict.fromkeys(p.change.text for p in chosen)), acts) if len(acts) > 1 else None

    def is_right_with(self, acts: Mapping[Key, Act]) -> bool:
        """Return whether the cotangent is right at all points if the steps of these keys are replaced by acts."""
        try:
            return all(_has_same_entries(at.with_acts(acts).returned, at.right) for at in self.points)
        except Exception:  # a step does not run on what it is given
            return False

    def after(self) -> Iterator[tuple[Change, Search]]:
        """Yield the changes that make most entries right, each with the search that starts from the rule so changed.

        That search finds a second change. A first change counts only if it makes no right entry wrong at any point.
        """
        before = [_entries(at.returned, at.right) for at in self.points]
        candidates: list[tuple[int, Change, list[Point]]] = []
        for change in (p.change for parts in self._parts.values() for p in parts):
            try:
                with np.errstate(all="ignore"):
                    points = [at.with_acts(change.acts) for at in self.points]
            except Exception:  # as above
                continue
            if any(at.returned.shape != at.right.shape for at in points):
                continue  # as where a step that ends up with fewer entries was changed
            right = [_entries(at.returned, at.right) for at in points]
            if all(np.all(now >= then) for now, then in zip(right, before, strict=True)):
                candidates.append((sum(map(np.sum, right)), change, points))
        for _, change, points in sorted(candidates, key=lambda candidate: -candidate[0])[:MAX_FIRST]:
            rest = copy(self)
            rest.points, rest._parts, rest._first = points, {}, _entries(points[0].returned, points[0].right)
            yield change, rest

    def alike(self, step: Step, than: Key, *others: Key, kind: str = "") -> list[ValueRef]:
        """Return the values computed before a step that could take the place of the value `than`, the latest first.

        Their shape is that of `than` or of one of `others`, or fits some of the axes of the step's value. Their dtype
        is that of `than`, or any of the `kind` if one is given. Values with the same entries as `than`, or as a value
        listed already, are left out.
        """
        run = self.points[0].run
        old = np.asarray(run.values[than])
        shapes = {np.shape(run.values[key]) for key in (than, *others)}
        of_step = np.shape(run.values[step.outs[0]])
        out: list[ValueRef] = []
        seen_arrays = [old]
        for key, value in reversed(list(run.before(step))):
            value = np.asarray(value)
            if key == than or (value.dtype.kind != kind if kind else value.dtype != old.dtype):
                continue
            refs = [ValueRef(key)]
            if value.shape not in shapes:
                refs = [ValueRef(key, axes, len(of_step)) for axes in _possible_axes(value, of_step)]
            for ref in refs:
                array = ref.value(run)
                if not any(np.array_equal(array, seen) for seen in seen_arrays):
                    out.append(ref)
                    seen_arrays.append(array)
        return out[:MAX_VALUES]

    def arguments_along(self, step: Step) -> list[ValueRef]:
        """Return the float arguments of another shape that broadcast to that of a step's value, as a scale does."""
        run, shape = self.points[0].run, np.shape(self.points[0].run.values[step.outs[0]])
        floats = [key for key, value in run.before(step) if key[0] == "in" and np.asarray(value).dtype.kind == "f"]
        return [
            ValueRef(key) for key in floats if np.shape(run.values[key]) != shape and _goes_with(run.values[key], shape)
        ]

    def maker(self, key: Key | None) -> Step | None:
        """Return the step that gives the value of a key; None for inputs and constants."""
        return next((s for s in self.program.steps if key in s.outs), None)

    def origin(self, key: Key | None) -> Step | None:
        """Return the step that gives a value, behind all steps that only hand it on (reshapes, casts, broadcasts).

        None is returned if that is an input or a constant.
        """
        step = self.maker(key)
        while step is not None and step.eqn.primitive.name in KEEPS_CONSTANTS:
            step = self.maker(step.operands[0].key)
        return step

    def is_cotangent(self, key: Key | None) -> bool:
        """Return whether a value is a cotangent that the backward is given, of an output."""
        step = self.maker(key)
        made_of = step.operands[0].key if step is not None and step.operands else None
        return made_of is not None and made_of[0] == "in" and made_of[1] >= len(self.one.arg_names)

    def named(self, known: ValueRef | Key) -> str:
        """Return a value in words: an argument's name, `the cotangent of the output`, or the step that gives it."""
        if isinstance(known, ValueRef):
            axes = known.axes or ()
            as_numpy = not axes or axes[0] + len(axes) == known.rank  # its axes are the last ones
            return self.named(known.key) + ("" if as_numpy else f" along axis {' and '.join(map(str, axes))}")
        if known[0] == "in":
            k = known[1] - len(self.one.arg_names)
            of = f"output {k}" if self.seeds > 1 else "the output"
            return self.one.arg_names[known[1]] if k < 0 else f"the cotangent of {of}"
        if known[0] == "const":
            return "a constant"
        step = self.maker(known)
        assert step is not None
        passed = self._passed_on(step)
        return self._worded(step) if passed is None else self.named(passed)

    def _passed_on(self, step: Step) -> Key | None:
        """Return the key of the value that a step only hands on; None if the step computes something.

        JAX makes `select(i < 0, i + n, i)` of an index i that may count from the end; that step hands on i.
        """
        if step.eqn.primitive.name == "select_n" and len(step.operands) == 3:
            wrapped = self.maker(step.operands[2].key)
            index = step.operands[1].key
            return (
                index
                if wrapped is not None and index in [o.key for o in wrapped.operands] and _is_index(step)
                else None
            )
        return step.operands[0].key if step.eqn.primitive.name in KEEPS_CONSTANTS else None

    def the(self, step: Step) -> str:
        """Return a step in words, with its place in the source.

        "(as the rule uses it)" is added for a line that the function runs as well.
        """
        passed = self._passed_on(step)
        if passed is not None and passed[0] == "in":
            return self.named(passed) + place_of_step(step.placed)
        text = self._worded(step)
        if step.key[1] not in self._shared or " in line " not in text:
            return text
        return (
            f"{text.removesuffix(')')}, as the rule uses it)" if text.endswith(")") else f"{text} (as the rule uses it)"
        )

    def _worded(self, step: Step) -> str:
        return f"the {word_of(step.eqn.primitive.name)}{place_of_step(step.placed)}"


def _is_index(step: Step) -> bool:
    return bool(np.issubdtype(step.eqn.outvars[0].aval.dtype, np.integer))


def _counts_back(array: np.ndarray) -> bool:
    """Return whether an array has negative integers, which count from the end as indices.

    Points with such integers are not used: most code does not mean them, and its rule may treat them differently.
    """
    return array.dtype.kind == "i" and bool(np.any(array < 0))


def _possible_axes(value: np.ndarray, shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the choices of axes of `shape` whose lengths are those of a value with fewer axes, in order.

    Nothing is yielded for a scalar, or for a value with as many axes.
    """
    if 0 < value.ndim < len(shape):
        for axes in combinations(range(len(shape)), value.ndim):
            if all(shape[a] == n for a, n in zip(axes, value.shape, strict=True)):
                yield axes


def _goes_with(value: Any, shape: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(np.shape(value), shape) == shape
    except ValueError:
        return False


def _adjoint(one: UserRule, rules: Rules, count: int) -> Callable[..., list]:
    """Return a function of `count` arguments and the seeds that gives the right cotangent of the active argument.

    It is what JAX computes from the primal function, without the rule.
    """

    def run(*xs: Any) -> list:
        function, x = primal_of(one, rules, list(xs[:count]))
        return list(jax.vjp(function, x)[1](list(xs[count:])))

    return run


def _numerically(setting: Setting) -> Callable[[Any, list], list]:
    return lambda eqn, operands: applied(eqn, [np.asarray(x) for x in operands], setting)


def _shape(aval: Any, sizes: Mapping[str, int]) -> tuple[int, ...]:
    return Setting(sizes).size(tuple(aval.shape))


def _array(value: Any, dtype: str) -> np.ndarray:
    def number(x: Any) -> Any:
        if isinstance(x, list):
            return [number(y) for y in x]
        return x if dtype in ("int", "bool") else float(Fraction(x))

    return np.asarray(number(value), {"int": "int32", "bool": "bool"}.get(dtype, "float64"))


def _entries(one: Any, other: np.ndarray) -> np.ndarray:
    """Return as booleans which entries of a result are right, up to `TOLERANCE`; none are if the shapes differ."""
    one = np.asarray(one)
    if one.shape != other.shape:
        return np.zeros(other.shape, bool)
    largest = max(float(np.max(np.abs(other), initial=0)), 1e-3)
    return np.isfinite(one) & (np.abs(one - other) <= TOLERANCE * largest)


def _has_same_entries(one: Any, other: np.ndarray) -> bool:
    return np.shape(one) == other.shape and bool(np.all(_entries(one, other)))
