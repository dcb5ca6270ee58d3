"""The step of a difference quotient: one that is small enough to stay where the function is smooth."""

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
"""Negative powers of 10: the step where no edge of a domain is near, and the smallest step that is tried."""
WITHIN = 1000
"""Steps between the witness and the edge of a domain, or an excluded number, at least: for six right digits."""


def difference_step(rule: UserRule, certificate: Certificate, witness: Witness) -> str:
    """Return the step as a script writes it: `1e-6`, or a smaller one where an edge is near the witness.

    An edge is where a condition of the domain, or a hypothesis of any claim, starts or ceases to hold along the
    tangents. The step is made smaller until each condition fails at the same entries `WITHIN` steps away on both sides.
    """
    point = _Point(witness, {n: s.dtype for n, s in zip(rule.arg_names, rule.signature.inputs, strict=True)})
    hypotheses = [h for claim in certificate.claims for h in claim.hypotheses]
    statements = [*dict.fromkeys(side for h in hypotheses for side in _sides(h.tree))]
    statements += [side for text in rule.domain for side in _sides(parse(text, (*rule.arg_names, *rule.params)))]
    at_witness = [(side, point.failing(side, Fraction(0))) for side in statements]
    power = USUAL
    for side, failing in at_witness:
        while failing is not None and power < SMALLEST and not point.stays(side, failing, Fraction(WITHIN, 10**power)):
            power += 1
    return f"1e-{USUAL if power == SMALLEST else power}"


_TRUTHS = {"False": "0", "True": "1"}
"""The numbers of the booleans, as a witness writes them."""


@dataclass(frozen=True)
class _Point:
    witness: Witness
    dtypes: Mapping[str, str]

    def stays(self, statement: Statement, failing: Collection[Any], far: Fraction) -> bool:
        """Return whether a statement, moved by `far` to either side, fails at just the entries `failing`."""
        return all(self.failing(statement, sign * far) == failing for sign in (1, -1))

    def failing(self, statement: Statement, moved: Fraction) -> set[tuple[int, ...]] | None:
        """Return the entries at which a statement fails, `moved` times the tangents from the witness.

        None is returned where it cannot be evaluated or decided.
        """
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
    """Return nested lists of exact numbers: `value` + `moved`·`tangent`; integers, booleans and keys are not moved."""
    if isinstance(value, list):
        tangents = tangent if isinstance(tangent, list) else [None] * len(value)
        return [_moved_along_tangent(v, t, moved, dtype) for v, t in zip(value, tangents, strict=True)]
    if dtype in ("int", "bool", "key"):
        return int(Fraction(_TRUTHS.get(value, value)))
    return Fraction(value) + (moved * Fraction(tangent) if isinstance(tangent, str) else 0)


def _sides(statement: Statement) -> Iterator[Statement]:
    """Yield the parts of a conjunction; `a < b` in the place of `a != b`.

    Points on either side of an excluded number all satisfy `a != b`; whether `a < b` holds tells the sides apart.
    """
    if isinstance(statement, Both):
        for part in statement.parts:
            yield from _sides(part)
    elif isinstance(statement, Compare) and statement.relation == "!=":
        yield Compare("<", statement.left, statement.right)
    else:
        yield statement
