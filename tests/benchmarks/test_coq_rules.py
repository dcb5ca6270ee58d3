"""`reports/coq_rules.md` is about the rules that are there, and what it counts is what its rows say."""

from __future__ import annotations

import re

import jax
import pytest

from benchmarks.coq_rules import EXAMPLES, PAGE, page, printed
from certgrad.coq import Judged, Result

ROW = re.compile(r"^\| `([^`]+)` \| (yes|\d+ of \d+) \| `([0-9a-f]{12})` \|", re.MULTILINE)


def parts() -> tuple[str, dict[str, tuple[str, str]], dict[str, tuple[str, str]]]:
    """The text before the rows, the right rules, the wrong ones: what was accepted, and what is stated."""
    text = PAGE.read_text()
    head, _, rest = text.partition("## By rule")
    right, _, wrong = rest.partition("## Wrong rules")
    return head, *({m[1]: (m[2], m[3]) for m in ROW.finditer(one)} for one in (right, wrong))


@pytest.mark.slow
def test_it_states_what_the_examples_state() -> None:
    head, right, wrong = parts()
    if f"JAX {jax.__version__}," not in head:
        pytest.skip("the page is of another JAX, which may trace otherwise")
    for one in printed(EXAMPLES):
        assert (wrong if one.wrong else right)[one.file.subject][1] == one.digest, one.file.subject


def test_it_counts_its_rows() -> None:
    head, right, wrong = parts()
    accepted = sum(said == "yes" for said, _ in right.values())
    assert f"**{accepted} of {len(right)} rules accepted**" in head
    assert accepted >= 60
    assert f"Of {len(wrong)} wrong rules with certificates that claim them proved, **0 accepted**" in head
    assert not any(said == "yes" for said, _ in wrong.values())


def test_a_wrong_rule_that_is_accepted_is_counted() -> None:
    one = next(p for p in printed(EXAMPLES[1:]) if p.wrong)
    believed = Result(one.file.subject, tuple(Judged(t.name, t.kind, True) for t in one.file.theorems), 0.0)
    assert "**1 accepted**" in page([(one, believed)], 30, "8.16.1")
