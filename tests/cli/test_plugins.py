"""Plugins: ops and formats that other distributions add by entry points, and plugins that are broken."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from certgrad.ops import registry
from tests.cli.conftest import Library, Result

Run = Callable[..., Result]
SAMPLE = Path(__file__).parents[2] / "examples/plugin/src"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Installs a distribution as far as entry points go: its metadata in a folder of `sys.path`."""
    _forget()
    for table in ("_ops", "_aliases"):  # what the sample declares is taken back
        monkeypatch.setattr(registry, table, dict(getattr(registry, table)))
    monkeypatch.syspath_prepend(str(SAMPLE))
    monkeypatch.syspath_prepend(str(tmp_path))
    paths = [str(tmp_path), str(SAMPLE), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))  # for the processes of an audit
    monkeypatch.chdir(tmp_path)

    def installed(name: str = "certgrad-sample", **groups: str) -> None:
        folder = tmp_path / f"{name.replace('-', '_')}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        tables = [f"[certgrad.{group}]\n{entries}\n" for group, entries in groups.items()]
        (folder / "entry_points.txt").write_text("\n".join(tables))

    yield installed
    _forget()


def _forget() -> None:
    """Neither the sample nor what other tests call broken is imported."""
    for module in [m for m in sys.modules if m.partition(".")[0] in ("certgrad_sample", "broken")]:
        del sys.modules[module]


def test_the_ops_of_a_plugin_are_listed_by_the_target_that_names_them(
    library: Library, certgrad: Run, install: Callable[..., None]
) -> None:
    install(ops="sample = certgrad_sample.ops")
    assert certgrad("list").out.splitlines()[-1] == "certgrad_sample.ops:xlogx  *s -> *s  x·log x, elementwise."


@pytest.mark.slow
def test_the_ops_of_a_plugin_are_audited_with_the_library(
    library: Library, certgrad: Run, install: Callable[..., None]
) -> None:
    install(ops="sample = certgrad_sample.ops")
    done = certgrad("audit", "--no-cache", "--format", "json")
    assert done.code == 0, done.err
    names = {one["op"] for one in json.loads(done.out)["certificates"]}
    assert names == {*library.certificates, "certgrad_sample.ops:xlogx"}


def test_a_plugin_is_no_part_of_an_audit_of_something_else(
    library: Library, certgrad: Run, install: Callable[..., None]
) -> None:
    install(ops="sample = broken")
    done = certgrad("audit", "relu")
    assert (done.code, "broken" in done.err) == (0, False)


@pytest.mark.slow
def test_a_plugin_that_does_not_import_is_named_and_the_others_are_shown(
    library: Library, certgrad: Run, install: Callable[..., None], tmp_path: Path
) -> None:
    (tmp_path / "broken.py").write_text("import no_such_module\n")
    install(ops="sample = broken")
    named = "the plugin 'sample' of certgrad-sample 1.0 (broken)"
    done = certgrad("audit", "--no-cache", "--format", "json")
    assert done.code == 2
    assert {one["op"] for one in json.loads(done.out)["certificates"]} == set(library.certificates)
    assert f"error: {named}: " in done.err
    assert "No module named 'no_such_module'" in done.err
    done = certgrad("list")
    assert (done.code, len(done.out.splitlines())) == (0, 3)
    assert done.err == (
        f"note: {named} does not load (ModuleNotFoundError: No module named 'no_such_module'). "
        "Mend it, or remove it: pip uninstall certgrad-sample.\n"
    )


def test_a_plugin_without_an_op_says_so(
    library: Library, certgrad: Run, install: Callable[..., None], tmp_path: Path
) -> None:
    (tmp_path / "broken.py").write_text("answer = 42\n")
    install(ops="sample = broken")
    assert "(broken) declares no op with certgrad.op. Mend it" in certgrad("list").err


def test_a_format_of_a_plugin(library: Library, certgrad: Run, install: Callable[..., None], tmp_path: Path) -> None:
    install(formatters="csv = certgrad_sample.formats:csv")
    done = certgrad("audit", "relu", "--format", "csv", "--output", "csv=audit.csv")
    assert done.code == 0, done.err
    assert done.out.startswith("obligation,verdict,hypotheses\nrelu.jvp_is_derivative,")
    assert (tmp_path / "audit.csv").read_text() == done.out


def test_a_configured_format_may_be_that_of_a_plugin(
    library: Library, certgrad: Run, install: Callable[..., None], tmp_path: Path
) -> None:
    install(formatters="csv = certgrad_sample.formats:csv")
    (tmp_path / "pyproject.toml").write_text("[tool.certgrad]\nformat = 'csv'\n")
    assert certgrad("audit", "relu").out.startswith("obligation,")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise SystemExit(3)", "(broken:csv) does not load (SystemExit: 3). Mend it, or remove it: "),
        ("", "(broken:csv) does not load (AttributeError: module 'broken' has no attribute 'csv'). Mend it"),
        ("csv = 42", "(broken:csv) is no function but a int: a format is a function from the document of the audit"),
        ("def csv(document): return 1 / 0", "failed (ZeroDivisionError: division by zero). The audit itself is done."),
        ("def csv(document): return b''", "(broken:csv) returned a bytes, and not a text. Mend it"),
    ],
)
@pytest.mark.one_in(3)
@pytest.mark.parametrize("option", [["--format", "csv"], ["--output", "csv=audit.csv"]])
def test_a_broken_format_is_named(
    source: str,
    said: str,
    option: list[str],
    library: Library,
    certgrad: Run,
    install: Callable[..., None],
    tmp_path: Path,
) -> None:
    (tmp_path / "broken.py").write_text(f"{source}\n")
    install(formatters="csv = broken:csv")
    done = certgrad("audit", "relu", *option)
    assert done.code == 2
    assert "the plugin 'csv' of certgrad-sample 1.0 " in done.err
    assert said in done.err
    assert not (tmp_path / "audit.csv").exists()


def test_an_unknown_format_is_answered_with_those_that_there_are(
    library: Library, certgrad: Run, install: Callable[..., None]
) -> None:
    install(formatters="csv = certgrad_sample.formats:csv")
    done = certgrad("audit", "relu", "--format", "cvs")
    assert done.code == 2
    assert "'cvs' is not one of 'text', 'concise', 'json', " in done.err
    assert "'csv'" in done.err


def test_a_format_of_certgrad_is_not_replaced(library: Library, certgrad: Run, install: Callable[..., None]) -> None:
    install(formatters="json = certgrad_sample.formats:csv")
    assert certgrad("audit", "relu", "--format", "json").out.startswith("{")


def test_two_plugins_with_one_format(library: Library, certgrad: Run, install: Callable[..., None]) -> None:
    install(formatters="csv = certgrad_sample.formats:csv")
    install("other", formatters="csv = certgrad_sample.formats:csv")
    said = certgrad("audit", "relu", "--format", "csv").err
    assert "two plugins have a format 'csv': certgrad-sample 1.0 and other 1.0. Remove one of them." in said
