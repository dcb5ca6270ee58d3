"""`certgrad table`: the library as a Markdown table."""

import typer

from certgrad.cli import _console, _library


def table() -> None:
    """Print the library as a Markdown table."""
    from certgrad.cli import _run
    from certgrad.report import markdown

    names = _library.names()
    audited = list(_console.progress(_run.run(names), len(names), shown=True))
    typer.echo(markdown.table([entry.certificate for entry in audited]), nl=False)
