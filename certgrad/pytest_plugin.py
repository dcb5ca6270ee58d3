"""The pytest plugin: `pytest --certgrad` proves every derivative rule of the configured packages, a test for each;
`pytest --certgrad-record` notes the rules that the tests call, and audits them at the end.

The packages are `targets` of `[tool.certgrad]` in pyproject.toml, or those that `--certgrad-target` names. A rule that
cannot be audited is skipped with the reason; with `--certgrad-strict`, or `strict = true`, it fails.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from certgrad.errors import CertgradError

if TYPE_CHECKING:
    from certgrad.recording import Record
    from certgrad.report.audited import RuleResult
    from certgrad.report.findings import Finding, Strictness
    from certgrad.rules.finding.find import FoundRule
    from certgrad.rules.project.configuration import Configuration
    from certgrad.rules.workers.remembered import Memory


_STATED = "certgrad verdict"
STARTED = time.time()
"""Before any module with rules was imported."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--certgrad`, `--certgrad-target`, `--certgrad-strict` and the options of recording."""
    group = parser.getgroup("certgrad", "proofs of derivative rules")
    group.addoption("--certgrad", action="store_true", help="Prove every derivative rule, one test each.")
    group.addoption(
        "--certgrad-target",
        action="append",
        default=[],
        metavar="TARGET",
        help="A module, a package or a file, in place of the configured targets. May be repeated.",
    )
    group.addoption(
        "--certgrad-strict",
        action="store_true",
        help="Fail for surrogates as well, for rules that cannot be audited, inferred shapes and missing gradients.",
    )
    group.addoption(
        "--certgrad-timeout",
        type=float,
        metavar="SECONDS",
        help="Of the processor, for the audit of one rule: what is open then is unproved. As the setting `timeout`.",
    )
    group.addoption("--certgrad-no-cache", action="store_true", help="Prove everything anew, and remember nothing.")
    group.addoption(
        "--certgrad-record",
        action="store_true",
        help="Note the derivative rules that the tests call, and audit them when the tests have ended.",
    )
    group.addoption(
        "--certgrad-save",
        metavar="FILE",
        help="With --certgrad-record: write declarations, so that `certgrad audit` needs no run the next time.",
    )


_RECORD = pytest.StashKey["Record"]()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Begin to record."""
    if not config.getoption("--certgrad-record"):
        if config.getoption("--certgrad-save"):
            raise pytest.UsageError("--certgrad-save needs --certgrad-record.")
        return
    if config.getoption("numprocesses", None):
        raise pytest.UsageError("--certgrad-record notes the calls of one process: run it with -n 0.")
    from certgrad.recording import Record

    config.stash[_RECORD] = Record()
    config.stash[_RECORD].begin()


def pytest_unconfigure(config: pytest.Config) -> None:
    """JAX's classes are as they were."""
    _ended(config)


def _ended(config: pytest.Config) -> Record | None:
    """End the recording, if it has begun."""
    found = config.stash.get(_RECORD, None)
    if found is None:
        return None
    del config.stash[_RECORD]
    found.end()
    return found


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the rules to what was collected."""
    if not config.getoption("--certgrad"):
        return
    items.extend(Rules.from_parent(session, name="certgrad", nodeid="certgrad").collect())


def pytest_report_header(config: pytest.Config) -> str:
    """Say that rules are collected."""
    return "certgrad: every derivative rule is a test" if config.getoption("--certgrad") else ""


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Name the rules that pass and whose verdict leaves an argument out, and report what was recorded."""
    record = _ended(config)
    if record is not None:
        _report(record, terminalreporter, config.getoption("--certgrad-save"))
    passed = terminalreporter.stats.get("passed", [])
    for line in (text for report in passed for key, text in report.user_properties if key == _STATED):
        terminalreporter.write_line(f"certgrad: {line}")


def _report(record: Record, terminalreporter: Any, save: str | None) -> None:
    from certgrad.cli._recorded import Wanted, report

    terminalreporter.section("derivative rules that were called")
    try:
        said = report(record, Wanted(save=Path(save) if save else None))
    except CertgradError as error:
        terminalreporter.write_line(f"certgrad: {error}")
        return
    for note in said.notes:
        terminalreporter.write_line(f"note: {note}")
    terminalreporter.write(said.text)


class Rules(pytest.Collector):
    """All rules of the targets."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield one test for each rule.

        Raises:
            pytest.UsageError: no target is configured, or one does not import.
        """
        from certgrad.rules.finding.find import find
        from certgrad.rules.project import baseline as _baseline
        from certgrad.rules.project.configuration import nearest

        try:
            configured = nearest(self.config.rootpath)
            entries = set(_baseline.read(configured.baseline_file)) if configured.has_baseline else set()
            targets = self.config.getoption("--certgrad-target") or configured.targets
            if not targets:
                raise pytest.UsageError("--certgrad: [tool.certgrad] in pyproject.toml names no targets.")
            memory = _memory(configured) if not self.config.getoption("--certgrad-no-cache") else None
            seconds = self.config.getoption("--certgrad-timeout") or configured.timeout
            strict = True if self.config.getoption("--certgrad-strict") else configured.strict
            rules = {found.name: found for target in targets for found in find(target).rules}
        except CertgradError as error:
            raise pytest.UsageError(f"--certgrad: {error}") from None
        for name, found in rules.items():
            yield RuleItem.from_parent(
                self, name=name, found=found, asked=RunSettings(configured, entries, strict, seconds, memory)
            )


def _memory(configured: Configuration) -> Memory:
    from certgrad.obligations.cache import Folder
    from certgrad.rules.workers.remembered import Memory

    folder = Folder(configured.cache_folder)
    return Memory(folder, configured.declarations, configured.conformance, STARTED, configured.order)


@dataclass(frozen=True)
class RunSettings:
    """The settings of a test run."""

    configured: Configuration
    baseline: Collection[Finding]
    strict: Strictness
    seconds: float
    """For one rule."""
    memory: Memory | None


class RuleItem(pytest.Item):
    """The proof of one rule."""

    def __init__(self, *, found: FoundRule, asked: RunSettings, **options: Any) -> None:
        super().__init__(**options)
        self.found = found
        self.asked = asked
        self.configured, self.baseline, self.strict = asked.configured, asked.baseline, asked.strict

    def runtest(self) -> None:
        """Prove it. A rule that cannot be audited is skipped with the reason, and one that the baseline covers is an
        expected failure.
        """
        from certgrad.obligations.certificate import fails, ignoring, verdict_text
        from certgrad.report.findings import CODES_OF_UNAUDITED, fatal, findings_of

        result = self._audited()
        certificate, second = result.certificate, result.second
        if certificate is not None:
            shown = ignoring(certificate, {c.code for c in certificate.claims if not self._wants(c.code)})
            if shown.without_gradient or (shown.ignored and shown.claims):
                self.user_properties.append((_STATED, f"{self.found.name}: {verdict_text(shown)}"))
        wanted = [f for f in findings_of(self.found.name, certificate, result.remarks) if self._wants(f.code)]
        if second is not None:
            wanted += [f for f in findings_of(second.op, second, ()) if self._wants(f.code)]
        known = {f.code for f in wanted if f in self.baseline}
        if certificate is not None:
            self._warn_of_stale({f for f in wanted if f.code in known})
        failing = {*(self.configured.fail_on or ("refuted", "unproved"))}
        failing |= {"surrogate", "proved up to rounding", "proved at sizes"} if self.strict is True else set()
        new = [f for f in wanted if f.code not in known]
        texts = {r.code: r.text for r in result.remarks}
        failing_remarks = [f"{f.code} {texts[f.code]}" for f in new if f.code in texts and fatal(f.code, self.strict)]
        claims = [c for one in (certificate, second) if one is not None for c in one.claims]
        wrong = {(c.code, c.verdict) for c in claims if fails(c, failing)}
        if any((f.code, f.verdict) in wrong for f in new):
            raise NotCertifiedError(result.report or f"{self.found.name} ({self.found.where}): {_verdicts(new)}")
        if failing_remarks:
            raise NotCertifiedError("\n".join([f"{self.found.name} ({self.found.where})", *failing_remarks]))
        if known:
            pytest.xfail(f"in the baseline: {', '.join(sorted(known))}")
        if certificate is None:
            pytest.skip(
                next((text for code, text in texts.items() if code in CODES_OF_UNAUDITED), "; ".join(result.notes))
            )
        if not any(self._wants(claim.code) for claim in certificate.claims):
            pytest.skip("the configuration selects none of its obligations")

    def _audited(self) -> RuleResult:
        """Return the result of the rule, from the cache where nothing changed, or that time ran out."""
        from certgrad.obligations.terms.budget import CLOCK_FACTOR, auditing
        from certgrad.report.findings import EXACT
        from certgrad.rules.certificates.exactly import with_level
        from certgrad.rules.judging import by_name  # noqa: F401  (what is imported now is not torn apart by the clock)
        from certgrad.rules.project.marked import as_marked
        from certgrad.rules.workers.worker import audited, left_out

        said = self.configured
        try:
            with _limited(CLOCK_FACTOR * self.asked.seconds), auditing(self.asked.seconds):
                result = audited(self.found, said.declarations, said.conformance, self.asked.memory, said.order)
                if not isinstance(self.strict, bool) and EXACT in self.strict:
                    result = with_level(result, lambda _: self.found)
                return as_marked(result, self.found.rule)
        except _OverError:
            return left_out(self.found.name, f"it was given no more than {self.asked.seconds:g} s", self.found.where)

    def _wants(self, code: str) -> bool:
        return self.configured.wants(code, self.found.file)

    def _warn_of_stale(self, known: Collection[Finding]) -> None:
        stale = [f"{f.code} {f.verdict}" for f in self.baseline if f.rule == self.found.name and f not in known]
        if stale:
            text = f"the baseline lists {', '.join(sorted(stale))} of {self.found.name}, which is no finding any more"
            self.warn(StaleBaselineWarning(f"{text}; `certgrad baseline --prune` removes it"))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the report alone, without a traceback."""
        if isinstance(excinfo.value, (NotCertifiedError, StaleBaselineWarning, CertgradError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[str, int | None, str]:
        """Return the rule's place."""
        number = self.found.where.rpartition(":")[2]
        line = int(number) - 1 if number.isdigit() else 0  # pytest counts from 0, and warns of no item without a line
        return self.found.file or str(self.path), line, f"certgrad {self.found.name}"


def _verdicts(findings: Collection[Finding]) -> str:
    return ", ".join(f"{f.code} {f.verdict}" for f in findings)


class _OverError(BaseException):
    """The time is over. No proof catches it."""


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raises _OverError where what is inside takes longer; only the main thread can be told."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def over(number: int, frame: object) -> None:
        raise _OverError

    started = time.monotonic()
    before = signal.signal(signal.SIGALRM, over)
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)  # of another plugin's clock, if it set one
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - started), 0.01))


class StaleBaselineWarning(pytest.PytestWarning):
    """The baseline lists what is no finding any more. Where warnings are errors, the test fails with it."""


class NotCertifiedError(Exception):
    """A rule that is not proved; the message is its report."""
