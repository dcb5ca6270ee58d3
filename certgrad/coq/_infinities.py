"""Programs that compute with ±∞, rewritten as programs of finite numbers alone.

A tensor with entries that may be infinite is split into two: one of numbers, unspecified where the entry is infinite,
and one of booleans, whether the entry is finite. That suffices for a masked softmax, where masked entries are −∞: the
maximum is that of the finite entries, and exp(−∞) = 0, as the specification says of `Infinity`. A sum of two infinities
is not printed, nor a program with an output that may be infinite.

The boolean is defined where the entry is defined, finite or not; the number where the entry is defined and finite.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace

from msgspec.structs import replace as replaced

from certgrad.language import tree as e
from certgrad.language.definedness import all_of, defined
from certgrad.language.tree import mapped
from certgrad.specification import program as p
from certgrad.specification.program import pruned, reads

from ._errors import NotPrintedError

_ALWAYS, _NEVER = e.TRUE, e.FALSE


@dataclass(frozen=True)
class _Split:
    """An expression that may be infinite: it is `number` where `finite` holds, else ∞ if `positive`, else −∞."""

    number: e.Node
    finite: e.Node = _ALWAYS
    positive: bool = False


@dataclass(frozen=True)
class _InfiniteTensors:
    """The tensors that may be infinite, with True for +∞ (`signs`), and those that are finite nowhere (`never`)."""

    signs: Mapping[str, bool]
    never: Set[str]


def without_infinities(program: p.Program) -> p.Program:
    """Return the program with each array that may be infinite split into two; the same program where none is.

    A tensor that is finite nowhere has no boolean: its definition only says where it is defined. Raises
    NotPrintedError where an infinity cannot be split off.
    """
    signs: dict[str, bool] = {}
    never_finite: set[str] = set()
    taken = {t.name for t in program.inputs}
    definitions: list[p.Definition] = []
    for definition in program.definitions:
        if not isinstance(definition, p.Defined):
            if reads(definition) & signs.keys() or any(map(_infinite, _expressions_in(definition))):
                raise NotPrintedError("an infinity in a loop or a table")
            definitions.append(definition)
            continue
        split = _split_infinity(definition.entry, _InfiniteTensors(signs, never_finite))
        if split.finite == _ALWAYS:
            definitions.append(replace(definition, entry=split.number))
            continue
        tensor = definition.tensor
        signs[tensor.name] = split.positive
        if (never := _never(split.finite)) is not None:
            never_finite.add(tensor.name)
            definitions.append(replace(definition, entry=_simplified_given(never, split.number)))
            continue
        condition = replace(tensor, name=_finite(tensor.name), sort="boolean")
        if condition.name in taken:
            raise NotPrintedError(f"an argument {condition.name}")
        definitions.append(replace(definition, tensor=condition, entry=split.finite))
        definitions.append(replace(definition, entry=split.number))
    if any(t.name in signs for t in program.outputs):
        raise NotPrintedError("an output that may be infinite")
    return pruned(replace(program, definitions=tuple(definitions)))


def _finite(name: str) -> str:
    return f"{name}_is_finite"


def _expressions_in(definition: p.Definition) -> list[e.Node]:
    """Return all expressions of a definition, those inside a loop too."""
    if isinstance(definition, p.Table):
        return list(definition.values)
    if isinstance(definition, p.Loop):
        steps = [x for c in definition.carries for x in (c.start, c.step)]
        return [*steps, *(x for inner in definition.body for x in _expressions_in(inner))]
    return list(p.expressions_of(definition))


def _infinite(x: e.Node) -> bool:
    return any(isinstance(n, e.Infinity) for n in e.walk(x))


def _split_infinity(x: e.Node, known: _InfiniteTensors) -> _Split:
    """Return an expression's number, the condition that it is finite, and the sign that it has where it is infinite.

    `known` are the tensors defined before that may be infinite. Infinities may be negated, chosen by a condition, added
    to a finite number, compared with one, and be arguments of exp (only −∞) and of a maximum (only −∞) or a minimum
    (only +∞). Raises NotPrintedError for any other arithmetic with them.
    """
    zero = e.ZERO
    match x:
        case e.Infinity():
            return _Split(zero, _NEVER, x.positive)
        case e.Entry(name) if name in known.never:
            return _Split(zero, e.Given(e.IsDefined(x), _NEVER), known.signs[name])
        case e.Entry(name, index) if name in known.signs:
            return _Split(x, e.SortedEntry(_finite(name), index, "boolean"), known.signs[name])
        case e.Negate():
            operand = _split_infinity(x.operand, known)
            return _Split(e.Negate(operand.number), operand.finite, not operand.positive)
        case e.If():
            return _chosen(
                _number(x.condition, known), _split_infinity(x.then, known), _split_infinity(x.otherwise, known)
            )
        case e.Given():
            operand, condition = _split_infinity(x.value, known), _number(x.condition, known)
            finite = _ALWAYS if operand.finite == _ALWAYS else e.Given(condition, operand.finite)
            return _Split(e.Given(condition, operand.number), finite, operand.positive)
        case e.Add((left, right)):
            return _sum(_split_infinity(left, known), _split_infinity(right, known))
        case e.Subtract(left, right):
            return _sum(_split_infinity(left, known), _split_infinity(right, known), minus=True)
        case e.Apply(name, (argument,)) if name in ("exp", "is finite"):
            operand = _split_infinity(argument, known)
            if operand.finite == _ALWAYS:
                return _Split(e.Apply(name, (operand.number,)))
            if name == "is finite":
                return _Split(e.Given(e.If(operand.finite, defined(operand.number), _ALWAYS), operand.finite))
            if not operand.positive:
                return _Split(e.If(operand.finite, e.Apply("exp", (operand.number,)), zero))
        case e.Compare():
            return _Split(_compared(x, _split_infinity(x.left, known), _split_infinity(x.right, known)))
        case e.Fold("maximum", over, body, conditions) | e.Minimum(over, body, conditions):
            operand, where = _split_infinity(body, known), tuple(_number(w, known) for w in conditions)
            if operand.finite == _ALWAYS:
                return _Split(replaced(x, body=operand.number, where=where))
            if operand.positive == isinstance(x, e.Minimum):
                # The maximum of the finite entries; it is infinite where there are entries, but none is finite.
                where_finite = all_of(*where, operand.finite)
                exists_finite = e.Given(e.Exists(over, all_of(*where)), e.Exists(over, where_finite))
                return _Split(replaced(x, body=operand.number, where=(where_finite,)), exists_finite, operand.positive)
        case _:
            return _Split(mapped(x, lambda part: _number(part, known)))
    raise NotPrintedError("arithmetic with infinities")


def _number(x: e.Node, known: _InfiniteTensors) -> e.Node:
    """Return an expression that is always finite without infinities. Raises NotPrintedError if it may be infinite."""
    split = _split_infinity(x, known)
    if split.finite != _ALWAYS:
        raise NotPrintedError("arithmetic with infinities")
    return split.number


def _chosen(condition: e.Node, then: _Split, otherwise: _Split) -> _Split:
    """Return the choice "if condition then … else …" of two expressions.

    If one of them is finite nowhere, as the −∞ of a mask, the choice is finite where the condition selects the other.
    Raises NotPrintedError where they may have infinities of different signs.
    """
    signs = {branch.positive for branch in (then, otherwise) if branch.finite != _ALWAYS}
    if not signs:
        return _Split(e.If(condition, then.number, otherwise.number))
    if len(signs) > 1:
        raise NotPrintedError("arithmetic with infinities")
    yes, no = _never(then.finite), _never(otherwise.finite)
    if then.finite == _ALWAYS and no is not None:
        finite = _simplified_given(no if no == _ALWAYS else e.If(condition, _ALWAYS, no), condition)
        return _Split(e.Given(condition, then.number), finite, *signs)
    if otherwise.finite == _ALWAYS and yes is not None:
        finite = _simplified_given(yes if yes == _ALWAYS else e.If(condition, yes, _ALWAYS), e.Not(condition))
        return _Split(e.Given(e.Not(condition), otherwise.number), finite, *signs)
    if yes is not None and no is not None:
        return _Split(then.number, e.Given(e.If(condition, yes, no), _NEVER), *signs)
    number = e.If(condition, then.number, otherwise.number)
    return _Split(number, e.If(condition, then.finite, otherwise.finite), *signs)


def _never(finite: e.Node) -> e.Node | None:
    """Return the condition under which an expression that is finite nowhere is defined; None for any other.

    `finite` is the expression's condition that it is finite.
    """
    match finite:
        case e.FALSE:
            return _ALWAYS
        case e.Given(condition, e.FALSE):
            return condition
    return None


def _sum(left: _Split, right: _Split, minus: bool = False) -> _Split:
    """Return a sum, or a difference (`minus`), of which at most one side is infinite at any entry.

    If both sides may be infinite, the right one has to be finite: the result is defined only where it is.
    """

    def combined(second: e.Node) -> e.Node:
        return left.number - second if minus else left.number + second

    number = combined(right.number)
    if left.finite == right.finite == _ALWAYS:
        return _Split(number)
    if left.finite == _ALWAYS:
        finite = _simplified_given(defined(left.number), right.finite)
        return _Split(number, finite, right.positive != minus)
    is_number = all_of(right.finite, defined(right.number))
    return _Split(
        combined(_simplified_given(right.finite, right.number)),
        _simplified_given(is_number, left.finite),
        left.positive,
    )


def _compared(x: e.Compare, left: _Split, right: _Split) -> e.Node:
    """Return a comparison of which one side may be infinite: there the infinite side is beyond every number.

    Raises NotPrintedError where both sides may be infinite.
    """
    finite = e.Compare(x.relation, left.number, right.number)
    if left.finite == right.finite == _ALWAYS:
        return finite
    if left.finite != _ALWAYS and right.finite != _ALWAYS:
        raise NotPrintedError("arithmetic with infinities")
    infinite, number = (left, right.number) if right.finite == _ALWAYS else (right, left.number)
    holds = x.relation != "=" and infinite.positive == (infinite is right)
    return e.If(infinite.finite, finite, _simplified_given(defined(number), e.TRUE if holds else e.FALSE))


def _simplified_given(condition: e.Node, value: e.Node) -> e.Node:
    """Return the value, which is defined only under the condition."""
    return value if condition == _ALWAYS else e.Given(condition, value)
