"""`certgrad verify`: check certificates a second time, without the calculus that proved them."""

import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import certgrad
from certgrad.cli import _console, _library
from certgrad.cli._errors import ExitCode, InternalError, describe

if TYPE_CHECKING:
    from certgrad.obligations.certificate import Certificate
    from certgrad.report.verification import Verified

DRAWS = 10


class Format(StrEnum):
    """A format of the result."""

    text = "text"
    json = "json"


def verify(
    certificates: Annotated[
        list[Path], typer.Argument(metavar="CERT...", help="Certificates, or folders of them such as reports/.")
    ],
    format: Annotated[Format, typer.Option(help="What to print on stdout.")] = Format.text,
    jobs: Annotated[int, typer.Option(min=1, metavar="N", help="Number of processes.")] = 1,
    draws: Annotated[int, typer.Option(min=1, max=100_000, metavar="N", help="Points drawn for each case.")] = DRAWS,
    seed: Annotated[str, typer.Option(metavar="TEXT", help="Draw other points; the same text, the same points.")] = "",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only problems and the summary line.")] = False,
) -> None:
    """Check certificates a second time, by evaluation, independently of the proof.

    The op's code is traced again and its digest compared. Then the traced programs are evaluated in ball arithmetic at
    concrete shapes and rational points inside the hypotheses, and on the boundaries of what they compare. This is no
    proof: it is a check of the proof by other means.

    Exit codes: 0 all verified; 1 something failed, could not be checked, or is not a proof; 2 usage or bad input;
    3 internal error; 5 no certificates in the folder.
    """
    from certgrad.cli import _certificates
    from certgrad.report import verification

    started = time.perf_counter()
    paths = _certificates.find(certificates)
    if not paths:
        typer.echo("nothing selected: the folder holds no certificates. `certgrad report` writes them.", err=True)
        raise typer.Exit(ExitCode.NOTHING_SELECTED)
    read = [_certificates.read(path) for path in paths]
    results = list(_console.progress(_run(read, seed, draws, jobs), len(read), shown=not quiet, verb="verifying"))
    seconds = time.perf_counter() - started
    if format is Format.json:
        typer.echo(verification.as_json(results, certgrad.__version__).decode(), nl=False)
    else:
        typer.echo(verification.as_text(results, seconds, quiet=quiet, width=_console.width()), nl=False)
    passed = all(one.result.outcome == "verified" for one in results)
    raise typer.Exit(ExitCode.DISCHARGED if passed else ExitCode.REFUTED)


@dataclass(frozen=True)
class _Task:
    """One certificate to check, as it is sent to a process."""

    certificate: "Certificate"
    seed: str
    draws: int


def _run(certificates: Sequence["Certificate"], seed: str, draws: int, jobs: int) -> Iterator["Verified"]:
    """The results in order."""
    tasks = [_Task(certificate, seed, draws) for certificate in certificates]
    if jobs == 1 or len(tasks) == 1:
        yield from map(_check, tasks)
        return
    with ProcessPoolExecutor(min(jobs, len(tasks)), mp_context=get_context("spawn")) as pool:
        try:
            yield from pool.map(_check, tasks, chunksize=max(1, len(tasks) // (4 * jobs)))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _check(task: _Task) -> "Verified":
    _library.prepare()
    from certgrad.obligations.verify import verify as check
    from certgrad.report.verification import Verified

    started = time.perf_counter()
    try:
        result = check(task.certificate, seed=task.seed, draws=task.draws)
    except Exception as error:
        what = f"verifying the certificate of '{task.certificate.op}'"
        raise InternalError(what, describe(error), traceback.format_exc()) from None
    return Verified(result, time.perf_counter() - started)
