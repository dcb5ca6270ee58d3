"""The page on the laws is current."""

from pathlib import Path

from benchmarks.pages import laws
from certgrad.obligations.terms.law import Law

PAGE = Path(__file__).parents[3] / "docs" / "laws.md"


def test_the_page_is_current() -> None:
    current = PAGE.read_text(encoding="utf-8") == laws.render()
    assert current, "docs/laws.md is not current: run `python -m benchmarks.pages.laws > docs/laws.md`."


def test_there_is_a_row_for_each_law() -> None:
    rows = [line for line in laws.render().splitlines() if line.startswith("| ")]
    assert len(rows) == len(Law) + 2
    (row,) = (r for r in rows if r.startswith("| exp of a sum"))
    assert "`exp(a + c·b) = exp(a)·exp(b)^c`" in row
