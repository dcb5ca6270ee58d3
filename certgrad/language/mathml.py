"""Statements and terms as MathML, which browsers typeset themselves. What has no form of its own here stands as text.

The order of terms and factors is that of `text`, so that a formula and its text can be read side by side.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape

from certgrad.language import text as words
from certgrad.language import tree as t
from certgrad.language.decimals import decimal
from certgrad.language.denied import negated_guards
from certgrad.language.forms import roots_together
from certgrad.language.guards import plainly
from certgrad.language.platform import platform_named
from certgrad.language.relations import SIGNS

_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "eps": "ε", "epsilon": "ε", "lambda": "λ", "lambd": "λ",
    "mu": "μ", "sigma": "σ", "theta": "θ", "rho": "ρ", "tau": "τ", "omega": "ω", "kappa": "κ", "phi": "φ", "pi": "π",
}  # fmt: skip
_FOLDS = {"sum": "∑", "product": "∏"}
_SHORT_EXPONENT = 60
"""An exponential of more characters than that is written as a function: nobody reads a long exponent."""


def mathml(node: t.Statement | t.Term, inputs: Sequence[str] = ()) -> str:
    """Return the statement or term as the content of a `math` element, with all names escaped."""
    printer = _Printer(inputs)
    return printer.statement(node) if isinstance(node, t.Statement) else printer.term(node)


def summands(term: t.Term, inputs: Sequence[str] = ()) -> list[str]:
    """Return the summands, each with its sign, as contents of `math` elements: a page may break lines between them."""
    return _Printer(inputs).parts(term)


def row(*parts: str) -> str:
    """Return elements beside each other, as one. Each part is a single element, or none."""
    kept = [p for p in parts if p]
    return kept[0] if len(kept) == 1 else f"<mrow>{''.join(kept)}</mrow>"


def listed(parts: Iterable[str], between: str) -> str:
    """Return the elements with `between` between them, as a single element."""
    out: list[str] = []
    for part in parts:
        out += [between, part] if out else [part]
    return row(*out)


def _digits(number: str) -> str:
    significand, _, exponent = number.partition("e")
    power = f"<msup><mn>10</mn><mn>{exponent}</mn></msup>"
    return row(f"<mn>{significand}</mn>", *(["<mo>·</mo>", power] if exponent else []))


def symbol(name: str) -> str:
    """Return a name as a symbol: `alpha` in Greek, `x1` with an index, `dx` as a differential."""
    if (match := re.fullmatch(r"d([A-Za-z]\w*)", name)) and name not in ("det", "diag"):
        return row("<mi mathvariant='normal'>d</mi>", symbol(match[1]))
    if match := re.fullmatch(r"([A-Za-z]+)_?(\d+)", name):
        return f"<msub>{symbol(match[1])}<mn>{match[2]}</mn></msub>"
    shown = _GREEK.get(name, name)
    return f"<mi>{escape(shown)}</mi>"


def operator(sign: str) -> str:
    return f"<mo>{escape(sign)}</mo>"


def mtext(text: str) -> str:
    """Return words as an element. Spaces at their ends are unbreakable, as browsers drop others there."""
    kept = text.replace(" ", "\u00a0") if text[:1] == " " or text[-1:] == " " else text
    return f"<mtext>{escape(kept)}</mtext>"


def fenced(inner: str, left: str = "(", right: str = ")") -> str:
    return f"<mrow>{operator(left)}{inner}{operator(right)}</mrow>"


@dataclass
class _Printer:
    inputs: Sequence[str] = ()
    plain: words.Printer = field(default_factory=words.Printer)

    def __post_init__(self) -> None:
        self.plain = words.Printer(inputs=self.inputs, ranges=False)

    # --- statements

    def statement(self, s: t.Statement) -> str:
        """Return a statement as MathML; forms without a formula as words."""
        if isinstance(s, t.Compare) and not isinstance(s.left, t.Matrix) and not platform_named(s):
            left, relation, right = self.plain.balanced(s)
            return row(self.term(left), operator(SIGNS[relation]), self.term(right))
        if isinstance(s, t.ForAll):
            bounds = self.plain.bounded(s)
            return row(self.statement(s.holds), *([mtext(bounds)] if bounds else []))
        if isinstance(s, t.Either | t.Both):
            between = mtext(" or " if isinstance(s, t.Either) else " and ")
            return listed(map(self.statement, s.parts), between)
        if isinstance(s, t.NotIn):
            numbers = (
                "<mi>ℤ</mi>"
                if s.numbers == "integers"
                else fenced("<mn>0</mn><mo>,</mo><mn>−1</mn><mo>,</mo><mn>−2</mn><mo>,</mo><mo>…</mo>", "{", "}")
            )
            return row(self.term(s.term), operator("∉"), numbers)
        if isinstance(s, t.Where) and (unguarded := negated_guards(s)) is not None:
            return self.statement(unguarded)
        if isinstance(s, t.Where):
            guards = listed(map(self.guard, s.guards), mtext(" and "))
            return row(self.statement(s.then), mtext(" wherever "), guards)
        if isinstance(s, t.Solves):
            end = mtext(words.CONTINUOUS) if s.continuous else ""
            return row(mtext(f"{s.solver} solves "), self.statement(s.equation), end)
        return mtext(self.plain.statement(s))

    def guard(self, g: t.Statement) -> str:
        plain = plainly(g)
        if plain != g and isinstance(plain, t.Compare) and not words.of_indices(plain):
            return self.statement(plain)
        return mtext(self.plain.guard(g))

    # --- terms

    def term(self, p: t.Term) -> str:
        return row(*self.parts(p))

    def parts(self, p: t.Term) -> list[str]:
        """Return the summands in the order of the text, each with its sign."""
        out: list[str] = []
        for _, c, factors in self.plain.shown_summands(p):
            sign = "−" if c < 0 else "+" if out else ""
            # A piece that begins with its sign is no negative number, which would have no room around it.
            sign_element = f"<mo form='infix'>{sign}</mo>" if out else operator(sign) if sign else ""
            out.append(row(sign_element, self.product(factors, abs(c))))
        return out or ["<mn>0</mn>"]

    def product(self, factors: Sequence[t.Term], c: Fraction) -> str:
        """Return a positive rational times factors, with negative powers as a denominator."""
        up: list[str] = []
        down: list[str] = []
        for f in roots_together(factors):
            exponent = Fraction(f.exponent) if isinstance(f, t.Power) else Fraction(1)
            base = f.base if isinstance(f, t.Power) else f
            side = down if exponent < 0 else up
            same_side = [f for f in factors if (isinstance(f, t.Power) and Fraction(f.exponent) < 0) == (exponent < 0)]
            side.append(self.power(base, abs(exponent), alone=len(same_side) == 1 and abs(c) == 1))
        decimals = decimal(c)
        if decimals or c.numerator != 1 or not up:
            up.insert(0, _digits(decimals or str(c.numerator)))
        if not decimals and c.denominator != 1:
            down.insert(0, f"<mn>{c.denominator}</mn>")
        # An invisible product beside a name would read as one name.
        times = "<mrow><mo>⁢</mo><mspace width='.17em'/></mrow>"
        top, bottom = (listed(part, times) for part in (up, down))
        return f"<mfrac>{top}{bottom}</mfrac>" if down else top

    def power(self, base: t.Term, e: Fraction, alone: bool = False) -> str:
        if e == Fraction(1, 2):
            return f"<msqrt>{self.term(base) if isinstance(base, t.Add | t.Mul) else self.atom(base)}</msqrt>"
        summed = isinstance(base, t.Fold) and base.kind != "maximum"
        inner = fenced(self.atom(base)) if summed and not (alone and e == 1) else self.atom(base)
        return inner if e == 1 else f"<msup>{inner}<mn>{e}</mn></msup>"

    def atom(self, a: t.Term) -> str:
        """Return a term as it stands in a product: in parentheses where it is a sum, a product or negative."""
        if isinstance(a, t.Number) and Fraction(a.value) >= 0:
            return self.term(a)
        if isinstance(a, t.Add | t.Mul | t.Power | t.Number):
            return fenced(self.term(a))
        if isinstance(a, t.Array | t.Size | t.Index):
            return symbol(a.name)
        if isinstance(a, t.Constant):
            return symbol(a.name)
        if isinstance(a, t.Entry):
            return self.entry(a)
        if isinstance(a, t.Apply):
            return self.apply(a)
        if isinstance(a, t.Truth):
            return fenced(self.statement(a.statement), "[", "]")
        if isinstance(a, t.Fold):
            return self.fold(a)
        return mtext(self.plain.atom(a))

    def entry(self, a: t.Entry) -> str:
        if not a.index:
            return symbol(a.name)
        at = listed(map(self.index, a.index), operator(","))
        return f"<msub>{symbol(a.name)}{at}</msub>"

    def index(self, p: t.Term) -> str:
        if isinstance(p, t.Index):
            return symbol(p.name)
        return mtext(self.plain.compact(p).replace("-", "−"))

    def apply(self, a: t.Apply) -> str:
        """Return a function of arguments: exponent, bars or brackets where there is a sign for it, else its name."""
        if a.function == "stop":
            return fenced(listed(map(self.term, a.arguments), operator(",")))
        if a.function == "exp" and len(self.plain.term(a.arguments[0])) <= _SHORT_EXPONENT:
            return f"<msup><mi>e</mi>{self.term(a.arguments[0])}</msup>"
        if a.function == "abs":
            return fenced(self.term(a.arguments[0]), "|", "|")
        if a.function == "floor":
            return fenced(self.term(a.arguments[0]), "⌊", "⌋")
        if a.function == "ceil":
            return fenced(self.term(a.arguments[0]), "⌈", "⌉")
        if a.function == "quotient":
            left, right = map(self.term, a.arguments)
            return fenced(f"<mfrac>{left}{right}</mfrac>", "⌊", "⌋")
        if a.function == "remainder":
            left, right = map(self.term, a.arguments)
            return fenced(row(left, operator("mod"), right))
        args = listed(map(self.term, a.arguments), operator(","))
        return row(f"<mi>{escape(a.function.replace('_', ' '))}</mi>", "<mo>⁡</mo>", fenced(args))

    def fold(self, a: t.Fold) -> str:
        """Return a sum, product or maximum, with its variables and conditions below the sign."""
        kept = [mtext(self.plain.condition(w)) for w in a.where]
        under = listed([*(symbol(r.variable) for r in a.over), *kept], operator(","))
        head = _FOLDS.get(a.kind)
        if head is None:
            return row(f"<munder><mo>max</mo>{under}</munder>", fenced(self.term(a.body)))
        body = fenced(self.term(a.body)) if isinstance(a.body, t.Add) else self.term(a.body)
        return row(f"<munder><mo>{head}</mo>{under}</munder>", body)
