"""The library `proofs/`, compiled once for each of its versions and each version of Coq."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path

import msgspec

from certgrad.errors import UsageError

INSTALL = "apt-get install coq libcoq-coquelicot"
ORDER = (
    *("Sums", "Curves", "Piecewise", "Products", "Maxima", "Functions", "Prefixes", "Tactics", "Derivatives"),
    *("Algebra", "Laws", "Axes", "Labels", "Bilinear", "Entries", "Composed", "Defined", "Matrices", "Systems"),
    *("Windows", "Recurrences", "Order", "Points", "Graph", "Loops", "Library", "Signs", "Runs"),
)
"""The files that printed ones require, each after those that it requires itself."""
RECORD_FILE = "coq.json"
"""The file that says by which way each theorem was proved."""
SECONDS = 300
"""For one file of the library."""


class NoCoqError(UsageError):
    """Coq, or its library Coquelicot, is not installed. The message says what to install."""


def sources() -> Path:
    """The folder of the library: beside the package in a clone, inside it where it is installed."""
    inside = Path(__file__).parent / "proofs"
    return inside if inside.is_dir() else Path(__file__).parents[2] / "proofs"


@cache
def ways() -> Mapping[str, int]:
    """Return the way by which each theorem about the op library was proved, as `certgrad report --coq` recorded it.

    The record is in a clone's reports or inside the package. It spares a search, and is a hint only: Coq checks the
    proof.
    """
    inside = Path(__file__).parent / RECORD_FILE
    return read_ways(inside if inside.is_file() else Path(__file__).parents[2] / "reports" / RECORD_FILE)


def read_ways(path: Path) -> Mapping[str, int]:
    """Return the ways in a file; none if it is missing or something else."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, int])
    except (OSError, msgspec.MsgspecError):
        return {}


class Library:
    """The compiled library in a folder of the cache. Raises NoCoqError."""

    def __init__(self, cache: Path) -> None:
        found = shutil.which("coqc")
        if found is None:
            raise NoCoqError(f"coqc is not installed, which this needs: {INSTALL}")
        self.coqc = found
        self.coqtop = str(Path(found).with_name("coqtop"))
        self.cache = cache.resolve()

    @cached_property
    def version(self) -> str:
        out = subprocess.run([self.coqc, "--version"], capture_output=True, text=True, check=False, timeout=60)
        return " ".join(out.stdout.split())

    @property
    def release(self) -> str:
        """The version's number."""
        found = re.search(r"version ([\d.]+)", self.version)
        return found[1] if found else self.version

    @cached_property
    def digest(self) -> str:
        """A digest of the library's text and of Coq's version."""
        texts = [f"{name}\n{(sources() / f'{name}.v').read_text()}" for name in ORDER]
        return hashlib.sha256("\n".join([self.version, *texts]).encode()).hexdigest()

    @cached_property
    def folder(self) -> Path:
        """Return the folder of the compiled library; compile it first where need be."""
        target = self.cache / f"library-{self.digest[:16]}"
        if (target / "Library.vo").is_file():
            return target
        self.cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.cache) as work:
            compiled = Path(work) / "made"
            compiled.mkdir()
            for name in ORDER:
                shutil.copy(sources() / f"{name}.v", compiled)
                run = subprocess.run(
                    [self.coqc, "-w", "none", "-Q", ".", "Certgrad", f"{name}.v"],
                    cwd=compiled,
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=SECONDS,
                )
                if run.returncode:
                    raise NoCoqError(self._why(name, run.stdout + run.stderr))
            try:
                os.rename(compiled, target)
            except OSError:
                if not (target / "Library.vo").is_file():
                    raise
        return target

    def _why(self, name: str, said: str) -> str:
        if "Coquelicot" in said and "Cannot find a physical path" in said:
            return f"Coq's library Coquelicot is not installed, which this needs: {INSTALL}"
        return f"{self.version} does not compile proofs/{name}.v: {' '.join(said.split())[:400]}"
