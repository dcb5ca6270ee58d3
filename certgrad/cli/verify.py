"""`certgrad verify`: check certificates a second time, without the calculus that proved them."""

import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import certgrad
from certgrad.cli import _code, _console, _library, _options, _pool
from certgrad.cli._errors import ExitCode, InternalError, describe
from certgrad.errors import CertgradError, UsageError
from certgrad.obligations.certificate import Certificate

if TYPE_CHECKING:
    from certgrad.graph.certificate import GraphCertificate
    from certgrad.report.verification import Verified

DRAWS = 10


class Format(StrEnum):
    """A format of the result."""

    text = "text"
    json = "json"


class With(StrEnum):
    """The checkers of certificates."""

    balls = "balls"
    coq = "coq"


def verify(
    certificates: Annotated[
        list[Path], typer.Argument(metavar="CERT...", help="Certificates, or folders of them such as reports/.")
    ],
    format: Annotated[Format, typer.Option(help="What to print on stdout.")] = Format.text,
    jobs: _options.Jobs = None,
    draws: Annotated[int, typer.Option(min=1, max=100_000, metavar="N", help="Points drawn for each case.")] = DRAWS,
    target: Annotated[
        str,
        typer.Option(
            metavar="TARGET",
            help="The code that certificates of rules are about (a module, a package, a file, module:object), or the "
            "function of a graph's, as `certgrad graph` takes it.",
        ),
    ] = "",
    seed: Annotated[str, typer.Option(metavar="TEXT", help="Draw other points; the same text, the same points.")] = "",
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", envvar="CERTGRAD_QUIET", help="Print only problems and the summary line."),
    ] = False,
    kernel: Annotated[
        With, typer.Option(help="balls: evaluation at points. coq: theorems, which Coq's kernel must accept.")
    ] = With.balls,
    limit: Annotated[int, typer.Option(min=1, metavar="SECONDS", help="With --kernel coq: for one theorem.")] = 10,
    coqchk: Annotated[
        bool, typer.Option("--coqchk", help="With --kernel coq: also run Coq's checker on the compiled files.")
    ] = False,
) -> None:
    """Check certificates a second time, by evaluation, independently of the proof.

    The code of the op, or of the rule in --target, is traced again and its digest compared. Then the traced programs
    are evaluated in ball arithmetic at concrete shapes and rational points inside the hypotheses, and on the boundaries
    of what they compare. This is no proof: it is a check of the proof by other means.

    The certificate of a graph, as `certgrad graph --format json` prints it, is checked against the function that
    --target names: the function is traced again, every step is walked beside its node, and the whole reverse sweep is
    evaluated in the same way where the graph is small. What a file says never chooses the code that runs.

    With --kernel coq each obligation of an op, or of a rule in --target, becomes a theorem of Coq, and is accepted
    where Coq's kernel checks the proof that a tactic finds, on the axioms of classical reals alone. What is not
    accepted is not refuted by that.

    A file that is no certificate is named, and the others are checked all the same.

    Exit codes: 0 all verified; 1 something failed, could not be checked, or is not a proof; 2 usage or bad input, as a
    file that is no certificate; 3 internal error; 5 no certificates in the folder.
    """
    from certgrad.cli import _certificates
    from certgrad.report import verification

    if kernel is With.coq:
        from certgrad.cli import _coq

        raise typer.Exit(_coq.verify(certificates, target, jobs=jobs, limit=limit, quiet=quiet, check=coqchk))
    started = time.perf_counter()
    paths = _certificates.find(certificates)
    if not paths:
        typer.echo("nothing selected: the folder holds no certificates. `certgrad report` writes them.", err=True)
        raise typer.Exit(ExitCode.NOTHING_SELECTED)
    readable, errors = _readable(paths, target)
    if not readable:
        raise errors[0] if len(errors) == 1 else UsageError("\n".join(map(str, errors)))
    if target and all(isinstance(one, Certificate) for one in readable):
        raise UsageError(
            "--target names the code of rules or the function of a graph, and the certificates are of ops. Leave it "
            "out."
        )
    checks = _run(readable, seed, draws, jobs)
    results = list(_console.progress(checks, len(readable), shown=not quiet, verb="verifying"))
    seconds = time.perf_counter() - started
    if format is Format.json:
        typer.echo(verification.as_json(results, certgrad.__version__).decode(), nl=False)
    else:
        typer.echo(verification.as_text(results, seconds, quiet=quiet, width=_console.width()), nl=False)
    for error in errors:
        typer.echo(f"error: {error}", err=True)
    passed = all(one.result.outcome == "verified" for one in results)
    raise typer.Exit(ExitCode.USAGE if errors else ExitCode.DISCHARGED if passed else ExitCode.REFUTED)


@dataclass(frozen=True)
class _OfGraph:
    """A graph's certificate, with the function that it is checked against."""

    certificate: "GraphCertificate"
    target: str
    specs: list[str]


@dataclass(frozen=True)
class _OfRule:
    """The certificate of a rule in code, with the target that it is checked against."""

    certificate: Certificate
    target: str


Readable = Certificate | _OfRule | _OfGraph


def _readable(paths: Sequence[Path], target: str) -> tuple[list[Readable], list[UsageError]]:
    """Return the certificates that can be checked, and an error for each other file."""
    from certgrad.cli import _certificates

    read: list[Readable] = []
    errors: list[UsageError] = []
    for path in paths:
        try:
            read += [_with_target(path, one, target) for one in _certificates.read(path)]
        except UsageError as error:
            errors.append(error)
    return read, errors


def _with_target(path: Path, certificate: "Certificate | GraphCertificate", target: str) -> Readable:
    """Return the certificate; for a graph or a rule, together with the code that it is checked against.

    Raises UsageError if `target` does not name that code, or a graph's certificate does not give its shapes.
    """
    if isinstance(certificate, Certificate):
        if ":" not in certificate.op:
            return certificate
        if not target:
            raise UsageError(f"{path}: {_code.without_target(certificate.op)}")
        return _OfRule(certificate, target)
    source = certificate.source
    if not target:
        example = f", such as --target {source.target}" if source else ""
        raise UsageError(
            f"{path}: this is the certificate of the graph {certificate.graph.name}. Name the function that it is "
            f"checked against{example}: that code is imported and traced, so a file does not choose it."
        )
    if source is None:
        raise UsageError(
            f"{path}: this certificate does not say at which shapes the function is traced. Write it anew with "
            "`certgrad graph --format json`, or call certgrad.accel.verify_graph."
        )
    return _OfGraph(certificate, target, source.specs)


@dataclass(frozen=True)
class _Task:
    """One certificate to check, as it is sent to a process."""

    certificate: Readable
    seed: str
    draws: int


def _run(certificates: Sequence[Readable], seed: str, draws: int, jobs: int | None) -> Iterator["Verified"]:
    """Yield the second check of each certificate, in order."""
    tasks = [_Task(certificate, seed, draws) for certificate in certificates]
    count = _options.processes(jobs, len(tasks))
    return _pool.results(_check, tasks, count)


def _check(task: _Task) -> "Verified":
    """Return the second check of one certificate, with the seconds that it took.

    Raises CertgradError for bad input, and InternalError for any other exception.
    """
    _library.prepare()
    from certgrad.report.verification import Verified

    started = time.perf_counter()
    certificate = task.certificate
    name = _name(certificate)
    try:
        if isinstance(certificate, Certificate):
            from certgrad.obligations.verify import verify as check

            result: Any = check(certificate, seed=task.seed, draws=task.draws)
        elif isinstance(certificate, _OfRule):
            result = _check_rule(certificate, task)
        else:
            result = _check_graph(certificate, task)
    except CertgradError:
        raise
    except Exception as error:
        raise InternalError(f"verifying the certificate of '{name}'", describe(error), traceback.format_exc()) from None
    return Verified(result, time.perf_counter() - started)


def _name(certificate: Readable) -> str:
    if isinstance(certificate, _OfGraph):
        return certificate.certificate.graph.name
    return certificate.certificate.op if isinstance(certificate, _OfRule) else certificate.op


def _check_rule(given: _OfRule, task: _Task) -> Any:
    from certgrad.obligations.verify import Verification
    from certgrad.rules.certificates.verify import verify_rule

    name = given.certificate.op
    rule = _code.found_in(given.target).get(name)
    if rule is None:
        return Verification(
            op=name, outcome="not checked", problems=(f"there is no rule of this name in {given.target}",)
        )
    return verify_rule(given.certificate, rule, seed=task.seed, draws=task.draws)


def _check_graph(given: _OfGraph, task: _Task) -> Any:
    from certgrad.accel.verify import verify_graph
    from certgrad.cli.graph import load, specs_of

    function = load(given.target)
    specs = specs_of(function, given.target, given.specs)
    return verify_graph(given.certificate, function, *specs, seed=task.seed, draws=task.draws)
