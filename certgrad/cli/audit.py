"""`certgrad audit`: prove the rules and print what is proved, under which hypotheses, and what is not."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from certgrad.cli import _code, _complete, _jax, _options, _output, _settings
from certgrad.cli._errors import ExitCode

if TYPE_CHECKING:
    from certgrad.cli._audit_targets import Call
    from certgrad.obligations.certificate import VerdictName


class Failing(StrEnum):
    """The verdicts that `--fail-on` takes."""

    refuted = "refuted"
    unproved = "unproved"
    surrogate = "surrogate"


Targets = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TARGET",
        envvar="CERTGRAD_TARGETS",
        show_envvar=False,
        help="Ops of the library, or code whose rules to audit: a module, a package, a file, module:object. "
        "If nothing is named, the targets in [tool.certgrad] of the nearest pyproject.toml, or else all ops, those "
        "of installed plugins among them.",
        autocompletion=_complete.targets,
    ),
]
Select = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN,...",
        envvar="CERTGRAD_SELECT",
        help="Only these: op names or globs ('soft*'), codes or their prefixes (CG102, CG1), "
        "obligations ('relu.jvp_is_derivative'). Names narrow the ops, codes narrow their obligations.",
        autocompletion=_complete.codes,
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN,...",
        envvar="CERTGRAD_IGNORE",
        help="All but these; patterns as in --select.",
        autocompletion=_complete.codes,
    ),
]
AuditFormat = Annotated[
    str | None,
    _options.format(
        "What to print on stdout. If nothing is configured: text at a terminal, concise elsewhere.",
        "CERTGRAD_FORMAT",
    ),
]
Strict = Annotated[
    bool | None,
    typer.Option(
        "--strict/--no-strict",
        envvar="CERTGRAD_STRICT",
        help="Exit 1 for unproved, for surrogates, and for every remark (CG2) as well. --strict=exact: for what is "
        "proved and does not agree by exact evaluation, and --strict=assumed for assumed bounds, alone.",
        show_default=False,
    ),
]
FailOn = Annotated[
    list[Failing] | None,
    typer.Option(
        "--fail-on",
        envvar="CERTGRAD_FAIL_ON",
        help="Exit 1 for this verdict, in place of refuted. May be repeated.",
    ),
]
Fix = Annotated[
    bool,
    typer.Option(
        "--fix",
        help="Write inferred shapes (CG202), assumed bounds (CG209) and likely intents beside the rules, as "
        "certgrad.declare marked as inferred: they count once the mark is removed.",
    ),
]
NoBaseline = Annotated[
    bool,
    typer.Option(
        "--no-baseline",
        envvar="CERTGRAD_NO_BASELINE",
        help="Show and count the findings that the baseline lists as well.",
    ),
]
Jax = Annotated[
    bool,
    typer.Option("--jax", help="Audit the derivative rules of the installed JAX: primitives and custom rules."),
]
Conformance = Annotated[
    bool,
    typer.Option(
        "--conformance/--no-conformance",
        envvar="CERTGRAD_CONFORMANCE",
        help="Compare the traces of rules in code with what happens at numbers and in calls.",
    ),
]
Order = Annotated[
    int,
    typer.Option(
        min=1,
        max=2,
        envvar="CERTGRAD_ORDER",
        help="2: look at the rule of each rule in code as well, which second derivatives run.",
    ),
]
Follow = Annotated[
    bool,
    typer.Option(
        "--follow",
        hidden=True,
        help="Print a line of JSON for each rule as it comes, and at the end for each, in place of a report.",
    ),
]
ShowSettings = Annotated[
    bool, typer.Option("--show-settings", help="Print what the audit would go by, and where it is from. No audit.")
]


def audit(
    context: typer.Context,
    targets: Targets = None,
    select: Select = None,
    ignore: Ignore = None,
    format: AuditFormat = None,
    output: Annotated[list[str] | None, _options.outputs(envvar="CERTGRAD_OUTPUT")] = None,
    strict: Strict = None,
    fail_on: FailOn = None,
    fix: Fix = False,
    no_baseline: NoBaseline = False,
    jobs: _options.Jobs = None,
    dask: _options.Dask = "",
    timeout: _options.Timeout = None,
    import_timeout: _options.ImportTimeout = None,
    jax: Jax = False,
    conformance: Conformance = True,
    order: Order = 1,
    quiet: _options.Quiet = False,
    verbose: _options.Verbose = False,
    cache_dir: _options.CacheDir = _options.DEFAULT_CACHE,
    no_cache: _options.NoCache = False,
    follow: Follow = False,
    show_settings: ShowSettings = False,
) -> None:
    """Prove derivative rules and print the audit.

    A target that does not import, or names nothing, is reported beside what comes of the others. Ctrl-C ends the audit:
    what is proved or refuted by then is printed, and written to the files of --output.

    Exit codes: 0 all discharged; 1 something refuted (with --strict also unproved or surrogate); 2 usage or bad input;
    3 internal error; 5 nothing selected; 130 interrupted.
    """
    from certgrad.cli import _audit_targets, _policy

    # Most options may also come from the environment or the file: `settings` has their values, read from the context.
    configured = _code.configured()
    settings = _settings.resolve(context, configured)
    _code.show(_settings.misspelled())
    if show_settings:
        typer.echo(_settings.settings_as_toml(settings, configured), nl=False)
        raise typer.Exit(ExitCode.DISCHARGED)
    call = _audit_targets.Call.begun(settings, configured)
    if jax:
        # What the file says of targets, patterns and failures is about the project's code, and not about JAX.
        failing = _policy.failing([v.value for v in fail_on or []], strict=bool(strict))
        raise typer.Exit(_audit_of_jax(call, targets or [], select or [], ignore or [], failing))
    raise typer.Exit(_audit_targets.run(call, fix=fix, follow=follow))


def _audit_of_jax(
    call: "Call",
    targets: Sequence[str],
    select: Sequence[str],
    ignore: Sequence[str],
    failing: "frozenset[VerdictName]",
) -> ExitCode:
    """Audit the rules of the installed JAX, report the results, and return the exit code."""
    from certgrad.report.audited import Audit

    settings = call.settings
    results = _jax.audit(
        targets, select, ignore, settings.jobs, settings.cache, quiet=settings.quiet, dask=settings.dask
    )
    audit_of_jax = Audit(results, call.seconds, failing=failing)
    _output.report(audit_of_jax, settings.format, call.outputs, call.style, of_jax=True)
    return _jax.exit_code(audit_of_jax)
