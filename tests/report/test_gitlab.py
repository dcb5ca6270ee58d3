"""GitLab's Code Quality report: a golden file, and what GitLab asks of an entry."""

import json
from pathlib import PurePosixPath

from certgrad.report import gitlab
from certgrad.report.audited import Audit
from tests.report.audits import BASE, EVERY, remarked
from tests.report.golden import check


def test_entries_of_every_verdict() -> None:
    check("audit.gitlab.json", gitlab.render(EVERY, BASE).decode())


def test_an_entry_has_what_gitlab_asks_for() -> None:
    entries = json.loads(gitlab.render(EVERY, BASE))
    assert len({entry["fingerprint"] for entry in entries}) == len(entries)
    assert {entry["severity"] for entry in entries} <= {"info", "minor", "major", "critical", "blocker"}
    for entry in entries:
        assert entry.keys() == {"description", "check_name", "fingerprint", "severity", "location"}
        assert "\n" not in entry["description"]
        assert entry["location"]["lines"]["begin"] >= 1
        assert not PurePosixPath(entry["location"]["path"]).is_absolute()


def test_a_rule_without_a_file_has_a_path() -> None:
    (entry,) = json.loads(gitlab.render(Audit([remarked("pkg:f", "CG201", "why", where="")]), BASE))
    assert entry["location"] == {"path": ".", "lines": {"begin": 1}}


def test_an_audit_that_is_not_complete_is_a_blocker() -> None:
    *_, last = json.loads(gitlab.render(EVERY, BASE))
    assert (last["severity"], "Cannot import 'pkg.gone'" in last["description"]) == ("blocker", True)


def test_what_the_baseline_lists_is_left_out() -> None:
    assert b"straight_through" not in gitlab.render(EVERY, BASE)
