"""Terms that are 0 at no size, by their form: a program that divides by one is defined at every size
(docs/exact.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

from certgrad.language import tree as t
from certgrad.language.sorts import sort
from certgrad.language.substitute import unbound

from ._index import NoTheoremError

POWERS = frozenset({"whole power", "integer power"})
"""Functions that are powers with a whole exponent."""


class Nonzero:
    """Decides whether an expression that is not identically 0 at the size evaluated is identically 0 at no size.

    `meant` gives an entry by its definition. `is_plain` says that a number depends on no index but its own, on no size
    and on nothing free; `sums` that there are sums, maxima or sizes in it; `is_count` that it is a product or sum of
    sizes. `inputs` has the
    real inputs by name, each with whether it is above 0.
    """

    def __init__(
        self,
        meant: Callable[[t.Node], t.Node],
        is_plain: Callable[[t.Node], bool],
        sums: Callable[[t.Node], bool],
        is_count: Callable[[t.Node], bool],
        inputs: Mapping[str, bool],
        through: dict[str, set[str]],
    ) -> None:
        self.is_plain, self.sums, self.is_count, self.inputs = is_plain, sums, is_count, inputs
        self._meant, self.through = meant, through
        """The arrays that the definition of an array reads, through other definitions; each is found once."""
        self._endless: dict[t.Node, bool] = {}

    def meant(self, x: t.Node) -> t.Node:
        """Return an expression by its definition; of a choice whose condition is decided, the branch that is chosen."""
        match x := self._meant(x):
            case t.If(condition=condition) if (holds := self.decided(self._meant(condition))) is not None:
                return self.meant(x.then if holds else x.otherwise)
        return x

    def decided(self, x: t.Node) -> bool | None:
        """Return the truth of a comparison of a term with a number ≤ 0 where the form of the term tells it; else None.

        Points at which the term is 0 are left out: they have a measure of 0.
        """
        if not isinstance(x, t.Compare):
            return None
        if x.relation in ("=", "!="):
            number, term = (x.left, x.right) if isinstance(x.left, t.Number) else (x.right, x.left)
            never_equal = sort(term) == "real" and self.is_0(number) and self.sure(term)
            return x.relation == "!=" if never_equal else None
        below = x.relation in ("<", "<=")
        number, term = (x.left, x.right) if isinstance(x.left, t.Number) else (x.right, x.left)
        if not isinstance(number, t.Number) or number.rational > 0 or sort(term) != "real":
            return None
        says_above = below if number is x.left else not below
        """Whether the statement says that the term is above the number."""
        strict = (x.relation in ("<", ">")) is says_above
        holds = self.positive(term) if strict else self.nonnegative(term)
        return says_above if holds else None

    def holds(self, x: t.Node) -> bool:
        """Return whether the node is known to be identically 0 at no size if it is not at the size evaluated.

        The last holds of what a program divides by: it was evaluated there, and was not 0.
        """
        x = self.meant(x)
        if self.is_plain(x) or self.sure(x):
            return True
        match x:
            case t.Mul() | t.Divide() | t.Negate():
                return all(map(self.holds, t.children(x)))
            case t.Power(base=base) | t.Apply(function="sqrt" | "square", arguments=(base,)):
                return self.holds(base)
        return False  # of a choice only one part is evaluated

    def no_square(self, x: t.Node) -> None:
        """Raise NoTheoremError if the argument of a root or a logarithm may be the square of a sum.

        √(a²) = |a| and log(a²) = 2·log|a| depend on the sign of a, which may be another one at another size.
        """
        x = self.meant(x)
        match x:
            case t.Mul() | t.Divide():
                sums = [part for part in t.children(x) if self.sums(part)]
                if len(sums) > 1:  # which may be equal
                    raise NoTheoremError("it takes a root or a logarithm of a product of sums")
                operands = sums
            case t.Add() | t.Subtract():
                # Beside a number above 0 nothing is a square; all other summands may be 0, of one square but one.
                parts = [part for part in t.children(x) if not self.is_0(part)]
                operands = [] if any(map(self._is_number, parts)) and len(parts) > 1 else parts
            case t.Negate(operand=part) | t.Given(value=part):
                operands = [part]
            case t.If(then=then, otherwise=otherwise):
                operands = [then, otherwise]
            case t.Fold(body=body) | t.Minimum(body=body):
                operands = [body]
            case t.Apply(function="exp" | "sqrt"):
                operands = []
            case t.Power(base=base) | t.Apply(arguments=(base, *_)) if self.sums(base):
                raise NoTheoremError("it takes a root or a logarithm of a power")
            case _:
                operands = []
        for part in operands:
            self.no_square(part)

    def _is_number(self, x: t.Node) -> bool:
        """Return whether the node is a number above 0 that the program names."""
        x = self.meant(x)
        return isinstance(x, t.Number) and x.rational > 0

    def sure(self, x: t.Node) -> bool:
        """Return whether the node is known to be identically 0 at no size."""
        x = self.meant(x)
        if self.positive(x):
            return True
        match x:
            case t.Number():
                return bool(x.rational)
            case t.SortedEntry(name=name, sort="real"):
                return name in self.inputs
            case t.Mul() | t.Divide() | t.Negate():
                return all(map(self.sure, t.children(x)))
            case t.If(then=then, otherwise=otherwise):
                return self.sure(then) and self.sure(otherwise)
            case t.Power(base=base) | t.Apply(function="sqrt" | "square", arguments=(base,)):
                return self.sure(base)
        return self._is_linear(x)

    def positive(self, x: t.Node) -> bool:
        """Return whether the node is known to be nowhere less than 0 and not identically 0."""
        x = self.meant(x)
        match x:
            case t.Number():
                return x.rational > 0
            case t.Integer(value=n) | t.ToReal(operand=t.Integer(value=n)):
                return n > 0
            case t.Constant():
                return True
            case t.SortedEntry(name=name) if name in self.inputs:
                return self.inputs[name]
            case t.Apply(function="exp", arguments=(u,)):
                return not self._is_endless(u)
            case t.Mul() | t.Divide():
                rest, squares = self._squares(x)
                return all(map(self.positive, rest)) and all(map(self.sure, squares))
            case t.Add(terms=terms):
                return all(map(self.nonnegative, terms)) and any(map(self.positive, terms))
            case t.Subtract(left=left, right=right) if self.is_0(right):
                return self.positive(left)
            case t.Fold(kind="sum" | "maximum", over=over, body=body, where=()):
                return not any(map(_is_empty, over)) and self.positive(body)
            case t.If(then=then, otherwise=otherwise):
                return self.positive(then) and self.positive(otherwise)
            case t.Apply(function="sqrt", arguments=(base,)):
                return self.positive(base)
        square = self._square(x)
        if square is not None:
            return self.sure(square)
        if isinstance(x, t.Power):
            return self.positive(x.base)
        return self.is_count(x)

    def nonnegative(self, x: t.Node) -> bool:
        """Return whether the node is known to be nowhere less than 0."""
        x = self.meant(x)
        if self.positive(x) or self.is_0(x) or self._square(x) is not None:
            return True
        match x:
            case t.Mul() | t.Divide():
                return all(map(self.nonnegative, self._squares(x)[0]))
            case t.Add(terms=terms):
                return all(map(self.nonnegative, terms))
            case t.Subtract(left=left, right=right) if self.is_0(right):
                return self.nonnegative(left)
            case t.Fold(kind="sum", body=body):
                return self.nonnegative(body)
            case t.If(then=then, otherwise=otherwise):
                return self.nonnegative(then) and self.nonnegative(otherwise)
            case t.Apply(function="sqrt") | t.Truth():
                return True
        return False

    def _square(self, x: t.Node) -> t.Node | None:
        """Return the base of an even power; None for any other node."""
        match x:
            case t.Power(base=base, exponent=e) if Fraction(e).denominator == 1 and Fraction(e) % 2 == 0:
                return base
            case t.Apply(function="square", arguments=(base,)):
                return base
            case t.Apply(function=function, arguments=(base, t.Integer(value=n))) if function in POWERS and n % 2 == 0:
                return base
        return None

    def _squares(self, x: t.Node) -> tuple[list[t.Node], list[t.Node]]:
        """Return the factors of a product or quotient: single ones, and one of each pair; x·x·y gives [y] and [x]."""
        rest: list[t.Node] = []
        twice: list[t.Node] = []
        for part in t.children(x):
            if part in rest and isinstance(x, t.Mul):
                rest.remove(part)
                twice.append(part)
            else:
                rest.append(part)
        return rest, twice

    def is_0(self, x: t.Node) -> bool:
        """Return whether the node is the number 0."""
        x = self.meant(x)
        return x in (t.Number("0"), t.Integer(0)) or (isinstance(x, t.ToReal) and self.is_0(x.operand))

    def _is_endless(self, x: t.Node) -> bool:
        """Return whether the node may be ±∞, whose exponential may be 0."""
        if x not in self._endless:
            definition = self.meant(x)
            if (
                isinstance(definition, t.If)
                and (side := self._beside_infinity(self.meant(definition.condition))) is not None
            ):
                self._endless[x] = self._is_endless(definition.then if side else definition.otherwise)
            else:
                parts = (part for part in t.children(definition) if sort(part) != "boolean")
                self._endless[x] = isinstance(definition, t.Infinity) or any(map(self._is_endless, parts))
        return self._endless[x]

    def _beside_infinity(self, x: t.Node) -> bool | None:
        """Return the truth of x < y or x > y of a finite number and ±∞; None for other statements."""
        if not isinstance(x, t.Compare) or x.relation not in ("<", ">"):
            return None
        small, large = (x.left, x.right) if x.relation == "<" else (x.right, x.left)
        for end, term, greater in ((small, large, False), (large, small, True)):
            if isinstance(end := self.meant(end), t.Infinity) and not self._is_endless(term):
                return end.positive is greater
        return None

    def _is_linear(self, x: t.Node) -> bool:
        """Return whether a summand is an input's entry, or a sum of its entries, each times a nonzero factor, and the
        rest does not read that input.
        """
        parts = [*self._summands(x)]
        for k, part in enumerate(parts):
            name, factors = self._of_input(part)
            rest = [*parts[:k], *parts[k + 1 :], *factors]
            if name and not any(name in self._reached(node) for node in rest) and all(map(self.sure, factors)):
                return True
        return False

    def _summands(self, x: t.Node) -> Iterator[t.Node]:
        """Yield the nonzero summands of sums and differences, through definitions."""
        definition = self.meant(x)
        if isinstance(definition, t.Add | t.Subtract):
            for part in t.children(definition):
                yield from self._summands(part)
        elif not self.is_0(definition):
            yield x

    def _of_input(self, x: t.Node) -> tuple[str, Sequence[t.Node]]:
        """Return an input's name and factors where the node is a product of an entry of the input and the factors.

        A sum of such products over different entries counts too. Return "" and no factors for any other node.
        """
        x = self.meant(x)
        match x:
            case t.SortedEntry(name=name, sort="real") if name in self.inputs:
                return name, ()
            case t.Negate(operand=operand):
                return self._of_input(operand)
            case t.Power(base=base) | t.Apply(function="square", arguments=(base,)) if not _is_1(x):
                definition = self.meant(base)
                return self._of_input(definition) if isinstance(definition, t.Entry) else ("", ())
            case t.Divide(left=left, right=right):
                name, cofactors = self._of_input(left)
                return name, (*cofactors, right)
            case t.Fold(kind="sum", over=over, body=body, where=()) if not any(map(_is_empty, over)):
                name, cofactors = self._of_input(body)
                bound = {r.variable for r in over}
                definition = self.meant(body)
                factors = definition.factors if isinstance(definition, t.Mul) else (definition,)
                entries = [e for e in map(self.meant, factors) if isinstance(e, t.SortedEntry) and e.name == name]
                entries_differ = len({*entries}) == 1 and bound <= {
                    *unbound(entries[0])
                }  # each entry is in one summand
                return (name, cofactors) if entries_differ else ("", ())
            case t.Mul(factors=factors):
                definitions = [*map(self.meant, factors)]
                for entry in definitions:
                    if isinstance(entry, t.SortedEntry) and entry.sort == "real" and entry.name in self.inputs:
                        return entry.name, [factor for factor in definitions if factor != entry]
        return "", ()

    def _reached(self, x: t.Node) -> set[str]:
        """Return the names of all arrays that an expression reads, through definitions."""
        out: set[str] = set()
        for n in t.walk(x):
            if isinstance(n, t.Entry):
                if n.name not in self.through:
                    definition = self.meant(n)
                    self.through[n.name] = {n.name} if definition == n else self._reached(definition)
                out |= self.through[n.name]
        return out


def _is_1(x: t.Node) -> bool:
    """Return whether the node is a power with the exponent 0, which is 1 for every base."""
    return isinstance(x, t.Power) and not Fraction(x.exponent)


def _is_empty(over: t.Range) -> bool:
    """Return whether a sum along the axis has no summands."""
    return over.size == t.Integer(0)
