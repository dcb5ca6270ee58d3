"""`certgrad run`: run a program as it is, and audit the rules that it called."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from certgrad.cli import _options, _output
from certgrad.cli._output import Format
from certgrad.cli.audit import Failing
from certgrad.errors import UsageError

if TYPE_CHECKING:
    from certgrad.cli._recorded import Wanted
    from certgrad.recording import Program


class Begin(BaseException):
    """Raised with the program to run, which starts after the command line was left: it may have one of its own."""

    def __init__(self, program: "Program", wanted: "Wanted") -> None:
        super().__init__(program.name)
        self.program = program
        self.wanted = wanted


class OfProgram(TyperCommand):
    """A command whose options end where the program begins: at its name, or at `-m`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options before the program, and hand on its name and all that follows unparsed."""
        valued = {name for p in self.params if not getattr(p, "is_flag", False) for name in p.opts}
        at, skip = len(args), False
        for k, arg in enumerate(args):
            if skip:
                skip = False
            elif (arg.startswith("-m") and not arg.startswith("--")) or not arg.startswith("-"):
                at = k
                break
            elif arg == "--":
                return super().parse_args(ctx, args)
            else:
                skip = arg in valued
        return super().parse_args(ctx, [*args[:at], "--", *args[at:]])


def run(
    program: Annotated[
        list[str] | None,
        typer.Argument(metavar="SCRIPT ARG... | -m MODULE ARG...", help="What to run, as `python` takes it."),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write declarations, so that `certgrad audit` needs no run the next time."),
    ] = None,
    format: Annotated[str, _options.format("What to print on stderr.")] = Format.text,
    output: _options.Outputs = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Exit 1, where the program exits 0, for all that `certgrad audit --strict` does."
        ),
    ] = False,
    fail_on: Annotated[
        list[Failing] | None,
        typer.Option("--fail-on", help="Exit 1, where the program exits 0, for this verdict. May be repeated."),
    ] = None,
    conformance: Annotated[
        bool,
        typer.Option(
            "--conformance/--no-conformance",
            help="Compare the traces of rules with what happens at numbers and in calls.",
        ),
    ] = True,
    graphs: Annotated[
        bool,
        typer.Option(
            "--graphs", help="Also certify the functions given to jax.grad, value_and_grad, vjp and linearize."
        ),
    ] = False,
    seconds: Annotated[float, typer.Option(min=1, help="How long the audit of one rule may take.")] = 60,
    quiet: _options.Quiet = False,
    verbose: _options.Verbose = False,
) -> None:
    """Run a program, note each derivative rule that it calls, and audit them when it has ended.

    The report is on stderr; the program's output, exceptions and exit code stay what they are.

    Exit codes: the program's; with --strict or --fail-on 1 for findings where that is 0; 2 usage or bad input.
    """
    from certgrad.cli._recorded import Wanted
    from certgrad.recording._program import programs

    if quiet and verbose:
        raise UsageError("--quiet and --verbose contradict each other. Leave one of them out.")
    to_run = programs(program or [])
    if to_run is None:
        raise UsageError("Name what to run: `certgrad run train.py ARG...`, or `certgrad run -m pytest tests`.")
    if not to_run.module and not Path(to_run.name).exists():
        raise UsageError(f"There is no file '{to_run.name}' to run.")
    if save is not None and not save.absolute().parent.is_dir():
        raise UsageError(f"--save {save}: {save.parent} is no folder.")
    outputs = tuple(_output.parse(output or []))
    failing = tuple(v.value for v in fail_on or [])
    raise Begin(to_run, Wanted(save, format, outputs, strict, failing, conformance, quiet, verbose, seconds, graphs))
