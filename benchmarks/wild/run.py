"""The rules of packages that people use, audited: makes `reports/wild.json` and `reports/wild.md`.

The packages are no dependencies of certgrad. Make an environment for them first, with Python 3.11:

    python -m venv .wild
    .wild/bin/pip install -c constraints.txt . -r benchmarks/wild/requirements.txt
    .wild/bin/pip install --no-deps -r benchmarks/wild/requirements-alone.txt
    JAX_PLATFORMS=cpu .wild/bin/python benchmarks/wild/run.py

With names of packages, only those are audited again, and the rest is taken from `reports/wild.json`; with `--rule`,
only their rules whose names contain the text. `--render` only writes the Markdown. Each package is a process, and each
rule has a limit of time. What is declared of the rules is in `declared.py`; what was found by hand of each refuted one
is in `findings.toml`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from types import FrameType
from typing import Any

from report import rendered
from sources import inner_rules

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))
RESULTS, REPORT = ROOT / "reports" / "wild.json", ROOT / "reports" / "wild.md"
SECONDS = 240
"""Of processor time, for one rule: what else the machine does decides nothing."""

PACKAGES = {
    "jax": "jax",
    "tensorflow_probability.substrates.jax": "tfp-nightly",
    "optax": "optax",
    "equinox": "equinox",
    "flax": "flax",
    "distrax": "distrax",
    "lineax": "lineax",
    "optimistix": "optimistix",
    "diffrax": "diffrax",
    "quadax": "quadax",
    "jaxopt": "jaxopt",
    "numpyro": "numpyro",
    "rlax": "rlax",
    "ott": "ott-jax",
    "kfac_jax": "kfac-jax",
    "recurrentgemma": "recurrentgemma",
    "flash_attention_jax": "flash-attention-jax",
    "brax": "brax",
    "jax_md": "jax-md",
    "e3nn_jax": "e3nn-jax",
    "exojax": "exojax",
    "aqt": "aqtp",
    "netket": "netket",
    "probdiffeq": "probdiffeq",
    "nifty8": "nifty8",
    "bartz": "bartz",
    "qpax": "qpax",
    "fmmax": "fmmax",
    "desc": "desc-opt",
    "tensorcircuit": "tensorcircuit-ng",
    "varipeps": "varipeps",
    "chex": "chex",
    "haiku": "dm-haiku",
    "blackjax": "blackjax",
    "matfree": "matfree",
    "qwix": "qwix",
    "flowjax": "flowjax",
    "interpax": "interpax",
}
"""What is imported, and the distribution that it comes from."""


class OutOfTime(BaseException):
    """A rule took longer than its limit. No `except Exception` on the way stops it."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help="Audit only these again.")
    parser.add_argument("--render", action="store_true", help="Write the report from the results as they are.")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="The limit for one rule, of processor time.")
    parser.add_argument("--rule", default="", metavar="TEXT", help="Of these, only the rules with this in their names.")
    parser.add_argument("--worker", metavar="FILE", help=argparse.SUPPRESS)
    given = parser.parse_args()
    unknown = [p for p in given.packages if p not in PACKAGES]
    if unknown:
        parser.error(f"'{unknown[0]}' is not surveyed; {', '.join(PACKAGES)} are.")
    if given.worker:
        _work(given.packages[0], Path(given.worker), given.seconds, given.rule)
        return
    results: dict[str, Any] = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    for package in [] if given.render else given.packages or PACKAGES:
        found = _package(package, given.seconds, given.rule)
        if given.rule and package in results:
            again = {r["name"]: r for r in found["rules"]}
            found["rules"] = [again.get(r["name"], r) for r in results[package]["rules"]]
        results[package] = found
        print(package, _counted(results[package]["rules"]), flush=True)
        ordered = {p: results[p] for p in PACKAGES if p in results}
        RESULTS.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", "utf-8")
    REPORT.write_text(rendered({p: results[p] for p in PACKAGES if p in results}), "utf-8")


def _counted(rules: Sequence[dict[str, Any]]) -> str:
    verdicts = [r["verdict"] for r in rules]
    return ", ".join(f"{verdicts.count(v)} {v}" for v in dict.fromkeys(verdicts)) or "no rule"


# one package, in processes of its own


def _package(package: str, seconds: int, rule: str) -> dict[str, Any]:
    """What came of a package. Where a rule ends the process, another one goes on after it."""
    lines: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "results"
        for _ in range(20):
            command = [sys.executable, __file__, package, "--worker", str(out), "--seconds", str(seconds)]
            command += ["--rule", rule]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()] if out.exists() else []
            if not done.returncode or not lines or "began" not in lines[-1]:
                break
    problems = [line["problem"] for line in lines if "problem" in line]
    if not lines:
        problems = [done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "the process ended"]
    found = {line["name"]: line for line in lines if "verdict" in line}
    for name in (line["began"] for line in lines if "began" in line):
        found.setdefault(name, {"name": name, "where": "", "verdict": "not audited", "why": "it ended the process"})
    distribution = PACKAGES[package]
    try:
        version = metadata.version(distribution)
    except metadata.PackageNotFoundError:
        version = ""
    return {
        "distribution": distribution,
        "version": version,
        "rules": list(found.values()),
        "problems": problems,
        "inside": inner_rules(package),
    }


def _work(package: str, out: Path, seconds: int, rule: str) -> None:
    """Audit a package's rules, a line each."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    warnings.simplefilter("ignore")
    from certgrad.errors import UsageError
    from certgrad.rules._find import find

    known = [json.loads(line) for line in out.read_text("utf-8").splitlines()] if out.exists() else []
    seen = {line.get("began") or line.get("name") for line in known}
    signal.signal(signal.SIGPROF, _ring)
    with out.open("a", encoding="utf-8") as file:

        def tell(line: dict[str, Any]) -> None:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            file.flush()

        try:
            found = find(package)
        except UsageError as error:
            tell({"problem": str(error)})
            return
        for one in found.rules:
            if one.name in seen or rule not in one.name:
                continue
            if one.rule is None:
                tell({"problem": re.sub(r"/\S*/site-packages/", "", f"{one.name}: {one.problem}")})
                continue
            if not _own(one.file, package):  # a container can hold another package's rules
                continue
            tell({"began": one.name})
            tell(_audited(one, seconds))


def _own(file: str, package: str) -> bool:
    """The rule is defined in the package; where that is not known, it counts as its own."""
    return not file or f"/{package.split('.')[0]}/" in file.replace(os.sep, "/")


def _ring(signum: int, frame: FrameType | None) -> None:
    raise OutOfTime


def _audited(found: Any, seconds: int) -> dict[str, Any]:
    from declared import DECLARED

    from certgrad.rules._by_name import examined
    from certgrad.rules._declaration import Declaration

    line: dict[str, Any] = {"name": found.name, "where": found.where}
    said = DECLARED.get(found.name)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        if said is not None and not isinstance(said, Declaration):
            said = said()
        result = examined(found, {found.name: said} if said is not None else {})
    except OutOfTime:
        return line | {"verdict": "unproved", "why": f"out of time after {seconds} s of processor time"}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if result.certificate is None:
        why = "; ".join(r.text for r in result.remarks).removeprefix("not audited: ")
        return line | {"verdict": "not audited", "why": why}
    certificate, report = result.certificate, result.report
    assert report is not None
    return line | {
        "verdict": certificate.verdict,
        "origin": "declared" if said is not None else "inferred",
        "signature": certificate.signature[:1],
        "surrogate": report.surrogate,
        "approximates": report.approximates,
        "cause": report.cause,
        "without_gradient": list(report.without_gradient),
        "claims": list(_claims(certificate)),
    }


def _claims(certificate: Any) -> Iterator[dict[str, Any]]:
    for claim in certificate.claims:
        decisive = next((c for c in claim.cases if c.verdict == claim.verdict), claim.cases[0])
        witness = next((c.witness for c in claim.cases if c.witness is not None), None)
        yield {
            "kind": claim.kind,
            "verdict": claim.verdict,
            "hypotheses": [h.text for h in claim.hypotheses],
            "scope": decisive.scope,
            "reason": decisive.reason,
            "taken": list(claim.idealisations),
            "witness": witness and {"dims": witness.dims, "inputs": witness.inputs, "gap": witness.relative_gap},
        }


if __name__ == "__main__":
    main()
