"""Hypotheses as data: one typed tree, which the calculus, graphs, certificates and `certgrad verify` share.

A statement says something of real numbers; a term is a number. Two hypotheses are the same where their trees in
canonical form are equal (`canonical`); what is printed is for reading. In JSON a node is an array that begins with its
tag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any, Literal

import msgspec


class Node(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Base: immutable, equal by structure, and unknown fields are refused on decoding."""


# --- terms


class Number(Node, frozen=True, tag="number"):
    """A rational number as text: `3/2`."""

    value: str


class Constant(Node, frozen=True, tag="constant"):
    """A number with a name: `pi`."""

    name: str


class Size(Node, frozen=True, tag="size"):
    """A dimension as a number."""

    name: str


class Axis(Node, frozen=True, tag="axis"):
    """The size of an axis of an array, each star group counted as one axis. In what users write: of the axes there are,
    counted from the end where negative."""

    array: str
    position: int


class Array(Node, frozen=True, tag="array"):
    """A whole array: the statement holds at every entry, after numpy's broadcasting."""

    name: str


class Entry(Node, frozen=True, tag="entry"):
    """An entry of an array; without an index, a scalar."""

    name: str
    index: tuple[Term, ...] = ()


class Index(Node, frozen=True, tag="index"):
    """An index variable, which a range binds."""

    name: str


class Add(Node, frozen=True, tag="add"):
    terms: tuple[Term, ...]


class Mul(Node, frozen=True, tag="mul"):
    factors: tuple[Term, ...]


class Power(Node, frozen=True, tag="power"):
    """A rational power; that of a negative number is real where the exponent is whole."""

    base: Term
    exponent: str


class Apply(Node, frozen=True, tag="apply"):
    """A function applied: `log`, `exp`, `floor`, `quotient` (rounded down), `remainder` …"""

    function: str
    arguments: tuple[Term, ...]


class Truth(Node, frozen=True, tag="truth"):
    """1 where the statement holds, else 0."""

    statement: Statement


class Range(Node, frozen=True):
    """A variable that runs from 0 to a size."""

    variable: str
    size: Term


class Fold(Node, frozen=True, tag="fold"):
    """The sum, the product or the maximum of a term over those values of variables at which all of `where` hold."""

    kind: Literal["sum", "product", "maximum"]
    over: tuple[Range, ...]
    body: Term
    where: tuple[Statement, ...] = ()


class Matrix(Node, frozen=True, tag="matrix"):
    """What a matrix determines: its determinant, an entry of its inverse … The matrix is given by its entries."""

    kind: str
    over: tuple[Range, Range]
    body: Term
    index: tuple[Term, ...] = ()


class Chosen(Node, frozen=True, tag="chosen"):
    """An index that a comparison chooses: where terms are greatest (`argmax`), which comes to a place (`order`), or to
    which place one comes (`rank`); and which row of a matrix elimination puts into a place (`pivots`, `pivoted`)."""

    kind: str
    over: tuple[Range, ...]
    bodies: tuple[Term, ...]
    where: tuple[Statement, ...]
    component: int
    place: tuple[Term, ...] = ()


class CarryOf(Node, frozen=True):
    """One value that a loop carries: its axes, its entries at time 0, and at the next time from those at this one."""

    over: tuple[Range, ...]
    init: Term
    step: Term


class Loop(Node, frozen=True):
    """Carries that depend on each other. `name` is what their steps read them by, `time` the variable of time."""

    name: str
    time: str
    carries: tuple[CarryOf, ...]


class Carry(Node, frozen=True, tag="carry"):
    """An entry of what a loop carries, at a time."""

    loop: Loop
    position: int
    time: Term
    index: tuple[Term, ...]


class Carried(Node, frozen=True, tag="carried"):
    """Inside a step: an entry of a carry of the loop with this name, at a time."""

    loop: str
    position: int
    time: Term
    index: tuple[Term, ...]


# --- statements


class Compare(Node, frozen=True, tag="compare"):
    relation: Literal[">", ">=", "<", "<=", "!=", "="]
    left: Term
    right: Term


class NotIn(Node, frozen=True, tag="not in"):
    """The term is no integer, or no pole of the gamma function (none of 0, −1, −2, …)."""

    term: Term
    numbers: Literal["integers", "nonpositive integers"]


class Either(Node, frozen=True, tag="or"):
    parts: tuple[Statement, ...]


class Both(Node, frozen=True, tag="and"):
    parts: tuple[Statement, ...]


class Where(Node, frozen=True, tag="where"):
    """The statement wherever all guards hold."""

    guards: tuple[Statement, ...]
    then: Statement


class ForAll(Node, frozen=True, tag="all"):
    """The statement for all values of variables."""

    over: tuple[Range, ...]
    holds: Statement


class Unique(Node, frozen=True, tag="unique"):
    """The maximum of a term over variables is attained once."""

    over: tuple[Range, ...]
    body: Term
    where: tuple[Statement, ...] = ()


class Distinct(Node, frozen=True, tag="distinct"):
    """No two values of the term along the variable are equal."""

    over: tuple[Range]
    body: Term


class AtSteps(Node, frozen=True, tag="at steps"):
    """The statement at every step of a loop that ends by its values: up to the first time that the test is not 1."""

    over: tuple[Range]
    test: Term
    holds: Statement


class Solves(Node, frozen=True, tag="solves"):
    """What a solver returns satisfies its equation; it is a differentiable function of the arguments if asked."""

    solver: str
    continuous: bool
    equation: Statement


class Words(Node, frozen=True, tag="words"):
    """What is said in words alone, of certain values: nothing but equal words of equal values is the same."""

    text: str
    of: tuple[str, ...] = ()


class OffBoundaries(Node, frozen=True, tag="off boundaries"):
    """No two numbers that a forward compares are equal, and nothing that it divides by is 0.

    What is asked of which part is in `text`; the statement is about the whole forward.
    """

    text: str
    of: tuple[str, ...] = ()


Term = (
    Number
    | Constant
    | Size
    | Axis
    | Array
    | Entry
    | Index
    | Add
    | Mul
    | Power
    | Apply
    | Truth
    | Fold
    | Matrix
    | Chosen
    | Carry
    | Carried
)
Statement = (
    Compare | NotIn | Either | Both | Where | ForAll | AtSteps | Unique | Distinct | Solves | Words | OffBoundaries
)

ZERO = Number("0")
ONE = Number("1")
ENDLESS = Number("-1")
"""In place of a size: the variable runs as long as a test holds."""
UNKNOWN = Size("?")
"""In place of a size: how far the variable runs, of which nothing says it."""
BINDERS = (Fold, Matrix, Chosen, CarryOf, ForAll, AtSteps, Unique, Distinct)
"""The nodes whose `over` binds variables in all their other fields, and not in the sizes of `over` itself."""


@cache
def _fields(kind: type[Node]) -> tuple[str, ...]:
    return kind.__struct_fields__


def children(node: Node) -> Iterator[Node]:
    """The nodes directly inside."""
    for name in _fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            yield from (v for v in value if isinstance(v, Node))


def walk(node: Node) -> Iterator[Node]:
    """The node and all inside it, from the outside in."""
    yield node
    for child in children(node):
        yield from walk(child)


def mapped(node: Node, change: Callable[[Any], Any]) -> Any:
    """The node with each node directly inside it changed; the same object where nothing changes."""
    found: dict[str, Any] = {}
    for name in _fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, Node):
            new: Any = change(value)
        elif isinstance(value, tuple) and value and isinstance(value[0], Node):
            new = tuple(change(v) for v in value)
            if all(a is b for a, b in zip(new, value, strict=True)):
                new = value
        else:
            continue
        if new is not value:
            found[name] = new
    return msgspec.structs.replace(node, **found) if found else node


def number(value: int | Fraction) -> Number:
    return Number(str(value))


def added(terms: list[Term]) -> Term:
    """The sum; a single term stands alone."""
    return ZERO if not terms else terms[0] if len(terms) == 1 else Add(tuple(terms))


def scaled(coefficient: Fraction, factors: list[Term]) -> Term:
    """The product; a coefficient of 1 is left out."""
    every = [*([] if coefficient == 1 and factors else [number(coefficient)]), *factors]
    return every[0] if len(every) == 1 else Mul(tuple(every))


def once_or_zero(statement: Statement) -> Unique | None:
    """The maximum that the statement says is attained once, or is 0, if it says that."""
    if not isinstance(statement, Either) or len(statement.parts) != 2:
        return None
    unique, other = statement.parts
    if not isinstance(unique, Unique):
        return None
    zero = Compare("=", Fold("maximum", unique.over, unique.body, unique.where), ZERO)
    return unique if other == zero else None


def extreme(unique: Unique) -> Literal["minimum", "maximum"]:
    """A minimum is written as the maximum of what is negative."""
    return "minimum" if all(c < 0 for c, _ in linear(unique.body)) else "maximum"


def linear(term: Term) -> list[tuple[Fraction, tuple[Term, ...]]]:
    """The terms of a sum, each as its coefficient and its other factors. Zero has none."""
    out: list[tuple[Fraction, tuple[Term, ...]]] = []
    for one in term.terms if isinstance(term, Add) else (term,):
        factors = one.factors if isinstance(one, Mul) else (one,)
        coefficient = Fraction(1)
        rest: list[Term] = []
        for factor in factors:
            if isinstance(factor, Number):
                coefficient *= Fraction(factor.value)
            else:
                rest.append(factor)
        if coefficient:
            out.append((coefficient, tuple(rest)))
    return out


def arrays(node: Node) -> set[str]:
    """The arrays that are named."""
    return {n.name for n in walk(node) if isinstance(n, Array | Entry)} | {
        n.array for n in walk(node) if isinstance(n, Axis)
    }


def unbound(node: Node) -> set[str]:
    """The index variables, and the loops that steps read, which nothing around them binds."""
    if isinstance(node, Index):
        return {node.name}
    found = {name for child in children(node) for name in unbound(child)}
    if isinstance(node, Carried):
        return found | {node.loop}
    if isinstance(node, Loop):
        return found - {node.name, node.time}
    if isinstance(node, BINDERS):
        return found - {r.variable for r in node.over}
    return found


def encode(statement: Statement) -> str:
    """The statement as JSON, on one line."""
    return msgspec.json.encode(statement).decode()


def decode(data: str | bytes) -> Statement:
    """Strict. Raises msgspec.ValidationError."""
    return _DECODER.decode(data)


_DECODER: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Statement)
