"""Substitution: terms with other indices, with terms in place of atoms, and with values where an equation holds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from .atoms import Access, Base, Dim, Exp, Fn, IndexNumber, Max, Num, Product, Sum, access
from .budget import budget
from .exponents import Exponent
from .functions import WHOLE_VALUED
from .index import Ix, of_term, of_var
from .index_terms import index_condition, index_equal, index_number
from .polynomials import ONE, ZERO, Accumulator, Atom, Mono, Poly, current, is_foreign, monomial, poly_of, renewed
from .power import UndefinedTermError, exp_of, fn, log_of, power, pred, side
from .predicates import INDEX_PREDICATES, PREDICATES, IxEq, IxPred, Pred, Side
from .session import Memo
from .variables import Var, fresh
from .walk import atoms_of, deep_atoms

Rebuild = Callable[[Any, "Rewriter"], Poly]
REBUILDS: dict[type[Atom], Rebuild] = {}
"""By kind of atom, the function that rebuilds one. Modules of `laws/` register theirs when they are imported."""


def rebuilds(kind: type[Atom]) -> Callable[[Rebuild], Rebuild]:
    """Return a decorator that registers the function by which atoms of the kind are rebuilt."""

    def register(law: Rebuild) -> Rebuild:
        REBUILDS[kind] = law
        return law

    return register


class Rewriter:
    """Rebuilds terms with index variables substituted and atoms replaced.

    `replace(atom)` returns the term that stands for an atom, or None to rebuild it from its rewritten parts.
    Terms of an earlier proof may be passed in; the result is over the atoms of this session.
    """

    labels: ClassVar[bool] = False
    """Whether the result is only a label, so that nothing need be simplified."""

    def __init__(
        self, indices: Mapping[Var, Ix] | None = None, replace: Callable[[Atom], Poly | None] | None = None
    ) -> None:
        self.indices = dict(indices or {})
        self.replace = replace
        self.seen: dict[Atom, Poly] = _remembered(self) if replace is None else {}
        self.names = _names(self.indices) if replace is None else None
        self.loops: dict[str, Any] = {}
        """The rewritten loops without free variables, by key; shared with the rewriters inside binders."""

    def __call__(self, poly: Poly) -> Poly:
        """Return the rewritten term: itself, over this session's atoms, where no variable of it is substituted."""
        if self.replace is None and not (poly.free & self.indices.keys()):
            return current(poly)
        if self.replace is not None and poly.piecewise and poly.structured:
            poly = self._selected(poly)
        total = Accumulator()
        for mono, c in poly.items():
            if self.replace is None and self.keeps(mono):
                budget.spend(1)
                total.add(mono, c)
            else:
                total.add_poly(self.mono(mono), c)
        return total.poly()

    def _selected(self, poly: Poly) -> Poly:
        """Return the term without its conditions on indices that become 1, and without summands of which one becomes 0.

        This is done before the other factors are rewritten, so that summands can cancel: f in ([c] − 1)·f need not have
        a value where the condition c holds.
        """
        total, changed = Accumulator(), False
        for mono, c in poly.items():
            conditions = (a for a, _ in mono if type(a) in INDEX_PREDICATES)
            numbers = {a: value for a in conditions if (value := self._number(a)) is not None}
            changed = changed or bool(numbers)
            if ZERO not in numbers.values():
                total.add(tuple(factor for factor in mono if factor[0] not in numbers), c)
        return total.poly() if changed else poly

    def _number(self, condition: Atom) -> Poly | None:
        """Return 0 or 1 where the condition becomes that number; else None."""
        rewritten = self.atom(condition)
        return rewritten if rewritten in (ONE, ZERO) else None

    def keeps(self, mono: Mono) -> bool:
        """Return whether the monomial is of this session and no variable of it is substituted: it stays as it is."""
        return not is_foreign(mono) and all(self.indices.keys().isdisjoint(a.free) for a, _ in mono)

    def mono(self, mono: Mono) -> Poly:
        """Return the rewritten monomial: 0 as soon as one factor becomes 0, without rewriting the others."""
        budget.spend(1)
        if is_foreign(mono):
            mono = renewed(mono)
        plain: dict[Atom, Exponent] = {}
        result = ONE
        for a, e in _predicates_first(mono) if self.replace is not None else mono:
            new = self.atom(a)
            if new is not None and new.is_zero and e > 0:
                return ZERO  # a lane that is not selected: its other factors need not have a value
            if new is None:
                plain[a] = plain.get(a, 0) + e
                continue
            single = new.atom()
            if single is not None and not (e < 0 and type(single) in PREDICATES):
                plain[single] = plain.get(single, 0) + e
            else:
                result = result * power(new, e)
        return result * monomial(plain) if plain else result

    def atom(self, a: Atom) -> Poly | None:
        """Return the rewritten atom as a term; None where no variable of it is substituted."""
        if self.replace is None and not (a.free & self.indices.keys()):
            return None
        rewritten = self.seen.get(a)
        if rewritten is None:
            rewritten = self.replace(a) if self.replace is not None else None
            if rewritten is None:
                rewritten = self.rebuild(a)
            elif self.indices:
                rewritten = Rewriter(self.indices)(rewritten)
            self.seen[a] = rewritten
        return rewritten

    def rebuild(self, a: Atom) -> Poly:
        """Return the atom made anew from its rewritten parts, by the laws of its kind."""
        return REBUILDS[type(a)](a, self)

    def inner(self, names: Mapping[Var, Ix], ranges: Mapping[Var, Poly]) -> Rewriter:
        """Return the rewriter for the inside of a binder, whose variables get these names and have these ranges.

        The ranges are for subclasses.
        """
        rewriter = Rewriter({**self.indices, **names}, self.replace)
        rewriter.loops = self.loops
        return rewriter

    def of_closed(self) -> Rewriter:
        """Return the rewriter for loops without free variables: this one; subclasses may return another."""
        return self


_moved: Memo[tuple, dict[Atom, Poly]] = Memo()
"""The rewritten atoms of substitutions that only move the axes of tensors, by the substitution."""


def _remembered(rewriter: Rewriter) -> dict[Atom, Poly]:
    """Return the memo of atoms that were rewritten by this substitution.

    It is an empty table where other variables than axes are substituted, or fresh variables are put in: such a
    substitution comes only once.
    """
    indices = rewriter.indices
    if not indices or any(v[0] != "t" for v in indices) or any(v[0] == "f" for ix in indices.values() for v in ix.free):
        return {}
    key = (type(rewriter), *((v, indices[v]) for v in sorted(indices)))
    return _moved.table.setdefault(key, {})


def _names(indices: Mapping[Var, Ix]) -> set[Var] | None:
    """Return the new variables, if the substitution only renames variables and no two get the same name; else None."""
    names = {ix.variable() for ix in indices.values()}
    return None if None in names or len(names) < len(indices) else names  # type: ignore[return-value]


def with_names(names: Mapping[Var, Var]) -> Rewriter:
    """Return the rewriter that renames variables.

    A binder is opened by this rewriter before atoms inside are replaced: a replacement may itself bind variables of the
    same name.
    """
    return Rewriter({v: of_var(w) for v, w in names.items()})


def ranges_of(a: Sum | Max | Product, names: Mapping[Var, Var]) -> dict[Var, Poly]:
    """Return the ranges of a binder's variables, by their new names."""
    return {names[v]: r for v, r in zip(a.vars, a.ranges, strict=True)}


def replaced(poly: Poly, replace: Callable[[Atom], Poly | None]) -> Poly:
    """Return the term with atoms replaced (see `Rewriter`); the same object where `replace` is None for every atom."""
    return Rewriter(replace=replace)(poly) if any(replace(a) is not None for a in deep_atoms(poly)) else poly


_LANES = dict.fromkeys(PREDICATES, 1) | dict.fromkeys(INDEX_PREDICATES, 0)
"""In which order factors are rewritten: conditions on indices, which hold no terms, then other predicates, then the
rest. So a lane that is not selected is seen before its factors are rewritten."""


def without_stops(poly: Poly) -> Poly:
    """Return the term without the markers of `stop_gradient`: their arguments stand in their places."""
    return replaced(poly, lambda a: without_stops(a.args[0]) if isinstance(a, Fn) and a.name == "stop" else None)


def _predicates_first(mono: Mono) -> Mono:
    """Return the factors in the order in which they are rewritten (see `_LANES`)."""
    if any(type(a) in PREDICATES for a, _ in mono):
        return tuple(sorted(mono, key=lambda factor: _LANES.get(type(factor[0]), 2)))
    return mono


def substitute(poly: Poly, mapping: Mapping[Var, Ix]) -> Poly:
    """Return the term with index expressions in place of variables."""
    return Rewriter(mapping)(poly)


def variables_as_parameters(polys: Sequence[Poly], free: Collection[Var]) -> tuple[list[Poly], list[Var]]:
    """Return the terms with arguments (p, k, 0) in place of the `free` variables, and these variables in order of k.

    The order does not depend on the names of the variables, ties aside.
    """

    def mark(v: Var) -> tuple[list[str], Var]:
        names = {w: of_var(("c", 0, 1 if w == v else 0)) for w in free}
        return [Rewriter(names)(p).key for p in polys], v

    order = sorted(free, key=mark)
    place = Rewriter({v: of_var(("p", k, 0)) for k, v in enumerate(order)})
    return [place(p) for p in polys], order


@rebuilds(Side)
def _side(a: Side, rewrite: Rewriter) -> Poly:
    inside = rewrite(a.poly)
    if inside.is_zero:
        raise UndefinedTermError("which side of a boundary is meant was not decided")
    return side(inside)


@rebuilds(Fn)
def _fn(a: Fn, rewrite: Rewriter) -> Poly:
    args = [rewrite(p) for p in a.args]
    return log_of(args[0]) if a.name == "log" else fn(a.name, *args)


REBUILDS |= {
    Dim: lambda a, rewrite: poly_of(a),
    Num: lambda a, rewrite: poly_of(a),
    Access: lambda a, rewrite: access(a.tensor, tuple(ix.subst(rewrite.indices) for ix in a.index)),
    Exp: lambda a, rewrite: exp_of(rewrite.mono(a.mono)),
    Base: lambda a, rewrite: rewrite(a.poly),
    Pred: lambda a, rewrite: pred(rewrite(a.poly)),
    IxPred: lambda a, rewrite: index_condition(a.ix.subst(rewrite.indices)),
    IxEq: lambda a, rewrite: index_equal(a.ix.subst(rewrite.indices)),
    IndexNumber: lambda a, rewrite: index_number(of_term(a.var).subst(rewrite.indices)),
}


def rebuilt_inside(a: Max | Product, rewrite: Rewriter) -> tuple[Poly, list[tuple[Var, Poly]], Poly]:
    """Return a binder's body, fresh variables with their ranges, and its condition, all rewritten."""
    names = {v: fresh() for v in a.vars}
    inner = rewrite.inner({v: of_var(w) for v, w in names.items()}, ranges_of(a, names))
    dummies = [(names[v], r) for v, r in zip(a.vars, a.ranges, strict=True)]
    body, where = (p if rewrite.replace is None else with_names(names)(p) for p in (a.body, a.where))
    return inner(body), dummies, inner(where)


# terms on the set where an equation holds


def eliminated(poly: Poly, equation: Poly) -> Poly:
    """Return the term on the set where `equation` = 0.

    If the term is a multiple of the equation, it is 0. Else an entry that the equation determines is replaced by its
    value. If it determines none, a power of an entry is replaced, or one of the equation's products. The value may
    contain the entry inside a whole-valued function, as in x = ½ + 2·⌊x/2⌋.
    """
    if len(poly) == len(equation) and not equation.is_zero:
        mono, c = next(iter(equation.items()))
        if poly == equation.scale(poly.coefficient(mono) / c):
            return ZERO
    solved = solve(equation)
    if solved is not None:
        atom, value = solved
        return replaced(poly, lambda a: value if a is atom else None)
    product = next(_products(equation), None)
    return poly if product is None else _Product(*product)(poly)


class _Product(Rewriter):
    """Replaces a product of powers by a value. For a single power xᵏ: x^(k·q + r) becomes xʳ·value^q."""

    def __init__(self, product: Mono, value: Poly) -> None:
        super().__init__(replace=lambda a: None)
        self.product, self.value = product, value

    def mono(self, mono: Mono) -> Poly:
        """Return the monomial with the product replaced as often as it divides the monomial."""
        powers = dict(mono)
        exponents = [(powers.get(a, 0), k) for a, k in self.product]
        times = min(e // k if isinstance(e, int) else 0 for e, k in exponents)
        if times < 1:
            return super().mono(mono)
        powers |= {a: powers[a] - k * times for a, k in self.product}
        return super().mono(tuple((a, n) for a, n in powers.items() if n)) * power(self.value, times)


def solve(equation: Poly) -> tuple[Atom, Poly] | None:
    """Return an entry a that the equation c·a + rest = 0 determines, with its value −rest/c; None if there is none.

    The value does not contain a, and c is not 0 where the equation holds: it is never 0, or rest is a number other than
    0, so that c·a = −rest ≠ 0.
    """
    solutions = (
        (a, value)
        for a in _entries(equation)
        if (value := _determined(equation, a, 1)) is not None and a not in deep_atoms(value)
    )
    return next(solutions, None)


def _products(equation: Poly) -> Iterator[tuple[Mono, Poly]]:
    """Yield powers of entries that the equation determines, with their values; then products of the equation.

    The value of a power aᵏ contains a only inside whole-valued functions. A product is a monomial m of c·m + rest = 0,
    with the value −rest/c.
    """
    for a in _entries(equation):
        k = max((e for mono in equation for b, e in mono if b is a and isinstance(e, int)), default=0)
        value = _determined(equation, a, k) if k > 0 else None
        if value is not None and not _stands_in(value, a):
            yield ((a, k),), value
    for mono, c in equation.sorted_items():
        if mono and all(isinstance(e, int) and e > 0 for _, e in mono):
            yield mono, (Poly({mono: c}) - equation).scale(1 / c)


def _entries(equation: Poly) -> list[Access]:
    """Return the entries in the equation, those that depend on an index first."""
    return sorted((a for a in atoms_of(equation) if isinstance(a, Access)), key=lambda a: (len(a.free) == 0, a.key))


def _determined(equation: Poly, a: Atom, k: int) -> Poly | None:
    """Return the value −rest/c of aᵏ by the equation c·aᵏ + rest = 0; None where c is no product, or may be 0.

    The value may contain a.
    """
    coefficient, rest = ZERO, ZERO
    for mono, c in equation.items():
        powers = dict(mono)
        if powers.pop(a, 0) == k:
            coefficient = coefficient + Poly({tuple(powers.items()): c})
        else:
            rest = rest + Poly({mono: c})
    single = coefficient.single()
    if single is None or a in deep_atoms(coefficient):
        return None
    if not (rest.constant() or all(b.positive or e < 0 for b, e in single[0])):
        return None
    return -(rest * power(coefficient, -1))


def _stands_in(poly: Poly, a: Atom) -> bool:
    """Return whether the entry occurs in the term outside of whole-valued functions."""
    return any(
        a in deep_atoms(poly_of(b)) for b in atoms_of(poly) if not (isinstance(b, Fn) and b.name in WHOLE_VALUED)
    )
