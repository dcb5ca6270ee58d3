"""The arithmetic of one point: a point of the reals decides what is compared and defined, one of a field what is equal.

What the laws of fields, of exp, log, roots, sine and cosine make equal is equal here, at every point. What they do not
is unequal at almost every point (docs/exact.md). Other functions are random oracles: of equal arguments they have equal
values, and their derivatives are what they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import arb

from certgrad.language.arithmetic import UndefinedError, UnfitError

from ._field import Field, is_multiple, sum_of
from ._number import PI, Infinite, NoConstantRootError, NoRootError, NoSlopeError, Number, OpenError
from ._primes import ODD_ROOTS, OF_CIRCLE, TURN, P, Q, inverse, is_square, power, root_of_exponent, turned_by

HALF = Fraction(1, 2)
_SQUARED_COSINES = {
    Fraction(0): 1,
    Fraction(1, 6): Fraction(3, 4),
    Fraction(1, 4): HALF,
    Fraction(1, 3): Fraction(1, 4),
}
_SQUARED_COSINES[HALF] = Fraction(0)
"""cos² of parts of π whose cosine is made of roots, by the part."""
LARGEST_POWER = 64
"""The largest integer power that is multiplied out; a program with a larger one is outside of exact evaluation."""
MOST_ROOTS = 5
"""How many of the latest numbers with roots are combined to products, of which another number may be one."""


@lru_cache(maxsize=4096)
def _factors(n: int) -> tuple[tuple[int, int], ...]:
    """Return an integer above 0 as small primes and the remaining factor."""
    out, k = [], 2
    while n > 1 and k < 1000:
        times = 0
        while n % k == 0:
            n, times = n // k, times + 1
        if times:
            out.append((k, times))
        k += 1
    return (*out, (n, 1)) if n > 1 else tuple(out)


Expansion = tuple[dict[int, Fraction], Any]
"""Powers of positive numbers, and the exponent of an exp with which their product is multiplied."""


class Model(Field):
    """The field with functions that have laws, and oracles for all other functions.

    With `free`, the greater of two numbers is an oracle as well, with its tangent; with `signs`, so is the sign of a
    number.
    """

    real_alone = False
    """Whether the real numbers alone count, so that a number that is no square of the field is taken for one."""

    def __init__(self, free: bool = False, signs: bool = False) -> None:
        self.is_free, self.has_free_signs = free, signs
        super().__init__()

    def sign(self, u: Any) -> Any:
        if self.has_free_signs:
            if self.is_zero(u):
                raise OpenError("equal numbers are compared")
            return self.oracle("sign", (u,), arb.tanh, "odd") if isinstance(u, Number) else self.order(u, 0)
        return self.order(u, 0)

    def maximum(self, u: Any, v: Any) -> Any:
        """Return the greater number; in a free model an oracle of both, whose tangent is an oracle too."""
        if not self.is_free or isinstance(u, Infinite) or isinstance(v, Infinite) or Number not in (type(u), type(v)):
            return super().maximum(u, v)
        u, v = self.lifted(u), self.lifted(v)
        out = self.oracle("maximum", (u, v), arb.max).still()
        if u.d is not None or v.d is not None:
            out.d = self.residue("how a maximum moves", u.a, v.a, u.d, v.d)
            out.dx = (u if u.x.mid() > v.x.mid() else v).dx or arb(0)
        return out

    # --- powers

    def power(self, u: Any, e: Fraction) -> Any:
        """Return u to a rational power. Raises UndefinedError of ∞, and of u < 0 where e is not whole."""
        e = Fraction(e)
        if e == 0 or e == 1:
            return u if e else 1
        if isinstance(u, Infinite):
            raise UndefinedError("a power of ∞")
        if e < 0:
            return self.inverse(self.power(u, -e))
        if e.denominator == 1:
            return self._whole_power(u, e.numerator)
        if (sign := self.order(u, 0)) < 0:
            raise UndefinedError("a power of a negative number")
        if e.denominator == 2:
            return self._whole_power(self.root(u), e.numerator)
        if e.denominator in ODD_ROOTS:
            return self._whole_power(self.odd_root(u, e.denominator), e.numerator)
        return self.exp(self.mul(e, self.log(u))) if sign else self.of_zero(u)

    def of_zero(self, u: Any) -> int:
        """Return 0 for a power or a root of 0, which has no derivative here."""
        if isinstance(u, Number) and u.d is not None:
            raise NoSlopeError("a power of 0")
        return 0

    def _whole_power(self, u: Any, n: int) -> Any:
        """Return uⁿ for n > 0, multiplied out. Raises UnfitError above `LARGEST_POWER`."""
        if not isinstance(u, Number):
            return u**n
        if n > LARGEST_POWER:
            raise UnfitError(f"a power of {n}")
        out = u
        for _ in range(n - 1):
            out = out * u
        return out

    # --- logarithms, exponents and roots

    def _expanded(self, u: Any) -> Expansion:
        """Return a number other than 0, up to its sign, as a product of powers and an exponential.

        Numbers that are equal in the field have the same product, however they were made.
        """
        if not isinstance(u, Number):
            above, below = abs(Fraction(u)).as_integer_ratio()
            factors = (*_factors(above), *((p, -times) for p, times in _factors(below)))
            return {self._atom(self.lifted(p)): Fraction(times) for p, times in factors}, 0
        key = u.a if self.order(u, 0) > 0 else P - u.a
        if key == 1:
            return {}, 0
        if key not in self.expansions:
            self.expansions[key] = self._expansion(u)
        return self.expansions[key]

    def _expansion(self, u: Number) -> Expansion:
        """Return the product by the operation that made the number; a number made by no product is an atom."""
        if u.made is None or u.made is PI:
            return {self._atom(u): Fraction(1)}, 0
        if u.made[0] == "exp":
            return {}, u.made[1].still()
        if u.made[0] == "power":
            powers, exponent = self._expanded(u.made[1])
            return {key: n * u.made[2] for key, n in powers.items()}, self.mul(u.made[2], exponent)
        (first_powers, first_exponent), (second_powers, second_exponent) = map(self._expanded, u.made[1:])
        return sum_of(first_powers, second_powers) or {}, self.add(first_exponent, second_exponent)

    def _atom(self, u: Number) -> int:
        """Return the key of |u| among the positive numbers that are not taken apart further."""
        positive = self.order(u, 0) > 0
        key = u.a if positive else P - u.a
        if key not in self.atoms:
            self.atoms[key] = u.still() if positive else -u.still()
        return key

    def log(self, u: Any) -> Any:
        """Return log u for u > 0. Raises UndefinedError."""
        if self.order(u, 0) <= 0:
            raise UndefinedError("a logarithm of what is not positive")
        powers, total = self._expanded(u)
        for key, n in powers.items():
            logarithm = self._log_of_atom(key)
            logarithm.logs = {key: Fraction(1)}
            total = n * logarithm + total
        return self.moving(self.lifted(total), u, lambda: 1 / u.still()) if isinstance(u, Number) else total

    def _log_of_atom(self, key: int) -> Number:
        logarithm = self.oracle("log", (self.atoms[key],), lambda x: x.log()).still()
        if key in self.logarithms:
            logarithm.b = self.logarithms[key]
            self.exponents.add(logarithm.b)
        return logarithm

    def moving(self, value: Number, u: Number, slope: Callable[[], Any]) -> Number:
        """Return the value of a function of u with its tangent: the derivative that `slope` gives, times that of u."""
        if u.d is None:
            return value
        f = self.lifted(slope())
        out = value.still()
        out.d, out.dx = f.a * u.d % P, f.x * u.dx
        out.top = value.top + value.low + f.top + f.low + u.top + u.low
        out.low = value.low + f.low + u.low
        return out

    def exp(self, u: Any) -> Any:
        """Return exp u: a homomorphism from the exponents' field.

        A summand n·log a of u becomes a factor aⁿ where n is whole or a half, as the field has square roots. `u.b` are
        the residues of u modulo Q. The ball `x` of the real number is exp of u's own ball throughout.
        """
        if isinstance(u, Infinite):
            return 0
        if not isinstance(u, Number):
            if u == 0:
                return 1
            u = self.lifted(u)
        extracted = {key: n for key, n in (u.logs or {}).items() if n.denominator <= 2}
        b = u.b
        for key, n in extracted.items():
            p, q = n.numerator, n.denominator
            log = self._log_of_atom(key)
            b = tuple([(s - p * pow(q, -1, Q) * t) % Q for s, t in zip(b, log.b, strict=True)])
        if any(b):
            value = self._of_exponent(b, u)
            value.x = u.x.exp()
        else:
            value = Number(self, 1, (1,) * self.width, u.x.exp(), top=0)
        for key, n in extracted.items():
            x = value.x
            value = self.lifted(value * self.atoms[key] ** n)
            value.x = x
        value = value.still()
        value.made = ("exp", u.still())
        return self.moving(value, u, value.still)

    def _of_exponent(self, b: tuple[int, ...], u: Number) -> Number:
        if b not in self.exponentials:
            self.exponentials[b] = Number(self, self._exponential(b), self._drawn(("exp", b), Q), u.x, top=1)
            self.exponents.add(b)
            self.degree = max(self.degree, u.top + u.low)
        return self.exponentials[b].still()

    def circle(self, u: Any) -> tuple[Any, Any]:
        """Return the cosine and the sine of u."""
        if not isinstance(u, Number):
            if u == 0:
                return 1, 0
            u = self.lifted(u)
        if u.made is not None and (u.made is PI or (is_multiple(u.made) and u.made[2].made is PI)):
            times = Fraction(1 if u.made is PI else u.made[1])
            if (cosine_by_roots := self._of_part(times)) is not None:
                return cosine_by_roots, self._of_part(times - HALF)
        angle = sum(w * t for w, t in zip(self._weights[1], u.b, strict=True)) % OF_CIRCLE
        self.exponents.add(u.b)
        self.degree = max(self.degree, u.top + u.low)
        c, s = turned_by(TURN, angle)
        cosine = Number(self, c, self._drawn(("circle", c), Q), u.x.cos())
        sine_exponent = self._drawn(("circle up", min(s, P - s)), Q)
        sine = Number(self, s, sine_exponent if 2 * s < P else tuple(-t % Q for t in sine_exponent), u.x.sin())
        return self.moving(cosine, u, lambda: -sine), self.moving(sine, u, lambda: cosine)

    def _of_part(self, times: Fraction) -> Any:
        """Return cos(times·π), where it is made of roots; else None."""
        turned = times % 2
        turned = min(turned, 2 - turned)
        sign = -1 if turned > HALF else 1
        square = _SQUARED_COSINES.get(min(turned, 1 - turned))
        return None if square is None else self.mul(sign, self.power(square, HALF)) if square else 0

    def root(self, u: Any) -> Any:
        """Return √u. Raises UndefinedError if u is negative, and NoRootError where the field has no root."""
        if (sign := self.order(u, 0)) < 0:
            raise UndefinedError("a root of a negative number")
        if not sign:
            return self.of_zero(u)
        powers, exponent = self._expanded(u)
        out = self.exp(self.mul(HALF, exponent))
        for key, n in powers.items():
            half = n / 2
            if half.denominator == 1:
                out = self.mul(out, self.power(self.atoms[key], half))
            else:
                out = self.mul(out, self.power(self._root_of_atom(key), n))
        if not isinstance(u, Number):
            return out
        out = self.lifted(out).still()
        out.x = u.x.sqrt()
        out.made = ("power", u.still(), HALF)
        return self.moving(out, u, lambda: 1 / (2 * out))

    def _root_of_atom(self, key: int) -> Number:
        """Return the root of an atom that is a square itself, and so counts as positive.

        Raises NoRootError where the field has no root of it, NoConstantRootError where that is a constant.
        """
        if key not in self.roots:
            derived = self._of_roots(key)
            if not (derived or self.real_alone or is_square(key)):
                raise NoRootError if self.atoms[key].top else NoConstantRootError("the field has no root of a constant")
            a = power(key, (P + 1) // 4)
            atom = self.atoms[key]
            if key not in self.free and not derived:
                self.before_roots.append(tuple(self.decided))
            a = a if is_square(a) else P - a
            roots = [root_of_exponent(t) for t in atom.b]
            b = tuple(r for r in roots if r is not None) if None not in roots else self._drawn(("root", a), Q)
            self.roots[key] = Number(
                self, a, b, atom.x.sqrt(), None, None, atom.top, atom.low, None, ("power", atom, HALF)
            )
        return self.roots[key]

    def _of_roots(self, key: int) -> bool:
        """Return whether a number has a root as a product of earlier numbers with roots, or of their inverses."""
        products = [1]
        for earlier in list(self.roots)[-MOST_ROOTS:]:
            below = inverse(earlier)
            products += [x * y % P for x in products for y in (earlier, below)]
        self.compared += len(products)
        return key in products

    def odd_root(self, u: Any, k: int) -> Any:
        """Return the k-th root of any number, for an odd k of `ODD_ROOTS`."""
        if not self.order(u, 0):
            return self.of_zero(u)
        u = self.lifted(u)
        a = power(u.a, pow(k, -1, P - 1))
        b = tuple([s * t % Q for s, t in zip(self._drawn(("root", k, min(a, P - a)), Q), u.b, strict=True)])
        x = u.x.root(k) if u.x > 0 else -((-u.x).root(k))
        out = Number(self, a, b, x, None, None, u.top, u.low, None, ("power", u.still(), Fraction(1, k)))
        return self.moving(out, u, lambda: Fraction(1, k) * out / u.still())

    # --- other functions

    def oracle(self, name: str, arguments: Sequence[Any], real: Callable[..., Any], parity: str = "") -> Number:
        """Return the value of an uninterpreted function, without a tangent: a free number, the same at equal arguments.

        `real` computes the enclosure of the real value. With a `parity`, the values at u and −u are one free number, up
        to its sign.
        """
        numbers = [self.lifted(u) for u in arguments]
        residues = [u.a for u in numbers]
        mirrored = parity in ("odd", "even") and 2 * residues[0] > P
        if mirrored:
            residues[0] = P - residues[0]
        key = (name, *residues)
        x = real(*(u.x for u in numbers))
        if not x.is_finite():
            raise OpenError(name)
        if key not in self.oracles:
            self.degree = max(self.degree, *(u.top + u.low for u in numbers))
            a = self._hash(key, "a") % P
            a = a if is_square(a) else P - a
            self.free.add(a)
            self.oracles[key] = Number(self, a, self._drawn(key, Q), x)
        value = self.oracles[key]
        minus = bool(x < 0)  # a positive value is a square, as a positive variable is
        exponents = value.b if not (mirrored and parity == "odd") else tuple(-t % Q for t in value.b)
        return Number(self, P - value.a if minus else value.a, exponents, x)

    def apply(self, function: str, arguments: Sequence[Any]) -> Any:
        from ._functions import applied

        return applied(self, function, list(arguments))
