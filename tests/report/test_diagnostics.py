"""Diagnostics for editors, from the SARIF log of an audit."""

from pathlib import Path

import pytest

from certgrad.report import sarif
from certgrad.report.diagnostics import LINE_END, of_log
from tests.report.audits import BASE, EVERY


def test_each_finding_is_at_the_line_that_its_result_has() -> None:
    log = sarif.render(EVERY, "1.0", BASE)
    found = of_log(log, BASE)
    assert found
    for uri, diagnostics in found.items():
        assert uri.startswith("file:///")
        for one in diagnostics:
            start, end = one["range"]["start"], one["range"]["end"]
            assert start["line"] == end["line"] >= 0
            assert (start["character"], end["character"]) == (0, LINE_END)
            assert one["source"] == "certgrad"
            assert one["severity"] in (1, 2, 3)
            assert one["message"].strip()


def test_a_refutation_is_an_error_with_its_witness_and_what_the_baseline_lists_is_none() -> None:
    found = [one for each in of_log(sarif.render(EVERY, "1.0", BASE), BASE).values() for one in each]
    (refuted,) = [one for one in found if "refuted" in one["message"].partition("\n")[0]]
    assert refuted["severity"] == 1
    assert "witness" in refuted["message"]
    assert "\\[" not in refuted["message"]
    assert not any("surrogate" in one["message"].partition("\n")[0] for one in found)


def test_a_log_without_findings_has_none(tmp_path: Path) -> None:
    assert of_log(b'{"version": "2.1.0", "runs": [{"results": []}]}', tmp_path) == {}


@pytest.mark.parametrize("log", [b"", b"[]", b"{}", b'{"runs": 3}', b'{"runs": [{"results": [{"locations": 3}]}]}'])
def test_what_is_no_log_is_refused(log: bytes, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no SARIF log"):
        of_log(log, BASE)
