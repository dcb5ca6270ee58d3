"""What an author states about a rule, and the part of it that one audit is about.

The author makes one statement. Each audit is an attempt at the statement or at a part of it: with the sizes of the
signature left open, with some as multiples, or with numbers for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from certgrad import rules

from .user_rule import UserRule

if TYPE_CHECKING:
    from certgrad.rules.judging.at_sizes import Sizes
    from certgrad.rules.judging.multiples import Multiples

    from .approximation import Declared

SECONDS_AT_SIZES = 10.0
"""Seconds of a proof at numbers for sizes, or in a smaller domain; then the rule is unproved there."""


@dataclass(frozen=True)
class Attempt:
    """What one audit is about: at which static values and sizes, and which part of the statement."""

    static: Mapping[str, Any] | None = None
    """Values of the arguments that are no arrays; None if there are none."""
    sizes: Sizes | None = None
    """Numbers for all sizes of the signature; None if they stay open."""
    multiples: Multiples = field(default_factory=dict)
    """Sizes of the signature that are multiples of numbers, or of each other."""
    differentiable: Sequence[str] | None = None
    """The arguments whose derivative the audit is about; None for those of the statement."""
    excluded: Sequence[str] = ()
    """Arrays that have no gradient."""
    assumed: Sequence[str] = ()
    """Conditions on arguments without a gradient that the author does not declare."""
    part: Literal["all", "value", "integers"] = "all"
    """Which claims: all, the one about the value, or the one about outputs that are integers or booleans."""


@dataclass(frozen=True)
class Statement:
    """The author's statement about a rule, as `check` takes it."""

    function: Callable
    signature: str | Sequence[Any]
    differentiable: Sequence[str] | None = None
    domain: str | Sequence[str] = ()
    surrogate: str = ""
    approximates: Callable | str | None = None
    name: str = ""
    conformance: bool = True
    elsewhere: Sequence[Declared] = ()
    tentative: bool = False
    """Whether the signature is one of several that are tried, as the author declares none."""

    @property
    def of_inputs(self) -> Statement:
        """The statement without the shapes of outputs."""
        text = self.signature
        return replace(self, signature=text.partition("->")[0] if isinstance(text, str) else text)

    def rule(self, attempt: Attempt) -> UserRule:
        """Return the rule as an audit of this attempt sees it.

        Raises SignatureError or UsageError if the statement does not fit the function.
        """
        rule = UserRule(
            self.function,
            self.signature,
            static=attempt.static,
            differentiable=self.differentiable if attempt.differentiable is None else attempt.differentiable,
            domain=self.domain,
            name=self.name,
            excluded=attempt.excluded,
            integers=attempt.part == "integers",
            ideal=self.approximates if attempt.part == "all" else None,
            value_only=attempt.part == "value",
            conformance=self.conformance,
            at=attempt.sizes,
            multiples=attempt.multiples,
            assumed=attempt.assumed,
        )
        rule.tentative = self.tentative
        if rule.ideal is not None:
            rule.ideals = rules.ideals_of(rule, self.elsewhere)
        if attempt.sizes is not None:
            rule.seconds = SECONDS_AT_SIZES
        return rule
