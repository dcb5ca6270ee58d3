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
    """Whether functions that were differentiated are certified as well."""


@dataclass(frozen=True)
class RunSummary:
    """The notes on a run, its report as text, and whether it fails."""

    notes: list[str]
    text: str
    failed: bool = False


def run(program: "Program", wanted: Wanted) -> int:
    """Run the program, report on stderr, and return the exit status.

    That is the program's own unless it is 0.
    """
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
    """Return the summary of an audit of the recorded rules and, if that is wanted, functions."""
    rules = _rules(record, wanted)
    if not wanted.graphs:
        return rules
    graphs = _graphs(record, wanted)
    return RunSummary([*rules.notes, *graphs.notes], rules.text + graphs.text, rules.failed or graphs.failed)


def _graphs(record: "Record", wanted: Wanted) -> RunSummary:
    """Return the summary of certifying the functions that were differentiated."""
    if (
        record.functions is None or not record.functions.found
    ):  # functions that JAX itself differentiates are not recorded
        return RunSummary([], "certgrad: nothing was differentiated\n")
    from certgrad.obligations.certificate import PROVED_AS_WRITTEN
    from certgrad.recording import certified

    certified_functions = list(certified(record.functions, wanted.seconds))
    failing = {*wanted.failing, *(["refuted"] if wanted.strict or wanted.failing else [])}
    failed = any(
        function.verdict in failing or (wanted.strict and (function.left or function.verdict not in PROVED_AS_WRITTEN))
        for function in certified_functions
    )
    proved_count = sum(function.verdict in PROVED_AS_WRITTEN for function in certified_functions)
    lines = ["", "functions that were differentiated, at the shapes of their calls"]
    for function in certified_functions:
        times = "once" if function.count == 1 else f"{function.count} times"
        where = f" ({function.where})" if function.where else ""
        lines.append(f"{function.name}{where}: {function.verdict} at {function.shapes or 'no arrays'}, called {times}")
        shown = [
            function.reason,
            function.left,
            *([] if wanted.quiet and function.verdict in PROVED_AS_WRITTEN else function.hypotheses),
        ]
        lines += [fill(line, _console.width(sys.stderr), "  ", "    ") for line in shown if line]
    notes = [f"{record.functions.more} calls of further functions were not kept"] if record.functions.more else []
    return RunSummary(
        notes, "\n".join([*lines, f"{proved_count} of {len(certified_functions)} certified"]) + "\n", failed
    )


def _rules(record: "Record", wanted: Wanted) -> RunSummary:
    """Return the summary of an audit of the rules that were called, and write the files of `wanted`.

    Findings are a failure only with --strict or --fail-on.
    """
    if record.notes is None:
        return RunSummary([], "certgrad: no derivative rule was called\n")
    from certgrad.cli import _policy, _select
    from certgrad.recording import audited, save
    from certgrad.report.audited import Audit

    started = time.perf_counter()
    configured = _code.configured()
    rules = audited(record.notes, wanted.conformance, wanted.seconds)
    recorded = list(_console.progress(rules, len(record.notes.rules), shown=not wanted.quiet))
    code = _code.Code([recorded_rule.result for recorded_rule in recorded])
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
