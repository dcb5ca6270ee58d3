"""The files that `certgrad init` writes: a table for pyproject.toml, and a workflow for GitHub."""

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path

from certgrad.errors import UsageError

WORKFLOW = Path(".github/workflows/certgrad.yml")


def table(targets: Sequence[str]) -> str:
    """Return the text of a table [tool.certgrad] with these targets."""
    return f"[tool.certgrad]\ntargets = [{', '.join(map(_text, targets))}]\n"


def appended(file: Path, added: str) -> str:
    """Return the text of a pyproject.toml with the table `added` at its end.

    Raises UsageError if the file cannot be read, or would mean something else with the table there.
    """
    try:
        present = file.read_text(encoding="utf-8") if file.exists() else ""
        old = tomllib.loads(present)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"Cannot read '{file}': {error}. Mend it first; nothing was written.") from None
    text = present + ("" if not present or present.endswith("\n") else "\n") + ("\n" if present else "") + added
    try:
        new = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        new = {}
    # Beside the new table the file has to mean what it meant before.
    rest = {**new, "tool": {k: v for k, v in new.get("tool", {}).items() if k != "certgrad"}}
    if rest != {**old, "tool": old.get("tool", {})}:
        raise UsageError(
            f"'{file}' has no place for a table [tool.certgrad] at its end. Add this; nothing was written:\n\n{added}"
        )
    return text


def configured(file: Path) -> bool:
    """Return whether a pyproject.toml has a table [tool.certgrad]."""
    try:
        return "certgrad" in tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return False


def repository(folder: Path) -> Path | None:
    """Return the root of the git repository that a folder is in; None if it is in none."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)


def workflow(folder: Path) -> str:
    """Return the text of a workflow that audits on every push, annotates pull requests, and writes a job summary."""
    return _WORKFLOW.replace("REQUIREMENTS", _requirements(folder))


def _requirements(folder: Path) -> str:
    """Return what pip is told to install: certgrad, and the project or its requirements.txt if there is one."""
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        project = {}
    if "project" in project or (folder / "setup.py").is_file() or (folder / "setup.cfg").is_file():
        return "certgrad -e ."
    return "certgrad -r requirements.txt" if (folder / "requirements.txt").is_file() else "certgrad"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


_WORKFLOW = """\
# Proves the derivative rules of this project. A refuted rule fails; `certgrad baseline` lists what is known.
name: certgrad
on:
  push:
  pull_request:
permissions:
  contents: read
  security-events: write
jobs:
  audit:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: python -m pip install REQUIREMENTS
      - run: >-
          certgrad audit --no-cache --format github
          --output markdown="$GITHUB_STEP_SUMMARY"
          --output sarif=certgrad.sarif
          --output junit=certgrad.xml
      # Shows the findings under Security; not every repository has code scanning.
      - uses: github/codeql-action/upload-sarif@v3
        if: always() && hashFiles('certgrad.sarif') != ''
        continue-on-error: true
        with:
          sarif_file: certgrad.sarif
"""
