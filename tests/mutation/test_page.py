"""The page of mutants says what its figures say, and these are of this form."""

import json

from tests.mutation.page import BROKEN, LEFT_OUT, PAGE, RESULTS, SOURCES, gathered, page


def line(mutant, outcome, **more):
    base = {"kind": "mutant", "source": "classes", "rule": "r", "at": "names", "mutant": mutant, "change": "doubled"}
    laws = ["vjp_is_adjoint"] if outcome in BROKEN else []
    return {**base, "outcome": outcome, "laws": laws, "detail": "", "seconds": 0.1, "code": "c", **more}


def test_the_page_is_of_the_figures():
    results = json.loads(RESULTS.read_text("utf-8"))
    assert PAGE.read_text("utf-8") == page(results)
    assert set(results["sources"]) <= set(SOURCES)


def test_no_mutant_that_breaks_a_law_is_proved():
    for name, one in json.loads(RESULTS.read_text("utf-8"))["sources"].items():
        assert sum(outcomes.get("proved", 0) for outcomes in one["changes"].values()) == 0, name


def test_each_mutant_counts_once_as_its_last_line_says():
    rule = {"kind": "rule", "source": "classes", "rule": "r", "at": "names", "verdict": "proved", "code": "c"}
    lines = [
        rule,
        line("a", "unproved", detail="timed out"),
        line("a", "refuted"),
        line("b", "equal"),
        line("c", "proved", detail="it holds"),
        line("d", "unproved", detail="timed out", at="numbers"),
    ]
    found = gathered(lines)["classes"]
    assert found["rules"] == {"proved": 1}
    assert found["changes"] == {"doubled": {"equal": 1, "proved": 1, "refuted": 1, "unproved": 1}}
    assert found["at"]["numbers"] == {"unproved": 1}
    assert (found["timed out"], found["wrong"]) == (1, ["r (names): c: it holds"])
    text = page({"commits": {"c": "commit 1234"}, "sources": {"classes": found}})
    assert "4 by the code of commit 1234" in text
    assert "| doubled | 4 | 1 | 3 | 1 | 1 | 0 | 0 | 1 | 0 |" in text


def test_every_outcome_is_of_one_kind():
    assert not set(BROKEN) & set(LEFT_OUT)
