"""Whether hypotheses imply another one, as trees. What is not seen to follow counts as new.

Equal in canonical form; one comparison that implies another (`certgrad.hypotheses.implied`); a product that is not 0,
of its factors; x > 0 of x ≥ 0 and x ≠ 0; `or`, `and`, `wherever` and `for all` by their parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from typing import Any

import msgspec

from certgrad.hypotheses import tree as t
from certgrad.hypotheses.canonical import canonical
from certgrad.hypotheses.implied import unsaid

DEPTH = 6
"""So many cases and parts inside each other are looked at."""
_WEAK: dict[str, Any] = {">": ">=", "<": "<="}


def implies(known: Sequence[t.Statement], asked: t.Statement) -> bool:
    """Whether the statement holds wherever all known ones do. False where that is not seen."""
    free = t.unbound(asked).union(*map(t.unbound, known))
    return _implies([_fixed(one, free, DEPTH + 1) for one in known], _fixed(asked, free, DEPTH + 1), DEPTH)


def _implies(known: Sequence[t.Statement], asked: t.Statement, depth: int) -> bool:
    """Of statements in which no index variable is free."""
    asked = canonical(_monic(asked))
    facts = [canonical(_monic(part)) for one in known for part in _parts(one)]
    if any(fact == asked or unsaid([fact, asked]) == {1} for fact in facts):
        return True
    return depth > 0 and (_by_parts(facts, asked, depth - 1) or _by_cases(facts, asked, depth - 1))


def _fixed(node: Any, names: AbstractSet[str], depth: int) -> Any:
    """With free index variables as numbers that are given, which are others at each depth: canonical form renames what
    is bound, and may take any name of an index for it.
    """
    if isinstance(node, t.Index):
        return t.Size(f"index {node.name} at {depth}") if node.name in names else node
    if not names:
        return node
    inner = names - {r.variable for r in node.over} if isinstance(node, t.BINDERS) else names
    return t.mapped(node, lambda child: _fixed(child, names if isinstance(child, t.Range) else inner, depth))


def _by_parts(facts: Sequence[t.Statement], asked: t.Statement, depth: int) -> bool:
    if isinstance(asked, t.Both):
        return all(_implies(facts, part, depth) for part in asked.parts)
    if isinstance(asked, t.Either):
        return any(_implies(facts, part, depth) for part in asked.parts)
    if isinstance(asked, t.Where):
        return _implies([*_opened(facts, asked.guards), *asked.guards], asked.then, depth)
    if isinstance(asked, t.ForAll):
        names = {r.variable for r in asked.over}
        inside = [_fixed(f.holds, names, depth) for f in facts if isinstance(f, t.ForAll) and f.over == asked.over]
        return bool(inside) and _implies(inside, _fixed(asked.holds, names, depth), depth)
    return isinstance(asked, t.Compare) and _compared(facts, asked, depth)


def _compared(facts: Sequence[t.Statement], asked: t.Compare, depth: int) -> bool:
    if asked.relation in _WEAK:
        weak, apart = (msgspec.structs.replace(asked, relation=r) for r in (_WEAK[asked.relation], "!="))
        return _implies(facts, weak, 0) and _implies(facts, apart, 0)
    if asked.relation == "!=" and asked.right == t.ZERO:
        factors = _factors(asked.left)
        return factors != [asked.left] and all(_not_zero(facts, factor, depth) for factor in factors)
    return False


def _not_zero(facts: Sequence[t.Statement], factor: t.Term, depth: int) -> bool:
    if isinstance(factor, t.Number):
        return Fraction(factor.value) != 0
    return _implies(facts, t.Compare("!=", factor, t.ZERO), depth)


def _by_cases(facts: Sequence[t.Statement], asked: t.Statement, depth: int) -> bool:
    """One known `or`, each of its parts with all else."""
    for k, fact in enumerate(facts):
        if isinstance(fact, t.Either):
            rest = [*facts[:k], *facts[k + 1 :]]
            if all(_implies([*rest, part], asked, min(depth, 2)) for part in fact.parts):
                return True
    return False


def _parts(statement: t.Statement) -> Iterator[t.Statement]:
    """What the statement says, part by part: of a product that is not 0, each factor."""
    if isinstance(statement, t.Both):
        for part in statement.parts:
            yield from _parts(part)
        return
    yield statement
    if isinstance(statement, t.Compare) and statement.relation == "!=" and statement.right == t.ZERO:
        for factor in _factors(statement.left):
            if factor != statement.left and not isinstance(factor, t.Number):
                yield t.Compare("!=", factor, t.ZERO)


def _monic(statement: t.Statement) -> t.Statement:
    """p ≠ q, and p = q, as r ≠ 0 and r = 0, where r has a term with the coefficient 1."""
    if not isinstance(statement, t.Compare) or statement.relation not in ("!=", "="):
        return statement
    parts: dict[tuple[t.Term, ...], Fraction] = {}
    for side, term in ((1, statement.left), (-1, statement.right)):
        for c, factors in t.linear(term):
            parts[factors] = parts.get(factors, Fraction(0)) + side * c
    terms = sorted((factors for factors, c in parts.items() if c), key=repr)
    left = t.added([t.scaled(parts[factors] / parts[terms[-1]], list(factors)) for factors in terms])
    return t.Compare(statement.relation, left, t.ZERO)


def _factors(term: t.Term) -> list[t.Term]:
    """Of a product or a positive whole power: what must not be 0 for it not to be."""
    if isinstance(term, t.Mul):
        return [inner for factor in term.factors for inner in _factors(factor)]
    if isinstance(term, t.Power) and term.exponent.isdecimal() and term.exponent != "0":
        return _factors(term.base)
    return [term]


def _opened(facts: Sequence[t.Statement], guards: Sequence[t.Statement]) -> list[t.Statement]:
    """The facts, and what holds of those that are guarded by no more than these guards."""
    here = {canonical(guard) for guard in guards}
    opened = [f.then for f in facts if isinstance(f, t.Where) and {canonical(g) for g in f.guards} <= here]
    return [*facts, *opened]
