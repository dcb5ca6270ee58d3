"""`certgrad report` and its `--check`."""

import os
from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Library, Result

Run = Callable[..., Result]


def test_written_then_current_then_stale(library: Library, certgrad: Run, tmp_path: Path) -> None:
    directory = tmp_path / "reports"
    result = certgrad("report", "--directory", str(directory))
    assert (result.code, result.out) == (0, f"{directory}: 5 files, 5 changed\n")
    result = certgrad("report", "--check", "--directory", str(directory))
    assert (result.code, result.out) == (0, f"{directory}: 5 files, all current\n")
    (directory / "certificates/log.json").write_text("{}")
    result = certgrad("report", "--check", "--directory", str(directory))
    assert result.code == 1
    assert result.out == f"{directory}/certificates/log.json: out of date\n"
    assert "1 of the report's files is not current. Run `certgrad report` and commit it." in result.err
    assert (directory / "certificates/log.json").read_text() == "{}"


def test_check_of_nothing_writes_nothing(library: Library, certgrad: Run, tmp_path: Path) -> None:
    result = certgrad("report", "--check", "--directory", str(tmp_path / "reports"))
    assert result.code == 1
    assert "5 of the report's files are not current." in result.err
    assert os.listdir(tmp_path) == []


def test_unwritable_directory(library: Library, certgrad: Run, tmp_path: Path) -> None:
    (tmp_path / "reports").write_text("a file")
    result = certgrad("report", "--directory", str(tmp_path / "reports"))
    assert result.code == 2
    assert result.err.startswith(f"error: The report cannot be written to {tmp_path / 'reports'}: ")
