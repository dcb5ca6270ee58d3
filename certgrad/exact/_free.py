"""Programs in which how numbers compare is a free number: a function of their difference, as any other of a sum."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from certgrad.language import tree as t
from certgrad.language.sorts import sort
from certgrad.language.substitute import substitute
from certgrad.specification.program import Defined

from ._index import NoTheoremError

ONE = t.Number("1")


class Free:
    """Reads expressions of a program, whose definitions are given by name; `changed` changes what they are made of."""

    def __init__(self, made: Mapping[str, Any], changed: Callable[[t.Node], t.Node]) -> None:
        self.made, self.changed = made, changed

    def compares(self, x: t.Node) -> bool:
        """Return whether a statement depends on how real numbers compare."""
        return any(
            (isinstance(n, t.Compare) and sort(n.left) == "real" and not _endless(n))
            or (isinstance(n, t.SortedEntry) and n.sort == "boolean" and n.name in self.made
                and self.compares(self.made[n.name].entry))
            for n in t.walk(x)
        )  # fmt: skip

    def truth(self, x: t.Node) -> t.Node:
        """1 where a statement holds and 0 where not, as a number in which (1 + sign(u)) / 2 is free."""
        if not self.compares(x):
            return t.Truth(x)
        match x:
            case t.Compare(relation="<" | "<=" | ">" | ">=", left=left, right=right):
                large, small = (left, right) if x.relation in (">", ">=") else (right, left)
                side = t.Apply("sign", (t.Subtract(large, small),))
                return t.Mul((t.Number("1/2"), t.Add((ONE, side))))
            case t.Compare():
                return t.Truth(x)
            case t.Not(part=part):
                return t.Subtract(ONE, self.truth(part))
            case t.Both(parts=parts):
                return t.Mul(tuple(map(self.truth, parts)))
            case t.Either(parts=parts):
                return t.Subtract(ONE, t.Mul(tuple(t.Subtract(ONE, self.truth(part)) for part in parts)))
            case t.SortedEntry(name=name) if isinstance(made := self.made.get(name), Defined):
                return self.truth(substitute(self.changed(made.entry), dict(zip(made.variables, x.index, strict=True))))
        raise NoTheoremError(f"a {type(x).__name__.lower()} of comparisons")

    def number(self, x: t.Node) -> t.Node:
        """A number, its parts already changed, with truth values of comparisons in the place of choices by them."""
        match x:
            case t.Truth(statement=statement) if self.compares(statement):
                return self.truth(statement)
            case t.Apply(function="abs", arguments=(u,)):
                return t.Mul((u, t.Apply("sign", (u,))))
            case t.If() if self.compares(x.condition):
                if sort(x) != "real":
                    raise NoTheoremError("an integer is chosen by comparison")
                truth = self.truth(x.condition)
                return t.Add((t.Mul((truth, x.then)), t.Mul((t.Subtract(ONE, truth), x.otherwise))))
        return x


def _endless(x: t.Compare) -> bool:
    return isinstance(x.left, t.Infinity) or isinstance(x.right, t.Infinity)
