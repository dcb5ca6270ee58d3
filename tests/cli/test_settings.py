"""Flags over the environment over `[tool.certgrad]` over defaults; `--show-settings`; completion."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from certgrad.cli import _complete, _run, _settings
from tests.cli.conftest import Library, Result

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, and no variable of certgrad's."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("CERTGRAD_")]:
        monkeypatch.delenv(name)
    return tmp_path


def write(*lines: str) -> None:
    Path("pyproject.toml").write_text("\n".join(["[tool.certgrad]", *lines]))


def shown(certgrad: Run, *options: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The settings as a table, and where each is from."""
    done = certgrad("audit", "--show-settings", *options)
    assert done.code == 0
    lines = [line.partition("  # ") for line in done.out.splitlines()]
    return tomllib.loads(done.out)["tool"]["certgrad"], {
        text.partition(" = ")[0]: source.strip() for text, _, source in lines
    }


def test_defaults(certgrad: Run) -> None:
    values, sources = shown(certgrad)
    assert values["jobs"] == "auto"
    assert values["format"] == "text"
    assert (values["timeout"], values["strict"], values["conformance"]) == (20, False, True)
    assert {sources[key] for key in values} == {"default"}


LAYERS = [
    ("strict", "strict = true", ("CERTGRAD_STRICT", "0"), ["--strict"], (True, False, True)),
    ("jobs", "jobs = 3", ("CERTGRAD_JOBS", "auto"), ["--jobs", "5"], (3, "auto", 5)),
    ("timeout", "timeout = 7", ("CERTGRAD_TIMEOUT", "8"), ["--timeout", "9"], (7, 8, 9)),
    ("format", "format = 'json'", ("CERTGRAD_FORMAT", "github"), ["--format", "text"], ("json", "github", "text")),
    ("select", "select = ['CG101']", ("CERTGRAD_SELECT", "CG102 CG103"), ["--select", "CG1"], None),
    ("fail-on", "fail-on = ['unproved']", ("CERTGRAD_FAIL_ON", "surrogate"), ["--fail-on", "refuted"], None),
    ("conformance", "conformance = false", ("CERTGRAD_CONFORMANCE", "1"), ["--no-conformance"], (False, True, False)),
    ("targets", "targets = ['a.py']", ("CERTGRAD_TARGETS", "b.py"), ["c.py"], (["a.py"], ["b.py"], ["c.py"])),
]


@pytest.mark.parametrize("key, line, variable, flags, expected", LAYERS, ids=[one[0] for one in LAYERS])
def test_a_flag_goes_before_the_environment_before_the_file(
    certgrad: Run,
    monkeypatch: pytest.MonkeyPatch,
    key: str,
    line: str,
    variable: tuple[str, str],
    flags: list[str],
    expected: tuple | None,
) -> None:
    write(line)
    file = str(Path("pyproject.toml").absolute())
    steps = [shown(certgrad)]
    monkeypatch.setenv(*variable)
    steps += [shown(certgrad), shown(certgrad, *flags)]
    flag = "the command line" if key == "targets" else f"--{key}"
    assert [sources[key] for _, sources in steps] == [file, variable[0], flag]
    expected = (
        expected
        or {
            "select": (["CG101"], ["CG102", "CG103"], ["CG1"]),
            "fail-on": (["unproved"], ["surrogate"], ["refuted"]),
        }[key]
    )
    assert tuple(values[key] for values, _ in steps) == expected


def test_ignore_adds_to_what_the_project_ignores(certgrad: Run) -> None:
    write("ignore = ['CG204']")
    values, sources = shown(certgrad, "--ignore", "CG102")
    assert values["ignore"] == ["CG102", "CG204"]
    assert sources["ignore"] == f"--ignore and {Path('pyproject.toml').absolute()}"


def test_paths_in_the_file_are_from_its_folder(certgrad: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("output = ['sarif=out.sarif']", "cache-dir = '.cache/certgrad'")
    (folder / "inner").mkdir()
    monkeypatch.chdir(folder / "inner")
    values, _ = shown(certgrad)
    assert values["output"] == [f"sarif={folder / 'out.sarif'}"]
    assert values["cache-dir"] == str(folder / ".cache/certgrad")


def test_what_the_settings_show_is_a_configuration_that_says_the_same(certgrad: Run) -> None:
    write(
        "strict = true",
        "jobs = 2",
        "[tool.certgrad.per-file-ignores]",
        "'a.py' = ['CG2']",
        "[tool.certgrad.signatures]",
        "'m:f' = 'n d'",
        "'m:g' = { signature = 'n', static = { c = { real = 'c > 0' }, k = { each = [0, 1] }, "
        "o = { object = 'a:b' } }, domain = ['x > 0'] }",
        "'m:h' = { signature = 'n, n', differentiable = ['x'], surrogate = 'meant', sizes = { n = 8 } }",
    )
    first = certgrad("audit", "--show-settings").out
    Path("pyproject.toml").write_text(first)
    second = certgrad("audit", "--show-settings").out
    assert tomllib.loads(first) == tomllib.loads(second)
    said = tomllib.loads(second)["tool"]["certgrad"]["signatures"]
    assert said["m:g"]["static"] == {"c": {"real": "c > 0"}, "k": {"each": [0, 1]}, "o": {"object": "a:b"}}
    assert said["m:h"]["differentiable"] == ["x"]


def test_the_settings_are_what_the_audit_does(library: Library, certgrad: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write("format = 'json'", "output = ['junit=out.xml', 'sarif=out.sarif']", "jobs = 1", "select = ['CG101']")
    done = certgrad("audit", "relu")
    assert [one["code"] for one in json.loads(done.out)["certificates"][0]["claims"]] == ["CG101"]
    assert Path("out.xml").is_file()
    assert Path("out.sarif").is_file()
    seen = []
    monkeypatch.setattr(_run, "run", lambda ops, jobs, cache, **_: seen.append((jobs, cache)) or iter(()))
    certgrad("audit", "relu")
    certgrad("audit", "relu", "--jobs", "auto", "--no-cache")
    assert seen == [(1, Path(".certgrad_cache").absolute()), (None, None)]


@pytest.mark.parametrize(
    "line, said",
    [
        ("jobz = 2", "has 'jobz'; it knows "),
        ("jobs = 0", "'jobs' of [tool.certgrad]"),
        ("jobs = 'many'", 'is neither "auto" nor a number of processes of at least 1.'),
        ("format = 'xml'", "is 'xml'; it knows text, concise, json, markdown, sarif, junit, github, gitlab, html."),
        ("output = 'sarif=a'", "'output' of [tool.certgrad]"),
        ("output = ['xml=a']", "expected FORMAT=PATH with FORMAT one of"),
        ("conformance = 1", "is neither true nor false."),
        ("cache-dir = ''", "is no text."),
    ],
)
def test_what_the_file_cannot_say(library: Library, certgrad: Run, line: str, said: str) -> None:
    write(line)
    done = certgrad("audit")
    assert done.code == 2
    assert said in done.err


def test_an_unknown_key_is_refused_with_the_nearest(certgrad: Run) -> None:
    write("cache_dirr = 'x'")
    done = certgrad("audit")
    assert done.code == 2
    assert done.err.endswith("Did you mean 'cache-dir'?\n")


def test_a_misspelt_variable_is_noted(library: Library, certgrad: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CERTGRAD_STRCIT", "1")
    monkeypatch.setenv("CERTGRAD_TOKEN_OF_SOMEONE", "1")
    monkeypatch.setenv("CERTGRAD_DEBUG", "1")
    assert _settings.misspelled() == [
        "CERTGRAD_STRCIT is no variable that certgrad reads; did you mean CERTGRAD_STRICT?"
    ]
    assert "note: CERTGRAD_STRCIT" in certgrad("audit").err


@pytest.mark.parametrize("jobs", ["0", "-1", "many", "1.5"])
def test_a_wrong_number_of_jobs(library: Library, certgrad: Run, jobs: str) -> None:
    done = certgrad("audit", "--jobs", jobs)
    assert done.code == 2
    assert "neither 'auto' nor a number of processes" in " ".join(done.err.split())


def test_completion_of_codes_formats_and_files(library: Library) -> None:
    assert [code for code, _ in _complete.codes("CG102,cg10")][:2] == ["CG102,CG101", "CG102,CG102"]
    assert _complete.outputs("s") == ["sarif="]
    Path("losses.py").touch()
    Path("log_data").mkdir()
    Path("notes.txt").touch()
    assert list(_complete.targets("lo")) == ["log_data/", "losses.py", "log"]
    assert list(_complete.subjects("CG10")) == ["CG101", "CG102", "CG103", "CG104"]


def test_a_shell_can_complete() -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv = ['certgrad']; from certgrad.cli import main; main()"],
        env={
            **os.environ,
            "PYTHONPATH": str(root),
            "_CERTGRAD_COMPLETE": "complete_bash",
            "COMP_WORDS": "certgrad audit --fo",
            "COMP_CWORD": "2",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "--format" in done.stdout, done.stderr
