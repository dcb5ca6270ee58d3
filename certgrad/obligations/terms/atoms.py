"""Atoms: the indeterminates of polynomials. Each kind defines its key, and the laws of its powers."""

from __future__ import annotations

from math import floor

from flint import fmpq

from .exponents import Exponent
from .index import IntegerAtom, Ix, IxTerm, bound_key
from .law import Law, applied
from .polynomials import (
    ONE,
    Atom,
    Mono,
    Poly,
    mono_free,
    mono_key,
    mono_level,
    mono_piecewise,
    mono_positive,
    mono_structured,
    poly_of,
)
from .session import intern, session
from .variables import Var

_NO_VARS: frozenset[Var] = frozenset()
_ONE = fmpq(1)


class Access(Atom):
    """An entry of an input tensor: `x[i, j]`. It is an arbitrary real number, unless hypotheses say more."""

    __slots__ = ("index", "tensor")

    def __init__(self, tensor: str, index: tuple[Ix, ...]) -> None:
        self.tensor, self.index = tensor, index
        free = frozenset(v for ix in index for v in ix.free)
        structured = any(not ix.is_zero and ix.variable() is None for ix in index)
        self._finish(f"{tensor}[{','.join(ix.key for ix in index)}]", free, 0, False, structured=structured)


class Dim(Atom):
    """A dimension as a number: a positive integer, or an opaque integer such as `floordiv(n, 2)`."""

    __slots__ = ("name",)

    @property
    def is_size(self) -> bool:  # type: ignore[override]
        return self.positive

    def __init__(self, name: str, positive: bool = True) -> None:
        self.name = name
        self._finish(f"${name}", _NO_VARS, 0, positive)


class Num(Atom):
    """A constant: `pi`, or a prime number, which has a fractional exponent (√6 is 2^½·3^½)."""

    __slots__ = ("name",)
    any_exponent = False

    def __init__(self, name: str) -> None:
        self.name = name
        self._finish(f"#{name}", _NO_VARS, 0, True)

    def raised(self, e: Exponent) -> tuple[fmpq, tuple[Poly, int] | None, Exponent]:
        """Return (c, None, r) with selfᵉ = c · selfʳ: a prime keeps an exponent r in [0, 1), and `pi` keeps e."""
        if self.name == "pi":
            return _ONE, None, e
        whole = floor(e)
        return fmpq(int(self.name)) ** whole, None, e - whole


class IndexNumber(Atom):
    """The value of an index variable as a number (as `iota` gives), or of an integer atom other than an entry."""

    __slots__ = ("var",)

    def __init__(self, var: IxTerm) -> None:
        self.var = var
        free = var.free if isinstance(var, IntegerAtom) else frozenset([var])
        self._finish(f"@{var}", free, 0, False, structured=True)


class Exp(Atom):
    """exp of one monomial with coefficient 1: exp(c·m) is this atom to the power c."""

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

    def parts(self) -> list[Poly]:
        return [Poly({self.mono: _ONE})]


class Fn(Atom):
    """A named function applied to terms, which has no algebraic form here: `log`, `erf`, `sin` …"""

    __slots__ = ("args", "name")
    any_exponent = False

    def __init__(self, name: str, args: tuple[Poly, ...]) -> None:
        self.name, self.args = name, args
        free = frozenset().union(*(a.free for a in args))
        piecewise = any(a.piecewise for a in args)
        structured = any(a.structured for a in args)
        key = f"{name}({';'.join(a.key for a in args)})"
        self._finish(key, free, max(a.level for a in args), False, piecewise, structured)

    def parts(self) -> list[Poly]:
        return list(self.args)

    def raised(self, e: Exponent) -> tuple[fmpq, tuple[Poly, int] | None, Exponent]:
        """Return (c, (p, n), r) with selfᵉ = c · pⁿ · selfʳ, by sin² = 1 − cos² and cbrt(p)³ = p."""
        if self.name == "sin" and e >= 2:
            half = floor(e) // 2
            applied(Law.SIN_SQUARED)
            return _ONE, (ONE - poly_of(intern(Fn("cos", self.args)), 2), half), e - 2 * half
        if self.name == "cbrt" and e >= 3:
            third = floor(e) // 3
            applied(Law.CUBE_OF_CBRT)
            return _ONE, (self.args[0], third), e - 3 * third
        return _ONE, None, e


class Base(Atom):
    """A polynomial with several terms as an atom, so that it can have a negative or fractional exponent."""

    __slots__ = ("poly",)
    any_exponent = False

    def __init__(self, poly: Poly) -> None:
        self.poly = poly
        self._finish(f"({poly.key})", poly.free, poly.level, poly.positive, poly.piecewise, poly.structured)

    def parts(self) -> list[Poly]:
        return [self.poly]

    def raised(self, e: Exponent) -> tuple[fmpq, tuple[Poly, int] | None, Exponent]:
        """Return (c, (p, n), r) with selfᵉ = c · pⁿ · selfʳ and r < 1: whole powers are multiplied out."""
        if e < 1:
            return _ONE, None, e
        whole = floor(e)
        return _ONE, (self.poly, whole), e - whole


class Sum(Atom):
    """Σ of one monomial over bound variables, each from 0 to below its range.

    The monomial is connected: its factors share bound variables, so that it is no product of two sums.
    """

    __slots__ = ("body", "ranges", "vars")

    def __init__(self, variables: tuple[Var, ...], ranges: tuple[Poly, ...], body: Mono) -> None:
        self.vars, self.ranges, self.body = variables, ranges, body
        bound = bound_key(variables, ranges)
        positive = mono_positive(body) and all(r.positive for r in ranges)
        free = mono_free(body) - frozenset(variables)
        key = f"sum[{bound}]({mono_key(body)})"
        self._finish(key, free, variables[0][1], positive, mono_piecewise(body), mono_structured(body))

    def parts(self) -> list[Poly]:
        return [Poly({self.body: _ONE})]


class Max(Atom):
    """The maximum of a polynomial over the values of bound variables at which `where`, a 0/1-valued term, is 1.

    The caller that makes a `Max` has shown that there are such values, or has recorded that as a condition.
    """

    __slots__ = ("body", "ranges", "vars", "where")

    def __init__(self, variables: tuple[Var, ...], ranges: tuple[Poly, ...], body: Poly, where: Poly) -> None:
        self.vars, self.ranges, self.body, self.where = variables, ranges, body, where
        bound = bound_key(variables, ranges)
        positive = body.positive and all(r.positive for r in ranges)
        free = (body.free | where.free) - frozenset(variables)
        condition = "" if where == ONE else f"|{where.key}"
        key = f"max[{bound}{condition}]({body.key})"
        piecewise, structured = body.piecewise or where.piecewise, body.structured or where.structured
        self._finish(key, free, variables[0][1], positive, piecewise, structured)

    def parts(self) -> list[Poly]:
        return [self.body] if self.where == ONE else [self.body, self.where]


class Product(Atom):
    """Π of a polynomial over the values of bound variables at which `where`, a 0/1-valued term, is 1.

    The empty product is 1. The module `range_products` makes these atoms, and has their laws.
    """

    __slots__ = ("body", "ranges", "vars", "where")
    any_exponent = False

    def __init__(self, variables: tuple[Var, ...], ranges: tuple[Poly, ...], body: Poly, where: Poly) -> None:
        self.vars, self.ranges, self.body, self.where = variables, ranges, body, where
        bound = bound_key(variables, ranges)
        free = (body.free | where.free) - frozenset(variables)
        condition = "" if where == ONE else f"|{where.key}"
        key = f"prod[{bound}{condition}]({body.key})"
        piecewise, structured = body.piecewise or where.piecewise, body.structured or where.structured
        self._finish(key, free, variables[0][1], body.positive, piecewise, structured)

    def parts(self) -> list[Poly]:
        return [self.body] if self.where == ONE else [self.body, self.where]

    def raised(self, e: Exponent) -> tuple[fmpq, tuple[Poly, int] | None, Exponent]:
        """Return the power as it is, but with its exponent modulo 2 for a product of −1: ((−1)ⁿ)² = 1."""
        return _ONE, None, e % 2 if self.is_sign else e

    @property
    def is_sign(self) -> bool:
        """Whether the product is a power of −1."""
        return self.body.constant() == -1


def dimension(name: str, positive: bool = True) -> Poly:
    """Return a dimension as a term. `positive` says that it is at least 1."""
    return poly_of(intern(Dim(name, positive)))


def access(tensor: str, index: tuple[Ix, ...]) -> Poly:
    """Return an entry of an input tensor as a term."""
    known_atom = session.interned.get(_access_key(tensor, index))
    return poly_of(intern(Access(tensor, index)) if known_atom is None else known_atom)


def _access_key(tensor: str, index: tuple[Ix, ...]) -> str:
    return f"{tensor}[{','.join([ix.key for ix in index])}]"
