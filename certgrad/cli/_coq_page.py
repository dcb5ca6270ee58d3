"""`certgrad report --coq`: the page on what Coq accepts of the op library, with a record of the proofs."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import typer

from certgrad.cli import _console, _coq, _library, _options
from certgrad.cli._errors import ExitCode
from certgrad.errors import UsageError
from certgrad.process.files import write_atomically

if TYPE_CHECKING:
    from certgrad.coq import File, Result


def write(directory: Path, jobs: int | None, limit: int) -> None:
    """Write the page `coq.md` on the certificates in a directory, and the record `coq.json` of how proofs were found.

    The page is written anew after each op, so that a run that is cut short leaves a page on the results so far.
    `limit` is the seconds for one theorem. Raises NoCoqError.
    """
    from certgrad.coq import RECORD_FILE, Kernel, Library
    from certgrad.report.pages import coq

    kernel = Kernel(Library(_coq.CACHE), limit)
    _library.prepare()
    certificates = _coq.of_rules(_coq.read_certificates([directory]))
    files = _coq.printed(certificates)
    results = {file.subject: kernel.so_far(file) for file in files}
    classes = {name: _class_of(name) for name in results}

    def write() -> None:
        write_atomically(directory / "coq.md", coq.page(list(results.values()), limit, classes).encode())

    write()
    short_first = sorted(files, key=lambda file: len(file.text()))
    judging = kernel.judge_all(short_first, _options.processes(jobs, len(files)))
    for result in _console.progress(judging, len(files), shown=True, verb="judging"):
        results[result.subject] = result
        write()
    _coq.keep_levels(certificates, list(results.values()), kernel.library.release)
    write_atomically(directory / RECORD_FILE, _record(list(results.values())))
    typer.echo(f"{directory / 'coq.md'}: {_coq.summary(list(results.values()))}")


def check(directory: Path, jobs: int | None, limit: int) -> ExitCode:
    """Compile the theorems that the directory records as accepted; print those that are not; return the exit code.

    Raises NoCoqError, and UsageError if there is no record.
    """
    from certgrad.coq import RECORD_FILE, Kernel, Library, read_ways

    started = time.perf_counter()
    recorded = read_ways(directory / RECORD_FILE)
    if not recorded:
        raise UsageError(
            f"{directory / RECORD_FILE}: no record of accepted theorems. `certgrad report --coq` writes it."
        )
    kernel = Kernel(Library(_coq.CACHE), limit, remember=False)
    _library.prepare()
    files = _coq.printed(_coq.of_rules(_coq.read_certificates([directory])))
    missing = recorded.keys() - {t.name for file in files for t in file.theorems}
    files = [_with_recorded_theorems(file, recorded) for file in files]
    judging = kernel.judge_all(files, _options.processes(jobs, len(files)))
    accepted = set()
    for result in _console.progress(judging, len(files), shown=True, verb="judging"):
        accepted |= {theorem.name for theorem in result.judged if theorem.accepted}
        for theorem in result.judged:
            if not theorem.accepted:
                typer.echo(f"{theorem.name}: not accepted any more: {theorem.reason}")
    for name in sorted(missing):
        typer.echo(f"{name}: recorded as accepted, and no theorem of any op")
    typer.echo(
        f"{len(accepted)} of {len(recorded)} theorems that {directory / RECORD_FILE} records accepted by Coq "
        f"({time.perf_counter() - started:.0f} s)"
    )
    return ExitCode.DISCHARGED if accepted == recorded.keys() else ExitCode.REFUTED


def _record(results: "Sequence[Result]") -> bytes:
    """Return JSON with the way in which the proof of each accepted theorem was found, one line a theorem."""
    accepted = (one for result in results for one in result.judged if one.accepted)
    ways = {one.name: one.way for one in accepted if one.way is not None}
    return msgspec.json.format(msgspec.json.encode(ways, order="sorted")) + b"\n"


def _with_recorded_theorems(file: "File", recorded: "Mapping[str, int]") -> "File":
    """Return the file with the recorded theorems alone."""
    sections = (
        replace(section, theorems=tuple(t for t in section.theorems if t.name in recorded)) for section in file.sections
    )
    return replace(file, sections=tuple(sections))


def _class_of(name: str) -> str:
    """Return the class of an op: `elementwise` if all arrays have one shape of any rank, else its module's name."""
    from certgrad.ops import registry

    op = registry.get(name)
    cases = [str(case).partition(" -> ") for case in op.cases]
    if all(out == "*s" and set(into.split(", ")) <= {out, "()"} for into, _, out in cases):
        return "elementwise"
    return _coq.module_of(name).replace("_", " ")
