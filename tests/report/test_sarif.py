"""SARIF: valid against the official schema, and what code scanning needs of it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema_rs
from msgspec.structs import replace as replaced

from certgrad.report import sarif
from certgrad.report.audited import Audit
from tests.report import fabricated
from tests.report.audits import BASE, EVERY, MUL, at, remarked, result
from tests.report.golden import check

_SCHEMA = json.loads((Path(__file__).parent / "schemas/sarif-schema-2.1.0.json").read_text())


def log(audit: Audit) -> Any:
    """The log, once it is valid."""
    document = json.loads(sarif.render(audit, "1.2.3", BASE))
    jsonschema_rs.Draft4Validator(_SCHEMA, validate_formats=True).validate(document)
    return document


def results(audit: Audit) -> list:
    return log(audit)["runs"][0]["results"]


def test_a_log_of_every_verdict_is_valid() -> None:
    assert log(EVERY)["version"] == "2.1.0"
    check("audit.sarif", sarif.render(EVERY, "1.2.3", BASE).decode())


def test_a_log_without_findings_is_valid_and_says_that_it_looked() -> None:
    (run,) = log(Audit([result(c) for c in fabricated.PROVED]))["runs"]
    assert run["results"] == []
    assert run["invocations"] == [{"executionSuccessful": True}]
    assert run["tool"]["driver"]["semanticVersion"] == "1.2.3"


def test_an_audit_that_is_not_complete_says_so() -> None:
    (invocation,) = log(EVERY)["runs"][0]["invocations"]
    assert not invocation["executionSuccessful"]
    assert [note["message"]["text"] for note in invocation["toolExecutionNotifications"]] == list(EVERY.problems)


def test_every_code_has_help() -> None:
    rules = log(EVERY)["runs"][0]["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules][:4] == ["CG101", "CG102", "CG103", "CG104"]
    assert all(rule["help"]["text"] and "```python" in rule["help"]["markdown"] for rule in rules)
    assert all(rules[r["ruleIndex"]]["id"] == r["ruleId"] for r in results(EVERY))


def test_a_result_has_the_file_the_line_the_witness_and_the_mend() -> None:
    reason = "the two sides differ at the witness\nlikely cause: a factor 2 is missing\nsee losses.py:17"
    (claim,) = [c for c in MUL.claims if c.verdict == "refuted"]
    case = replaced(claim.cases[0], reason=reason)
    mended = replaced(MUL, claims=[replaced(claim, cases=[case])])
    (found,) = results(Audit([result(mended, **at(11))]))
    place = found["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "pkg/losses.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 11},
    }
    text = found["message"]["text"]
    assert "likely cause: a factor 2 is missing" in text
    assert "witness     n = 2" in text
    assert text.index("likely cause") < text.index("witness "), "a list of problems shows the first lines"


def test_levels_are_those_of_the_exit_code() -> None:
    levels = {(r["ruleId"], r["properties"]["verdict"]): r["level"] for r in results(EVERY)}
    assert levels == {
        ("CG102", "refuted"): "error",
        ("CG101", "unproved"): "warning",
        ("CG101", "surrogate"): "note",
        ("CG202", "shapes inferred"): "note",
        ("CG201", "not audited"): "warning",
        ("CG206", "wrong declaration"): "error",
    }
    strict = replace(EVERY, failing=frozenset({"refuted", "unproved"}))
    assert [r["level"] for r in results(strict) if r["ruleId"] == "CG101"] == ["error", "note"]


def test_what_the_baseline_lists_is_suppressed() -> None:
    suppressed = [r for r in results(EVERY) if "suppressions" in r]
    assert [r["properties"]["verdict"] for r in suppressed] == ["surrogate"]


def test_fingerprints_stay_while_code_moves_and_are_all_different() -> None:
    moved = [replaced(one, **at(900, "elsewhere.py"), seconds=9.0) for one in EVERY.results]
    prints = [r["partialFingerprints"] for r in results(EVERY)]
    assert prints == [r["partialFingerprints"] for r in results(replace(EVERY, results=moved))]
    assert len({p["certgradFinding/v1"] for p in prints}) == len(prints)


def test_names_of_files_are_uris() -> None:
    uris = [
        r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for r in results(EVERY)
        if "physicalLocation" in r["locations"][0]
    ]
    assert "pkg/a%20b%2Cc%3Ad.py" in uris
    (outside,) = results(Audit([result(MUL, where="x y.py:1", file="/else/x y.py")]))
    assert outside["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "file:///else/x%20y.py"}


def test_a_formula_is_no_link() -> None:
    (found,) = results(Audit([remarked("pkg:f", "CG201", "x[i](t) + y[j]")]))
    assert found["message"]["text"].endswith("\nx\\[i](t) + y[j]")
