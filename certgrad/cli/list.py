"""`certgrad list`: the ops of the library."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from certgrad import _plugins
from certgrad.cli import _code, _console, _library
from certgrad.errors import CertgradError
from certgrad.signatures.signature import for_people

if TYPE_CHECKING:
    from certgrad.ops import Op

_SIGNATURE = 20
"""The largest width of the column of signatures; a row with a longer signature may take two lines."""


def list_ops(
    format: Annotated[Literal["text", "markdown"], typer.Option(help="Lines, or the page `docs/ops.md`.")] = "text",
) -> None:
    """List the ops: name, signature, what it computes. Those of installed plugins follow, by the target that names
    them.
    """
    ops = [_library.get(name) for name in _library.names()]
    if format == "markdown":
        from certgrad.report.pages.ops import render

        typer.echo(render(ops), nl=False)
        return
    from certgrad.report.wording import PAGE_WIDTH, fill

    page = _console.width() or PAGE_WIDTH
    named_ops = [*((op.name, op) for op in ops), *_of_plugins()]
    rows = [
        (name, for_people(str(op.cases[0].signature)), (op.doc or "").strip().partition("\n")[0])
        for name, op in named_ops
    ]
    names = max(len(name) for name, _, _ in rows)
    short = max((len(signature) for _, signature, _ in rows if len(signature) <= _SIGNATURE), default=0)
    for name, signature, doc in rows:
        line = f"{name:<{names}}  {signature:<{short}}  {doc}".rstrip()
        if len(line) > page:
            line = fill(signature, page, f"{name:<{names}}  ", " " * (names + 2)) + "\n" + fill(doc, page, "    ")
        typer.echo(line)


def _of_plugins() -> "Iterator[tuple[str, Op]]":
    """Yield the ops of plugins, each with the target that names it; a broken plugin is reported on stderr."""
    for plugin in _plugins.plugins(_plugins.OPS):
        try:
            yield from _plugins.ops_of(plugin)
        except CertgradError as error:
            _code.show([str(error)])
