"""Constraints on parameters, such as `eps > 0`: checked when an op is called, assumed by its proof."""

from collections.abc import Mapping

from certgrad.language.evaluate import question
from certgrad.language.floats import Floats
from certgrad.language.parse import parse


def check_constraint(text: str, names: tuple[str, ...], where: str) -> None:
    """Raise DomainError unless `text` is a comparison of arithmetic in these names and numbers."""
    parse(text, names, where)


def holds(text: str, values: Mapping[str, float]) -> bool:
    """Return whether a constraint holds for these values; no constraint on NaN does."""
    return question(parse(text, tuple(values)), Floats()).holds(values, {})
