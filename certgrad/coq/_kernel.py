"""Coq's verdict on printed files: which theorems its kernel accepts, and on which axioms they rest.

What is accepted was compiled by `coqc` in the very file that is reported, and `Print Assumptions` named no axiom but
those of classical reals. Everything else is "not accepted", with the reason; nothing is ever refuted here.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from ._export import LIMIT, File
from ._library import Library
from ._statements import Theorem

AXIOMS = frozenset(
    {
        "ClassicalDedekindReals.sig_not_dec",
        "ClassicalDedekindReals.sig_forall_dec",
        "FunctionalExtensionality.functional_extensionality_dep",
        "Classical_Prop.classic",
    }
)
"""What Coq's classical real numbers rest on, and all that a theorem may rest on."""
_STARTING = 60
"""Seconds that `coqc` may take beside the proofs."""


@dataclass(frozen=True)
class Judged:
    """One theorem: accepted, or why not."""

    name: str
    kind: str
    accepted: bool
    reason: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Result:
    """One subject's file as it was judged. `remembered`: nothing was compiled, for nothing has changed."""

    subject: str
    judged: tuple[Judged, ...]
    seconds: float
    remembered: bool = False


class Kernel:
    """Runs `coqc`, and remembers by digest what it found."""

    def __init__(self, library: Library, limit: int = LIMIT, remember: bool = True) -> None:
        self.library, self.limit, self.remember = library, limit, remember

    def judge_all(self, files: Sequence[File], jobs: int) -> Iterator[Result]:
        """In order, several at once."""
        _ = self.library.folder
        with ThreadPoolExecutor(max(1, jobs)) as pool:
            yield from pool.map(self.judge, files)

    def judge(self, file: File) -> Result:
        """Which theorems of a file are accepted."""
        entry = self.library.cache / f"{file.digest(f'{self.library.digest} {self.limit}')[:32]}.json"
        if self.remember and (known := _read(entry, file)) is not None:
            return known
        started = time.monotonic()
        result = Result(file.subject, tuple(self._judged(file)), time.monotonic() - started)
        if self.remember:
            _write(entry, result)
        return result

    def _judged(self, file: File) -> list[Judged]:
        if all(t.reason for t in file.theorems):
            return [Judged(t.name, t.kind, False, t.reason) for t in file.theorems]
        printed = [t for t in file.theorems if not t.reason]
        limit = _STARTING + 2 * self.limit * len(printed)
        command = [self.library.coqtop, "-quiet", "-w", "none", "-Q", str(self.library.folder), "Certgrad"]
        with tempfile.TemporaryDirectory() as folder:
            code, said = bounded(command, folder, limit, file.session(self.limit))
        parts = dict(part.partition("\n")[::2] for part in said.split("@@")[1:])
        return [_judged(t, parts.get(t.name), f"coqtop was stopped after {limit} s" if code is None else "") for t in file.theorems]

    def checked(self, folder: Path, names: Sequence[str], seconds: float = 1800) -> str:
        """What `coqchk` says against compiled files; nothing where it finds them in order."""
        options = ["-silent", "-o", "-Q", str(self.library.folder), "Certgrad", "-Q", ".", "Exported"]
        command = [self.library.coqc.replace("coqc", "coqchk"), *options, *(f"Exported.{n}" for n in names)]
        code, said = bounded(command, str(folder), seconds)
        return "" if code == 0 else said[-2000:] or f"stopped after {seconds} s"


def bounded(command: Sequence[str], folder: str, seconds: float, given: str = "") -> tuple[int | None, str]:
    """Run a command, which reads what is given; it is killed when its time is up, with None for its exit code then."""
    with subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(given, timeout=seconds)
            return process.returncode, said
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            said, _ = process.communicate()
            return None, said or ""


_PROMPT = re.compile(r"^(?:[\w']+ < )+", re.MULTILINE)
_SECONDS = re.compile(r"^Finished transaction in [\d.]+ secs \(([\d.]+)u", re.MULTILINE)
_AXIOM = re.compile(r"^([A-Za-z_][\w.']*)\s*(?::|$)")


def _judged(theorem: Theorem, said: str | None, stopped: str) -> Judged:
    """The verdict on one theorem, by what was said from its beginning to that of the next."""
    if theorem.reason:
        return Judged(theorem.name, theorem.kind, False, theorem.reason)
    if said is None:
        return Judged(theorem.name, theorem.kind, False, stopped or "Coq said nothing of it")
    said = _PROMPT.sub("", said)
    proof, _, axioms = said.partition("@axioms")
    found = _SECONDS.search(proof)
    seconds = float(found[1]) if found else 0.0
    if "Error:" in proof or not axioms:
        message = " ".join(proof.partition("Error:")[2].split())[:200]
        reason = "no proof was found in time" if "Timeout" in message else f"no proof was found: {message or stopped}"
        return Judged(theorem.name, theorem.kind, False, reason, seconds)
    foreign = sorted(_axioms(axioms) - AXIOMS)
    return Judged(theorem.name, theorem.kind, not foreign, f"it rests on {', '.join(foreign)}" if foreign else "", seconds)


def _axioms(said: str) -> frozenset[str]:
    """The axioms that are named. What is said in no known form counts as an axiom of that name."""
    lines = said.splitlines()
    found = {m[1] for line in lines if (m := _AXIOM.match(line)) and m[1] != "Axioms"}
    if "Error" in said or (not found and not any("Closed under the global context" in line for line in lines)):
        return frozenset({"nothing that Print Assumptions said"})
    return frozenset(found)


def _read(entry: Path, file: File) -> Result | None:
    try:
        data = json.loads(entry.read_text())
        judged = tuple(Judged(**one) for one in data["judged"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if [j.name for j in judged] != [t.name for t in file.theorems]:
        return None
    return Result(file.subject, judged, float(data["seconds"]), True)


def _write(entry: Path, result: Result) -> None:
    """Whole or not at all. That it cannot be kept is no problem: it is found again."""
    with contextlib.suppress(OSError):
        entry.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=entry.parent)
        with open(handle, "w") as stream:
            json.dump(asdict(result), stream)
        os.replace(temporary, entry)


def accepted(results: Iterable[Result]) -> int:
    return sum(j.accepted for r in results for j in r.judged)
