"""JUnit XML, which CI systems show as tests: each module is a suite, each rule a test.

A rule that fails the audit is a failure. A rule that is not proved and does not fail the audit is skipped, with the
reason, as it is no success. There is no standard; the elements are those that Jenkins, GitLab and junitparser read.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from certgrad.obligations.certificate import Certificate
from certgrad.report.audited import NO_PLACE, Audit, Place, RuleResult, conditions, is_discharged
from certgrad.report.problems import Level, Problem, gravest, path, problems

_LIBRARY = "certgrad.ops"
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass
class _Test:
    """A rule as a test, with its problems."""

    module: str
    name: str
    place: Place = NO_PLACE
    seconds: float = 0.0
    problems: list[Problem] = field(default_factory=list)
    says: str = ""

    @property
    def open(self) -> list[Problem]:
        """The problems that make the test no success: all but notes, and notes in the baseline or on surrogates."""
        return [p for p in self.problems if p.level is not Level.note or p.covered or p.verdict == "surrogate"]

    @property
    def outcome(self) -> str:
        """The name of the element below the test: `failure` or `skipped`; "" for a success."""
        worst = gravest(self.open)
        return "" if worst is None else "failure" if worst is Level.error else "skipped"


def render(audit: Audit, base: Path) -> bytes:
    """Return the document. Paths are relative to `base`, the root of the repository."""
    tests = _tests(audit)
    suites: dict[str, list[_Test]] = {}
    for test in tests:
        suites.setdefault(test.module, []).append(test)
    counts = _counts(tests)
    root = ElementTree.Element("testsuites", {"name": "certgrad", **counts, "errors": str(len(audit.problems))})
    for module, members in suites.items():
        suite = ElementTree.SubElement(root, "testsuite", {"name": module, **_counts(members)})
        for test in members:
            _append(suite, test, base)
    if audit.problems:
        _append_problems(root, audit.problems)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def _tests(audit: Audit) -> list[_Test]:
    tests: dict[str, _Test] = {}
    for one, certificate in audit.certified:
        tests[certificate.op] = _Test(
            *_module_and_name(certificate.op), one.place, one.seconds, says=_says(one, certificate)
        )
    for problem in problems(audit):
        test = tests.setdefault(problem.rule, _Test(*_module_and_name(problem.rule), problem.place))
        test.problems.append(problem)
    return list(tests.values())


def _module_and_name(rule: str) -> tuple[str, str]:
    """Return the module of a rule and its name there; for a module that did not import, the module twice.

    Ops of the library have no module in their name, and get that of the library.
    """
    module, mark, name = rule.partition(":")
    return (module, name or module) if mark or "." in rule else (_LIBRARY, rule)


def _says(one: RuleResult, certificate: Certificate) -> str:
    under = ", ".join(conditions(certificate)) if is_discharged(certificate.verdict) else ""
    return one.stated + (f": {under}" if under else "")


def _counts(tests: Sequence[_Test]) -> dict[str, str]:
    outcomes = [test.outcome for test in tests]
    return {
        "tests": str(len(tests)),
        "failures": str(outcomes.count("failure")),
        "errors": "0",
        "skipped": str(outcomes.count("skipped")),
        "time": f"{sum(test.seconds for test in tests):.3f}",
    }


def _append(suite: ElementTree.Element, test: _Test, base: Path) -> None:
    attributes = {"classname": test.module, "name": test.name, "time": f"{test.seconds:.3f}"}
    file = path(test.place, base)
    if file:
        attributes |= {"file": file, "line": str(test.place.line)}
    case = ElementTree.SubElement(suite, "testcase", {k: _clean(v) for k, v in attributes.items()})
    if test.outcome:
        open_problems = test.open
        message = "; ".join(p.title + (" (baseline)" if p.covered else "") for p in open_problems)
        element = ElementTree.SubElement(
            case, test.outcome, {"message": _clean(message), "type": open_problems[0].code}
        )
        element.text = _clean("\n\n".join(f"{p.title}\n{p.text}" for p in open_problems))
    notes = [p for p in test.problems if p not in test.open]
    output_lines = [*filter(None, [test.says]), *(f"{p.title}: {p.text}" for p in notes)]
    if output_lines:
        ElementTree.SubElement(case, "system-out").text = _clean("\n".join(output_lines))


def _append_problems(root: ElementTree.Element, problems: Sequence[str]) -> None:
    """Add a suite with an error for each reason why the audit is not complete."""
    count = str(len(problems))
    root.set("tests", str(int(root.get("tests", "0")) + len(problems)))
    outcomes = {"tests": count, "failures": "0", "errors": count, "skipped": "0", "time": "0.000"}
    suite = ElementTree.SubElement(root, "testsuite", {"name": "certgrad", **outcomes})
    for k, problem in enumerate(problems):
        attributes = {"classname": "certgrad", "name": f"problem {k + 1}", "time": "0.000"}
        case = ElementTree.SubElement(suite, "testcase", attributes)
        ElementTree.SubElement(case, "error", {"message": _clean(problem), "type": "certgrad"})


def _clean(text: str) -> str:
    """Return a text with a replacement character for those that XML 1.0 cannot contain."""
    return _FORBIDDEN.sub("\ufffd", text)
