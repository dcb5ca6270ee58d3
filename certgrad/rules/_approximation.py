"""What is said of a function that only approximates the one that its rule is the derivative of."""

from __future__ import annotations

from typing import Any

from certgrad.obligations.auditing.witnesses import apart
from certgrad.obligations.generality.instances import family

from ._user_rule import UserRule

DIGITS = 3
LONGEST = 60
"""A point that takes more characters is not shown."""


def approximation(rule: UserRule, of_ideal: UserRule) -> str:
    """Which function the derivative claims are about, and how far the one that runs is from it, in a sentence.

    The distance is measured at drawn points in the declared domain, for the first case; nothing is proved of it.
    """
    claimed = f"the derivative is that of {of_ideal.derivative_of}, which the function approximates"
    found = apart(rule, of_ideal, family(rule, rule.cases[0]).prove[0])
    if not found.entries and not found.undefined:
        reason = found.problem or "no point was found in the domain"
        return f"{claimed}; how far they are apart could not be measured ({' '.join(reason.split())})"
    parts = [
        f"at {found.entries} drawn values they differ by at most {found.absolute.str(DIGITS, radius=False)} "
        f"(relative {found.relative.str(DIGITS, radius=False)})"
    ]
    where = ", ".join(f"{n} = {_shown(x)}" for n, x in found.inputs.items())
    if 0 < len(where) <= LONGEST:
        parts[0] += f", at {where}"
    if found.undefined:
        parts.append(f"at {found.undefined} more only one of them is defined")
    measured = "measured in float64" if found.in_floats else "measured"
    return f"{claimed}; {'; '.join(parts)} ({measured}, not proved)"


def _shown(value: Any) -> str:
    return f"[{', '.join(map(_shown, value))}]" if isinstance(value, list) else str(value)
