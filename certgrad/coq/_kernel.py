"""Coq's verdict on printed files: which theorems its kernel accepts, and on which axioms they rest.

What is accepted was compiled by `coqc` in the very file that is reported, and `Print Assumptions` named no axiom but
those of classical reals. Everything else is "not accepted", with the reason; nothing is ever refuted here.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ._export import LIMIT, File, echo_sentence
from ._library import Library, NoCoqError, ways
from ._memory import Judged, Memory
from ._statements import CAN_HOLD_KIND, DEFINED_SUFFIX, is_obligation
from ._theorem import FIRST_SECONDS, WAY_PREFIX, Theorem

AXIOMS = frozenset(
    {
        "ClassicalDedekindReals.sig_not_dec",
        "ClassicalDedekindReals.sig_forall_dec",
        "FunctionalExtensionality.functional_extensionality_dep",
        "Classical_Prop.classic",
    }
)
"""What Coq's classical real numbers rest on, and all that a theorem may rest on."""
UNTRIED = "not tried yet"
_SHARED = 4
"""Files that share a session."""
MEMORY = "s=1M,o=400"
"""How Coq's memory is collected: less often than by default, which takes a fifth of the time."""
_STARTING = 60
"""Seconds that `coqc` may take beside the proofs."""


@dataclass(frozen=True)
class Result:
    """One subject's file as it was judged."""

    subject: str
    judged: tuple[Judged, ...]
    seconds: float

    @property
    def claims(self) -> tuple[Judged, ...]:
        """The theorems to be proved: the obligations, and that programs are defined.

        A missing point inside the hypotheses takes nothing away.
        """
        return tuple(j for j in self.judged if j.stated and j.kind != CAN_HOLD_KIND)

    @property
    def whole(self) -> bool:
        """Whether all of that is accepted, and it is something."""
        return bool(self.claims) and all(j.accepted for j in self.claims)

    @property
    def obligations(self) -> tuple[Obligation, ...]:
        """The obligations, each with the theorem that its programs are defined."""
        defined = {j.name: j for j in self.judged if j.stated}
        return tuple(
            Obligation(j, defined.get(f"{j.name}{DEFINED_SUFFIX}")) for j in self.claims if is_obligation(j.kind)
        )


@dataclass(frozen=True)
class Obligation:
    """Coq's result for one obligation. `defined` is None where no program can be undefined."""

    law: Judged
    defined: Judged | None

    @property
    def accepted(self) -> bool:
        """Whether Coq accepts that it holds, and that its programs are defined where its hypotheses hold.

        Division, logarithm and root are total in Coq, so that the law alone does not say that a program is defined.
        """
        return self.law.accepted and (self.defined is None or self.defined.accepted)

    @property
    def why(self) -> str:
        """The reason why it is not accepted."""
        if not self.law.accepted or self.defined is None:
            return self.law.why
        return f"its programs are not shown to be defined: {self.defined.why}"


class Kernel:
    """Runs `coqtop`, and remembers by digest what it found. Several files share a session, which starts slowly."""

    def __init__(self, library: Library, limit: int = LIMIT, remember: bool = True) -> None:
        self.library, self.limit = library, limit
        self.memory = Memory(library, limit, remember)

    def judge_all(self, files: Sequence[File], jobs: int) -> Iterator[Result]:
        """Yield the results of several files as they come, several at once; files of which all is known come first."""
        new = []
        for file in files:
            known = self.known_results(file)
            if len(known) == len(file.theorems):
                yield Result(file.subject, tuple(known[t.name] for t in file.theorems), 0.0)
            else:
                new.append(file)
        if not new:
            return
        _ = self.library.folder
        size = max(1, min(_SHARED, len(new) // max(1, jobs)))
        chunks = [new[k : k + size] for k in range(0, len(new), size)]
        chunks = [part for chunk in chunks for part in ([chunk] if _distinct(chunk) else [[f] for f in chunk])]
        with ThreadPoolExecutor(max(1, jobs)) as pool:
            for results in pool.map(self._judge, chunks):
                yield from results

    def judge(self, file: File) -> Result:
        """Return which theorems of a file are accepted."""
        (result,) = self.judge_all([file], 1)
        return result

    def so_far(self, file: File) -> Result:
        """Return the remembered results of a file; a theorem that was never tried is not accepted, with that reason."""
        known = self.known_results(file)
        judged = (known.get(t.name) or Judged(t.name, t.kind, False, UNTRIED) for t in file.theorems)
        return Result(file.subject, tuple(judged), 0.0)

    def known_results(self, file: File) -> dict[str, Judged]:
        """Return the results that need no Coq: remembered ones, and theorems that were not printed."""
        found = {}
        for section in file.sections:
            for t in section.theorems:
                if t.reason:
                    found[t.name] = Judged(t.name, t.kind, False, t.reason, 0.0, t.stated)
                elif known := self.memory.recall(section, t):
                    found[t.name] = known
        return found

    def _judge(self, files: Sequence[File]) -> list[Result]:
        known = {name: judged for file in files for name, judged in self.known_results(file).items()}
        asked = _with_needs(files, [t.name for f in files for t in f.theorems if t.name not in known])
        said, stopped = self._session(files, asked) if asked else ({"axioms": ""}, "")
        if stopped and len(files) > 1:  # one of them took too long: each by itself
            return [result for file in files for result in self._judge([file])]
        for section in (s for file in files for s in file.sections):
            if "Error" in said.get(section.title, ""):  # a theorem about such a definition says something else
                said.update({t.name: said[section.title] for t in section.theorems})
            for t in (t for t in section.theorems if t.name not in known):
                axioms = said.get(f"axioms of {t.name}", said["axioms"])
                known[t.name] = _judged(t, said.get(t.name), axioms, stopped, self.limit)
                self.memory.keep(section, t, known[t.name])
        results = []
        for file in files:
            judged = tuple(known[t.name] for t in file.theorems)
            results.append(Result(file.subject, judged, sum(j.seconds for j in judged)))
        return results

    def _session(self, files: Sequence[File], printed: Sequence[Theorem]) -> tuple[dict[str, str], str]:
        """Return Coq's answer for each theorem and for the axioms of all accepted ones, and why it stopped or ""."""
        limit = _STARTING + (self.limit + FIRST_SECONDS) * sum(len(t.ways) for t in printed)
        command = [self.library.coqtop, "-quiet", "-w", "none", "-Q", str(self.library.folder), "Certgrad"]
        with tempfile.TemporaryDirectory() as folder, Session(command, folder, limit) as session:
            names = {t.name for t in printed}
            texts = [f.session(lambda t: t.name in names, ways(), self.limit) for f in files]
            said = _output_by_theorem(session.ask("".join(texts)))
            if "Error" in said.get("header", ""):
                raise NoCoqError(f"Coq does not take the library: {' '.join(said['header'].split())[:300]}")
            proved = [t.name for t in printed if t.name in said and _is_proved(said[t.name])]
            if not session.stopped and proved:
                whole = f"Definition all_theorems := ({', '.join(f'@{n}' for n in proved)}).\n"
                said["axioms"] = _PROMPT.sub("", session.ask(f"{whole}Print Assumptions all_theorems.\n"))
                if _axioms(said["axioms"]) - AXIOMS:
                    for name in proved:
                        said[f"axioms of {name}"] = _PROMPT.sub("", session.ask(f"Print Assumptions {name}.\n"))
        return {"axioms": "", **said}, f"coqtop was stopped after {limit} s" if session.stopped else ""

    def checked(self, files: Sequence[File], results: Sequence[Result], seconds: float = 1800) -> str:
        """Return the objections of `coqc` and then `coqchk` to the files of accepted theorems; "" without any."""
        accepted = {j.name: j.way for r in results for j in r.judged if j.accepted}
        found = {**ways(), **{name: way for name, way in accepted.items() if way is not None}}
        known = ["-Q", str(self.library.folder), "Certgrad", "-Q", ".", "Exported"]
        with tempfile.TemporaryDirectory() as folder:
            for file in files:
                (Path(folder) / f"{file.name}.v").write_text(file.text(lambda t: t.name in accepted, found, self.limit))
                code, told = bounded([self.library.coqc, "-w", "none", *known, f"{file.name}.v"], folder, seconds)
                if code:
                    return f"{file.name}.v: {told[-2000:]}"
            checker = str(Path(self.library.coqc).with_name("coqchk"))
            names = [f"Exported.{file.name}" for file in files]
            code, told = bounded([checker, "-silent", *known, *names], folder, seconds)
        return "" if code == 0 else told[-2000:] or f"stopped after {seconds:g} s"


class Session:
    """A process that answers queries, and is killed when its time is over."""

    def __init__(self, command: Sequence[str], folder: str, seconds: float) -> None:
        self.stopped = False
        self._asked = 0
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            env=_surroundings(),
        )
        self._timer = threading.Timer(seconds, self._stop)

    def __enter__(self) -> Session:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        _kill(self._process)
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        self._process.wait()

    def _stop(self) -> None:
        self.stopped = True
        _kill(self._process)

    def ask(self, text: str) -> str:
        """Return the answer to a text, up to the end mark or the end of the process."""
        self._asked += 1
        end = f"@done {self._asked}@"
        writer = threading.Thread(target=self._write, args=(f"{text}\n{echo_sentence(end)}\n",), daemon=True)
        writer.start()
        out = []
        for line in self._process.stdout:  # type: ignore[union-attr]
            if line.rstrip().endswith(end):
                break
            out.append(line)
        else:
            self.stopped = True
        writer.join()
        return "".join(out)

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(text)  # type: ignore[union-attr]
            self._process.stdin.flush()  # type: ignore[union-attr]


def _surroundings() -> dict[str, str]:
    """The environment's own, with Coq's memory in larger pieces if it says nothing of that."""
    return {"OCAMLRUNPARAM": MEMORY, **os.environ}


def _kill(process: subprocess.Popen[str]) -> None:
    """The process and its children."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def bounded(command: Sequence[str], folder: str, seconds: float) -> tuple[int | None, str]:
    """Run a command, which is killed when its time is up, with None for its exit code then."""
    with subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        env=_surroundings(),
    ) as process:
        try:
            told, _ = process.communicate(timeout=seconds)
            return process.returncode, told
        except subprocess.TimeoutExpired:
            _kill(process)
            told, _ = process.communicate()
            return None, told or ""


_PROMPT = re.compile(r"^(?:[\w']+ < )+", re.MULTILINE)
_SECONDS = re.compile(r"^Finished (?:failing )?transaction in ([\d.]+) secs \(([\d.]+)u", re.MULTILINE)
_WAY = re.compile(rf"{WAY_PREFIX}(\d+)$", re.MULTILINE)  # what a tactic says may stand before it in its line
_AXIOM = re.compile(r"^([A-Za-z_][\w.']*)\s*(?::|$)")


def _distinct(files: Sequence[File]) -> bool:
    """Return whether no name is defined twice: such files may share a session."""
    names = [d.name for f in files for s in f.sections for d in s.definitions]
    names += [t.name for f in files for t in f.theorems]
    return len(names) == len(set(names))


def _with_needs(files: Sequence[File], names: Sequence[str]) -> list[Theorem]:
    """Return these theorems with those that their proofs use, which have to be compiled even if they are known."""
    theorems = {t.name: t for f in files for t in f.theorems}
    found: set[str] = set()
    left = list(names)
    while left:
        if (name := left.pop()) not in found:
            found.add(name)
            left += theorems[name].needs
    return [t for t in theorems.values() if t.name in found and not t.reason]


def _output_by_theorem(told: str) -> dict[str, str]:
    """Return, by theorem, the output from its beginning to that of the next."""
    return {name: _PROMPT.sub("", rest) for name, _, rest in (p.partition("\n") for p in told.split("@@")[1:])}


def _is_proved(told: str) -> bool:
    return "Error" not in told and "@end" in told


def _judged(theorem: Theorem, told: str | None, axioms: str, stopped: str, limit: int) -> Judged:
    """The verdict on one theorem."""
    if theorem.reason:
        return Judged(theorem.name, theorem.kind, False, theorem.reason, 0.0, theorem.stated)
    found = _SECONDS.search(told or "")
    by_the_clock, seconds = (float(found[1]), float(found[2])) if found else (0.0, 0.0)
    if told is None or not _is_proved(told):
        message = " ".join((told or "").partition("Error:")[2].partition("Toplevel input")[0].split())[:200]
        reason = (
            "in time"
            if "Timeout" in message or by_the_clock >= limit
            else f": {message or stopped or 'Coq said nothing of it'}"
        )
        return Judged(
            theorem.name, theorem.kind, False, f"no proof was found{' ' * (reason[0] != ':')}{reason}", seconds
        )
    foreign = sorted(_axioms(axioms) - AXIOMS)
    reason = f"it rests on {', '.join(foreign)}" if foreign else ""
    way = _WAY.search(told)
    return Judged(theorem.name, theorem.kind, not foreign, reason, seconds, way=int(way[1]) if way else None)


def _axioms(said: str) -> frozenset[str]:
    """Return the axioms that are named. A line of unknown form counts as an axiom of that name."""
    lines = said.splitlines()
    found = {m[1] for line in lines if (m := _AXIOM.match(line)) and m[1] != "Axioms"}
    if "Error" in said or (not found and not any("Closed under the global context" in line for line in lines)):
        return frozenset({"nothing that Print Assumptions said"})
    return frozenset(found)


def count_accepted(results: Iterable[Result]) -> int:
    return sum(j.accepted for r in results for j in r.judged)
