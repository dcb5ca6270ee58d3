"""`certgrad report`: rewrite the committed report of the op library, or check that it is current."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from certgrad.cli import _console, _jax, _library, _options, _output
from certgrad.cli._errors import ExitCode
from certgrad.cli._output import Format
from certgrad.errors import UsageError

if TYPE_CHECKING:
    from certgrad.report.audited import RuleResult


def report(
    check: Annotated[bool, typer.Option("--check", help="Change nothing; exit 1 if a file is not current.")] = False,
    directory: Annotated[Path, typer.Option(metavar="PATH", help="The directory of the report.")] = Path("reports"),
    jobs: _options.Jobs = None,
    dask: _options.Dask = "",
    cache_dir: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Use the cache in this folder. Without it all is proved anew.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Also write the report as one HTML page to this file.")
    ] = None,
    jax: Annotated[
        bool, typer.Option("--jax", help="Only the page on the installed JAX: jax.md. Takes a minute or two.")
    ] = False,
    coq: Annotated[
        bool, typer.Option("--coq", help="Only the page on what Coq accepts: coq.md. Needs Coq, and half an hour.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, metavar="SECONDS", help="With --coq: for one theorem.")] = 60,
) -> None:
    """Rewrite the committed report, or check it.

    The report is a Markdown page, one certificate an op, and their schema; a page on the composed ops, and their
    certified graphs. Everything is proved anew unless a cache is named. With --html PATH also one page for a browser,
    with formulas, plots and drawings; it is no part of what --check compares.

    --coq also writes coq.json, which says by which way each proof was found; --coq --check compiles all that it records
    anew, and nothing else.

    Exit codes: 0 written, or current; 1 with --check, not current; 2 usage or bad input; 3 internal error.
    """
    if html is not None:
        _page_can_be_written(html, jax=jax)
    if jax:
        _jax.page(directory, jobs, check=check)
        return
    if coq:
        from certgrad.cli import _coq_page

        if check:
            raise typer.Exit(_coq_page.check(directory, jobs, limit))
        _coq_page.write(directory, jobs, limit)
        return
    from certgrad.cli import _run
    from certgrad.report.audited import certificates_of
    from certgrad.report.pages import committed_report

    names = _library.all_proved()
    run = _run.run(names, jobs, cache_dir, exhibits=html is not None, dask=dask, graphs=True)
    results = list(_console.progress(run, len(names), shown=True))
    certificates = certificates_of(results)
    files = committed_report.render(certificates, _library.blocks(results))
    if html is not None:
        _write_page(html, results)
    if not check:
        changed = committed_report.write(directory, files)
        typer.echo(f"{directory}: {len(files)} files, {len(changed)} changed")
        return
    stale = committed_report.stale(directory, files)
    if not stale:
        typer.echo(f"{directory}: {len(files)} files, all current")
        return
    for line in stale:
        typer.echo(f"{directory}/{line}")
    differences = committed_report.version_differences(directory, certificates)
    if differences:
        typer.echo(
            f"The report was made with other versions: {'; '.join(differences)}. "
            "Install with `pip install -c constraints.txt -e .` to compare like with like.",
            err=True,
        )
    are, them = ("is", "it") if len(stale) == 1 else ("are", "them")
    typer.echo(
        f"{len(stale)} of the report's files {are} not current. Run `certgrad report` and commit {them}.", err=True
    )
    raise typer.Exit(ExitCode.REFUTED)


def _page_can_be_written(html: Path, *, jax: bool) -> None:
    """Raise UsageError if the HTML page cannot be written; called before any work is done.

    It cannot with `--jax`, which makes another page, without the libraries that draw it, or if the path is no writable
    file.
    """
    if jax:
        raise UsageError("--html is the page on the ops, and --jax that on JAX. Leave one of them out.")
    _output.draws(Format.html, _output.parse([f"html={html}"]))


def _write_page(html: Path, results: "Sequence[RuleResult]") -> None:
    """Write the HTML page, without times, so that equal certificates make equal pages."""
    import certgrad
    from certgrad.report.audited import Audit
    from certgrad.report.html import render

    page = render(Audit([msgspec.structs.replace(one, seconds=0.0) for one in results]), certgrad.__version__)
    _output.write(_output.Output(Format.html, html), page)
    typer.echo(f"{html}: written, {len(page.encode()) / 1e6:.1f} MB")
