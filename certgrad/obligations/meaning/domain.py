"""Domains and constraints: `"x > 0"`, `"x != y or t == 1"`, `"x - 1/2 not in integers"`, read into clauses.

The text is parsed, never evaluated. A comparison of arrays holds at every index after broadcasting.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from fractions import Fraction

from certgrad.errors import DomainError
from certgrad.obligations.assume.conditions import Atomic, Clause
from certgrad.obligations.assume.tensor import axis_index
from certgrad.obligations.laws.functions import FUNCTIONS
from certgrad.obligations.terms.atoms import access
from certgrad.obligations.terms.index import of_const
from certgrad.obligations.terms.polynomials import ONE, ZERO, Poly, number
from certgrad.obligations.terms.power import power
from certgrad.obligations.terms.variables import template

_RELATIONS = {ast.Gt: "> 0", ast.GtE: ">= 0", ast.NotEq: "!= 0", ast.Eq: "= 0"}
_SETS = {"integers": "not integer", "nonpositive_integers": "not pole"}


def read_domain(texts: tuple[str, ...], shapes: Mapping[str, tuple[Poly, ...]], where: str) -> list[Clause]:
    """The clauses of a domain, one a condition. `shapes` gives the shape of each name (parameters are scalars).

    Raises DomainError with what was written, where, and what can be written instead.
    """
    reader = _Reader(shapes, where)
    return [clause for text in texts for clause in reader.clauses(text)]


class _Reader:
    def __init__(self, shapes: Mapping[str, tuple[Poly, ...]], where: str) -> None:
        self.shapes, self.where = shapes, where
        self.rank = max((len(s) for s in shapes.values()), default=0)
        self.text = ""

    def clauses(self, text: str) -> list[Clause]:
        self.text = text
        try:
            node = ast.parse(text.strip(), mode="eval").body
        except SyntaxError:
            raise self.error("is not a formula") from None
        parts = node.values if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And) else [node]
        return [Clause(atoms, origin="domain") for part in parts for atoms in self.conjuncts(part)]

    def conjuncts(self, node: ast.expr) -> list[tuple[Atomic, ...]]:
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            alternatives: list[Atomic] = []
            for value in node.values:
                atoms = self.comparison(value)
                if len(atoms) != 1:
                    raise self.error("has a chained comparison inside 'or'")
                alternatives += atoms
            return [tuple(alternatives)]
        return [(a,) for a in self.comparison(node)]

    def comparison(self, node: ast.expr) -> list[Atomic]:
        if not isinstance(node, ast.Compare):
            raise self.error("has a part that is not a comparison")
        out, left = [], node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.NotIn):
                if not isinstance(right, ast.Name) or right.id not in _SETS:
                    raise self.error(f"uses 'not in' with something other than {' or '.join(_SETS)}")
                out.append(Atomic(_SETS[right.id], self.term(left)))  # type: ignore[arg-type]
            elif isinstance(op, (ast.Lt, ast.LtE)):
                out.append(Atomic("> 0" if isinstance(op, ast.Lt) else ">= 0", self.term(right) - self.term(left)))
            elif type(op) in _RELATIONS:
                out.append(Atomic(_RELATIONS[type(op)], self.term(left) - self.term(right)))  # type: ignore[arg-type]
            else:
                raise self.error("uses a comparison that is not one of > >= < <= != == 'not in'")
            left = right
        return out

    def term(self, node: ast.expr) -> Poly:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
            return number(Fraction(repr(node.value)))
        if isinstance(node, ast.Name):
            return self.name(node.id)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self.term(node.operand)
        if isinstance(node, ast.BinOp):
            left, right = self.term(node.left), self.term(node.right)
            if isinstance(node.op, ast.Add):
                return left + right
            if isinstance(node.op, ast.Sub):
                return left - right
            if isinstance(node.op, ast.Mult):
                return left * right
            if isinstance(node.op, ast.Div) and not right.is_zero:
                return left * power(right, -1)
            if isinstance(node.op, ast.Pow) and (e := right.constant()) is not None and e.q == 1 and e >= 0:
                return left ** int(e.p)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
            row = FUNCTIONS.get(node.func.id)
            if row is not None and not node.keywords:
                return row.value(self.term(node.args[0]))
        raise self.error(f"has '{ast.unparse(node)}', which is not arithmetic on its names")

    def name(self, name: str) -> Poly:
        shape = self.shapes.get(name)
        if shape is None:
            raise self.error(f"names '{name}', but there is only {', '.join(self.shapes) or 'nothing'}")
        shift = self.rank - len(shape)
        index = [of_const(ZERO) if n == ONE else axis_index(k + shift, n) for k, n in enumerate(shape)]
        return access(name, tuple(index))

    def error(self, problem: str) -> DomainError:
        return DomainError(
            f"The condition {self.text!r} of {self.where} {problem}. Write comparisons of arithmetic on the argument "
            "and parameter names, joined by 'and' or 'or', such as 'x > 0' or 'x != 0 or alpha == 1'."
        )


_ = template
