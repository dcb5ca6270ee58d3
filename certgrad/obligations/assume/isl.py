"""Conditions on indices and sizes, decided for all sizes by isl, a library for linear integer (Presburger) arithmetic.

Dimensions and index variables become parameters in the text of a question to isl. A product of dimensions, and a size
that isl cannot express, becomes a parameter of its own, about which nothing else is known; so does an integer atom, but
for what is noted of it. That can make a condition undecidable, never a wrong answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import islpy as isl
from flint import fmpq

from certgrad.obligations.terms.atoms import Dim
from certgrad.obligations.terms.budget import budget
from certgrad.obligations.terms.index import IntegerAtom, Ix, combine, of_atom, of_const, of_term, solved, whole_number
from certgrad.obligations.terms.index_terms import at_least, bounds
from certgrad.obligations.terms.integers import Chosen, Entry, Quotient, Remainder, Rounded, by_entries, where_equal
from certgrad.obligations.terms.polynomials import ONE, Mono, Poly, mono_positive, number
from certgrad.obligations.terms.predicates import IxEq, IxPred
from certgrad.obligations.terms.rounded import bounds_of_number
from certgrad.obligations.terms.session import Memo
from certgrad.obligations.terms.variables import Var
from certgrad.obligations.terms.walk import atoms_of
from certgrad.signatures.sizes import Call, Factor, NoSizeError, Size, parse_size


class _Isl(threading.local):
    """isl's state: every thread has its own."""

    def __init__(self) -> None:
        self.context = isl.Context()


here = _Isl()
Condition = tuple[Ix, str]
"""An index expression and its relation to 0: `>=`, `=` or `!=`."""
MAX_CONDITIONS = 8
"""Most conditions on indices in one question of `inhabited`; a question with more counts as undecided."""
Knowledge = Callable[[Entry | Rounded], list[tuple[Condition, ...]]]
"""Returns what is assumed of an entry of an integer tensor, or of a rounded number: groups of conditions, of each of
which at least one holds."""


def _nothing(entry: Entry | Rounded) -> list[tuple[Condition, ...]]:
    return []


class Words:
    """The parameters of one question to isl, by what they stand for, and the constraints that hold for them (`known`).

    The methods return isl's text for a part of a question. They add the parameters and constraints that it needs.
    """

    def __init__(self, ranges: Mapping[Var, Poly], known_of: Knowledge) -> None:
        self.ranges, self.known_of = dict(ranges), known_of
        self.names: dict[Any, str] = {}
        self.known: list[str] = []
        self.variables: dict[Var, str] = {}

    # --- parameters ---

    def parameter(self, key: object, known: Iterable[str] = ()) -> str:
        """Return the parameter for the key. A new one gets the constraints `known`, with {} for its name."""
        if key not in self.names:
            self.names[key] = name = f"p{len(self.names)}"
            self.known += [k.format(name) for k in known]
        return self.names[key]

    @property
    def header(self) -> str:
        return f"[{', '.join(self.names.values())}]"

    def dimension(self, name: str, positive: bool) -> str:
        """Return isl's text for the size `name`: an identifier, or JAX's text of a quotient or remainder.

        With `positive`, also add the constraint that it is at least 1.
        """
        if name.isidentifier():
            return self.parameter(("dim", name), ["{} >= 1"] if positive else [])
        try:
            text = self.size(parse_size(name))
        except NoSizeError:
            text = None
        if text is None:
            return self.parameter(("dim", name), ["{} >= 1"] if positive else [])
        if positive:
            bound = f"{text} >= 1"
            if bound not in self.known:
                self.known.append(bound)
        return text

    def size(self, size: Size) -> str | None:
        """Return isl's text for a size; None where isl cannot express it."""
        terms = [(sign, self._product(factors)) for sign, factors in size.terms]
        if any(text is None for _, text in terms):
            return None
        text = " ".join(f"{'+' if sign > 0 else '-'} {text}" for sign, text in terms).removeprefix("+ ")
        return text if len(terms) == 1 and terms[0][0] > 0 else f"({text})"

    def _product(self, factors: Sequence[Factor]) -> str | None:
        *numbers, last = factors
        if not all(isinstance(n, int) for n in numbers):
            return None
        text = self._factor(last)
        return text and " * ".join([*map(str, numbers), text])

    def _factor(self, factor: Factor) -> str | None:
        """Return isl's text for a factor of a size; None where isl cannot express it."""
        match factor:
            case str():
                return self.parameter(("dim", factor), ["{} >= 1"])
            case int():
                return str(factor)
            case Size():
                return self.size(factor)
            case Call():
                return self._quotient(factor)
        return None

    def _quotient(self, call: Call) -> str | None:
        """Return isl's text for a quotient or remainder of sizes; None for another function."""
        left, divisor = self.size(call.left), call.right.value
        if left is None or divisor is None or call.function not in ("floordiv", "mod"):
            return left and self._by_size(call, left, self.size(call.right))
        if divisor < 1:
            return None
        quotient = f"floor(({left})/{divisor})"
        return quotient if call.function == "floordiv" else f"({left} - {divisor} * {quotient})"

    def _by_size(self, call: Call, left: str, divisor: str | None) -> str | None:
        """Return a parameter for a quotient or remainder by a size that is no number; None where it is not expressed.

        isl cannot divide by a parameter: the constraint that defines the result is added.
        """
        if divisor is None or call.function not in ("floordiv", "mod"):
            return None
        key = ("dim", str(call))
        if key not in self.names:
            name = self.parameter(key)
            self.known.append(
                f"({divisor} < 1 or {_division_constraint(call.function == 'mod', left, f'({divisor})', name)})"
            )
        return self.names[key]

    def mono(self, mono: Mono) -> str:
        if len(mono) == 1 and mono[0][1] == 1 and isinstance(mono[0][0], Dim):
            return self.dimension(mono[0][0].name, mono[0][0].positive)
        return self.parameter(mono, ["{} >= 1"] if mono_positive(mono) and all(e > 0 for _, e in mono) else [])

    def const(self, poly: Poly) -> str:
        """Return isl's text for a dimension expression. Raises ValueError where a coefficient is no integer."""
        parts = []
        for mono, c in poly.sorted_items():
            if c.q != 1:
                raise ValueError("an index with a fraction")
            parts.append(f"{int(c.p)} * {self.mono(mono)}" if mono else str(int(c.p)))
        return " + ".join(parts) or "0"

    # --- variables and expressions ---

    def variable(self, v: Var) -> str:
        name = self.variables.get(v)
        if name is None:
            name = self.variables[v] = self.parameter(v)
            self.bound(v, name)
        return name

    def bound(self, v: Var, name: str) -> None:
        """Add the constraints that a variable is at least 0 (unless it is a slot), and less than its range if known."""
        if v[0] != "s":
            self.known.append(f"{name} >= 0")
        if v in self.ranges:
            self.known.append(f"{name} < {self.const(self.ranges[v])}")

    def ix(self, ix: Ix) -> str:
        parts = [f"{c} * {self.atom(v) if isinstance(v, IntegerAtom) else self.variable(v)}" for v, c in ix.terms]
        if not ix.const.is_zero or not parts:
            parts.append(self.const(ix.const))
        return "(" + " + ".join(parts) + ")"

    def atom(self, a: IntegerAtom) -> str:
        """Return isl's text for an integer atom, and add what is known of it: its bounds, its definition, assumptions.

        A quotient by a number is a term of isl, any other atom a parameter.
        """
        divisor = whole_number(a.divisor) if isinstance(a, Quotient) else None
        if isinstance(a, Quotient) and divisor is not None:
            return f"floor({self.ix(a.ix)}/{divisor})"
        if isinstance(a, Chosen) and a not in self.names:
            name = self.parameter(a)
            self.known += [f"0 <= {name} < {self.const(a.room)}"]
            self.known += [self.condition((ix, ">=")) for ix in conditions_on(a)]
            return name
        if isinstance(a, (Quotient, Remainder)) and a not in self.names:
            name = self.parameter(a)
            most = bounds(of_atom(a), self.ranges)[1]
            self.known += [] if most is None else [f"0 <= {name} <= {self.const(most)}"]
            least = bounds(a.ix, self.ranges)[0]
            # A quotient or a remainder of e ≥ 0 is at most e.
            if least is not None and at_least(least) == ONE:
                self.known.append(f"{name} <= {self.ix(a.ix)}")
            self.known.append(
                _division_constraint(isinstance(a, Remainder), self.ix(a.ix), f"({self.const(a.divisor)})", name)
            )
            return name
        if a in self.names or not isinstance(a, (Entry, Rounded)):
            return self.parameter(a)
        name = self.parameter(a)
        self.known += [self.condition((ix, ">=")) for ix in bounds_of_count(a)]
        for group in self.known_of(a):
            texts = [self.condition(c) for c in group]
            self.known.append(texts[0] if len(texts) == 1 else f"({' or '.join(texts)})")
        return name

    def condition(self, condition: Condition) -> str:
        ix, relation = condition
        ix = where_equal(ix) if relation != ">=" else ix
        return f"{self.ix(ix)} {relation} 0"


def _division_constraint(remains: bool, e: str, m: str, name: str) -> str:
    """Return the constraint that `name` is e mod m (with `remains`) or e div m, for m ≥ 1.

    isl cannot multiply parameters, so that the quotient is enumerated: it is −1, 0 or 1 for −m ≤ e < 2·m. Beyond that
    nothing is said of the quotient, and of the remainder only 0 ≤ e mod m < m.
    """
    ways = [
        f"({k} * {m} <= {e} < {k + 1} * {m} and {name} = {f'{e} - {k} * {m}' if remains else k})" for k in (-1, 0, 1)
    ]
    beyond = [f"{e} < -{m}", f"{e} >= 2 * {m}"]
    if remains:
        beyond = [f"{way} and 0 <= {name} < {m}" for way in beyond]
    return f"({' or '.join([*ways, *(f'({way})' for way in beyond)])})"


def bounds_of_count(a: Entry | Rounded) -> list[Ix]:
    """Return expressions that are ≥ 0 as an integer atom is a count of places; none for other atoms.

    They are the count less its least value, and its largest value less the count.
    """
    least, most = bounds_of_number(a.body.atom()) if isinstance(a, Rounded) else (None, None)
    return [] if least is None or most is None else [of_atom(a).shifted(-least), of_atom(a).scaled(-1).shifted(most)]


def conditions_on(a: Chosen) -> list[Ix]:
    """Return expressions that are ≥ 0 at the place that an arg-maximum chooses, as it satisfies the condition `where`.

    None for other choices, for a condition that is no product of conditions on indices, and where the condition reads
    entries or rounded numbers: then it may hold nowhere.
    """
    rule = a.comparison
    single = rule.where.single()
    if rule.kind != "argmax" or single is None or single[1] != 1:
        return []
    if any(isinstance(b, (IxPred, IxEq)) and by_entries(b.ix) for b, _ in single[0]):
        return []
    place = {v: of_atom(Chosen(rule, k, a.arguments)) for k, v in enumerate(rule.variables)}
    place |= {("p", k, 0): ix for k, ix in enumerate(a.arguments)}
    out: list[Ix] = []
    for b, _ in single[0]:
        if isinstance(b, IxPred):
            out.append(b.ix.subst(place))
        elif isinstance(b, IxEq):
            out += [b.ix.subst(place), b.ix.subst(place).scaled(-1)]
    return out


_answers: Memo[str, bool] = Memo()


def inhabited(where: Poly, dummies: Mapping[Var, Poly], ranges: Mapping[Var, Poly]) -> bool:
    """Return whether a 0/1-valued term is 1 for some value of the dummies, whatever the sizes and other indices are.

    False also where that is undecided. The combinations of truth values of the term's conditions at which it is 1 are
    enumerated. Then isl looks for sizes and other indices at which no value of the dummies gives such a combination.
    """
    atoms = atoms_of(where)
    if len(atoms) > MAX_CONDITIONS or not all(isinstance(a, (IxPred, IxEq)) for a in atoms):
        return False
    words = Words(ranges, _nothing)
    names = [f"d{k}" for k in range(len(dummies))]
    words.variables.update(zip(dummies, names, strict=True))
    try:
        cases = []
        # A case is a combination of truth values at which the term is 1; "or" joins the texts of all cases.
        for values in product((True, False), repeat=len(atoms)):
            truth = dict(zip(atoms, values, strict=True))
            if sum((c for m, c in where.items() if all(truth[a] for a, _ in m)), fmpq(0)) == 0:
                continue
            parts = ["true"]
            for a, holds in truth.items():
                relation = (">= 0" if holds else "< 0") if isinstance(a, IxPred) else ("= 0" if holds else "!= 0")
                parts.append(f"{words.ix(a.ix)} {relation}")  # type: ignore[attr-defined]
            cases.append(f"({' and '.join(parts)})")
        bounds = [f"0 <= {d} < {words.const(n)}" for d, n in zip(names, dummies.values(), strict=True)]
        exists = f"exists ({', '.join(names)}: {' and '.join(bounds)} and ({' or '.join(cases) or 'false'}))"
        text = f"{words.header} -> {{ : {' and '.join([*words.known, f'not {exists}'])} }}"
        return bool(isl.Set(text, here.context).is_empty())
    except (ValueError, isl.Error):
        return False


def feasible(conditions: Iterable[Condition], ranges: Mapping[Var, Poly], known_of: Knowledge = _nothing) -> bool:
    """Return whether some sizes and indices satisfy all conditions; True also where isl cannot express or decide it."""
    words = Words(ranges, known_of)
    try:
        texts = [words.condition(c) for c in _at_equations(list(conditions))]
    except ValueError:
        return True
    text = f"{words.header} -> {{ : {' and '.join([*texts, *words.known]) or 'true'} }}"
    answer = _answers.table.get(text)
    if answer is None:
        budget.spend(100)
        try:
            answer = _answers.table[text] = not isl.Set(text, here.context).is_empty()
        except isl.Error:
            answer = _answers.table[text] = True
    return answer


def _at_equations(conditions: list[Condition]) -> list[Condition]:
    """Return the conditions, and those with integer atoms once more with the equations among the conditions solved.

    Atoms are opaque to isl: from i = j and σ(i, s) = σ(j, t) it does not see s = t. With i substituted by j, both sides
    are the same permutation, and `where_equal` reads off s = t.
    """
    equations = [ix for ix, relation in conditions if relation == "="]
    opaque = [(ix, relation) for ix, relation in conditions if ix.atoms]
    if not equations or len(conditions) == 1 or not opaque:
        return conditions
    values: dict[Var, Ix] = {}
    for ix in equations:
        solution = solved(ix.subst(values))
        if solution is not None:
            at = dict([solution])
            values = {v: value.subst(at) for v, value in values.items()} | at
    return list(dict.fromkeys([*conditions, *((ix.subst(values), relation) for ix, relation in opaque)]))


Feasible = Callable[[Condition], bool]
Part = tuple[int, Ix]
"""A factor, and an expression that counts as one unknown."""


def digits(ix: Ix, feasible: Feasible) -> list[Ix]:
    """Return expressions that are all 0 exactly where ix is 0; [ix] where it is not taken apart.

    An equation of two places in row-major order is split digit by digit: 4·j + i = 4·l + k says j = l and i = k, where
    i, k < 4. For m·A + B = 0 with −m < B < m says A = 0 and B = 0. isl derives that for index variables; here it is
    done where digits are remainders of numbers that nothing bounds.
    """
    parts = _parts_with_remainders(ix)
    for m in sorted({abs(c) for c, _ in parts if abs(c) > 1}):
        low = combine([(c, e) for c, e in parts if c % m])
        high = combine([(c // m, e) for c, e in parts if not c % m])
        beyond = (low.shifted(number(-m)), low.scaled(-1).shifted(number(-m)))
        if low.terms and high.terms and not any(feasible((e, ">=")) for e in beyond):
            return [low, *digits(high, feasible)]
    return [ix]


def _parts_with_remainders(ix: Ix) -> list[Part]:
    """Return the expression as Σ factor·part, in which each remainder e − m·⌊e/m⌋ is one part."""
    out: list[Part] = []
    for t, c in ix.terms:
        m = whole_number(t.divisor) if isinstance(t, Quotient) else None
        if isinstance(t, Quotient) and m is not None and not c % m:
            factor = -c // m
            out.append((factor, combine([(1, t.ix), (-m, of_term(t))])))
            ix = ix.minus(out[-1][1].scaled(factor))
    constant = whole_number(ix.const)
    if constant is None:
        return [(1, ix)]
    return [*out, *((c, of_term(t)) for t, c in ix.terms), *([(constant, of_const(ONE))] if constant else [])]
