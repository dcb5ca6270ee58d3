"""The report on a recorded run, and whether it fails."""

import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from certgrad.cli import _code, _console, _output
from certgrad.cli._errors import ExitCode, guarded
from certgrad.cli._output import Format
from certgrad.report.wording import fill

if TYPE_CHECKING:
    from certgrad.recording import Program, Record


@dataclass(frozen=True)
class Wanted:
    """The options of a run."""

    save: Path | None = None
    format: str = Format.text
    outputs: tuple[_output.Output, ...] = ()
    strict: bool = False
    failing: tuple[str, ...] = ()
    conformance: bool = True
    quiet: bool = False
    verbose: bool = False
    seconds: float = 60
    graphs: bool = False
    """Also certify what was differentiated."""


@dataclass(frozen=True)
class RunSummary:
    """The summary of a run: notes, the report, and whether there is a failure."""

    notes: list[str]
    text: str
    failed: bool = False


def run(program: "Program", wanted: Wanted) -> int:
    """Run the program and report on stderr; return the exit status."""
    from certgrad.recording import Record
    from certgrad.recording import run as run_program

    record = Record(wanted.graphs)
    ended = run_program(program, record.noticing())
    if ended.interrupted:
        return ended.status
    summaries: list[RunSummary] = []

    @guarded
    def reported() -> None:
        summaries.append(report(record, wanted))
        _code.show(summaries[0].notes)
        typer.echo(summaries[0].text, err=True, nl=False)

    try:
        reported()
    except typer.Exit as error:
        return ended.status or error.exit_code
    except KeyboardInterrupt:
        typer.echo("certgrad: the audit was interrupted", err=True)
        return ended.status
    return ended.status or (ExitCode.REFUTED if summaries[0].failed else ExitCode.DISCHARGED)


def report(record: "Record", wanted: Wanted) -> RunSummary:
    """Audit the recorded rules and functions."""
    rules = _rules(record, wanted)
    if not wanted.graphs:
        return rules
    found = _graphs(record, wanted)
    return RunSummary([*rules.notes, *found.notes], rules.text + found.text, rules.failed or found.failed)


def _graphs(record: "Record", wanted: Wanted) -> RunSummary:
    """Certify the functions that were differentiated."""
    if record.functions is None or not record.functions.found:  # what JAX differentiates itself is not kept
        return RunSummary([], "certgrad: nothing was differentiated\n")
    from certgrad.obligations.certificate import PROVED_AS_WRITTEN
    from certgrad.recording import certified

    found = list(certified(record.functions, wanted.seconds))
    failing = {*wanted.failing, *(["refuted"] if wanted.strict or wanted.failing else [])}
    failed = any(
        one.verdict in failing or (wanted.strict and (one.left or one.verdict not in PROVED_AS_WRITTEN))
        for one in found
    )
    held = sum(one.verdict in PROVED_AS_WRITTEN for one in found)
    lines = ["", "functions that were differentiated, at the shapes of their calls"]
    for one in found:
        times = "once" if one.count == 1 else f"{one.count} times"
        where = f" ({one.where})" if one.where else ""
        lines.append(f"{one.name}{where}: {one.verdict} at {one.shapes or 'no arrays'}, called {times}")
        shown = [one.reason, one.left, *([] if wanted.quiet and one.verdict in PROVED_AS_WRITTEN else one.hypotheses)]
        lines += [fill(line, _console.width(sys.stderr), "  ", "    ") for line in shown if line]
    notes = [f"{record.functions.more} calls of further functions were not kept"] if record.functions.more else []
    return RunSummary(notes, "\n".join([*lines, f"{held} of {len(found)} certified"]) + "\n", failed)


def _rules(record: "Record", wanted: Wanted) -> RunSummary:
    """Return the summary of an audit of the rules that were called; write the files that were asked for."""
    if record.notes is None:
        return RunSummary([], "certgrad: no derivative rule was called\n")
    from certgrad.cli import _policy, _select
    from certgrad.recording import audited, save
    from certgrad.report.audited import Audit

    started = time.perf_counter()
    configured = _code.configured()
    rules = audited(record.notes, wanted.conformance, wanted.seconds)
    recorded = list(_console.progress(rules, len(record.notes.rules), shown=not wanted.quiet))
    code = _code.Code([one.result for one in recorded])
    names = [rule.name for rule in code.rules]
    selection = _select.choose([], {}, [], configured.select, configured.ignore, names)
    audit = Audit(
        _policy.selected(code, selection, configured),
        failing=_policy.failing(wanted.failing, strict=wanted.strict),
        strict=wanted.strict,
    )
    notes = [*_policy.notes(audit), *record.notes.remarks()]
    if wanted.save is not None:
        count, unsaved = save(wanted.save, recorded)
        notes += unsaved
        notes.append(f"'{wanted.save}' has the declarations of {count} rule{'' if count == 1 else 's'}")
    audit = replace(audit, seconds=time.perf_counter() - started)
    failed = _policy.failed(audit)
    if not recorded and not wanted.outputs and wanted.format == "text":
        return RunSummary(notes, "certgrad: no derivative rule of the program's own was called\n", failed)

    for destination in wanted.outputs:
        _output.write(destination, _output.render(destination.format, audit))
    page = _console.width(sys.stderr), _console.coloured(sys.stderr)
    printed = _output.render(wanted.format, audit, _output.Style(wanted.quiet, wanted.verbose, *page))
    return RunSummary(notes, printed, failed and (wanted.strict or bool(wanted.failing)))
