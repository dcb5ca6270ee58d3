"""Traps: the wrong rule of each is wrong and refused, its right twin is proved, under what it says.

Each trap is a row of the corpus as well, which runs all of them.
"""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from benchmarks.corpus.traps import traps_of
from tests.obligations.traps import Trap, check

LOOKS_OUTSIDE = True
MODULES = ["test_branches", *sorted(path.stem for path in Path(__file__).parent.glob("test_traps_*.py"))]
TRAPS = {
    f"{module.removeprefix('test_')}: {name}": trap
    for module in MODULES
    for name, trap in traps_of(importlib.import_module(f"tests.obligations.{module}")).items()
}


@pytest.mark.one_in(50)
@pytest.mark.parametrize("trap", [pytest.param(trap, id=name) for name, trap in TRAPS.items()])
def test_the_wrong_rule_is_refused_and_the_right_one_proved(trap: Trap) -> None:
    check(trap)
