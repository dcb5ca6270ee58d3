"""The widths of the numbers that a program computes, and of their tangents, by its expressions (docs/exact.md).

A sum over an axis is read with a weight for each of its indices. Where programs do arithmetic on indices, or recur,
nothing is counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from certgrad.language import tree as t
from certgrad.language.functions import FUNCTIONS
from certgrad.language.sorts import sort
from certgrad.language.substitute import substitute, unbound, variables
from certgrad.specification.program import Defined, Program, Table, Tensor

from ._free import Free
from ._index import NoTheoremError, Scope, gap, lies_along, line_of
from ._model import MOST_ROOTS
from ._nonzero import POWERS, Nonzero
from ._places import Places
from ._width import (
    NOTHING,
    Dual,
    Key,
    SizeQuestions,
    Width,
    degree_in,
    sum_of_duals,
    sum_widths,
    with_each_part,
    without_index,
)

OF_EXP = frozenset({"exp", "sin", "cos", "sinh", "cosh", "tanh"})
"""Functions whose exponents are added where values are multiplied."""
SMOOTH = OF_EXP | {"log", "sqrt", "erf", "erf_inv", "square"}
"""Functions that compare nothing."""
MOST_READ = 20_000
"""The most expressions that are read of what a program divides by or compares."""


class Widths:
    """The widths (degrees) of a program's numbers in the weights of one line of sizes, which `asked` names."""

    def __init__(
        self,
        program: Program,
        name: str,
        asked: SizeQuestions,
        positive: frozenset[str] = frozenset(),
        moving: Sequence[str] = (),
    ) -> None:
        self.program, self.name, self.asked, self.positive, self.moving = program, name, asked, positive, moving
        self.line, self.places = asked.line, Places(program)
        self.inputs = {tensor.name: tensor for tensor in program.inputs}
        self.made: dict[str, Any] = {}
        for d in program.definitions:
            if not isinstance(d, (Defined, Table)):
                raise NoTheoremError(f"it has a {type(d).__name__.lower()}")
            self.made[d.tensor.name] = d
        self.made_of: dict[str, Dual] = {}
        self.summing: dict[str, bool] = {}
        self.through: dict[str, set[str]] = {}
        self.read = 0

    # --- indices

    def _place(self, x: t.Node, length: t.Node, scope: Scope) -> bool:
        """Return whether data give the place of a read along an axis. Raises NoTheoremError for other arithmetic."""
        if isinstance(x, t.Index) and scope[x.name] == length:
            return False
        gaps = [gap(form, "=", scope) for form in self.places.forms(x)]
        if any(difference.sizes for difference in gaps) or not isinstance(length, t.Integer):
            raise NoTheoremError("there is arithmetic on indices")
        self.asked.numbers.update(*(difference.data for difference in gaps))
        return self._any([*self.places.conditions(x)], scope) or any(difference.data for difference in gaps)

    def _indices_compared(self, x: t.Compare, scope: Scope) -> bool:
        """Return whether integers of the data are among those that are compared, and note it. Raises NoTheoremError."""
        gaps = [gap(form, x.relation, scope) for form in self.places.forms(t.Subtract(x.left, x.right))]
        for difference in gaps:
            shapes = {name: self.inputs[name].shape for name in difference.data if name in self.inputs}
            self.asked.places_compared(difference, shapes)
        return self._any([*self.places.conditions(x.left), *self.places.conditions(x.right)], scope) or any(
            difference.data for difference in gaps
        )

    def _speaks_of_indices(self, x: t.Node, scope: Scope) -> bool:
        """Return whether an expression depends on sizes, or on indices of open axes, through definitions."""
        definition = self.places.meant(x)
        if isinstance(definition, t.Size) or (isinstance(definition, t.Index) and definition.name not in scope):
            return True
        if isinstance(definition, t.Index):
            return not isinstance(scope[definition.name], t.Integer)
        parts = definition.index[:0] if isinstance(definition, t.Entry) else t.children(definition)
        return any(self._speaks_of_indices(part, scope) for part in parts)

    def counted(self, x: t.Node) -> t.Node | None:
        """Return the polynomial in sizes that a node is; None for any other node."""
        match x:
            case t.Size() | t.Integer():
                return x
            case t.Entry(name=name, index=()) if isinstance(made := self.made.get(name), Defined):
                return self.counted(made.entry)
            case t.Add() | t.Mul():
                polynomials = [self.counted(part) for part in t.children(x)]
                parts = tuple(part for part in polynomials if part is not None)
                return type(x)(parts) if len(parts) == len(polynomials) else None
        return None

    # --- statements

    def holds(self, x: t.Node, scope: Scope) -> bool:
        """Return whether the truth of a statement rests on how real numbers compare."""
        if self._decided(x, scope) is not None:
            return False
        match x:
            case t.Compare(left=left, right=right):
                return self._compared(x, left, right, scope)
            case t.Both(parts=parts) | t.Either(parts=parts):
                return self._any(parts, scope)
            case t.Not(part=part):
                return self.holds(part, scope)
            case t.If():
                return self._any((x.condition, x.then, x.otherwise), scope)
            case t.SortedEntry():
                return self.entry(x, scope)[0].chosen
        raise NoTheoremError(f"it says {type(x).__name__.lower()} of indices")

    def _required(self, x: t.Node, scope: Scope, variables: int = 0) -> bool:
        """Return `holds` of a condition of definedness, and note how many indices it binds at once in `together`."""
        match x:
            case t.ForAll(over=over, holds=inside):
                inner = {**scope, **{r.variable: r.size for r in over}}
                return self._required(inside, inner, variables + len(over))
            case t.Both(parts=parts):
                outcomes = [self._required(part, scope, variables) for part in parts]
                return any(outcomes)
        self.asked.together = max(self.asked.together, variables)
        return self.holds(x, scope)

    def _any(self, parts: Sequence[t.Node], scope: Scope) -> bool:
        outcomes = [self.holds(part, scope) for part in parts]  # all of them are read
        return any(outcomes)

    def _compared(self, x: t.Compare, left: t.Node, right: t.Node, scope: Scope) -> bool:
        """Return whether a comparison rests on real numbers. Raises NoTheoremError if another size may change it."""
        if sort(left) == "integer":
            try:
                return self._indices_compared(x, scope)
            except NoTheoremError:
                if self._speaks_of_indices(x, scope):
                    raise
        sides = [self.term(side, scope)[0] for side in (left, right)]
        plain = all(side.plain for side in sides)
        if self.asked.free and sort(left) == "real" and max(side.kind for side in sides) != 1:
            if any(side.endless for side in sides):
                raise NoTheoremError("it compares what may be infinite")
            if not plain and (x.relation in ("=", "!=") or not self._by_form(scope).holds(t.Subtract(left, right))):
                raise NoTheoremError("it compares numbers that may be equal at some size")
            self.asked.argument(sides[0] + sides[1])
            return False
        if max(side.kind for side in sides) == 1:
            raise NoTheoremError("it compares sizes")
        if not plain:  # at another size it may fall out otherwise
            raise NoTheoremError("it compares a sum")
        return True

    def _decided(self, x: t.Node, scope: Scope) -> bool | None:
        """Return a statement's truth if it is the same for all numbers and sizes; else None."""
        match x:
            case t.SortedEntry(sort="boolean") if isinstance(made := self.made.get(x.name), Defined):
                return self._decided(made.entry, dict(zip(made.variables, made.tensor.shape, strict=True)))
            case t.Apply(function="is finite", arguments=(u,)):
                return None if self.term(u, scope)[0].endless else True
            case t.Compare(relation="=" | "!=" | "<=" | ">="):
                return self._by_form(scope).decided(x)
            case t.Compare(relation="<" | ">", left=left, right=right):
                small, large = (left, right) if x.relation == "<" else (right, left)
                for side, finite, holds in ((small, large, False), (large, small, True)):
                    if (
                        isinstance(side, t.Infinity)
                        and sort(finite) == "real"
                        and not self.term(finite, scope)[0].endless
                    ):
                        return side.positive is holds
                return self._by_form(scope).decided(x)
        return None

    def _is_count(self, x: t.Node) -> bool:
        """Return whether a number is a product or sum of sizes and positive integers, which is never 0."""
        x = self.places.meant(x)
        if isinstance(x, t.Subtract) and isinstance(subtrahend := self.places.meant(x.right), t.ToReal):
            return subtrahend.operand == t.Integer(0) and self._is_count(x.left)
        counted = self.counted(x.operand) if isinstance(x, t.ToReal) else None
        return counted is not None and all(n.value > 0 for n in t.walk(counted) if isinstance(n, t.Integer))

    # --- terms

    def entry(self, x: t.SortedEntry, scope: Scope) -> Dual:
        """Return the widths of an entry of an array, at its indices."""
        tensor = self.inputs.get(x.name) or self.made[x.name].tensor
        places = [self._place(place, length, scope) for place, length in zip(x.index, tensor.shape, strict=True)]
        value, slope = self._array(x.name, tensor)
        if x.name in self.made:
            values = dict(zip(getattr(self.made[x.name], "variables", ()), x.index, strict=False))
            value, slope = value.at(values), slope and slope.at(values)
        by_data: dict[str, Any] = {"chosen": True, "kind": 2} if any(places) else {}
        return with_each_part((value, slope), lambda w: replace(w, **by_data))

    def _array(self, name: str, tensor: Tensor) -> Dual:
        """Return the widths of an array's entries, by the variables of its definition."""
        if name in self.inputs:
            self.asked.numbers |= {name} if tensor.sort == "integer" else set()
            return Width(chosen=tensor.sort == "boolean", kind=2), Width(kind=2) if name in self.moving else None
        definition = self.made[name]
        if isinstance(definition, Table):
            return NOTHING, None
        if name not in self.made_of:
            inner = dict(zip(definition.variables, tensor.shape, strict=True))
            if tensor.sort == "boolean":
                self.made_of[name] = Width(chosen=self.holds(definition.entry, inner), kind=2), None
            else:
                self.made_of[name] = self.term(definition.entry, inner)
        return self.made_of[name]

    def term(self, x: t.Node, scope: Scope) -> Dual:
        """Return the width of an expression of numbers, with that of its tangent."""
        match x:
            case t.Number() | t.Integer() | t.Constant():
                return NOTHING, None
            case t.Infinity():
                return Width(endless=True), None
            case t.Index() if isinstance(scope[x.name], t.Integer):
                return NOTHING, None
            case t.SortedEntry():
                return self.entry(x, scope)
            case t.ToReal(operand=operand):
                counted = self.counted(operand)
                if counted is None:
                    return self.term(operand, scope)
                names = [self._name_of(n.name) for n in t.walk(counted) if isinstance(n, t.Size)]
                return Width(Fraction(degree_in(counted, self.line)), kind=int(bool(names))), None
            case t.Add(terms=parts):
                return sum_of_duals([self.term(part, scope) for part in parts])
            case t.Subtract():
                return sum_of_duals([self.term(x.left, scope), self.term(t.Negate(x.right), scope)])
            case t.Negate(operand=operand):
                return with_each_part(self.term(operand, scope), lambda w: w.scaled(Fraction(-1)))
            case t.Mul(factors=factors):
                return self._product(factors, scope)
            case t.Divide(left=left, right=t.Number() as c) if c.rational:
                return self._product((left, t.number(1 / c.rational)), scope)
            case t.Divide():
                return self._times(self.term(x.left, scope), self._power(x.right, Fraction(-1), scope))
            case t.Power():
                return self._power(x.base, Fraction(x.exponent), scope)
            case t.Apply(function=function, arguments=(u, t.Integer(value=n))) if function in POWERS:
                return self._power(u, Fraction(n), scope)
            case t.Apply():
                return self._applied(x, scope)
            case t.Truth(statement=statement):
                return Width(
                    chosen=self.holds(statement, scope), signed=self.asked.free and self._is_signed(statement)
                ), None
            case t.If() if (holds := self._decided(x.condition, scope)) is not None:
                return self.term(x.then if holds else x.otherwise, scope)
            case t.If():
                return self._chosen(x.condition, [self.term(part, scope) for part in (x.then, x.otherwise)], scope)
            case t.Given() if self.asked.free and self._is_signed(x.condition):
                raise NoTheoremError("it is defined where numbers compare in one way")
            case t.Given():
                chosen = self._required(x.condition, scope)
                return with_each_part(self.term(x.value, scope), lambda w: replace(w, chosen=w.chosen or chosen))
            case t.Fold(kind="sum") if sort(x.body) == "real":
                return self._fold(x, scope)
            case t.Fold(kind="maximum") | t.Minimum():
                return self._extremum(x, scope)
        raise NoTheoremError(f"{x.kind if isinstance(x, t.Fold) else type(x).__name__.lower()} is not followed")

    def _chosen(self, condition: t.Node, parts: Sequence[Dual], scope: Scope) -> Dual:
        """Return the widths of a choice by a condition: those of the sum of its parts, flagged as chosen."""
        chosen = self.holds(condition, scope)
        logs = {key: (None, u) for value, _ in parts for key, (_, u) in value.logs.items()}  # those of either
        same = all(value.logs == parts[0][0].logs for value, _ in parts)
        signed = self.asked.free and self._is_signed(condition)
        value, slope = with_each_part(
            sum_of_duals(parts), lambda w: replace(w, chosen=w.chosen or chosen, signed=w.signed or signed)
        )
        return replace(value, logs=parts[0][0].logs if same and not self.asked.free else logs), slope

    def _is_signed(self, x: t.Node) -> bool:
        """Return whether a statement depends on more than indices and boolean arrays."""
        return Free(self.made, lambda part: part).compares(x)

    def _product(self, factors: Sequence[t.Node], scope: Scope) -> Dual:
        numbers = [x.rational for x in factors if isinstance(x, t.Number)]
        widths = [self.term(x, scope) for x in factors if not isinstance(x, t.Number)]
        total = widths[0] if widths else (NOTHING, None)
        for factor in widths[1:]:
            total = self._times(total, factor)
        c = Fraction(1)
        for n in numbers:
            c *= n
        return with_each_part(total, lambda w: w.scaled(c))

    def _times(self, one: Dual, other: Dual) -> Dual:
        parts = [a * b for a, b in ((one[1], other[0]), (other[1], one[0])) if a is not None]
        return one[0] * other[0], sum_widths(parts)

    def _key(self, x: t.Node, scope: Scope) -> Key:
        """Return the name of a number as a factor of denominators, with its indices; aliases have one name."""
        while isinstance(x, t.Entry):
            definition = self.made.get(x.name)
            if not isinstance(definition, Defined) or not isinstance(definition.entry, t.Entry):
                return (self.name, x.name), x.index
            x = substitute(definition.entry, dict(zip(definition.variables, x.index, strict=True)))
        names = sorted(unbound(x))
        return (self.name, x, *names), tuple(map(t.Index, names))

    def _power(self, base: t.Node, e: Fraction, scope: Scope) -> Dual:
        """Return the widths of a power; NoTheoremError if the base may be 0 at a size, or a square under a root."""
        value, slope = self.term(base, scope)
        if e < 0 and not self._by_form(scope).holds(base):
            raise NoTheoremError("it divides by what may be 0 at some size")
        if e.denominator % 2 == 0:
            self._inside(t.Apply("sqrt", (base,)), scope)
        if value.plain or e == 0:
            return value, None if slope is None else value * slope
        if e.denominator > 2:
            raise NoTheoremError("a root of a sum that is no square root")
        if e.denominator == 2:
            self._by_form(scope).no_square(base)
            value = replace(value, nested=self.asked.argument(value, 1 + MOST_ROOTS).nested, made=True)
        key = self._key(base, scope)
        return value.power(e, key), None if slope is None else value.power(e - 1, key) * slope

    def _by_form(self, scope: Scope) -> Nonzero:
        def is_plain(part: t.Node) -> bool:
            """Return whether a number depends on no index but its own and on no size."""
            return not self.term(part, scope)[0].signed and not self._sums(part)

        inputs = {name: name in self.positive for name in self.inputs}
        return Nonzero(self._through_definitions, is_plain, self._sums, self._is_count, inputs, self.through)

    def _inside(self, x: t.Apply, scope: Scope) -> None:
        """Raise NoTheoremError where a rule's function may have an argument outside of its domain at some size."""
        facts = FUNCTIONS.get(x.function)
        if self.name == "forward" or facts is None or facts.domain(*x.arguments) == t.TRUE:
            return
        by_form = self._by_form(scope)
        # A sum of squares may be identically 0 at one size, where a root is defined and a logarithm is not.
        is_in_domain = {"log": by_form.positive, "sqrt": by_form.nonnegative}.get(x.function, lambda u: False)
        if not all(by_form.is_plain(u) or is_in_domain(u) for u in x.arguments):
            raise NoTheoremError("the rule takes a function of what may be outside of its domain at some size")

    def _through_definitions(self, x: t.Node) -> t.Node:
        """Return an entry by its definition. Raises NoTheoremError after `MOST_READ` readings."""
        self.read += 1
        if self.read > MOST_READ:
            raise NoTheoremError("what it divides by or compares is too long to be read")
        return self.places.meant(x)

    def _sums(self, x: t.Node) -> bool:
        """Return whether an expression, or what it is computed from, has sums, maxima or sizes in it."""
        if isinstance(x, t.SortedEntry) and isinstance(made := self.made.get(x.name), Defined):
            if x.name not in self.summing:
                self.summing[x.name] = self._sums(made.entry)
            return self.summing[x.name] or any(map(self._sums, x.index))
        return isinstance(x, t.Fold | t.Minimum | t.Size) or any(map(self._sums, t.children(x)))

    def _applied(self, x: t.Apply, scope: Scope) -> Dual:
        """Return the widths of a function's value and of its derivative. Raises NoTheoremError without a bound."""
        widths = [self.term(u, scope) for u in x.arguments]
        if x.function == "stop":
            return widths[0]
        self._inside(x, scope)
        plain = all(value.plain for value, _ in widths)
        slopes = [slope for _, slope in widths if slope is not None]
        atom = NOTHING._with(value for value, _ in widths)
        if self.asked.free and x.function in ("sign", "abs"):
            ((value, slope),) = widths
            if not value.plain and not self._by_form(scope).holds(x.arguments[0]):
                raise NoTheoremError("it takes the sign of what may be 0 at some size")
            atom = replace(self.asked.argument(value), signed=True)
            return (atom, None) if x.function == "sign" else (value * atom, slope)
        if x.function not in SMOOTH:  # it may compare its argument
            atom = replace(atom, chosen=True)
        if plain:  # a function of plain numbers is plain: nothing has to be told apart
            return atom, sum_widths([atom * slope for slope in slopes])
        if x.function not in SMOOTH:
            raise NoTheoremError(f"{x.function} of a sum")
        ((value, slope),) = widths
        if x.function == "square":
            return self._times(widths[0], widths[0])
        if x.function == "sqrt":
            return self._power(x.arguments[0], Fraction(1, 2), scope)
        key = self._key(x.arguments[0], scope)
        if x.function == "log":
            self._by_form(scope).no_square(x.arguments[0])
            self.asked.logarithm((self.name, key[0]))  # its argument is kept in `logs`, for an exp of it
        atom = self.asked.argument(value, 1 + MOST_ROOTS if x.function == "log" else 1)
        if x.function == "log":
            logs = {key: (Fraction(1), replace(value, logs={}))} if value.top or value.low else {}
            return replace(atom, logs=logs), None if slope is None else value.power(Fraction(-1), key) * slope
        if any(key[1] for key in value.low):
            raise NoTheoremError("an exponent is divided by a sum, at each index by another one")
        if x.function in OF_EXP or x.function in ("erf", "erf_inv"):
            exponential = self.asked.exponent(value)
            atom = replace(atom, exponents=exponential.exponents)
        if x.function == "exp":  # exp(c·log a + …) is aᶜ·exp(…)
            for name, (count, argument) in value.logs.items():
                if count is None or count.denominator > 2:
                    raise NoTheoremError("a power of a sum that is not whole")
                if count.denominator == 2:
                    atom = replace(atom, nested=max(atom.nested, self.asked.argument(argument, 1 + MOST_ROOTS).nested))
                atom = atom * argument.power(count, name)
        elif value.logs and x.function in OF_EXP:
            raise NoTheoremError("a function of a logarithm of a sum")
        if x.function in ("erf", "erf_inv"):  # the derivative has the square as exponent
            self.asked.exponent(value * value)
        return atom, None if slope is None else atom * slope

    # --- bound indices

    def _fold(self, x: t.Fold, scope: Scope) -> Dual:
        inner = {**scope, **{r.variable: r.size for r in x.over}}
        widths = self.term(x.body, inner)
        if self.asked.free and any(map(self._is_signed, x.where)):
            raise NoTheoremError("a sum of what numbers that compare choose")
        for condition in x.where:
            widths = self._chosen(condition, [widths], inner)
        for r in x.over:
            widths = with_each_part(widths, lambda w, r=r: self.summed(w, r.variable, r.size))  # type: ignore[misc]
        return widths

    def summed(self, w: Width, variable: str, size: t.Node) -> Width:
        """Return the width of a sum along an axis; a denominator that depends on its index counts once an index."""
        is_open = not isinstance(size, t.Integer)
        for name in line_of(size) if is_open else ():
            self._name_of(name)
        logs: Mapping[Key, Any] = {}  # a weight times a logarithm is none
        if not is_open:
            logs = {key: (None, argument) for key, (_, argument) in w.logs.items()}
        top, low = w.top + lies_along(size, self.line), dict(w.low)
        picked = w.picked or (w.chosen and is_open)
        for key, (count, degree) in w.low.items():
            if variable in _indices(key):
                times = self._at_most(size)
                top += (times - 1) * count * degree
                del low[key]
                low[("all", key, size), without_index(key, variable)] = times * count, degree
        return replace(w, top=top, low=low, logs=logs, picked=picked)

    def _at_most(self, size: t.Node) -> int:
        if isinstance(size, t.Integer):
            return size.value
        if lies_along(size, self.line):
            raise NoTheoremError("a sum of fractions with denominators that are sums, each another one")
        return self.asked.length(size)

    def _name_of(self, name: str) -> str:
        if name not in self.asked.sizes:
            raise NoTheoremError(f"the size {name} is that of no array")
        return name

    def _extremum(self, x: t.Fold | t.Minimum, scope: Scope) -> Dual:
        """Return the widths of an extremum, which is a new free number. Raises NoTheoremError for a part of an axis."""
        if x.where:
            raise NoTheoremError("an extremum of a part of an axis")
        inner = {**scope, **{r.variable: r.size for r in x.over}}
        value, slope = self.term(x.body, inner)
        if value.chosen:
            raise NoTheoremError("an extremum of what is chosen by comparison")
        if value.kind < 2:  # of numbers alone it is one of them
            raise NoTheoremError("an extremum of numbers")
        self.asked.extrema |= {r.size for r in x.over}
        axes_along = sum(lies_along(r.size, self.line) for r in x.over)
        numbers = [self.asked.argument(w, labels=axes_along) for w in (value, *([] if slope is None else [slope]))]
        return numbers[0], None if slope is None else replace(numbers[-1], kind=2)

    def output(self, k: int) -> tuple[Dual, Scope]:
        """Return the widths of an output's entries, and the lengths of its axes by index."""
        tensor = self.program.outputs[k]
        scope = {f"a{axis}": length for axis, length in enumerate(tensor.shape)}
        return self.entry(t.SortedEntry(tensor.name, tuple(map(t.Index, scope)), tensor.sort), scope), scope

    def whole(self, w: Width, scope: Scope) -> Width:
        """Return the width of an array: that of its entries, summed over all of them."""
        for variable, size in scope.items():
            w = self.summed(w, variable, size)
        return w


def _indices(key: Key) -> set[str]:
    return {name for x in key[1] for name in variables(x)}
