"""A mend is a change of the source with which the rule is proved; where there is none, nothing is shown."""

from pathlib import Path
from typing import Any

import pytest

from certgrad.exhibits.data import Mend
from certgrad.rules.causes.mend import mend
from certgrad.rules.declared.declaration import declaration_of
from certgrad.rules.judging.check import check
from certgrad.rules.subject.layers import plain_function, unwrapped
from certgrad.rules.subject.user_rule import UserRule
from examples.rules import linear, pointwise


def mended(rule: Any) -> Mend | None:
    declared = declaration_of(rule, plain_function(unwrapped(rule)))
    assert declared is not None
    report = check(rule, declared.signature, conformance=False, **declared.options)
    assert report.verdict == "refuted"
    return mend(UserRule(rule, declared.signature), report, declared)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("rule", "added"),
    [
        (linear.wrong_bias, "lambda b, g: (g, jnp.zeros_like(b) + jnp.sum(g, axis=0)))"),
        (linear.wrong_order, "lambda r, g: (g * r[0] + g * (r[1] - r[0]), g * r[1] + g * (r[0] - r[1])))"),
    ],
)
def test_the_missing_term_is_written_where_it_is_missing(rule: Any, added: str) -> None:
    found = mended(rule)
    assert found is not None
    assert found.verdict in ("proved", "proved under hypotheses")
    lines = found.diff.splitlines()
    assert lines[0].startswith("--- a/")
    assert [line for line in lines if line[:1] == "+" and added in line]
    assert sum(line[:1] == "-" for line in lines) == 2, "the name of the file, and one line"


def test_the_diff_fits_the_file() -> None:
    found = mended(linear.wrong_bias)
    assert found is not None
    before = Path(linear.__file__).read_text().splitlines()
    removed = [line[1:] for line in found.diff.splitlines()[2:] if line[:1] in ("-", " ")]
    assert any(before[k : k + len(removed)] == removed for k in range(len(before)))


def test_what_the_backward_function_does_not_have_cannot_be_written() -> None:
    assert mended(pointwise.wrong_abs) is None
