"""`docs/semantics.md` is what the specification says now, and shows every rule."""

from __future__ import annotations

from pathlib import Path

from benchmarks.pages.semantics import document
from certgrad.specification.rule import RULES, STRUCTURED

PAGE = Path(__file__).resolve().parents[2] / "docs/semantics.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == document(), (
        "run `python -m benchmarks.pages.semantics > docs/semantics.md`"
    )


def test_every_rule_is_on_the_page_with_what_it_says() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name, rule in (*RULES.items(), *STRUCTURED.items()):
        assert name in text
        assert rule.__doc__
        assert rule.__doc__.strip().splitlines()[0] in text
