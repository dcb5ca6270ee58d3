"""Every attack is really wrong: its gradient differs from that of the plain function, in numbers."""

from __future__ import annotations

import pytest

from .attack import Attack
from .doors import QUICK, attacks
from .wrong import shown_wrong

CASES = [
    pytest.param(attack, id=attack.name, marks=() if number % QUICK == 0 else pytest.mark.slow)
    for number, attack in enumerate(attacks())
]


@pytest.mark.one_in(16)
@pytest.mark.parametrize("attack", CASES)
def test_the_gradient_is_wrong(attack: Attack) -> None:
    assert shown_wrong(attack)
