"""Programs in which the outcome of a comparison is a free number: an unknown function of the sides' difference."""

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
    """Rewrites expressions of a program so that comparisons of real numbers become numbers with free signs.

    `made` has the program's definitions by name; `changed` rewrites the entry of a definition that is inserted.
    """

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
        """Return a statement's truth, 1 or 0, as a number: (1 + sign(u − v)) / 2 for u > v, whose sign is free.

        Raises NoTheoremError for a statement that is not made of such comparisons.
        """
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
            case t.SortedEntry(name=name) if isinstance(definition := self.made.get(name), Defined):
                return self.truth(
                    substitute(self.changed(definition.entry), dict(zip(definition.variables, x.index, strict=True)))
                )
        raise NoTheoremError(f"a {type(x).__name__.lower()} of comparisons")

    def number(self, x: t.Node) -> t.Node:
        """Return a number, whose parts are changed already, with sums in the place of choices by comparison.

        A choice of a or b by a statement of truth h is h·a + (1 − h)·b, and |u| is u·sign(u).
        """
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
    """Return whether a side of the comparison is ±∞."""
    return isinstance(x.left, t.Infinity) or isinstance(x.right, t.Infinity)
