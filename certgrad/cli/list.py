"""`certgrad list`: the ops of the library."""

from typing import Annotated, Literal

import typer

from certgrad.cli import _console, _library

_SIGNATURE = 20
"""The width of the column of signatures; a row with a longer one may take two lines."""


def list_ops(
    format: Annotated[Literal["text", "markdown"], typer.Option(help="Lines, or the page `docs/ops.md`.")] = "text",
) -> None:
    """List the ops: name, signature, what it computes."""
    ops = [_library.get(name) for name in _library.names()]
    if format == "markdown":
        from certgrad.report import ops_page

        typer.echo(ops_page.render(ops), nl=False)
        return
    from certgrad.report.wording import PAGE, fill

    page = _console.width() or PAGE
    rows = [(op.name, str(op.cases[0].signature), (op.doc or "").strip().partition("\n")[0]) for op in ops]
    names = max(len(name) for name, _, _ in rows)
    short = max((len(signature) for _, signature, _ in rows if len(signature) <= _SIGNATURE), default=0)
    for name, signature, doc in rows:
        line = f"{name:<{names}}  {signature:<{short}}  {doc}".rstrip()
        if len(line) > page:
            line = fill(signature, page, f"{name:<{names}}  ", " " * (names + 2)) + "\n" + fill(doc, page, "    ")
        typer.echo(line)
