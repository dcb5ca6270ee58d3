"""`certgrad diff`: what changed between two audits, and whether a proof was lost."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import certgrad
from certgrad.cli import _options, _output
from certgrad.cli._errors import ExitCode


class Format(StrEnum):
    """A format of the changes."""

    text = "text"
    json = "json"
    markdown = "markdown"


def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="What `certgrad audit --output json=OLD` wrote before.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="What it wrote now. Certificates, or folders, do too.")],
    format: Annotated[Format, typer.Option(help="What to print on stdout.")] = Format.text,
    output: _options.Outputs = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 1 for changed conventions and removed rules as well.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only losses.")] = False,
) -> None:
    """Compare two audits: lost proofs, new hypotheses, narrower claims, changed conventions; and what improved.

    Nothing is proved anew: what the two files say is compared.

    Exit codes: 0 nothing is lost; 1 a proof is lost, rests on a new hypothesis or says less, or something new is
    refuted; 2 usage or bad input; 3 internal error.
    """
    from certgrad.cli import _audits
    from certgrad.report import changes
    from certgrad.report.diff import changes as between

    outputs = _output.parse(output or [], list(Format))
    old_side, new_side = _audits.read(old), _audits.read(new)
    found_changes = between(old_side, new_side)
    compared = len(new_side.certificates)

    def render(kind: str, quiet: bool = False) -> str:
        match Format(kind):
            case Format.text:
                return changes.as_text(found_changes, compared, quiet=quiet)
            case Format.json:
                return changes.as_json(found_changes, compared, certgrad.__version__)
            case Format.markdown:
                return changes.as_markdown(found_changes, compared)

    for destination in outputs:
        _output.write(destination, render(destination.format))
    typer.echo(render(format, quiet), nl=False)
    for problem in new_side.problems:
        typer.echo(f"note: {new} is not a complete audit: {problem}", err=True)
    failed = any(
        change.loss or (strict and change.kind in ("changed convention", "removed")) for change in found_changes
    )
    raise typer.Exit(ExitCode.REFUTED if failed else ExitCode.DISCHARGED)
