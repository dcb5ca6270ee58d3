"""A suite, run plain and recorded, and what came of both."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from benchmarks.suites._suites import Suite

ROOT = Path(__file__).resolve().parents[2]
PLAIN = (sys.executable,)
RECORDED = (sys.executable, "-m", "certgrad", "run", "--seconds", "90")
"""The limit for one rule is of the clock, and other programs run on the machine: so it is more than is usual."""
_PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
_LIMIT = 3600


@dataclass(frozen=True)
class Ran:
    """A run of a suite."""

    code: int
    output: str
    errors: str
    outcomes: dict[str, str]
    """What came of each test."""
    seconds: float
    """By the clock, with the audit."""
    processor: float
    """Seconds of the processor, with the audit: what else the machine does changes them less."""


def surveyed(suite: Suite, sources: Path) -> dict[str, Any]:
    """What came of a suite, as data."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        plain = ran(suite, sources, PLAIN)
        recorded = ran(suite, sources, (*RECORDED, "--output", f"json={report}"))
        certificates = json.loads(report.read_text("utf-8"))["certificates"] if report.exists() else []
    said = recorded.errors.removeprefix(plain.errors)
    row = {
        "version": version(suite, sources),
        "files": [*suite.files],
        "options": [*suite.options],
        "tests": counted(plain.outcomes),
        "changed": [*changed(plain, recorded)],
        "seconds": round(plain.seconds, 1),
        "processor": round(plain.processor, 1),
        "recorded seconds": round(recorded.seconds, 1),
        "recorded processor": round(recorded.processor, 1),
        "audit seconds": round(audit_seconds(said), 1),
        "summary": summary(said),
        "rules": [*rules(certificates, said)],
    }
    if suite.graphs:
        with_graphs = ran(suite, sources, (*RECORDED, "--graphs"))
        row["graphs"] = [*graphs(with_graphs.errors)]
        row["graphs changed"] = [*changed(plain, with_graphs)]
    return row


def ran(suite: Suite, sources: Path, by: Sequence[str]) -> Ran:
    """Run the suite: in its checkout, or in an empty folder where its tests are installed with it."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.xml"
        home = Path(folder) if suite.shipped or suite.script else sources / suite.package
        installed = Path(str(metadata.distribution(suite.package).locate_file(""))) if suite.shipped else home
        tests = ("-m", *suite.files)
        if not suite.script:
            files = [str(installed / file) for file in suite.files]
            tests = (*_PYTEST, f"--junitxml={results}", *suite.options, *files)
        started, before = time.perf_counter(), _of_children()
        done = subprocess.run(
            [*by, *tests], cwd=home, env=_environment(), capture_output=True, text=True, timeout=_LIMIT
        )
        seconds, processor = time.perf_counter() - started, _of_children() - before
        outcomes = dict(outcomes_in(results)) if results.exists() else {}
        output, errors = (_placeless(text, folder, str(sources)) for text in (done.stdout, done.stderr))
        return Ran(done.returncode, output, errors, outcomes, seconds, processor)


def _placeless(text: str, *folders: str) -> str:
    """Without where things are on this machine."""
    for folder in (*folders, sysconfig.get_paths()["purelib"], sys.prefix, sys.base_prefix, str(ROOT)):
        text = text.replace(folder, "…")
    return text


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _environment() -> dict[str, str]:
    return {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONHASHSEED": "0", "COLUMNS": "200", "PYTHONPATH": str(ROOT)}


def version(suite: Suite, sources: Path) -> str:
    """Of the checkout, where it says one; else of what is installed."""
    home = sources / suite.package
    for file in [] if suite.shipped or suite.script else (*home.glob("pyproject.toml"), *home.glob("*/version.py")):
        if found := re.search(r'^(?:__)?version(?:__)? = "([\w.]+)"', file.read_text("utf-8"), re.MULTILINE):
            return found[1]
    return metadata.version(suite.package)


def outcomes_in(results: Path) -> Iterator[tuple[str, str]]:
    """Each test with what came of it: passed, or the kind and message of what else."""
    for k, case in enumerate(ElementTree.parse(results).iter("testcase")):
        others = [f"{one.tag}: {_steady(one.get('message') or '')}" for one in case if one.tag != "properties"]
        others = [text for text in others if not text.startswith("system-")]
        yield f"{case.get('classname')}::{case.get('name')} {k}", "; ".join(others) or "passed"


def counted(outcomes: dict[str, str]) -> dict[str, int]:
    kinds = [text.partition(":")[0] for text in outcomes.values()]
    return {kind: kinds.count(kind) for kind in sorted({*kinds})}


def changed(plain: Ran, recorded: Ran) -> Iterator[str]:
    """What differs between the two runs that is not a time or an address."""
    if plain.code != recorded.code:
        yield f"the exit code: {plain.code}, recorded {recorded.code}"
    for test in [*dict.fromkeys([*plain.outcomes, *recorded.outcomes])]:
        before, after = plain.outcomes.get(test, "not there"), recorded.outcomes.get(test, "not there")
        if before != after:
            yield f"{test}: {before[:200]}, recorded {after[:200]}"
    before, after = _steady(plain.output).splitlines(), _steady(recorded.output).splitlines()
    differing = [(a, b) for a, b in zip(before, after, strict=False) if a != b]
    if differing or len(before) != len(after):
        a, b = differing[0] if differing else (f"{len(before)} lines", f"{len(after)} lines")
        yield f"its output: {a[:200]!r}, recorded {b[:200]!r}"
    if not _steady(recorded.errors).startswith(_steady(plain.errors)):
        yield "what it wrote on stderr"


def _steady(text: str) -> str:
    """Without times and addresses, and the bars of pytest, which fill the line beside a time."""
    text = re.sub(r"={3,}", "===", text)
    text = re.sub(r"\d+\.\d+ ?s\b( \(\d+:\d+:\d+\))?", "TIME", text)
    return re.sub(r"0x[0-9a-f]+|\bid=\d+", "ADDRESS", text)


_LAST = re.compile(r"^(?P<said>(?:\d+ of )?\d+ rules?: .*) \((?P<seconds>[\d.]+) s\)$", re.MULTILINE)


def audit_seconds(errors: str) -> float:
    found = _LAST.search(errors)
    return float(found["seconds"]) if found else 0.0


def summary(errors: str) -> str:
    found = _LAST.search(errors)
    return found["said"] if found else ""


def rules(certificates: Sequence[dict[str, Any]], said: str) -> Iterator[dict[str, Any]]:
    """Each rule with its verdict, and those that were not audited with the reason."""
    notes = [line.removeprefix("note: ") for line in said.splitlines() if line.startswith("note: ")]
    for one in certificates:
        about = [line.split(": ", 1)[-1] for line in notes if _is_of(one["op"], line)]
        yield {
            "rule": one["op"],
            "verdict": one["verdict"],
            "hypotheses": [*dict.fromkeys(h for claim in one["claims"] for h in _hypotheses(claim))],
            "reasons": [*dict.fromkeys(_reasons(one))],
            "notes": about,
        }
    for line in notes:
        if "not audited: " in line:
            name, _, reason = line.partition(" not audited: ")
            yield {
                "rule": name.removeprefix("CG201 ").split(" (")[0].rstrip(":"),
                "verdict": "not audited",
                "hypotheses": [],
                "reasons": [reason],
                "notes": [],
            }


def _is_of(rule: str, line: str) -> bool:
    return re.sub(r"^CG\d+ ", "", line).startswith((f"{rule} (", f"{rule}: "))


def _hypotheses(claim: dict[str, Any]) -> list[str]:
    return [h if isinstance(h, str) else h["text"] for h in claim["hypotheses"]]


def _reasons(certificate: dict[str, Any]) -> Iterator[str]:
    for claim in certificate["claims"]:
        for case in claim["cases"]:
            if case["verdict"] == certificate["verdict"] and case.get("reason"):
                yield f"{claim['code']}: {case['reason']}"


def graphs(errors: str) -> Iterator[str]:
    """What is said of the functions that were differentiated, a line each."""
    _, _, said = errors.partition("functions that were differentiated, at the shapes of their calls\n")
    yield from said.splitlines()
