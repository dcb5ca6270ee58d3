"""Pairs of right and wrong rules by a stranger: what was proved and refuted stays so."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable
from typing import Any

import pytest

import certgrad
from benchmarks.pairs import CLASSES
from benchmarks.pairs.__main__ import PAGE, RESULTS
from benchmarks.pairs.page import PROVED, page
from certgrad.errors import CertgradError

pytestmark = pytest.mark.usefixtures("verdicts_alone")

RECORDED: dict[str, Any] = json.loads(RESULTS.read_text())
MODULES = {name: importlib.import_module(f"benchmarks.pairs.{name}") for name in CLASSES}
PAIRS = {f"{name}:{pair.name}": pair for name, module in MODULES.items() for pair in module.PAIRS}


def one_device(names: Iterable[str]) -> list[str]:
    """Without the pairs for several devices, of which JAX is told before it starts: `tests/devices` has such."""
    return [n for n in names if not n.startswith("devices:")]


def recorded(which: str) -> dict[str, str]:
    """By class and name, the verdict that was recorded."""
    return {f"{c}:{n}": row[which]["verdict"] for c, rows in RECORDED.items() for n, row in rows.items()}


def verdict_of(name: str, side: int) -> str:
    pair = PAIRS[name]
    return str(certgrad.check(pair.make()[side], pair.signature, **pair.options).verdict)


def test_every_pair_has_its_row() -> None:
    assert set(recorded("right")) == set(PAIRS)
    assert PAGE.read_text() == page(RECORDED)


def test_no_wrong_twin_is_proved() -> None:
    assert [name for name, verdict in recorded("wrong").items() if verdict in PROVED] == []


@pytest.mark.one_in(40)
@pytest.mark.parametrize("name", one_device(n for n, verdict in recorded("right").items() if verdict in PROVED))
def test_a_right_rule_stays_proved(name: str) -> None:
    assert verdict_of(name, 0) in PROVED


@pytest.mark.one_in(40)
@pytest.mark.parametrize("name", one_device(n for n, verdict in recorded("wrong").items() if verdict == "refuted"))
def test_a_wrong_twin_stays_refuted(name: str) -> None:
    assert verdict_of(name, 1) == "refuted"


@pytest.mark.slow
@pytest.mark.parametrize("name", one_device(n for n, verdict in recorded("wrong").items() if verdict != "refuted"))
def test_a_wrong_twin_that_is_open_is_not_proved(name: str) -> None:
    try:
        verdict = verdict_of(name, 1)
    except CertgradError:
        return  # the signature cannot say it
    assert verdict not in PROVED
