"""The pytest plugin: `pytest --certgrad` proves every derivative rule of the configured packages, a test for each.

The packages are `targets` of `[tool.certgrad]` in pyproject.toml, or those that `--certgrad-target` names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from certgrad.rules._configuration import Configuration
    from certgrad.rules._find import Found


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--certgrad` and `--certgrad-target`."""
    group = parser.getgroup("certgrad", "proofs of derivative rules")
    group.addoption("--certgrad", action="store_true", help="Prove every derivative rule, one test each.")
    group.addoption(
        "--certgrad-target",
        action="append",
        default=[],
        metavar="TARGET",
        help="A module, a package or a file, in place of the configured targets. May be repeated.",
    )


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the rules to what was collected."""
    if not config.getoption("--certgrad"):
        return
    items.extend(Rules.from_parent(session, name="certgrad", nodeid="certgrad").collect())


def pytest_report_header(config: pytest.Config) -> str:
    """Say that rules are collected."""
    return "certgrad: every derivative rule is a test" if config.getoption("--certgrad") else ""


class Rules(pytest.Collector):
    """All rules of the targets."""

    def collect(self) -> Iterator[pytest.Item]:
        """One item for each rule.

        Raises:
            pytest.UsageError: no target is configured, or one does not import.
        """
        from certgrad.errors import CertgradError
        from certgrad.rules._configuration import nearest
        from certgrad.rules._find import find

        try:
            configured = nearest(self.config.rootpath)
            targets = self.config.getoption("--certgrad-target") or configured.targets
            if not targets:
                raise pytest.UsageError("--certgrad: [tool.certgrad] in pyproject.toml names no targets.")
            for target in targets:
                for found in find(target):
                    yield RuleItem.from_parent(self, name=found.name, found=found, configured=configured)
        except CertgradError as error:
            raise pytest.UsageError(f"--certgrad: {error}") from None


class RuleItem(pytest.Item):
    """The proof of one rule."""

    def __init__(self, *, found: Found, configured: Configuration, **options: Any) -> None:
        super().__init__(**options)
        self.found = found
        self.configured = configured

    def runtest(self) -> None:
        """Prove it. A rule that cannot be audited is skipped with the reason."""
        from certgrad.errors import CertgradError
        from certgrad.rules._by_name import audited

        if self.found.problem:
            pytest.skip(self.found.problem)
        try:
            report, _ = audited(self.found.name, self.found.rule, self.configured.signatures)
        except CertgradError as error:
            pytest.skip(str(error))
        if not report.proved and report.verdict != "surrogate":
            raise NotCertifiedError(str(report))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The report alone, without a traceback."""
        if isinstance(excinfo.value, NotCertifiedError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[str, int | None, str]:
        """Where the rule is."""
        return self.found.where.partition(":")[0] or str(self.path), None, f"certgrad {self.found.name}"


class NotCertifiedError(Exception):
    """A rule that is not proved; the message is its report."""
