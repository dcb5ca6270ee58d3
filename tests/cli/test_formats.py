"""`--format` and `--output`: several at once, whole or not at all, and text that fits the page."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema_rs
import pytest
from junitparser import JUnitXml

from certgrad.cli import _output
from tests.cli.conftest import Library, Result

Run = Callable[..., Result]


def test_all_formats_at_once(
    everything: Library, certgrad: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = [part for kind in _output.Format for part in ("--output", f"{kind}=audit.{kind}")]
    done = certgrad("audit", "--format", "github", *options)
    assert done.code == 1
    assert "::error title=CG102 mul.vjp_is_adjoint%3A refuted::" in done.out
    written = {kind: Path(f"audit.{kind}").read_text() for kind in _output.Format}
    assert written["github"] == done.out
    assert json.loads(written["sarif"])["version"] == "2.1.0"
    assert json.loads(written["json"])["format"] == 1
    assert written["junit"].startswith("<?xml")
    assert {one["check_name"] for one in json.loads(written["gitlab"])} == {"CG101", "CG102"}
    assert written["markdown"].startswith("6 ops: ")
    assert written["text"].startswith("op ")
    assert written["html"].startswith("<!DOCTYPE html>")


@pytest.mark.slow
def test_one_audit_of_wrong_rules_in_all_formats(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    files = {kind: tmp_path / f"audit.{kind}" for kind in _output.Format}
    options = [part for kind, file in files.items() for part in ("--output", f"{kind}={file}")]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "certgrad", "audit", "examples/wrong_rules.py", "--no-cache", *options],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root), "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert files[_output.Format.concise].read_text() == done.stdout
    assert all(line.startswith("examples/wrong_rules.py:") for line in done.stdout.splitlines()[:-1])
    assert max(map(len, files[_output.Format.text].read_text().partition("\n\n")[0].splitlines())) <= 100
    names = {one["op"] for one in json.loads(files[_output.Format.json].read_text())["certificates"]}
    assert len(names) == 13
    log = json.loads(files[_output.Format.sarif].read_text())
    schema = root / "tests/report/schemas/sarif-schema-2.1.0.json"
    jsonschema_rs.Draft4Validator(json.loads(schema.read_text())).validate(log)
    assert {result["level"] for result in log["runs"][0]["results"]} == {"error"}
    places = [result["locations"][0]["physicalLocation"] for result in log["runs"][0]["results"]]
    assert {place["artifactLocation"]["uri"] for place in places} == {"examples/wrong_rules.py"}
    source = (root / "examples/wrong_rules.py").read_text().splitlines()
    for place, result in zip(places, log["runs"][0]["results"], strict=True):
        name = result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"].partition(":")[2]
        lines = source[place["region"]["startLine"] - 1 :]
        assert next(line for line in lines if line.startswith("def ")).startswith(f"def {name}(")
        assert "witness " in result["message"]["text"]
    document = JUnitXml.fromfile(str(files[_output.Format.junit]))
    assert (document.tests, document.failures) == (13, 13)
    page = files[_output.Format.html].read_text()
    assert page.count('<tr class="row">') == 13
    assert page.count("the difference of both sides on a line through the witness") >= 13
    annotations = files[_output.Format.github].read_text().splitlines()
    assert sum(line.startswith("::error file=examples/wrong_rules.py,line=") for line in annotations) == len(places)


def test_a_file_is_replaced_whole_or_not_at_all(
    everything: Library, certgrad: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "audit.sarif"
    target.write_text("as it was")
    monkeypatch.setattr(os, "replace", _no_space)
    done = certgrad("audit", "--output", f"sarif={target}")
    assert done.code == 2
    assert "the file cannot be written (No space left on device)" in done.err
    assert target.read_text() == "as it was"
    assert [one.name for one in tmp_path.iterdir()] == ["audit.sarif"]


def _no_space(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_page_goes_to_the_screen_as_well(library: Library, certgrad: Run) -> None:
    done = certgrad("audit", "relu", "--format", "html")
    assert done.code == 0
    assert done.out.lstrip().startswith("<!DOCTYPE html>")
    assert done.out.endswith("</html>\n")


def test_without_jinja_nothing_is_audited_for_a_page(
    library: Library, certgrad: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("certgrad.report.html._page.import_module", absent)
    done = certgrad("audit", "--format", "html")
    assert (done.code, done.out) == (2, "")
    assert done.err == "error: HTML needs jinja2. Install it with: pip install 'certgrad[html]'.\n"


def test_an_unknown_format_is_named_with_those_that_there_are(library: Library, certgrad: Run) -> None:
    done = certgrad("audit", "--output", "xml=a.xml")
    assert done.code == 2
    assert "FORMAT one of text, concise, json, markdown, sarif, junit, github" in done.err


def test_files_are_named_from_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "packages/one"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    names = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")
    for name in names:
        monkeypatch.delenv(name, raising=False)
    assert _output.root() == inner
    for name in names:
        monkeypatch.setenv(name, str(tmp_path))
        assert _output.root() == tmp_path
        monkeypatch.setenv(name, "/elsewhere")
        assert _output.root() == inner


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_a_page_is_as_wide_as_columns_says(
    everything: Library, certgrad: Run, columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    table = certgrad("audit", "sigmoid", "relu").out.partition("\n\n")[0]
    assert max(map(len, table.splitlines())) <= int(columns)


def test_verbose_tells_every_rule_in_full_and_quiet_contradicts_it(library: Library, certgrad: Run) -> None:
    told = certgrad("audit", "relu", "--verbose").out
    words = " ".join(told.split())
    assert "hypothesis x[i] ≠ 0: no entry of x is zero (max(x, 0); excludes a set of measure zero)" in words
    both = certgrad("audit", "-q", "-v")
    assert both.code == 2
    assert both.err == "error: --quiet and --verbose contradict each other. Leave one of them out.\n"


@pytest.mark.slow
def test_where_nothing_could_be_looked_at_the_files_say_so(
    certgrad: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = certgrad("audit", "nowhere/at_all.py", "--output", "sarif=a.sarif")
    assert done.code == 2
    (run,) = json.loads(Path("a.sarif").read_text())["runs"]
    assert not run["invocations"][0]["executionSuccessful"]
    assert done.out == ""


@pytest.mark.parametrize(
    "terminal, verbose, usual", [(True, False, "text"), (False, False, "concise"), (False, True, "text")]
)
def test_a_pipe_gets_a_line_a_finding(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, verbose: bool, usual: str
) -> None:
    monkeypatch.undo()  # of what stands for a terminal here
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout.isatty", lambda: terminal, raising=False)
        assert _output.usual(verbose=verbose) == usual


def test_concise_is_a_line_a_finding_and_the_counts(everything: Library, certgrad: Run) -> None:
    done = certgrad("audit", "--format", "concise")
    *lines, counts = done.out.splitlines()
    assert lines == [
        "CG102 mul: the VJP gives 2, the JVP 0.333 at n = 2",
        "CG101 sort: unproved: primitive sort is not known",
    ]
    assert counts.startswith("6 ops: 1 proved, 2 proved under hypotheses, 1 surrogate, 1 unproved, 1 refuted (")
    strict = certgrad("audit", "--format", "concise", "--strict").out.splitlines()
    assert len(strict) == 4
    assert "CG101 straight_through: surrogate: declared: the rule is the identity" in strict
