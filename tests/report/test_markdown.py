"""The Markdown table: golden output and escaping."""

from certgrad.hypotheses.tree import Words
from certgrad.obligations.certificate import Hypothesis
from certgrad.report import markdown
from tests.report import fabricated
from tests.report.golden import check


def test_audit_of_every_verdict() -> None:
    check("audit.md", markdown.render(fabricated.ALL))


def test_bars_and_backticks_do_not_break_the_table() -> None:
    hypothesis = Hypothesis(text="|x[i]| < 1 `a`", latex="", prose="", source="", negligible=False, tree=Words(""))
    row = markdown.table([fabricated.certificate("f", *fabricated.both("f", "unproved", (hypothesis,)))]).splitlines()[
        2
    ]
    assert "`` \\|x[i]\\| < 1 `a` ``" in row
    assert row.replace("\\|", "").count("|") == 7
