"""Code shared by the commands on Coq: certificates printed as files, and judged by Coq's kernel."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from certgrad.cli import _code, _console, _library, _options
from certgrad.cli._errors import ExitCode
from certgrad.errors import UsageError
from certgrad.obligations.certificate import Certificate, checksum
from certgrad.process.files import write_atomically

if TYPE_CHECKING:
    from certgrad.coq import File, Kernel, Result
    from certgrad.graph.certificate import GraphCertificate

CACHE = _options.DEFAULT_CACHE / "coq"
LEVELS = CACHE / "levels"
"""The folder with a file for each certificate that Coq accepts in full: its checksum is the name, Coq's version the
text."""


def printed(certificates: "Sequence[Certificate | GraphCertificate]", target: str = "") -> "list[File]":
    """Return each certificate as a file of Coq.

    A certificate is about an op of the library, the graph of a composed op, or a rule or function in `target`. Raises
    UsageError for any other one.
    """
    from certgrad.cli import _coq_graphs
    from certgrad.coq import export
    from certgrad.ops._declare import Op

    files = []
    for certificate in certificates:
        if not isinstance(certificate, Certificate):
            files.append(_coq_graphs.of_certificate(certificate, target))
        elif ":" in certificate.op:
            files.append(_of_rule(certificate, target))
        elif certificate.op not in _library.names():
            raise UsageError(f"'{certificate.op}' is no op of the library and no rule, so it cannot be printed in Coq.")
        elif isinstance(op := _library.get(certificate.op), Op):
            files.append(export(op, certificate))
    return files


def _of_rule(certificate: Certificate, target: str) -> "File":
    """Return the file for a rule in the target, which says so if there is no such rule. Raises UsageError."""
    from certgrad.coq import not_printed
    from certgrad.rules.certificates.printed import print_rule

    if not target:
        raise UsageError(_code.without_target(certificate.op))
    rule = _code.found_in(target).get(certificate.op)
    if rule is None:
        return not_printed(certificate, f"there is no rule of this name in {target}")
    return print_rule(certificate, rule)


def read_certificates(paths: Sequence[Path]) -> "list[Certificate | GraphCertificate]":
    """Return the certificates in files and folders."""
    from certgrad.cli import _certificates

    return [one for path in _certificates.find(paths) for one in _certificates.read(path)]


def of_rules(certificates: "Sequence[Certificate | GraphCertificate]") -> list[Certificate]:
    """Return the certificates that are of ops or rules, without those of graphs."""
    return [one for one in certificates if isinstance(one, Certificate)]


def module_of(op: str) -> str:
    """Return the name of the module that declares an op of the library: its family."""
    return _library.get(op).forward.__module__.rpartition(".")[2].strip("_")


def summary(results: "Sequence[Result]") -> str:
    """Return one line: how many obligations Coq's kernel accepts, together with that their programs are defined."""
    from certgrad.coq import CAN_HOLD_KIND

    judged = [one for r in results for one in r.obligations]
    accepted = sum(one.accepted for one in judged)
    laws = sum(one.law.accepted for one in judged)
    undefined = f" ({laws - accepted} of these hold, and are not shown to be defined)" if laws > accepted else ""
    can_hold = [j.accepted for r in results for j in r.judged if j.stated and j.kind == CAN_HOLD_KIND]
    satisfiable = f"; of {len(can_hold)} sets of hypotheses {sum(can_hold)} shown to hold somewhere" if can_hold else ""
    return (
        f"{accepted} of {len(judged)} obligations accepted by Coq with their programs defined where their hypotheses "
        f"hold, {len(judged) - accepted} not accepted{undefined}{satisfiable}"
    )


def keep_levels(certificates: Sequence[Certificate], results: "Sequence[Result]", version: str) -> None:
    """Write down which certificates Coq accepts in full: each obligation, and that its programs are defined."""
    wholly = {r.subject for r in results if r.whole}
    for certificate in certificates:
        if certificate.op in wholly and certificate.checksum == checksum(certificate):
            LEVELS.mkdir(parents=True, exist_ok=True)
            write_atomically(LEVELS / certificate.checksum, version.encode())


def level(certificate: Certificate) -> str:
    """Return the version of Coq that accepted the whole certificate earlier; "" if none is known."""
    if not certificate.checksum.isalnum():
        return ""
    try:
        return (LEVELS / certificate.checksum).read_text()
    except OSError:
        return ""


def _judged(
    kernel: "Kernel", certificates: "Sequence[Certificate | GraphCertificate]", target: str, jobs: int | None
) -> "Iterator[Result]":
    """Yield Coq's result for each certificate.

    Results of an earlier run are used for ops of the library, as long as neither the certificate nor certgrad changed.
    """
    from certgrad.coq import Result
    from certgrad.obligations.cache import package_is_as_it_was, package_surroundings

    surroundings, ops = package_surroundings(), set(_library.names())
    intact = [
        certificate
        for certificate in of_rules(certificates)
        if certificate.op in ops and certificate.checksum == checksum(certificate)
    ]
    keys = {certificate.op: f"{surroundings}\n{certificate.checksum}" for certificate in intact}
    remembered = {op: judged_file for op, key in keys.items() if (judged_file := kernel.memory.known_file(key))}
    files = printed(
        [certificate for certificate in certificates if getattr(certificate, "op", "") not in remembered], target
    )

    yield from (Result(op, judged, 0.0) for op, judged in remembered.items())
    for result in kernel.judge_all(files, _options.processes(jobs, len(files))):
        if result.subject in keys and package_is_as_it_was():
            kernel.memory.keep_file(keys[result.subject], result.judged)
        yield result


def verify(paths: Sequence[Path], target: str, *, jobs: int | None, limit: int, quiet: bool, check: bool) -> ExitCode:
    """Print which theorems of the certificates Coq's kernel accepts, and why not others; return the exit code.

    `limit` is the seconds for one theorem; `check` runs `coqchk` as well. Raises NoCoqError.
    """
    from certgrad.coq import Kernel, Library

    started = time.perf_counter()
    kernel = Kernel(Library(CACHE), limit)
    _library.prepare()
    certificates = read_certificates(paths)
    if not certificates:
        typer.echo("nothing selected: there are no certificates.", err=True)
        return ExitCode.NOTHING_SELECTED
    judging = _judged(kernel, certificates, target, jobs)
    results = list(_console.progress(judging, len(certificates), shown=not quiet, verb="judging"))
    keep_levels(of_rules(certificates), results, kernel.library.release)
    for result in results:
        for theorem in result.judged:
            if theorem.stated and not (theorem.accepted and quiet):
                typer.echo(
                    f"{theorem.name}: {'accepted by Coq' if theorem.accepted else f'not accepted: {theorem.reason}'}"
                )
    if check and (problem := kernel.checked(printed(certificates, target), results)):
        typer.echo(f"coqchk: {problem}", err=True)
        return ExitCode.REFUTED
    typer.echo(f"{summary(results)} ({time.perf_counter() - started:.0f} s)")
    return ExitCode.DISCHARGED if results and all(r.whole for r in results) else ExitCode.REFUTED
