"""The language of the specification: what an entry of a tensor is, as a tree that says exactly that.

An expression has one of three sorts. `integer`: an exact integer (sizes, index variables, entries of integer tensors).
`real`: a real number. `boolean`: a formula. A fourth, `key`, is that of random keys, of which nothing is known.
Both operands of an arithmetic node or comparison have one sort, and there are no silent conversions: `ToReal` is the
only way from integers to reals, `Floor` the only way back. Nothing is simplified when a node is made.

**Where an expression is defined** follows from its form (`definedness.defined` writes it as a formula):
- an entry, where its indices are within the tensor's shape and the tensor is defined there;
- `Divide`, `FloorDivide`, `Modulo`: where the divisor is not 0; `Power`, `IntegerPower`, `Function`: as each says;
- `If`: where its condition is, and then the branch that it takes; the other one need not be;
- `Given(condition, value)`: where the condition holds and the value is defined;
- a binder: where its body is for each value of its variable; `Maximum`, `Minimum`, `ArgMax`: for each for which `where`
  holds, and where there is such; `Least`: where its body holds for some value, and is defined for those up to it;
- `Infinity`: see there; everything else: where its parts are.

**A program** (`Program`) is a list of definitions in order, one or a few an equation, each of tensors by entries of
those before. Variables: `i0, i1, …` number the axes of what is defined, `k0, k1, …` are bound inside an entry, `t1, t2,
…` are times of loops. A name is unique within its definition; `Index` refers to it. Sizes of shapes are integer
expressions in `Size`; a size is at least 1 where it is a name.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Sort = Literal["integer", "real", "boolean", "key"]
Relation = Literal["=", "<", "≤"]


class Expression:
    """What all nodes share: arithmetic on two expressions of one sort, written as Python writes it."""

    __slots__ = ()

    def __add__(self, other: Expression) -> Expression:
        return Add(self, other)

    def __sub__(self, other: Expression) -> Expression:
        return Subtract(self, other)

    def __mul__(self, other: Expression) -> Expression:
        return Multiply(self, other)

    def __truediv__(self, other: Expression) -> Expression:
        return Divide(self, other)

    def __floordiv__(self, other: Expression) -> Expression:
        return FloorDivide(self, other)

    def __mod__(self, other: Expression) -> Expression:
        return Modulo(self, other)

    def __neg__(self) -> Expression:
        return Negate(self)


# --- leaves --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Number(Expression):
    """A rational number, as a real."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Integer(Expression):
    """An integer."""

    value: int


@dataclass(frozen=True, slots=True)
class Truth(Expression):
    """True or false."""

    value: bool


@dataclass(frozen=True, slots=True)
class Infinity(Expression):
    """+∞ or −∞, of sort real: literals of programs, of which no output may have one.

    What it is part of is defined as floats have it, and only there: a comparison with a real or another infinity, ±∞
    plus or minus a real, ±∞ times a real other than 0, an extremum, exp(−∞) = 0, `is finite`, and what selects.
    """

    positive: bool


@dataclass(frozen=True, slots=True)
class Size(Expression):
    """A symbolic size: an integer of at least 1."""

    name: str


@dataclass(frozen=True, slots=True)
class Index(Expression):
    """An index variable, bound by the definition, the loop or the binder around it: an integer ≥ 0."""

    name: str


@dataclass(frozen=True, slots=True)
class Entry(Expression):
    """The tensor's entry at integer indices, one an axis. Of a tensor of rank 0, its value."""

    tensor: str
    indices: tuple[Expression, ...]
    sort: Sort


# --- arithmetic ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Add(Expression):
    """left + right, of integers or of reals."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Subtract(Expression):
    """left − right, of integers or of reals."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Multiply(Expression):
    """left · right, of integers or of reals."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Negate(Expression):
    """−operand, of an integer or a real."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Divide(Expression):
    """left / right of reals, for right ≠ 0."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class FloorDivide(Expression):
    """⌊left / right⌋ of integers, for right ≠ 0: rounded towards −∞."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Modulo(Expression):
    """left − right·⌊left / right⌋ of integers, for right ≠ 0: it has the sign of right."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class ToReal(Expression):
    """An integer as a real."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Floor(Expression):
    """The greatest integer that is at most a real."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Power(Expression):
    """A real to the power of a real.

    The exponent is an integer `Number`: repeated multiplication, and for a negative one its reciprocal (base ≠ 0). It
    is another `Number`: exp(exponent·log(base)) for base > 0, and 0 for base = 0 if it is positive. It is no `Number`:
    the same, that is base > 0, or base = 0 and exponent > 0.
    """

    base: Expression
    exponent: Expression


@dataclass(frozen=True, slots=True)
class IntegerPower(Expression):
    """An integer or a real to the power of an integer.

    Repeated multiplication for an exponent ≥ 0 (so 0⁰ = 1). For a negative one, of a real ≠ 0, the reciprocal.
    """

    base: Expression
    exponent: Expression


@dataclass(frozen=True, slots=True)
class Function(Expression):
    """A function of `functions.FUNCTIONS` by name, which says the sorts, the domain and what defines the value."""

    name: str
    arguments: tuple[Expression, ...]


# --- binders -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sum(Expression):
    """Σ of the body over 0 ≤ variable < count; 0 over nothing. The body is an integer or a real."""

    variable: str
    count: Expression
    body: Expression


@dataclass(frozen=True, slots=True)
class Product(Expression):
    """∏ of the body over 0 ≤ variable < count; 1 over nothing. The body is an integer or a real."""

    variable: str
    count: Expression
    body: Expression


@dataclass(frozen=True, slots=True)
class Maximum(Expression):
    """The greatest value of the body over those 0 ≤ variable < count for which `where` holds, if there are any."""

    variable: str
    count: Expression
    body: Expression
    where: Expression = Truth(True)


@dataclass(frozen=True, slots=True)
class Minimum(Expression):
    """The least value of the body over those 0 ≤ variable < count for which `where` holds, if there are any."""

    variable: str
    count: Expression
    body: Expression
    where: Expression = Truth(True)


@dataclass(frozen=True, slots=True)
class ArgMax(Expression):
    """The first of those 0 ≤ variable < count for which `where` holds at which the body is greatest, if there are any.

    The body is an integer or a real. At a variable for which `where` does not hold it need not be defined.
    """

    variable: str
    count: Expression
    body: Expression
    where: Expression = Truth(True)


@dataclass(frozen=True, slots=True)
class Least(Expression):
    """The least integer 0 ≤ variable < count at which the formula holds; `count` is None where there is no bound."""

    variable: str
    count: Expression | None
    body: Expression


@dataclass(frozen=True, slots=True)
class ForAll(Expression):
    """The formula holds for all 0 ≤ variable < count; for all integers ≥ 0 where `count` is None."""

    variable: str
    count: Expression | None
    body: Expression


@dataclass(frozen=True, slots=True)
class Exists(Expression):
    """The formula holds for some 0 ≤ variable < count; for some integers ≥ 0 where `count` is None."""

    variable: str
    count: Expression | None
    body: Expression


# --- formulas ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Compare(Expression):
    """left = right, left < right or left ≤ right, of two integers or two reals."""

    relation: Relation
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class And(Expression):
    """All parts hold; true of none."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or(Expression):
    """Some part holds; false of none."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Not(Expression):
    """The formula does not hold."""

    part: Expression


@dataclass(frozen=True, slots=True)
class IsDefined(Expression):
    """The entry is defined: its indices are within the shape, and what the tensor is there is defined.

    Only `definedness.defined` makes it; no rule does.
    """

    entry: Entry


@dataclass(frozen=True, slots=True)
class If(Expression):
    """`then` where the condition holds, else `otherwise`: of any one sort. The other one need not be defined."""

    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class Given(Expression):
    """The value, where the condition holds; undefined elsewhere."""

    condition: Expression
    value: Expression


# --- definitions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tensor:
    """A name with a shape (integer expressions in sizes) and the sort of its entries.

    A tensor that is made inside a loop has, before the axes of its shape, one axis a loop around it, outermost first:
    the time. `times` are the loops' variables; every `Entry` of it begins with these indices.
    """

    name: str
    shape: tuple[Expression, ...]
    sort: Sort
    times: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Defined:
    """The tensor's entry at `variables` (first the times, then one an axis) is `entry`."""

    tensor: Tensor
    variables: tuple[str, ...]
    entry: Expression
    primitive: str
    """What the equation was, for readers: the name of the primitive."""


@dataclass(frozen=True, slots=True)
class Table:
    """A constant array: its entries in row-major order, each a `Number`, `Integer`, `Truth` or `Infinity`."""

    tensor: Tensor
    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Carry:
    """What a loop carries: at time 0 its entry is `start`; at time `loop.time` + 1 it is `step`.

    The last of `tensor.times` is the loop's time. `variables` number the outer times and then the axes; the loop's own
    time is not among them: `step` may use it as `Index(loop.time)`, `start` does not.
    """

    tensor: Tensor
    variables: tuple[str, ...]
    start: Expression
    step: Expression


@dataclass(frozen=True, slots=True)
class Loop:
    """A recurrence: carries, and the definitions of one step, all of whose tensors have the loop's time as last time.

    A step reads carries at `Index(time)`, that is before the step. A scan's results read carries and what steps give at
    times below its length. A while loop has no length of its own: what follows reads its carries at a `Least`.
    `length` is None there.
    """

    time: str
    length: Expression | None
    carries: tuple[Carry, ...]
    body: tuple[Definition, ...]


@dataclass(frozen=True, slots=True)
class Determined:
    """Tensors that are determined by equations, as the solution of a linear system is.

    At each value of `variables` (times and batch axes, which come first in all of `tensors`, each running over the
    sizes `counts`), the tensors' entries are those for which all `equations` hold, provided that `condition` holds,
    which says that there are such and that they are the only ones. `method` names what JAX calls (`cholesky` …).
    """

    tensors: tuple[Tensor, ...]
    variables: tuple[str, ...]
    equations: tuple[Expression, ...]
    condition: Expression
    method: str
    operands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Opaque:
    """Tensors of which only this is known: they are the same where the same is done to the same operands.

    `name` says what is done, its parameters included. Random bits are the example: a function of the key.
    """

    tensors: tuple[Tensor, ...]
    variables: tuple[str, ...]
    name: str
    operands: tuple[str, ...]


Definition = Defined | Table | Loop | Determined | Opaque


@dataclass(frozen=True, slots=True)
class Program:
    """What a traced program means. `outputs` are names of inputs or of defined tensors.

    `idealised` says what is read otherwise than floats and machine integers have it, once each.
    """

    inputs: tuple[Tensor, ...]
    definitions: tuple[Definition, ...]
    outputs: tuple[Tensor, ...]
    idealised: tuple[str, ...]
