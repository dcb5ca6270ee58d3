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
    assert f"\nerror: The report cannot be written to {tmp_path / 'reports'}: " in result.err


def test_also_as_one_page(library: Library, certgrad: Run, tmp_path: Path) -> None:
    directory, page = tmp_path / "reports", tmp_path / "ops.html"
    result = certgrad("report", "--directory", str(directory), "--html", str(page))
    assert result.code == 0, result.err
    first = page.read_text()
    assert "<title>3 ops: 1 proved, 2 proved under hypotheses" in first
    assert "Audited in" not in first, "it says no times"
    assert f"{page}: written, " in result.out
    again = certgrad("report", "--check", "--directory", str(directory), "--html", str(page))
    assert again.code == 0
    assert page.read_text() == first


def test_the_page_is_of_the_ops_and_can_be_written(library: Library, certgrad: Run, tmp_path: Path) -> None:
    both = certgrad("report", "--jax", "--html", str(tmp_path / "a.html"))
    assert both.code == 2
    assert both.err == "error: --html is the page on the ops, and --jax that on JAX. Leave one of them out.\n"
    nowhere = certgrad("report", "--html", str(tmp_path / "no/where.html"))
    assert nowhere.code == 2
    assert "cannot be written" in nowhere.err
