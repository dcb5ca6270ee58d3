"""Guards as people say them: the condition p itself, in place of the term [p] that is 1 where p holds, else 0."""

from __future__ import annotations

from . import tree as t
from .denied import opposite
from .forms import in_whole_numbers, sum_of
from .platform import platform_named


def plainly(guard: t.Statement) -> t.Statement:
    """Return `x ≥ 3` for `[x < 3] = 0`, `a ≠ 1` for `[a < 1] + [a > 1]`, `p and q` for `[p]·[q]`; else the guard."""
    if not isinstance(guard, t.Compare) or guard.right != t.ZERO or guard.relation not in ("=", "!="):
        return guard
    plain = _of_number(guard.left, guard.relation == "!=")
    return guard if plain is None else plain


def _of_number(number: t.Term, holds: bool) -> t.Statement | None:
    """Return the statement that a 0/1-valued term is 1, or without `holds` that it is 0; None for other terms."""
    if isinstance(number, t.Truth):
        condition = in_whole_numbers(number.statement)
        if holds:
            return condition
        return None if isinstance(condition, t.Compare) and platform_named(condition) else opposite(condition)
    if isinstance(number, t.Mul) and holds and all(isinstance(f, t.Truth) for f in number.factors):
        return t.Both(tuple(in_whole_numbers(f.statement) for f in number.factors if isinstance(f, t.Truth)))
    if not isinstance(number, t.Add) or len(number.terms) != 2:
        return None
    summands = t.linear(number)
    # 1 − [p] is 1 where p does not hold.
    constants = [c for c, factors in summands if not factors]
    truths = [(c, f) for c, f in summands if f]
    if constants == [1] and len(truths) == 1 and truths[0][0] == -1 and len(truths[0][1]) == 1:
        return _of_number(truths[0][1][0], not holds)
    sides = [f[0].statement for c, f in truths if c == 1 and len(f) == 1 and isinstance(f[0], t.Truth)]
    if len(sides) != 2 or not all(isinstance(s, t.Compare) and s.right == t.ZERO for s in sides):
        return None
    # [p > 0] + [p < 0] is 1 where p is not 0
    first, second = (s for s in sides if isinstance(s, t.Compare))
    if {first.relation, second.relation} <= {"<", ">"} and _opposed(first, second):
        return in_whole_numbers(t.Compare("!=" if holds else "=", first.left, t.ZERO))
    return None


def _opposed(one: t.Compare, other: t.Compare) -> bool:
    """Return whether one comparison says that a term is above 0, and the other that it is below."""
    same_relation = one.relation == other.relation
    return sum_of(t.linear(one.left)) == sum_of((-c if same_relation else c, f) for c, f in t.linear(other.left))
