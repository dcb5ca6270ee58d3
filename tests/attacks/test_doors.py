"""Every attack, through every door: never proved, unless a listed hypothesis excludes the points where it is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.corpus.entries import entries

from .attack import Attack
from .doors import DOORS, QUICK, attacks, outcome
from .known import KNOWN


def case(number: int, attack: Attack, door: str) -> Any:
    quick = door == "check" and number % QUICK == 0
    return pytest.param(attack, door, id=f"{attack.name}-{door}", marks=() if quick else pytest.mark.slow)


OUTSIDE = {id.removeprefix("attacks/") for id, entry in entries().items() if entry.outside}
"""Code that is made to deceive the checker, of which no verdict speaks (docs/trust.md)."""
CASES = [
    case(number, attack, door)
    for number, attack in enumerate(attacks())
    if attack.name not in OUTSIDE
    for door in DOORS
]


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("attack", "door"), CASES)
def test_no_wrong_rule_is_proved(attack: Attack, door: str, request: pytest.FixtureRequest) -> None:
    if (attack.name, door) in KNOWN:
        request.applymarker(pytest.mark.xfail(reason=KNOWN[attack.name, door], strict=True))
    if request.node.get_closest_marker("slow") is None:
        request.getfixturevalue("verdicts_alone")  # the others go all the way
    found = outcome(attack, door)
    assert not found.is_wrong_for(attack), f"{found.verdict} {list(found.hypotheses)}"


def test_what_is_known_is_an_attack() -> None:
    names = {attack.name for attack in attacks()}
    assert [key for key in KNOWN if key[0] not in names or key[1] not in DOORS] == []
