"""What a page shows of rules in code comes after their verdicts, and may fail to."""

from pathlib import Path

import pytest

from certgrad.exhibits.data import decode
from certgrad.report.audited import RuleResult
from certgrad.rules.workers import crew
from certgrad.rules.workers.crew import audit_targets

PRODUCT = '''
"""A rule that is right, one that is wrong, and one whose values take for ever."""
import time, jax, jax.numpy as jnp, certgrad

@certgrad.declare("n -> n")
@jax.custom_vjp
def square(x):
    """x²."""
    return x * x

square.defvjp(lambda x: (x * x, x), lambda x, g: (2 * x * g,))

@certgrad.declare("n -> n")
@jax.custom_vjp
def half(x):
    """x², with half its derivative."""
    return x * x

half.defvjp(lambda x: (x * x, x), lambda x, g: (x * g,))
'''


def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **options: object) -> dict[str, RuleResult]:
    (tmp_path / "rules_shown.py").write_text(PRODUCT)
    monkeypatch.chdir(tmp_path)
    events = audit_targets(["rules_shown.py"], conformance=False, jobs=1, **options)  # type: ignore[arg-type]
    return {e.name.partition(":")[2]: e for e in events if isinstance(e, RuleResult)}


def test_exhibits_come_with_the_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = results(tmp_path, monkeypatch, exhibits=True)
    square, half = (decode(found[name].exhibit) for name in ("square", "half"))
    assert square.doc == "x²."
    assert square.mend is None
    assert [s.kind for s in square.sides] == ["vjp_is_adjoint", "rule_runs_forward"]
    assert half.mend is not None
    assert "+half.defvjp(lambda x: (x * x, x), lambda x, g: (x * g + g * x,))" in half.mend.diff.splitlines()
    assert half.mend.verdict == "proved"
    assert [p.kind for p in half.plots] == ["witness"]


@pytest.mark.slow
def test_none_are_made_where_nobody_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {r.exhibit for r in results(tmp_path, monkeypatch).values()} == {b""}


@pytest.mark.slow
def test_a_verdict_stands_without_its_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "SHOWING", 0.0)
    found = results(tmp_path, monkeypatch, exhibits=True)
    assert {r.exhibit for r in found.values()} == {b""}
    assert all(r.certificate for r in found.values())
    assert len(found) == 2


@pytest.mark.slow
def test_a_cached_proof_has_an_exhibit_and_what_is_wrong_its_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = results(tmp_path, monkeypatch, cache=tmp_path / "cache", exhibits=True)
    again = results(tmp_path, monkeypatch, cache=tmp_path / "cache", exhibits=True)
    assert {n: r.exhibit for n, r in first.items()} == {n: r.exhibit for n, r in again.items()}
    assert {n: r.certificate for n, r in first.items()} == {n: r.certificate for n, r in again.items()}
