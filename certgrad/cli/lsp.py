"""`certgrad lsp`: findings at their lines in an editor."""

import typer

from certgrad.cli import _options
from certgrad.errors import UsageError


def lsp(
    context: typer.Context,
    arguments: _options.AuditArguments = None,
) -> None:
    """Serve an editor over stdin and stdout, by the language server protocol; the editor starts this.

    It audits when a folder is opened and when a Python file or pyproject.toml is saved, and the editor shows what is
    refuted, unproved or remarked at the line of the rule. Needs pip install 'certgrad[lsp]'.
    """
    try:
        from certgrad._language_server import serve
    except ImportError as error:
        raise UsageError(
            f"The language server needs pygls ({error}). Install it with: pip install 'certgrad[lsp]'."
        ) from None
    serve([*(arguments or []), *context.args])
