"""`certgrad explain`: what is claimed of one op, of the rules in code, or what a code means."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated

import typer

from certgrad.cli import _code, _complete, _console, _library, _options
from certgrad.cli._errors import ExitCode
from certgrad.errors import UsageError

if TYPE_CHECKING:
    from certgrad.report.audited import RuleResult


def explain(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="OP|CODE|TARGET",
            help="An op (log), a code (CG101), or code whose rules to explain: module:object, a module, a file.",
            autocompletion=_complete.subjects,
        ),
    ],
    script: Annotated[
        bool,
        typer.Option(
            "--script", help="Print only a Python script that shows the difference, of a rule in code that is refuted."
        ),
    ] = False,
    cache_dir: _options.CacheDir = _options.DEFAULT_CACHE,
    no_cache: _options.NoCache = False,
) -> None:
    """Say what is proved of an op or of a rule in code, or what a code means.

    What is claimed, under which hypotheses, what the rule returns where nothing is claimed, and an op's source; of a
    rule that is wrong, a point that shows it.

    Exit codes: 0 explained; 2 usage or bad input; 3 internal error; 5 nothing to explain, or no difference to show.
    """
    from certgrad.report.codes import CODES, REMARKS
    from certgrad.report.explanation import Declaration, explain_code, explain_op

    width = _console.width()
    codes = {**CODES, **REMARKS}
    in_code = _code.split_targets([subject])[1]
    if script and not in_code:
        raise UsageError(
            f"--script shows the difference of a rule in code, and '{subject}' is none. Name the rule as "
            "`certgrad audit` prints it, such as mypkg.losses:mse."
        )
    if subject.upper() in codes:
        typer.echo(explain_code(codes[subject.upper()], width), nl=False)
        return
    usual = cache_dir == _options.DEFAULT_CACHE
    cache = None if no_cache else _code.configured().cache_folder if usual else cache_dir
    if in_code:
        rules = _audited(subject, cache, script)
        typer.echo(_script(rules, subject) if script else _explained(rules, subject, width), nl=False)
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


def _audited(target: str, cache: Path | None, script: bool) -> "list[RuleResult]":
    """Audit a target and return the results of its rules.

    Remarks that are not shown with the verdict of a rule are printed on stderr, unless only a script is wanted.
    """
    with _console.watching(shown=True, before=_console.LOOKING_UP) as watch:
        limits = _code.limits(_code.configured())
        code = _code.audit([target], limits, watch=watch, cache=cache).whole()
    if not script:
        from certgrad.report.problems import of_row

        # Remarks of a rule's row are shown with its verdict.
        remarks = [
            (rule, r) for rule in code.rules for r in rule.remarks if r.code not in {p.code for p in of_row(rule)}
        ]
        _code.show([f"{r.code} {rule.named}: {r.text}" for rule, r in remarks])
    return code.rules


def _explained(rules: "Sequence[RuleResult]", target: str, width: int | None) -> str:
    """Return the explanation of each rule, with a script that shows a difference. Exits with 5 if there is no rule."""
    from certgrad.report.explanation import Declaration, explain_op
    from certgrad.report.text import limits

    parts = []
    for rule in rules:
        if rule.certificate is None:
            continue
        declaration = Declaration(doc="", inferred=rule.inferred, limits=limits(rule))
        text = explain_op(rule.certificate, declaration, width)
        if rule.reproduction:
            text += "\nreproduce\n" + indent(rule.reproduction.rstrip(), "  ") + "\n"
        parts.append(text)
    if not parts:
        typer.echo(f"nothing to explain: no derivative rule was audited in {target}.", err=True)
        raise typer.Exit(ExitCode.NOTHING_SELECTED)
    return "\n\n".join(parts)


def _script(rules: "Sequence[RuleResult]", target: str) -> str:
    """Return a script that shows the difference of the only refuted rule; it can import the rule's module.

    Raises UsageError if several rules are refuted, and exits with 5 if none is.
    """
    shown = [rule for rule in rules if rule.reproduction]
    if not shown:
        typer.echo(f"no difference to show: no rule of {target} is refuted at a point.", err=True)
        raise typer.Exit(ExitCode.NOTHING_SELECTED)
    if len(shown) > 1:
        raise UsageError(f"--script is about one rule, and {target} has these: {', '.join(r.name for r in shown)}.")
    (rule,) = shown
    folder = _import_folder(rule)
    path = f"import sys\n\nsys.path.insert(0, {str(folder)!r})\n" if folder is not None else ""
    if " = ...  # " in rule.reproduction:
        _code.show(["the script has a line to fill in: what stands behind `...` has no name by which it is imported"])
    return path + rule.reproduction


def _import_folder(rule: "RuleResult") -> Path | None:
    """Return the folder from which the rule's module is imported; None if its file is not at the place of its name."""
    parts = rule.name.partition(":")[0].split(".")
    file = Path(rule.file)
    place = (file.parent if file.name == "__init__.py" else file.with_suffix("")).parts
    return Path(*place[: -len(parts)]) if [*place[-len(parts) :]] == parts else None
