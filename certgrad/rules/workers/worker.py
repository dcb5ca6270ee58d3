"""Auditing a target's rules in a process of its own, so that imported code cannot end or change the command.

It is run as `python -m certgrad.rules.workers.worker FD`. Standard input brings lines of JSON: a request, then the
rules to look up or to audit, until it is closed. The process writes each event as a line to the file descriptor FD, so
that results are kept when the process is stopped, and it is known what it was doing then.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, BinaryIO, Literal

import msgspec

from certgrad.errors import UsageError
from certgrad.obligations.certificate import PROVED_AS_WRITTEN
from certgrad.report.audited import RuleResult
from certgrad.report.findings import Remark, unaudited

from .stamp import Grounds

if TYPE_CHECKING:
    from certgrad.rules.declared.declaration import Declaration
    from certgrad.rules.finding.find import FoundRule
    from certgrad.rules.subject.report import Report

    from .remembered import Key, Memory

MEMORY = 16 * 2**30
"""Bytes of memory of a process that audits; a rule that needs more is left out with the reason."""


class Request(msgspec.Struct, frozen=True):
    """The request for the rules of a target. Modules in `skip` are not imported, as they ended an earlier process."""

    target: str
    skip: list[str] = []
    conformance: bool = True
    """Whether the traced programs are compared with traces at numbers and calls."""
    order: int = 1
    """2 to audit the derivative of each rule as well."""
    cache: str = ""
    """The folder with the results of earlier audits; "" for none."""
    exhibits: bool = False
    """Whether to make what a page shows of each rule beside its certificate."""
    seconds: float = 0.0
    """Processor seconds for the audit of a rule; 0 for the usual number."""


class Task(msgspec.Struct, frozen=True):
    """A task: to audit a rule, or without a rule, to return the `Grounds` of the results so far."""

    rule: str = ""
    recall: bool = False
    """Whether only to look up the rule's result in an earlier audit."""


class NotRemembered(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The answer that no earlier audit has the rule as it is now; without a name, that the grounds cannot be known."""

    name: str = ""


class ExhibitUpdate(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The exhibit of the rule whose result came before it, as a verdict does not wait for its pictures."""

    exhibit: bytes
    last: bool = False
    """Whether this is the final exhibit of the rule."""


class Begun(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What the process begins to do: to import the target or a further module, or to audit a rule."""

    kind: Literal["target", "module", "rule"]
    name: str
    where: str = ""
    file: str = ""


class Seen(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What a target means: the names of its modules, or of one object, and its rules in order."""

    target: str = ""
    names: list[str]
    files: list[str] = []
    """The files of its modules."""
    passed_over: list[str] = []
    """Files that were not imported, such as those of tests."""
    with_rules: list[str] = []
    """The files in `passed_over` whose text makes a rule."""
    rules: list[Begun] = []


class Failure(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The target as a whole could not be audited, for the reason in `message`."""

    target: str = ""
    message: str


Event = RuleResult | NotRemembered | ExhibitUpdate | Begun | Seen | Failure | Grounds


def left_out(name: str, reason: str, where: str = "", file: str = "") -> RuleResult:
    """Return the result of a rule, or a module, that was not audited for this reason, as where it ended a process."""
    return RuleResult(name=name, where=where, file=file, remarks=[Remark(unaudited(name), f"not audited: {reason}")])


def main(arguments: list[str]) -> None:
    """Find the target's rules, audit the requested ones, and write the events."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    allowed = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = MEMORY if allowed == resource.RLIM_INFINITY else min(MEMORY, allowed)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    Thread(target=_end_with, args=[os.getppid()], daemon=True).start()
    channel = int(arguments[0])
    os.set_inheritable(channel, False)
    with os.fdopen(channel, "wb") as out, _commands() as commands:

        def tell(event: Event) -> None:
            out.write(msgspec.json.encode(event) + b"\n")
            out.flush()

        try:
            for event in _audited(commands, tell):
                tell(event)
        except UsageError as error:
            tell(Failure(message=str(error)))


def _end_with(parent: int) -> None:
    """End this process when its parent has ended, which alone keeps the limits of time."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _commands() -> BinaryIO:
    """Return the standard input as a file, and put an empty one in its place for the code that is imported."""
    commands = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return os.fdopen(commands, "rb")


def _audited(commands: BinaryIO, tell: Callable[[Event], None]) -> Iterator[Event]:
    """Yield the events of this process: what the target means, then the answer to each task that it reads.

    Imports are reported by `tell` at once, as they happen before the first event can be yielded.
    """
    from certgrad.obligations.terms.budget import AUDIT_SECONDS, auditing
    from certgrad.rules.finding.find import find
    from certgrad.rules.finding.nested import makes_rules
    from certgrad.rules.project.configuration import nearest
    from certgrad.rules.project.marked import as_marked

    request = msgspec.json.decode(commands.readline(), type=Request)
    since, before = time.time(), frozenset(sys.modules)
    table = nearest(Path.cwd()).declarations
    found = find(
        request.target, request.skip, lambda name, target: tell(Begun(kind="target" if target else "module", name=name))
    )
    rules = [Begun(kind="rule", name=rule.name, where=rule.where, file=rule.file) for rule in found.rules]
    passed_over = list(found.passed_over)
    with_rules = [file for file in passed_over if makes_rules(file)]
    yield Seen(
        names=list(found.names), files=list(found.files), passed_over=passed_over, with_rules=with_rules, rules=rules
    )
    memory = _memory(request, table, since) if found.rules else None
    reports: dict[str, Report] | None = {} if request.exhibits else None
    by_name = {rule.name: rule for rule in found.rules}
    for line in commands:
        task = msgspec.json.decode(line, type=Task)
        if not task.rule:
            from .grounds import grounds

            yield (grounds(found, before, since, memory.certain) if memory is not None else None) or NotRemembered()
            continue
        if task.rule not in by_name:
            yield left_out(task.rule, "it is not there when the target is imported again")
            continue
        found_rule = by_name[task.rule]
        with auditing(request.seconds or AUDIT_SECONDS):
            if task.recall:
                result = remembered(found_rule, memory, holds=request.exhibits)
            else:
                result = audited(found_rule, table, request.conformance, memory, request.order, reports)
        if result is None:
            yield NotRemembered(name=task.rule)
            continue
        yield as_marked(result, found_rule.rule)
        if reports is not None and result.certificate:
            yield from _exhibit_updates(result, found_rule, table, reports.pop(task.rule, None))


def _memory(request: Request, table: Mapping[str, Sequence[Declaration]], since: float) -> Memory | None:
    if not request.cache:
        return None
    from certgrad.obligations.cache import Folder

    from .remembered import Memory

    return Memory(Folder(Path(request.cache)), table, request.conformance, since, request.order)


def remembered(found: FoundRule, memory: Memory | None, holds: bool = False) -> RuleResult | None:
    """Return the result of a rule in an earlier audit; None if there is none, or the rule has changed.

    With `holds`, only a proof is returned: for a page a rule that is not proved is audited anew.
    """
    if memory is None or not memory.knows(found):
        return None
    started = time.perf_counter()
    key = memory.key(found, infer=False)
    if (
        key is not None and not key.traces
    ):  # an earlier audit inferred no shapes from the same code: this audit says so without a proof
        return audited(found, memory.table, False, memory)
    return _recalled(found, memory, key, holds, started)


def audited(
    found: FoundRule,
    table: Mapping[str, Sequence[Declaration]],
    conformance: bool,
    memory: Memory | None,
    order: int = 1,
    reports: dict[str, Report] | None = None,
) -> RuleResult:
    """Return the result of a rule, from an earlier audit if nothing has changed since.

    If there are `reports`, the report of the audit is added to them; a rule that is not proved is then always audited
    anew, as a mend of it needs the report.
    """
    from certgrad.rules.judging.by_name import examined

    started = time.perf_counter()
    key = memory.key(found) if memory is not None else None
    if (earlier_result := _recalled(found, memory, key, reports is not None, started)) is not None:
        return earlier_result
    result, report = examined(found, table, conformance, order)
    if reports is not None and report is not None:
        reports[found.name] = report
    result = msgspec.structs.replace(result, seconds=time.perf_counter() - started)
    if memory is None:
        return result
    memory.keep(found, key, result)
    return msgspec.structs.replace(result, cache_problem=memory.folder.problem)


def _recalled(
    found: FoundRule, memory: Memory | None, key: Key | None, holds: bool, started: float
) -> RuleResult | None:
    """Return the stored result for a key; None if there is none or, with `holds`, if it is no proof."""
    stored = memory.recall(found, key) if memory is not None and key is not None else None
    if stored is None or (
        holds and stored.certificate is not None and stored.certificate.verdict not in PROVED_AS_WRITTEN
    ):
        return None
    return msgspec.structs.replace(stored, seconds=time.perf_counter() - started)


def _exhibit_updates(
    result: RuleResult, found: FoundRule, table: Mapping[str, Sequence[Declaration]], report: Report | None
) -> Iterator[ExhibitUpdate]:
    """Yield the exhibit of a rule with a certificate as its parts are made, and at the end once more as the last."""
    from certgrad.rules.certificates.exhibited import exhibited

    assert result.certificate is not None
    exhibit = b""
    for exhibit in exhibited(found, table, result.certificate, report):
        yield ExhibitUpdate(exhibit=exhibit)
    yield ExhibitUpdate(exhibit=exhibit, last=True)


if __name__ == "__main__":
    main(sys.argv[1:])
