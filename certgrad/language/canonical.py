"""Canonical form: the same statement, whatever its variables were called and in what order its parts stood.

Renaming and reordering are all that happens, so that different statements never get one form. That equal ones get one
is not promised where variables can be told apart by nothing but their names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from certgrad.language import tree as t
from certgrad.language.forms import sum_of
from certgrad.language.substitute import unbound

LETTERS = "ijklabcdefgh"
"""The letters that index variables get, in order."""
_ROUNDS = 4
_RANKS: tuple[Any, ...] = (
    t.Constant,
    t.Size,
    t.Axis,
    t.Index,
    t.Entry,
    t.Array,
    t.Truth,
    t.Apply,
    t.Add,
    t.Matrix,
    t.Fold,
)
_UNORDERED = (t.Fold, t.ForAll, t.Distinct)
"""Binders whose variables may change places. (Where a maximum is unique they may as well, and print keeps them.)"""


@lru_cache(maxsize=2048)
def canonical(statement: t.Statement) -> Any:
    """Return the statement in canonical form. Index variables that nothing in it binds keep their names."""
    taken = _names_used(statement) | unbound(statement)
    # The order of parts depends on names, and names on the order: both are repeated until nothing changes.
    names = dict.fromkeys(_bound(statement), "?")
    form = _sorted_operands(statement, names)
    for _ in range(_ROUNDS):
        previous, form = form, _Renaming(taken).node(form, {})
        if form == previous:
            break
        form = _sorted_operands(form, {})
    return _Renaming(taken).node(form, {})


def in_canonical_order(term: t.Term, reserved: Collection[str] = ()) -> Any:
    """Return the term with sums and products in the order in which they are shown, and letters for bound variables.

    No letter is used that is free in the term, or reserved for what stands beside it.
    """
    return _Renaming(_names_used(term) | unbound(term) | {*reserved}).node(_sorted_operands(term, {}), {})


def letters(taken: set[str], alphabet: str = LETTERS) -> Iterator[str]:
    """Yield names for index variables, without those that are taken."""
    every = (f"{letter}{k or ''}" for k in range(1000) for letter in alphabet)
    return (name for name in every if name not in taken)


def _names_used(node: t.Node) -> set[str]:
    """Return the names of the arrays, sizes and constants in a node."""
    return t.arrays(node) | {n.name for n in t.walk(node) if isinstance(n, t.Size | t.Constant)}


def _bound(statement: t.Node) -> Iterator[str]:
    """Yield the names of bound variables and of loops."""
    for node in t.walk(statement):
        if isinstance(node, t.Range):
            yield node.variable
        elif isinstance(node, t.Loop):
            yield node.time
            yield node.name


# --- order


def _sorted_operands(node: Any, names: Mapping[str, str]) -> Any:
    """Return the node with sums, products and guards sorted by their text, in which `names` rename variables."""
    node = t.mapped(node, lambda n: _sorted_operands(n, names))
    if isinstance(node, t.Add):
        return msgspec.structs.replace(node, terms=tuple(sorted(node.terms, key=lambda x: _summand(x, names))))
    if isinstance(node, t.Mul):
        return msgspec.structs.replace(node, factors=tuple(sorted(node.factors, key=lambda x: _rank(x, names))))
    if isinstance(node, t.Compare) and node.relation in ("!=", "=") and node.right == t.ZERO:
        terms = t.linear(node.left)
        if terms and terms[0][0] < 0:  # p ≠ 0 is −p ≠ 0
            return msgspec.structs.replace(node, left=sum_of((-c, factors) for c, factors in terms))
    where = getattr(node, "where", None) or getattr(node, "guards", None)
    if where:
        field = "where" if hasattr(node, "where") else "guards"
        return msgspec.structs.replace(node, **{field: tuple(sorted(where, key=lambda s: _key(s, names)))})
    return node


def _summand(term: t.Term, names: Mapping[str, str]) -> tuple[str, str]:
    """Return the sort key of a summand: its coefficient is last, so that p and −p are in one order."""
    factors = term.factors if isinstance(term, t.Mul) else (term,)
    numbers = [f.value for f in factors if isinstance(f, t.Number)]
    return "*".join(_key(f, names) for f in factors if not isinstance(f, t.Number)), "*".join(numbers)


def _rank(factor: Any, names: Mapping[str, str]) -> tuple[int, str]:
    """Return the sort key of a factor: numbers first, then sizes, entries, functions, sums."""
    inner = factor.base if isinstance(factor, t.Power) else factor
    if isinstance(factor, t.Number):
        return -1, ""
    kind = type(inner)
    place = _RANKS.index(kind) if kind in _RANKS else len(_RANKS)
    if isinstance(inner, t.Apply):
        place = 2 * place + (inner.function == "exp")
    else:
        place *= 2
    if isinstance(inner, t.Fold):
        place += ("sum", "product", "maximum").index(inner.kind)
    return place, _key(factor, names)


def _key(node: Any, names: Mapping[str, str]) -> str:
    """Return the sort key of a node: its text, with `names` in the place of variables."""
    if isinstance(node, t.Number):
        return node.value
    if isinstance(node, t.Index):
        return f"@{names.get(node.name, node.name)}"
    parts = []
    for name in type(node).__struct_fields__:
        value = getattr(node, name)
        if isinstance(value, t.Node):
            parts.append(_key(value, names))
        elif isinstance(value, tuple):
            parts.append(",".join(_key(v, names) if isinstance(v, t.Node) else str(v) for v in value))
        else:
            parts.append(str(names.get(value, value) if isinstance(node, t.Range | t.Loop | t.Carried) else value))
    tag = "" if isinstance(node, t.Entry | t.Array) else type(node).__name__
    return f"{tag}({parts[0]}{';'.join(['', *parts[1:]])})" if tag else f"{parts[0]}[{';'.join(parts[1:])}]"


# --- names


class _Renaming:
    """Gives bound variables letters, in the order in which they occur."""

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken
        self.loops: dict[str, str] = {}

    def node(self, node: Any, names: Mapping[str, str]) -> Any:
        """Return a node renamed; `names` has the new name of each variable bound around it."""
        if isinstance(node, t.Index):
            return t.Index(names.get(node.name, node.name))
        if isinstance(node, t.Carried):
            inner = t.mapped(node, lambda n: self.node(n, names))
            return msgspec.structs.replace(inner, loop=names.get(node.loop, node.loop))
        if isinstance(node, t.Loop):
            return self.loop(node, names)
        if isinstance(node, t.BINDERS):
            return self.binder(node, names)
        return t.mapped(node, lambda n: self.node(n, names))

    def binder(self, node: Any, names: Mapping[str, str]) -> Any:
        """Return a node with new letters for the variables it binds, ordered by first use where order is free."""
        over = list(node.over)
        if isinstance(node, _UNORDERED):
            seen = [
                n.name
                for child in t.children(node)
                if not isinstance(child, t.Range)
                for n in t.walk(child)
                if isinstance(n, t.Index)
            ]
            first = {name: k for k, name in reversed(list(enumerate(seen)))}
            over.sort(key=lambda r: first.get(r.variable, len(seen)))
        fresh = letters({*self.taken, *names.values()}, "s" if isinstance(node, t.AtSteps) else LETTERS)
        inner = {**names, **{r.variable: next(fresh) for r in over}}
        ranges = tuple(t.Range(inner[r.variable], self.node(r.size, names)) for r in over)
        rest = {
            name: self._value(getattr(node, name), inner) for name in type(node).__struct_fields__ if name != "over"
        }
        return msgspec.structs.replace(node, over=ranges, **rest)

    def _value(self, value: Any, names: Mapping[str, str]) -> Any:
        if isinstance(value, t.Node):
            return self.node(value, names)
        return tuple(self._value(v, names) for v in value) if isinstance(value, tuple) else value

    def loop(self, node: t.Loop, names: Mapping[str, str]) -> t.Loop:
        used = self.taken | {names.get(n, n) for n in unbound(node)}
        name, time = (next(letters(used, letter)) for letter in "cs")
        inner = {**names, node.name: name, node.time: time}
        carries = tuple(self.binder(c, inner) for c in node.carries)
        return t.Loop(name, time, carries)
