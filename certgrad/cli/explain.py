"""`certgrad explain`: what is claimed of one op, or what a code means."""

from typing import Annotated

import typer

from certgrad.cli import _complete, _console, _library, _options


def explain(
    subject: Annotated[
        str,
        typer.Argument(metavar="OP|CODE", help="An op (log) or a code (CG101).", autocompletion=_complete.subjects),
    ],
    cache_dir: _options.CacheDir = _options.DEFAULT_CACHE,
    no_cache: _options.NoCache = False,
) -> None:
    """Say what is proved of an op, or what a code means.

    For an op: what is claimed, under which hypotheses, what the rule returns where nothing is claimed, and its source.
    """
    from certgrad.report.codes import CODES, REMARKS
    from certgrad.report.explanation import Declaration, explain_code, explain_op

    width = _console.width()
    codes = {**CODES, **REMARKS}
    if subject.upper() in codes:
        typer.echo(explain_code(codes[subject.upper()], width), nl=False)
        return
    name = _library.resolve(subject, also=codes)
    op = _library.get(name)
    cache = None if no_cache else cache_dir
    certificate = _library.audit_op(name, cache)
    if cache is not None:
        _library.tidy_cache(cache, _library.cache_problem(cache))
    declaration = Declaration(
        doc=op.doc or "",
        aliases=op.aliases,
        jax=op.like,
        torch=op.torch,
        broadcast=op.broadcast,
        params=op.params,
        equations={claim.kind: _library.equations(name, claim.kind) for claim in certificate.claims},
    )
    typer.echo(explain_op(certificate, declaration, width), nl=False)
