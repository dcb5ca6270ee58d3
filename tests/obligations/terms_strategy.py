"""Random terms with their values: for the property tests of the normal form and of signs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from flint import arb, fmpq
from hypothesis import strategies as st

from certgrad.obligations.decide import evaluate as _evaluate
from certgrad.obligations.decide.evaluate_functions import function as at_balls
from certgrad.obligations.laws.range_products import product_over
from certgrad.obligations.terms.atoms import access, dimension
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.polynomials import Poly, number
from certgrad.obligations.terms.power import UndefinedTermError, exp_of, fn, log_of, power, pred, sign_of
from certgrad.obligations.terms.sums import max_over, sum_over
from certgrad.obligations.terms.variables import Var

SIZES = {"n": 3, "m": 2}
I, J, K, L = (("f", 900 + k, 0) for k in range(4))
RANGES: dict[Var, str] = {I: "n", J: "n", K: "m", L: "n"}


@dataclass(frozen=True)
class Table:
    """Entries of tensors: drawn once, by name and index."""

    entries: Mapping[str, tuple[Fraction, ...]]

    def __call__(self, tensor: str, index: tuple[int, ...]) -> fmpq:
        row = self.entries[tensor]
        place = 0
        for k in index:
            place = place * 3 + k
        value = row[place % len(row)]
        return fmpq(value.numerator, value.denominator)


small = st.sampled_from([Fraction(k, 2) for k in range(-4, 5)])
tables = st.fixed_dictionaries({name: st.tuples(*[small] * 9) for name in "abxy"}).map(Table)


def scalar(name: str) -> Poly:
    return access(name, ())


@dataclass(frozen=True)
class Pair:
    """A term built by the kernel's constructors, and the same thing as a function of the entries, in balls."""

    poly: Poly
    value: object

    def at(self, table: Table, env: Mapping[Var, int]) -> arb | None:
        """The value computed directly; None where it is not defined."""
        return self.value(table, env)  # type: ignore[operator]


def lifted(f, *pairs):
    """The function of the values; None where one of them is undefined, or f is."""

    def value(table, env):
        parts = [p.at(table, env) for p in pairs]
        if any(p is None for p in parts):
            return None
        out = f(*parts)
        return out if out is not None and out.is_finite() else None

    return value


def number_pair(c: Fraction) -> Pair:
    return Pair(number(c), lambda table, env: arb(fmpq(c.numerator, c.denominator)))


def entry_pair(name: str, variables: tuple[Var, ...]) -> Pair:
    poly = access(name, tuple(of_var(v) for v in variables))
    return Pair(poly, lambda table, env: arb(table(name, tuple(env[v] for v in variables))))


def add(x: Pair, y: Pair) -> Pair:
    return Pair(x.poly + y.poly, lifted(lambda a, b: a + b, x, y))


def mul(x: Pair, y: Pair) -> Pair:
    return Pair(x.poly * y.poly, lifted(lambda a, b: a * b, x, y))


def _power_value(a: arb, e: Fraction) -> arb | None:
    if e.denominator == 1:
        return a ** int(e) if e >= 0 else None if a.contains(0) else 1 / a ** int(-e)
    if a < 0 or (a.contains(0) and (e < 0 or a != 0)):
        return None
    return arb(0) if a == 0 else a ** arb(fmpq(e.numerator, e.denominator))


def raised(x: Pair, e: Fraction) -> Pair | None:
    try:
        return Pair(power(x.poly, e), lifted(lambda a: _power_value(a, e), x))
    except UndefinedTermError:
        return None


def _step(a: arb) -> arb | None:
    return arb(1) if a > 0 else arb(0) if a <= 0 else None


def step(x: Pair) -> Pair:
    return Pair(pred(x.poly), lifted(_step, x))


def sign(x: Pair) -> Pair:
    def value(a: arb) -> arb | None:
        return arb(1) if a > 0 else arb(-1) if a < 0 else arb(0) if a == 0 else None

    return Pair(sign_of(x.poly), lifted(value, x))


def exponential(x: Pair) -> Pair:
    return Pair(exp_of(x.poly), lifted(lambda a: a.exp(), x))


def logarithm(x: Pair) -> Pair | None:
    try:
        return Pair(log_of(x.poly), lifted(lambda a: a.log() if a > 0 else None, x))
    except UndefinedTermError:
        return None


def function(name: str, x: Pair) -> Pair:
    return Pair(fn(name, x.poly), lifted(lambda a: at_balls(name, [a]), x))


def summed(x: Pair, v: Var) -> Pair:
    size = RANGES[v]

    def value(table: Table, env: Mapping[Var, int]) -> arb | None:
        parts = [x.at(table, {**env, v: k}) for k in range(SIZES[size])]
        return None if any(p is None for p in parts) else sum(parts, arb(0))

    return Pair(sum_over(x.poly, [(v, dimension(size))]), value)


def multiplied(x: Pair, v: Var) -> Pair:
    size = RANGES[v]

    def value(table: Table, env: Mapping[Var, int]) -> arb | None:
        parts = [x.at(table, {**env, v: k}) for k in range(SIZES[size])]
        return None if any(p is None for p in parts) else prod(parts, start=arb(1))

    return Pair(product_over(x.poly, [(v, dimension(size))]), value)


def greatest(x: Pair, v: Var) -> Pair:
    size = RANGES[v]

    def value(table: Table, env: Mapping[Var, int]) -> arb | None:
        parts = [x.at(table, {**env, v: k}) for k in range(SIZES[size])]
        if any(p is None for p in parts):
            return None
        best = parts[0]
        for p in parts[1:]:
            best = best.max(p)
        return best

    return Pair(max_over(x.poly, [(v, dimension(size))]), value)


EXPONENTS = [
    Fraction(-2),
    Fraction(-1),
    Fraction(2),
    Fraction(3),
    Fraction(1, 2),
    Fraction(-1, 2),
    Fraction(3, 2),
    Fraction(1, 4),
]


SCALARS: list[tuple[str, tuple[Var, ...]]] = [("x", ()), ("y", ())]
ENTRIES = [("a", (v,)) for v in RANGES] + [
    ("b", pair) for pair in [(I, J), (J, I), (I, L), (L, J), (J, L), (I, I), (K, I), (J, K), (L, I)]
]


def leaves(indexed: bool) -> st.SearchStrategy[Pair]:
    names = st.sampled_from(SCALARS + (ENTRIES if indexed else []))
    return st.one_of(st.builds(lambda one: entry_pair(*one), names), small.map(number_pair))


def pairs(indexed: bool = True, size: int = 8) -> st.SearchStrategy[Pair]:
    """Terms with values; with `indexed`, entries of tensors and sums over their indices."""

    def grow(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
        options = [
            st.builds(add, inner, inner),
            st.builds(mul, inner, inner),
            st.builds(mul, inner, inner),
            st.builds(raised, inner, st.sampled_from(EXPONENTS)).filter(bool),
            st.builds(step, inner),
            st.builds(sign, inner),
            st.builds(exponential, inner),
            st.builds(logarithm, inner).filter(bool),
            st.builds(function, st.sampled_from(["sin", "cos", "atan", "erf", "cbrt", "asinh"]), inner),
        ]
        if indexed:
            options += [st.builds(summed, inner, st.sampled_from(list(RANGES)))] * 3
            options += [st.builds(multiplied, inner, st.sampled_from(list(RANGES)))]
            options += [st.builds(greatest, inner, st.sampled_from(list(RANGES)))]
        return st.one_of(options)

    return st.recursive(leaves(indexed), grow, max_leaves=size)


def computed(poly: Poly, table: Table, env: Mapping[Var, int]) -> arb | None:
    """The normal form's value; None where it does not decide or is not finite."""
    try:
        out = _evaluate.evaluate(poly, SIZES, table, env)
    except (_evaluate.UndecidedError, ZeroDivisionError, ValueError, KeyError):
        return None
    return out if out.is_finite() else None
