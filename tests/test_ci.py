"""The files for CI: what docs/ci.md shows is valid, and the composite action runs what it says."""

import json
import os
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"```yaml\n# (\S+)\n(.*?)```", PAGE, re.DOTALL))
SCHEMAS = {".github/workflows/certgrad.yml": "vendor.github-workflows", ".gitlab-ci.yml": "vendor.gitlab-ci"}


def valid(schema: str, file: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEMAS)
def test_the_page_shows_valid_files(name: str, tmp_path: Path) -> None:
    file = tmp_path / Path(name).name
    file.write_text(BLOCKS[name])
    valid(SCHEMAS[name], file)


def test_the_page_names_the_hook_that_there_is() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    (repository,) = yaml.safe_load(BLOCKS[".pre-commit-config.yaml"])["repos"]
    assert [one["id"] for one in repository["hooks"]] == [hook["id"]]
    assert hook["entry"].split()[:2] == ["certgrad", "audit"]
    assert {"name", "language", "types", "pass_filenames"} <= set(hook)


def test_the_action_is_valid_and_the_page_uses_what_it_has() -> None:
    schema = resources.files("check_jsonschema") / "builtin_schemas" / "vendor" / "github-actions.json"
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    jsonschema_rs.validate(json.loads(schema.read_text("utf-8")), action)
    (step,) = (
        s for s in yaml.safe_load(BLOCKS[".github/workflows/certgrad.yml"])["jobs"]["audit"]["steps"] if "id" in s
    )
    assert set(step["with"]) <= set(action["inputs"])
    assert set(re.findall(r"steps\.certgrad\.outputs\.(\w+)", PAGE)) <= set(action["outputs"])


def test_the_action_audits_what_its_inputs_say(tmp_path: Path) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    script = action["runs"]["steps"][1]["run"]
    assert "${{" not in script, "an input is text from someone else: it must not be read as a script"
    shim = tmp_path / "certgrad"
    shim.write_text(f"#!{sys.executable}\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\nsys.exit(1)\n")
    shim.chmod(0o755)
    variables = {"RUNNER_TEMP": "/t", "GITHUB_STEP_SUMMARY": "/s", "GITHUB_OUTPUT": str(tmp_path / "outputs")}
    inputs = {"TARGETS": "pkg 'a;b'", "OPTIONS": "--strict --ignore CG2*"}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        env={**os.environ, **variables, **inputs, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, "what certgrad says is what the step says"
    arguments = json.loads(done.stdout)
    assert arguments[:3] == ["audit", "pkg", "'a;b'"]
    assert arguments[-3:] == ["--strict", "--ignore", "CG2*"]
    files = [one.partition("=") for one in arguments if "=" in one]
    assert {kind for kind, _, _ in files} == {"markdown", "sarif", "junit", "json"}
    written = dict(line.split("=") for line in (tmp_path / "outputs").read_text().splitlines())
    assert written == {kind: path for kind, _, path in files if kind != "markdown"}
