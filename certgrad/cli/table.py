"""`certgrad table`: the library as a Markdown table."""

import typer

from certgrad.cli import _console, _library


def table() -> None:
    """Print the library as a Markdown table."""
    from certgrad.cli import _run
    from certgrad.report import markdown
    from certgrad.report.audited import certificates_of

    names = _library.all_proved()
    results = _console.progress(_run.run(names), len(names), shown=True)
    typer.echo(markdown.table(certificates_of(results)), nl=False)
