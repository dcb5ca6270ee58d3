"""Readable forms of the short texts in certificates: symbols, words, shortened numbers."""

import re
import textwrap
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction

from certgrad.language import tree as t
from certgrad.obligations.certificate import ASSUMED, Hypothesis

_SYMBOLS = {"!=": "≠", ">=": "≥", "<=": "≤", "==": "=", "**": "^", " * ": "·"}
_LONG_RATIONAL = re.compile(r"-?\d+/\d{7,}")
_REASONS = {
    "kink": "the function has a kink elsewhere",
    "division": "a division by it",
    "domain": "declared as the op's domain",
    ASSUMED: "assumed, as nothing declares it: the rule is wrong elsewhere",
}
ENTRYWISE = "at every entry, "
LIKELY_CAUSE = "likely cause"
"""The beginning of a line of a reason that says what is wrong with a rule."""
INTENDED = 'if that is intended, declare it: surrogate="…"'
"""The end of such a line if the rule may be meant so."""
OF_COTANGENT = f"{LIKELY_CAUSE} in the cotangent of "
"""The beginning of such a line about one argument."""
RIGHT_WHERE = "right where "
"""The beginning of a text that says at which points or values the rule is right."""
PROVED_WHERE = RIGHT_WHERE + '{0}: declare domain="{0}" if nothing else is meant'
"""A line that says in which domain the rule is proved."""
SEE_LINE = "see "
"""The beginning of a line that names the line of the code."""
_SIGN = re.compile(r"(?<=[·,+)\]])(?=.)")
PAGE_WIDTH = 100
"""The width of the page if there is no terminal."""
_NARROWEST = 40


def fill(text: str, width: int | None = None, first: str = "", rest: str | None = None) -> str:
    """Return the text wrapped at `width`, with the indent `first` on its first line and `rest` on the others.

    A word longer than a line is a formula, and is broken after one of its signs; other words stay whole.
    """
    return _Wrapper(
        max(width or PAGE_WIDTH, _NARROWEST),
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_long_words=False,
        break_on_hyphens=False,
    ).fill(text)


class _Wrapper(textwrap.TextWrapper):
    def _split(self, text: str) -> list[str]:
        room = self.width - max(len(self.initial_indent), len(self.subsequent_indent))
        words = super()._split(text)
        return [part for word in words for part in (_SIGN.split(word) if len(word) > room else [word])]


def duration(seconds: float) -> str:
    """Return a time to two or three figures: `12 ms`, `7.2 s`."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def but_for_causes(reason: str) -> list[str]:
    """Return the lines of a reason without likely causes."""
    return [line for line in reason.splitlines() if not line.startswith((LIKELY_CAUSE, SEE_LINE))]


def open_too(codes: Sequence[str]) -> str:
    """Return the text that claims with these codes are open for the same reason."""
    return f"and so {' and '.join(codes)}"


def symbols(text: str) -> str:
    """Return a condition as mathematics writes it: `x != 0` as `x ≠ 0`."""
    for code, symbol in _SYMBOLS.items():
        text = text.replace(code, symbol)
    return text


def number(text: str) -> str:
    """Return the text with rationals of many digits as rounded decimals: `≈1.7581`."""
    return _LONG_RATIONAL.sub(lambda found: f"≈{float(Fraction(found[0])):.5g}", text)


def figures(value: Decimal, count: int = 3) -> str:
    """Return a number with `count` significant figures, without zeros at its end."""
    mantissa, mark, exponent = f"{value:.{count}g}".partition("e")
    return (mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa) + mark + exponent


def in_words(hypothesis: Hypothesis) -> str:
    """Return the hypothesis in words, which say that it is about every entry of the arrays in it."""
    return hypothesis.prose if "entry" in hypothesis.prose else ENTRYWISE + hypothesis.prose


def grounds(hypothesis: Hypothesis) -> str:
    """Return where a hypothesis comes from, and how much it excludes."""
    size = "excludes a set of measure zero" if hypothesis.negligible else "excludes an open set"
    source = hypothesis.source
    if hypothesis.outside == "right":
        reason = "the proof needs it: at points outside that were looked at, the function is smooth and the rule right"
    elif source == "kink" and hypothesis.outside != "no derivative":
        reason = "the formula of the function has a kink elsewhere"
    elif source == "division" and hypothesis.outside == "no derivative":
        reason = "a division by it: the function has no derivative elsewhere"
    else:
        only = "defined" if _holds_on_its_boundary(hypothesis.tree) else "differentiable"
        reason = _REASONS.get(source, f"{source} is {only} only there" if source.isidentifier() else source)
    return "; ".join(note for note in (reason, size) if note)


def _holds_on_its_boundary(statement: t.Statement) -> bool:
    inner = statement.holds if isinstance(statement, t.ForAll) else statement
    return isinstance(inner, t.Compare) and inner.relation in (">=", "<=")


def notation(texts: Iterable[str]) -> str:
    """Return a sentence with the meaning of the symbols that occur in the texts; "" if there are none."""
    shown = "\n".join(texts)
    parts = [
        ("dx is a tangent (a direction), seed the cotangent of the output", "seed" in shown or "jvp(" in shown),
        ("⟨a, b⟩ is the sum of a·b over all entries", "⟨" in shown),
        ("x[i] is an entry of x, i standing for any number of axes", "[i" in shown),
        (
            "[P] is 1 where P holds and 0 elsewhere",
            re.search(r"\[[^\]]* [><=≥≤≠] [^\]]*\]|\[[^\[\]]*\[[^\]]*\] ", shown),
        ),
        ("Σi is the sum over i", "Σ" in shown),
    ]
    listed = [meaning for meaning, occurs in parts if occurs]
    return f"Notation: {'; '.join(listed)}." if listed else ""
