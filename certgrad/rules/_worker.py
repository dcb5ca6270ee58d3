"""Auditing a target's rules, in a process of its own: what it imports cannot end the run or change the command.

Run as `python -m certgrad.rules._worker RESULT TARGET`: writes one JSON line a rule into RESULT as it goes, so that
what was done is kept when the process is stopped.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from certgrad.errors import CertgradError, UsageError

if TYPE_CHECKING:
    from ._declaration import Declaration


class RuleResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one rule: its certificate, or the reason why it was not audited."""

    name: str
    where: str
    origin: str = ""
    """Where its shapes come from: declared, annotated, or inferred."""
    certificate: bytes = b""
    problem: str = ""
    seconds: float = 0.0
    undifferentiated: list[str] = []
    surrogate: str = ""
    without_gradient: list[str] = []
    reproduction: str = ""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """The target as a whole could not be looked at."""

    message: str


def main(arguments: list[str]) -> None:
    """Audit the target and write the results."""
    result, target = arguments
    os.environ["JAX_PLATFORMS"] = "cpu"
    with Path(result).open("wb") as out:
        try:
            for one in _audited(target):
                out.write(msgspec.json.encode(one) + b"\n")
                out.flush()
        except UsageError as error:
            out.write(msgspec.json.encode(Failure(message=str(error))) + b"\n")


def _audited(target: str):  # type: ignore[no-untyped-def]
    import time

    from ._configuration import nearest
    from ._find import find

    table = nearest(Path.cwd()).signatures
    for found in find(target):
        started = time.perf_counter()
        if found.problem:
            yield RuleResult(name=found.name, where=found.where, problem=found.problem)
            continue
        try:
            one = _audit(found.name, found.rule, table)
        except CertgradError as error:
            one = RuleResult(name=found.name, where=found.where, problem=str(error))
        except Exception as error:  # a rule can do anything while it is traced
            one = RuleResult(name=found.name, where=found.where, problem=f"{type(error).__name__}: {error}")
        yield msgspec.structs.replace(one, where=found.where, seconds=time.perf_counter() - started)


def _audit(name: str, rule: object, table: Mapping[str, Declaration]) -> RuleResult:
    from certgrad.report import json

    from ._by_name import audited

    report, origin = audited(name, rule, table)  # type: ignore[arg-type]
    return RuleResult(
        name=name,
        where="",
        origin=origin,
        certificate=json.encode(report.certificate),
        undifferentiated=list(report.undifferentiated),
        surrogate=report.surrogate,
        without_gradient=list(report.without_gradient),
        reproduction=report.reproduction,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
