"""Changes of one step of a backward that may make it right.

The changes are general: a factor, another function, another known value, a missing condition, brackets, the order of
two steps. Each is tried at some points, where the right cotangent is known.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from math import prod

import numpy as np

from certgrad._subject import Rules
from certgrad.obligations.certificate import Witness
from certgrad.obligations.terms.budget import budget
from certgrad.rules.subject.user_rule import UserRule

from . import acts as _acts
from .regrouped import PRODUCTS, brackets, made_before, of_one_operand
from .step_search import Point, Search
from .steps import Change, Key, Operand, Step, ValueRef

SECONDS = 1.0
"""Seconds for trying changes of one argument's cotangent; then none is named."""
LARGEST = 10**7
"""The largest numerator and denominator of a factor that may be a mistake."""
_FUNCTIONS: dict[str, tuple[str, ...]] = {
    "add": ("subtract", "multiply"),
    "add_any": ("subtract", "multiply"),
    "sub": ("add", "multiply", "divide"),
    "mul": ("divide", "add", "subtract"),
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
"""By primitive: the functions, by numpy's names, that may be meant where it is written."""
_ENTRY_BY_ENTRY = frozenset("add add_any sub mul div max min pow atan2".split())
"""Primitives that work entry by entry; an operand may be broadcast along axes of length 1."""
_SWAPPED = {"sub": "subtract", "div": "divide", "pow": "power", "atan2": "arctan2"}
_MOVING = frozenset("concatenate pad gather slice dynamic_slice dynamic_update_slice scatter select_n".split())
"""Primitives that move entries to other places."""


def changes(one: UserRule, rules: Rules, witness: Witness | None) -> Iterator[Change]:
    """Yield the changes that make the active argument's cotangent right at the points of the search.

    First come changes of one step, the simplest first, and among these the steps nearest to the result; then changes of
    several steps that each mend some entries; and if no single step was enough, a change after a first one.
    """
    try:
        search = Search(one, rules, witness)
    except Exception:  # whatever the rule does when it is traced, or where numpy has no value
        return
    until = budget.until(SECONDS)
    single_change = False
    for change in _of_one_step(search, until):
        single_change = True
        yield change
    yield from search.together()
    # If one step is not enough, keep the first changes that mend most entries, and look for a second one after each.
    for first, rest in search.after() if not single_change else ():
        for second in _of_one_step(rest, until):
            acts = {**second.acts, **first.acts}
            if len(acts) > 1 and search.is_right_with(acts):
                yield Change(f"{first.text}; {second.text}", acts)


def _of_one_step(search: Search, until: float) -> Iterator[Change]:
    """Yield the changes of one step that make the cotangent right, the steps of the backward's own lines first."""
    for own_lines in (True, False):
        for of_step in KINDS:
            for step in search.live(own_lines):
                if time.thread_time() > until:
                    return
                with np.errstate(all="ignore"):
                    right_changes = list(of_step(search, step))
                yield from right_changes


def _factor(search: Search, step: Step) -> Iterator[Change]:
    """Yield the changes that multiply a step's value by a number, by sizes or by both, or that add a number to it.

    The number is solved for at each point, and has to be the same simple fraction at all of them.
    """
    if not _is_float(step):
        return
    the = search.the(step)
    for shift in (False, True):
        solved = [(at, n) for at in search.points if (n := _solved(at, step, shift)) is not None]
        number = _fraction([n for _, n in solved])
        if shift and number is not None:
            text = f"{_number(number)} is to be added to {the}"
            yield from search.tried(step, text, _acts.plus(float(number)))
        elif number is not None:
            literal = list(_of_literal(search, step, number))
            yield from literal or search.tried(step, _of_factor(the, number), _acts.scaled(number))
        elif not shift and solved:
            yield from _of_sizes(search, step, solved)


def _of_literal(search: Search, step: Step, factor: Fraction) -> Iterator[Change]:
    """Yield the change of a literal by `factor`, where the step multiplies or divides by a literal.

    The message can then name the right literal, such as 0.134145, instead of a factor 268290/226829. If a static
    argument has the right value, its name is tried first.
    """
    name = step.eqn.primitive.name
    for j, operand in enumerate(step.operands if name in PRODUCTS and factor != -1 else ()):
        if not _is_number(operand):
            continue
        current = float(operand.literal.val)
        number = float(f"{current / factor if (name, j) == ('div', 1) else current * factor:.9g}")
        static_names: list[float | str] = [n for n, value in search.statics.items() if value == number]
        for due in [*static_names, number]:
            yield from search.tried(step, _other_number(search, step, current, due), _acts.with_number(j, due))


def _solved(at: Point, step: Step, shift: bool) -> float | None:
    """Return the factor of the step's value, or with `shift` the summand, that makes the result at a point right.

    It is the least-squares solution, as if the result depended linearly on that number; None if it does not depend on
    it or is not finite.
    """
    value = at.run.values[step.outs[0]]
    moved = at.run.with_value(step, value + 1 if shift else 2 * value)[0] - at.returned
    missing = at.right - at.returned
    scale = float(np.vdot(moved, moved))
    if not scale or not np.isfinite(scale):
        return None
    number = float(np.vdot(moved, missing)) / scale
    return number if shift else 1 + number


def _of_sizes(search: Search, step: Step, solved: Sequence[tuple[Point, float]]) -> Iterator[Change]:
    """Yield the changes that multiply a step's value by a number and one or two sizes, or their inverses: 4 / (d · n).

    `solved` has the factor that is needed at each point; divided by the sizes there it has to be one number.
    """
    if search.one.signature.stars:
        return
    # By size, where an argument has it: the act reads the size there, so that it is right at all sizes.
    named = {
        str(d): (k, j)
        for k, dims in enumerate(search.instance.inputs)
        for j, d in enumerate(dims)
        if d.name is not None and str(d) in search.points[0].sizes
    }
    for count in (1, 2):
        for chosen in combinations(named, count):
            for power in (1, -1):
                quotients = [n / prod(float(at.sizes[c]) ** power for c in chosen) for at, n in solved]
                number = Fraction(1) if all(abs(n - 1) < 1e-9 for n in quotients) else _fraction(quotients)
                if number is None:
                    continue
                places = [named[c] for c in chosen]
                text = f"{search.the(step)} is to be {_scaled(number, ' · '.join(chosen), power)}"
                yield from search.tried(step, text, _acts.scaled(number, places, power))


def _scaled(number: Fraction, sizes: str, power: int) -> str:
    if number == 1:
        return f"{'multiplied' if power > 0 else 'divided'} by {sizes}"
    brackets = f"({sizes})" if "·" in sizes else sizes
    return f"multiplied by {number} · {sizes}" if power > 0 else f"multiplied by {number} / {brackets}"


def _other_function(search: Search, step: Step) -> Iterator[Change]:
    """Yield the changes of a step to another function of its operands, or to its function of exchanged operands."""
    name, the = step.eqn.primitive.name, search.the(step)
    for function in _FUNCTIONS.get(name, ()):
        yield from search.tried(step, f"{the} is to be {_article(function)}", _acts.function(function))
    if name in _SWAPPED:
        text = f"the operands of {the} are exchanged"
        yield from search.tried(step, text, _acts.function(_SWAPPED[name], backwards=True))
    if name == "select_n" and len(step.operands) == 3:
        yield from search.tried(step, f"the branches of {the} are exchanged", _acts.function("where"))
    if name == "scatter":
        yield from search.tried(step, f"{the} is to add to what is there", _acts.scattered_sum)
    if name == "integer_pow":
        for by in (1, -1, 2, -2):
            power = step.eqn.params["y"] + by
            yield from search.tried(step, f"{the} is to be that with exponent {power}", _acts.power(power))
    if name in ("reduce_sum", "reduce_max", "reduce_min"):
        axes = step.eqn.params["axes"]
        for reduction in ("sum", "max", "min", "mean"):
            text = f"{the} is to be the {reduction} over the same entries"
            yield from search.tried(step, text, _acts.reduced(reduction, axes))


def _superfluous(search: Search, step: Step) -> Iterator[Change]:
    """Yield the changes that replace a step's value by one of its operands, as if the step were left out."""
    for operand in step.operands:
        if operand.key is not None:
            yield from search.tried(step, f"{search.the(step)} is one too many", _acts.value(ValueRef(operand.key)))


def _needless(search: Search, step: Step) -> Iterator[Change]:
    """Yield the changes that replace a step's value by a value that was computed before it."""
    the = search.the(step)
    for value in search.alike(step, step.outs[0]):
        if (what := search.named(value)) != the:
            yield from search.tried(step, f"{what} is due in the place of {the}", _acts.value(value))


def _other_operand(search: Search, step: Step) -> Iterator[Change]:
    """Yield the changes that replace one operand of a step: by another known value, or by its magnitude or sign."""
    name = step.eqn.primitive.name
    order = sorted(range(len(step.operands)), key=lambda j: search.is_cotangent(step.operands[j].key))
    for j in order:  # a cotangent is rarely what is wrong
        operand = step.operands[j]
        if operand.key is None:
            yield from _literal(search, step, j)
            continue
        current = search.named(operand.key)
        for value in search.alike(step, operand.key, *(step.outs if name in _ENTRY_BY_ENTRY else ())):
            what = search.named(value)
            if what != current and (value.axes is None or name in _ENTRY_BY_ENTRY):
                text = f"{search.the(step)} takes {current}, and {what} is due there"
                yield from search.tried(step, text, _acts.with_known(j, value))
        for function, what in (("abs", "magnitude"), ("sign", "sign")) if _is_real(search, operand.key) else ():
            text = f"{search.the(step)} takes {current}, and the {what} of that is due there"
            yield from search.tried(step, text, _acts.of_operand(j, function))


def _literal(search: Search, step: Step, j: int) -> Iterator[Change]:
    """Yield the changes that replace a literal c, operand `j`, by a static argument or a number such as −c or 2·c."""
    operand = step.operands[j]
    if not _is_number(operand):
        return
    current = float(operand.literal.val)
    candidates: list[float | str] = [*search.statics, -current, current - 1, current + 1, current / 2, 2 * current]
    candidates += [1 / current if current else 1.0, current * current, 0.0, 1.0]
    is_integer = np.issubdtype(operand.literal.aval.dtype, np.integer)
    for number in candidates:
        if number != current and (isinstance(number, str) or not (is_integer and number % 1)):
            text = _other_number(search, step, current, number)
            yield from search.tried(step, text, _acts.with_number(j, number))


def _accumulated(search: Search, step: Step) -> Iterator[Change]:
    """Yield the changes that replace a step's value by its running sum, or by that of an operand of the same shape."""
    shape = np.shape(search.points[0].run.values[step.outs[0]])
    if not _is_float(step):
        return
    for key in (None, *(o.key for o in step.operands if o.key is not None)):
        if key is not None and np.shape(search.points[0].run.values[key]) != shape:
            continue
        for axis in range(len(shape)):
            along = f" along axis {axis}" if len(shape) > 1 else ""
            for backwards, end in ((True, "from its end"), (False, "from its start")):
                of = "" if key is None else f" the running sum of {search.named(key)}{along}, {end}"
                text = f"{search.the(step)} is to be{of or f' summed up{along}, {end}'}"
                yield from search.tried(step, text, _acts.accumulated(ValueRef(key) if key else None, axis, backwards))


def _shifted(search: Search, step: Step) -> Iterator[Change]:
    """Yield the changes that shift the value of a step which moves entries, by one or two entries along an axis."""
    ways = (True, ", around its end"), (False, ", with 0 where nothing comes from")
    shape = np.shape(search.points[0].run.values[step.outs[0]])
    for axis in range(len(shape) if step.eqn.primitive.name in _MOVING and _is_float(step) else 0):
        along = f" along axis {axis}" if len(shape) > 1 else ""
        for by in (1, -1, 2, -2):
            for around, how in ways if step.eqn.primitive.name == "concatenate" else ways[::-1]:
                text = f"{search.the(step)} is to be shifted by {by}{along}{how}"
                yield from search.tried(step, text, _acts.shifted(by, axis, around))


def _factored_out(search: Search, step: Step) -> Iterator[Change]:
    """Yield the changes of an operand Σ a·b to b·Σ a or exp(b)·Σ a, and of a product a·Σ b to Σ a·b.

    Such a mistake is a factor that is summed although it belongs outside of the sum, or the other way round.
    """
    shape = np.shape(search.points[0].run.values[step.outs[0]])
    for j, operand in enumerate(step.operands if step.eqn.primitive.name in _ENTRY_BY_ENTRY else ()):
        total = search.origin(operand.key)
        if total is None or total.eqn.primitive.name != "reduce_sum":
            continue
        if step.eqn.primitive.name == "mul":
            text = f"{search.the(step)} is to be made inside of {search.the(total)}, of each of its terms"
            yield from search.tried(step, text, _acts.multiplied_inside(j, total))
        product = search.maker(total.operands[0].key)  # the step that makes the summands a·b
        if product is None or product.eqn.primitive.name != "mul":
            continue
        keys = [o.key for o in product.operands]
        for k, summed in enumerate(keys):
            outside = keys[1 - k]
            if summed is None or outside is None or np.shape(search.points[0].run.values[outside]) != shape:
                continue
            for function in ("", "exp"):
                factor = f"{search.named(outside)}" if not function else f"exp of {search.named(outside)}"
                text = f"{search.the(total)} is to be of {search.named(summed)} alone, and that times {factor}"
                yield from search.tried(step, text, _acts.factored_out(j, total, product, k, function))


def _added_at(search: Search, step: Step) -> Iterator[Change]:
    """Yield the changes of a gather to a scatter-add of known rows at known indices.

    The rows are each array of floats, and the indices each vector of integers, that are known and fit the result.
    """
    run, shape = search.points[0].run, np.shape(search.points[0].run.values[step.outs[0]])
    if step.eqn.primitive.name != "gather" or not _is_float(step) or not shape:
        return
    arrays = [(key, np.asarray(value)) for key, value in run.before(step)]
    for place, indices in arrays:
        for key, rows in arrays if indices.ndim == 1 and indices.dtype.kind == "i" else ():
            if rows.dtype.kind == "f" and rows.shape == (*indices.shape, *shape[1:]):
                text = (
                    f"{search.named(key)} is to be added at {search.named(place)}, in the place of {search.the(step)}"
                )
                yield from search.tried(step, text, _acts.added_at(ValueRef(key), ValueRef(place)))


def _masked(search: Search, step: Step) -> Iterator[Change]:
    """Yield the changes that set a step's value to 0 where a known condition holds, or where it does not."""
    if not _is_float(step):
        return
    for condition in search.alike(step, step.outs[0], kind="b"):
        for holds, where in ((True, "does not hold"), (False, "holds")):
            text = f"{search.the(step)} is to be 0 where {search.named(condition)} {where}"
            yield from search.tried(step, text, _acts.masked(condition, holds))


def _combined_with_known(search: Search, step: Step) -> Iterator[Change]:
    """Yield the changes that multiply or divide a step's value by a known value, or add or subtract that value."""
    if not _is_float(step):
        return
    the = search.the(step)
    for value in [*search.alike(step, step.outs[0]), *search.arguments_along(step)]:
        what = search.named(value)
        for function, text in (
            ("multiply", f"{the} is to be multiplied by {what}"),
            ("add", f"{what} is to be added to {the}"),
            ("subtract", f"{what} is to be subtracted from {the}"),
            ("divide", f"{the} is to be divided by {what}"),
        ):
            yield from search.tried(step, text, _acts.combined_with(function, value))


def _part_of_a_matrix(search: Search, step: Step) -> Iterator[Change]:
    """Yield the changes of `OF_MATRICES` for a step that gives square matrices: a triangle, the symmetric part, …"""
    shape = np.shape(search.points[0].run.values[step.outs[0]])
    if not _is_float(step) or len(shape) < 2 or shape[-1] != shape[-2]:
        return
    for how, act in _acts.OF_MATRICES.items():
        yield from search.tried(step, f"{search.the(step)} is to be taken {how}", act)


def _merged_early(search: Search, step: Step) -> Iterator[Change]:
    """Yield the changes that take a summand out of a step's sum and add it to the program's result instead."""
    result = search.program.results[0].key
    keys = [o.key for o in step.operands]
    if step.eqn.primitive.name not in ("add", "add_any") or result is None or result in (*keys, *step.outs):
        return
    for kept, added in (keys, keys[::-1]):
        if kept is None or added is None:
            continue
        acts = {step.key: _acts.value(ValueRef(kept)), result[:-1]: _acts.combined_with("add", ValueRef(added))}
        if search.is_right_with(acts):
            what = search.named(added)
            yield Change(f"{what} is added too early in {search.the(step)}: it is to be added to the cotangent", acts)


KINDS: tuple[Callable[[Search, Step], Iterator[Change]], ...] = (
    _superfluous,
    _other_function,
    _factor,
    _part_of_a_matrix,
    _needless,
    _other_operand,
    _accumulated,
    _shifted,
    _added_at,
    _masked,
    _merged_early,
    brackets,
    of_one_operand,
    made_before,
    _factored_out,
    _combined_with_known,
)


def _fraction(numbers: Sequence[float]) -> Fraction | None:
    """Return the fraction that all of the numbers are close to; None if they differ, or if it is 0 or 1 or not simple.

    A fraction is simple if its denominator is at most `LARGEST`.
    """
    if not numbers:
        return None
    first = numbers[0]
    if (
        not np.isfinite(first)
        or abs(first) > LARGEST
        or any(abs(n - first) > 1e-9 * max(abs(first), 1e-6) for n in numbers)
    ):
        return None
    fraction = Fraction(first).limit_denominator(LARGEST)
    return fraction if fraction not in (0, 1) and abs(float(fraction) - first) <= 1e-9 * abs(first) else None


def _is_number(operand: Operand) -> bool:
    """Return whether an operand is a scalar literal of a numeric dtype."""
    literal = operand.literal
    return operand.key is None and not np.ndim(literal.val) and bool(np.issubdtype(literal.aval.dtype, np.number))


def _other_number(search: Search, step: Step, here: float, number: float | str) -> str:
    due = number if isinstance(number, str) else f"{number:.12g}"
    return f"{search.the(step)} takes the number {here:.12g}, and {due} is due there"


def _is_real(search: Search, key: Key) -> bool:
    return np.asarray(search.points[0].run.values[key]).dtype.kind == "f"


def _is_float(step: Step) -> bool:
    return bool(np.issubdtype(step.eqn.outvars[0].aval.dtype, np.floating))


def _number(number: Fraction) -> str:
    return f"{float(number):g}" if number.denominator > 1000 else str(number)


def _of_factor(the: str, number: Fraction) -> str:
    if number == -1:
        return f"the sign of {the} is wrong"
    how = f"divided by {number.denominator}" if number.numerator == 1 else f"multiplied by {number}"
    return f"{the} is to be {how}"


def _article(function: str) -> str:
    words = {"add": "sum", "subtract": "difference", "multiply": "product", "divide": "quotient"}
    word = words.get(function, function.replace("_", " "))
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"
