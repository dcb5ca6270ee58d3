"""One step of a wrong rule done otherwise: which single change of what its backward computes makes it right.

Every change of a catalogue is tried at some points by numpy, where a step costs microseconds. What is right at all of
them is a mistake worth a proof.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, cycle, islice
from typing import Any

import jax
import numpy as np

from certgrad._subject import Rules
from certgrad.obligations.certificate import Witness
from certgrad.obligations.floats import Setting, applied
from certgrad.obligations.floats import run as evaluated
from certgrad.obligations.generality.instances import family
from certgrad.obligations.terms.budget import budget
from certgrad.obligations.tracing.jax_internals import own_lines, trace, wide_floats
from certgrad.signatures.sizes import whole

from . import _acts
from ._layers import backward_of
from ._plausible import drawn, primal_of
from ._returned import with_own_lines
from ._steps import Act, Key, Operand, Run, Step, Steps
from ._user_rule import UserRule
from ._words import place_of_step, word_of

SECONDS = 1.0
"""For trying changes of one argument's cotangent, of processor time."""
MAX_STEPS = 150
MAX_VALUES = 30
"""So many of the values known at a step are tried in the place of another."""
TOLERANCE = 1e-9
LARGEST = 10**7
"""Numerators and denominators of factors."""
SIZES = ((2, 3, 5, 4, 7), (3, 2, 4, 7, 5))
_FUNCTIONS: dict[str, tuple[str, ...]] = {
    "add": ("subtract", "multiply"),
    "add_any": ("subtract", "multiply"),
    "sub": ("add", "divide"),
    "mul": ("divide", "add"),
    "div": ("multiply", "subtract"),
    "max": ("minimum",),
    "min": ("maximum",),
    "sin": ("cos", "sinh"),
    "cos": ("sin", "cosh"),
    "sinh": ("cosh",),
    "cosh": ("sinh",),
    "exp": ("expm1", "exp2"),
    "expm1": ("exp",),
    "exp2": ("exp",),
    "log": ("log1p",),
    "log1p": ("log",),
    "tanh": ("tan", "arctan"),
    "gt": ("greater_equal", "less"),
    "ge": ("greater", "less_equal"),
    "lt": ("less_equal", "greater"),
    "le": ("less", "greater_equal"),
    "eq": ("not_equal",),
    "ne": ("equal",),
    "and": ("logical_or",),
    "or": ("logical_and",),
    "abs": ("sign",),
    "sign": ("abs",),
    "asin": ("arccos",),
    "acos": ("arcsin",),
    "rsqrt": ("sqrt",),
}
"""What is mistaken for one another, by numpy's names."""
_ENTRY_BY_ENTRY = frozenset("add add_any sub mul div max min pow atan2".split())
"""Steps of which an operand may have axes of length 1 where the other has more."""
_SWAPPED = {"sub": "subtract", "div": "divide", "pow": "power", "atan2": "arctan2"}


@dataclass(frozen=True)
class Change:
    """A step done otherwise, or several, in words."""

    text: str
    acts: Mapping[Key, Act]


_Place = tuple[dict[str, int], list, list]


@dataclass(frozen=True)
class _At:
    """A point: the run of the rule as it is, its result and the right one there."""

    run: Run
    returned: np.ndarray
    right: np.ndarray


def changes(one: UserRule, rules: Rules, witness: Witness | None) -> Iterator[Change]:
    """The changes of one step with which the cotangent of the argument that moves is right at some points."""
    try:
        search = _Search(one, rules, witness)
    except Exception:  # whatever the rule does when it is traced, or where numpy has no value
        return
    yield from search.found()


@contextmanager
def in_own_lines(one: UserRule) -> Iterator[None]:
    """What a rule and its backward compute comes from their own lines when they are traced, whoever calls."""
    held = backward_of(one.custom)
    with own_lines(), nullcontext() if held is None else with_own_lines(*held):
        yield


class _Search:
    def __init__(self, one: UserRule, rules: Rules, witness: Witness | None) -> None:
        self.one = one
        self.instance = family(one, one.cases[0]).prove[0]
        with wide_floats():
            inputs = self.instance.shapes().structs("float64")
            count = len(inputs)
            forward = trace(lambda *xs: rules.forward(list(xs), []), inputs)
            seeds = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in forward.jaxpr.outvars]
            with in_own_lines(one):
                backward = trace(lambda *xs: rules.vjp(list(xs[:count]), list(xs[count:]), []), [*inputs, *seeds])
            right = trace(_adjoint(one, rules, count), [*inputs, *seeds])
        self.program, self.seeds = Steps.of(backward.jaxpr, backward.consts), len(seeds)
        if len(self.program.steps) > MAX_STEPS:
            raise ValueError
        self.points: list[_At] = []
        outs = [v.aval for v in forward.jaxpr.outvars]
        for places in self._places(witness, outs):
            self.points += islice(filter(None, (self._at(right, *place) for place in places)), 1)
        self.points.sort(key=lambda at: _same(at.returned, at.right))  # where it is wrong comes first
        if not self.points or _same(self.points[0].returned, self.points[0].right):
            raise ValueError

    def _at(self, right: Any, sizes: dict[str, int], args: list, seeds: list) -> _At | None:
        """A point; None where the function has no derivative there."""
        setting, values = Setting(sizes), [*args, *seeds]
        with np.errstate(all="ignore"):
            due = evaluated(right, values, setting)[0]
            if not np.all(np.isfinite(due)):
                return None
            run = Run(self.program, values, _numerically(setting), lambda v: np.asarray(v.val), np)
            return _At(run, run.all()[0], due)

    def _places(self, witness: Witness | None, outs: Sequence[Any]) -> Iterator[Iterator[_Place]]:
        """Sizes, arguments and seeds, several of each of which one is enough: at two sizes that are drawn, and the
        witness."""

        def at(sizes: dict[str, int], k: int) -> Iterator[_Place]:
            numbers = {n: whole(v) for n, v in sizes.items()}
            for args, rng in drawn(self.one, self.instance, numbers, self.one.domain, seed=k):
                yield sizes, args, [rng.standard_normal(_shape(aval, sizes)) for aval in outs]

        for k, numbers in enumerate(SIZES):
            yield at(dict(zip(self.instance.names, cycle(numbers), strict=False)), k)
        if witness is not None and {*witness.dims} >= {*self.instance.names}:
            sizes = {n: witness.dims[n] for n in self.instance.names}
            args = [_array(witness.inputs[n], d) for n, d in zip(self.one.arg_names, self.instance.dtypes, strict=True)]
            if all(x.ndim == len(dims) for x, dims in zip(args, self.instance.inputs, strict=True)):
                seeds = [_array(x, "float") for x in witness.seeds.values()]
                yield iter([(sizes, args, seeds or [np.ones(_shape(aval, sizes)) for aval in outs])])

    def found(self) -> Iterator[Change]:
        """The simplest changes first, and of these the one that is nearest to the result."""
        until = budget.until(SECONDS)
        live = [s for s in reversed(self.program.live()) if len(s.outs) == 1]
        for of_step in (
            self._factor,
            self._other_function,
            self._part_of_a_matrix,
            self._needless,
            self._other_operand,
            self._joined,
            self._merged_early,
        ):
            for step in live:
                if time.thread_time() > until:
                    return
                with np.errstate(all="ignore"):
                    found = list(of_step(step))
                yield from found

    def _right(self, step: Step, act: Act) -> bool:
        """The cotangent is right at all points with this change."""
        for at in self.points:
            try:
                value = np.asarray(act(at.run, step))
                if value.shape != np.shape(at.run.values[step.outs[0]]):
                    return False
                out = at.run.with_value(step, value.astype(at.run.values[step.outs[0]].dtype, copy=False))
            except Exception:  # the step that is made of it does not run
                return False
            if not _same(out[0], at.right):
                return False
        return True

    def _tried(self, step: Step, what: str, act: Act) -> Iterator[Change]:
        if self._right(step, act):
            yield Change(what, {step.key: act})

    def _factor(self, step: Step) -> Iterator[Change]:
        """The step's value times a number, or a product of sizes; or with a number added."""
        if not _is_float(step):
            return
        for shift in (False, True):
            numbers = [self._solved(at, step, shift) for at in self.points]
            known = [n for n in numbers if n is not None]
            if not known:
                continue
            if shift:
                number = _fraction(known)
                if number is not None:
                    yield from self._tried(
                        step, f"{_number(number)} is to be added to {_the(step)}", _acts.plus(float(number))
                    )
                continue
            number = _fraction(known)
            if number is not None:
                literal = list(self._of_literal(step, number))
                yield from literal or self._tried(step, _of_factor(step, number), _acts.times(number))
            else:
                yield from self._sizes(step)

    def _of_literal(self, step: Step, factor: Fraction) -> Iterator[Change]:
        """Another number where the step's value is a multiple of one: 0.134145, and no factor 268290/226829."""
        name = step.eqn.primitive.name
        for j, operand in enumerate(step.operands if name in ("mul", "div") and factor != -1 else ()):
            if not _is_number(operand):
                continue
            here = float(operand.literal.val)
            number = float(f"{here / factor if (name, j) == ('div', 1) else here * factor:.9g}")
            yield from self._tried(step, _other_number(step, here, number), _acts.with_number(j, number))

    def _solved(self, at: _At, step: Step, shift: bool) -> float | None:
        """What the step's value has to be multiplied by, or what is to be added, if the result depends on it so."""
        value = at.run.values[step.outs[0]]
        moved = at.run.with_value(step, value + 1 if shift else 2 * value)[0] - at.returned
        missing = at.right - at.returned
        scale = float(np.vdot(moved, moved))
        if not scale or not np.isfinite(scale):
            return None
        number = float(np.vdot(moved, missing)) / scale
        return number if shift else 1 + number

    def _sizes(self, step: Step) -> Iterator[Change]:
        if self.one.signature.stars:
            return
        named = {
            str(d): (k, j)
            for k, dims in enumerate(self.instance.inputs)
            for j, d in enumerate(dims)
            if d.name is not None
        }
        for count in (1, 2):
            for chosen in combinations(named, count):
                for power, how in ((1, "multiplied"), (-1, "divided")):
                    places = [named[c] for c in chosen]
                    text = f"{_the(step)} is to be {how} by {' · '.join(chosen)}"
                    yield from self._tried(step, text, _acts.by_sizes(places, power))

    def _other_function(self, step: Step) -> Iterator[Change]:
        """Another function of the same operands, or the same of exchanged ones."""
        name = step.eqn.primitive.name
        for other in _FUNCTIONS.get(name, ()):
            text = f"{_the(step)} is to be {_article(other)}"
            yield from self._tried(step, text, _acts.function(other))
        if name in _SWAPPED:
            text = f"the operands of {_the(step)} are exchanged"
            yield from self._tried(step, text, _acts.function(_SWAPPED[name], backwards=True))
        if name == "select_n" and len(step.operands) == 3:
            text = f"the branches of {_the(step)} are exchanged"
            yield from self._tried(step, text, _acts.function("where"))
        if name == "integer_pow":
            for by in (1, -1, 2, -2):
                power = step.eqn.params["y"] + by
                text = f"{_the(step)} is to be that with exponent {power}"
                yield from self._tried(step, text, _acts.power(power))
        if name in ("reduce_sum", "reduce_max", "reduce_min"):
            axes = step.eqn.params["axes"]
            for other in ("sum", "max", "min", "mean"):
                text = f"{_the(step)} is to be the {other} over the same entries"
                yield from self._tried(step, text, _acts.reduced(other, axes))

    def _needless(self, step: Step) -> Iterator[Change]:
        """A value that is known before in the place of the step's own."""
        for key in self._alike(step, step.outs[0]):
            own = any(o.key == key for o in step.operands)
            text = f"{_the(step)} is one too many" if own else f"{self._named(key)} is due in the place of {_the(step)}"
            yield from self._tried(step, text, _acts.known(key))

    def _other_operand(self, step: Step) -> Iterator[Change]:
        """The same step of another value."""
        name = step.eqn.primitive.name
        for j, operand in enumerate(step.operands):
            if operand.key is None:
                yield from self._literal(step, j)
                continue
            alike = self._alike(step, operand.key, *(step.outs if name in _ENTRY_BY_ENTRY else ()))
            for key in alike:

                def act(r: Run, s: Step, j: int = j, key: Key = key) -> Any:
                    operands = r.operands(s)
                    return r.apply(s.eqn, [*operands[:j], r.values[key], *operands[j + 1 :]])[0]

                text = f"{_the(step)} takes {self._named(operand.key)}, and {self._named(key)} is due there"
                yield from self._tried(step, text, act)

    def _literal(self, step: Step, j: int) -> Iterator[Change]:
        """The same step of another number."""
        if not _is_number(step.operands[j]):
            return
        here = float(step.operands[j].literal.val)
        for number in (-here, here - 1, here + 1, here / 2, 2 * here, 1 / here if here else 1.0, here * here, 0.0, 1.0):
            if number != here:
                yield from self._tried(step, _other_number(step, here, number), _acts.with_number(j, number))

    def _joined(self, step: Step) -> Iterator[Change]:
        """The step's value times, divided by, plus or less a value that is known."""
        if not _is_float(step):
            return
        for key in [*self._alike(step, step.outs[0]), *self._arguments_along(step)]:
            what = self._named(key)
            for function, text in (
                ("multiply", f"{_the(step)} is to be multiplied by {what}"),
                ("add", f"{what} is to be added to {_the(step)}"),
                ("subtract", f"{what} is to be subtracted from {_the(step)}"),
                ("divide", f"{_the(step)} is to be divided by {what}"),
            ):
                yield from self._tried(step, text, _acts.joined(function, key))

    def _part_of_a_matrix(self, step: Step) -> Iterator[Change]:
        """A triangle, the diagonal or the symmetric part of square matrices, or these less the identity."""
        shape = np.shape(self.points[0].run.values[step.outs[0]])
        if not _is_float(step) or len(shape) < 2 or shape[-1] != shape[-2]:
            return
        for how, act in _acts.OF_MATRICES.items():
            yield from self._tried(step, f"{_the(step)} is to be taken {how}", act)

    def _merged_early(self, step: Step) -> Iterator[Change]:
        """One of the terms of a sum does not go through what is made of the sum, and is added to the result."""
        result = self.program.results[0].key
        keys = [o.key for o in step.operands]
        if step.eqn.primitive.name not in ("add", "add_any") or result is None or result in (*keys, *step.outs):
            return
        for kept, added in (keys, keys[::-1]):
            if kept is None or added is None:
                continue
            acts = {step.key: _acts.known(kept), result[:-1]: _acts.joined("add", added)}
            if all(self._is_right_with(at, acts) for at in self.points):
                what = self._named(added)
                yield Change(f"{what} is added too early in {_the(step)}: it is to be added to the cotangent", acts)

    def _is_right_with(self, at: _At, acts: Mapping[Key, Act]) -> bool:
        """The cotangent is right at a point with several steps done otherwise."""
        run = Run(self.program, at.run.inputs, at.run.apply, at.run.literal, np)
        try:
            return _same(run.all(acts)[0], at.right)
        except Exception:  # a step does not run on what it is given
            return False

    def _alike(self, step: Step, than: Key, *others: Key) -> list[Key]:
        """The values known at a step that have the shape and dtype of another, or of others, each once, the latest
        first."""
        run = self.points[0].run
        old = np.asarray(run.values[than])
        shapes = {np.shape(run.values[key]) for key in (than, *others)}
        found: list[Key] = []
        seen = [old]
        for key, value in reversed(list(run.before(step))):
            if np.shape(value) not in shapes or np.asarray(value).dtype != old.dtype or key == than:
                continue
            if not any(np.array_equal(value, other) for other in seen):
                found.append(key)
                seen.append(value)
        return found[:MAX_VALUES]

    def _arguments_along(self, step: Step) -> list[Key]:
        """The arguments with fewer axes, or axes of length 1, that go with the value of a step, as a scale does."""
        run, shape = self.points[0].run, np.shape(self.points[0].run.values[step.outs[0]])
        floats = [key for key, value in run.before(step) if key[0] == "in" and np.asarray(value).dtype.kind == "f"]
        return [key for key in floats if np.shape(run.values[key]) != shape and _goes_with(run.values[key], shape)]

    def _named(self, key: Key) -> str:
        """A value in words."""
        if key[0] == "in":
            k = key[1] - len(self.one.arg_names)
            of = f"output {k}" if self.seeds > 1 else "the output"
            return self.one.arg_names[key[1]] if k < 0 else f"the cotangent of {of}"
        if key[0] == "const":
            return "a constant"
        return _the(next(s for s in self.program.steps if key in s.outs))


def _goes_with(value: Any, shape: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(np.shape(value), shape) == shape
    except ValueError:
        return False


def _adjoint(one: UserRule, rules: Rules, count: int) -> Callable[..., list]:
    """The cotangent that the function's own derivative gives to the argument that moves."""

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


def _same(one: Any, other: Any) -> bool:
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape or not np.all(np.isfinite(one)):
        return False
    largest = max(float(np.max(np.abs(other), initial=0)), 1e-3)
    return bool(np.max(np.abs(one - other), initial=0) <= TOLERANCE * largest)


def _fraction(numbers: Sequence[float]) -> Fraction | None:
    """The simple fraction that all of them are."""
    first = numbers[0]
    if (
        not np.isfinite(first)
        or abs(first) > LARGEST
        or any(abs(n - first) > 1e-9 * max(abs(first), 1e-6) for n in numbers)
    ):
        return None
    found = Fraction(first).limit_denominator(LARGEST)
    return found if found not in (0, 1) and abs(float(found) - first) <= 1e-9 * abs(first) else None


def _is_number(operand: Operand) -> bool:
    """A literal that is one real number."""
    old = operand.literal
    return operand.key is None and not np.ndim(old.val) and bool(np.issubdtype(old.aval.dtype, np.floating))


def _other_number(step: Step, here: float, number: float) -> str:
    return f"{_the(step)} takes the number {here:.12g}, and {number:.12g} is due there"


def _is_float(step: Step) -> bool:
    return bool(np.issubdtype(step.eqn.outvars[0].aval.dtype, np.floating))


def _the(step: Step) -> str:
    return f"the {word_of(step.eqn.primitive.name)}{place_of_step(step.placed)}"


def _number(number: Fraction) -> str:
    return f"{float(number):g}" if number.denominator > 1000 else str(number)


def _of_factor(step: Step, number: Fraction) -> str:
    if number == -1:
        return f"the sign of {_the(step)} is wrong"
    how = f"divided by {number.denominator}" if number.numerator == 1 else f"multiplied by {number}"
    return f"{_the(step)} is to be {how}"


def _article(function: str) -> str:
    words = {"add": "sum", "subtract": "difference", "multiply": "product", "divide": "quotient"}
    word = words.get(function, function.replace("_", " "))
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"
