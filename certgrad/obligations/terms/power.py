"""Powers, exp and log of polynomials, and predicates: the constructors that know algebra.

Each returns a term equal to its definition wherever that definition makes sense; the conditions for that are recorded
by the caller, before any of these simplifications.
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
from .polynomials import ONE, Accumulator, Atom, Poly, mono_positive, monomial, number, poly_of
from .predicates import INDEX_PREDICATES, PREDICATES, Pred, Side
from .session import Memo, intern

_contents: Memo[tuple[Poly, bool], tuple[fmpq, dict[Atom, Exponent], Poly]] = Memo()


def content(poly: Poly, only_positive: bool = False) -> tuple[fmpq, dict[Atom, Exponent], Poly]:
    """poly = c · Πaᵉ · rest, with `rest` free of common factors and its first coefficient ±1.

    That coefficient is +1. With `only_positive`, only positive factors are taken out, c > 0, and it is ±1.
    """
    found = _contents.table.get((poly, only_positive))
    if found is None:
        found = _contents.table[poly, only_positive] = _content(poly, only_positive)
    return found


def _content(poly: Poly, only_positive: bool) -> tuple[fmpq, dict[Atom, Exponent], Poly]:
    """Return the largest c·m with poly = c·m·rest, for a number c and a monomial m of atoms that may be divided by."""
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
            common[a] = min(common[a], factors.get(a, 0))
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
    """Return N, and atoms a with k > 0: poly = N · Π a⁻ᵏ, with N free of negative whole powers of sums.

    With `fractions`, negative fractional powers are cleared too, so that each sum's exponents in N are in [0, 1):
    then N is zero exactly where its coefficients are, as far as the atoms are independent.
    A divisor with predicates is left alone: it can be 0 in a lane that does not divide by it, which would be lost.
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
    """The term times powers of atoms, whose exponents are added to those that they have in it."""
    total = Accumulator()
    for mono, c in poly.items():
        own = dict(mono)
        total.add_poly(monomial(own | {a: own.get(a, 0) + k for a, k in factor.items()}), c)
    return total.poly()


def power(poly: Poly, e: Exponent) -> Poly:
    """Return polyᵉ for rational e."""
    e = exponent(e)
    if e == 1:
        return poly
    if (c := poly.constant()) is not None and c not in (0, 1, -1):
        budget.spend(ceil(abs(Fraction(e))) * (int(c.p).bit_length() + int(c.q).bit_length()) // 64)
    if isinstance(e, int) and e >= 0:
        return poly**e
    if poly.is_zero:
        raise UndefinedTermError("0 to a negative or fractional power")
    if poly.structured and len(poly) < 9 and (forms := _by_index_cases(poly, e)) is not None:
        return forms
    return _integer_power(poly, e) if isinstance(e, int) else _fractional_power(poly, e)


def _by_index_cases(poly: Poly, e: Exponent) -> Poly | None:
    """A power of a polynomial in index conditions alone, none of whose values is 0: (1 + [i = j])⁻¹ = 1 − ½·[i = j]."""
    atoms = {a for m in poly for a, _ in m}
    if not atoms or not all(type(a) in INDEX_PREDICATES for a in atoms):
        return None
    a = min(atoms, key=lambda a: a.key)
    without = Poly({m: c for m, c in poly.items() if a not in dict(m)})
    there = without
    for m, c in poly.items():
        if a in dict(m):
            there = there + monomial({b: k for b, k in m if b is not a}).scale(c)
    if without.is_zero or there.is_zero:
        return None
    low, high = (p if p == ONE else power(p, e) for p in (without, there))
    return low + poly_of(a) * (high - low)


class UndefinedTermError(ArithmeticError):
    """A term that is undefined for every input, such as 1/0."""


def _integer_power(poly: Poly, e: int) -> Poly:
    """Return a power of a term to a negative whole number: of a product by its factors, of a sum as one atom."""
    single = poly.single()
    if single and not any(type(a) in PREDICATES for a, _ in single[0]):
        mono, c = single
        if len(mono) + (c != 1) > 1:
            applied(Law.POWER_OF_PRODUCT)
        return monomial({a: k * e for a, k in mono}).scale(c**e)
    if single:
        return poly_of(intern(Base(poly)), e)
    numerator, denominators = cleared(poly)
    if numerator.is_zero:
        raise UndefinedTermError("0 to a negative power")
    result = ONE
    if denominators:
        applied(Law.POWER_OF_PRODUCT)
    for base, k in denominators.items():
        result = result * poly_of(base, -k * e)
    if len(numerator) == 1:
        return result * _integer_power(numerator, e)
    c, taken, rest = content(numerator)
    if taken or c != 1:
        applied(Law.POWER_OF_PRODUCT)
    result = result * monomial({a: k * e for a, k in taken.items()}).scale(c**e)
    if len(rest) == 1:
        return result * _integer_power(rest, e)
    return result * poly_of(intern(Base(rest)), e)


def _fractional_power(poly: Poly, e: Fraction) -> Poly:
    """Return a fractional power of a term. Factors that are not known to be ≥ 0 stay under one root."""
    single = poly.single()
    if single is None:
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
    mono, c = single
    if len(mono) + (c != 1) > 1:
        applied(Law.POWER_OF_PRODUCT)
    result = number_power(abs(c), e)
    under_root: list[tuple[Atom, Exponent]] = []
    for a, k in mono:
        if a.positive or (isinstance(k, Fraction)):
            # A fractional power is only defined where its base is not negative.
            if k != 1:
                applied(Law.POWER_OF_POWER)
            result = result * monomial({a: exponent(k * e)})
        elif isinstance(k, int) and k % 2 == 0 and isinstance(exponent(k * e), int):
            whole_power = int(k * e)
            applied(Law.POWER_OF_EVEN_POWER)
            result = result * monomial({a: whole_power})
            if whole_power % 2:
                result = result * sign_of(poly_of(a))
        elif type(a) in PREDICATES:
            if e < 0:
                under_root.append((a, k))
            else:
                result = result * poly_of(a)
        else:
            under_root.append((a, k))
    if not under_root:
        if c < 0:
            result = result * poly_of(intern(Base(number(-1))), e)
        return result
    if (
        len(under_root) == 1
        and c > 0
        and isinstance(under_root[0][1], int)
        and under_root[0][1] % 2
        and type(under_root[0][0]) not in PREDICATES
    ):
        a, k = under_root[0]  # an odd power is non-negative exactly where its base is
        if k != 1:
            applied(Law.POWER_OF_POWER)
        return result * monomial({a: exponent(k * e)})
    rest = monomial(dict(under_root)).scale(1 if c > 0 else -1)
    return result * poly_of(intern(Base(rest)), e)


def number_power(c: fmpq, e: Exponent) -> Poly:
    """Return cᵉ for a positive rational c: primes carry the fractional exponents."""
    if c == 1:
        return ONE
    factors: dict[Atom, Exponent] = {}
    for part, sign in ((c.p, 1), (c.q, -1)):
        for prime, k in fmpz(part).factor():
            factors[intern(Num(str(prime)))] = exponent(Fraction(int(k) * sign) * e)
    return monomial(factors)


def exp_of(poly: Poly) -> Poly:
    """exp(Σ c·m) = Π exp(m)ᶜ; exp(c·log p) = pᶜ; exp(W(p)) = p/W(p) for Lambert's W, whose row asks for p ≠ 0."""
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
    """Return log of a term, with factors split off that are positive by their form."""
    c = poly.constant()
    if c is not None:
        if c <= 0:
            raise UndefinedTermError(f"log of {c}")
        return log_number(c)
    numerator = poly
    denominators: dict[Atom, int] = {}
    if all(a.positive for m in poly for a, e in m if type(a) is Base and e <= -1):
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
        if isinstance(k, Fraction) or k % 2:
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
    """Return (φ, p) where the term is 1 + exp(q), and q is (1 − 2·φ)·p for a condition φ, or −|p| for φ = [p > 0]."""
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
    """Return whether the term is a number times another one."""
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
    """[poly > 0], with positive factors dropped from the inside; of indices alone, the condition on them that it is."""
    found = _predicates.table.get(poly)
    if found is None:
        found = _predicates.table[poly] = _pred(poly)
    return found


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
        if type(a) is Pred and rest == a.poly * ((there := pred(a.poly)) - (opposite := pred(-a.poly))):
            applied(Law.SIGN_OF_PRODUCT)
            return there + opposite  # |p| > 0
    ix = _as_index(rest)
    return poly_of(intern(Pred(rest))) if ix is None else index_pred(ix.shifted(-ONE))


def _as_index(poly: Poly) -> Ix | None:
    """Return a positive multiple of the term as an index expression, where it is made of indices and sizes."""
    kinds = {type(a) for mono in poly for a, _ in mono}
    if IndexNumber not in kinds or not kinds <= {IndexNumber, Dim}:
        return None
    return as_index(poly.scale(lcm(*(int(c.q) for _, c in poly.items()))))


def side(poly: Poly) -> Poly:
    """Return [poly > 0] as it stands in a derivative."""
    plain = pred(poly)
    atom = plain.atom()
    return poly_of(intern(Side(atom.poly))) if isinstance(atom, Pred) else plain


def sign_of(poly: Poly) -> Poly:
    """sign(p) = [p > 0] − [−p > 0]."""
    return pred(poly) - pred(-poly)


_ROUNDINGS: dict[str, Callable[[Fraction], int]] = {"floor": floor, "round_even": round}


def fn(name: str, *args: Poly) -> Poly:
    """Return a named function applied, with a canonical sign of its argument where the function is odd or even.

    Whole numbers come out of floor, and out of the exponent of an integer power of x (there x ≠ 0).
    """
    if name == "whole_power":
        return _whole_power(*args)
    if name == "igamma" and args[1].is_zero:
        return args[1]
    if len(args) == 1:
        (p,) = args
        known = FUNCTIONS.get(name)
        if p.is_zero and known is not None and known.at_zero is not None:
            return number(known.at_zero)
        c = p.constant()
        if c is not None and name in _ROUNDINGS:
            return number(_ROUNDINGS[name](Fraction(int(c.p), int(c.q))))
        if name == "floor" and (integers := _whole_part(p)) is not None:
            applied(Law.FLOOR_OF_SHIFTED)
            return fn(name, p - integers) + integers
        if name in _OF_TURNS and (turns := _turns(p)) is not None:
            applied(Law.WHOLE_TURNS)
            return fn(name, p - turns)
        if known is not None and known.parity and p.sorted_items() and _leading(p) < 0:
            applied(Law.PARITY)
            return fn(name, -p).scale(-1 if known.parity == "odd" else 1)
        special = _SPECIAL.get((name, p.key))
        if special is not None:
            return special[0](special[1])
    return poly_of(intern(Fn(name, args)))


_OF_TURNS = frozenset({"sin", "cos"})


def _turns(poly: Poly) -> Poly | None:
    """Return the summands that are 2π times a whole number; None if there are none."""
    kept = {}
    for mono, c in poly.items():
        others = [(a, e) for a, e in mono if not (type(a) is Num and a.name == "pi" and e == 1)]
        if len(others) + 1 == len(mono) and c.q == 1 and c.p % 2 == 0 and all(_is_whole(a, e) for a, e in others):
            kept[mono] = c
    return Poly(kept) if kept else None


def _is_whole(a: Atom, e: Exponent) -> bool:
    known = isinstance(a, Dim | IndexNumber) or (type(a) is Fn and a.name in WHOLE_VALUED)
    return known and isinstance(e, int) and e > 0


def _whole_part(poly: Poly) -> Poly | None:
    """Return the integers among the summands: constants, dimensions, indices, integer parts; else None."""
    kept = {m: c for m, c in poly.items() if c.q == 1 and all(_is_whole(a, e) for a, e in m)}
    return Poly(kept) if kept else None


def is_integer_term(poly: Poly) -> bool:
    """Return whether the term is an integer by its form: what `_whole_part` finds is all of it."""
    return all(c.q == 1 and all(_is_whole(a, e) for a, e in m) for m, c in poly.items())


def _whole_power(x: Poly, k: Poly) -> Poly:
    """xᵏ for an integer term k and x ≠ 0: exp(k·log x) where x is positive by its form."""
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
