"""The Markdown table: golden output and escaping."""

from certgrad.language.tree import Words
from certgrad.obligations.certificate import Hypothesis
from certgrad.report import markdown
from certgrad.report.audited import Audit
from tests.report import fabricated
from tests.report.audits import EVERY, result
from tests.report.golden import check


def test_audit_of_every_verdict() -> None:
    check("audit.md", markdown.render(Audit([result(c) for c in fabricated.ALL])))


def test_an_audit_of_rules_in_code() -> None:
    page = markdown.render(EVERY)
    check("audit_code.md", page)
    assert "CG102 pkg.losses:mul.vjp_is_adjoint: refuted (pkg/losses.py:11)" in page
    assert "CG101 pkg.losses:straight_through" not in page, "the baseline lists it"
    assert "no \\<module\\> named x" in page, "a remark is one line, and no HTML"


def test_a_page_fits_into_a_job_summary() -> None:
    many = Audit([result(fabricated.SWAPPED)] * 3000)
    page = markdown.render(many)
    assert len(page.encode()) < 2**20
    assert "more are left out" in page


def test_a_fence_is_longer_than_those_in_the_text() -> None:
    assert markdown.fenced("a\n```\nb") == "````text\na\n```\nb\n````"


def test_bars_and_backticks_do_not_break_the_table() -> None:
    hypothesis = Hypothesis(text="|x[i]| < 1 `a`", latex="", prose="", source="", negligible=False, tree=Words(""))
    row = markdown.table([fabricated.certificate("f", *fabricated.both("f", "unproved", (hypothesis,)))]).splitlines()[
        2
    ]
    assert "`` \\|x[i]\\| < 1 `a` ``" in row
    assert row.replace("\\|", "").count("|") == 7
