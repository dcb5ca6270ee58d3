"""Annotations of GitHub Actions: a golden file, and what would break a line."""

from certgrad.report import github, markdown
from certgrad.report.audited import Audit
from certgrad.report.findings import Remark
from tests.report import fabricated
from tests.report.audits import BASE, EVERY, at, remarked, renamed, result
from tests.report.golden import check


def test_annotations_of_every_verdict() -> None:
    check("audit.github", github.render(EVERY, BASE))


def test_an_annotation_is_one_line_that_nothing_in_a_text_ends() -> None:
    rule = remarked("pkg:f", "CG201", "100% ::error::\r\nsecond", where="c.py:5", file=str(BASE / "a:b,c.py"))
    annotation, summary = github.render(Audit([rule]), BASE).splitlines()
    assert annotation == (
        "::warning file=a%3Ab%2Cc.py,line=5,title=CG201 pkg%3Af%3A a rule was found and not audited"
        "::100%25 ::error::%0D%0Asecond"
    )
    assert summary.startswith("0 of 1 rule: ")


def test_an_audit_that_is_not_complete_is_an_error() -> None:
    assert "::error title=certgrad::Cannot import 'pkg.gone'" in github.render(EVERY, BASE)


def test_what_the_baseline_lists_is_not_annotated() -> None:
    assert "straight_through" not in github.render(EVERY, BASE)


def test_notes_that_many_rules_have_are_counted() -> None:
    """GitHub shows ten notices."""
    inferred, wrong = Remark("CG202", "its shapes are inferred"), Remark("CG202", "with n it is refuted", True)
    rules = [renamed(fabricated.RELU, f"pkg.losses:f{k}") for k in range(5)]
    results = [result(one, remarks=[inferred if k else wrong], **at(k + 1)) for k, one in enumerate(rules)]
    lines = github.render(Audit(results), BASE).splitlines()
    assert [line.partition("::")[2].partition(" ")[0] for line in lines[:-1]] == ["warning", "notice"]
    assert lines[1] == "::notice title=certgrad::CG202 shapes inferred: 4 rules; --strict lists them"
    page = markdown.render(Audit(results))
    assert page.count("its shapes are inferred") == 0
    assert "- CG202 shapes inferred: 4 rules; --strict lists them" in page
    few = github.render(Audit(results[:4]), BASE)
    assert few.count("its shapes are inferred") == 3
