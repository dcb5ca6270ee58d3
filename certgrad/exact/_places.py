"""Programs in which each entry is read at indices of its own axes: a read elsewhere becomes a sum along the axis.

x[e] is Σ_p [p = e]·x[p], and Σ_{k < r} f[e + k] is Σ_p [e ≤ p < e + r]·f[p]. So a read, too, names its index, by
the weight that the sum has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from certgrad.language import tree as t
from certgrad.language.sorts import sort
from certgrad.language.substitute import substitute
from certgrad.specification.program import Defined, Program, Table, Tensor

from ._index import ONE, Form, NoTheoremError, Scope, node, plus

PART = "a sum over a part of an axis"
MOST_WAYS = 64
"""The most combinations of branches that the choices in an integer may have."""


class Places:
    """Rewrites a program with each entry read at indices of its own axes; raises NoTheoremError for a loop."""

    def __init__(self, program: Program) -> None:
        self.program = program
        for d in program.definitions:
            if not isinstance(d, Defined | Table):
                raise NoTheoremError(f"it has a {type(d).__name__.lower()}")
        self.made = {d.tensor.name: d for d in program.definitions if isinstance(d, Defined)}
        tensors = [d.tensor for d in program.definitions if isinstance(d, Defined | Table)]
        self.shapes = {tensor.name: self._shape(tensor) for tensor in (*program.inputs, *tensors)}
        self._new = 0

    def changed(self) -> Program:
        """Return the program with each entry read at indices of its own axes. Raises NoTheoremError."""

        def shaped(tensor: Tensor) -> Tensor:
            return replace(tensor, shape=self.shapes.get(tensor.name, tensor.shape))

        definitions = []
        for d in self.program.definitions:
            if isinstance(d, Defined):
                scope = dict(zip(d.variables, self.shapes[d.tensor.name], strict=True))
                d = replace(d, tensor=shaped(d.tensor), entry=self.read(d.entry, scope))
            definitions.append(d)
        inputs, outputs = (tuple(map(shaped, of)) for of in (self.program.inputs, self.program.outputs))
        return replace(self.program, inputs=inputs, outputs=outputs, definitions=tuple(definitions))

    # --- integers

    def forms(self, x: t.Node) -> list[Form]:
        """Return an integer as linear combinations, one for each choice of branches in it. Raises NoTheoremError."""
        match x:
            case t.Integer(value=n):
                return [{ONE: n} if n else {}]
            case t.Index() | t.Size():
                return [{x: 1}]
            case t.Add(terms=parts):
                return reduce(_sums, map(self.forms, parts), [{}])
            case t.Subtract():
                return _sums(self.forms(x.left), [plus({}, q, -1) for q in self.forms(x.right)])
            case t.Negate(operand=u):
                return [plus({}, form, -1) for form in self.forms(u)]
            case t.Mul(factors=factors):
                return reduce(_products, map(self.forms, factors), [{ONE: 1}])
            case t.Apply(function="quotient", arguments=(u, v)) if self.forms(v) == [{ONE: 1}]:
                return self.forms(u)
            case t.Apply(function="remainder", arguments=(_, v)) if self.forms(v) == [{ONE: 1}]:
                return [{}]
            case t.If():
                return [*self.forms(x.then), *self.forms(x.otherwise)]
            case t.SortedEntry(sort="integer"):
                definition = self.meant(x)
                return [{x: 1}] if definition is x else self.forms(definition)
        raise NoTheoremError("there is arithmetic on indices")

    def conditions(self, x: t.Node) -> Iterator[t.Node]:
        """Yield the conditions of the choices in an integer."""
        definition = self.meant(x)
        parts = [*t.children(definition)] if not isinstance(definition, t.Entry) else []
        if isinstance(definition, t.If):
            yield parts.pop(0)
        for part in parts:
            yield from self.conditions(part)

    def meant(self, x: t.Node) -> t.Node:
        """Return an entry's definition at its indices, through further definitions; return other nodes as they are."""
        while isinstance(x, t.Entry) and x.name in self.made:
            x = substitute(self.made[x.name].entry, dict(zip(self.made[x.name].variables, x.index, strict=True)))
        return x

    def _form(self, x: t.Node) -> Form | None:
        """Return the form of an integer; None if its branches have different forms, or it has none."""
        try:
            forms = self.forms(x)
        except NoTheoremError:
            return None
        return forms[0] if all(form == forms[0] for form in forms) else None

    def _simple(self, x: t.Node) -> t.Node:
        form = self._form(x)
        return x if form is None else node(form)

    def _shape(self, tensor: Tensor) -> tuple[t.Node, ...]:
        return tuple(map(self._simple, tensor.shape))

    # --- expressions

    def read(self, x: t.Node, scope: Scope) -> t.Node:
        """Return the expression with each entry read at indices of its own axes. Raises NoTheoremError."""
        match x:
            case t.Fold() | t.Minimum():
                return self._fold(x, scope)
            case t.SortedEntry():
                return self._entry(x, scope)
            case t.ToReal(operand=operand):
                return self._number(operand, scope)
        if isinstance(x, t.ForAll):
            return self._for_all(x, scope)
        if isinstance(x, t.BINDERS):
            raise NoTheoremError(f"{type(x).__name__.lower()} is not followed")
        return t.mapped(x, lambda part: self.read(part, scope))

    def _variable(self) -> str:
        self._new += 1
        return f"p{self._new}"

    def _entry(self, x: t.SortedEntry, scope: Scope) -> t.Node:
        """Return x[e] as Σ_p [p = e]·x[p] for each place e that is no index of its own axis.

        Integers and booleans are read by their definition instead. Raises NoTheoremError where they have none.
        """
        over: list[t.Range] = []
        where: list[t.Node] = []
        index: list[t.Node] = []
        for place, length in zip(map(self._simple, x.index), self.shapes[x.name], strict=True):
            is_own_index = isinstance(place, t.Index) and scope[place.name] == length
            if is_own_index or (isinstance(length, t.Integer) and not self._is_open(place, scope)):
                index.append(place)
                continue
            if x.sort != "real" and x.name in self.made:
                return self.read(self.meant(x), scope)
            if x.sort != "real":
                raise NoTheoremError("an integer is read at an index that is computed")
            over.append(t.Range(self._variable(), length))
            index.append(t.Index(over[-1].variable))
            where.append(t.Compare("=", index[-1], place))
        entry = t.SortedEntry(x.name, tuple(index), x.sort)
        return t.Fold("sum", tuple(over), entry, tuple(where)) if over else entry

    def _is_open(self, place: t.Node, scope: Scope) -> bool:
        """Return whether a place depends on a size, or on an index of an axis whose length does."""
        atoms = {atom for form in self.forms(place) for atom in form}
        return any(isinstance(scope[atom.name] if isinstance(atom, t.Index) else atom, t.Size | t.Add | t.Mul)
                   for atom in atoms)  # fmt: skip

    def _number(self, x: t.Node, scope: Scope) -> t.Node:
        """Return an integer as a real number, in which an index is the number of indices before it."""
        if sort(definition := self.meant(x)) == "integer":
            x = definition
        match x:
            case t.Fold(kind="sum"):
                return self.read(t.Fold(x.kind, x.over, t.ToReal(x.body), x.where), scope)
            case t.If():
                then, otherwise = (self._number(part, scope) for part in (x.then, x.otherwise))
                return t.If(self.read(x.condition, scope), then, otherwise)
        form = self._form(x)
        if form is None or any(isinstance(atom, t.SortedEntry) for atom in form):
            return t.ToReal(self.read(x, scope))
        parts = [t.Number(str(n)) if atom == ONE else self._times(n, self._counted(atom, scope))
                 for atom, n in form.items()]  # fmt: skip
        return t.Number("0") if not parts else parts[0] if len(parts) == 1 else t.Add(tuple(parts))

    def _times(self, n: int, x: t.Node) -> t.Node:
        return x if n == 1 else t.Mul((t.Number(str(n)), x))

    def _counted(self, atom: t.Node, scope: Scope) -> t.Node:
        """Return an index i of an open axis as Σ_p [p < i], and any other atom as a real number."""
        if not isinstance(atom, t.Index) or isinstance(scope[atom.name], t.Integer):
            return t.ToReal(atom)
        prior = t.Index(self._variable())
        return t.Fold("sum", (t.Range(prior.name, scope[atom.name]),), t.Number("1"), (t.Compare("<", prior, atom),))

    def _fold(self, x: t.Fold | t.Minimum, scope: Scope) -> t.Node:
        """Return a sum or an extremum whose body and conditions are read at indices of their own axes.

        In a sum, inner sums are joined to it, an index that a condition equates with another one is replaced by that,
        and a sum over a part of an axis, Σ_{k < r} f[e + k], becomes Σ_p [e ≤ p < e + r]·f[p] along the whole axis.
        Raises NoTheoremError where a range stays that is no whole axis.
        """
        lengths = {r.variable: self._simple(r.size) for r in x.over}
        body, where = x.body, [*x.where]
        inner = {**scope, **lengths}
        if isinstance(x, t.Fold) and x.kind == "sum":
            while isinstance(body, t.Fold) and body.kind == "sum":
                lengths |= {r.variable: self._simple(r.size) for r in body.over}
                where, body = [*where, *body.where], body.body
            inner = {**scope, **lengths}
            while (equal := self._equal(lengths, inner, body, where)) is not None:
                variable, equal_index, body, where = equal
                body, *where = (substitute(part, {variable: t.Index(equal_index)}) for part in (body, *where))
                del lengths[variable]
            for variable in [v for v, length in lengths.items() if not _is_length(length)]:
                length, reads = self._form(lengths.pop(variable)), [*self._reads(body, variable)]
                if length is None or not reads:
                    raise NoTheoremError(PART)
                form, axis = reads[0]
                start, place = plus(form, {t.Index(variable): 1}, -1), t.Index(self._variable())
                relative_index = {variable: t.Subtract(place, node(start))}
                ends = t.Compare(">=", place, node(start)), t.Compare("<", place, node(plus(start, length)))
                where = [*(substitute(part, relative_index) for part in where), *ends]
                body, lengths[place.name] = substitute(body, relative_index), axis
            inner = {**scope, **lengths}
        if not all(map(_is_length, lengths.values())):
            raise NoTheoremError(PART)
        over = tuple(t.Range(variable, length) for variable, length in lengths.items())
        conditions = tuple(self.read(part, inner) for part in where)
        body = self.read(body, inner)
        if not over:  # it was one entry
            return t.If(t.Both(conditions), body, t.Number("0")) if conditions else body
        return type(x)(x.kind, over, body, conditions) if isinstance(x, t.Fold) else t.Minimum(over, body, conditions)

    def _for_all(self, x: t.ForAll, scope: Scope) -> t.Node:
        over = tuple(t.Range(r.variable, self._simple(r.size)) for r in x.over)
        if not all(_is_length(r.size) for r in over):
            raise NoTheoremError(PART)
        return t.ForAll(over, self.read(x.holds, {**scope, **{r.variable: r.size for r in over}}))

    def _equal(
        self, lengths: Mapping[str, t.Node], inner: Scope, body: t.Node, where: Sequence[t.Node]
    ) -> tuple[str, str, t.Node, list[t.Node]] | None:
        """Return an index that is summed over, one that a condition equates with it, and the body and conditions left.

        Return None if no condition equates such indices.
        """
        for part in where:
            if pair := self._pair(part, lengths, inner):
                return *pair, body, [condition for condition in where if condition is not part]
        if isinstance(body, t.If) and body.otherwise == t.Number("0"):
            parts = [*_conjuncts(body.condition)]
            for part in parts:
                if pair := self._pair(part, lengths, inner):
                    rest = tuple(condition for condition in parts if condition is not part)
                    return *pair, t.If(t.Both(rest), body.then, body.otherwise) if rest else body.then, [*where]
        return None

    def _pair(self, x: t.Node, lengths: Mapping[str, t.Node], inner: Scope) -> tuple[str, str] | None:
        """Return the indices that a condition equates, the first one summed over; None for any other condition."""
        if not isinstance(x, t.Compare) or x.relation != "=" or sort(x.left) != "integer":
            return None
        form = self._form(t.Subtract(x.left, x.right))
        if form is None or sorted(form.values()) != [-1, 1] or not all(isinstance(atom, t.Index) for atom in form):
            return None
        first, second = (atom.name for atom in form if isinstance(atom, t.Index))
        if inner[first] != inner[second]:
            return None
        return (first, second) if first in lengths else (second, first) if second in lengths else None

    def _reads(self, body: t.Node, variable: str) -> Iterable[tuple[Form, t.Node]]:
        """Yield the places of entries that are a variable plus an offset, each with the length of its axis.

        Entries inside of a choice are left out, as they may be read nowhere.
        """
        if isinstance(body, t.SortedEntry) and body.sort == "real":
            for place, length in zip(body.index, self.shapes[body.name], strict=True):
                form = self._form(place)
                if form and form.get(t.Index(variable)) == 1 and not isinstance(length, t.Integer):
                    yield form, length
        elif isinstance(body, t.Add | t.Mul | t.Subtract | t.Negate | t.Divide | t.Power | t.Apply):
            for part in t.children(body):
                yield from self._reads(part, variable)


def _sums(one: list[Form], other: list[Form]) -> list[Form]:
    """Return the sum of each form of one integer and each of the other. Raises NoTheoremError for too many."""
    if len(one) * len(other) > MOST_WAYS:
        raise NoTheoremError("there are too many ways to choose an index")
    return [plus(p, q) for p in one for q in other]


def _products(one: list[Form], other: list[Form]) -> list[Form]:
    """Return the product of each form of one integer and each of the other.

    Raises NoTheoremError for a product in which neither factor is a number.
    """
    out = []
    for p in one:
        for q in other:
            number, rest = (p, q) if p.keys() <= {ONE} else (q, p)
            if not number.keys() <= {ONE}:
                raise NoTheoremError("there is arithmetic on indices")
            out.append(plus({}, rest, number.get(ONE, 0)))
    return out


def _conjuncts(x: t.Node) -> Iterable[t.Node]:
    """Yield the statements that a conjunction is made of, through nested ones."""
    for part in x.parts if isinstance(x, t.Both) else (x,):
        if isinstance(part, t.Both):
            yield from _conjuncts(part)
        else:
            yield part


def _is_length(x: t.Node) -> bool:
    """Return whether an axis' length is made of sizes alone, without indices and entries."""
    return not any(isinstance(n, t.Index | t.Entry) for n in t.walk(x))
