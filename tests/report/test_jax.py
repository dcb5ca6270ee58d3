"""The report on JAX: groups, reasons, the page and the version that it states."""

from pathlib import Path

import jax
import msgspec
import pytest

from certgrad.jax_rules import audit
from certgrad.obligations.certificate import Certificate
from certgrad.report import jax as report
from certgrad.report.audited import Audit
from tests.report import fabricated
from tests.report.audits import result

PAGE = Path(__file__).parents[2] / "reports" / report.FILE


def named(certificate: Certificate, name: str) -> Certificate:
    return msgspec.structs.replace(certificate, op=name, versions={"jax": "0.10.2"})


LOGISTIC, RELU = named(fabricated.SIGMOID, "logistic"), named(fabricated.RELU, "jax.nn.relu")
WRONG, OPEN = named(fabricated.SWAPPED, "mul"), named(fabricated.UNKNOWN, "sort")
ALL = [LOGISTIC, WRONG, OPEN, named(fabricated.UNKNOWN, "top_k"), RELU]


def test_primitives_and_functions_are_counted_apart() -> None:
    assert report.summary(ALL).splitlines() == [
        "4 primitives: 1 proved, 0 proved under hypotheses, 2 unproved, 1 refuted",
        "1 function: 0 proved, 1 proved under hypotheses, 0 unproved, 0 refuted",
    ]


def test_text_lists_what_is_unproved_by_its_reason() -> None:
    text = report.render(Audit([result(c) for c in ALL], 2))
    reason = OPEN.claims[0].cases[0].reason or OPEN.claims[1].cases[0].reason
    assert ": sort, top_k\n" in text
    assert " ".join(reason.split()[:3]) in text
    assert text.count("refuted\n  claim") == 1
    assert "mul" not in report.render(Audit([result(LOGISTIC)], 2), quiet=True)


def test_the_page_states_its_version() -> None:
    page = report.page(ALL, {"it hides the derivative by intent": ["stop_gradient"]})
    assert report.stated_version(page) == "0.10.2"
    assert report.stated_version("no page") == ""
    assert report.line(LOGISTIC) in page
    assert "- it hides the derivative by intent: `stop_gradient`" in page
    assert page == report.page(ALL, {"it hides the derivative by intent": ["stop_gradient"]})


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ["abs", "clamp", "jax.nn.relu6", "transpose"])
def test_the_committed_page_is_current_where_it_is_about_this_jax(name: str) -> None:
    """A sample: `certgrad report --jax --check` compares all of it."""
    page = PAGE.read_text(encoding="utf-8")
    if report.stated_version(page) != jax.__version__:
        pytest.skip(f"the page is about jax {report.stated_version(page)}")
    assert report.line(audit(name)) in page.splitlines()
