"""The language: numbers and what is said of them, as one tree.

An entry of what a program computes, a hypothesis of a certificate, a statement for Coq and a guard of a running graph
are values of it. A statement says something of numbers; a term is a number. Nothing is simplified when a node is made.
Two statements are the same where their trees in canonical form are equal (`canonical`); what is printed is for reading.
In JSON a node is an array that begins with its tag. What a certificate says is a `Statement`: of its nodes alone, those
of the last section have no place in one.

**Sorts** (`sorts.sort`) follow from the form: `integer`, `real`, `boolean`; `key` is that of random keys, of which
nothing is known. Integers are reals, and an integer may stand where a real may. In programs, which typed readers such
as Coq have to read, both operands of an arithmetic node have one sort, `ToReal` marks where an integer stands for a
real (people are not shown it), and a whole `Number` is a real one. In statements nothing is marked: which arrays hold
integers is known from the signature alone, which a statement does not repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import msgspec

Sort = Literal["integer", "real", "boolean", "key"]
Kind = Literal["sum", "product", "maximum"]
Relation = Literal[">", ">=", "<", "<=", "!=", "="]


class Node(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Base: immutable, equal by structure, and unknown fields are refused on decoding. Arithmetic makes programs'
    nodes, written as Python writes it; `//` and `%` are of integers."""

    def __add__(self, other: Term) -> Term:
        return Add((self, other))

    def __sub__(self, other: Term) -> Term:
        return Subtract(self, other)

    def __mul__(self, other: Term) -> Term:
        return Mul((self, other))

    def __truediv__(self, other: Term) -> Term:
        return Divide(self, other)

    def __floordiv__(self, other: Term) -> Term:
        return Apply("quotient", (self, other))

    def __mod__(self, other: Term) -> Term:
        return Apply("remainder", (self, other))

    def __neg__(self) -> Term:
        return Negate(self)


# --- terms


class Number(Node, frozen=True, tag="number"):
    """A rational number as text: `3/2`."""

    value: str

    @property
    def rational(self) -> Fraction:
        """The number itself."""
        return Fraction(self.value)


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

    kind: Kind
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
    relation: Relation
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


# --- of programs alone


class Integer(Node, frozen=True, tag="integer"):
    """An integer, of sort integer."""

    value: int


class Infinity(Node, frozen=True, tag="infinity"):
    """+∞ or −∞, of sort real: literals of programs, of which no output may have one.

    What it is part of is defined as floats have it, and only there: a comparison with a real or another infinity, ±∞
    plus or minus a real, ±∞ times a real other than 0, an extremum, exp(−∞) = 0, `is finite`, and what selects.
    """

    positive: bool


class SortedEntry(Entry, frozen=True, tag="sorted entry"):
    """An entry of an array of a program, whose sort is known. Its indices begin with the times of the loops around."""

    sort: Sort = "real"


class Subtract(Node, frozen=True, tag="subtract"):
    """left − right, of integers or of reals."""

    left: Term
    right: Term


class Negate(Node, frozen=True, tag="negate"):
    """−operand, of an integer or a real."""

    operand: Term


class Divide(Node, frozen=True, tag="divide"):
    """left / right of reals, for right ≠ 0."""

    left: Term
    right: Term


class ToReal(Node, frozen=True, tag="to real"):
    """An integer as a real."""

    operand: Term


class Minimum(Node, frozen=True, tag="minimum"):
    """The least value of a term over those values of variables at which all of `where` hold. A statement of a
    certificate says the maximum of what is negative."""

    over: tuple[Range, ...]
    body: Term
    where: tuple[Statement, ...] = ()


class Least(Node, frozen=True, tag="least"):
    """The least value of the variable at which the formula holds; without a bound its size is `WHILE_A_TEST_HOLDS`."""

    over: tuple[Range]
    holds: Statement


class Exists(Node, frozen=True, tag="some"):
    """The formula holds for some values of variables."""

    over: tuple[Range, ...]
    holds: Statement


class Not(Node, frozen=True, tag="not"):
    """The formula does not hold."""

    part: Statement


class IsDefined(Node, frozen=True, tag="is defined"):
    """The entry is defined: its indices are within the shape, and what the array is there is defined.

    Only `definedness.defined` makes it; no rule does.
    """

    entry: Entry


class If(Node, frozen=True, tag="if"):
    """`then` where the condition holds, else `otherwise`: of any one sort. The other one need not be defined."""

    condition: Statement
    then: Node
    otherwise: Node


class Given(Node, frozen=True, tag="given"):
    """The value, where the condition holds; undefined elsewhere."""

    condition: Statement
    value: Node


if TYPE_CHECKING:  # that a term stands where one has to is what sorts say, and of certificates the decoder
    Term = Node
    Statement = Node
else:
    Term = (
        Number | Constant | Size | Axis | Array | Entry | Index | Add | Mul | Power | Apply | Truth | Fold | Matrix
        | Chosen | Carry | Carried
    )  # fmt: skip
    Statement = (
        Compare | NotIn | Either | Both | Where | ForAll | AtSteps | Unique | Distinct | Solves | Words | OffBoundaries
    )

ZERO = Number("0")
ONE = Number("1")
WHILE_A_TEST_HOLDS = Number("-1")
"""In place of a size: the variable runs as long as a test holds."""
UNKNOWN = Size("?")
"""In place of a size: how far the variable runs is not stated."""
TRUE = Both(())  # all of none
FALSE = Either(())  # some of none
BINDERS = (Fold, Matrix, Chosen, CarryOf, ForAll, AtSteps, Unique, Distinct, Minimum, Least, Exists)
"""The nodes whose `over` binds variables in all their other fields, and not in the sizes of `over` itself."""


@cache
def _fields(kind: type[Node]) -> tuple[str, ...]:
    return kind.__struct_fields__


def children(node: Node) -> Iterator[Node]:
    """Yield the nodes directly inside of a node."""
    for name in _fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            yield from (v for v in value if isinstance(v, Node))


def walk(node: Node) -> Iterator[Node]:
    """Yield the node and all nodes inside of it, from the outside in."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting += reversed([*children(current)])


def mapped(node: Node, change: Callable[[Any], Any]) -> Any:
    """Return the node with each node directly inside of it changed; the same object where nothing changes."""
    changes: dict[str, Any] = {}
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
            changes[name] = new
    return msgspec.structs.replace(node, **changes) if changes else node


def number(value: int | Fraction) -> Number:
    return Number(str(value))


def sum_of_terms(terms: list[Term]) -> Term:
    """Return the sum of terms: 0 of none, a single term as it is."""
    return ZERO if not terms else terms[0] if len(terms) == 1 else Add(tuple(terms))


def scaled(coefficient: Fraction, factors: list[Term]) -> Term:
    """Return the product of a coefficient and factors; a coefficient of 1 is left out."""
    parts = [*([] if coefficient == 1 and factors else [number(coefficient)]), *factors]
    return parts[0] if len(parts) == 1 else Mul(tuple(parts))


def linear(term: Term) -> list[tuple[Fraction, tuple[Term, ...]]]:
    """Return the summands of a term, each as its coefficient and its other factors; none for zero."""
    out: list[tuple[Fraction, tuple[Term, ...]]] = []
    for summand in term.terms if isinstance(term, Add) else (term,):
        factors = summand.factors if isinstance(summand, Mul) else (summand,)
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
    """Return the names of the arrays in a node, those of which only a length is used included."""
    return {n.name for n in walk(node) if isinstance(n, Array | Entry)} | {
        n.array for n in walk(node) if isinstance(n, Axis)
    }
