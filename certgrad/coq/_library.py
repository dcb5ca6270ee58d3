"""The Coq library in `proofs/`, compiled once for each of its versions and each version of Coq."""

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
"""The files of the library, each after those that it requires."""
RECORD_FILE = "coq.json"
"""The file that says by which way each theorem was proved."""
SECONDS = 300
"""Most seconds for the compilation of one file of the library."""


class NoCoqError(UsageError):
    """Coq, or its library Coquelicot, is not installed. The message says what to install."""


def sources() -> Path:
    """Return the folder of the library: inside the package where it is installed, beside it in a clone."""
    packaged = Path(__file__).parent / "proofs"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "proofs"


@cache
def ways() -> Mapping[str, int]:
    """Return by theorem the number of the proof script that proved it, as `certgrad report --coq` recorded it.

    The record is about the op library, and is in a clone's reports or inside the package. It is only a hint that saves
    a search: Coq checks the proof.
    """
    packaged = Path(__file__).parent / RECORD_FILE
    return read_ways(packaged if packaged.is_file() else Path(__file__).parents[2] / "reports" / RECORD_FILE)


def read_ways(path: Path) -> Mapping[str, int]:
    """Return the record in a file (see `ways`); an empty one if the file is missing or not of that form."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, int])
    except (OSError, msgspec.MsgspecError):
        return {}


class Library:
    """The compiled library in a folder of the cache. Raises NoCoqError where Coq is not installed."""

    def __init__(self, cache: Path) -> None:
        path = shutil.which("coqc")
        if path is None:
            raise NoCoqError(f"coqc is not installed, which this needs: {INSTALL}")
        self.coqc = path
        self.coqtop = str(Path(path).with_name("coqtop"))
        self.cache = cache.resolve()

    @cached_property
    def version(self) -> str:
        out = subprocess.run([self.coqc, "--version"], capture_output=True, text=True, check=False, timeout=60)
        return " ".join(out.stdout.split())

    @property
    def release(self) -> str:
        """The number of Coq's version."""
        number = re.search(r"version ([\d.]+)", self.version)
        return number[1] if number else self.version

    @cached_property
    def digest(self) -> str:
        """A digest of the library's text and of Coq's version."""
        texts = [f"{name}\n{(sources() / f'{name}.v').read_text()}" for name in ORDER]
        return hashlib.sha256("\n".join([self.version, *texts]).encode()).hexdigest()

    @cached_property
    def folder(self) -> Path:
        """The folder of the compiled library, which is compiled first if it is not in the cache.

        It is compiled in a temporary folder and then renamed, so that processes that do so at once do not disturb each
        other. Raises NoCoqError if a file does not compile.
        """
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
        """Return the reason why a file of the library did not compile, by Coq's output."""
        if "Coquelicot" in said and "Cannot find a physical path" in said:
            return f"Coq's library Coquelicot is not installed, which this needs: {INSTALL}"
        return f"{self.version} does not compile proofs/{name}.v: {' '.join(said.split())[:400]}"
