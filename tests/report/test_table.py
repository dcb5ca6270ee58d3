"""Tables: as wide as the page and no wider, nothing cut, nothing folded into a few letters."""

import re

import pytest

from certgrad.report import text
from certgrad.report.audited import Audit
from certgrad.report.table import Row, grid
from certgrad.report.wording import PAGE_WIDTH
from tests.report import fabricated
from tests.report.audits import result
from tests.report.golden import check

HEADER = ("op", "obligations", "verdict", "hypotheses", "convention", "time")
LONG = ", ".join(f"(Σk exp(x[i,k] + {n})) > 0" for n in range(12))
ROWS = [
    Row(("losses:softmax", "vjp fwd", "proved", "", "", "5.0 s")),
    Row(("losses:a_name_that_is_rather_long", "jvp vjp fwd", "proved under hypotheses", LONG, "0 at x = 0", "12 ms")),
    Row(("ω", "vjp", "refuted (baseline)", "x ≠ 0", "", "1 ms")),
]


@pytest.mark.parametrize("width", [None, 120, 100, 80, 60, 40])
def test_a_table_is_no_wider_than_the_page_and_says_all(width: int | None) -> None:
    printed = grid(HEADER, ROWS, width)
    assert max(map(len, printed.splitlines())) <= (width or PAGE_WIDTH)
    words = set(printed.split())
    for row in ROWS:
        cells = [cell for k, cell in enumerate(row.cells) if k != 1 or (width or PAGE_WIDTH) > 60]
        assert set(" ".join(cells).split()) <= words


def test_layouts() -> None:
    check("table_90.txt", grid(HEADER, ROWS, 90))
    check("table_70.txt", grid(HEADER, ROWS, 70))
    check("table_50.txt", grid(HEADER, ROWS, 50))
    assert grid(HEADER, ROWS[::2], 80).splitlines() == [
        "op              obligations  verdict             hypotheses  convention   time",
        "losses:softmax  vjp fwd      proved                                      5.0 s",
        "ω               vjp          refuted (baseline)  x ≠ 0                    1 ms",
    ]


def test_one_long_hypothesis_takes_no_room_from_the_other_rows() -> None:
    lines = grid(HEADER, ROWS, 100).splitlines()
    assert lines[1].split() == ["losses:softmax", "vjp", "fwd", "proved", "5.0", "s"]
    assert lines[2].split()[-2:] == ["12", "ms"]
    assert lines[3].startswith("    hypotheses  (Σk exp(x[i,k] + 0)) > 0, ")


@pytest.mark.parametrize("width", [40, 80, 120])
def test_colour_is_asked_for_and_changes_no_text(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    audited = Audit([result(certificate, 0.5) for certificate in fabricated.ALL])
    plain, coloured = (text.table(audited, width, colour=colour) for colour in (False, True))
    assert "\x1b" not in plain
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_brackets_are_no_markup() -> None:
    assert "x[bold] ≠ 0" in grid(HEADER, [Row(("[red]f[/red]", "", "proved", "x[bold] ≠ 0", "", ""))])


def test_sentences_fill_their_lines() -> None:
    said = 'with "n d, n, n" it is refuted; with "n d, (), n" it is refuted as well, and nobody says which is meant'
    one = Row(("f", "vjp", "proved", LONG, "", "1 s"), (("shapes", "n d, n, n"),), (("warning", said),))
    lines = grid(HEADER, [one], 60).splitlines()
    first = next(k for k, line in enumerate(lines) if "warning" in line)
    assert " ".join(" ".join(lines[first:]).split()) == f"warning {said}"
    assert max(map(len, lines)) <= 60
    assert all(len(line) > 50 for line in lines[first:-1])
