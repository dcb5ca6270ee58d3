"""Whether hypotheses imply another one, as trees. What is not seen to follow counts as new.

Equal in canonical form; one comparison that implies another (`certgrad.language.implied`); a product that is not 0,
of its factors; x > 0 of x ≥ 0 and x ≠ 0; how often a condition holds along an axis, of one place where it is known to;
a sum, of the number that it is known to be; `or`, `and`, `wherever` and `for all` by their parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice, product
from typing import Any

import msgspec

from certgrad.language import tree as t
from certgrad.language.canonical import canonical
from certgrad.language.forms import difference, sum_of
from certgrad.language.guards import plainly
from certgrad.language.implied import unsaid
from certgrad.language.relations import COMPARES
from certgrad.language.substitute import substitute, unbound

DEPTH = 6
"""Depth to which nested cases and parts are examined."""
INSTANCES = 8
"""The most instances of a fact that are tried."""
_WEAK: dict[str, Any] = {">": ">=", "<": "<="}


def implies(known: Sequence[t.Statement], asked: t.Statement) -> bool:
    """Return whether the asked statement follows from the known ones; False where that is not seen."""
    constants = _index_constants(unbound(asked).union(*map(unbound, known)), DEPTH + 1)
    return _implies([substitute(statement, constants) for statement in known], substitute(asked, constants), DEPTH)


def _implies(known: Sequence[t.Statement], asked: t.Statement, depth: int) -> bool:
    """Return whether a statement follows from known ones, all without free index variables."""
    facts = [canonical(_monic(part)) for statement in known for part in _conjuncts_and_factors(statement)]
    if (totals := _totals(facts)) and isinstance(asked, t.Compare):
        asked = _with_totals(asked, totals)
        if (parts := difference(asked)).keys() <= {()}:
            return bool(COMPARES[asked.relation](parts.get((), 0), 0))
    asked = canonical(_monic(asked))
    if any(fact == asked or unsaid([fact, asked]) == {1} for fact in facts):
        return True
    return depth > 0 and (_by_parts(facts, asked, depth - 1) or _by_cases(facts, asked, depth - 1))


def _index_constants(names: Iterable[str], depth: int) -> dict[str, t.Term]:
    """Return constants for free index variables, with other names at each depth.

    Canonical form renames bound variables, and may take any index name for them.
    """
    return {name: t.Size(f"index {name} at {depth}") for name in names}


def _by_parts(facts: Sequence[t.Statement], asked: t.Statement, depth: int) -> bool:
    """Return whether the facts imply a statement by its parts: all of an `and`, one of an `or`, any instance.

    `depth` is the number of steps that may still be taken; the constants that stand for indices are named by it.
    """
    if isinstance(asked, t.Both):
        return all(_implies(facts, part, depth) for part in asked.parts)
    if isinstance(asked, t.Either):
        return any(_implies(facts, part, depth) for part in asked.parts)
    if isinstance(asked, t.Where):
        return _implies([*_opened(facts, asked.guards), *asked.guards], asked.then, depth)
    if isinstance(asked, t.ForAll):
        constants = _index_constants((r.variable for r in asked.over), depth)
        inner_facts = [
            instance for f in facts if isinstance(f, t.ForAll) for instance in _instances(f, asked.over, constants)
        ]
        inner_facts += [f for f in facts if not isinstance(f, t.ForAll)]
        holds = substitute(asked.holds, constants)
        entries = [n for n in t.walk(holds) if isinstance(n, t.Entry) and n.index]
        # A fact about one array, x > 0, holds at each of its entries. One about two, x > y, is about equal places: with
        # an entry in place of x alone it would say more than it does.
        of_arrays = [
            (f, {n.name for n in t.walk(f) if isinstance(n, t.Array)}) for f in facts if isinstance(f, t.Compare)
        ]
        inner_facts += [
            _fact_at_entry(f, entry) for f, arrays in of_arrays for entry in entries if arrays == {entry.name}
        ]
        return _implies(inner_facts, holds, depth)
    return isinstance(asked, t.Compare) and _compared(facts, asked, depth)


def _instances(fact: t.ForAll, over: Sequence[t.Range], given: Mapping[str, t.Term]) -> Iterator[t.Statement]:
    """Yield instances of the fact, its variables replaced by the terms `given` for variables of equal range.

    Variables of unknown range stand for themselves alone.
    """
    if fact.over == tuple(over):
        yield substitute(fact.holds, given)
    choices = [[given[r.variable] for r in over if r.size == fact_range.size != t.UNKNOWN] for fact_range in fact.over]
    for terms in islice(product(*choices), INSTANCES):
        yield substitute(fact.holds, {r.variable: term for r, term in zip(fact.over, terms, strict=True)})


def _fact_at_entry(fact: t.Statement, entry: t.Entry) -> t.Statement:
    """Return a fact about a whole array as one about an entry."""
    return entry if fact == t.Array(entry.name) else t.mapped(fact, lambda node: _fact_at_entry(node, entry))


def _compared(facts: Sequence[t.Statement], asked: t.Compare, depth: int) -> bool:
    """Return whether a comparison follows: of a sum of positive terms, from `≥` and `≠`, or factor by factor."""
    if asked.relation in (">", ">=", "!=") and asked.right == t.ZERO and isinstance(asked.left, t.Fold):
        if _positive_sum(facts, asked.left) or (asked.relation == ">=" and _never_negative(asked.left)):
            return True
    if asked.relation in _WEAK:
        weak, unequal = (msgspec.structs.replace(asked, relation=r) for r in (_WEAK[asked.relation], "!="))
        return _implies(facts, weak, 0) and _implies(facts, unequal, 0)
    if asked.relation == "!=" and asked.right == t.ZERO:
        factors = _factors(asked.left)
        return factors != [asked.left] and all(_not_zero(facts, factor, depth) for factor in factors)
    return False


def _totals(facts: Sequence[t.Statement]) -> dict[t.Node, t.Term]:
    """Return the numbers that sums are known to be, as where probabilities sum to 1, by the sums in canonical form."""
    totals: dict[t.Node, t.Term] = {}
    for fact in facts:
        parts = difference(fact) if isinstance(fact, t.Compare) and fact.relation == "=" else {}
        folds = [factors[0] for factors in parts if len(factors) == 1 and isinstance(factors[0], t.Fold)]
        if len(folds) == 1 and {(folds[0],), ()} >= parts.keys() and not unbound(folds[0]):
            number = -parts.get((), Fraction(0)) / parts[folds[0],]
            totals[_canonical_key(folds[0])] = t.Number(str(number))
    return totals


def _canonical_key(term: t.Term) -> t.Node:
    """Return a form of a term that does not depend on the names of its index variables."""
    return canonical(t.Compare(">", term, t.ZERO))


def _with_totals(asked: t.Compare, totals: Mapping[t.Node, t.Term]) -> t.Compare:
    """Return the statement with numbers in the place of sums that are known."""

    def put(node: Any) -> Any:
        total = totals.get(_canonical_key(node)) if isinstance(node, t.Fold) and not unbound(node) else None
        return total if total is not None else t.mapped(node, put)

    replaced = put(asked)
    if replaced == asked:
        return asked
    return t.Compare(replaced.relation, sum_of((c, factors) for factors, c in difference(replaced).items()), t.ZERO)


def _positive_sum(facts: Sequence[t.Statement], total: t.Fold) -> bool:
    """Return whether a count of conditions along a whole axis is at least 1: at some index they are known to hold."""
    if total.kind != "sum" or len(total.over) != 1 or total.where:
        return False
    (over,) = total.over
    factors = total.body.factors if isinstance(total.body, t.Mul) else (total.body,)
    conditions = [plainly(f.statement) for f in factors if isinstance(f, t.Truth)]
    if len(conditions) < len(factors):
        return False
    known_facts = {canonical(plainly(fact)) for fact in facts}
    places = {place for c in conditions for fact in known_facts for place in _places(c, fact, over)}
    return any(all(canonical(substitute(c, {over.variable: p})) in known_facts for c in conditions) for p in places)


def _places(pattern: Any, node: Any, over: t.Range) -> Iterator[t.Term]:
    """Yield the indices for the variable at which the pattern is the node, for a variable that runs over a
    whole axis.
    """
    if isinstance(pattern, t.Entry) and isinstance(node, t.Entry) and pattern.name == node.name:
        for k, (index, place) in enumerate(zip(pattern.index, node.index, strict=False)):
            if index == t.Index(over.variable) and over.size == t.Axis(pattern.name, k):
                yield place
    elif type(pattern) is type(node):
        for pattern_part, node_part in zip(t.children(pattern), t.children(node), strict=False):
            yield from _places(pattern_part, node_part, over)


def _never_negative(term: t.Term) -> bool:
    """Return whether a term is nowhere below 0 by its form; False where that is not seen."""
    if isinstance(term, t.Number):
        return Fraction(term.value) >= 0
    if isinstance(term, (t.Add, t.Mul)):
        return all(map(_never_negative, term.terms if isinstance(term, t.Add) else term.factors))
    if isinstance(term, t.Power) and term.exponent.isdecimal() and int(term.exponent) % 2 == 0:
        return True
    if isinstance(term, t.Fold) and term.kind == "sum":
        return _never_negative(term.body)
    return isinstance(term, t.Truth | t.Size | t.Axis) or (isinstance(term, t.Apply) and term.function == "exp")


def _not_zero(facts: Sequence[t.Statement], factor: t.Term, depth: int) -> bool:
    if isinstance(factor, t.Number):
        return Fraction(factor.value) != 0
    return _implies(facts, t.Compare("!=", factor, t.ZERO), depth)


def _by_cases(facts: Sequence[t.Statement], asked: t.Statement, depth: int) -> bool:
    """Return whether the statement follows by cases: from each part of a known `or`, with all other facts."""
    for k, fact in enumerate(facts):
        if isinstance(fact, t.Either):
            rest = [*facts[:k], *facts[k + 1 :]]
            if all(_implies([*rest, part], asked, min(depth, 2)) for part in fact.parts):
                return True
    return False


def _conjuncts_and_factors(statement: t.Statement) -> Iterator[t.Statement]:
    """Yield the parts of a statement; of a product that is not 0, each factor."""
    if isinstance(statement, t.Both):
        for part in statement.parts:
            yield from _conjuncts_and_factors(part)
        return
    yield statement
    if isinstance(statement, t.Compare) and statement.relation == "!=" and statement.right == t.ZERO:
        for factor in _factors(statement.left):
            if factor != statement.left and not isinstance(factor, t.Number):
                yield t.Compare("!=", factor, t.ZERO)


def _monic(statement: t.Statement) -> t.Statement:
    """Return p ≠ q as r ≠ 0, and p = q as r = 0, where r is the multiple of p − q whose last term has coefficient 1."""
    if not isinstance(statement, t.Compare) or statement.relation not in ("!=", "="):
        return statement
    parts = difference(statement)
    terms = sorted(parts, key=repr)
    left = sum_of((parts[factors] / parts[terms[-1]], factors) for factors in terms)
    return t.Compare(statement.relation, left, t.ZERO)


def _factors(term: t.Term) -> list[t.Term]:
    """Return the factors of a product or positive whole power, which is not 0 if and only if none of them is."""
    if isinstance(term, t.Mul):
        return [inner for factor in term.factors for inner in _factors(factor)]
    if isinstance(term, t.Power) and term.exponent.isdecimal() and term.exponent != "0":
        return _factors(term.base)
    return [term]


def _opened(facts: Sequence[t.Statement], guards: Sequence[t.Statement]) -> list[t.Statement]:
    """Return the facts, and the conclusions of those facts whose guards are all among `guards`."""
    guard_set = {canonical(guard) for guard in guards}
    opened = [f.then for f in facts if isinstance(f, t.Where) and {canonical(g) for g in f.guards} <= guard_set]
    return [*facts, *opened]
