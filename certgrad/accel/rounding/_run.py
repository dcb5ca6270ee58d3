"""The rounding analysis of a traced program: its values on intervals, and the error that each operation adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from flint import arb, fmpq

from certgrad.accel.bounds._enclose import _DECIDED, Truths, _enclose_step
from certgrad.accel.rounding._error import Error, Noise, remainder, zero
from certgrad.accel.rounding._model import LARGEST_ANGLE, ROUNDED_UP, Format, format_of
from certgrad.accel.rounding._sums import of_extrema, of_linear, of_products
from certgrad.accel.rounding._values import Rounded, max_magnitude, middle, span, widened, with_error
from certgrad.jaxpr import kinds
from certgrad.jaxpr.linear import LINEAR as OF_TANGENTS
from certgrad.jaxpr.linear import program_of
from certgrad.jaxpr.programs import repeated, scanned
from certgrad.obligations.balls import _scalars as s
from certgrad.obligations.balls._errors import BallError, Undecided, Unsupported
from certgrad.obligations.balls._evaluate import Step, program
from certgrad.obligations.balls._jaxpr import of_reals
from certgrad.obligations.balls._values import Array, Context, Value, boxed, is_float

_MOVED = kinds.REARRANGES | {"gather"}
_STEPPING = kinds.CLIPS | kinds.ROUNDS | {"abs", "sign"}
STEPS = 10_000


class Rounding:
    """The interpretation of one program: its error terms, the default format, and the notes."""

    def __init__(self, format: Format) -> None:
        self.format, self.noise = format, Noise()
        self.notes: dict[str, None] = {}
        self._calling = Context(run=self.run, keep_stopped=True)

    def run(self, jaxpr: Any, arguments: Sequence[Value]) -> list[Any]:
        """Return the outputs of a program, with their errors. Raises BallError where something has no rule."""
        return [with_error(x, self.format) for x in program(jaxpr).by(self._step, arguments)]

    def _step(self, step: Step, operands: Sequence[Value]) -> list[Any]:
        """Return the outputs of one equation: a call, a loop, or an operation; without error if no operand has one."""
        if step.name in kinds.CALLS:
            assert step.rule is not None
            return _listed(step.rule(self._calling, step.params, *operands))
        if step.name in _LOOPS:
            return _LOOPS[step.name](self, step, operands)
        given = [with_error(x, self.format) for x in operands]
        if step.name == OF_TANGENTS:
            types = [jax.ShapeDtypeStruct(x.primal.shape, x.format.name if x.format else x.primal.dtype) for x in given]
            inner = program_of({name: step.params[name] for name in ("linear", "count")}, types)
            return self.run(of_reals(inner, types), given)
        if not any(x.real for x in given) and all(x.sure is None for x in given):
            return [_with_zero_error(x, self.format) for x in _listed(_enclose_step(step, list(operands)))]
        return self._rule(step, given)

    def _rule(self, step: Step, given: list[Rounded]) -> list[Any]:
        """Return one `Rounded` for each output of a step: its exact value, and a bound on its rounding error.

        Comparisons, moves, selections and casts have methods of their own. For any other operation the bound is the sum
        of the error that its operands' errors cause, and of its own roundings. Raises Undecided where an operand is a
        comparison that may fall either way.
        """
        name = step.name
        if name in kinds.COMPARES or name in kinds.LOGIC:
            return [self._truth(step, given)]
        if name in _MOVED:
            return _moved_with_errors(step, given)
        if name == "select_n":
            return [self._selected(step, given)]
        if name == "convert_element_type":
            return [self._converted(step, given[0])]
        if any(x.sure is not None and not np.all(x.sure) for x in given):
            raise Undecided(f"{name} of a comparison that may fall either way")
        exact = _listed(_enclose_step(step, [_value(x) for x in given]))
        if not any(x.real for x in given):
            return [_with_zero_error(x, self.format) for x in exact]
        format = next(x.format for x in given if x.real)
        assert format is not None
        if not all(x.real for x in exact):  # integers, such as the positions of maxima
            if any(x.error is not None and not x.error.none for x in given):
                _enclose_step(
                    step, [Value(widened(x)) if x.real else _value(x) for x in given]
                )  # raises if an error may change them
            return [_with_zero_error(x, format) for x in exact]
        if len(exact) > 1:
            raise Unsupported(f"nothing is assumed of how {name} is rounded")
        (result,) = exact
        if name == "integer_pow":
            result = Value(_entries(lambda v: _power(v, int(step.params["y"])), given[0].primal))
        if name in kinds.EXTREMA:
            return [Rounded(result.primal, of_extrema(step, given), format)]
        if name == "scatter-add" or name in kinds.SUMS:
            error, size, roundings = of_linear(step, given)
        elif name in kinds.CONTRACTS:
            error, size, roundings = of_products(step, given)
        elif name in _STEPPING:
            return [Rounded(result.primal, self._stepping(step, given, result.primal), format)]
        else:
            error, size, roundings = self._smooth(step, given, result.primal, format)
        return [Rounded(result.primal, self.rounded(result.primal, error, size, roundings, format, name), format)]

    def rounded(
        self, exact: Array, error: Error, size: Any, roundings: Any, format: Format, name: str, floor: Any = None
    ) -> Error:
        """Return the error of a result: `error`, that of its operands, and its own roundings, relative to `size`.

        `roundings` is their number. Where the result may overflow the error is infinite, with a note on the operation.
        Where the result may be below the normal numbers, the smallest normal number is added for each rounding.
        """
        lower, upper = span(exact)
        reach = np.maximum(np.abs(lower), np.abs(upper)) + error.size
        size = np.maximum(size, reach) * ROUNDED_UP  # rounding acts on the computed result: `reach` bounds it
        with np.errstate(invalid="ignore", over="ignore"):
            added = np.where((size == 0) | (np.asarray(roundings) == 0), 0.0, format.gamma(roundings) * size)
            over = ~((size + added) * ROUNDED_UP < format.most)
        if over.any():
            if np.isfinite(reach).all():
                self.notes[f"{name} may overflow in {format.name}"] = None
            elif not self.notes:
                self.notes[f"the value of {name} is not known over the box"] = None
            added = np.where(over, np.inf, added)
        least = np.where((lower > 0) | (upper < 0), np.minimum(np.abs(lower), np.abs(upper)), 0.0) - error.size
        small = (least < format.tiny * ROUNDED_UP) & (size > 0) & (np.asarray(roundings) > 0)
        below = np.where(small, format.tiny * np.maximum(1.0, np.asarray(roundings)), 0.0)
        fresh = self.noise.fresh(np.nextafter(added, np.inf) * (added > 0))
        return error + fresh + remainder(below)

    # --- kinds of operations

    def _smooth(self, step: Step, given: list[Rounded], out: Array, format: Format) -> tuple[Error, Any, float]:
        """Return what `rounded` needs of a smooth function: the error that it passes on, 0 as `size`, its roundings.

        By the mean value theorem the error passed on is the operand's error times the derivative at some point between
        the exact and the computed operand: it is enclosed over both. Raises Unsupported where the model says nothing.
        """
        roundings = format.roundings(step.name, step.params)
        if roundings is None:
            raise Unsupported(f"nothing is assumed of how {step.name} is rounded")
        if step.name in ("sin", "cos") and max_magnitude(widened(given[0])).max(initial=0.0) > LARGEST_ANGLE:
            raise Unsupported(f"nothing is assumed of {step.name} beyond {LARGEST_ANGLE:g}")
        total = zero(out.shape)
        if step.name in kinds.ADDS:
            for k, x in enumerate(given):
                sign = -1.0 if step.name == "neg" or (step.name == "sub" and k) else 1.0
                total = total + _spread(x.error, out.shape).scaled(np.full(out.shape, sign), 0.0)
            return total, 0.0, _sum_roundings(step.name, given, roundings)
        boxes = [widened(x) for x in given]
        if step.name == "integer_pow":
            n = int(step.params["y"])
            assert given[0].error is not None
            slope = _entries(lambda v: s.mul(fmpq(n), _power(v, n - 1)), boxes[0])
            return given[0].error.scaled(*middle(slope)), 0.0, roundings
        assert step.rule is not None
        for k, x in enumerate(given):
            if x.error is None or x.error.none:
                continue
            # The tangent along a direction of ones in operand k is the partial derivative, entry by entry.
            ones = np.full(x.primal.shape, s.ONE, dtype=object)
            along_one = [Value(b, ones if j == k else None) for j, b in enumerate(boxes)]
            result = step.rule(_DECIDED, step.params, *along_one)
            assert isinstance(result, Value)
            slope = result.tangent if result.tangent is not None else np.full(out.shape, s.ZERO, dtype=object)
            slope = np.frompyfunc(lambda d: s.ZERO if d is None else d if s.finite(d) else s.UNKNOWN, 1, 1)(slope)
            total = total + _spread(x.error, out.shape).scaled(*middle(np.asarray(slope, dtype=object)))
        return total, 0.0, roundings

    def _stepping(self, step: Step, given: list[Rounded], out: Array) -> Error:
        """Return the error of an operation that does not round but has kinks or jumps: a maximum, abs, sign, floor."""
        if all(x.error is None or x.error.none for x in given):
            return zero(out.shape)
        sizes = [np.broadcast_to(x.error.size, out.shape) for x in given if x.error is not None]
        if step.name in ("max", "min", "clamp"):
            picked = _picked(step, given, out)
            return picked if picked is not None else remainder(np.maximum.reduce(sizes))
        if step.name == "abs":
            lower, upper = span(widened(given[0]))
            assert given[0].error is not None
            sign = np.where(lower >= 0, 1.0, np.where(upper <= 0, -1.0, 0.0))
            known_sign = given[0].error.scaled(sign, 0.0)
            return known_sign + remainder(np.where(sign == 0, sizes[0], 0.0))
        box = _enclose_step(step, [Value(widened(x)) for x in given])
        assert isinstance(box, Value)
        lower, upper = span(box.primal)
        return remainder(np.where(lower == upper, 0.0, (upper - lower) * ROUNDED_UP))

    def _truth(self, step: Step, given: list[Rounded]) -> Rounded:
        """Return a comparison or logic of truth values, with where it is sure.

        A comparison is sure where its numbers have no error, or where it is decided for all computed values as well.
        """
        exact = _enclose_step(step, [_value(x) for x in given])
        assert isinstance(exact, Value)
        shape = exact.primal.shape
        if step.name in kinds.LOGIC or not all(x.real for x in given):
            sure = np.ones(shape, bool)
            for x in given:
                sure = sure & (True if x.sure is None else x.sure)
        else:
            is_exact = [x.error is None or x.error.none for x in given]
            sure = np.ones(shape, bool)
            if not all(is_exact):
                box = _enclose_step(step, [Value(widened(x)) for x in given])
                assert isinstance(box, Value)
                has_no_error = [x.error.size == 0 for x in given if x.error is not None]
                sure = np.array([v is not None for v in box.primal.flat], bool).reshape(shape)
                # Entries without errors are sure even where the intervals leave the comparison open.
                sure = sure | (np.broadcast_to(has_no_error[0], shape) & np.broadcast_to(has_no_error[1], shape))
        if not sure.all():
            self.notes[f"{step.name} may fall either way: both ways count"] = None
        return Rounded(exact.primal, sure=None if sure.all() else sure)

    def _selected(self, step: Step, given: list[Rounded]) -> Rounded:
        """Return the result of `select_n`: with the error of the chosen case where the choice is sure; elsewhere the
        error may also be the distance between the cases.
        """
        choice, *cases = given
        exact = _enclose_step(step, [_value(x) for x in given])
        assert isinstance(exact, Value)
        if not exact.real:
            if any(x.sure is not None for x in given):
                raise Undecided("a selection of truth values by a comparison that may fall either way")
            return _with_zero_error(exact, self.format)
        shape = exact.primal.shape
        picks = np.broadcast_to(choice.primal, shape)
        sure = np.broadcast_to(True if choice.sure is None else choice.sure, shape)
        errors = [_spread(x.error, shape) for x in cases]
        total = zero(shape)
        decided = np.zeros(shape, bool)
        for k, e in enumerate(errors):
            chosen = sure & np.array([v is not None and int(v) == k for v in picks.flat], bool).reshape(shape)
            decided |= chosen
            total = total + _masked(e, chosen)
        size = np.maximum.reduce([e.size for e in errors])
        if not sure.all():  # the computed result may be of one case and the exact one of another
            spans = [span(np.broadcast_to(x.primal, shape)) for x in cases]
            distance = max(u for _, u in spans) if len(spans) == 1 else _width(spans)
            size = np.where(sure, size, size + distance)
        of_undecided = np.where(decided, 0.0, size)
        format = next(x.format for x in cases if x.real)
        return Rounded(
            exact.primal, total + remainder(np.where(of_undecided > 0, of_undecided * ROUNDED_UP, 0.0)), format
        )

    def _converted(self, step: Step, x: Rounded) -> Rounded:
        """Return a cast's result; only a cast to a narrower float format rounds.

        Raises Undecided where rounding may change the integer that a float becomes.
        """
        exact = _enclose_step(step, [_value(x)])
        assert isinstance(exact, Value)
        dtype = step.params["new_dtype"]
        if not is_float(dtype):
            if x.real and x.error is not None and not x.error.none:
                box = _enclose_step(step, [Value(widened(x))])
                assert isinstance(box, Value)
                if not np.array_equal(box.primal, exact.primal):
                    raise Undecided("an integer made of a number that is rounded")
            return Rounded(exact.primal, sure=x.sure)
        format = format_of(dtype)
        if not x.real:
            sure = True if x.sure is None else x.sure
            # A truth value that is not sure is off by 1 at most.
            error = remainder(np.where(np.broadcast_to(sure, exact.primal.shape), 0.0, 1.0))
            return Rounded(
                exact.primal, self.rounded(exact.primal, error, 0.0, _of_whole(exact, format), format, "cast"), format
            )
        assert x.error is not None
        assert x.format is not None
        if format.u <= x.format.u:
            return Rounded(exact.primal, x.error, format)
        return Rounded(exact.primal, self.rounded(exact.primal, x.error, 0.0, 1.0, format, "a cast"), format)


def _power(v: Any, n: int) -> Any:
    """Return an integer power of an interval: by its ends where 0 is not inside, which is tighter."""
    if type(v) is not arb or v.contains(0) or not v.is_finite():
        return s.power(v, n)
    ends = [s.power(end, n) for end in (v.lower(), v.upper())]
    return s.if_finite(s.ball(ends[0]).union(s.ball(ends[1]))) if all(map(s.finite, ends)) else s.power(v, n)


def _entries(function: Any, array: Array) -> Array:
    return boxed(np.frompyfunc(function, 1, 1)(array))


def _width(spans: Sequence[tuple[Any, Any]]) -> Any:
    lower, upper = np.minimum.reduce([a for a, _ in spans]), np.maximum.reduce([b for _, b in spans])
    return upper - lower


def _of_whole(exact: Value, format: Format) -> Any:
    """Return how often integers are rounded: 0 times up to 1/u, where they are numbers of the format, else once."""
    return np.where(max_magnitude(exact.primal) * format.u <= 0.5, 0.0, 1.0)


def _sum_roundings(name: str, given: list[Rounded], roundings: float) -> Any:
    """Return how many additions round in a sum: adding to 0 does not."""
    if name == "neg" or len(given) < 2:
        return roundings
    zeros = [np.array([v == 0 if type(v) is fmpq else False for v in x.primal.flat], bool) for x in given]
    shapes = [z.reshape(x.primal.shape) for z, x in zip(zeros, given, strict=True)]
    return np.where(np.logical_or(*np.broadcast_arrays(*shapes)), 0.0, roundings)


def _picked(step: Step, given: list[Rounded], out: Array) -> Error | None:
    """Return the error of a maximum or minimum of two: that of the operand which is surely the chosen one.

    Where either may be chosen it is the larger error. None for other operations.
    """
    if step.name == "clamp" or len(given) != 2:
        return None
    (la, ua), (lb, ub) = (span(np.broadcast_to(widened(x), out.shape)) for x in given)
    first, second = (la >= ub, lb >= ua) if step.name == "max" else (ua <= lb, ub <= la)
    a, b = (_spread(x.error, out.shape) for x in given)
    other_error = np.where(first | second, 0.0, np.maximum(a.size, b.size))
    return _masked(a, first) + _masked(b, second & ~first) + remainder(other_error)


def _masked(e: Error, where: Any) -> Error:
    return Error(np.where(where[..., None], e.terms, 0.0), np.where(where, e.rest, 0.0))


def _spread(e: Error | None, shape: Any) -> Error:
    if e is None:
        return zero(shape)
    return Error(np.broadcast_to(e.terms, (*shape, e.terms.shape[-1])), np.broadcast_to(e.rest, shape))


def _moved_with_errors(step: Step, given: list[Rounded]) -> list[Any]:
    """Return the outputs of a primitive that moves entries, each entry with the error that it had.

    The primitive's own rule is run on the numbers 0, 1, 2, … of all entries in place of their values, and so shows from
    where each entry comes; an entry from nowhere, such as padding, has no error.
    """
    real = any(x.real for x in given[:1]) or any(x.real for x in given if step.name in ("concatenate",))
    exact = _listed(_enclose_step(step, [_value(x) for x in given]))
    if not real:
        if all(x.sure is None for x in given):
            return [_with_zero_error(x, None) for x in exact]
    next_id, by_id, tracked_values = 0, [], []
    for x in given:
        tracked = x.real if real else x.primal.dtype in (bool, object)
        if not tracked:
            by_id.append(_value(x))
            continue
        ids = np.array([fmpq(next_id + k) for k in range(x.primal.size)] or [0], dtype=object)[: x.primal.size]
        by_id.append(Value(ids.reshape(x.primal.shape)))
        next_id += x.primal.size
        tracked_values.append(x)
    assert step.rule is not None
    origins = _listed(step.rule(_DECIDED, step.params, *by_id))
    results = []
    for places, value in zip(origins, exact, strict=True):
        origin = np.array([int(v) if type(v) is fmpq else -1 for v in places.primal.flat], int).reshape(
            places.primal.shape
        )
        if not real:
            sure = np.concatenate(
                [np.broadcast_to(True if x.sure is None else x.sure, x.primal.shape).ravel() for x in tracked_values]
            )
            results.append(Rounded(value.primal, sure=np.where(origin < 0, True, sure[origin])))
            continue
        count = max(x.error.terms.shape[-1] for x in tracked_values if x.error is not None)
        errors = [
            (_spread(x.error, x.primal.shape) + Error(np.zeros((*x.primal.shape, count)), np.zeros(x.primal.shape)))
            for x in tracked_values
        ]
        terms = np.concatenate([e.terms.reshape(e.rest.size, count) for e in errors])
        rest = np.concatenate([e.rest.ravel() for e in errors])
        moved = Error(np.where((origin < 0)[..., None], 0.0, terms[origin]), np.where(origin < 0, 0.0, rest[origin]))
        results.append(Rounded(value.primal, moved, tracked_values[0].format))
    return results


def _listed(found: Any) -> list[Any]:
    return [found] if isinstance(found, Value) else list(found)


def _value(x: Rounded) -> Value:
    """Return the exact value alone; open truth values as `Truths`."""
    open_ = x.primal.dtype == object and not _is_real(x)
    return Truths(x.primal) if open_ else Value(x.primal)


def _is_real(x: Rounded) -> bool:
    return x.error is not None


def _with_zero_error(x: Value, format: Format | None) -> Rounded:
    if isinstance(x, Rounded):
        return x
    if x.real and not isinstance(x, Truths):
        return Rounded(x.primal, zero(x.primal.shape), format)
    return Rounded(x.primal)


def _scan(self: Rounding, step: Step, operands: Sequence[Value]) -> list[Any]:
    """Return the results of a scan, followed step by step."""
    if (length := step.params["length"]) > STEPS:
        raise Unsupported(f"a loop of {length} steps")
    carry, columns = scanned(step.params, operands, self.run, lambda x, k: _row(with_error(x, self.format), k))
    return [*carry, *map(_stack, columns)]


def _row(x: Rounded, k: int) -> Rounded:
    """Return entry k of the first axis, with its error."""
    error = None if x.error is None else Error(x.error.terms[k], x.error.rest[k])
    primal = x.primal[k]
    if not isinstance(primal, np.ndarray):
        scalar_array = np.empty((), x.primal.dtype)
        scalar_array[()] = primal
        primal = scalar_array
    return Rounded(primal, error, x.format, None if x.sure is None else x.sure[k])


def _stack(parts: Sequence[Rounded]) -> Rounded:
    """Return values stacked along a new first axis, with their errors."""
    primal = np.stack([p.primal for p in parts])
    if parts[0].error is None:
        sures = [np.broadcast_to(True if p.sure is None else p.sure, p.primal.shape) for p in parts]
        return Rounded(primal, sure=None if all(p.sure is None for p in parts) else np.stack(sures))
    count = max(p.error.terms.shape[-1] for p in parts if p.error is not None)
    padded = [zero((*p.primal.shape,)) if p.error is None else p.error for p in parts]
    wide = [e + Error(np.zeros((*e.rest.shape, count)), np.zeros(e.rest.shape)) for e in padded]
    error = Error(np.stack([e.terms for e in wide]), np.stack([e.rest for e in wide]))
    return Rounded(primal, error, parts[0].format)


def _cond(self: Rounding, step: Step, operands: Sequence[Value]) -> list[Any]:
    """Return the results of the branch that is taken. Raises Undecided where its index is not sure."""
    index, *rest = (with_error(x, self.format) for x in operands)
    if index.sure is not None or index.primal.dtype == object:
        raise Undecided("a branch whose test may fall either way")
    branches = step.params["branches"]
    return self.run(branches[int(np.clip(int(index.primal), 0, len(branches) - 1))], rest)


def _while(self: Rounding, step: Step, operands: Sequence[Value]) -> list[Any]:
    outputs = repeated(step.params, operands, self.run, _goes_on, STEPS)
    if outputs is None:
        raise Unsupported(f"a loop of more than {STEPS} steps")
    return outputs


def _goes_on(test: Rounded) -> bool:
    if test.sure is not None or test.primal.dtype == object:
        raise Undecided("a loop whose test may fall either way")
    return bool(test.primal)


_LOOPS = {"scan": _scan, "cond": _cond, "while": _while}
__all__ = ["BallError", "Rounding"]
