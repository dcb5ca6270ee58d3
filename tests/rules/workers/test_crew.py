"""Several processes at once: which of them there are, and what each is asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from certgrad.report.audited import RuleResult
from certgrad.rules.workers import crew
from certgrad.rules.workers.crew import audit_targets
from certgrad.rules.workers.isolated import Worker
from certgrad.rules.workers.worker import Begun

ANNOTATED = """
from typing import Optional
import jax
from jaxtyping import Array, Float

@jax.custom_vjp
def a_plain(x):
    return 2 * x

@jax.custom_vjp
def b_array(x: jax.Array) -> jax.Array:
    return 3 * x

@jax.custom_vjp
def c_shaped(x: Float[Array, "n d"]) -> Float[Array, "n d"]:
    return 4 * x

@jax.custom_vjp
def d_optional(x: jax.Array, mask: Optional[jax.Array] = None) -> jax.Array:
    return 5 * x

a_plain.defvjp(lambda x: (2 * x, None), lambda _, g: (2 * g,))
b_array.defvjp(lambda x: (3 * x, None), lambda _, g: (3 * g,))
c_shaped.defvjp(lambda x: (4 * x, None), lambda _, g: (4 * g,))
d_optional.defvjp(lambda x, mask: (5 * x, None), lambda _, g: (5 * g, None))
"""
NAMES = ["annotated:a_plain", "annotated:b_array", "annotated:c_shaped", "annotated:d_optional"]


@pytest.fixture
def audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], tuple[list[str], list[str], int]]:
    """An audit that says which rules it gives results of, which it proved anew, and how many processes there were."""
    monkeypatch.chdir(tmp_path)
    started: list[Worker] = []

    def counted(*arguments: object) -> Worker:
        started.append(Worker(*arguments))  # type: ignore[arg-type]
        return started[-1]

    monkeypatch.setattr(crew, "Worker", counted)

    def run() -> tuple[list[str], list[str], int]:
        started.clear()
        events = list(audit_targets(["annotated.py"], conformance=False, jobs=2, cache=tmp_path / "cache"))
        results = [e for e in events if isinstance(e, RuleResult)]
        assert all(e.certificate is not None and e.certificate.verdict == "proved" for e in results)
        begun = [e.name for e in events if isinstance(e, Begun) and e.kind == "rule"]
        return sorted(e.name for e in results), sorted(begun), len(started)

    return run


def test_what_earlier_audits_found_is_looked_up_by_one_process_and_the_rest_is_shared(
    tmp_path: Path, audit: Callable[[], tuple[list[str], list[str], int]]
) -> None:
    file = tmp_path / "annotated.py"
    file.write_text(ANNOTATED)
    assert audit() == (NAMES, NAMES, 2)
    assert audit() == (NAMES, [], 0), "the whole is as it was"
    file.write_text(f"# a comment\n{ANNOTATED}")
    assert audit() == (NAMES, [], 0)
    file.write_text(f"{ANNOTATED}SCALE = 2.0\n")
    assert audit() == (NAMES, [], 1)
    assert audit() == (NAMES, [], 0)
