"""Terms as sums of pieces: products of functions of integers over index sets, with a coefficient each."""

from __future__ import annotations

from dataclasses import dataclass, field

from flint import fmpq

from certgrad.obligations.assume.isl import Knowledge, bounds_of_count, conditions_on
from certgrad.obligations.terms.atoms import Access, Base, Dim, Exp, Fn, IndexNumber, Max, Product, Sum
from certgrad.obligations.terms.budget import budget
from certgrad.obligations.terms.determined import Matrix, Rec
from certgrad.obligations.terms.exponents import Exponent
from certgrad.obligations.terms.index import IntegerAtom, Ix, bound_key, of_const, of_term, of_var, whole_number
from certgrad.obligations.terms.integers import PIVOTED, RANK, Chosen, Entry, Quotient, Remainder, Rounded, RowMajor
from certgrad.obligations.terms.polynomials import ONE, Atom, Mono, Poly
from certgrad.obligations.terms.predicates import IxEq, IxPred, Pred, Side
from certgrad.obligations.terms.session import Memo
from certgrad.obligations.terms.sums import open_sum
from certgrad.obligations.terms.variables import Var, fresh

MAX_PIECES = 400
"""The most pieces that a sum is split into; beyond, it is not read as a sum over index sets."""
MAX_ATOMS = 5000
"""The most atoms of one factor that is written out; beyond, it is not read. A part counts as often as it occurs."""


class UnreadableError(Exception):
    """The term has a form that is not read as sums over index sets."""


@dataclass
class Factor:
    """A power of a function of integers: the function's text with a blank for each argument, and the arguments."""

    text: str
    exponent: Exponent
    arguments: tuple[Ix, ...]


@dataclass
class Piece:
    """One monomial: a coefficient, the variables it sums over, the conditions on them, and its factors.

    `equal` and `at_least` have index expressions that must be 0, or ≥ 0. `sizes` and `numbers` are factors too: sizes
    and index expressions, each with its exponent. A variable without a range in `dummies` is any integer.
    """

    coefficient: fmpq
    sizes: list[tuple[Mono, int]] = field(default_factory=list)
    dummies: dict[Var, Poly | None] = field(default_factory=dict)
    equal: list[Ix] = field(default_factory=list)
    at_least: list[Ix] = field(default_factory=list)
    numbers: list[tuple[Ix, int]] = field(default_factory=list)
    factors: list[Factor] = field(default_factory=list)

    @property
    def kind(self) -> tuple:
        return tuple((f.text, str(f.exponent), len(f.arguments)) for f in self.factors)

    def prepare(self, known_of: Knowledge) -> None:
        """Replace the integers that isl cannot express by variables, and sort the factors."""
        self._name_integers(known_of)
        self.factors.sort(key=lambda f: (f.text, str(f.exponent)))

    def _name_integers(self, known_of: Knowledge) -> None:
        """Replace integer atoms that isl cannot express by variables; a factor for each ties it to its arguments."""
        names: dict[IntegerAtom, Var] = {}
        conditions: list[Ix] = []

        def without_integers(ix: Ix) -> Ix:
            """Return the index expression with variables in the place of its integer atoms."""
            if not ix.atoms:
                return ix
            out = Ix(tuple((v, c) for v, c in ix.terms if not isinstance(v, IntegerAtom)), ix.const)
            for v, c in ix.terms:
                if isinstance(v, IntegerAtom):
                    out = out.plus(variable_of(v).scaled(c))
            return out

        def variable_of(a: IntegerAtom) -> Ix:
            """Return the variable of an integer atom, which is made at its first use with what is known of it.

            A quotient by a number stays, as isl has these.
            """
            if a in names:
                return of_var(names[a])
            inner = tuple(without_integers(ix) for ix in a.parts())
            if isinstance(a, Quotient) and whole_number(a.divisor) is not None:
                return a.rebuilt(inner)
            v = names[a] = fresh()
            self.dummies[v] = None
            self.factors.append(_defining(a, inner, of_var(v)))
            if isinstance(a, Chosen):
                conditions.extend((of_var(v), of_var(v).scaled(-1).shifted(a.room - ONE), *conditions_on(a)))
            if isinstance(a, (Entry, Rounded)):
                conditions.extend(bounds_of_count(a))
                conditions.extend(
                    ix for ((ix, relation), *alternatives) in known_of(a) if relation == ">=" and not alternatives
                )
            return of_var(v)

        self.equal = [without_integers(ix) for ix in self.equal]
        self.at_least = [without_integers(ix) for ix in self.at_least]
        self.numbers = [(without_integers(ix), e) for ix, e in self.numbers]
        for f in list(self.factors):
            if any(ix.atoms for ix in f.arguments):
                f.arguments = tuple(without_integers(ix) for ix in f.arguments)
        while conditions:  # which may have integers of their own, and bring in further conditions
            self.at_least.append(without_integers(conditions.pop()))


def _defining(a: IntegerAtom, arguments: tuple[Ix, ...], value: Ix) -> Factor:
    """Return the condition that the integer has the value; for a permutation, σ⁻¹(i) = t is written as σ(t) = i."""
    if isinstance(a, Chosen) and a.comparison.kind in (RANK, PIVOTED):
        index, *other_arguments = arguments
        return Factor(f"{a.comparison.inverse().key}.{a.component}", 1, (value, *other_arguments, index))
    return Factor(_function_text(a), 1, (*arguments, value))


def _function_text(a: IntegerAtom) -> str:
    if isinstance(a, Entry):
        return f"integer {a.tensor}"
    if isinstance(a, RowMajor):
        return f"row-major {a.stride.key}"
    if isinstance(a, Chosen):
        return f"{a.comparison.key}.{a.component}"
    if isinstance(a, Rounded):
        return f"rounded {a.body.key}"
    assert isinstance(a, (Quotient, Remainder))
    return f"{type(a).__name__} {a.divisor.key}"


# --- from terms to pieces ------------------------------------------------------------------------------------------


def pieces(poly: Poly) -> list[Piece]:
    out = []
    for mono, c in poly.sorted_items():
        for coefficient, factors, dummies in _opened(mono):
            piece = Piece(c * coefficient, dummies=dict(dummies))
            for a, e in factors:
                _add_factor(piece, a, e)
            out.append(piece)
            if len(out) > MAX_PIECES:
                raise UnreadableError("too many terms")
    return out


def _opened(mono: Mono) -> list[tuple[fmpq, list[tuple[Atom, Exponent]], dict[Var, Poly]]]:
    """Return the monomial with its sums opened, as summands: the coefficient, factors and sum variables of each.

    Raises UnreadableError where there are more than `MAX_PIECES`.
    """
    parts: list[tuple[fmpq, list[tuple[Atom, Exponent]], dict[Var, Poly]]] = [(fmpq(1), [], {})]
    for a, e in mono:
        if not (isinstance(a, Sum) and isinstance(e, int) and e > 0):
            for _, factors, _ in parts:
                factors.append((a, e))
            continue
        for _ in range(e):
            variables, body = open_sum(a)
            products = []
            for m, c in body.sorted_items():
                for c2, inner, inner_dummies in _opened(m):
                    for c1, factors, dummies in parts:
                        products.append(
                            (c1 * c * c2, [*factors, *inner], {**dummies, **dict(variables), **inner_dummies})
                        )
            parts = products
            if len(parts) > MAX_PIECES:
                raise UnreadableError("too many terms")
    return parts


def _add_factor(piece: Piece, a: Atom, e: Exponent) -> None:
    if isinstance(a, IxPred):
        piece.at_least.append(a.ix)
    elif isinstance(a, IxEq):
        piece.equal.append(a.ix)
    elif isinstance(a, Dim) and isinstance(e, int) and e > 0:
        piece.sizes.append((((a, 1),), e))
    elif isinstance(a, IndexNumber) and isinstance(e, int) and e > 0:
        piece.numbers.append((of_term(a.var), e))
    else:
        if isinstance(a, Matrix) and a.triangle is not None and e > 0:
            piece.at_least.append(a.triangle[0].minus(a.triangle[1]))  # elsewhere the entry is 0
        text, arguments = _with_blanks(a)
        times = e if isinstance(e, int) and e > 1 else 1
        if times > 4:
            raise UnreadableError("a high power")
        power: Exponent = 1 if times > 1 else e
        piece.factors += [Factor(text, power, arguments) for _ in range(times)]


_seen: Memo[Atom, tuple[str, tuple[Ix, ...], int]] = Memo()


def _with_blanks(a: Atom) -> tuple[str, tuple[Ix, ...]]:
    """Return an atom's text with blanks for indices, and these indices.

    A factor of many pieces is written once, but spends budget each time: so the steps that a proof takes do not depend
    on earlier proofs.
    """
    written = _seen.table.get(a)
    if written is None:
        blanks = _Blanks()
        text = blanks.atom(a)
        written = _seen.table[a] = text, tuple(blanks.arguments), blanks.written
    else:
        budget.spend(written[2])
    return written[:2]


_texts: Memo[Mono, str] = Memo()


def _text(mono: Mono) -> str:
    """Return a monomial's text with blanks for indices."""
    text = _texts.table.get(mono)
    if text is None:
        blanks = _Blanks()
        text = _texts.table[mono] = blanks.atom(mono[0][0]) if len(mono) == 1 and mono[0][1] == 1 else blanks.mono(mono)
    return text


class _Blanks:
    """Writes an atom as text, with a blank for each part of an index without variables that are bound in the atom."""

    def __init__(self) -> None:
        self.arguments: list[Ix] = []
        self.written = 0

    def atom(self, a: Atom) -> str:
        """Return an atom as text in which each index is a blank, listed in `arguments`. Raises UnreadableError."""
        budget.spend(1)
        self.written += 1
        if self.written > MAX_ATOMS:
            raise UnreadableError("a factor of too many atoms")
        if isinstance(a, Access):
            return f"{a.tensor}[{','.join(self.index(ix) for ix in a.index)}]"
        if isinstance(a, Exp):
            return f"exp({self.mono(a.mono)})"
        if isinstance(a, Fn):
            return f"{a.name}({';'.join(self.poly(p) for p in a.args)})"
        if isinstance(a, Base):
            return f"({self.poly(a.poly)})"
        if isinstance(a, (Pred, Side)):
            return f"{type(a).__name__}[{self.poly(a.poly)}]"
        if isinstance(a, IxPred):
            return f"[{self.index(a.ix)}>=0]"
        if isinstance(a, IxEq):
            return f"[{self.index(a.ix)}==0]"
        if isinstance(a, IndexNumber):
            return f"@{self.index(of_term(a.var))}"
        if isinstance(a, (Sum, Max, Product)):
            bound = bound_key(a.vars, a.ranges)
            body = self.mono(a.body) if isinstance(a, Sum) else self.poly(a.body)
            condition = "" if isinstance(a, Sum) or a.where == ONE else f"|{self.poly(a.where)}"
            return f"{type(a).__name__}[{bound}]({body}{condition})"
        if isinstance(a, Matrix):
            bound = bound_key(a.vars, a.ranges)
            return f"{a.name}[{bound}]({self.poly(a.body)})[{','.join(self.index(ix) for ix in a.index)}]"
        if isinstance(a, Rec) and not a.loop.free:
            return f"{a.loop.key}.{a.position}[{','.join(self.index(ix) for ix in (a.time, *a.index))}]"
        if a.free:
            raise UnreadableError(type(a).__name__)
        return a.key

    def poly(self, p: Poly) -> str:
        rows = [(_text(m), str(c), m) for m, c in p.sorted_items()]
        rows.sort(key=lambda row: row[:2])  # an order that does not depend on the arguments, as far as it goes
        return "+".join(f"{c}*{self.mono(m)}" for _, c, m in rows)

    def mono(self, mono: Mono) -> str:
        rows = [(_text(((a, 1),)), str(e), a) for a, e in mono]
        rows.sort(key=lambda row: row[:2])
        return "*".join(f"{self.atom(a)}^{e}" for _, e, a in rows)

    def index(self, ix: Ix) -> str:
        """Return an index as text in which the part without bound variables is a blank, listed in `arguments`."""
        only = ix.only_term()
        if isinstance(only, RowMajor):
            return f"({self.index(only.major)}~{self.index(only.minor)}:{only.stride.key})"
        if not any(w[0] == "b" for w in ix.free):
            self.arguments.append(ix)
            return "□"
        bound: list[str] = []
        unbound = of_const(ix.const)
        for v, c in ix.terms:
            if not isinstance(v, IntegerAtom) and v[0] == "b":
                bound.append(f"{c}b{v[1]}.{v[2]}")
            elif isinstance(v, IntegerAtom) and any(w[0] == "b" for w in v.free):
                bound.append(
                    f"{c}{_function_text(v).replace(' ', ':')}({','.join(self.index(inner) for inner in v.parts())})"
                )
            else:
                unbound = unbound.plus(of_term(v).scaled(c))
        if bound and not unbound.terms and unbound.const.is_zero:
            return "+".join(bound)
        self.arguments.append(unbound)
        return "+".join([*bound, "□"])
