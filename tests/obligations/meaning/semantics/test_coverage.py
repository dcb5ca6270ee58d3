"""The table of `benchmarks/primitive_coverage.py` is complete, and does not shrink."""

import jax.numpy as jnp
import pytest

from benchmarks import primitive_coverage
from benchmarks.primitive_coverage import ALL, NONE, Status, counts, coverage, main, status
from certgrad.obligations.tracing.jax_internals import primitives_with_rules
from tests.obligations.meaning.semantics.example import example, real
from tests.obligations.meaning.semantics.table import EVERY

FOR_ALL_SHAPES = 157
"""How many primitives with a rule had semantics for all shapes with jax 0.10.2 when this was last written."""


@pytest.fixture(scope="module")
def table() -> list[Status]:
    return coverage()


def test_every_primitive_with_a_rule_has_a_status_and_a_reason(table: list[Status]) -> None:
    assert [s.primitive for s in table] == primitives_with_rules()
    assert [s for s in table if s.level == NONE and s.reason in ("", "no example")] == []


def test_every_example_runs_its_primitive(table: list[Status]) -> None:
    assert [s for s in table if "its example does not run it" in s.reason] == []


def test_coverage_does_not_shrink(table: list[Status]) -> None:
    assert counts(table)[ALL] >= FOR_ALL_SHAPES


def test_what_may_be_declined_is_said_to_be(table: list[Status]) -> None:
    """An example without `refused` has semantics for all shapes."""
    declined = {s.primitive for s in table if s.level != ALL}
    assert {e.primitive for e in EVERY if not e.refused} & declined == set()


def test_a_status_is_found_by_running(
    table: list[Status], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An example that does not run its primitive shows nothing, and neither does one that cannot be read."""
    x = real("x", "n")
    assert status("sin", [example("sin", lambda y: y * y, x)]).level == NONE
    assert "eig" in status("eig", [example("eig", lambda y: jnp.linalg.eigvals(jnp.outer(y, y)).real, x)]).reason
    assert status("sin", [example("sin", lambda y: jnp.sin(y), x)]) == Status("sin", ALL)
    monkeypatch.setattr(primitive_coverage, "coverage", lambda: table)
    main(["--none"])
    assert "primitives with a JVP or transpose rule" in capsys.readouterr().out
