"""Terms as expressions of `jax.numpy`: what a missing term is, in the language of the rule that lacks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from certgrad.language import tree as t

_FUNCTIONS = {"exp", "log", "sin", "cos", "tan", "tanh", "sinh", "cosh", "abs", "sign", "floor", "ceil", "log1p"}


class NotCodeError(Exception):
    """The term has no short expression."""


@dataclass(frozen=True)
class Code:
    """A Python expression of an array, with the index variable of each of its axes, in order.

    A `weak` expression needs brackets where it is a factor.
    """

    text: str
    axes: tuple[str, ...] = ()
    weak: bool = False

    @property
    def factor(self) -> str:
        return f"({self.text})" if self.weak else self.text


@dataclass(frozen=True)
class Writer:
    """Writes terms as code. `arrays` and `sizes` map names to expressions; `numpy` is the name of the numpy module."""

    arrays: Mapping[str, str]
    sizes: Mapping[str, str]
    numpy: str
    order: Sequence[str] = ()
    """The order of the axes in the result."""

    def at(self, term: t.Term, axes: Sequence[str]) -> str:
        """Return the code of an array with these axes, or of one that broadcasts to it. Raises NotCodeError."""
        code = replace(self, order=axes).code(term)
        if not {*code.axes} <= {*axes}:
            raise NotCodeError("an index that is free")
        return self.aligned(code, axes).text

    def code(self, term: t.Term) -> Code:
        """Return a term as code that calls numpy's functions. Raises NotCodeError for other kinds of terms."""
        match term:
            case t.Number(value=value):
                return Code(_number(Fraction(value)), weak=Fraction(value) < 0 or "/" in value)
            case t.Constant(name="pi"):
                return Code(f"{self.numpy}.pi")
            case t.Size(name=name) if name in self.sizes:
                return Code(self.sizes[name])
            case t.Entry(name=name, index=index) if name in self.arrays:
                axes = tuple(i.name for i in index if isinstance(i, t.Index))
                if len(axes) != len(index) or len({*axes}) != len(axes):
                    raise NotCodeError("an index that is computed")
                return Code(self.arrays[name], axes)
            case t.Add(terms=terms):
                return self.sum(terms)
            case t.Mul(factors=factors):
                return self.product(factors)
            case t.Power(base=base, exponent=exponent):
                return self.power(base, Fraction(exponent))
            case t.Apply(function=name, arguments=arguments) if name in _FUNCTIONS and len(arguments) == 1:
                inner = self.code(arguments[0])
                return Code(f"{self.numpy}.{name}({inner.text})", inner.axes)
            case t.Truth(statement=t.Compare(relation=relation, left=left, right=right)) if relation != "=":
                a, b = self.together([left, right])
                return Code(f"({a.text} {relation} {b.text})", a.axes or b.axes)
            case t.Fold(kind="sum" | "maximum" as kind, over=over, body=body, where=()):
                return self.fold(kind, [r.variable for r in over], body)
        raise NotCodeError(type(term).__name__)

    def sum(self, terms: Sequence[t.Term]) -> Code:
        """Return a sum, with its common factors before a bracket and a positive term first: a * (c - b)."""
        factors = [term.factors if isinstance(term, t.Mul) else (term,) for term in terms]
        common = [f for f in factors[0] if not isinstance(f, t.Number) and all(f in fs for fs in factors)]
        if common:
            rest = [[f for f in fs if f not in common] for fs in factors]
            return self.product([*common, t.Add(tuple(t.scaled(Fraction(1), r) for r in rest))])
        negative = [_negative(term) for term in terms]
        order = sorted(range(len(terms)), key=lambda k: negative[k])
        parts = self.together([_positive(terms[k]) for k in order])
        text = ""
        for part, k in zip(parts, order, strict=True):
            sign = "-" if negative[k] else "+"
            text += f" {sign} {part.text}" if text else f"-{part.factor}" if negative[k] else part.text
        return Code(text, parts[0].axes, weak=True)

    def product(self, factors: Sequence[t.Term]) -> Code:
        """Return a product: its number, its factors, then `/` and each factor with a negative exponent: 2 * a / b."""
        up = [f for f in factors if not _below(f)]
        down = [t.Power(f.base, str(-Fraction(f.exponent))) for f in factors if isinstance(f, t.Power) and _below(f)]
        coefficient = Fraction(1)
        rest: list[t.Term] = []
        for f in up:
            if isinstance(f, t.Number):
                coefficient *= Fraction(f.value)
            else:
                rest.append(f)
        parts = self.together([*rest, *down])
        text = " * ".join(p.factor for p in parts[: len(rest)])
        if abs(coefficient.numerator) != 1 or not rest:
            text = f"{abs(coefficient.numerator)}" + (f" * {text}" if text else "")
        for p in [*([Code(str(coefficient.denominator))] if coefficient.denominator != 1 else []), *parts[len(rest) :]]:
            text += f" / {p.factor}"
        axes = parts[0].axes if parts else ()
        return (
            Code(f"-({text})", axes, weak=True) if coefficient < 0 else Code(text, axes, weak=bool(down) or "/" in text)
        )

    def power(self, base: t.Term, e: Fraction) -> Code:
        """Return `base` to the power of `e`: a root for 1/2, a division for negative exponents."""
        inner = self.code(base)
        if e == Fraction(1, 2):
            return Code(f"{self.numpy}.sqrt({inner.text})", inner.axes)
        if e == 1:
            return inner
        if e < 0:
            below = self.power(base, -e)
            return Code(f"1 / {below.factor}", below.axes, weak=True)
        exponent = str(e) if e.denominator == 1 else f"({e})"
        return Code(f"{inner.factor}**{exponent}", inner.axes)

    def fold(self, kind: str, over: Sequence[str], body: t.Term) -> Code:
        """Return the sum, or the maximum, of `body` over some of its index variables: einsum for a sum of products."""
        inner = self.code(body)
        if not {*over} <= {*inner.axes}:
            raise NotCodeError("a sum whose term does not depend on its variable")
        left = tuple(a for a in inner.axes if a not in over)
        factors = body.factors if isinstance(body, t.Mul) else ()
        if kind == "sum" and len(factors) > 1 and all(isinstance(f, t.Entry) for f in factors):
            codes = [self.code(f) for f in factors]
            left = tuple(sorted(left, key=lambda a: self.order.index(a) if a in self.order else len(self.order)))
            spec = ",".join("".join(c.axes) for c in codes) + "->" + "".join(left)
            return Code(f'{self.numpy}.einsum("{spec}", {", ".join(c.text for c in codes)})', left)
        places = [inner.axes.index(v) for v in over]
        axis = f", axis={places[0] if len(places) == 1 else tuple(places)}" if left else ""
        return Code(f"{self.numpy}.{'sum' if kind == 'sum' else 'max'}({inner.text}{axis})", left)

    def together(self, terms: Sequence[t.Term]) -> list[Code]:
        """Return the code of each term, such that the arrays broadcast against each other: all get the axes of all."""
        codes = [self.code(term) for term in terms]
        longest = max(codes, key=lambda c: len(c.axes), default=Code(""))
        axes = [*longest.axes, *dict.fromkeys(a for c in codes for a in c.axes if a not in longest.axes)]
        return [self.aligned(c, axes) for c in codes]

    def aligned(self, code: Code, axes: Sequence[str]) -> Code:
        """Return the array transposed to the order of `axes`, with an axis of length 1 for each that it lacks."""
        if not code.axes or tuple(axes) == code.axes:
            return Code(code.text, tuple(axes), code.weak)
        wanted = tuple(a for a in axes if a in code.axes)
        if wanted != code.axes:
            order = tuple(code.axes.index(a) for a in wanted)
            text = f"{code.factor}.T" if len(order) == 2 else f"{self.numpy}.transpose({code.text}, {order})"
            return self.aligned(Code(text, wanted), axes)
        missing = [a not in code.axes for a in axes]
        leading = missing.index(False)
        if not any(missing[leading:]):  # numpy adds leading axes itself
            return Code(code.text, tuple(axes), code.weak)
        index = ", ".join("None" if gone else ":" for gone in missing[leading:])
        return Code(f"{code.factor}[{index}]", tuple(axes))


def _number(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{value.numerator} / {value.denominator}"


def _below(f: t.Term) -> bool:
    return isinstance(f, t.Power) and Fraction(f.exponent) < 0


def _negative(term: t.Term) -> bool:
    summands = t.linear(term)
    return len(summands) == 1 and summands[0][0] < 0


def _positive(term: t.Term) -> t.Term:
    if not _negative(term):
        return term
    ((c, factors),) = t.linear(term)
    return t.scaled(-c, list(factors))
