"""The step of a difference quotient: one that stays where the function has the derivative that it is to show."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from certgrad.language.arithmetic import UnfitError
from certgrad.language.parse import parse
from certgrad.language.tree import Both, Compare, Statement
from certgrad.obligations.balls import Undecided
from certgrad.obligations.balls.statements import question
from certgrad.obligations.certificate import Certificate, Witness
from certgrad.rules.subject.user_rule import UserRule

USUAL, SMALLEST = 6, 30
"""10 to the power of minus these: the step where no edge is near, and the smallest one that is tried."""
WITHIN = 1000
"""The edge of the domain, or an excluded number, is at least so many steps away: six figures are right then."""


def difference_step(rule: UserRule, certificate: Certificate, witness: Witness) -> str:
    """Return the step as a script writes it: `1e-6`, or a smaller one where a hypothesis of any claim that holds at the
    witness fails near it along the tangents, or where a number that one excludes is near.
    """
    point = _Point(witness, {n: s.dtype for n, s in zip(rule.arg_names, rule.signature.inputs, strict=True)})
    hypotheses = [h for claim in certificate.claims for h in claim.hypotheses]
    statements = [*dict.fromkeys(one for h in hypotheses for one in _sides(h.tree))]
    statements += [one for text in rule.domain for one in _sides(parse(text, (*rule.arg_names, *rule.params)))]
    near = [(one, point.failing(one, Fraction(0))) for one in statements]
    power = USUAL
    for one, failing in near:
        while failing is not None and power < SMALLEST and not point.stays(one, failing, Fraction(WITHIN, 10**power)):
            power += 1
    return f"1e-{USUAL if power == SMALLEST else power}"


_TRUTHS = {"False": "0", "True": "1"}
"""How a witness writes booleans."""


@dataclass(frozen=True)
class _Point:
    witness: Witness
    dtypes: Mapping[str, str]

    def stays(self, statement: Statement, failing: Collection[Any], far: Fraction) -> bool:
        """Return whether it fails at the very same entries on both sides, as far as that."""
        return all(self.failing(statement, sign * far) == failing for sign in (1, -1))

    def failing(self, statement: Statement, moved: Fraction) -> set[tuple[int, ...]] | None:
        """Return the entries at which it does not hold, that far along the tangents; None where nobody can say it."""
        arrays = {
            name: np.array(
                _moved_along_tangent(value, self.witness.tangents.get(name), moved, self.dtypes.get(name)), dtype=object
            )
            for name, value in self.witness.inputs.items()
        }
        try:
            return set(question(statement).failing(arrays, self.witness.dims))
        except (UnfitError, Undecided):
            return None


def _moved_along_tangent(value: list | str, tangent: list | str | None, moved: Fraction, dtype: str | None) -> Any:
    """Return the entries as exact numbers, moved along the tangent."""
    if isinstance(value, list):
        tangents = tangent if isinstance(tangent, list) else [None] * len(value)
        return [_moved_along_tangent(v, t, moved, dtype) for v, t in zip(value, tangents, strict=True)]
    if dtype in ("int", "bool", "key"):
        return int(Fraction(_TRUTHS.get(value, value)))
    return Fraction(value) + (moved * Fraction(tangent) if isinstance(tangent, str) else 0)


def _sides(statement: Statement) -> Iterator[Statement]:
    """Yield the conditions that a point and its surroundings share; for an excluded number, the side that they
    are on.
    """
    if isinstance(statement, Both):
        for part in statement.parts:
            yield from _sides(part)
    elif isinstance(statement, Compare) and statement.relation == "!=":
        yield Compare("<", statement.left, statement.right)
    else:
        yield statement
