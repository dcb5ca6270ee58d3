"""Auditing targets in several processes at once. The result of a rule does not depend on which process audits it.

The first process of a target looks up the results of earlier audits; further processes are started for the rules that
are left. A module or rule that ends a process (a crash, an exit, a loop without end) is left out with the reason, and a
new process does the rest.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

import msgspec

from certgrad.obligations.cache import Folder
from certgrad.process.processors import available
from certgrad.report.audited import RuleResult
from certgrad.rules.project.configuration import Budget

from .isolated import Ended, Worker
from .stamp import Grounds, Stamps
from .worker import Begun, Event, ExhibitUpdate, Failure, NotRemembered, Request, Seen, Task, left_out

SHOWING = 60.0
"""Seconds for one part of a rule's exhibit; then the exhibit stays without that part, and the verdict stands."""
WORTH_A_PROCESS = 4.0
"""Seconds of work, at least, for which a further process is started, as it first has to import JAX and the target."""


def audit_targets(
    targets: Sequence[str],
    budget: Budget | None = None,
    conformance: bool = True,
    jobs: int | None = None,
    cache: Path | None = None,
    order: int = 1,
    exhibits: bool = False,
) -> Iterator[Event]:
    """Yield the events of the audit of targets as they come: what is begun, what targets mean, results, and failures.

    When the iteration is given up, all processes end.

    Args:
        targets: the targets, as `find` takes them.
        budget: the limits of time.
        conformance: compare the traced programs with traces at numbers and calls.
        jobs: the number of processes; None for at most one a processor, and fewer where there is little to do.
        cache: the folder with the results of earlier audits; None to prove everything.
        order: 2 to audit the derivative of each rule as well.
        exhibits: make what a page shows of each rule beside its certificate.
    """
    limits = budget or Budget()
    request = Request(
        "",
        conformance=conformance,
        order=order,
        cache=str(cache or ""),
        exhibits=exhibits,
        seconds=limits.auditing,
    )
    stamps = Stamps(Folder(cache)) if cache is not None and not exhibits else None
    to_audit: list[_Target] = []
    for target in dict.fromkeys(targets):
        of_target = msgspec.structs.replace(request, target=target)
        key = stamps.key(of_target) if stamps is not None else ""
        stamp = stamps.recall(of_target, key) if stamps is not None else None
        if stamp is None:
            to_audit.append(_Target(target, key))
        else:
            yield msgspec.json.decode(stamp.seen, type=Seen)
            yield from stamp.results
    crew = _Crew(request, to_audit, limits, jobs, stamps)
    threads = [threading.Thread(target=crew.work, daemon=True) for _ in range(jobs or available()) if to_audit]
    try:
        for thread in threads:
            thread.start()
        running = len(threads)
        while running:
            event = crew.said.get()
            if isinstance(event, BaseException):
                raise event
            if event is None:  # a thread has come to its end
                running -= 1
            else:
                yield event
    finally:
        crew.stop()
        for thread in threads:
            if thread.ident is not None:
                thread.join()


@dataclass
class _Target:
    """The state of a target's audit: what is known of the target, and what is left to do."""

    text: str
    key: str
    """The key under which the whole audit is stored; "" if it is not to be stored."""
    begun: bool = False
    skip: list[str] = field(default_factory=list)
    """Modules that ended a process."""
    known: bool = False
    """Whether its rules, or its failure, are known."""
    unread: deque[Begun] = field(default_factory=deque)
    """Rules of which the results of earlier audits are still to be looked up."""
    waiting: deque[Begun] = field(default_factory=deque)
    """Rules that are to be audited, and that no thread has taken."""
    workers: int = 0
    """The number of threads that work on it."""
    starting: set[int] = field(default_factory=set)
    """The threads that work on it and have taken no rule yet."""
    seen: Seen | None = None
    results: list[RuleResult] = field(default_factory=list)
    grounds: list[Grounds] = field(default_factory=list)
    """For each process, the grounds of its results."""


class _Crew:
    """The threads of an audit, each of which runs one process at a time. What they share is used under `_change`.

    `said` is the queue of events; a thread that ends puts None, or the exception that ended it and then None.
    """

    def __init__(
        self, request: Request, targets: Sequence[_Target], budget: Budget, jobs: int | None, stamps: Stamps | None
    ) -> None:
        self.said: SimpleQueue[Event | BaseException | None] = SimpleQueue()
        self._targets = targets
        self._request, self._budget, self._jobs, self._stamps = request, budget, jobs, stamps
        self._change = threading.Condition()
        self._live: set[Worker] = set()
        self._stopped = False
        self._rules, self._seconds = 0, 0.0

    def work(self) -> None:
        """Run one thread: audit targets that no thread has begun, then rules of targets that have many left."""
        try:
            while (target := self._next()) is not None:
                try:
                    while self._done_by_a_process(target):
                        pass
                finally:
                    self._leave(target)
        except BaseException as error:
            self.said.put(error)
        finally:
            self.said.put(None)

    def stop(self) -> None:
        """End all processes, and with them the threads."""
        with self._change:
            self._stopped = True
            live = [*self._live]
            self._change.notify_all()
        for worker in live:
            worker.end()

    def _next(self) -> _Target | None:
        """Return the target to work on next, and join it; None when all is done. Waits while others may leave work."""
        with self._change:
            while not self._stopped:
                chosen = next((t for t in self._targets if not t.begun), None)
                chosen = chosen or next(filter(self._worth_joining, self._targets), None)
                if chosen is not None:
                    chosen.begun = True
                    chosen.workers += 1
                    chosen.starting.add(threading.get_ident())
                    return chosen
                if not any(t.workers for t in self._targets):
                    return None
                self._change.wait()
            return None

    def _worth_joining(self, target: _Target) -> bool:
        """Return whether a further process of a target is worth its start.

        With a given number of jobs it is if any rule is left; else if the rules that are left take long by the average
        of those audited so far.
        """
        left = 0 if target.unread else len(target.waiting) - len(target.starting)
        if self._jobs is not None:
            return left > 0
        return self._rules > 0 and left * self._seconds / self._rules > WORTH_A_PROCESS

    def _leave(self, target: _Target) -> None:
        """End a thread's work on a target. The last thread leaves out the rules that are left, and stores the audit."""
        with self._change:
            target.workers -= 1
            target.starting.discard(threading.get_ident())
            if not target.workers and not self._stopped:
                for rule in (*target.unread, *target.waiting):  # later processes failed to import the target
                    self._leave_out(rule, "the target did not import once more")
                target.unread.clear()
                target.waiting.clear()
                self._keep(target)
            self._change.notify_all()

    def _of(self, target: _Target) -> Request:
        """Return the request to a process for a target."""
        return msgspec.structs.replace(self._request, target=target.text, skip=[*target.skip])

    def _keep(self, target: _Target) -> None:
        """Store the whole audit of a target, if each of its rules has a result."""
        names = [rule.name for rule in target.seen.rules] if target.seen is not None else []
        if self._stamps is not None and names and sorted(names) == sorted(result.name for result in target.results):
            self._stamps.keep(
                self._of(target), target.key, msgspec.json.encode(target.seen), target.results, target.grounds
            )

    def _done_by_a_process(self, target: _Target) -> bool:
        """Start a process for the target and follow it to its end; return whether another process has to go on."""
        with self._change:
            if self._stopped:
                return False
            worker = Worker(self._of(target))
            self._live.add(worker)
        try:
            again = self._imported(target, worker)
            again = self._recalled(target, worker) if again is None else again
            return self._audited(target, worker) if again is None else again
        finally:
            with self._change:
                self._live.discard(worker)
            worker.close()

    def _imported(self, target: _Target, worker: Worker) -> bool | None:
        """Follow the imports of a process.

        None is returned when the rules are known. Otherwise the target failed (False), or a module ended the process
        and the next process is to skip it (True).
        """
        doing: Begun | None = None
        limit = self._budget.starting
        while True:
            event = worker.next(limit)
            limit = self._budget.importing
            if isinstance(event, Begun):
                doing = event
                self.said.put(event)
            elif isinstance(event, Seen):
                self._add_rules(target, event)
                return None
            elif isinstance(event, Failure):
                self._failed(target, event.message)
                return False
            elif not isinstance(event, Ended) or self._stopped:
                return False
            elif doing is None:
                self._failed(target, f"The audit of '{target.text}' {event.how}.")
                return False
            else:
                hint = "; --import-timeout gives it more" if event.over else ""
                if doing.kind == "target":
                    self._failed(target, f"Cannot import '{target.text}': it {event.how}{hint}.")
                    return False
                target.skip.append(doing.name)
                self._leave_out(doing, f"does not import: it {event.how}{hint}")
                return True

    def _recalled(self, target: _Target, worker: Worker) -> bool | None:
        """Look up the earlier result of each rule; return None when that is done, else whether another process goes on.

        Only the first process of a target does this: no other joins while rules are `unread`.
        """
        while target.unread and not self._stopped:
            rule = target.unread.popleft()
            event = self._ask(worker, Task(rule.name, recall=True), rule)
            if isinstance(event, NotRemembered):
                target.waiting.append(rule)
            elif event is None or not self._reported(target, worker, event):
                return bool(target.unread or target.waiting) and not self._stopped
        with self._change:
            self._change.notify_all()
        return None

    def _audited(self, target: _Target, worker: Worker) -> bool:
        """Audit rules one after the other until none is left; return whether another process has to go on.

        At the end the process is asked for the grounds of its results, if the audit is to be stored.
        """
        while (rule := self._take(target)) is not None:
            self.said.put(rule)
            started = time.monotonic()
            event = self._ask(worker, Task(rule.name), rule)
            if not isinstance(event, RuleResult):
                return bool(target.waiting) and not self._stopped
            with self._change:
                self._rules += 1
                self._seconds += time.monotonic() - started
                self._change.notify_all()
            if not self._reported(target, worker, event):
                return bool(target.waiting)
        if target.key and not self._stopped:
            worker.ask(Task())
            if isinstance(grounds := worker.next(self._budget.waiting), Grounds):
                target.grounds.append(grounds)
        return False

    def _ask(self, worker: Worker, task: Task, rule: Begun) -> RuleResult | NotRemembered | None:
        """Return the result of a task; None if the process ended: then the rule is left out with the reason."""
        worker.ask(task)
        event = worker.next(self._budget.waiting)
        if isinstance(event, RuleResult | NotRemembered):
            return event
        if not self._stopped:
            how = event.how if isinstance(event, Ended) else "was not to be understood"
            hint = "; --timeout gives it more" if isinstance(event, Ended) and event.over else ""
            self._leave_out(rule, f"its audit {how}{hint}")
        return None

    def _reported(self, target: _Target, worker: Worker, result: RuleResult) -> bool:
        """Pass a result on, with its exhibit; return whether the process is still there for further tasks."""
        shown, ended = self._with_exhibit(worker, result)
        target.results.append(shown)
        self.said.put(shown)
        return not ended

    def _with_exhibit(self, worker: Worker, result: RuleResult) -> tuple[RuleResult, bool]:
        """Return the result with its exhibit, if pages are to be made, and whether the process has ended."""
        if not self._request.exhibits or not result.certificate:
            return result, False
        while isinstance(event := worker.next(SHOWING), ExhibitUpdate):
            result = msgspec.structs.replace(result, exhibit=event.exhibit)
            if event.last:
                return result, False
        return result, True

    def _take(self, target: _Target) -> Begun | None:
        """Return the next rule to audit; None if none is left."""
        with self._change:
            target.starting.discard(threading.get_ident())
            return target.waiting.popleft() if target.waiting and not self._stopped else None

    def _add_rules(self, target: _Target, seen: Seen) -> None:
        """Set the rules of a target as its first process found them; later processes find the same ones."""
        with self._change:
            if not target.known:
                target.known = True
                (target.unread if self._request.cache else target.waiting).extend(seen.rules)
                target.seen = msgspec.structs.replace(seen, target=target.text)
                self.said.put(target.seen)
            self._change.notify_all()

    def _failed(self, target: _Target, message: str) -> None:
        """Report that a target failed, unless its rules are known already: then other processes audit these."""
        with self._change:
            if not target.known:
                target.known = True
                self.said.put(Failure(target=target.text, message=message))

    def _leave_out(self, what: Begun, why: str) -> None:
        """Report a rule or a module as not audited."""
        self.said.put(left_out(what.name, why, what.where, what.file))
