"""What an editor shows of each rule of an audit."""

import msgspec

from certgrad.report.diagnostics import LINE_END, RuleDiagnostics, rule_diagnostics
from tests.report.audits import EVERY

TOLD = {one.result.name: one for one in rule_diagnostics(EVERY)}


def test_a_finding_is_one_line_at_its_line() -> None:
    for one in (d for each in TOLD.values() for d in each.diagnostics):
        start, end = one["range"]["start"], one["range"]["end"]
        assert start["line"] == end["line"] >= 0
        assert (start["character"], end["character"]) == (0, LINE_END)
        assert one["source"] == "certgrad"
        assert "\n" not in one["message"]
    refuted, remark = TOLD["pkg.losses:mul"].diagnostics
    assert (refuted["severity"], refuted["range"]["start"]["line"]) == (1, 10)
    assert refuted["message"].startswith("mul: ")
    assert (remark["code"], remark["severity"]) == ("CG202", 3)


def test_what_the_baseline_lists_and_what_is_in_no_file_is_none() -> None:
    assert TOLD["pkg.losses:straight_through"].diagnostics == []
    assert set(TOLD) == {f"pkg.losses:{name}" for name in ("relu", "mul", "sort", "straight_through")}


def test_the_verdict_and_the_hypotheses_are_shown_on_demand() -> None:
    hover = TOLD["pkg.losses:relu"].hover
    assert hover.startswith("**pkg.losses:relu**: proved")
    assert "\n- `" in hover


def test_it_reads_back() -> None:
    for one in TOLD.values():
        assert msgspec.json.decode(msgspec.json.encode(one), type=RuleDiagnostics) == one
