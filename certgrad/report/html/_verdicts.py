"""The look of verdicts: a sign beside the words, so that colour is never all there is."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mark:
    """A class of the style sheet, and a sign."""

    style: str
    sign: str


_MARKS = {
    "proved": Mark("proved", "✓"),
    "proved under hypotheses": Mark("under", "✓"),
    "proved up to rounding": Mark("rounding", "≈"),
    "proved at sizes": Mark("sizes", "#"),
    "surrogate": Mark("surrogate", "~"),
    "unproved": Mark("unproved", "?"),
    "refuted": Mark("refuted", "✗"),
}


def mark(verdict: str) -> Mark:
    return _MARKS[verdict]
