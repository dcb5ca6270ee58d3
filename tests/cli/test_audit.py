"""`certgrad audit`: exit codes, formats, files, and the wording of messages."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from certgrad.errors import TraceError
from tests.cli.conftest import Library, Result

Run = Callable[..., Result]


def test_all_discharged_exits_0(library: Library, certgrad: Run) -> None:
    result = certgrad("audit", *library.certificates)
    assert result.code == 0
    assert result.err == ""
    assert result.out.startswith("op       obligations  verdict                  hypotheses  convention  ")
    assert "\n3 ops: 1 proved, 2 proved under hypotheses, 0 unproved, 0 refuted (" in result.out


def test_the_first_line_says_whose_ops_are_audited_where_no_target_does(library: Library, certgrad: Run) -> None:
    said = "note: no target is named or configured: auditing 3 ops of certgrad's own library. Name a module, "
    assert certgrad("audit").err.startswith(said)
    assert certgrad("audit", "--quiet").err == ""
    assert certgrad("audit", "relu").err == ""


@pytest.mark.parametrize(
    "ops, code, strict_code", [("mul", 1, 1), ("sort", 0, 1), ("straight_through", 0, 1), ("log", 0, 0)]
)
def test_exit_code_of_a_verdict(everything: Library, certgrad: Run, ops: str, code: int, strict_code: int) -> None:
    assert certgrad("audit", ops).code == code
    assert certgrad("audit", ops, "--strict").code == strict_code


def test_quiet_prints_findings_and_summary(everything: Library, certgrad: Run) -> None:
    result = certgrad("audit", "-q", "relu", "mul")
    assert result.out.startswith("CG102 mul.vjp_is_adjoint: refuted\n")
    assert "relu" not in result.out
    assert result.out.splitlines()[-1].startswith("2 ops: 0 proved, 1 proved under hypotheses, 0 unproved, 1 refuted (")


def test_strict_names_at_the_end_what_it_fails_on(everything: Library, certgrad: Run) -> None:
    named = [
        "  CG102 mul: the VJP gives 2, the JVP 0.333 at n = 2",
        "  CG101 sort: unproved: primitive sort is not known",
        "  CG101 straight_through: surrogate: declared: the rule is the identity",
    ]
    shown = certgrad("audit", "--strict").out.splitlines()
    assert shown[-6:-1] == ["--strict fails on:", *named, ""]
    assert "--strict" not in certgrad("audit").out
    assert "--strict" not in certgrad("audit", "relu", "--strict").out


def test_output_is_plain_where_there_is_no_terminal(everything: Library, certgrad: Run) -> None:
    result = certgrad("audit")
    assert "\x1b" not in result.out + result.err


def test_targets_are_shown_in_the_order_asked_for_and_may_be_aliases(library: Library, certgrad: Run) -> None:
    document = json.loads(certgrad("audit", "log", "rectifier", "log", "--format", "json").out)
    assert [entry["op"] for entry in document["certificates"]] == ["log", "relu"]


def test_unknown_target_suggests(library: Library, certgrad: Run) -> None:
    result = certgrad("audit", "sigmoidd")
    assert result.code == 2
    assert result.err == (
        "error: 'sigmoidd' is not an op of the library, and no module or file of that name is found. "
        "Did you mean sigmoid? `certgrad list` shows all 3 ops.\n"
    )


def test_a_pattern_as_target_points_to_select(library: Library, certgrad: Run) -> None:
    result = certgrad("audit", "soft*")
    assert result.code == 2
    assert "For a pattern use --select 'soft*'." in result.err


@pytest.mark.parametrize(
    "options, expected",
    [
        (["--select", "s*"], {"sigmoid": 2}),
        (["--select", "rect*,log"], {"relu": 2, "log": 2}),
        (["--select", "CG102"], {"sigmoid": 1, "relu": 1, "log": 1}),
        (["--select", "cg1"], {"sigmoid": 2, "relu": 2, "log": 2}),
        (["--select", "relu,CG101"], {"relu": 1}),
        (["--select", "relu", "--select", "log"], {"relu": 2, "log": 2}),
        (["--select", "relu.vjp_is_adjoint"], {"relu": 1}),
        (["--select", "*.jvp_is_derivative", "--ignore", "log"], {"sigmoid": 1, "relu": 1}),
        (["--ignore", "CG101"], {"sigmoid": 1, "relu": 1, "log": 1}),
        (["--ignore", "relu.*,sigmoid"], {"log": 2}),
    ],
)
def test_selection(library: Library, certgrad: Run, options: list[str], expected: dict[str, int]) -> None:
    document = json.loads(certgrad("audit", "--format", "json", *options).out)
    assert {entry["op"]: len(entry["claims"]) for entry in document["certificates"]} == expected


def test_the_verdict_is_that_of_the_selected_claims(everything: Library, certgrad: Run) -> None:
    assert certgrad("audit", "mul", "--select", "CG101").code == 0
    assert certgrad("audit", "mul", "--select", "CG102").code == 1


@pytest.mark.parametrize("options", [["relu", "--ignore", "relu"], ["--select", "CG103"], ["relu", "--select", "log"]])
def test_nothing_selected_exits_5(library: Library, certgrad: Run, options: list[str], tmp_path: Path) -> None:
    result = certgrad("audit", *options, "--output", f"json={tmp_path / 'a.json'}")
    assert result.code == 5
    assert result.err.splitlines()[-1].startswith("nothing selected")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "options, message",
    [
        (["--select", "softt*"], "--select: 'softt*' matches no op of the library, no rule that was found"),
        (["--select", "CG9"], "--select: no code begins with 'CG9'. The codes are CG101, CG102, CG103, CG104, CG201"),
        (["--ignore", "relu.gradient"], "--ignore: 'relu.gradient' matches no obligation."),
        (["--select", "relu,,log"], "--select has an empty pattern."),
        (["--output", "json"], "--output json: expected FORMAT=PATH with FORMAT one of text, concise, json, markdown"),
        (["--output", "xml=a"], "--output xml=a: expected FORMAT=PATH"),
        (["--output", "json=/nowhere/a.json"], "(/nowhere is not a directory that exists)"),
        (["--output", "json=/"], "(it is a directory)"),
        (["--output", "json=a.json", "--output", "text=./a.json"], "two reports cannot go to the same file"),
    ],
)
def test_wrong_use_exits_2(
    library: Library, certgrad: Run, options: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = certgrad("audit", *options)
    assert result.code == 2
    assert message in result.err
    assert len(result.err.splitlines()) == 1
    assert result.out == ""
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("options", [["--jobs", "0"], ["--jobs", "many"], ["--format", "xml"], ["--nonsense"]])
def test_wrong_options_exit_2(library: Library, certgrad: Run, options: list[str]) -> None:
    result = certgrad("audit", *options)
    assert result.code == 2
    assert options[0] in result.err


def test_an_unwritable_path_is_refused_before_the_audit(library: Library, certgrad: Run, tmp_path: Path) -> None:
    def fail() -> None:
        raise AssertionError("the audit ran")

    library.audits["relu"] = fail  # type: ignore[assignment]
    assert certgrad("audit", "relu", "--output", f"json={tmp_path}/missing/a.json").code == 2


def test_outputs_are_written_beside_what_is_printed(everything: Library, certgrad: Run, tmp_path: Path) -> None:
    paths = {kind: tmp_path / f"audit.{kind}" for kind in ("json", "markdown", "text")}
    result = certgrad("audit", "--format", "json", *(f"--output={kind}={path}" for kind, path in paths.items()))
    assert result.code == 1
    assert paths["json"].read_text() == result.out
    assert paths["markdown"].read_text().startswith("6 ops: 1 proved, 2 proved under hypotheses, 1 surrogate, ")
    assert paths["text"].read_text().startswith("op  ")
    assert sorted(os.listdir(tmp_path)) == sorted(path.name for path in paths.values())


def test_bad_input_met_by_the_audit_is_a_message(library: Library, certgrad: Run, tmp_path: Path) -> None:
    def fail() -> None:
        raise TraceError("relu: the forward cannot be traced.")

    library.audits["relu"] = fail  # type: ignore[assignment]
    old = tmp_path / "audit.json"
    old.write_text("old")
    result = certgrad("audit", "relu", "--output", f"json={old}")
    assert (result.code, result.err) == (2, "error: relu: the forward cannot be traced.\n")
    assert old.read_text() == "old"


def test_a_defect_is_an_internal_error_that_names_the_op(
    library: Library, certgrad: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise ZeroDivisionError("division by zero")

    library.audits["relu"] = fail  # type: ignore[assignment]
    result = certgrad("audit", "relu")
    assert result.code == 3
    assert result.out == ""
    assert result.err.startswith(
        "internal error: certgrad failed while auditing 'relu' (ZeroDivisionError: division by zero). "
        "This is a defect of certgrad, not of your input"
    )
    assert "Please report it" in result.err
    assert len(result.err.splitlines()) == 1


def test_debug_shows_the_traceback(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from certgrad.cli import app

    def fail() -> None:
        raise ZeroDivisionError("division by zero")

    library.audits["relu"] = fail  # type: ignore[assignment]
    monkeypatch.setenv("CERTGRAD_DEBUG", "1")
    result = CliRunner().invoke(app, ["audit", "relu"])
    assert result.exit_code == 3
    assert result.stderr.startswith("Traceback")
