"""The look of verdicts: a sign beside the words, so that no information is in colour alone."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mark:
    """The class of a verdict in the style sheet, and its sign."""

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
