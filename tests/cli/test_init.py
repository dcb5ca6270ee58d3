"""`certgrad init`: a fresh repository, one that has files already, and what it must not touch."""

import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from certgrad.cli import _starting, init
from certgrad.errors import UsageError
from certgrad.report.audited import RuleResult
from certgrad.report.findings import Remark
from certgrad.rules.workers import crew
from certgrad.rules.workers.worker import Begun, Failure, Seen
from tests.cli.conftest import Result

ROOT = Path(__file__).parents[2]
Run = Callable[..., Result]
LOSSES = """
import jax
import jax.numpy as jnp


@jax.custom_vjp
def energy(x):
    return jnp.sum(x * x, axis=-1)


energy.defvjp(lambda x: (energy(x), x), lambda x, g: (2 * g[..., None] * x,))


@jax.custom_vjp
def cube(x):
    return x * x * x


cube.defvjp(lambda x: (cube(x), x), lambda x, g: (2 * x * x * g,))


@jax.custom_jvp
def double(x):
    return x + x


double.defjvp(lambda primals, tangents: (double(*primals), 2 * tangents[0]))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "losses.py").write_text(LOSSES)
    return tmp_path


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules without proofs."""

    def audit(targets: list[str], *_: object, **__: object) -> Iterator[object]:
        names = ["losses:energy", "losses:odd"]
        yield Seen(target="losses.py", names=["losses"], rules=[Begun(kind="rule", name=name) for name in names])
        missing = Remark("CG201", "not audited: no signature is declared, and none was found that traces")
        yield RuleResult(name="losses:odd", remarks=[missing])
        yield RuleResult(name="losses:energy", inferred='"n d"')

    monkeypatch.setattr(crew, "audit_targets", audit)


@pytest.mark.slow
def test_a_fresh_repository_in_under_a_minute(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-P", "-m", "certgrad"]
    started = time.monotonic()
    done = subprocess.run([*command, "init"], capture_output=True, text=True, env=environment, check=False)
    assert time.monotonic() - started < 60
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "found 3 rules in losses.py\n"
        "wrote [tool.certgrad] to pyproject.toml\n"
        "wrote .github/workflows/certgrad.yml\n"
        "\nthe first finding:\n\nCG102 losses:cube.vjp_is_adjoint: refuted (losses.py:14)\n"
    )
    said = tomllib.loads(Path("pyproject.toml").read_text())["tool"]["certgrad"]
    assert said == {"targets": ["losses.py"]}

    # Mended, the workflow is green: its step runs as it is, with `certgrad` on the path.
    (folder / "losses.py").write_text(LOSSES.replace("(2 * x * x * g,)", "(3 * x * x * g,)"))
    shim = folder / "bin/certgrad"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {" ".join(command)} "$@"\n')
    shim.chmod(0o755)
    environment |= {"PATH": f"{shim.parent}:{os.environ['PATH']}", "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    step = steps()[3]["run"]
    done = subprocess.run(["bash", "-ec", step], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("3 rules: 3 proved, 0 proved under hypotheses, 0 unproved, 0 refuted\n")
    assert done.stdout.count("::notice ") == 3, "a guess is no declaration"
    assert (folder / "summary.md").read_text().startswith("3 rules: 3 proved")
    results = json.loads((folder / "certgrad.sarif").read_text())["runs"][0]["results"]
    assert [one["ruleId"] for one in results] == ["CG202"] * 3


def steps() -> list:
    return yaml.safe_load(_starting.WORKFLOW.read_text())["jobs"]["audit"]["steps"]


@pytest.mark.slow
def test_the_workflow_is_valid(folder: Path, quick: None, certgrad: Run) -> None:
    assert certgrad("init").code == 0
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    done = subprocess.run([*command, str(_starting.WORKFLOW)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_guess_is_no_declaration(folder: Path, quick: None, certgrad: Run) -> None:
    done = certgrad("init")
    assert Path("pyproject.toml").read_text() == '[tool.certgrad]\ntargets = ["losses.py"]\n'
    assert "no shapes were found at which these trace; certgrad.declare says them: losses:odd\n" in done.out
    assert "certgrad audit --fix  # writes the inferred shapes beside 1 rule, for you to read\n" in done.out


def test_run_again_it_finishes(folder: Path, quick: None, certgrad: Run) -> None:
    certgrad("init")
    _starting.WORKFLOW.unlink()
    (folder / "gates.py").write_text(LOSSES)
    done = certgrad("init")
    assert "it has [tool.certgrad], whose targets leave out gates.py\n" in done.out
    assert _starting.WORKFLOW.is_file()


def test_what_is_left_when_time_is_over_is_named(folder: Path, certgrad: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(targets: object, *_: object, **__: object) -> Iterator[object]:
        names = [f"losses:rule{k}" for k in range(9)]
        yield Seen(target="losses", names=["losses"], rules=[Begun(kind="rule", name=name) for name in names])
        yield RuleResult(name=names[0])
        time.sleep(0.02)
        yield RuleResult(name=names[1])
        raise AssertionError("time was over")

    monkeypatch.setattr(crew, "audit_targets", slow)
    monkeypatch.setattr(init, "SECONDS", 0.01)
    told = certgrad("init").out
    left = ", ".join(f"losses:rule{k}" for k in range(2, 7))
    assert f"stopped after 0 s, having looked at 2; left: {left} and 2 more. `certgrad init` goes on with these" in told
    assert "  certgrad init         # goes on with the 7 that are left\n" in told.partition("next:")[2]


def test_nothing_is_overwritten(folder: Path, quick: None, certgrad: Run) -> None:
    file, workflow = Path("pyproject.toml"), _starting.WORKFLOW
    workflow.parent.mkdir(parents=True)
    file.write_text("[tool.certgrad]\nstrict = true\n")
    workflow.write_text("mine")
    done = certgrad("init")
    assert (file.read_text(), workflow.read_text()) == ("[tool.certgrad]\nstrict = true\n", "mine")
    assert (
        "left pyproject.toml as it is: it has [tool.certgrad], whose targets leave out losses.py\n"
        "left .github/workflows/certgrad.yml as it is\n" in done.out
    )


def test_a_table_is_added_to_what_is_there(folder: Path, quick: None, certgrad: Run) -> None:
    before = '[project]\nname = "mine"  # keep this\n\n[tool.ruff]\nline-length = 88'
    Path("pyproject.toml").write_text(before)
    assert certgrad("init").code == 0
    after = Path("pyproject.toml").read_text()
    assert after.startswith(before + "\n\n[tool.certgrad]\n")
    assert steps()[2]["run"] == "python -m pip install certgrad -e ."


@pytest.mark.parametrize(
    "text, said",
    [
        ("[tool\n", "Mend it first; nothing was written."),
        (
            "tool = { ruff = {} }\n",
            "has no place for a table [tool.certgrad] at its end. Add this; nothing was written:",
        ),
    ],
)
def test_a_file_that_cannot_be_added_to_stays(folder: Path, quick: None, certgrad: Run, text: str, said: str) -> None:
    Path("pyproject.toml").write_text(text)
    done = certgrad("init")
    assert done.code == 2
    assert said in done.err
    assert Path("pyproject.toml").read_text() == text
    assert not _starting.WORKFLOW.exists()


def test_in_a_folder_of_a_repository(folder: Path, quick: None, certgrad: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / ".git").mkdir()
    inner = folder / "packages/one"
    inner.mkdir(parents=True)
    (inner / "losses.py").write_text(LOSSES)
    monkeypatch.chdir(inner)
    done = certgrad("init")
    assert f"no workflow: GitHub reads those in {folder}, the root of the repository\n" in done.out
    assert sorted(one.name for one in inner.iterdir()) == ["losses.py", "pyproject.toml"]
    (inner / "pyproject.toml").unlink()
    (folder / "pyproject.toml").touch()
    done = certgrad("init")
    assert done.code == 2
    assert f"is '{folder / 'pyproject.toml'}'. Run `certgrad init` there." in done.err
    assert [one.name for one in inner.iterdir()] == ["losses.py"]


def test_requirements_of_a_project_without_a_package(tmp_path: Path) -> None:
    assert "pip install certgrad\n" in _starting.workflow(tmp_path)
    (tmp_path / "requirements.txt").touch()
    assert "pip install certgrad -r requirements.txt\n" in _starting.workflow(tmp_path)


def test_no_rules_exit_5(certgrad: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = certgrad("init")
    assert (done.code, done.out) == (5, "")
    assert done.err.startswith("no derivative rule was found: ")
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_imports_nothing_is_written(folder: Path, certgrad: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def audit(targets: list[str], *_: object, **__: object) -> Iterator[object]:
        yield Failure(target="losses.py", message="Cannot import 'losses.py': no flax.")

    monkeypatch.setattr(crew, "audit_targets", audit)
    done = certgrad("init")
    assert done.code == 2
    assert "error: Cannot import 'losses.py': no flax. Nothing was written.\n" in done.err
    assert [one.name for one in folder.iterdir()] == ["losses.py"]


def test_a_table_keeps_names_that_toml_must_quote() -> None:
    text = _starting.table(['a "b".py'])
    assert tomllib.loads(text)["tool"]["certgrad"]["targets"] == ['a "b".py']
    with pytest.raises(UsageError, match="Cannot read"):
        _starting.appended(Path("/"), text)
