"""The rules of packages that people use, audited: makes `reports/wild.json` and `reports/wild.md`.

The packages are no dependencies of certgrad. Make an environment for them first, with Python 3.11:

    python -m venv .wild
    .wild/bin/pip install -c constraints.txt . -r benchmarks/wild/requirements.txt
    .wild/bin/pip install --no-deps -r benchmarks/wild/requirements-alone.txt
    JAX_PLATFORMS=cpu .wild/bin/python benchmarks/wild/run.py

With names of packages, only those are audited again, and the rest is taken from `reports/wild.json`; with `--rule`,
only their rules whose names contain the text, or one of the texts where it is given again; with `--open`, only those
that ran and have no definite verdict. `--render` only writes the Markdown. Each package is a process, and each rule has
a limit of time.

Rules are audited as they are found by name, at what `declared.py` says of them or at shapes that certgrad infers. Where
`drivers/` has a program for the package, which calls its public functions, that program is recorded as `certgrad run`
would, and the rules that it calls are audited as they were called, if the first way had no definite verdict for them.
What was found by hand of each refuted one is in `findings.toml`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from types import FrameType
from typing import Any

from report import DEFINITE, rendered
from sources import Written, written

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))
RESULTS, REPORT = ROOT / "reports" / "wild.json", ROOT / "reports" / "wild.md"
DRIVERS = HERE / "drivers"
SECONDS = 120
"""Of processor time, for one rule: what else the machine does decides nothing."""
MEMORY = 10 * 2**30

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
    "s2fft": "s2fft",
    "jaxoplanet": "jaxoplanet",
    "spyx": "spyx",
    "slax": "slax",
    "snnax": "snnax",
    "brainstate": "brainstate",
    "jaxsnn": "jaxsnn",
    "rockpool": "rockpool",
    "e3x": "e3x",
    "jax_galsim": "jax-galsim",
    "keras": "keras",
    "pennylane": "pennylane",
    "jaxdecomp": "jaxdecomp",
    "diffaaable": "diffaaable",
    "fdtdx": "fdtdx",
    "eformer": "eformer",
    "ejkernel": "ejkernel",
    "rwkv_ops": "rwkv-ops",
    "agjax": "agjax",
    "piquasso": "piquasso",
    "horqrux": "horqrux",
    "pyscfad": "pyscfad",
    "torax": "torax",
    "ringattention": "ringattention",
    "mlstm_kernels": "mlstm_kernels",
    "spexial": "spexial",
    "spbessax": "spbessax",
    "jaxbessel": "jaxbessel",
    "nufftax": "nufftax",
    "bijx": "bijx",
    "deepqmc": "deepqmc",
    "lsqfitgp": "lsqfitgp",
    "distreqx": "distreqx",
    "astronomix": "astronomix",
    "solvax": "solvax",
    "vmec_jax": "vmec-jax",
    "vmex": "vmex",
    "dkx": "dkx",
    "raytrax": "raytrax",
    "virtual_casing_jax": "virtual-casing-jax",
    "zernipax": "zernipax",
    "sparsax": "sparsax",
    "jaxonomy": "jaxonomy",
    "collimator": "pycollimator",
    "jaxspec": "jaxspec",
    "jax_fem": "jax-fem",
    "feax": "feax",
    "jaxley": "jaxley",
    "jaxsim": "jaxsim",
    "tokamax": "tokamax",
    "tunix": "google-tunix",
    "cryojax": "cryojax",
    "dynamiqs": "dynamiqs",
    "quantax": "quantax",
    "scico": "scico",
    "copulax": "copulax",
    "jaxfmm": "jaxfmm",
    "dftax": "dftax",
    "apax": "apax",
    "mlip": "mlip",
    "jaxnnls": "jaxnnls",
    "jaxmat": "jaxmat",
    "haliax": "haliax",
    "jax_flash_attn2": "jax-flash-attn2",
    "levanter": "levanter",
    "neural_tangents": "neural-tangents",
    "praxis": "praxis",
    "genjax": "genjax",
    "splax": "splax",
    "jax_scalify": "jax-scalify",
    "torch_jax_interop": "torch-jax-interop",
    "torchax": "torchax",
    "tf2jax": "tf2jax",
    "trax": "trax",
    "oryx": "oryx",
    "kvax": "kvax",
}
"""What is imported, and the distribution that it comes from."""


NARROW = frozenset([*PACKAGES][[*PACKAGES].index("s2fft") :])
"""Of these only the modules whose source makes rules are imported: the others take long, or need more packages."""


class OutOfTime(BaseException):
    """A rule took longer than its limit. No `except Exception` on the way stops it."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help="Audit only these again.")
    parser.add_argument("--render", action="store_true", help="Write the report from the results as they are.")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="The limit for one rule, of processor time.")
    parser.add_argument(
        "--rule", action="append", metavar="TEXT", help="Of these, only the rules with this in their names."
    )
    parser.add_argument("--open", action="store_true", help="Of these, only what is unproved now.")
    parser.add_argument("--recorded", action="store_true", help="Only what the drivers call; other rows stay.")
    parser.add_argument("--sources", action="store_true", help="Only count anew what the sources make.")
    parser.add_argument("--worker", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--driven", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.rule = given.rule or [""]
    unknown = [p for p in given.packages if p not in PACKAGES]
    if unknown:
        parser.error(f"'{unknown[0]}' is not surveyed; {', '.join(PACKAGES)} are.")
    if given.worker:
        work = Worker(given.packages[0], Path(given.worker), given.seconds, given.rule, given.open)
        work.recorded() if given.driven else work.found()
        return
    results: dict[str, Any] = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    if given.sources:
        results = {p: _counted_anew(p, results.get(p, {})) for p in PACKAGES}
        RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    chosen = given.packages or [p for p in PACKAGES if not given.open or _open(results.get(p, {}))]
    for package in [] if given.render or given.sources else chosen:
        before = results.get(package, {}).get("rules", []) if given.recorded else None
        found = _package(package, given.seconds, given.rule, before, given.open)
        results = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
        if (any(given.rule) or given.open) and package in results:
            again = {r["name"]: r for r in found["rules"]}
            before = {r["name"]: r for r in results[package]["rules"]}
            found = _about(package, [*(before | again).values()], results[package]["problems"])
        results[package] = found
        print(package, _counted(results[package]["rules"]), flush=True)
        ordered = {p: results[p] for p in PACKAGES if p in results}
        RESULTS.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", "utf-8")
    REPORT.write_text(rendered({p: results[p] for p in PACKAGES if p in results}), "utf-8")


def _counted(rules: Sequence[dict[str, Any]]) -> str:
    verdicts = [r["verdict"] for r in rules]
    return ", ".join(f"{verdicts.count(v)} {v}" for v in dict.fromkeys(verdicts)) or "no rule"


# one package, in processes of its own


def driver_of(package: str) -> Path | None:
    """The program that calls the package's public functions, if there is one."""
    path = DRIVERS / f"run_{package.removesuffix('.substrates.jax')}.py"
    return path if path.exists() else None


def _open(package: dict[str, Any]) -> set[str]:
    """The package's rules that ran and have no definite verdict."""
    return {row["name"] for row in package.get("rules", []) if row["verdict"] == "unproved"}


def _package(
    package: str,
    seconds: int,
    rule: Sequence[str],
    before: Sequence[dict[str, Any]] | None = None,
    only_open: bool = False,
) -> dict[str, Any]:
    """What came of a package. Where a rule ends the process, another one goes on after it."""
    lines: list[dict[str, Any]] = []
    ended = ""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "results"
        if before is not None:
            out.write_text("".join(json.dumps(line) + "\n" for line in before), "utf-8")
        ways = [*([False] if before is None else []), *([True] if driver_of(package) else [])]
        for driven in ways:
            for _ in range(20):
                command = [sys.executable, __file__, package, "--worker", str(out), "--seconds", str(seconds)]
                command += [*(f"--rule={text}" for text in rule)]
                command += [*(["--driven"] if driven else []), *(["--open"] if only_open else [])]
                # A driver runs as a program of its own, which has another search path.
                path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
                done = subprocess.run(
                    command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path}
                )
                lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()] if out.exists() else []
                if not done.returncode or not lines or "began" not in lines[-1]:
                    break
            if done.returncode:
                ended = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "the process ended"
    problems = [line["problem"] for line in lines if "problem" in line] + ([ended] if ended else [])
    found = _merged([line for line in lines if "verdict" in line])
    for line in lines:
        if "began" in line and line["began"] not in found:
            lost = {"name": line["began"], "where": "", "verdict": "not audited", "why": "it ended the process"}
            found[line["began"]] = lost
    return _about(package, [*found.values()], problems)


def _about(package: str, rules: Sequence[dict[str, Any]], problems: Sequence[str]) -> dict[str, Any]:
    try:
        version = metadata.version(PACKAGES[package])
    except metadata.PackageNotFoundError:
        version = ""
    reached = {_plain(rule["name"]) for rule in rules}
    return {
        "distribution": PACKAGES[package],
        "version": version,
        "rules": list(rules),
        "problems": [re.sub(r"/\S*/site-packages/", "", text) for text in problems],
        "unreached": [_shown(one) for one in written(package) if one.name not in reached],
    }


def _counted_anew(package: str, before: dict[str, Any]) -> dict[str, Any]:
    """The rows as they are, and what the source makes beside them."""
    return _about(package, [_restated(row) for row in before.get("rules", [])], before.get("problems", []))


def _restated(row: dict[str, Any]) -> dict[str, Any]:
    """A row of an earlier run whose rule is no longer declared a surrogate: refuted where it has a witness.

    The audit of a surrogate looks for a witness as any other does. Where it found none, its claims are unproved.
    """
    said = _declared(row["name"]) if row["verdict"] == "surrogate" else None
    if said is None or said.surrogate:
        return row
    found = any(claim["witness"] for claim in row["claims"])
    claims = []
    for claim in row["claims"]:
        if claim["verdict"] == "surrogate":
            decided = {"verdict": "refuted"} if claim["witness"] else {"verdict": "unproved"}
            claim = claim | decided | {"reason": "" if claim["witness"] else "its derivative was not decided"}
        claims.append(claim)
    return row | {"verdict": "refuted" if found else "unproved", "surrogate": "", "claims": claims}


def _merged(lines: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """A rule both found by its name and recorded is one row: the first definite verdict, else what says most."""
    out: dict[str, dict[str, Any]] = {}
    for line in lines:
        before = out.get(line["name"])
        if before is None or _weight(line) > _weight(before):
            out[line["name"]] = line
    return out


def _weight(line: dict[str, Any]) -> int:
    return 2 if line["verdict"] in DEFINITE else int(line["verdict"] == "unproved")


def _plain(name: str) -> str:
    """The name of a rule as its source has it."""
    return name.replace(".<locals>", "")


def _shown(one: Written) -> str:
    return f"{one.file}:{one.line} {one.name.partition(':')[2]}"


class Worker:
    """Audits a package's rules, a line each."""

    def __init__(self, package: str, out: Path, seconds: int, rule: Sequence[str], only_open: bool = False) -> None:
        os.environ["JAX_PLATFORMS"] = "cpu"
        os.environ.setdefault("KERAS_BACKEND", "jax")
        warnings.simplefilter("ignore")
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        self.package, self.seconds, self.rule = package, seconds, rule
        results = json.loads(RESULTS.read_text("utf-8")) if only_open else {}
        self.only = _open(results.get(package, {})) if only_open else None
        known = [json.loads(line) for line in out.read_text("utf-8").splitlines()] if out.exists() else []
        self.before = {line["name"]: line for line in known if "verdict" in line}
        self.begun = {(line["began"], line["driven"]) for line in known if "began" in line}
        self.file = out.open("a", encoding="utf-8")
        signal.signal(signal.SIGPROF, _ring)

    def tell(self, line: dict[str, Any]) -> None:
        self.file.write(json.dumps(line, ensure_ascii=False) + "\n")
        self.file.flush()

    def _begin(self, name: str, driven: bool) -> bool:
        if (
            (name, driven) in self.begun
            or not any(text in name for text in self.rule)
            or (self.only is not None and name not in self.only)
        ):
            return False
        self.tell({"began": name, "driven": driven})
        return True

    def found(self) -> None:
        """Those that names lead to."""
        from certgrad.errors import UsageError
        from certgrad.rules.finding.find import find

        modules = [self.package]
        if self.package in NARROW:
            modules = sorted({one.name.partition(":")[0] for one in written(self.package)})
        for module in modules:
            try:
                found = find(module)
            except UsageError as error:
                self.tell({"problem": str(error)})
                continue
            for one in found.rules:
                if one.rule is None:
                    if "it makes a rule at each call" not in one.problem:
                        self.tell({"problem": f"{one.name}: {one.problem}"})
                # a container can hold another package's rules
                elif _own(one.file, self.package) and self._begin(one.name, False):
                    self.tell(self._audited(one))

    def recorded(self) -> None:
        """Those that the driver calls, as it calls them."""
        from certgrad.recording import Program, Record, run
        from certgrad.recording._audit import _undisturbed, placed_rules

        driver = driver_of(self.package)
        assert driver is not None
        record = Record()
        status = run(Program(str(driver)), record.noticing()).status
        if status:
            self.tell({"problem": f"drivers/{driver.name} ended with status {status}"})
        if record.notes is None:
            return
        for name in record.notes.lost:
            lost, _, why = name.partition(": ")
            if lost.startswith(self.package) and self.before.get(lost, {}).get("verdict") not in DEFINITE:
                self.tell({"name": lost, "where": "", "verdict": "not audited", "why": why[:300]})
        for place, rule in placed_rules(record.notes.rules.values()):
            done = self.before.get(place.name, {}).get("verdict") in DEFINITE
            # a rule that the package makes of the driver's function has that function's name
            own = _own(place.file, self.package) or place.name.startswith(f"{driver.stem}:")
            if done or not own or not self._begin(place.name, True):
                continue
            with _undisturbed():
                self.tell(self._as_called(rule, place))

    def _audited(self, found: Any) -> dict[str, Any]:
        from certgrad.rules.judging.by_name import examined

        said = _declared(found.name)
        line: dict[str, Any] = {"name": found.name, "where": found.where}
        with _Limit(self.seconds) as limit:
            table = {name: (d,) for name, d in _approximating(self.package)}
            done = examined(found, table | ({found.name: (said,)} if said is not None else {}))
        if limit.over:
            return line | limit.said()
        return line | {"seconds": limit.took} | _line(*done, "declared" if said is not None else "inferred")

    def _as_called(self, rule: Any, place: Any) -> dict[str, Any]:
        from certgrad.recording._audit import _ClaimAudits, _look, _worst

        line: dict[str, Any] = {"name": place.name, "where": place.where, "called": rule.count}
        looked = _ClaimAudits()
        said = _declared(place.name)
        with _Limit(self.seconds) as limit:
            for variant in rule.variants.values():
                _look(variant, place, said, True, looked)
        if limit.over:
            return line | limit.said()
        worst = _worst(looked)
        if worst is None or (worst[0][0].certificate is None and not worst[0][0].remarks):
            return line | {"verdict": "not audited", "why": "; ".join(dict.fromkeys(looked.left))}
        origin = "declared" if said is not None else "recorded"
        return line | {"seconds": limit.took, "left": [*dict.fromkeys(looked.left)]} | _line(*worst[0], origin)


class _Limit:
    """A limit of processor time for a block, which its proofs share; `over` says that it was reached."""

    def __init__(self, seconds: int) -> None:
        from certgrad.obligations.terms.budget import auditing

        self.seconds, self.over, self.took = seconds, False, 0.0
        self._shared = auditing(seconds)

    def __enter__(self) -> _Limit:
        self._began = time.process_time()
        # again each second: where it rings while Python deletes an object, the exception is lost
        signal.setitimer(signal.ITIMER_PROF, self.seconds, 1.0)
        self._shared.__enter__()
        return self

    def __exit__(self, kind: type | None, *_: object) -> bool:
        signal.setitimer(signal.ITIMER_PROF, 0)
        self._shared.__exit__(None, None, None)
        self.took = round(time.process_time() - self._began, 1)
        self.over = kind is OutOfTime
        return self.over

    def said(self) -> dict[str, Any]:
        why = f"out of time after {self.seconds} s of processor time"
        return {"verdict": "unproved", "why": why, "seconds": self.took}


def _declared(name: str) -> Any:
    """What `declared.py` says of a rule; None where it says nothing."""
    from declared import DECLARED

    from certgrad.rules.declared.declaration import Declaration

    said = DECLARED.get(name)
    return said if said is None or isinstance(said, Declaration) else said()


def _approximating(package: str) -> Iterator[tuple[str, Any]]:
    """What the package's functions approximate, where `declared.py` says so: its rules call them."""
    from declared import DECLARED

    for name in DECLARED:
        said = _declared(name) if name.startswith(f"{package}.") else None
        if said is not None and said.approximates is not None:
            yield name, said


def _own(file: str, package: str) -> bool:
    """The rule is defined in the package; where that is not known, it counts as its own."""
    return not file or f"/{package.split('.')[0]}/" in file.replace(os.sep, "/")


def _ring(signum: int, frame: FrameType | None) -> None:
    raise OutOfTime


def _line(result: Any, report: Any, origin: str) -> dict[str, Any]:
    if result.certificate is None:
        why = "; ".join(r.text for r in result.remarks).removeprefix("not audited: ")
        return {"verdict": "not audited", "why": why}
    certificate = result.certificate
    assert report is not None
    return {
        "verdict": certificate.verdict,
        "origin": origin,
        "signature": certificate.signature[:1],
        "sizes": list(certificate.sizes or ()),
        "surrogate": report.surrogate,
        "approximates": report.approximates,
        "cause": report.cause,
        "reason": report.reason,
        "without_gradient": list(report.without_gradient),
        "claims": list(_claims(certificate)),
        **({"reproduction": report.reproduction} if certificate.verdict == "refuted" else {}),
    }


def _claims(certificate: Any) -> Iterator[dict[str, Any]]:
    from benchmarks.statements import digests

    for claim in certificate.claims:
        decisive = next((c for c in claim.cases if c.verdict == claim.verdict), claim.cases[0])
        witness = next((c.witness for c in claim.cases if c.witness is not None), None)
        yield {
            "kind": claim.kind,
            "verdict": claim.verdict,
            "hypotheses": [h.text for h in claim.hypotheses],
            "statements": digests((h.text, h.tree) for h in claim.hypotheses),
            "scope": decisive.scope,
            "reason": decisive.reason,
            "taken": list(claim.idealisations),
            "witness": witness and {"dims": witness.dims, "inputs": witness.inputs, "gap": witness.relative_gap},
        }


if __name__ == "__main__":
    main()
