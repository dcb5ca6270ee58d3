"""Building the wheel and the sdist, as `make dist` does, from a copy of what the repository holds."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
_LEFT = shutil.ignore_patterns(".*", "__pycache__", "dist", "build", "site")
_HELD = ["certgrad", "proofs", "tests", "docs", "examples", "benchmarks", "reports", "recipe"]
SECONDS = "1700000000"
"""The time that the archives carry; `make dist` takes that of the last commit."""


def copy(folder: Path) -> Path:
    """The repository without caches and environments."""
    folder.mkdir(parents=True)
    for name in _HELD:
        shutil.copytree(ROOT / name, folder / name, ignore=_LEFT)
    for file in ROOT.iterdir():
        if file.is_file() and (not file.name.startswith(".") or file.name == ".gitignore"):
            shutil.copy(file, folder / file.name)
    return folder


def build(source: Path, into: Path, *kinds: str) -> list[Path]:
    """Build `--wheel` or `--sdist`, or both; hatchling is that of this environment, so that nothing is fetched."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "build", "--no-isolation", *kinds, "--outdir", str(into), str(source)],
        env={**os.environ, "SOURCE_DATE_EPOCH": SECONDS},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(into.iterdir())
