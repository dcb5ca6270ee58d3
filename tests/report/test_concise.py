"""A line a finding: a golden file, and how each kind of finding is said."""

from typing import Any

import msgspec
import pytest

from certgrad.obligations.certificate import DIFFERS_IN_FLOATS, Ball, Claim, with_cases
from certgrad.report import concise, markdown, text
from certgrad.report.audited import Audit
from certgrad.report.findings import Remark
from tests.report import fabricated
from tests.report.audits import BASE, EVERY, at, remarked, result
from tests.report.golden import check


def test_every_verdict() -> None:
    check("audit_concise.txt", concise.render(EVERY, BASE))


CAUSE = "likely cause in the cotangent of "
LACKS = "a sum over axis 0 is missing"
REASONS = [
    (f"{CAUSE}w: {LACKS}", f"the cotangent of w: {LACKS}"),
    (f"{CAUSE}w: {LACKS}\nsee losses.py:17", f"the cotangent of w: {LACKS} (line 17)"),
    (f"{CAUSE}w: {LACKS}\nsee other.py:17", f"the cotangent of w: {LACKS} (other.py:17)"),
    (f"{CAUSE}w: {LACKS}\n{CAUSE}b: {LACKS}", f"the cotangents of w and b: {LACKS}"),
    (f"{CAUSE}w: {LACKS}\n{CAUSE}b: half of it", f"the cotangent of w: {LACKS}; the cotangent of b: half of it"),
    (f"{CAUSE}w: right where b = n", "the cotangent of w: right where b = n"),
    ("likely cause: the fwd does not return it: another value", "the fwd does not return it: another value"),
    (
        f'{CAUSE}x: right where x > 0\nright where x > 0: declare domain="x > 0" if nothing else is meant',
        "right where x > 0",
    ),
    (
        f'{CAUSE}x: right where x ≠ 0\nright where x != 0: declare domain="x != 0" if nothing else is meant',
        "right where x ≠ 0",
    ),
    ("the two sides differ at the witness", "the VJP gives 2, the JVP 0.333 at n = 2"),
]


def line(*claims: Claim, **fields: Any) -> str:
    """What is printed of a rule with these claims."""
    audit = Audit([result(fabricated.certificate("pkg:f", *claims), **at(3), **fields)])
    return concise.render(audit, BASE).splitlines()[0]


@pytest.mark.parametrize("reason, said", REASONS)
def test_what_is_wrong_is_said_in_the_words_of_its_cause(reason: str, said: str) -> None:
    refuted = fabricated.claim("pkg:f", "vjp_is_adjoint", "refuted", reason=reason, witness=fabricated.WITNESS)
    assert line(refuted) == f"pkg/losses.py:3: CG102 pkg:f: {said}"


def test_sides_that_nearly_agree_have_the_figures_that_tell_them_apart() -> None:
    near = msgspec.structs.replace(
        fabricated.WITNESS, lhs=Ball(midpoint="1.00000012", radius="0"), rhs=Ball(midpoint="1", radius="0"), dims={}
    )
    said = line(fabricated.claim("pkg:f", "rule_runs_forward", "refuted", witness=near))
    assert said.endswith("CG103 pkg:f: the rule returns 1.00000012, the function 1")


def test_a_rule_without_a_jvp_is_held_against_the_derivative() -> None:
    refuted = fabricated.claim("pkg:f", "vjp_is_adjoint", "refuted", witness=fabricated.WITNESS)
    bare = msgspec.structs.replace(refuted, statement="⟨d/dt f(x + t·dx) at t = 0, seed⟩ = ⟨dx, vjp(x, seed)⟩")
    assert line(bare).endswith("the VJP gives 2, the derivative 0.333 at n = 2")


def test_of_inferred_shapes_it_says_which() -> None:
    refuted = fabricated.claim("pkg:f", "vjp_is_adjoint", "refuted", signature="n d -> n", reason=f"{CAUSE}x: half")
    assert line(refuted, inferred='"n d"').endswith("the cotangent of x: half (shapes inferred: n d -> n)")


def test_what_floats_contradict_is_said_before_what_the_proof_lacks() -> None:
    open_claim = fabricated.claim("pkg:f", "vjp_is_adjoint", "unproved", reason="primitive sort is not known\nmore")
    assert line(open_claim).endswith("CG102 pkg:f: unproved: primitive sort is not known")
    contradicted = msgspec.structs.replace(open_claim, contradicted=f"{DIFFERS_IN_FLOATS}: 1 and 2")
    assert line(contradicted).endswith(f"CG102 pkg:f: unproved: {DIFFERS_IN_FLOATS}: 1 and 2")


def test_a_remark_is_listed_where_it_fails_or_nothing_is_known() -> None:
    inferred = remarked("pkg:f", "CG202", "its shapes\nare inferred", **at(3))
    left_out = remarked("pkg:g", "CG201", "not audited", **at(9, "/elsewhere/c.py"))
    audit = Audit([inferred, left_out])
    assert concise.render(audit, BASE).splitlines()[:-1] == ["/elsewhere/c.py:9: CG201 pkg:g: not audited"]
    strict = Audit([inferred, left_out], strict=True)
    assert concise.failing(strict, BASE)[0] == "pkg/losses.py:3: CG202 pkg:f: its shapes are inferred"


def test_what_the_baseline_lists_is_not_printed() -> None:
    covered = result(fabricated.SWAPPED, **at(3), covered=["CG102"])
    assert concise.render(Audit([covered]), BASE).startswith("1 op: ")


def test_a_proved_rule_that_is_refuted_at_other_shapes_is_listed_and_does_not_fail() -> None:
    remark = Remark("CG202", 'its shapes are inferred ("n d, ():int"); with "n d, m:int" it is refuted', True)
    proved = fabricated.certificate("pkg:f", fabricated.claim("pkg:f", "vjp_is_adjoint", "proved"))
    lines = concise.render(Audit([result(proved, **at(3), remarks=[remark])]), BASE).splitlines()
    assert lines[0] == f"pkg/losses.py:3: CG202 pkg:f: {remark.text}"
    assert concise.failing(Audit([result(proved, **at(3), remarks=[remark])]), BASE) == []
    wrong = result(fabricated.SWAPPED, **at(3), remarks=[remark])
    assert not any("CG202" in line for line in concise.render(Audit([wrong]), BASE).splitlines())


def test_what_is_proved_with_inferred_shapes_and_wrong_with_others_says_that_first() -> None:
    others = 'proved with "n d" (inferred); with "b n d" it is refuted'
    remark = Remark("CG202", "with … it is refuted; its shapes are inferred, as nothing declares them", True, others)
    proved = fabricated.certificate("pkg:f", fabricated.claim("pkg:f", "vjp_is_adjoint", "proved"))
    lines = concise.render(Audit([result(proved, **at(3), remarks=[remark])]), BASE).splitlines()
    assert lines[0] == f"pkg/losses.py:3: CG202 pkg:f: {others}"


def test_one_failure_of_several_obligations_is_printed_once() -> None:
    kinds: tuple[tuple[Any, Any], ...] = (
        ("jvp_is_derivative", "unproved"),
        ("vjp_is_adjoint", "refuted"),
        ("rule_runs_forward", "unproved"),
    )
    claims = [fabricated.claim("pkg:f", kind, verdict, reason="it fails: TypeError") for kind, verdict in kinds]
    where = [msgspec.structs.replace(case, reason=f"{case.reason}\nsee other.py:7") for case in claims[1].cases]
    claims[1] = with_cases(claims[1], where)
    one = result(fabricated.certificate("pkg:f", *claims), **at(3))
    assert concise.render(Audit([one]), BASE).splitlines()[:-1] == [
        "pkg/losses.py:3: CG102 pkg:f: it fails: TypeError (and so CG101 and CG103; other.py:7)"
    ]
    told = text.render(Audit([one]))
    assert told.count("it fails: TypeError") == 1
    assert "CG102 pkg:f.vjp_is_adjoint: refuted, and so CG101 and CG103 (pkg/losses.py:3)" in told
    assert markdown.render(Audit([one])).count("it fails: TypeError") == 1
    known = msgspec.structs.replace(one, covered=["CG102"])
    assert concise.render(Audit([known]), BASE).startswith("pkg/losses.py:3: CG101 pkg:f: unproved: it fails")
    other = [*claims[:2], fabricated.claim("pkg:f", "rule_runs_forward", "unproved", reason="another reason")]
    lines = concise.render(Audit([result(fabricated.certificate("pkg:f", *other), **at(3))]), BASE).splitlines()
    assert [line.split()[1] for line in lines[:-1]] == ["CG102", "CG103"]
