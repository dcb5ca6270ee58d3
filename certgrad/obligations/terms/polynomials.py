"""Terms: polynomials with rational coefficients over atoms, in normal form by construction.

A `Poly` maps monomials to rationals. A monomial is a sorted tuple of `(atom, exponent)`; exponents are rational.
Atoms are interned, so that equality is identity, and each carries a structural key, so that order never depends on
hashing. The normal form is free of context: no hypothesis is used here, only facts that hold for all real inputs of
a defined term (exp > 0, a dimension is positive). Whether a term *is* defined is the business of `conditions`.
The kinds of atoms are in `atoms`, `predicates` and `determined`; this module has what all kinds share.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from copy import copy
from fractions import Fraction
from operator import itemgetter
from typing import Any, ClassVar

from flint import fmpq

from .budget import budget
from .exponents import Exponent, exponent
from .session import Memo, MixedSessionsError, session
from .variables import Var

Mono = tuple[tuple["Atom", Exponent], ...]
Factors = list[tuple["Atom", Exponent]]
_numbers: Memo[Mono, int] = Memo()
_NO_VARS: frozenset[Var] = frozenset()
_NOTHING, _UNIT = fmpq(0), fmpq(1)

LONGEST_KEY = 160
"""Characters of an atom's key; a longer one is cut and ends in a digest."""


class Atom:
    """Base of atoms. `level` is the highest level of a binder inside; `free` are the variables that are not bound.

    `positive` says that the atom is > 0 wherever it is defined, with no hypothesis. `piecewise` says that a predicate
    occurs in it; `structured` that an index in it is more than a variable, or that a condition on indices occurs.

    Each kind states its laws: `raised` is the law of its powers, where a normal form may not have `any_exponent`;
    `together` that of several atoms in one product, for kinds that are 0 where a condition fails (`conditional`).
    """

    __slots__ = ("free", "key", "level", "mark", "piecewise", "positive", "structured")
    key: str
    free: frozenset[Var]
    level: int
    positive: bool
    piecewise: bool
    structured: bool
    any_exponent: ClassVar[bool] = True
    conditional: ClassVar[bool] = False
    is_size: ClassVar[bool] = False
    """Whether the atom is the size of an axis: an integer of at least 1 that depends on no index."""

    def __repr__(self) -> str:
        return self.key

    def parts(self) -> list[Poly]:
        """Return the polynomials inside the atom."""
        return []

    def raised(self, e: Exponent) -> tuple[fmpq, tuple[Poly, int] | None, Exponent]:
        """Return (c, (p, n), r): atomᵉ = c · pⁿ · atomʳ, r an exponent of normal forms; None for (p, n) is 1."""
        raise NotImplementedError

    @classmethod
    def together(cls, factors: Factors) -> Factors | None:
        """Return the factors of a product, simplified by the laws of this kind; None where the product is 0."""
        return factors

    def _finish(
        self,
        key: str,
        free: frozenset[Var],
        level: int,
        positive: bool,
        piecewise: bool = False,
        structured: bool = False,
    ) -> None:
        if len(key) > LONGEST_KEY:
            key = f"{key[:40]}#{hashlib.blake2b(key.encode(), digest_size=16).hexdigest()}"
        self.key, self.mark = key, session.mark
        self.free, self.level, self.positive = free, level, positive
        self.piecewise, self.structured = piecewise, structured


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
    """Return whether every factor is positive. (A square may be zero, so it does not count.)"""
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
        """Sorted pairs (number of a monomial, coefficient); 1 has number 0. Numbers last until caches are cleared."""
        if self._row is None:
            place = _numbers.table.setdefault
            self._row = tuple(
                sorted((place(m, len(_numbers.table) + 1) if m else 0, c) for m, c in self._terms.items())
            )
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
            if len(self._terms) > 1 and len({m[0][0].mark for m in self._terms if m}) > 1:
                raise MixedSessionsError("a sum of terms of two proofs")
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
        """Whether the polynomial is positive by its form alone; False where the form does not show it.

        It is where all coefficients and factors are positive, or the least value of a polynomial in sizes is.
        """
        if not self._terms:
            return False
        if all(c > 0 and mono_positive(m) for m, c in self._terms.items()):
            return True
        least = self.least_at_sizes()
        return least is not None and bool(least > 0)

    def least_at_sizes(self) -> fmpq | None:
        """Return the value where all sizes are 1, if it is the least: only the constant is negative; else None."""
        total = _NOTHING
        for m, c in self._terms.items():
            if m and (c < 0 or not all(a.is_size and e in (1, 2, 3) for a, e in m)):
                return None
            total = total + c
        return total

    @property
    def piecewise(self) -> bool:
        """Whether a predicate occurs somewhere in the polynomial."""
        return any(mono_piecewise(m) for m in self._terms)

    @property
    def structured(self) -> bool:
        """Whether an index in the polynomial is more than a variable, or a condition on indices occurs."""
        return any(mono_structured(m) for m in self._terms)

    def constant(self) -> fmpq | None:
        """Return the value when the polynomial is a rational number; else None."""
        if not self._terms:
            return fmpq(0)
        if len(self._terms) == 1 and () in self._terms:
            return self._terms[()]
        return None

    def single(self) -> tuple[Mono, fmpq] | None:
        """Return the monomial and the coefficient when there is exactly one term; else None."""
        return next(iter(self._terms.items())) if len(self._terms) == 1 else None

    def coefficient(self, mono: Mono) -> fmpq:
        """Return the coefficient of a monomial, 0 where it does not occur."""
        return self._terms.get(mono, _NOTHING)

    def atom(self) -> Atom | None:
        """Return the atom when the polynomial is exactly one atom; else None."""
        s = self.single()
        return s[0][0][0] if s and s[1] == 1 and len(s[0]) == 1 and s[0][0][1] == 1 else None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Poly):
            return False
        if self._terms == other._terms:
            return True
        if len(self._terms) != len(other._terms):
            return False
        mine, theirs = self._mark(), other._mark()
        if mine is theirs or mine is None or theirs is None:
            return False
        return self.key == other.key  # terms of two sessions: their atoms are not the same objects

    def _mark(self) -> object:
        """Return the mark of the session whose atoms the term has; None for a number, which belongs to all sessions."""
        for m in self._terms:
            if m:
                return m[0][0].mark
        return None

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
        return _sum_of_terms(out)

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
        """Return the n-th power, by repeated squaring. Raises ValueError for a negative n."""
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
    """A sum to which terms are added in place."""

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
        return _sum_of_terms(self.terms)


class Holder:
    """An object that holds terms and is no term itself: an index expression, an integer atom, a comparison, a loop."""

    __slots__ = ()


def is_foreign(mono: Mono) -> bool:
    """Return whether the monomial is of another session. All its atoms are of one session, so the first one tells."""
    return bool(mono) and mono[0][0].mark is not session.mark


def current(poly: Poly) -> Poly:
    """Return the term over the atoms of this session: as it is, or made anew if it is of another session."""
    for mono in poly:
        if mono:
            return renewed(poly) if is_foreign(mono) else poly
    return poly


def renewed(value: Any) -> Any:
    """Return a term, a monomial, or an object that holds terms, with atoms of this session in place of another's.

    An atom's key says all of its structure: the session's atom of the same key is used, else a copy is interned.
    """
    if isinstance(value, Atom):
        atom = value if value.mark is session.mark else session.interned.get(value.key)
        if atom is None:
            atom = _rebuilt(value)
            atom.mark = session.mark
            session.interned[value.key] = atom
        return atom
    if isinstance(value, Poly):
        total: dict[Mono, fmpq] = {}
        for mono, c in value.items():
            factors: dict[Atom, Exponent] = {}
            for a, e in mono:
                a = renewed(a)
                factors[a] = factors.get(a, 0) + e
            for m, d in monomial(factors).items():
                total[m] = total.get(m, _NOTHING) + c * d
        return Poly({m: c for m, c in total.items() if c != 0})
    if isinstance(value, tuple):
        parts = tuple(map(renewed, value))
        return type(value)(*parts) if hasattr(value, "_fields") else parts
    return _rebuilt(value) if isinstance(value, Holder) else value


def _rebuilt(value: Any) -> Any:
    """Return a copy of an atom or a holder of terms, with the terms inside renewed."""
    out = copy(value)
    for kind in type(value).__mro__:
        for slot in getattr(kind, "__slots__", ()):
            if slot != "mark" and hasattr(value, slot):
                setattr(out, slot, renewed(getattr(value, slot)))
    return out


def _sum_of_terms(terms: dict[Mono, fmpq]) -> Poly:
    """Return the sum of the terms. Where some are of an earlier proof, all are made anew, so that equal ones add up."""
    if len(terms) > 1:  # those of one proof stand first, and the constant's monomial is empty and of no proof
        forth, back = iter(terms), reversed(terms)
        first, last = next(forth) or next(forth), next(back) or next(back)
        if first[0][0].mark is not last[0][0].mark:
            return renewed(Poly(terms))
    return Poly(terms)


ZERO = Poly({})
ONE = Poly({(): fmpq(1)})


def number(value: int | Fraction | fmpq) -> Poly:
    """Return a rational constant as a term."""
    if isinstance(value, Fraction):
        value = fmpq(value.numerator, value.denominator)
    return Poly({(): fmpq(value)}) if value != 0 else ZERO


_alone: Memo[Atom, Poly] = Memo()


def poly_of(atom: Atom, e: Exponent = 1) -> Poly:
    """Return an atom to a power, as a polynomial."""
    if e != 1:
        return monomial({atom: e})
    poly = _alone.table.get(atom)
    if poly is None:
        poly = _alone.table[atom] = monomial({atom: 1})
    return poly


def multiply_monos(m1: Mono, m2: Mono, c: fmpq, out: Accumulator) -> None:
    """Add c · m1 · m2 to `out`, in normal form: only sorted, where no law holds between the factors."""
    if not m1:
        out.add(m2, c)
        return
    if not m2:
        out.add(m1, c)
        return
    if m1[0][0].mark is not m2[0][0].mark:
        m1, m2 = renewed(m1), renewed(m2)
    factors = dict(m1)
    for a, e in m2:
        factors[a] = factors[a] + e if a in factors else e
    if len(factors) == len(m1) + len(m2) and not _interact(m1, m2):
        out.add(tuple(sorted(factors.items(), key=_atom_order)), c)
    else:
        out.add_poly(monomial(factors), c)


def _interact(m1: Mono, m2: Mono) -> bool:
    """Return whether two monomials may simplify together: both have factors that are 0 where a condition fails."""
    return any(a.conditional for a, _ in m1) and any(a.conditional for a, _ in m2)


def monomial(factors: dict[Atom, Exponent]) -> Poly:
    """Return the product of atoms to powers in normal form, by the laws that each kind of atom states.

    First the law of powers (`raised`), then that of several factors that are 0 where a condition fails (`together`).
    """
    factors_out: Factors = []
    coefficient = _UNIT
    expand: list[tuple[Poly, int]] = []
    for a, e in factors.items():
        if type(e) is Fraction:
            e = exponent(e)
        if e == 0:
            continue
        if not a.any_exponent:
            c, power, e = a.raised(e)
            coefficient *= c
            if power is not None:
                expand.append(power)
            if e == 0:
                continue
        factors_out.append((a, e))
    if len(factors_out) > 1:
        conditional = [type(a) for a, _ in factors_out if a.conditional]
        if len(conditional) > 1:
            for kind in dict.fromkeys(conditional):
                simplified = kind.together(factors_out)
                if simplified is None:
                    return ZERO
                factors_out = simplified
        if factors_out[0][0].mark is not factors_out[-1][0].mark:  # atoms of two proofs
            return renewed(Poly({tuple(factors_out): coefficient})) * _product(expand)
        factors_out.sort(key=_atom_order)
    result = Poly({tuple(factors_out): coefficient})
    return result * _product(expand) if expand else result


def _product(powers: list[tuple[Poly, int]]) -> Poly:
    result = ONE
    for base, n in powers:
        result = result * base**n
    return result
