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
        failed: dict[str, str] = {}
        printed = [t for t in file.theorems if not t.reason]
        accepted: dict[str, float] = {}
        while len(failed) < len(printed):
            kept = [t for t in printed if t.name not in failed]
            told = self.compile(file, kept)
            if isinstance(told, Failure):
                failed[told.theorem or kept[0].name] = told.reason
                continue
            for theorem in kept:
                foreign = sorted(told[theorem.name] - AXIOMS)
                if foreign:
                    failed[theorem.name] = f"it rests on {', '.join(foreign)}"
                else:
                    accepted[theorem.name] = 0.0
            break
        return [
            Judged(t.name, t.kind, t.name in accepted, t.reason or failed.get(t.name, ""), accepted.get(t.name, 0.0))
            for t in file.theorems
        ]

    def compile(self, file: File, kept: Sequence[Theorem]) -> dict[str, frozenset[str]] | Failure:
        """The axioms of each theorem, or which one fails first."""
        names = {t.name for t in kept}
        text = file.text(lambda t: t.name in names, self.limit)
        asked = "".join(f'Goal True. idtac "@@{t.name}". exact I. Qed.\nPrint Assumptions {t.name}.\n' for t in kept)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / f"{file.name}.v").write_text(f"{text}\n{asked}")
            options = ["-w", "none", "-Q", str(self.library.folder), "Certgrad"]
            limit = _STARTING + 2 * self.limit * len(kept)
            code, said = bounded([self.library.coqc, *options, f"{file.name}.v"], folder, limit)
        if code is None:
            return Failure("", f"coqc was stopped after {limit} s")
        if code:
            return _failure(text, said)
        return _assumptions(said, [t.name for t in kept])

    def checked(self, folder: Path, names: Sequence[str], seconds: float = 1800) -> str:
        """What `coqchk` says against compiled files; nothing where it finds them in order."""
        options = ["-silent", "-o", "-Q", str(self.library.folder), "Certgrad", "-Q", ".", "Exported"]
        command = [self.library.coqc.replace("coqc", "coqchk"), *options, *(f"Exported.{n}" for n in names)]
        code, said = bounded(command, str(folder), seconds)
        return "" if code == 0 else said[-2000:] or f"stopped after {seconds} s"


@dataclass(frozen=True)
class Failure:
    """The theorem at which coqc stopped (empty where that is unknown), and what it said."""

    theorem: str
    reason: str


def bounded(command: Sequence[str], folder: str, seconds: float) -> tuple[int | None, str]:
    """Run a command that is killed, children included, when its time is up: None for its exit code then."""
    with subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(timeout=seconds)
            return process.returncode, said
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None, ""


_WHERE = re.compile(r'^File "[^"]*", line (\d+), characters', re.MULTILINE)
_THEOREM = re.compile(r"^Theorem (\S+) :", re.MULTILINE)


def _failure(text: str, said: str) -> Failure:
    """The theorem in which the first error stands."""
    where = _WHERE.search(said)
    message = " ".join(said.partition("Error:")[2].split())[:300] or " ".join(said.split())[:300]
    if where is None:
        return Failure("", message)
    before = text.split("\n")[: int(where[1])]
    names = _THEOREM.findall("\n".join(before))
    reason = "no proof was found in time" if "Timeout" in message else f"no proof was found: {message}"
    return Failure(names[-1], reason) if names else Failure("", f"a definition is not accepted: {message}")


_AXIOM = re.compile(r"^([A-Za-z_][\w.']*)\s*(?::|$)")


def _assumptions(said: str, names: Sequence[str]) -> dict[str, frozenset[str]]:
    """By theorem, the axioms that are named. What is said in no known form counts as an axiom of that name."""
    out: dict[str, frozenset[str]] = {}
    for part in said.split("@@")[1:]:
        name, _, rest = part.partition("\n")
        lines = rest.splitlines()
        found = {m[1] for line in lines if (m := _AXIOM.match(line)) and m[1] != "Axioms"}
        if not found and not any("Closed under the global context" in line for line in lines):
            found = {"nothing that Print Assumptions said"}
        out[name] = frozenset(found)
    return {name: out.get(name, frozenset({"nothing that Print Assumptions said"})) for name in names}


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
