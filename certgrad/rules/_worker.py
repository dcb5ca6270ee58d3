"""Auditing a target's rules, in a process of its own: what it imports cannot end the run or change the command.

Run as `python -m certgrad.rules._worker RESULT` with a request on its standard input: writes one JSON line an event
into RESULT as it goes, so that what was done is kept when the process is stopped, and what it was stopped in is known.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from certgrad.errors import UsageError

from ._findings import NOT_AUDITED, Remark

if TYPE_CHECKING:
    from ._by_name import Examination
    from ._declaration import Declaration
    from ._find import Found

MEMORY = 16 * 2**30


class Request(msgspec.Struct, frozen=True):
    """What to audit. Modules in `skip` are not imported, and rules in it not audited: they ended a process before."""

    target: str
    skip: list[str] = []
    conformance: bool = True
    """Compare what was traced with what happens."""


class RuleResult(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What came of one rule: its certificate, or the reason why it was not audited."""

    name: str
    where: str = ""
    file: str = ""
    certificate: bytes = b""
    remarks: list[Remark] = []
    notes: list[str] = []
    seconds: float = 0.0
    reproduction: str = ""


class Begun(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The next thing that the process does: import the target, a further module, or audit a rule."""

    kind: Literal["target", "module", "rule"]
    name: str
    where: str = ""
    file: str = ""


class Seen(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What the target means: names of modules, or of one object."""

    names: list[str]
    files: list[str] = []
    """Of its modules."""


class Failure(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The target as a whole could not be looked at."""

    message: str


class Done(msgspec.Struct, frozen=True, tag=True):
    """All rules have been audited."""


Event = RuleResult | Begun | Seen | Failure | Done


def left_out(name: str, reason: str, where: str = "", file: str = "") -> RuleResult:
    """The result of a rule, or a module, that ended a process."""
    return RuleResult(name=name, where=where, file=file, remarks=[Remark(NOT_AUDITED, f"not audited: {reason}")])


def main(arguments: list[str]) -> None:
    """Audit the target and write the events."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=Request)
    with Path(arguments[0]).open("wb") as out:

        def tell(event: Event) -> None:
            out.write(msgspec.json.encode(event) + b"\n")
            out.flush()

        try:
            for event in _audited(request, tell):
                tell(event)
            tell(Done())
        except UsageError as error:
            tell(Failure(message=str(error)))


def _audited(request: Request, tell: Any) -> Iterator[Event]:
    from ._configuration import nearest
    from ._find import find

    table = nearest(Path.cwd()).declarations
    found = find(
        request.target, request.skip, lambda name, target: tell(Begun(kind="target" if target else "module", name=name))
    )
    yield Seen(names=list(found.names), files=list(found.files))
    for one in found.rules:
        if one.name not in request.skip:
            yield Begun(kind="rule", name=one.name, where=one.where, file=one.file)
            yield _result(one, table, request.conformance)


def _result(found: Found, table: Mapping[str, Sequence[Declaration]], conformance: bool) -> RuleResult:
    from ._by_name import examined

    started = time.perf_counter()
    result = examined(found, table, conformance)
    return result_of(found, result, time.perf_counter() - started)


def result_of(found: Found, result: Examination, seconds: float) -> RuleResult:
    """What came of a rule, as it is handed on."""
    from certgrad.report import json

    report, certificate = result.report, result.certificate
    return RuleResult(
        name=found.name,
        where=found.where,
        file=found.file,
        certificate=json.encode(certificate) if certificate is not None else b"",
        remarks=list(result.remarks),
        notes=list(result.notes),
        seconds=seconds,
        reproduction=report.reproduction if report is not None else "",
    )


if __name__ == "__main__":
    main(sys.argv[1:])
