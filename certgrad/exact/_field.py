"""The field's arithmetic at one point, and comparisons by the reals beside it."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from flint import arb, fmpq

from certgrad.language.arithmetic import UndefinedError, UnfitError

from ._number import INFINITE, PI, Infinite, Number, OpenError
from ._primes import OF_CIRCLE, OF_EXP, SQUARES, P, Q, exponential, inverse, inverse_exponent

Raw = int | Fraction
BYTES = 64
"""Bytes of the hash that a number modulo P or Q is made of."""


@lru_cache(maxsize=4096)
def _residues(value: Raw) -> tuple[int, int]:
    value = Fraction(value)
    return tuple(value.numerator * pow(value.denominator, -1, m) % m for m in (P, Q))  # type: ignore[return-value]


def ball(value: Any) -> arb:
    """Return a ball around the real number that a value stands for."""
    if isinstance(value, Number):
        return value.x
    value = Fraction(value)
    return arb(fmpq(value.numerator, value.denominator))


class Field:
    """Arithmetic of the numbers at one point.

    `width` is how many values modulo Q a number has: more than there are independent exponents.
    """

    undecided: ClassVar[tuple[type[Exception], ...]] = (OpenError,)

    def __init__(self) -> None:
        self.begin("", 1)

    def begin(self, seed: str, width: int) -> None:
        """Start another point, which `seed` determines. A number has `width` values modulo Q."""
        self.seed, self.width = seed, width
        self.tie = False
        """Whether a comparison met equal numbers or a floor a jump, so that the point is special."""
        self.decided: list[int] = []
        """The outcomes of comparisons, and the values of floors, in order."""
        self.oracles: dict[tuple[Any, ...], Number] = {}
        self.exponents: set[tuple[int, ...]] = set()
        """The exponents, modulo Q, at which exp, sine and cosine were evaluated, or which logarithms have."""
        self.exponentials: dict[tuple[int, ...], Number] = {}
        self.atoms: dict[int, Number] = {}
        """Positive numbers of which a logarithm or a root was taken."""
        self.expansions: dict[int, tuple[dict[int, Fraction], Any]] = {}
        """Positive numbers as products: powers of atoms, and the exponent of an exponential."""
        self.free: set[int] = {1, *SQUARES}
        """Positive numbers that are drawn as squares, so that their roots are as free as the numbers."""
        self.logarithms: dict[int, tuple[int, ...]] = {}
        """The exponents of positive numbers that are drawn as exponentials."""
        self.roots: dict[int, Number] = {}
        self.before_roots: list[tuple[int, ...]] = []
        """For each root, the outcomes of the comparisons before it was taken."""
        self.degree = 1
        """The largest degree of an argument of an oracle, or of a comparison."""
        self.compared = 0
        self._weights = self._drawn("weights", OF_EXP), self._drawn("weights", OF_CIRCLE)

    def _hash(self, *key: Any) -> int:
        text = repr((self.seed, key)).encode()
        return int.from_bytes(hashlib.blake2b(text, digest_size=BYTES).digest(), "big")

    def _drawn(self, key: Any, modulus: int) -> tuple[int, ...]:
        """Return `width` random numbers below the modulus, which the point's seed and the key determine."""
        text = repr((self.seed, key, modulus)).encode()
        digest = hashlib.shake_256(text).digest(BYTES * self.width)
        return tuple(int.from_bytes(digest[k * BYTES : (k + 1) * BYTES], "big") % modulus for k in range(self.width))

    # --- what an expression is made of

    def variable(self, key: tuple[Any, ...], x: arb, d: int | None = None, dx: arb | None = None) -> Number:
        """Return a free number of the field with the real value x beside it.

        Its absolute value is a value of exp, so that it has a logarithm whose multiples have exponentials, and a root.
        """
        logarithm = self._drawn((key, "log"), Q)
        a = self._exponential(logarithm)
        self.free.add(a)
        self.logarithms[a] = logarithm
        sign = 1 if x > 0 else -1
        b = tuple([sign * r * r % Q for r in self._drawn(key, Q)])
        return Number(self, a if x > 0 else P - a, b, x, d, dx)

    def drawn(self, key: tuple[Any, ...], x: arb) -> Number:
        """Return a free number such as a cotangent, of which logarithms and roots are rarely taken."""
        return Number(self, self.residue(key), self._drawn(key, Q), x)

    def draws(self, key: Any) -> tuple[int, ...]:
        """Return random numbers modulo Q."""
        return self._drawn(key, Q)

    def _exponential(self, b: tuple[int, ...]) -> int:
        return exponential(sum(w * t for w, t in zip(self._weights[0], b, strict=True)) % OF_EXP)

    def residue(self, *key: Any) -> int:
        """Return a random number modulo P, such as a tangent, which the key determines."""
        return self._hash(key, "a") % P

    def still(self, value: Any) -> Any:
        """Return the value without a tangent."""
        return value.still() if isinstance(value, Number) else value

    def lifted(self, value: Any) -> Number:
        """Return a constant as a number of the model; return a number as it is."""
        if isinstance(value, Number):
            return value
        a, b = _residues(value)
        return Number(self, a, (b,) * self.width, ball(value), top=0)

    def number(self, value: Raw) -> Raw:
        if type(value) is Fraction and value.denominator == 1:
            return value.numerator
        return value

    def entry(self, value: Any) -> Any:
        return value

    def constant(self, name: str) -> Any:
        """Return π, the same number throughout the point, or ±∞. Raises UnfitError for any other name."""
        if name in ("∞", "−∞"):
            return INFINITE[1 if name == "∞" else -1]
        if name == "pi":
            if PI not in self.oracles:
                pi = self.oracles[PI] = self.variable(PI, arb.pi())
                pi.top, pi.made = 0, PI
            return self.oracles[PI]
        raise UnfitError(f"the number '{name}'")

    # --- the field

    def add(self, u: Any, v: Any) -> Any:
        """Return u + v, for numbers of the model, plain rationals and infinities.

        The degrees are those of a sum over the common denominator.
        """
        if not (type(u) is type(v) is Number):
            if type(u) is type(v) is int:
                return u + v
            if isinstance(u, Infinite) or isinstance(v, Infinite):
                return self._infinite_sum(u, v)
            if not isinstance(u, Number) and not isinstance(v, Number):
                return self.number(u + v)
            if not isinstance(u, Number) and u == 0:
                return v
            if not isinstance(v, Number) and v == 0:
                return u
            u, v = self.lifted(u), self.lifted(v)
        logs = u.logs if v.logs is None else v.logs if u.logs is None else sum_of(u.logs, v.logs)
        return Number(
            self,
            (u.a + v.a) % P,
            tuple([(s + t) % Q for s, t in zip(u.b, v.b, strict=True)]),
            u.x + v.x,
            u.d if v.d is None else v.d if u.d is None else (u.d + v.d) % P,
            u.dx if v.dx is None else v.dx if u.dx is None else u.dx + v.dx,
            max(u.top + v.low, v.top + u.low),
            u.low + v.low,
            logs,
        )

    def mul(self, u: Any, v: Any) -> Any:
        """Return u · v, with the product rule for tangents, of numbers of the model, rationals and infinities."""
        if not (type(u) is type(v) is Number):
            if type(u) is type(v) is int:
                return u * v
            if isinstance(u, Infinite) or isinstance(v, Infinite):
                return self._infinite_product(u, v)
            if not isinstance(u, Number):
                return self._scaled(u, v) if isinstance(v, Number) else self.number(u * v)
            return self._scaled(v, u)
        d, dx = None, None
        if u.d is not None:
            d, dx = u.d * v.a, u.dx * v.x
        if v.d is not None:
            e, ex = v.d * u.a, v.dx * u.x
            d, dx = (e, ex) if d is None else (d + e, dx + ex)
        return Number(
            self,
            u.a * v.a % P,
            tuple([s * t % Q for s, t in zip(u.b, v.b, strict=True)]),
            u.x * v.x,
            None if d is None else d % P,
            dx,
            u.top + v.top,
            u.low + v.low,
            None,
            ("mul", u, v),
        )

    def _scaled(self, c: Raw, u: Number) -> Any:
        """Return a rational times a number, whose degrees stay as they are."""
        if c == 0 or c == 1:
            return u if c else 0
        a, b = _residues(c)
        x = ball(c)
        return Number(
            self,
            a * u.a % P,
            tuple([b * t % Q for t in u.b]),
            x * u.x,
            None if u.d is None else a * u.d % P,
            None if u.dx is None else x * u.dx,
            u.top,
            u.low,
            None if u.logs is None else {key: c * n for key, n in u.logs.items()},
            ("mul", c * u.made[1], u.made[2]) if u.made is not None and is_multiple(u.made) else ("mul", c, u),
        )

    def inverse(self, u: Any) -> Any:
        """Return 1/u. Raises UndefinedError if u is 0, and OpenError if the ball of its real number contains 0."""
        if not isinstance(u, Number):
            if isinstance(u, Infinite) or u == 0:
                raise UndefinedError("a division by 0")
            return self.number(1 / Fraction(u))
        if self.is_zero(u):
            raise UndefinedError("a division by 0")
        if 0 in u.x:
            raise OpenError("a division")
        a, x = inverse(u.a), 1 / u.x
        b = tuple([inverse_exponent(t) if t else 0 for t in u.b])
        d, dx = (None, None) if u.d is None else (-a * a * u.d % P, -x * x * u.dx)
        return Number(self, a, b, x, d, dx, u.low, u.top, None, ("power", u, Fraction(-1)))

    def is_zero(self, u: Any) -> bool:
        """Return whether u is 0 modulo P. Raises OpenError where its real number is not 0."""
        if not isinstance(u, Number):
            return bool(u == 0)
        if u.a == 0 and 0 not in u.x:
            raise OpenError("0 in the field, and not over the reals")
        return u.a == 0

    # --- comparisons

    def order(self, u: Any, v: Any) -> int:
        """Return −1, 0 or 1 as u is below, equal to or above v: equal where equal modulo P, else as the real numbers
        are.

        Raises OpenError where the real numbers do not decide it.
        """
        if u is v:
            return 0
        if type(u) is int and type(v) is int:
            return (u > v) - (u < v)
        if isinstance(u, Infinite) or isinstance(v, Infinite):
            left, right = (w.sign if isinstance(w, Infinite) else 0 for w in (u, v))
            return (left > right) - (left < right)
        if not isinstance(u, Number) and not isinstance(v, Number):
            return (u > v) - (u < v)
        p, q = self.lifted(u), self.lifted(v)
        self.degree = max(self.degree, p.top + p.low + q.top + q.low)
        self.compared += 1
        if p.a == q.a:
            if not p.x.overlaps(q.x):
                raise OpenError("equal in the field, and not over the reals")
            self.tie = True
            return 0
        if p.x < q.x or p.x > q.x:
            self.decided.append(1 if p.x > q.x else -1)
            return self.decided[-1]
        raise OpenError("a comparison")

    def maximum(self, u: Any, v: Any) -> Any:
        return v if self.order(u, v) < 0 else u

    def floor(self, u: Any) -> int:
        """Return ⌊u⌋ of the real number. Raises OpenError if its ball does not decide it."""
        if not isinstance(u, Number):
            return Fraction(u).__floor__()
        value = u.x.floor().unique_fmpz()
        if value is None:
            raise OpenError("a floor")
        self.tie = self.tie or bool(u.x - arb(value) == 0)
        self.decided.append(int(value))
        return int(value)

    def is_whole(self, u: Any) -> bool:
        """Return whether u is an integer. Raises OpenError if the ball of its real number contains one."""
        if not isinstance(u, Number):
            return Fraction(u).denominator == 1
        if u.x.contains_integer():
            raise OpenError("whether a number is an integer")
        return False

    def index(self, u: Any) -> int:
        """Return u as an index. Raises UnfitError for what is no plain integer."""
        if type(u) is int:
            return u
        if isinstance(u, Number | Infinite) or Fraction(u).denominator != 1:
            raise UnfitError("an index that is no integer")
        return int(u)

    def _infinite_sum(self, u: Any, v: Any) -> Any:
        if isinstance(u, Infinite) and isinstance(v, Infinite) and u.sign != v.sign:
            raise UndefinedError("∞ − ∞")
        return u if isinstance(u, Infinite) else v

    def _infinite_product(self, u: Any, v: Any) -> Any:
        signs = [w.sign if isinstance(w, Infinite) else self.order(w, 0) for w in (u, v)]
        if 0 in signs:
            raise UndefinedError("0·∞")
        return INFINITE[signs[0] * signs[1]]


def is_multiple(made: tuple[Any, ...]) -> bool:
    """Return whether a number that was made so (`Number.made`) is a constant times another."""
    return made[0] == "mul" and not isinstance(made[1], Number)


def sum_of(left: dict[int, Fraction], right: dict[int, Fraction]) -> dict[int, Fraction] | None:
    """Return the sum of two linear combinations, each by its coefficients; None if it has no terms."""
    out = dict(left)
    for key, n in right.items():
        out[key] = out.get(key, Fraction(0)) + n
    return {key: n for key, n in out.items() if n} or None
