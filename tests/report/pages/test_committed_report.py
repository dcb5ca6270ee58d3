"""The committed report: written whole, checked, stale files named and removed."""

import os
from pathlib import Path

import msgspec
import pytest

from certgrad.errors import UsageError
from certgrad.report import json
from certgrad.report.pages import committed_report
from tests.report import fabricated
from tests.report.golden import check


def test_front_page() -> None:
    check("front_page.md", committed_report.render(fabricated.ALL)["README.md"].decode())


def test_front_page_without_findings_says_so() -> None:
    page = committed_report.render(fabricated.PROVED)["README.md"].decode()
    assert page.endswith("## Findings\n\nNone: every obligation is discharged.\n")


def test_what_is_written_is_current(tmp_path: Path) -> None:
    files = committed_report.render(fabricated.ALL)
    changed = committed_report.write(tmp_path / "reports", files)
    assert changed == [f"{path}: missing" for path in files]
    assert committed_report.stale(tmp_path / "reports", files) == []
    assert committed_report.write(tmp_path / "reports", files) == []
    assert json.decode((tmp_path / "reports/certificates/relu.json").read_bytes()) == fabricated.RELU


def test_stale_files_are_named_and_then_mended(tmp_path: Path) -> None:
    committed_report.write(tmp_path, committed_report.render(fabricated.ALL))
    (tmp_path / "certificates/relu.json").write_text("{}")
    (tmp_path / "schema.json").unlink()
    files = committed_report.render(fabricated.PROVED)
    assert committed_report.stale(tmp_path, files) == [
        "README.md: out of date",
        "schema.json: missing",
        "certificates/relu.json: out of date",
        "certificates/mul.json: left over, no such op",
        "certificates/sort.json: left over, no such op",
        "certificates/straight_through.json: left over, no such op",
    ]
    committed_report.write(tmp_path, files)
    assert committed_report.stale(tmp_path, files) == []
    assert sorted(entry.name for entry in (tmp_path / "certificates").iterdir()) == [
        "log.json",
        "relu.json",
        "sigmoid.json",
    ]


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "certificates").mkdir()
    (tmp_path / "certificates/notes.txt").write_text("mine")
    committed_report.write(tmp_path, committed_report.render(fabricated.PROVED))
    assert (tmp_path / "certificates/notes.txt").read_text() == "mine"


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "reports").write_text("a file")
    with pytest.raises(UsageError, match="cannot be written"):
        committed_report.write(tmp_path / "reports", committed_report.render(fabricated.PROVED))
    assert os.listdir(tmp_path) == ["reports"]


def test_other_versions_are_named(tmp_path: Path) -> None:
    committed_report.write(tmp_path, committed_report.render([fabricated.RELU]))
    newer = msgspec.structs.replace(fabricated.RELU, versions={"certgrad": "0.1.0", "jax": "0.11.0"})
    assert committed_report.version_differences(tmp_path, [newer, fabricated.LOG]) == ["jax 0.10.2, now 0.11.0"]
