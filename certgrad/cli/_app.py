"""The command's entry: every subcommand is registered here, and every error becomes a message and an exit code."""

import signal
import sys
from collections.abc import Callable
from typing import Annotated

import typer

import certgrad
from certgrad.cli._errors import guarded
from certgrad.cli._exactly import Strictly
from certgrad.cli.audit import audit
from certgrad.cli.baseline import baseline
from certgrad.cli.conform import conform
from certgrad.cli.diff import diff
from certgrad.cli.explain import explain
from certgrad.cli.export import export
from certgrad.cli.graph import graph
from certgrad.cli.init import init
from certgrad.cli.list import list_ops
from certgrad.cli.lsp import lsp
from certgrad.cli.report import report
from certgrad.cli.run import Begin, OfProgram, run
from certgrad.cli.table import table
from certgrad.cli.verify import verify
from certgrad.cli.watch import PASSED_ON_OPTIONS, watch

_COMMANDS: dict[str, Callable[..., None]] = {
    "init": init,
    "audit": audit,
    "baseline": baseline,
    "diff": diff,
    "verify": verify,
    "conform": conform,
    "explain": explain,
    "export": export,
    "graph": graph,
    "list": list_ops,
    "table": table,
    "report": report,
}

app = typer.Typer(
    name="certgrad",
    help="Prove hand-written JAX derivative rules: for every shape, over the real numbers, with no tolerance.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for _name, _function in _COMMANDS.items():
    app.command(_name, cls=Strictly if _function is audit else None)(guarded(_function))
app.command("watch", context_settings=PASSED_ON_OPTIONS)(guarded(watch))
app.command("lsp", context_settings=PASSED_ON_OPTIONS)(guarded(lsp))
app.command("run", cls=OfProgram)(guarded(run))


def _version(value: bool) -> None:
    if value:
        typer.echo(f"certgrad {certgrad.__version__}")
        raise typer.Exit()


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the console script, and exit with the status of the command."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show `≠` gets `?`; it must not get a traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    # A job that is ended from outside prints its results so far, as it does on Ctrl-C.
    handler_before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app()
    except Begin as begin:
        begun = begin
    finally:
        signal.signal(signal.SIGTERM, handler_before)
    from certgrad.cli._recorded import run as record

    sys.exit(record(begun.program, begun.wanted))
