"""Hypotheses of certificates as propositions of Coq."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from certgrad.hypotheses import tree as h
from certgrad.specification import expression as e

from ._errors import NotPrintedError
from ._expressions import applied, number, power, printed
from ._names import identifier, is_generated, of_size

_RELATIONS = {">": ">", ">=": ">=", "<": "<", "<=": "<=", "!=": "<>", "=": "="}
_FUNCTIONS = {
    "log": "ln",
    "abs": "Rabs",
    **{
        n: n for n in "exp sqrt cbrt sin cos asin acos atan sinh cosh tanh asinh acosh atanh erf lgamma digamma".split()
    },
}


class Hypotheses:
    """Prints statements about these tensors. `sizes` are the names of dims."""

    def __init__(self, tensors: Sequence[e.Tensor], sizes: Sequence[str]) -> None:
        self.tensors: Mapping[str, e.Tensor] = {t.name: t for t in tensors}
        self.sizes = frozenset(sizes)
        self._taken = {*map(of_size, sizes), *(identifier(t.name) for t in tensors)}
        self.whole: tuple[str, ...] = ()
        """The indices at which whole arrays are read."""

    def statement(self, statement: h.Statement) -> str:
        """A proposition. Raises NotPrintedError."""
        shapes = {self._tensor(n.name).shape for n in h.walk(statement) if isinstance(n, h.Array)} - {()}
        if not shapes:
            return self._says(statement)
        if len(shapes) > 1:
            raise NotPrintedError("a hypothesis on arrays that broadcast")
        (shape,) = shapes
        self.whole = tuple(f"i{k}" for k in range(len(shape)))
        ranges = "".join(f"(0 <= {i} < {printed(n)})%Z -> " for i, n in zip(self.whole, shape, strict=True))
        return f"forall {' '.join(self.whole)} : Z, {ranges}{self._says(statement)}"

    def _index(self, name: str) -> str:
        """The name of an index, which hides no size and no tensor."""
        while identifier(name) in self._taken or is_generated(name):
            name = f"{name}_"
        return identifier(name)

    def _tensor(self, name: str) -> e.Tensor:
        if name not in self.tensors:
            raise NotPrintedError(f"a hypothesis on {name}, which is no argument")
        return self.tensors[name]

    def _says(self, s: h.Statement) -> str:
        match s:
            case h.Compare():
                return self._compared(s)
            case h.NotIn():
                x = self.real(s.term)
                strict = f"{x} <> IZR (floor {x})"
                return f"({strict})" if s.numbers == "integers" else f"(0 < {x} \\/ {strict})"
            case h.Either():
                return "(" + " \\/ ".join(map(self._says, s.parts)) + ")"
            case h.Both():
                return "(" + " /\\ ".join(map(self._says, s.parts)) + ")"
            case h.Where():
                return "(" + "".join(f"{self._says(g)} -> " for g in s.guards) + f"{self._says(s.then)})"
            case h.ForAll():
                return f"({self._over(s.over)}{self._says(s.holds)})"
            case h.Unique() if len(s.over) == 1 and not s.where:
                (over,) = s.over
                body = f"(fun {self._index(over.variable)} => {self.real(s.body)})"
                return f"(unique_max {self.integer(over.size)} {body})"
            case h.Distinct():
                (over,) = s.over
                return (
                    f"(distinct_lt {self.integer(over.size)} (fun {self._index(over.variable)} => {self.real(s.body)}))"
                )
            case h.Unique():
                return self._unique(s)
        raise NotPrintedError(f"a hypothesis '{type(s).__name__}'")

    def _unique(self, s: h.Unique) -> str:
        """Of the places where all conditions hold, one at which the body is greater than at any other."""
        names = [self._index(r.variable) for r in s.over]
        place = f"'({', '.join(names)})" if len(names) > 1 else names[0]
        ranges = [f"(0 <= {n} < {self.integer(r.size)})%Z" for n, r in zip(names, s.over, strict=True)]
        kept = " /\\ ".join([*ranges, *map(self._says, s.where)])
        return f"(unique_at (fun {place} => {kept}) (fun {place} => {self.real(s.body)}))"

    def _over(self, over: Sequence[h.Range]) -> str:
        names = " ".join(self._index(r.variable) for r in over)
        ranges = "".join(f"(0 <= {self._index(r.variable)} < {self.integer(r.size)})%Z -> " for r in over)
        return f"forall {names} : Z, {ranges}"

    def _compared(self, s: h.Compare) -> str:
        relation = _RELATIONS[s.relation]
        if isinstance(s.left, h.Matrix):
            return self._of_matrix(s, s.left)
        if self._whole(s.left) and self._whole(s.right):
            return f"({self.integer(s.left)} {relation} {self.integer(s.right)})%Z"
        return f"({self.real(s.left)} {relation} {self.real(s.right)})"

    def _of_matrix(self, s: h.Compare, matrix: h.Matrix) -> str:
        """What a matrix is: a determinant that is not 0 is said as that there is an inverse."""
        rows, columns = matrix.over
        if matrix.index or s.right != h.Number("0") or self.integer(rows.size) != self.integer(columns.size):
            raise NotPrintedError("a hypothesis on a matrix")
        words = {("determinant", "!="): "invertible", ("smallest minor", ">"): "positive_definite"}
        if (matrix.kind, s.relation) not in words:
            raise NotPrintedError(f"a hypothesis on the {matrix.kind} of a matrix")
        names = f"{self._index(rows.variable)} {self._index(columns.variable)}"
        word = words[matrix.kind, s.relation]
        return f"({word} {self.integer(rows.size)} (fun {names} => {self.real(matrix.body)}))"

    def _decided(self, s: h.Compare) -> str:
        """A comparison as a boolean."""
        if self._whole(s.left) and self._whole(s.right):
            left, right = self.integer(s.left), self.integer(s.right)
            less, at_most, equal = (f"({{}} {sign} {{}})%Z" for sign in ("<?", "<=?", "=?"))
        else:
            left, right = self.real(s.left), self.real(s.right)
            less, at_most, equal = (f"({word} {{}} {{}})" for word in ("Rltb", "Rleb", "Reqb"))
        match s.relation:
            case "<":
                return less.format(left, right)
            case ">":
                return less.format(right, left)
            case "<=":
                return at_most.format(left, right)
            case ">=":
                return at_most.format(right, left)
            case "=":
                return equal.format(left, right)
        return f"(negb {equal.format(left, right)})"

    def _whole(self, x: h.Term) -> bool:
        """Whether the term is an integer by its form."""
        match x:
            case h.Number():
                return Fraction(x.value).denominator == 1
            case h.Size() | h.Axis() | h.Index():
                return True
            case h.Array() | h.Entry():
                return self._tensor(x.name).sort == "integer"
            case h.Add():
                return all(map(self._whole, x.terms))
            case h.Mul():
                return all(map(self._whole, x.factors))
        return False

    def integer(self, x: h.Term) -> str:
        """A term of type Z."""
        match x:
            case h.Number() if Fraction(x.value).denominator == 1:
                value = int(Fraction(x.value))
                return f"{value}%Z" if value >= 0 else f"(-{-value})%Z"
            case h.Size() if x.name in self.sizes:
                return of_size(x.name)
            case h.Axis():
                return printed(self._tensor(x.array).shape[x.position])
            case h.Index():
                return self._index(x.name)
            case h.Array() | h.Entry() if self._tensor(x.name).sort == "integer":
                return self._entry(x)
            case h.Add():
                return "(" + " + ".join(map(self.integer, x.terms)) + ")%Z"
            case h.Mul():
                return "(" + " * ".join(map(self.integer, x.factors)) + ")%Z"
        raise NotPrintedError(f"a hypothesis with the integer '{type(x).__name__}'")

    def _entry(self, x: h.Array | h.Entry) -> str:
        tensor = self._tensor(x.name)
        if isinstance(x, h.Array):
            return applied(identifier(tensor.name), list(self.whole) if tensor.shape else [])
        if len(x.index) != len(tensor.shape):
            raise NotPrintedError(f"a hypothesis that reads {x.name} with {len(x.index)} indices")
        return applied(identifier(tensor.name), [self.integer(i) for i in x.index])

    def real(self, x: h.Term) -> str:
        """A term of type R."""
        match x:
            case h.Number():
                return number(Fraction(x.value))
            case h.Constant() if x.name == "pi":
                return "PI"
            case h.Size() | h.Axis() | h.Index():
                return f"(IZR {self.integer(x)})"
            case h.Array() | h.Entry():
                sort = self._tensor(x.name).sort
                if sort == "boolean":
                    return f"(if {self._entry(x)} then 1 else 0)"
                return self._entry(x) if sort == "real" else f"(IZR {self._entry(x)})"
            case h.Add():
                return "(" + " + ".join(map(self.real, x.terms)) + ")"
            case h.Mul():
                return "(" + " * ".join(map(self.real, x.factors)) + ")"
            case h.Power():
                return power(self.real(x.base), Fraction(x.exponent))
            case h.Apply() if x.function in _FUNCTIONS:
                return applied(_FUNCTIONS[x.function], [self.real(a) for a in x.arguments])
            case h.Truth() if isinstance(x.statement, h.Compare):
                return f"(if {self._decided(x.statement)} then 1 else 0)"
            case h.Apply() if x.function == "floor":
                return f"(IZR (floor {self.real(x.arguments[0])}))"
            case h.Fold() if not x.where and x.kind in ("sum", "maximum"):
                text = self.real(x.body)
                for over in reversed(x.over):
                    word = "sum_lt" if x.kind == "sum" else "max_lt"
                    text = f"({word} {self.integer(over.size)} (fun {self._index(over.variable)} => {text}))"
                return text
        raise NotPrintedError(f"a hypothesis with '{type(x).__name__}'")
