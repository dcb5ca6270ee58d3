"""The syntax of users: `x > 0`, `x != y or t == 1`, `x - 1/2 not in integers`, `label < x.shape[1]`, read as a
statement.

Text is never run. A comparison of arrays holds at every entry after broadcasting.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from certgrad.errors import DomainError

from .tree import Add, Apply, Array, Axis, Both, Compare, Either, Mul, NotIn, Number, Power, Statement, Term, walk

MAX_LENGTH = 10_000
"""The longest text that is read, in characters."""
_RELATIONS: dict[type[ast.cmpop], str] = {
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.NotEq: "!=",
    ast.Eq: "=",
}
_SETS = {"integers": "integers", "nonpositive_integers": "nonpositive integers"}


FUNCTIONS = frozenset(
    "abs acos acosh asin asinh atan atanh cbrt cos cosh digamma erf erf_inv erfc exp exp2 expm1 floor lgamma log log1p "
    "logistic sin sinh sqrt square tan tanh".split()
)
"""The functions of one number that may be written."""


@lru_cache(maxsize=4096)
def parse(text: str, names: tuple[str, ...], where: str = "", sizes: tuple[str, ...] = ()) -> Statement:
    """Return the statement that a text makes over these names.

    `where` says in an error whose condition it is. The `sizes` of a signature cannot be named: they are written as
    lengths of axes, `x.shape[1]`, which `in_lengths` does.

    Raises DomainError with what was written, where, and what can be written instead.
    """
    return _Reader(text, names, where, sizes).statement()


def conjuncts(statement: Statement) -> tuple[Statement, ...]:
    """Return the statements of a conjunction; any other statement alone."""
    return statement.parts if isinstance(statement, Both) else (statement,)


class _Reader:
    def __init__(self, text: str, names: Sequence[str], where: str, sizes: Sequence[str]) -> None:
        self.text, self.names, self.where, self.sizes = text, names, where, sizes

    def statement(self) -> Statement:
        """Return the statement of the whole text. Raises DomainError."""
        if len(self.text) > MAX_LENGTH:
            raise self.error(f"is longer than {MAX_LENGTH} characters")
        try:
            node = ast.parse(self.text.strip(), mode="eval").body
            both = isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And)
            parts = [statement for part in (node.values if both else [node]) for statement in self.part(part)]  # type: ignore[attr-defined]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise self.error("is not a formula") from None
        for part in parts:
            nodes = list(walk(part))
            if any(isinstance(x, Axis) for x in nodes) and not any(isinstance(x, Array) for x in nodes):
                raise self.of_sizes()
        return parts[0] if len(parts) == 1 else Both(tuple(parts))

    def part(self, node: ast.expr) -> list[Statement]:
        """Return the statements, which hold together, of a part between `and`s: an `or`, or comparisons."""
        if not (isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or)):
            return self.comparison(node)
        alternatives: list[Statement] = []
        for value in node.values:
            comparisons = self.comparison(value)
            if len(comparisons) != 1:
                raise self.error("has a chained comparison inside 'or'")
            alternatives += comparisons
        return [Either(tuple(alternatives))]

    def comparison(self, node: ast.expr) -> list[Statement]:
        """Return the comparisons of a chain: `0 < x < y` has two."""
        if not isinstance(node, ast.Compare):
            raise self.error("has a part that is not a comparison")
        out: list[Statement] = []
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.NotIn):
                if not isinstance(right, ast.Name) or right.id not in _SETS:
                    raise self.error(f"uses 'not in' with something other than {' or '.join(_SETS)}")
                out.append(NotIn(self.term(left), _SETS[right.id]))  # type: ignore[arg-type]
            elif type(op) in _RELATIONS:
                out.append(Compare(_RELATIONS[type(op)], self.term(left), self.term(right)))  # type: ignore[arg-type]
            else:
                raise self.error("uses a comparison that is not one of > >= < <= != == 'not in'")
            left = right
        return out

    def term(self, node: ast.expr) -> Term:
        """Return the term that a Python expression writes. Raises DomainError where it is no arithmetic."""
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return Number(str(Fraction(repr(node.value))))
        if isinstance(node, ast.Name):
            return self.name(node.id)
        if isinstance(node, ast.Subscript):
            return self.length(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return Mul((Number("-1"), self.term(node.operand)))
        if isinstance(node, ast.BinOp):
            left, right = self.term(node.left), self.term(node.right)
            if isinstance(node.op, ast.Add):
                return Add((left, right))
            if isinstance(node.op, ast.Sub):
                return Add((left, Mul((Number("-1"), right))))
            if isinstance(node.op, ast.Mult):
                return Mul((left, right))
            if isinstance(node.op, ast.Div):
                return Mul((left, Power(right, "-1")))
            if isinstance(node.op, ast.Pow) and isinstance(right, Number) and right.value.isdigit():
                return Power(left, right.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1 and not node.keywords:
            if node.func.id in FUNCTIONS:
                return Apply(node.func.id, (self.term(node.args[0]),))
        raise self.error(f"has '{ast.unparse(node)}', which is not arithmetic on its names")

    def name(self, name: str) -> Term:
        if name in self.names:
            return Array(name)
        if name in self.sizes:
            raise self.of_sizes(name)
        raise self.error(f"names '{name}', but there is only {', '.join(self.names) or 'nothing'}")

    def length(self, node: ast.Subscript) -> Term:
        """Return the length of an axis, written `x.shape[1]`, or with a negative position `x.shape[-1]`."""
        of, place = node.value, node.slice
        if isinstance(of, ast.Attribute) and of.attr == "shape" and isinstance(of.value, ast.Name):
            try:
                position = ast.literal_eval(place)
            except ValueError:
                position = None
            if of.value.id in self.names and type(position) is int:
                return Axis(of.value.id, position)
        raise self.error(
            f"has '{ast.unparse(node)}', which is no length such as '{next(iter(self.names), 'x')}.shape[0]'"
        )

    def of_sizes(self, name: str = "n") -> DomainError:
        """Return the error for a condition on sizes alone."""
        return self.error(
            f"is about sizes alone ('{name}'): what is asked of sizes stands in the signature, where '{name}+1' is "
            f"every size of at least 2 and '2*{name}' every even one. An argument can be compared with a size that is "
            "the length of an axis: 'label < n'"
        )

    def error(self, problem: str) -> DomainError:
        """Return the error that says what is wrong with the text, and what can be written."""
        return DomainError(
            f"The condition {self.text!r}{f' of {self.where}' if self.where else ''} {problem}. Write comparisons of "
            "arithmetic on the argument and parameter names, joined by 'and' or 'or', such as 'x > 0' or "
            "'x != 0 or alpha == 1'."
        )
