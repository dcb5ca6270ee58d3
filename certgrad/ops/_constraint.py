"""Constraints on parameters, such as `eps > 0`: checked when an op is called, assumed by its proof."""

from collections.abc import Mapping

from certgrad.language.evaluate import question
from certgrad.language.floats import Floats
from certgrad.language.parse import parse


def check_constraint(text: str, names: tuple[str, ...], where: str) -> None:
    """Raise DomainError unless `text` compares arithmetic of these names and numbers."""
    parse(text, names, where)


def holds(text: str, values: Mapping[str, float]) -> bool:
    """Whether the comparison holds for these values; not for NaN."""
    return question(parse(text, tuple(values)), Floats()).holds(values, {})
