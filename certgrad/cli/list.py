"""`certgrad list`: the ops of the library."""

from typing import Annotated, Literal

import typer

from certgrad.cli import _library


def list_ops(
    format: Annotated[Literal["text", "markdown"], typer.Option(help="Lines, or the page `docs/ops.md`.")] = "text",
) -> None:
    """List the ops: name, signature, what it computes."""
    ops = [_library.get(name) for name in _library.names()]
    if format == "markdown":
        from certgrad.report import ops_page

        typer.echo(ops_page.render(ops), nl=False)
        return
    rows = [(op.name, str(op.cases[0].signature), (op.doc or "").strip().partition("\n")[0]) for op in ops]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for name, signature, doc in rows:
        typer.echo(f"{name:<{widths[0]}}  {signature:<{widths[1]}}  {doc}".rstrip())
