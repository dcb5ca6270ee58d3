"""`certgrad list`: the ops of the library."""

import typer

from certgrad.cli import _library


def list_ops() -> None:
    """List the ops: name, signature, what it computes."""
    ops = [_library.get(name) for name in _library.names()]
    rows = [(op.name, str(op.cases[0].signature), (op.doc or "").strip().partition("\n")[0]) for op in ops]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    for name, signature, doc in rows:
        typer.echo(f"{name:<{widths[0]}}  {signature:<{widths[1]}}  {doc}".rstrip())
