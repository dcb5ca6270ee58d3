"""`certgrad explain`: what is claimed of one op, of the rules in code, or what a code means."""

from pathlib import Path
from textwrap import indent
from typing import Annotated

import typer

from certgrad.cli import _code, _complete, _console, _library, _options
from certgrad.cli._errors import ExitCode


def explain(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="OP|CODE|TARGET",
            help="An op (log), a code (CG101), or code whose rules to explain: module:object, a module, a file.",
            autocompletion=_complete.subjects,
        ),
    ],
    cache_dir: _options.CacheDir = _options.DEFAULT_CACHE,
    no_cache: _options.NoCache = False,
) -> None:
    """Say what is proved of an op or of a rule in code, or what a code means.

    What is claimed, under which hypotheses, what the rule returns where nothing is claimed, and an op's source; of a
    rule that is wrong, a point that shows it.
    """
    from certgrad.report.codes import CODES, REMARKS
    from certgrad.report.explanation import Declaration, explain_code, explain_op

    width = _console.width()
    codes = {**CODES, **REMARKS}
    if subject.upper() in codes:
        typer.echo(explain_code(codes[subject.upper()], width), nl=False)
        return
    cache = None if no_cache else cache_dir
    if _code.split([subject])[1]:
        _explain_rules(subject, cache, width)
        return
    name = _library.resolve(subject, also=codes)
    op = _library.get(name)
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


def _explain_rules(target: str, cache: Path | None, width: int | None) -> None:
    """Each rule of a target: its claims, what is remarked, and how to see a difference. Exits with 5 if it has none."""
    from certgrad.report.explanation import Declaration, explain_op

    with _console.watching(shown=True) as watch:
        configured = _code.configured()
        cache = configured.cache_folder if cache == _options.DEFAULT_CACHE else cache
        found = _code.audit([target], _code.limits(configured), watch=watch, cache=cache).whole()
    _code.show([f"{r.code} {rule.named}: {r.text}" for rule in found.rules for r in rule.remarks])
    parts = []
    for rule in (rule for rule in found.rules if rule.certificate is not None):
        assert rule.certificate is not None
        text = explain_op(rule.certificate, Declaration(doc=""), width)
        if rule.reproduction:
            text += "\nreproduce\n" + indent(rule.reproduction.rstrip(), "  ") + "\n"
        parts.append(text)
    if not parts:
        typer.echo(f"nothing to explain: no derivative rule was audited in {target}.", err=True)
        raise typer.Exit(ExitCode.NOTHING_SELECTED)
    typer.echo("\n\n".join(parts), nl=False)
