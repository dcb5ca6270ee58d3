"""Terms: polynomials with rational coefficients over atoms, in normal form by construction.

A `Poly` maps monomials to rationals. A monomial is a sorted tuple of `(atom, exponent)`; exponents are rational.
Atoms are interned, so that equality is identity, and each carries a structural key, so that order never depends on
hashing. The normal form is free of context: no hypothesis is used here, only facts that hold for all real inputs of
a defined term (exp > 0, a dimension is positive). Whether a term *is* defined is the business of `_conditions`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import floor
from operator import itemgetter
from typing import NamedTuple, TypeVar

from flint import fmpq

from .budget import budget
from .index import Chosen, IntegerAtom, Ix, IxTerm, Var, bound_key, of_term

Exponent = int | Fraction
Mono = tuple[tuple["Atom", Exponent], ...]


class FractionalExponent(Fraction):
    """An exponent that is not whole. It keeps its hash, as monomials are hashed all the time."""

    __slots__ = ("_hash",)
    _hash: int

    def __new__(cls, numerator: int, denominator: int) -> FractionalExponent:
        self = super().__new__(cls, numerator, denominator)
        self._hash = Fraction.__hash__(self)
        return self

    def __hash__(self) -> int:  # type: ignore[override]
        return self._hash


_fractional: dict[tuple[int, int], FractionalExponent] = {}


def exponent(e: Exponent) -> Exponent:
    """An exponent with whole fractions as integers."""
    if type(e) is not Fraction:
        return e
    ratio = e.as_integer_ratio()
    if ratio[1] == 1:
        return ratio[0]
    found = _fractional.get(ratio)
    if found is None:
        found = _fractional[ratio] = FractionalExponent(*ratio)
    return found


LONG = 160
"""Keys of atoms that are longer are cut, and end in a digest."""


class Atom:
    """Base of atoms. `level` is the highest level of a binder inside; `free` are the variables that are not bound.

    `positive` says that the atom is > 0 wherever it is defined, with no hypothesis. `piecewise` says that a predicate
    occurs in it; `structured` that an index in it is more than a variable, or that a condition on indices occurs.
    """

    __slots__ = ("free", "key", "level", "piecewise", "positive", "structured")
    key: str
    free: frozenset[Var]
    level: int
    positive: bool
    piecewise: bool
    structured: bool

    def __repr__(self) -> str:
        return self.key

    def _finish(
        self,
        key: str,
        free: frozenset[Var],
        level: int,
        positive: bool,
        piecewise: bool = False,
        structured: bool = False,
    ) -> None:
        if len(key) > LONG:
            key = f"{key[:40]}#{hashlib.blake2b(key.encode(), digest_size=16).hexdigest()}"
        self.key = key
        self.free, self.level, self.positive = free, level, positive
        self.piecewise, self.structured = piecewise, structured


A = TypeVar("A", bound=Atom)
_interned: dict[str, Atom] = {}
_memos: list[dict] = []


def intern(atom: A) -> A:
    """The one atom with this key."""
    return _interned.setdefault(atom.key, atom)  # type: ignore[return-value]


def memo() -> dict:
    """A cache that `clear_caches` empties."""
    table: dict = {}
    _memos.append(table)
    return table


def clear_caches() -> None:
    """Forget interned atoms and all memos. Called between proofs; terms of two proofs are never mixed."""
    _interned.clear()
    for table in _memos:
        table.clear()


_numbers: dict[Mono, int] = memo()
_NO_VARS: frozenset[Var] = frozenset()
_NOTHING = fmpq(0)


class Access(Atom):
    """An entry of an input tensor: `x[i, j]`. Inputs are arbitrary reals, hypotheses aside."""

    __slots__ = ("index", "tensor")

    def __init__(self, tensor: str, index: tuple[Ix, ...]) -> None:
        self.tensor, self.index = tensor, index
        free = frozenset(v for ix in index for v in ix.free)
        structured = any(ix.key and ix.variable() is None for ix in index)
        self._finish(f"{tensor}[{','.join(ix.key for ix in index)}]", free, 0, False, structured=structured)


class Dim(Atom):
    """A dimension as a number: a positive integer, or an opaque integer such as `floordiv(n, 2)`."""

    __slots__ = ("name",)

    def __init__(self, name: str, positive: bool = True) -> None:
        self.name = name
        self._finish(f"${name}", _NO_VARS, 0, positive)


class Num(Atom):
    """A constant: a prime that carries a fractional exponent, or `pi`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name
        self._finish(f"#{name}", _NO_VARS, 0, True)


class IndexNumber(Atom):
    """An index variable as a number (iota), or an integer atom that is no entry of a tensor."""

    __slots__ = ("var",)

    def __init__(self, var: IxTerm) -> None:
        self.var = var
        free = var.free if isinstance(var, IntegerAtom) else frozenset([var])
        self._finish(f"@{var}", free, 0, False, structured=True)


class Exp(Atom):
    """exp of one monomial with coefficient 1; the coefficient is this atom's exponent in its own monomial."""

    __slots__ = ("mono",)

    def __init__(self, mono: Mono) -> None:
        self.mono = mono
        self._finish(
            f"exp({mono_key(mono)})",
            mono_free(mono),
            mono_level(mono),
            True,
            mono_piecewise(mono),
            mono_structured(mono),
        )


class Fn(Atom):
    """A function without algebraic form here, applied: `log`, `erf`, `sin` …"""

    __slots__ = ("args", "name")

    def __init__(self, name: str, args: tuple[Poly, ...]) -> None:
        self.name, self.args = name, args
        free = frozenset().union(*(a.free for a in args))
        piecewise = any(a.piecewise for a in args)
        structured = any(a.structured for a in args)
        key = f"{name}({';'.join(a.key for a in args)})"
        self._finish(key, free, max(a.level for a in args), False, piecewise, structured)


class Base(Atom):
    """A polynomial with several terms that carries a negative or fractional exponent."""

    __slots__ = ("poly",)

    def __init__(self, poly: Poly) -> None:
        self.poly = poly
        self._finish(f"({poly.key})", poly.free, poly.level, poly.positive, poly.piecewise, poly.structured)


class Pred(Atom):
    """[p > 0]: 1 where p > 0, else 0."""

    __slots__ = ("poly",)

    def __init__(self, poly: Poly) -> None:
        self.poly = poly
        self._finish(f"[{poly.key}>0]", poly.free, poly.level, False, True, poly.structured)


class Side(Atom):
    """[p > 0] in a derivative: off p = 0 the same; on p = 0 the value it has on whichever side is looked at."""

    __slots__ = ("poly",)

    def __init__(self, poly: Poly) -> None:
        self.poly = poly
        self._finish(f"[{poly.key}>~0]", poly.free, poly.level, False, True, poly.structured)


class IxPred(Atom):
    """[e ≥ 0] for an index expression e."""

    __slots__ = ("ix",)

    def __init__(self, ix: Ix) -> None:
        self.ix = ix
        self._finish(f"[{ix.key}>=0]", frozenset(ix.free), 0, False, True, True)


class IxEq(Atom):
    """[e = 0] for an index expression e."""

    __slots__ = ("ix",)

    def __init__(self, ix: Ix) -> None:
        self.ix = ix
        self._finish(f"[{ix.key}==0]", frozenset(ix.free), 0, False, True, True)


class Sum(Atom):
    """Σ over bound variables, each from 0 to its range, of one connected monomial."""

    __slots__ = ("body", "ranges", "vars")

    def __init__(self, variables: tuple[Var, ...], ranges: tuple[Poly, ...], body: Mono) -> None:
        self.vars, self.ranges, self.body = variables, ranges, body
        bound = bound_key(variables, ranges)
        positive = mono_positive(body) and all(r.positive for r in ranges)
        free = mono_free(body) - frozenset(variables)
        key = f"sum[{bound}]({mono_key(body)})"
        self._finish(key, free, variables[0][1], positive, mono_piecewise(body), mono_structured(body))


class Max(Atom):
    """max of a polynomial over those values of bound variables at which `where`, a 0/1-valued term, is 1.

    Whoever makes one has shown that there are such values, or has recorded that as a condition.
    """

    __slots__ = ("body", "ranges", "vars", "where")

    def __init__(self, variables: tuple[Var, ...], ranges: tuple[Poly, ...], body: Poly, where: Poly) -> None:
        self.vars, self.ranges, self.body, self.where = variables, ranges, body, where
        bound = bound_key(variables, ranges)
        positive = body.positive and all(r.positive for r in ranges)
        free = (body.free | where.free) - frozenset(variables)
        kept = "" if where == ONE else f"|{where.key}"
        key = f"max[{bound}{kept}]({body.key})"
        piecewise, structured = body.piecewise or where.piecewise, body.structured or where.structured
        self._finish(key, free, variables[0][1], positive, piecewise, structured)


class Product(Atom):
    """Π of a polynomial over those values of bound variables at which `where`, a 0/1-valued term, is 1.

    The empty product is 1. `_range_products` makes these, and has their laws.
    """

    __slots__ = ("body", "ranges", "vars", "where")

    def __init__(self, variables: tuple[Var, ...], ranges: tuple[Poly, ...], body: Poly, where: Poly) -> None:
        self.vars, self.ranges, self.body, self.where = variables, ranges, body, where
        bound = bound_key(variables, ranges)
        free = (body.free | where.free) - frozenset(variables)
        kept = "" if where == ONE else f"|{where.key}"
        key = f"prod[{bound}{kept}]({body.key})"
        piecewise, structured = body.piecewise or where.piecewise, body.structured or where.structured
        self._finish(key, free, variables[0][1], body.positive, piecewise, structured)

    @property
    def is_sign(self) -> bool:
        """It is a power of −1."""
        return self.body.constant() == -1


class Carry(NamedTuple):
    """One value that a recurrence carries: its axes' sizes, its entries at time 0, and at time s + 1 from those at s.

    Both terms are over bound variables: `("b", level, 0)` is s, `("b", level, 1 + k)` the index along axis k (which is
    the constant 0 where the axis has size 1). `step` reads the carries at s as entries, by (s, index), of tensors that
    `carried(level, k)` names.
    """

    ranges: tuple[Poly, ...]
    init: Poly
    step: Poly


CARRY = "κ"
"""First letter of the names of carries."""


def carried(level: int, position: int) -> str:
    """The name under which a step reads a carry. (No identifier has a dot.)"""
    return f"{CARRY}{level}.{position}"


class Loop:
    """Carries that depend on each other through their steps. The number of steps is no part of it.

    `level` is that of its bound variables, above all levels inside; `free` are variables that are not its own.
    """

    __slots__ = ("carries", "free", "key", "level", "piecewise", "structured")

    def __init__(self, carries: tuple[Carry, ...]) -> None:
        self.carries = carries
        terms = [p for c in carries for p in (c.init, c.step)]
        self.level = 1 + max(p.level for p in terms)
        own = {("b", self.level, k) for k in range(1 + max(len(c.ranges) for c in carries))}
        self.free = frozenset().union(*(p.free for p in terms)) - own
        text = ";".join(f"{','.join(n.key for n in c.ranges)}|{c.init.key}|{c.step.key}" for c in carries)
        self.key = f"#loop{self.level}#{hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}"
        self.piecewise = any(p.piecewise for p in terms)
        self.structured = any(p.structured for p in terms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Loop) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class Rec(Atom):
    """An entry of a value that a loop carries, at a time: `c[time][index]`."""

    __slots__ = ("index", "loop", "position", "time")

    def __init__(self, loop: Loop, position: int, time: Ix, index: tuple[Ix, ...]) -> None:
        self.loop, self.position, self.time, self.index = loop, position, time, index
        places = (time, *index)
        key = f"{loop.key}.{position}@{','.join(ix.key for ix in places)}"
        free = loop.free | frozenset(v for ix in places for v in ix.free)
        structured = loop.structured or any(ix.key and ix.variable() is None for ix in places)
        self._finish(key, free, loop.level, False, loop.piecewise, structured)

    @property
    def carries(self) -> tuple[Carry, ...]:
        return self.loop.carries


PREDICATES = (Pred, Side, IxPred, IxEq)
"""Atoms whose value is 0 or 1."""
INDEX_PREDICATES = (IxPred, IxEq)


class Matrix(Atom):
    """An entry of a matrix (or a number) that another matrix determines: its inverse, its determinant …

    The other matrix is given by its entry `body` at the bound row and column `vars`; both run over `ranges`.
    `_matrices` makes these, and has the laws that each name obeys.
    """

    __slots__ = ("body", "index", "name", "ranges", "triangle", "vars")

    def __init__(
        self, name: str, variables: tuple[Var, Var], ranges: tuple[Poly, Poly], body: Poly, index: tuple[Ix, ...]
    ) -> None:
        self.name, self.vars, self.ranges, self.body, self.index = name, variables, ranges, body, index
        free = (body.free - frozenset(variables)) | frozenset(v for ix in index for v in ix.free)
        bound = bound_key(variables, ranges)
        at = f"[{','.join(ix.key for ix in index)}]" if index else ""
        positive = name == "cholesky" and index[0] == index[1]
        structured = body.structured or any(ix.key and ix.variable() is None for ix in index)
        key = f"{name}[{bound}]({body.key}){at}"
        self.triangle = self._triangle() if len(index) == 2 else None
        self._finish(key, free, variables[0][1], positive, body.piecewise, structured)

    def _triangle(self) -> tuple[Ix, Ix] | None:
        """(e, f) where the entry vanishes unless e ≥ f: a Cholesky factor and the inverse of a lower one are lower."""
        i, j = self.index
        if self.name == "cholesky":
            return i, j
        if self.name == "inverse" and is_triangular(self.body, *self.vars):
            return i, j
        if self.name == "inverse" and is_triangular(self.body, *self.vars[::-1]):
            return j, i
        return None


def is_triangular(body: Poly, row: Var, column: Var) -> bool:
    """The term vanishes where row < column, by its form."""
    return all(any(_confines(a, row, column) for a, _ in mono) for mono in body)


def _confines(a: Atom, row: Var, column: Var) -> bool:
    """The atom vanishes where row < column."""
    if isinstance(a, (IxPred, IxEq)):
        slope = a.ix.coefficient(row), a.ix.coefficient(column)
        right = slope == (1, -1) or (isinstance(a, IxEq) and slope == (-1, 1))
        shift = a.ix.const.constant()
        return (
            right
            and len(a.ix.terms) == 2
            and shift is not None
            and (shift <= 0 if isinstance(a, IxPred) else shift == 0)
        )
    if isinstance(a, Matrix) and a.triangle is not None:
        return [ix.variable() for ix in a.triangle] == [row, column]
    return False


_CONDITIONS = (*PREDICATES, Matrix)


_FREE = frozenset((Access, Dim, Exp, IndexNumber, Matrix, Max, Rec, Sum))
"""Atoms whose exponent may be anything."""


def mono_key(mono: Mono) -> str:
    return "*".join([a.key if e == 1 else f"{a.key}^{e}" for a, e in mono])


def mono_free(mono: Mono) -> frozenset[Var]:
    return frozenset().union(*(a.free for a, _ in mono)) if mono else _NO_VARS


def mono_level(mono: Mono) -> int:
    return max((a.level for a, _ in mono), default=0)


def mono_piecewise(mono: Mono) -> bool:
    return any(a.piecewise for a, _ in mono)


def mono_structured(mono: Mono) -> bool:
    return any(a.structured for a, _ in mono)


def mono_positive(mono: Mono) -> bool:
    """Every factor is positive. (A square may be zero, so it does not count.)"""
    return all(a.positive for a, _ in mono)


def _atom_order(item: tuple[Atom, Exponent]) -> str:
    return item[0].key


_first = itemgetter(0)


class Poly:
    """A polynomial: rational coefficients on monomials. Immutable; equal polynomials have equal keys."""

    __slots__ = ("_free", "_key", "_level", "_row", "_terms")

    def __init__(self, terms: dict[Mono, fmpq]) -> None:
        self._terms = terms
        self._key: str | None = None
        self._free: frozenset[Var] | None = None
        self._level: int | None = None
        self._row: tuple[tuple[int, fmpq], ...] | None = None

    @property
    def row(self) -> tuple[tuple[int, fmpq], ...]:
        """Coefficients of numbered monomials, in order; 0 is the constant. Numbers last until caches are cleared."""
        if self._row is None:
            place = _numbers.setdefault
            self._row = tuple(sorted((place(m, len(_numbers) + 1) if m else 0, c) for m, c in self._terms.items()))
        return self._row

    def items(self) -> Iterable[tuple[Mono, fmpq]]:
        return self._terms.items()

    def sorted_items(self) -> list[tuple[Mono, fmpq]]:
        items = self._terms.items()
        return sorted(items, key=lambda t: mono_key(t[0])) if len(items) > 1 else list(items)

    def __len__(self) -> int:
        return len(self._terms)

    def __iter__(self) -> Iterator[Mono]:
        return iter(self._terms)

    @property
    def is_zero(self) -> bool:
        return not self._terms

    @property
    def key(self) -> str:
        if self._key is None:
            rows = sorted([(mono_key(m), c) for m, c in self._terms.items()], key=_first)
            self._key = " + ".join([f"{c}*{m}" if m else str(c) for m, c in rows]) or "0"
            if len(self._key) > 400:
                digest = hashlib.blake2b(self._key.encode(), digest_size=16).hexdigest()
                self._key = f"{self._key[:60]}#{digest}"
        return self._key

    @property
    def free(self) -> frozenset[Var]:
        if self._free is None:
            self._free = frozenset().union(*(mono_free(m) for m in self._terms)) if self._terms else _NO_VARS
        return self._free

    @property
    def level(self) -> int:
        if self._level is None:
            self._level = max((mono_level(m) for m in self._terms), default=0)
        return self._level

    @property
    def positive(self) -> bool:
        """Positive by its form alone: every coefficient and every factor is positive, or every size is at least 1.

        A polynomial in sizes whose coefficients are not negative, but for the constant, is least where all are 1.
        """
        if not self._terms:
            return False
        return all(c > 0 and mono_positive(m) for m, c in self._terms.items()) or self._positive_at_sizes()

    def _positive_at_sizes(self) -> bool:
        total = 0
        for m, c in self._terms.items():
            if m and (c < 0 or not all(isinstance(a, Dim) and a.positive and e in (1, 2, 3) for a, e in m)):
                return False
            total = total + c
        return bool(total > 0)

    @property
    def piecewise(self) -> bool:
        """A predicate occurs somewhere in it."""
        return any(mono_piecewise(m) for m in self._terms)

    @property
    def structured(self) -> bool:
        """An index in it is more than a variable, or a condition on indices occurs."""
        return any(mono_structured(m) for m in self._terms)

    def constant(self) -> fmpq | None:
        """The value when this is a rational number."""
        if not self._terms:
            return fmpq(0)
        if len(self._terms) == 1 and () in self._terms:
            return self._terms[()]
        return None

    def single(self) -> tuple[Mono, fmpq] | None:
        """The only term, when there is exactly one."""
        return next(iter(self._terms.items())) if len(self._terms) == 1 else None

    def coefficient(self, mono: Mono) -> fmpq:
        """The coefficient of a monomial."""
        return self._terms.get(mono, _NOTHING)

    def atom(self) -> Atom | None:
        """The atom when this is exactly one atom."""
        s = self.single()
        return s[0][0][0] if s and s[1] == 1 and len(s[0]) == 1 and s[0][0][1] == 1 else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and self._terms == other._terms

    def __hash__(self) -> int:
        return hash(self._key or self.key)

    def __repr__(self) -> str:
        return self.key

    def __add__(self, other: Poly) -> Poly:
        if not other._terms:
            return self
        if not self._terms:
            return other
        big, small = (self, other) if len(self) >= len(other) else (other, self)
        out = dict(big._terms)
        for m, c in small._terms.items():
            total = out.get(m)
            if total is None:
                out[m] = c
            elif total + c == 0:
                del out[m]
            else:
                out[m] = total + c
        return Poly(out)

    def scale(self, factor: fmpq | int) -> Poly:
        if factor == 1:
            return self
        return Poly({m: c * factor for m, c in self._terms.items()}) if factor != 0 else ZERO

    def __neg__(self) -> Poly:
        return self.scale(-1)

    def __sub__(self, other: Poly) -> Poly:
        return self + (-other)

    def __mul__(self, other: Poly) -> Poly:
        if not self._terms or not other._terms:
            return ZERO
        for a, b in ((self, other), (other, self)):
            c = a.constant()
            if c is not None:
                return b.scale(c)
        budget.spend(len(self) * len(other))
        total = Accumulator()
        for m1, c1 in self._terms.items():
            for m2, c2 in other._terms.items():
                multiply_monos(m1, m2, c1 * c2, total)
        return total.poly()

    def __pow__(self, n: int) -> Poly:
        """A non-negative integer power."""
        if n < 0:
            raise ValueError("use _power.power for negative exponents")
        result, square = ONE, self
        while n:
            if n & 1:
                result = result * square
            n >>= 1
            if n:
                square = square * square
        return result


class Accumulator:
    """A sum of terms being collected."""

    __slots__ = ("terms",)

    def __init__(self) -> None:
        self.terms: dict[Mono, fmpq] = {}

    def add(self, mono: Mono, c: fmpq) -> None:
        total = self.terms.get(mono)
        if total is None:
            if c != 0:
                self.terms[mono] = c
        elif total + c == 0:
            del self.terms[mono]
        else:
            self.terms[mono] = total + c

    def add_poly(self, poly: Poly, factor: fmpq | int = 1) -> None:
        for m, c in poly.items():
            self.add(m, c * factor)

    def poly(self) -> Poly:
        return Poly(self.terms)


ZERO = Poly({})
ONE = Poly({(): fmpq(1)})


def number(value: int | Fraction | fmpq) -> Poly:
    """A rational constant."""
    if isinstance(value, Fraction):
        value = fmpq(value.numerator, value.denominator)
    return Poly({(): fmpq(value)}) if value != 0 else ZERO


_alone: dict[Atom, Poly] = memo()


def poly_of(atom: Atom, e: Exponent = 1) -> Poly:
    """An atom to a power, as a polynomial."""
    if e != 1:
        return monomial({atom: e})
    found = _alone.get(atom)
    if found is None:
        found = _alone[atom] = monomial({atom: 1})
    return found


def multiply_monos(m1: Mono, m2: Mono, c: fmpq, out: Accumulator) -> None:
    """Add c · m1 · m2 to `out`, in normal form."""
    if not m1:
        out.add(m2, c)
        return
    if not m2:
        out.add(m1, c)
        return
    factors = dict(m1)
    for a, e in m2:
        factors[a] = factors[a] + e if a in factors else e
    if len(factors) == len(m1) + len(m2) and not _interact(m1, m2):
        out.add(tuple(sorted(factors.items(), key=_atom_order)), c)
    else:
        out.add_poly(monomial(factors), c)


def _interact(m1: Mono, m2: Mono) -> bool:
    """Both have conditions, or what implies one: predicates may be complementary, a triangular matrix decides some."""
    return any(type(a) in _CONDITIONS for a, _ in m1) and any(type(a) in _CONDITIONS for a, _ in m2)


def monomial(factors: dict[Atom, Exponent]) -> Poly:
    """The product of atoms to powers, after the rules that a single atom's exponent obeys.

    Predicates are idempotent and exclude their opposites; a prime keeps its exponent in [0, 1); a `Base` keeps a
    non-positive exponent or one in (0, 1) by multiplying out; sin² = 1 − cos²; cbrt(p)³ = p; ((−1)^n)² = 1.
    """
    kept: list[tuple[Atom, Exponent]] = []
    coefficient = fmpq(1)
    expand: list[tuple[Poly, int]] = []
    for a, e in factors.items():
        if type(e) is Fraction:
            e = exponent(e)
        if e == 0:
            continue
        kind = type(a)
        if kind in _FREE:
            kept.append((a, e))
            continue
        if kind in PREDICATES:
            if e < 0:
                raise ArithmeticError("a predicate has no inverse")
            kept.append((a, 1))
        elif kind is Num and a.name != "pi":  # type: ignore[attr-defined]
            whole = floor(e)
            coefficient *= fmpq(int(a.name)) ** whole  # type: ignore[attr-defined]
            if e != whole:
                kept.append((a, e - whole))
        elif kind is Product and a.is_sign:  # type: ignore[attr-defined]
            if e % 2:
                kept.append((a, e % 2))
        elif kind is Base and e >= 1:
            whole = floor(e)
            expand.append((a.poly, whole))  # type: ignore[attr-defined]
            if e != whole:
                kept.append((a, e - whole))
        elif kind is Fn and e >= 2 and (rule := _fn_power(a, e)):  # type: ignore[arg-type]
            expand.append((rule[0], rule[1]))
            if rule[2]:
                kept.append((a, rule[2]))
        else:
            kept.append((a, e))
    if len(kept) > 1:
        kinds = [type(a) for a, _ in kept]
        for kind in (Pred, Side):
            if kinds.count(kind) > 1:
                signs = [a for a, _ in kept if isinstance(a, kind)]
                keys = {a.poly.key for a in signs}
                if any(_opposite(a) in keys for a in signs):
                    return ZERO
        if IxPred in kinds:
            settled = _settled(kept)
            if settled is None:
                return ZERO
            kept = settled
        kept.sort(key=_atom_order)
    result = Poly({tuple(kept): coefficient})
    for base, n in expand:
        result = result * base**n
    return result


_opposites: dict[Atom, str] = memo()


def _opposite(a: Pred | Side) -> str:
    """The key of −p for [p > 0]."""
    found = _opposites.get(a)
    if found is None:
        found = _opposites[a] = (-a.poly).key
    return found


def _settled(factors: list[tuple[Atom, Exponent]]) -> list[tuple[Atom, Exponent]] | None:
    """The factors without conditions [e ≥ 0] that another factor implies; None where two exclude each other.

    That an entry of a triangular matrix is not 0 is such a condition. Two opposite conditions make an equation.
    """
    out = [(a, e) for a, e in factors if type(a) is not IxPred]
    bounds = [a.triangle[0].minus(a.triangle[1]) for a, e in out if isinstance(a, Matrix) and a.triangle and e > 0]
    conditions = [a for a, _ in factors if isinstance(a, IxPred)]
    for a in conditions:
        implied = opposite = False
        for ix in (*bounds, *(b.ix for b in conditions if b is not a)):
            if (c := _offset(a.ix, ix, -1)) is not None:
                if c < 0:
                    return None
                opposite = opposite or c == 0
            elif (c := _offset(a.ix, ix, 1)) is not None:
                implied = implied or c >= 0
        if opposite:
            equation = intern(IxEq(a.ix if a.ix.terms[0][1] > 0 else a.ix.scaled(-1)))
            if (equation, 1) not in out:
                out.append((equation, 1))
        elif not implied:
            out.append((a, 1))
    return out


def _offset(a: Ix, b: Ix, sign: int) -> fmpq | None:
    """The number that a − b is (sign 1), or a + b (sign −1), if it is one: then their terms cancel."""
    if len(a.terms) != len(b.terms):
        return None
    for (v, c), (w, d) in zip(a.terms, b.terms, strict=True):
        if c != sign * d or v != w:
            return None
    return (a.const - b.const.scale(sign)).constant()


def _fn_power(fn: Fn, e: Exponent) -> tuple[Poly, int, Exponent] | None:
    """fn^e = poly^n · fn^rest for the functions that satisfy an algebraic equation."""
    whole = floor(e)
    if fn.name == "sin":
        cos = intern(Fn("cos", fn.args))
        return ONE - poly_of(cos, 2), whole // 2, e - 2 * (whole // 2)
    if fn.name == "cbrt" and e >= 3:
        return fn.args[0], whole // 3, e - 3 * (whole // 3)
    return None


def dimension(name: str, positive: bool = True) -> Poly:
    return poly_of(intern(Dim(name, positive)))


def access(tensor: str, index: tuple[Ix, ...]) -> Poly:
    known = _interned.get(_access_key(tensor, index))
    return poly_of(intern(Access(tensor, index)) if known is None else known)


def _access_key(tensor: str, index: tuple[Ix, ...]) -> str:
    return f"{tensor}[{','.join([ix.key for ix in index])}]"


def atoms_of(poly: Poly) -> list[Atom]:
    """The atoms of all monomials, each once, in order of first occurrence."""
    seen: dict[Atom, None] = {}
    for m in poly:
        for a, _ in m:
            seen.setdefault(a)
    return list(seen)


_deep: dict[Poly, tuple[Atom, ...]] = memo()


def deep_atoms(poly: Poly) -> tuple[Atom, ...]:
    """All atoms, those inside other atoms too, in an order that depends on the term alone."""
    found = _deep.get(poly)
    if found is None:
        out: dict[Atom, None] = {}
        stack = atoms_of(poly)
        while stack:
            a = stack.pop()
            if a in out:
                continue
            out[a] = None
            for inner in parts(a):
                stack.extend(atoms_of(inner))
        found = _deep[poly] = tuple(out)
    return found


_tensors: dict[Atom, frozenset[str]] = memo()
_determined: dict[str, frozenset[str]] = memo()


def determine(tensor: str, by: Iterable[str]) -> None:
    """Say that a tensor, of which no entry exists yet, depends on others: its value is a solution of an equation."""
    _determined[tensor] = frozenset(by)


def is_determined(tensor: str) -> bool:
    """The tensor is no input: an equation determines it."""
    return tensor in _determined


def tensors_in(a: Atom) -> frozenset[str]:
    """The names of the tensors in an atom, of the carries that steps inside it read, and the keys of its loops.

    Also the names of what an equation determines a tensor from.
    """
    found = _tensors.get(a)
    if found is None:
        own = (
            [a.tensor, *_determined.get(a.tensor, ())]
            if isinstance(a, Access)
            else [a.loop.key]
            if isinstance(a, Rec)
            else []
        )
        inside = [*parts(a), *(p for ix in own_indices(a) for p in _compared(ix))]
        found = _tensors[a] = frozenset(own).union(*(tensors_in(b) for p in inside for b in atoms_of(p)))
    return found


def own_indices(a: Atom) -> list[Ix]:
    """The index expressions that stand in an atom directly."""
    if isinstance(a, (Access, Matrix)):
        return list(a.index)
    if isinstance(a, (IxPred, IxEq)):
        return [a.ix]
    return [of_term(a.var)] if isinstance(a, IndexNumber) else []


def _compared(ix: Ix) -> Iterator[Poly]:
    """The numbers that are compared to choose integers in an index expression."""
    for t in ix.atoms:
        if isinstance(t, Chosen):
            yield from t.comparison.bodies
            yield t.comparison.where
        for inner in t.parts():
            yield from _compared(inner)


def mentions(poly: Poly, names: Iterable[str]) -> bool:
    """One of the tensors occurs in the term."""
    return any(not tensors_in(a).isdisjoint(names) for a in atoms_of(poly))


def parts(a: Atom) -> list[Poly]:
    """The polynomials an atom is made of."""
    if isinstance(a, Fn):
        return list(a.args)
    if isinstance(a, (Base, Pred, Side)):
        return [a.poly]
    if isinstance(a, (Max, Product)):
        return [a.body] if a.where == ONE else [a.body, a.where]
    if isinstance(a, Matrix):
        return [a.body]
    if isinstance(a, Sum):
        return [Poly({a.body: fmpq(1)})]
    if isinstance(a, Rec):
        return [p for c in a.carries for p in (c.init, c.step)]
    if hasattr(a, "mono"):
        return [Poly({a.mono: fmpq(1)})]
    return []
