"""`docs/tutorial.md`, followed command by command: what it quotes is what is printed."""

from pathlib import Path

import pytest

from .tutorial import ROOT, agrees, steps


@pytest.mark.slow
def test_the_tutorial_prints_what_it_quotes(tmp_path: Path) -> None:
    page = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
    done = list(steps(page, tmp_path))
    assert len(done) == 10
    for step in done:
        assert agrees(step.quoted, step.printed), f"$ {step.command}\n{step.printed}"


def test_quotations_are_compared_line_by_line() -> None:
    printed = "first 3.1 s\nsecond\nthird\n"
    assert agrees("first 12 ms\nsecond\nthird\n", printed)
    assert agrees("first 1 s\n…\nthird\n", printed)
    assert not agrees("first 1 s\nthird\n", printed)
    assert not agrees("first 1 s\n…\nfourth\n", printed)
    assert not agrees("second\n…\nthird\n", printed)
