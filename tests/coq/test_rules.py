"""Rules in code as theorems of Coq: printed, accepted where they are right, and not where they are wrong."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest

from certgrad.coq import CHECKSUM_MISMATCH, File
from certgrad.obligations.certificate import Certificate, sealed
from certgrad.rules.certificates import printed
from certgrad.rules.certificates.printed import print_rule
from certgrad.rules.finding.find import FoundRule, find
from tests.rules.certificates.test_verify import EDITED as EDITED_RULES
from tests.rules.certificates.test_verify import certificate_of, of_text

FILE = Path(__file__).parent / "rules_for_coq.py"
T = TypeVar("T")


@pytest.fixture(scope="module")
def rules() -> dict[str, FoundRule]:
    before = list(sys.path)
    found = {f.name.rpartition(":")[2]: f for f in find(str(FILE)).rules}
    sys.path[:] = before
    return found


class Made(dict[str, T]):
    """Each is made when it is first wanted: most tests want one of a dozen rules."""

    def __init__(self, make: Callable[[str], T]) -> None:
        self.make = make

    def __missing__(self, name: str) -> T:
        self[name] = self.make(name)
        return self[name]


@pytest.fixture(scope="module")
def certificates(rules: dict[str, FoundRule]) -> dict[str, Certificate]:
    return Made(lambda name: certificate_of(rules[name]))


@pytest.fixture(scope="module")
def files(rules: dict[str, FoundRule], certificates: dict[str, Certificate]) -> dict[str, File]:
    return Made(lambda name: print_rule(certificates[name], rules[name]))


RIGHT = ["softplus", "scores", "log_softmax", "logarithm", "names", "scaled"]


@pytest.mark.slow
def test_right_rules_are_accepted(kernel, files: dict[str, File]) -> None:
    results = list(kernel.judge_all([files[name] for name in RIGHT], 1))
    assert {j.name: j.reason for r in results for j in r.judged if j.stated and not j.accepted} == {}


WRONG = ["wrong_softplus", "wrong_scores", "wrong_log_softmax", "wrong_logarithm", "wrong_names"]


def claimed(certificate: Certificate) -> Certificate:
    """A certificate that says of a wrong rule that it is proved, and fits its checksum."""
    change = msgspec.structs.replace
    claims = [change(c, cases=[change(case, verdict="proved") for case in c.cases]) for c in certificate.claims]
    return sealed(change(certificate, claims=claims))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", WRONG)
def test_wrong_rules_are_not(
    kernel,
    rules: dict[str, FoundRule],
    certificates: dict[str, Certificate],
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(printed, "unlike_what_was_audited", lambda certificate, parts: [])  # all is left to Coq
    assert certificates[name].verdict == "refuted"
    (judged,) = [
        j
        for j in kernel.judge(print_rule(claimed(certificates[name]), rules[name])).judged
        if j.kind == "vjp_is_adjoint"
    ]
    assert not judged.accepted
    assert judged.reason.startswith("no proof was found")


def test_a_needed_hypothesis_is_missed(kernel, files: dict[str, File]) -> None:
    file = files["logarithm"]
    section, defined = file.sections
    bare = tuple(
        replace(t, statement=t.statement.replace(f"  {t.hypotheses} ->\n", ""))
        for t in (*section.theorems, *defined.theorems)
        if t.kind.startswith("vjp_is_adjoint")
    )
    both = replace(section, definitions=(*section.definitions, *defined.definitions), theorems=bare)
    assert not any(j.accepted for j in kernel.judge(replace(file, sections=(both,))).judged)


def test_a_rule_with_a_vjp_alone_is_stated_by_seeded_outputs(files: dict[str, File]) -> None:
    adjoint = next(t for t in files["softplus"].theorems if t.kind == "vjp_is_adjoint")
    assert "is_derive (fun t => (sum_lt n (fun i0 => (seed i0) * (" in adjoint.statement
    assert "x i0 + t * dx i0" in adjoint.statement
    assert "(sum_lt n (fun i0 => (dx i0) * (" in adjoint.statement


def test_names_do_not_capture_each_other(files: dict[str, File]) -> None:
    statement = next(t for t in files["names"].theorems if t.kind == "vjp_is_adjoint").statement
    bound = [line.split("(")[1].split(" :")[0] for line in statement.splitlines() if line.startswith("  forall (")]
    assert bound == ["n", "x", "dx", "seed", "dx_", "ddx", "dseed", "seed_"]


def test_a_certificate_of_other_code_is_about_no_theorem(
    rules: dict[str, FoundRule], certificates: dict[str, Certificate]
) -> None:
    certificate = certificates["softplus"]
    assert all(t.reason for t in print_rule(certificate, rules["logarithm"]).theorems)
    traced = [msgspec.structs.replace(one, digest="0" * 64) for one in certificate.traced]
    file = print_rule(sealed(msgspec.structs.replace(certificate, traced=traced)), rules["softplus"])
    assert {t.reason for t in file.theorems} == {"the code is another than the certificate is about"}


def test_a_certificate_that_was_edited_is_about_no_theorem(
    rules: dict[str, FoundRule], certificates: dict[str, Certificate]
) -> None:
    edited = msgspec.structs.replace(certificates["softplus"], source="elsewhere")
    assert {t.reason for t in print_rule(edited, rules["softplus"]).theorems} == {CHECKSUM_MISMATCH}


@pytest.mark.parametrize("left", [0, 3])
def test_a_certificate_of_other_cases_is_about_no_theorem(
    rules: dict[str, FoundRule], certificates: dict[str, Certificate], left: int
) -> None:
    certificate = certificates["softplus"]
    claims = [msgspec.structs.replace(c, cases=c.cases * left) for c in certificate.claims]
    other = sealed(msgspec.structs.replace(certificate, claims=claims))
    assert {t.reason for t in print_rule(other, rules["softplus"]).theorems} == {"its cases are not the declared ones"}


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "factor", ["2.0 if x.shape[0] != 9 else 1.0", "{9: 1.0}.get(x.shape[0], 2.0)", "CALLS.append(1) or 2.0"]
)
def test_code_that_asks_otherwise_than_when_it_was_proved_is_about_no_theorem(tmp_path: Path, factor: str) -> None:
    rule = of_text(tmp_path, EDITED_RULES.format("2.0"))
    certificate = certificate_of(rule)
    assert not print_rule(certificate, rule).theorems[0].reason
    (tmp_path / "now").mkdir()
    now = of_text(tmp_path / "now", EDITED_RULES.replace("{}", factor))
    assert all(t.reason for t in print_rule(certificate, now).theorems)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["moments", "spread", "product", "pushed"])
def test_a_rule_that_sees_symbolic_zeros_is_known_again(name: str) -> None:
    (found,) = find(f"tests.doors.zeros:{name}").rules
    certificate = certificate_of(found)
    assert [t.reason for t in print_rule(certificate, found).theorems if t.reason] == []


def test_comparisons_with_infinities_are_not_printed(files: dict[str, File]) -> None:
    assert not any("infinite" in d.text for s in files["log_softmax"].sections for d in s.definitions)


@pytest.mark.slow
def test_the_commands(kernel, tmp_path: Path) -> None:
    from tests.cli.test_process import run

    audit = tmp_path / "audit.json"
    done = run("audit", f"{FILE}:softplus", "--format", "json", "--no-conformance", "--no-cache")
    assert done.returncode == 0, done.stderr
    audit.write_text(done.stdout)
    asked = run("verify", str(audit), "--kernel", "coq")
    assert asked.returncode == 2
    assert "Name the code that it is checked against" in asked.stderr
    found = run("verify", str(audit), "--kernel", "coq", "--target", str(FILE))
    assert found.returncode == 0, found.stdout + found.stderr
    assert "softplus_vjp_is_adjoint: accepted by Coq" in found.stdout
    assert "2 of 2 obligations accepted by Coq" in found.stdout
    export = run("export", "--coq", f"{FILE}:softplus", "-o", str(tmp_path / "out"))
    assert export.returncode == 0, export.stderr
    made = subprocess.run(["make"], cwd=tmp_path / "out", capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout[-2000:] + made.stderr[-2000:]
    (file,) = (tmp_path / "out").glob("*.v")
    assert "Theorem tests_coq_rules_for_coq_softplus_vjp_is_adjoint" in file.read_text()
