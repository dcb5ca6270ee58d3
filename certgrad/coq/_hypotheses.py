"""Hypotheses of certificates as propositions of Coq, in which every term has a sort: real, integer or boolean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from certgrad.language import tree as e
from certgrad.specification import program as p

from ._errors import NotPrintedError
from ._expressions import printed
from ._names import identifier, is_generated, of_size
from ._propositions import proposition

_FUNCTIONS = frozenset(
    "log abs exp sqrt cbrt sin cos asin acos atan sinh cosh tanh asinh acosh atanh erf lgamma digamma".split()
)


class Hypotheses:
    """Prints statements about these tensors. `sizes` are the names of dimensions.

    A statement does not say which of its arrays hold integers. So it is rewritten in the form that programs have:
    `ToReal` where an integer is used as a real, entries with their sorts, lengths of axes as sizes, and bound variables
    renamed where a size or a tensor has their name.
    """

    def __init__(self, tensors: Sequence[p.Tensor], sizes: Sequence[str]) -> None:
        self.tensors: Mapping[str, p.Tensor] = {t.name: t for t in tensors}
        self.sizes = frozenset(sizes)
        self._taken = {*map(of_size, sizes), *(identifier(t.name) for t in tensors)}
        self.whole: tuple[str, ...] = ()
        """The indices at which the statement reads arrays that it mentions as a whole (x > 0, for all entries)."""

    def statement(self, statement: e.Statement) -> str:
        """Return the statement as a proposition; one on whole arrays is for all indices in their shape.

        Raises NotPrintedError where its form is unknown, or its arrays have several shapes.
        """
        shapes = {self._tensor(n.name).shape for n in e.walk(statement) if isinstance(n, e.Array)} - {()}
        if not shapes:
            return proposition(self._sorted(statement), {})
        if len(shapes) > 1:
            raise NotPrintedError("a hypothesis on arrays that broadcast")
        (shape,) = shapes
        self.whole = tuple(f"i{k}" for k in range(len(shape)))
        ranges = "".join(f"(0 <= {i} < {printed(n)})%Z -> " for i, n in zip(self.whole, shape, strict=True))
        return f"forall {' '.join(self.whole)} : Z, {ranges}{proposition(self._sorted(statement), {})}"

    def _index(self, name: str) -> str:
        """Return the name of an index, with `_` appended until it is that of no size and no tensor."""
        while identifier(name) in self._taken or is_generated(name):
            name = f"{name}_"
        return name

    def _tensor(self, name: str) -> p.Tensor:
        if name not in self.tensors:
            raise NotPrintedError(f"a hypothesis on {name}, which is no argument")
        return self.tensors[name]

    def _sorted(self, s: e.Statement) -> Any:
        """Return a statement with every term cast to the sort that Coq needs there.

        A comparison is one of integers if both sides are, else one of reals. Raises NotPrintedError for a statement of
        an unknown form.
        """
        match s:
            case e.Compare(relation, e.Matrix(kind, over, body, index), right):
                (rows, columns) = self._over(over)
                if index or right != e.ZERO or rows.size != columns.size:
                    raise NotPrintedError("a hypothesis on a matrix")
                return e.Compare(relation, e.Matrix(kind, (rows, columns), self._real(body)), right)
            case e.Compare(relation, left, right):
                side = self._integer if self._whole(left) and self._whole(right) else self._real
                return e.Compare(relation, side(left), side(right))
            case e.NotIn(term, numbers):
                return e.NotIn(self._real(term), numbers)
            case e.Either() | e.Both() | e.Where():
                return e.mapped(s, self._sorted)
            case e.ForAll(over, holds):
                return e.ForAll(self._over(over), self._sorted(holds))
            case e.Unique(over, body, where):
                return e.Unique(self._over(over), self._real(body), tuple(map(self._sorted, where)))
            case e.Distinct((over,), body):
                return e.Distinct((self._range(over),), self._real(body))
        raise NotPrintedError(f"a hypothesis '{type(s).__name__}'")

    def _over(self, over: Sequence[e.Range]) -> tuple[e.Range, ...]:
        return tuple(map(self._range, over))

    def _range(self, r: e.Range) -> e.Range:
        return e.Range(self._index(r.variable), self._integer(r.size))

    def _whole(self, x: e.Term) -> bool:
        """Return whether the term is an integer by its form."""
        match x:
            case e.Number():
                return x.rational.denominator == 1
            case e.Size() | e.Axis() | e.Index():
                return True
            case e.Array() | e.Entry():
                return self._tensor(x.name).sort == "integer"
            case e.Add(parts) | e.Mul(parts):
                return all(map(self._whole, parts))
        return False

    def _integer(self, x: e.Term) -> Any:
        """Return a term as an integer. Raises NotPrintedError for a term that is none by its form."""
        match x:
            case e.Number() if x.rational.denominator == 1:
                return e.Integer(int(x.rational))
            case e.Size() if x.name in self.sizes:
                return x
            case e.Axis():
                return self._tensor(x.array).shape[x.position]
            case e.Index():
                return e.Index(self._index(x.name))
            case e.Array() | e.Entry() if self._tensor(x.name).sort == "integer":
                return self._entry(x)
            case e.Add() | e.Mul():
                return e.mapped(x, self._integer)
        raise NotPrintedError(f"a hypothesis with the integer '{type(x).__name__}'")

    def _entry(self, x: e.Array | e.Entry) -> e.SortedEntry:
        """Return an entry with its sort; of an array as a whole, the entry at the indices `whole`."""
        tensor = self._tensor(x.name)
        if isinstance(x, e.Array):
            return e.SortedEntry(tensor.name, tuple(map(e.Index, self.whole if tensor.shape else ())), tensor.sort)
        if len(x.index) != len(tensor.shape):
            raise NotPrintedError(f"a hypothesis that reads {x.name} with {len(x.index)} indices")
        return e.SortedEntry(tensor.name, tuple(map(self._integer, x.index)), tensor.sort)

    def _real(self, x: e.Term) -> Any:
        """Return a term as a real number: integers are cast, booleans become 0 or 1.

        Raises NotPrintedError for a term of an unknown form.
        """
        match x:
            case e.Number() | e.Constant("pi"):
                return x
            case e.Size() | e.Axis() | e.Index():
                return e.ToReal(self._integer(x))
            case e.Array() | e.Entry():
                entry = self._entry(x)
                if entry.sort == "boolean":
                    return e.If(entry, e.ONE, e.ZERO)
                return entry if entry.sort == "real" else e.ToReal(entry)
            case e.Add() | e.Mul() | e.Power():
                return e.mapped(x, self._real)
            case e.Apply("floor", (argument,)):
                return e.ToReal(e.Apply("floor", (self._real(argument),)))
            case e.Apply() if x.function in _FUNCTIONS:
                return e.mapped(x, self._real)
            case e.Truth(e.Compare() as condition):
                return e.If(self._sorted(condition), e.ONE, e.ZERO)
            case e.Fold("sum" | "maximum", over, body, ()):
                return e.Fold(x.kind, self._over(over), self._real(body))
        raise NotPrintedError(f"a hypothesis with '{type(x).__name__}'")
