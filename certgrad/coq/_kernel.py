"""Coq's verdict on printed files: which theorems its kernel accepts, and on which axioms they rest.

A theorem is accepted if Coq compiled its proof, and `Print Assumptions` named no axiom for it but those of classical
real numbers. Any other theorem is "not accepted", with the reason; nothing is refuted here.
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
"""The axioms of Coq's classical real numbers, and the only ones on which an accepted theorem may rest."""
UNTRIED = "not tried yet"
_SHARED = 4
"""Most files in one session of `coqtop`."""
MEMORY = "s=1M,o=400"
"""Settings of Coq's garbage collection: it runs less often than by default, where it takes a fifth of the time."""
_STARTING = 60
"""Seconds that a session may take beside the proofs."""


@dataclass(frozen=True)
class Result:
    """The results of the theorems of one subject's file, and the seconds that their proofs took."""

    subject: str
    judged: tuple[Judged, ...]
    seconds: float

    @property
    def claims(self) -> tuple[Judged, ...]:
        """The results of the theorems that have to be proved: the obligations, and that their programs are defined.

        That a point satisfies the hypotheses is not among them, and need not be proved.
        """
        return tuple(j for j in self.judged if j.stated and j.kind != CAN_HOLD_KIND)

    @property
    def whole(self) -> bool:
        """Whether all claims are accepted, and there is at least one."""
        return bool(self.claims) and all(j.accepted for j in self.claims)

    @property
    def obligations(self) -> tuple[Obligation, ...]:
        """The obligations, each with the result of the theorem that its programs are defined."""
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
        """Whether Coq accepts that the obligation holds, and that its programs are defined under its hypotheses.

        Division, logarithm and root are total in Coq, so that the law alone does not say that a program is defined.
        """
        return self.law.accepted and (self.defined is None or self.defined.accepted)

    @property
    def why(self) -> str:
        """The reason why the obligation is not accepted."""
        if not self.law.accepted or self.defined is None:
            return self.law.why
        return f"its programs are not shown to be defined: {self.defined.why}"


class Kernel:
    """Runs `coqtop` on files, and remembers results by digest. Several files share a session, as one starts slowly."""

    def __init__(self, library: Library, limit: int = LIMIT, remember: bool = True) -> None:
        self.library, self.limit = library, limit
        self.memory = Memory(library, limit, remember)

    def judge_all(self, files: Sequence[File], jobs: int) -> Iterator[Result]:
        """Yield the results of the files: first of those whose results are all remembered, then as sessions end.

        `jobs` sessions run at once. Files that define the same name do not share a session.
        """
        new = []
        for file in files:
            remembered = self.known_results(file)
            if len(remembered) == len(file.theorems):
                yield Result(file.subject, tuple(remembered[t.name] for t in file.theorems), 0.0)
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
        """Return the results of one file."""
        (result,) = self.judge_all([file], 1)
        return result

    def so_far(self, file: File) -> Result:
        """Return the remembered results of a file; a theorem that was never tried is not accepted, with that reason."""
        remembered = self.known_results(file)
        judged = (remembered.get(t.name) or Judged(t.name, t.kind, False, UNTRIED) for t in file.theorems)
        return Result(file.subject, tuple(judged), 0.0)

    def known_results(self, file: File) -> dict[str, Judged]:
        """Return the results that need no Coq: remembered ones, and theorems that were not printed."""
        results = {}
        for section in file.sections:
            for t in section.theorems:
                if t.reason:
                    results[t.name] = Judged(t.name, t.kind, False, t.reason, 0.0, t.stated)
                elif remembered := self.memory.recall(section, t):
                    results[t.name] = remembered
        return results

    def _judge(self, files: Sequence[File]) -> list[Result]:
        """Return the results of files that share a session; they are remembered.

        If the session runs out of time, each file gets a session of its own. If a definition of a section has an error,
        all theorems of the section fail, as they would speak of something else.
        """
        results_by_name = {name: judged for file in files for name, judged in self.known_results(file).items()}
        needed = _with_needs(files, [t.name for f in files for t in f.theorems if t.name not in results_by_name])
        output, stopped = self._session(files, needed) if needed else ({"axioms": ""}, "")
        if stopped and len(files) > 1:
            return [result for file in files for result in self._judge([file])]
        for section in (s for file in files for s in file.sections):
            if "Error" in output.get(section.title, ""):
                output.update({t.name: output[section.title] for t in section.theorems})
            for t in (t for t in section.theorems if t.name not in results_by_name):
                axioms = output.get(f"axioms of {t.name}", output["axioms"])
                results_by_name[t.name] = _judged(t, output.get(t.name), axioms, stopped, self.limit)
                self.memory.keep(section, t, results_by_name[t.name])
        results = []
        for file in files:
            judged = tuple(results_by_name[t.name] for t in file.theorems)
            results.append(Result(file.subject, judged, sum(j.seconds for j in judged)))
        return results

    def _session(self, files: Sequence[File], printed: Sequence[Theorem]) -> tuple[dict[str, str], str]:
        """Return Coq's output by name, and the reason why the session was stopped, or "".

        The names are those of the theorems, `axioms` for the axioms of all proved theorems together, and, if these are
        not all allowed, `axioms of NAME` for each. Raises NoCoqError where Coq cannot load the library.
        """
        limit = _STARTING + (self.limit + FIRST_SECONDS) * sum(len(t.ways) for t in printed)
        command = [self.library.coqtop, "-quiet", "-w", "none", "-Q", str(self.library.folder), "Certgrad"]
        with tempfile.TemporaryDirectory() as folder, Session(command, folder, limit) as session:
            names = {t.name for t in printed}
            texts = [f.session(lambda t: t.name in names, ways(), self.limit) for f in files]
            output = _output_by_theorem(session.ask("".join(texts)))
            if "Error" in output.get("header", ""):
                raise NoCoqError(f"Coq does not take the library: {' '.join(output['header'].split())[:300]}")
            proved = [t.name for t in printed if t.name in output and _is_proved(output[t.name])]
            if not session.stopped and proved:
                whole = f"Definition all_theorems := ({', '.join(f'@{n}' for n in proved)}).\n"
                output["axioms"] = _PROMPT.sub("", session.ask(f"{whole}Print Assumptions all_theorems.\n"))
                if _axioms(output["axioms"]) - AXIOMS:
                    for name in proved:
                        output[f"axioms of {name}"] = _PROMPT.sub("", session.ask(f"Print Assumptions {name}.\n"))
        return {"axioms": "", **output}, f"coqtop was stopped after {limit} s" if session.stopped else ""

    def checked(self, files: Sequence[File], results: Sequence[Result], seconds: float = 1800) -> str:
        """Return the objections of `coqc`, then of `coqchk`, to files of the accepted theorems alone; "" without any.

        `seconds` is the limit for each of these commands.
        """
        accepted = {j.name: j.way for r in results for j in r.judged if j.accepted}
        scripts = {**ways(), **{name: way for name, way in accepted.items() if way is not None}}
        paths = ["-Q", str(self.library.folder), "Certgrad", "-Q", ".", "Exported"]
        with tempfile.TemporaryDirectory() as folder:
            for file in files:
                (Path(folder) / f"{file.name}.v").write_text(
                    file.text(lambda t: t.name in accepted, scripts, self.limit)
                )
                code, output = bounded([self.library.coqc, "-w", "none", *paths, f"{file.name}.v"], folder, seconds)
                if code:
                    return f"{file.name}.v: {output[-2000:]}"
            checker = str(Path(self.library.coqc).with_name("coqchk"))
            names = [f"Exported.{file.name}" for file in files]
            code, output = bounded([checker, "-silent", *paths, *names], folder, seconds)
        return "" if code == 0 else output[-2000:] or f"stopped after {seconds:g} s"


class Session:
    """A process that answers queries on its standard input, and is killed after `seconds`; `stopped` says if it was."""

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
        """Return the output for a text, up to an end mark that the process echoes, or up to the end of the process.

        A thread writes the text, as the process blocks while its output is not read.
        """
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
    """Return the environment variables for Coq, with `MEMORY` unless the user set OCAMLRUNPARAM."""
    return {"OCAMLRUNPARAM": MEMORY, **os.environ}


def _kill(process: subprocess.Popen[str]) -> None:
    """Kill the process and its children."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def bounded(command: Sequence[str], folder: str, seconds: float) -> tuple[int | None, str]:
    """Run a command, and return its exit code and its output; it is killed after `seconds`, and the code is None."""
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
            output, _ = process.communicate(timeout=seconds)
            return process.returncode, output
        except subprocess.TimeoutExpired:
            _kill(process)
            output, _ = process.communicate()
            return None, output or ""


_PROMPT = re.compile(r"^(?:[\w']+ < )+", re.MULTILINE)
_SECONDS = re.compile(r"^Finished (?:failing )?transaction in ([\d.]+) secs \(([\d.]+)u", re.MULTILINE)
_WAY = re.compile(rf"{WAY_PREFIX}(\d+)$", re.MULTILINE)  # what a tactic says may stand before it in its line
_AXIOM = re.compile(r"^([A-Za-z_][\w.']*)\s*(?::|$)")


def _distinct(files: Sequence[File]) -> bool:
    """Return whether no name is defined twice in the files, so that they may share a session."""
    names = [d.name for f in files for s in f.sections for d in s.definitions]
    names += [t.name for f in files for t in f.theorems]
    return len(names) == len(set(names))


def _with_needs(files: Sequence[File], names: Sequence[str]) -> list[Theorem]:
    """Return the named theorems and all that their proofs use, which have to be compiled even if already judged.

    They are in the order of the files. A theorem that was not printed is left out.
    """
    theorems = {t.name: t for f in files for t in f.theorems}
    needed: set[str] = set()
    left = list(names)
    while left:
        if (name := left.pop()) not in needed:
            needed.add(name)
            left += theorems[name].needs
    return [t for t in theorems.values() if t.name in needed and not t.reason]


def _output_by_theorem(told: str) -> dict[str, str]:
    """Return the parts of Coq's output by the name that was echoed before each (see `File.session`)."""
    return {name: _PROMPT.sub("", rest) for name, _, rest in (p.partition("\n") for p in told.split("@@")[1:])}


def _is_proved(told: str) -> bool:
    return "Error" not in told and "@end" in told


def _judged(theorem: Theorem, told: str | None, axioms: str, stopped: str, limit: int) -> Judged:
    """Return the verdict on one theorem: `told` is Coq's output for it, `axioms` that of `Print Assumptions`.

    If no proof was found, the reason is Coq's message, or why the session was `stopped`.
    """
    if theorem.reason:
        return Judged(theorem.name, theorem.kind, False, theorem.reason, 0.0, theorem.stated)
    timing = _SECONDS.search(told or "")
    by_the_clock, seconds = (float(timing[1]), float(timing[2])) if timing else (0.0, 0.0)
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
    """Return the axioms that the output of `Print Assumptions` names.

    If that has an error, or names nothing and does not say that there are none, the result is a made-up name, which is
    no allowed axiom.
    """
    lines = said.splitlines()
    names = {m[1] for line in lines if (m := _AXIOM.match(line)) and m[1] != "Axioms"}
    if "Error" in said or (not names and not any("Closed under the global context" in line for line in lines)):
        return frozenset({"nothing that Print Assumptions said"})
    return frozenset(names)


def count_accepted(results: Iterable[Result]) -> int:
    """Return how many theorems are accepted in all results together."""
    return sum(j.accepted for r in results for j in r.judged)
