"""Powers, exp and log of polynomials, and predicates: the constructors that simplify by algebra.

Each returns a term that equals its definition where that has a value: the caller has recorded the condition for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil, floor, lcm

from flint import fmpq, fmpz

from certgrad.language.functions import FUNCTIONS

from .atoms import Base, Dim, Exp, Fn, IndexNumber, Num
from .budget import budget
from .determined import in_lanes
from .exponents import Exponent, exponent
from .functions import WHOLE_VALUED
from .index import Ix
from .index_terms import as_index, index_pred
from .law import Law, applied
from .polynomials import ONE, Accumulator, Atom, Mono, Poly, mono_positive, monomial, number, poly_of
from .predicates import INDEX_PREDICATES, PREDICATES, Pred, Side
from .session import Memo, intern

_contents: Memo[tuple[Poly, bool], tuple[fmpq, dict[Atom, Exponent], Poly]] = Memo()


def content(poly: Poly, only_positive: bool = False) -> tuple[fmpq, dict[Atom, Exponent], Poly]:
    """Return (c, {a: e}, rest) with poly = c · Πaᵉ · rest, where the terms of `rest` have no common factor.

    The first coefficient of `rest` is 1. With `only_positive`, only positive factors are taken out, c > 0, and the
    first coefficient is 1 or −1.
    """
    factors = _contents.table.get((poly, only_positive))
    if factors is None:
        factors = _contents.table[poly, only_positive] = _content(poly, only_positive)
    return factors


def _content(poly: Poly, only_positive: bool) -> tuple[fmpq, dict[Atom, Exponent], Poly]:
    """Return `content`: each atom comes out with its least exponent in any of the terms, x⁻¹ + 1 = x⁻¹·(1 + x)."""
    items = poly.sorted_items()
    if not items:
        return fmpq(1), {}, poly
    common: dict[Atom, Exponent] | None = None
    for mono, _ in items:
        factors = dict(mono)
        if common is None:
            common = dict(factors)
            continue
        for a in list(common):
            common[a] = min(common[a], factors.get(a, 0))  # an atom that is missing has the exponent 0
        for a, e in factors.items():
            if a not in common and e < 0:
                common[a] = e
    assert common is not None
    taken: dict[Atom, Exponent] = {}
    for a, e in common.items():
        if e == 0 or type(a) in PREDICATES:
            continue
        if e < 0 and in_lanes(a) and not all(a in dict(m) for m, _ in items):
            continue  # multiplying by it would lose the lanes that do not divide by it (see `cleared`)
        if only_positive and not a.positive:
            continue
        taken[a] = e
    rest = times_power(poly, {a: -e for a, e in taken.items()}) if taken else poly
    if rest.is_zero:  # a divisor with predicates inside, 0 in every lane that is left: nothing can be taken out
        taken, rest = {}, poly
    c = rest.sorted_items()[0][1]
    if only_positive:
        c = abs(c)
    return c, taken, rest.scale(1 / c)


def cleared(poly: Poly, fractions: bool = False) -> tuple[Poly, dict[Atom, int]]:
    """Return (N, {a: k}) with poly = N · Π a⁻ᵏ and k > 0: the term with its denominators cleared.

    N has no sum to a power of −1 or less. With `fractions`, exponents of sums in N are in [0, 1): as far as the atoms
    are independent, N is then zero exactly where its coefficients are. A divisor with predicates is not cleared: it can
    be 0 in a lane that does not divide by it, and a product with 0 would lose that lane.
    """
    denominators: dict[Atom, int] = {}
    for _ in range(64):
        worst: dict[Atom, int] = {}
        for mono in poly:
            for a, e in mono:
                if type(a) is Base and (e <= -1 or (fractions and e < 0)) and not in_lanes(a):
                    worst[a] = max(worst.get(a, 0), ceil(-e))
                elif fractions and type(a) is Fn and a.name == "cbrt" and e < 0:
                    worst[a] = max(worst.get(a, 0), 3 * ceil(Fraction(-e) / 3))
        if not worst:
            return poly, denominators
        poly = times_power(poly, worst)
        for a, k in worst.items():
            denominators[a] = denominators.get(a, 0) + k
    raise ArithmeticError("nested denominators did not clear")


def times_power(poly: Poly, factor: Mapping[Atom, Exponent]) -> Poly:
    """Return the term times powers of atoms; the exponents are added to those that the atoms have in the term."""
    total = Accumulator()
    for mono, c in poly.items():
        exponents = dict(mono)
        total.add_poly(monomial(exponents | {a: exponents.get(a, 0) + k for a, k in factor.items()}), c)
    return total.poly()


def power(poly: Poly, e: Exponent) -> Poly:
    """Return polyᵉ for rational e. Raises UndefinedTermError for 0 to a negative or fractional power."""
    e = exponent(e)
    if e == 1:
        return poly
    if (c := poly.constant()) is not None and c not in (0, 1, -1):  # a power of a number takes time by its digits
        budget.spend(ceil(abs(Fraction(e))) * (int(c.p).bit_length() + int(c.q).bit_length()) // 64)
    if isinstance(e, int) and e >= 0:
        return poly**e
    if poly.is_zero:
        raise UndefinedTermError("0 to a negative or fractional power")
    if poly.structured and len(poly) < 9 and (forms := _by_index_cases(poly, e)) is not None:
        return forms
    return _integer_power(poly, e) if isinstance(e, int) else _fractional_power(poly, e)


def _by_index_cases(poly: Poly, e: Exponent) -> Poly | None:
    """Return a power of a polynomial in index conditions alone, value by value; None where a value is 0."""
    atoms = {a for m in poly for a, _ in m}
    if not atoms or not all(type(a) in INDEX_PREDICATES for a in atoms):
        return None
    a = min(atoms, key=lambda a: a.key)
    at_zero = Poly({m: c for m, c in poly.items() if a not in dict(m)})
    at_one = at_zero
    for m, c in poly.items():
        if a in dict(m):
            at_one = at_one + monomial({b: k for b, k in m if b is not a}).scale(c)
    if at_zero.is_zero or at_one.is_zero:
        return None
    low, high = (p if p == ONE else power(p, e) for p in (at_zero, at_one))  # (1 + [i = j])⁻¹: 1 and ½, 1 − ½·[i = j]
    return low + poly_of(a) * (high - low)


class UndefinedTermError(ArithmeticError):
    """A term that is undefined for every input, such as 1/0."""


def _integer_power(poly: Poly, e: int) -> Poly:
    """Return a term to a negative whole power: a product by its factors, a sum, without common factors, as one atom."""
    single = poly.single()
    if single and not any(type(a) in PREDICATES for a, _ in single[0]):
        mono, c = single
        if len(mono) + (c != 1) > 1:
            applied(Law.POWER_OF_PRODUCT)
        return monomial({a: k * e for a, k in mono}).scale(c**e)
    if single:  # a product with a predicate, which is 0 in some lanes
        return poly_of(intern(Base(poly)), e)
    numerator, denominators = cleared(poly)
    if numerator.is_zero:
        raise UndefinedTermError("0 to a negative power")
    result = ONE
    if denominators:
        applied(Law.POWER_OF_PRODUCT)
    for base, k in denominators.items():
        result = result * poly_of(base, -k * e)
    if len(numerator) == 1:  # without the denominators it is a product
        return result * _integer_power(numerator, e)
    c, taken, rest = content(numerator)
    if taken or c != 1:
        applied(Law.POWER_OF_PRODUCT)
    result = result * monomial({a: k * e for a, k in taken.items()}).scale(c**e)
    if len(rest) == 1:
        return result * _integer_power(rest, e)
    return result * poly_of(intern(Base(rest)), e)


def _fractional_power(poly: Poly, e: Fraction) -> Poly:
    """Return a fractional power of a term. Factors that are not known to be ≥ 0 stay together under one root."""
    single = poly.single()
    if single is not None:
        return _fractional_power_of_product(*single, e)
    numerator, denominators = cleared(poly)
    if denominators and all(a.positive for a in denominators):
        applied(Law.POWER_OF_PRODUCT)
        result = power(numerator, e)
        for base, whole_power in denominators.items():
            result = result * power(poly_of(base), -whole_power * e)
        return result
    c, taken, rest = content(poly, only_positive=True)
    if taken or c != 1:
        applied(Law.POWER_OF_PRODUCT)
    result = number_power(c, e) * monomial({a: exponent(k * e) for a, k in taken.items()})
    if len(rest) == 1:
        return result * _fractional_power(rest, e)
    return result * poly_of(intern(Base(rest)), e)


def _fractional_power_of_product(mono: Mono, c: fmpq, e: Fraction) -> Poly:
    """Return (c·mono)ᵉ: the powers of those factors that have one by themselves, and one root of the others."""
    if len(mono) + (c != 1) > 1:
        applied(Law.POWER_OF_PRODUCT)
    result = number_power(abs(c), e)
    under_root: list[tuple[Atom, Exponent]] = []
    for a, k in mono:
        if a.positive or (isinstance(k, Fraction)):  # a fractional power has a value only where its base is ≥ 0
            if k != 1:
                applied(Law.POWER_OF_POWER)
            result = result * monomial({a: exponent(k * e)})
        elif isinstance(k, int) and k % 2 == 0 and isinstance(exponent(k * e), int):
            whole_power = int(k * e)
            applied(Law.POWER_OF_EVEN_POWER)
            result = result * monomial({a: whole_power})
            if whole_power % 2:
                result = result * sign_of(poly_of(a))  # (x²)^½ = |x| = x·sign(x)
        elif type(a) in PREDICATES and e > 0:
            result = result * poly_of(a)  # [φ]^e = [φ] for e > 0
        else:
            under_root.append((a, k))
    return result if c > 0 and not under_root else result * _root(under_root, e, negative=c < 0)


def _root(factors: list[tuple[Atom, Exponent]], e: Fraction, negative: bool) -> Poly:
    """Return a fractional power of a product, or of its negative, as one atom."""
    if len(factors) == 1 and not negative:
        a, k = factors[0]
        if isinstance(k, int) and k % 2 and type(a) not in PREDICATES:  # aᵏ is non-negative exactly where a is
            if k != 1:
                applied(Law.POWER_OF_POWER)
            return monomial({a: exponent(k * e)})
    return poly_of(intern(Base(monomial(dict(factors)).scale(-1 if negative else 1))), e)


def number_power(c: fmpq, e: Exponent) -> Poly:
    """Return cᵉ for a positive rational c, as a product of prime powers: primes carry the fractional exponents."""
    if c == 1:
        return ONE
    factors: dict[Atom, Exponent] = {}
    for part, sign in ((c.p, 1), (c.q, -1)):
        for prime, k in fmpz(part).factor():
            factors[intern(Num(str(prime)))] = exponent(Fraction(int(k) * sign) * e)
    return monomial(factors)


def exp_of(poly: Poly) -> Poly:
    """Return exp of a term: Π exp(m)ᶜ for Σ c·m, pᶜ for c·log p, p/W(p) for Lambert's W(p), whose rule asks p ≠ 0."""
    result = ONE
    if len(poly) > 1 or any(c != 1 for _, c in poly.items()):
        applied(Law.EXP_OF_SUM)
    for mono, c in poly.items():
        c_exponent = exponent(Fraction(int(c.p), int(c.q)))
        alone = mono[0][0] if len(mono) == 1 and mono[0][1] == 1 else None
        if isinstance(alone, Fn) and alone.name == "log":
            applied(Law.EXP_OF_LOG)
            result = result * power(alone.args[0], c_exponent)
        elif isinstance(alone, Fn) and alone.name == "lambertw" and isinstance(c_exponent, int):
            applied(Law.EXP_OF_LAMBERTW)
            result = result * power(alone.args[0] * poly_of(alone, -1), c_exponent)
        else:
            result = result * poly_of(intern(Exp(mono)), c_exponent)
    return result


def log_of(poly: Poly) -> Poly:
    """Return log of a term, with positive factors split off. Raises UndefinedTermError for a number ≤ 0."""
    c = poly.constant()
    if c is not None:
        if c <= 0:
            raise UndefinedTermError(f"log of {c}")
        return log_number(c)
    numerator = poly
    denominators: dict[Atom, int] = {}
    if all(a.positive for m in poly for a, e in m if type(a) is Base and e <= -1):  # log(N/D) = log N − log D
        numerator, denominators = cleared(poly)
    c, taken, rest = content(numerator, only_positive=True)
    if taken or denominators or c != 1:
        applied(Law.LOG_OF_PRODUCT)
    result = log_number(c)
    for base, whole in denominators.items():
        result = result - log_atom(base).scale(whole)
    for a, k in taken.items():
        result = result + log_atom(a).scale(fmpq(Fraction(k).numerator, Fraction(k).denominator))
    if rest == ONE:
        return result
    single = rest.single()
    if single and single[1] == 1 and len(single[0]) == 1:
        a, k = single[0][0]
        if isinstance(k, Fraction) or k % 2:  # aᵏ > 0 says a > 0, so that log aᵏ = k·log a
            if k != 1:
                applied(Law.LOG_OF_POWER)
            return result + poly_of(intern(Fn("log", (poly_of(a),)))).scale(
                fmpq(Fraction(k).numerator, Fraction(k).denominator)
            )
    turned = _turned(rest)
    if turned is not None:
        applied(Law.LOG_OF_TURNED)
        condition, p = turned
        return result + log_of(ONE + exp_of(p)) - condition * p
    return result + poly_of(intern(Fn("log", (rest,))))


def _turned(poly: Poly) -> tuple[Poly, Poly] | None:
    """Return (φ, p) for a term 1 + exp(q), where q is (1 − 2·φ)·p, or −|p| and φ is [p > 0]; None for other terms."""
    if not poly.piecewise or len(poly) != 2 or poly.coefficient(()) != 1:
        return None
    ((mono, c),) = (term for term in poly.items() if term[0])
    if c != 1 or not all(isinstance(a, Exp) for a, _ in mono):
        return None
    q = sum((Poly({a.mono: number(e).constant()}) for a, e in mono if isinstance(a, Exp)), Poly({}))
    conditions = sorted({a for m in q for a, _ in m if isinstance(a, Pred)}, key=lambda a: a.key)
    for a in conditions:
        p = Poly({m: k for m, k in q.items() if all(b is not a for b, _ in m)})
        if q == p - (poly_of(a) * p).scale(2):
            return poly_of(a), p
        opposite = pred(-a.poly)
        beside = Poly({tuple((b, e) for b, e in m if b is not a): -k for m, k in q.items() if (a, 1) in m})
        if q == (opposite - poly_of(a)) * beside and _is_multiple(beside, a.poly):
            return poly_of(a), beside
    return None


def _is_multiple(poly: Poly, of: Poly) -> bool:
    """Return whether the term is a number times the term `of`."""
    mono, c = next(iter(of.items()))
    return poly == of.scale(poly.coefficient(mono) / c)


def log_number(c: fmpq) -> Poly:
    result = Poly({})
    for part, sign in ((c.p, 1), (c.q, -1)):
        for prime, k in fmpz(part).factor():
            result = result + poly_of(intern(Fn("log", (number(int(prime)),)))).scale(int(k) * sign)
    return result


def log_atom(a: Atom) -> Poly:
    if isinstance(a, Exp):
        return Poly({a.mono: fmpq(1)})
    if isinstance(a, Num) and a.name != "pi":
        return poly_of(intern(Fn("log", (number(int(a.name)),))))
    if isinstance(a, Base):
        return poly_of(intern(Fn("log", (a.poly,))))
    return poly_of(intern(Fn("log", (poly_of(a),))))


_predicates: Memo[Poly, Poly] = Memo()


def pred(poly: Poly) -> Poly:
    """Return [poly > 0] without positive factors inside; for a term of indices alone, a condition on indices."""
    predicate = _predicates.table.get(poly)
    if predicate is None:
        predicate = _predicates.table[poly] = _pred(poly)
    return predicate


def _pred(poly: Poly) -> Poly:
    """Return [poly > 0] as a term, without factors that are positive; 1 or 0 where its sign is known by its form."""
    c = poly.constant()
    if c is not None:
        return ONE if c > 0 else Poly({})
    numerator = poly
    if all(a.positive for m in poly for a, e in m if type(a) is Base and e <= -1):
        numerator, _ = cleared(poly)
        if numerator.is_zero:
            return Poly({})
    c, taken, rest = content(numerator, only_positive=True)
    if taken or c != 1 or numerator is not poly:
        applied(Law.POSITIVE_FACTOR)
    single = rest.single()
    if single:
        mono, c = single
        if mono_positive(mono):
            return ONE if c > 0 else Poly({})
        if len(mono) == 1 and type(mono[0][0]) in PREDICATES:
            return rest if c > 0 else Poly({})
    if rest.positive or (-rest).positive:
        return ONE if rest.positive else Poly({})
    for a, _ in rest.sorted_items()[0][0]:
        if type(a) is Pred and rest == a.poly * ((positive := pred(a.poly)) - (negative := pred(-a.poly))):
            applied(Law.SIGN_OF_PRODUCT)
            return positive + negative  # |p| > 0
    ix = _as_index(rest)
    return poly_of(intern(Pred(rest))) if ix is None else index_pred(ix.shifted(-ONE))


def _as_index(poly: Poly) -> Ix | None:
    """Return a positive multiple of the term as an index expression; None if it is not of indices and sizes alone."""
    kinds = {type(a) for mono in poly for a, _ in mono}
    if IndexNumber not in kinds or not kinds <= {IndexNumber, Dim}:
        return None
    return as_index(poly.scale(lcm(*(int(c.q) for _, c in poly.items()))))


def side(poly: Poly) -> Poly:
    """Return [poly > 0] as it stands in a derivative: as the atom `Side`, whose value at poly = 0 is left open."""
    plain = pred(poly)
    atom = plain.atom()
    return poly_of(intern(Side(atom.poly))) if isinstance(atom, Pred) else plain


def sign_of(poly: Poly) -> Poly:
    """Return sign(p) = [p > 0] − [−p > 0]."""
    return pred(poly) - pred(-poly)


_ROUNDINGS: dict[str, Callable[[Fraction], int]] = {"floor": floor, "round_even": round}


def fn(name: str, *args: Poly) -> Poly:
    """Return a named function of terms, simplified by what is known of the function.

    By parity (sin(−x) = −sin(x)), by whole numbers in floor and whole turns in sin and cos, by values as atan(1) = π/4.
    """
    if name == "whole_power":
        return _whole_power(*args)
    if name == "igamma" and args[1].is_zero:
        return args[1]
    if len(args) == 1:
        (p,) = args
        record = FUNCTIONS.get(name)
        if p.is_zero and record is not None and record.at_zero is not None:
            return number(record.at_zero)
        c = p.constant()
        if c is not None and name in _ROUNDINGS:
            return number(_ROUNDINGS[name](Fraction(int(c.p), int(c.q))))
        if name == "floor" and (integers := _whole_part(p)) is not None:
            applied(Law.FLOOR_OF_SHIFTED)
            return fn(name, p - integers) + integers
        if name in _OF_TURNS and (turns := _turns(p)) is not None:
            applied(Law.WHOLE_TURNS)
            return fn(name, p - turns)
        if record is not None and record.parity and p.sorted_items() and _leading(p) < 0:
            applied(Law.PARITY)
            return fn(name, -p).scale(-1 if record.parity == "odd" else 1)
        special = _SPECIAL.get((name, p.key))
        if special is not None:
            return special[0](special[1])
    return poly_of(intern(Fn(name, args)))


_OF_TURNS = frozenset({"sin", "cos"})


def _turns(poly: Poly) -> Poly | None:
    """Return the sum of those summands that are 2π times a whole number; None if there are none."""
    turns = {}
    for mono, c in poly.items():
        factors = [(a, e) for a, e in mono if not (type(a) is Num and a.name == "pi" and e == 1)]
        if len(factors) + 1 == len(mono) and c.q == 1 and c.p % 2 == 0 and all(_is_whole(a, e) for a, e in factors):
            turns[mono] = c
    return Poly(turns) if turns else None


def _is_whole(a: Atom, e: Exponent) -> bool:
    whole = isinstance(a, Dim | IndexNumber) or (type(a) is Fn and a.name in WHOLE_VALUED)
    return whole and isinstance(e, int) and e > 0


def _whole_part(poly: Poly) -> Poly | None:
    """Return the sum of those summands that are integers by their form; None if there are none."""
    integers = {m: c for m, c in poly.items() if c.q == 1 and all(_is_whole(a, e) for a, e in m)}
    return Poly(integers) if integers else None


def is_integer_term(poly: Poly) -> bool:
    """Return whether the term is an integer by its form: every summand is one."""
    return all(c.q == 1 and all(_is_whole(a, e) for a, e in m) for m, c in poly.items())


def _whole_power(x: Poly, k: Poly) -> Poly:
    """Return xᵏ for an integer term k and x ≠ 0: exp(k·log x) for a positive x, else x^(k − c)·xᶜ with k = c + …."""
    if x.positive:
        return exp_of(log_of(x) * k)
    c = dict(k.items()).get((), fmpq(0))
    if c.q != 1 or c == 0:
        return poly_of(intern(Fn("whole_power", (x, k)))) if not k.is_zero else ONE
    return _whole_power(x, k - number(c)) * power(x, int(c.p))


def _leading(poly: Poly) -> fmpq:
    return poly.sorted_items()[0][1]


def _pi_times(c: Fraction) -> Poly:
    return poly_of(intern(Num("pi"))).scale(fmpq(c.numerator, c.denominator))


_SPECIAL: dict[tuple[str, str], tuple[Callable[[Fraction], Poly], Fraction]] = {
    ("atan", "1"): (_pi_times, Fraction(1, 4)),
    ("asin", "1"): (_pi_times, Fraction(1, 2)),
    ("acos", "-1"): (_pi_times, Fraction(1)),
    ("acos", "0"): (_pi_times, Fraction(1, 2)),
    ("lgamma", "1"): (number, Fraction(0)),
    ("lgamma", "2"): (number, Fraction(0)),
}
