"""What changed between two audits: each kind of change, and what is none."""

import json
import os
from pathlib import Path

import jsonschema_rs
import pytest
from msgspec.structs import replace

from certgrad.language.parse import parse
from certgrad.obligations.certificate import Certificate, Convention
from certgrad.report import changes
from certgrad.report.diff import Change, Side
from certgrad.report.diff import changes as between
from certgrad.report.json import Remark
from tests.report import fabricated
from tests.report.fabricated import NONZERO, POSITIVE, RELU, SIGMOID, both, certificate, claim


def said(old: Certificate | None, new: Certificate | None, **after: object) -> list[tuple[str, str]]:
    """The changes of one rule, as kind and text."""
    sides = [Side([c] if c else []) for c in (old, new)]
    found = between(sides[0], Side(sides[1].certificates, **after))  # type: ignore[arg-type]
    return [(one.kind, one.text) for one in found]


def f(*verdicts: str, **fields: object) -> Certificate:
    kinds = ("jvp_is_derivative", "vjp_is_adjoint")
    return certificate("f", *(claim("f", k, v) for k, v in zip(kinds, verdicts, strict=False)), **fields)  # type: ignore[arg-type]


PROVED = f("proved", "proved")


@pytest.mark.parametrize("one", fabricated.ALL, ids=lambda c: c.op)
def test_an_audit_is_no_change_to_itself(one: Certificate) -> None:
    assert said(one, replace(one, digest="1" * 64, versions={"jax": "9"}, checksum="else")) == []


@pytest.mark.parametrize(
    "verdict, text", [("refuted", "proved → refuted (CG102)"), ("unproved", "proved → unproved (CG102)")]
)
def test_a_lost_proof_is_one_line(verdict: str, text: str) -> None:
    assert said(PROVED, f("proved", verdict)) == [("lost proof", text)]
    assert said(f("proved", verdict), PROVED) == [("proved", f"{verdict} → proved")]


def test_both_claims_lost_are_one_line() -> None:
    assert said(PROVED, f("unproved", "refuted")) == [("lost proof", "proved → refuted (CG101, CG102)")]


def test_a_hypothesis_is_known_by_what_it_says() -> None:
    without, under = certificate("f", *both("f")), certificate("f", *both("f", "proved under hypotheses", (NONZERO,)))
    assert said(without, under) == [("new hypothesis", "x[i] ≠ 0 (CG101, CG102)")]
    assert said(under, without) == [("fewer hypotheses", "without x[i] ≠ 0 (CG101, CG102)")]
    worded = replace(NONZERO, text="no entry of x is 0")
    assert said(under, certificate("f", *both("f", "proved under hypotheses", (worded,)))) == []
    same_text = replace(NONZERO, tree=parse("x > 7", ("x",)))
    other = certificate("f", *both("f", "proved under hypotheses", (same_text,)))
    assert [kind for kind, _ in said(under, other)] == ["new hypothesis"]
    assert [kind for kind, _ in said(other, under)] == ["fewer hypotheses"]  # x > 7 implies x ≠ 0


def test_a_hypothesis_that_reaches_another_claim_is_new_there() -> None:
    one = certificate("f", claim("f", "jvp_is_derivative", "proved under hypotheses", (POSITIVE,)), both("f")[1])
    assert said(one, certificate("f", *both("f", "proved under hypotheses", (POSITIVE,)))) == [
        ("new hypothesis", "x[i] > 0 (CG102)")
    ]


def test_constraints_of_parameters_are_conditions() -> None:
    old = certificate("f", *both("f"), params={"eps": "eps >= 0"})
    assert said(old, certificate("f", *both("f"), params={"eps": "eps > 0"})) == [
        ("new hypothesis", "eps > 0"),
        ("fewer hypotheses", "without eps ≥ 0"),
    ]


def test_a_changed_convention_is_no_loss() -> None:
    def at_zero(value: str) -> Certificate:
        return replace(RELU, conventions=[Convention(point="x = 0", rule=value, jax="", torch="")])

    assert said(at_zero("0"), at_zero("1/2")) == [("changed convention", "at x = 0: 0 → 1/2")]
    assert said(at_zero("0"), replace(RELU, conventions=[])) == []


@pytest.mark.parametrize(
    "old, new, text",
    [
        (
            "all shapes, any rank",
            "all shapes, ranks 0, 1 of *s (f branches (on a) rank)",
            "all shapes, ranks 0, 1 of *s",
        ),
        ("all shapes", "all shapes, float64 only", "all shapes, float64 only"),
    ],
)
def test_a_narrower_scope(old: str, new: str, text: str) -> None:
    def of(scope: str) -> Certificate:
        (one,) = f("proved").claims
        return certificate("f", replace(one, cases=[replace(one.cases[0], scope=scope)]))

    assert said(of(old), of(new)) == [("narrower", f"*s -> *s: {old} → {text} (CG101)")]
    assert said(of(new), of(new.replace("branches", "looks"))) == []
    assert said(of("all shapes"), of("all shapes, by induction over 3 nodes")) == []


def test_cases_are_matched_whatever_their_dims_are_called() -> None:
    old = certificate("f", claim("f", "vjp_is_adjoint", signature="n d, d:int -> n"))
    assert said(old, certificate("f", claim("f", "vjp_is_adjoint", signature="m k, k:int -> m"))) == []
    assert said(old, certificate("f", claim("f", "vjp_is_adjoint", signature="n n, n:int -> n"))) == [
        ("narrower", "n d, d:int -> n: all shapes, any rank → no claim (CG102)")
    ]


def test_narrower_in_other_ways() -> None:
    sized = f("proved at sizes", "proved at sizes", sizes=[{"n": 2}, {"n": 3}])
    assert said(PROVED, sized) == [("narrower", "proved → proved at sizes (CG101, CG102)")]
    assert said(sized, PROVED) == [("wider", "proved at sizes → proved (CG101, CG102)")]
    assert said(sized, replace(sized, sizes=[{"n": 3}])) == [("narrower", "not proved any more at n = 2")]
    assert said(PROVED, f("proved up to rounding", "proved")) == [
        ("narrower", "proved → proved up to rounding (CG101)")
    ]
    assert said(PROVED, f("proved")) == [("narrower", "CG102 is not claimed any more")]
    assert said(PROVED, replace(PROVED, without_gradient=["w"])) == [("narrower", "no gradient for w any more")]
    left = Remark("f", "CG204", "nothing is claimed of w", "", 0, False)
    assert said(PROVED, PROVED, remarks=[left]) == [("narrower", "CG204 nothing is claimed of w")]


def test_a_rule_that_is_gone_was_removed_or_is_not_audited_any_more() -> None:
    rule = replace(PROVED, op="m:f")
    assert said(rule, None) == [("removed", "it was proved")]
    of_rule = Remark("m:f", "CG201", "not audited: a custom_vjp\nwithout defvjp", "", 0, False)
    assert said(rule, None, remarks=[of_rule]) == [("lost proof", "proved → not audited: a custom_vjp without defvjp")]
    of_module = Remark("m", "CG201", "not audited: does not import", "", 0, False)
    assert said(rule, None, remarks=[of_module]) == [("lost proof", "proved → not audited: does not import")]
    assert said(rule, None, problems=["interrupted"]) == [("lost proof", "proved → interrupted")]


def test_new_rules() -> None:
    assert said(None, PROVED) == [("new", "proved")]
    assert said(None, f("proved", "refuted")) == [("new refutation", "refuted (CG102)")]
    assert said(f("unproved", "proved"), f("refuted", "proved")) == [("new refutation", "unproved → refuted (CG101)")]


FOUND = [
    Change("m:f", "lost proof", "proved → refuted (CG102)"),
    Change("g", "removed", "a | b"),
    Change("h", "wider", "x"),
]


def test_texts() -> None:
    assert changes.as_text(FOUND, 3).splitlines() == [
        "m:f: lost proof: proved → refuted (CG102)",
        "g: removed: a | b",
        "h: wider: x",
    ]
    assert changes.as_text(FOUND, 3, quiet=True).count("\n") == 1
    assert changes.as_text([], 1) == "no change in 1 rule\n"
    assert changes.as_text([], 1, quiet=True) == ""


def test_markdown_for_a_pull_request() -> None:
    page = changes.as_markdown(FOUND, 3)
    assert page.startswith("**certgrad**: 1 loss in 3 rules.\n\n### Losses\n\n| rule |  | what changed |\n")
    assert "| `m:f` | lost proof | `proved → refuted (CG102)` |" in page
    assert "`a \\| b`" in page
    assert changes.as_markdown([], 2) == "**certgrad**: no change in 2 rules.\n"


def test_the_json_has_a_published_schema() -> None:
    page = Path(__file__).parents[2] / "docs/schemas/diff-1.json"
    if os.environ.get("CERTGRAD_UPDATE_GOLDEN") == "1":
        page.write_text(changes.schema())
    assert page.read_text() == changes.schema()
    document = json.loads(changes.as_json(FOUND, 3, "1.2.3"))
    jsonschema_rs.validate(json.loads(page.read_text()), document)
    assert [len(document[key]) for key in ("losses", "others", "gains")] == [1, 1, 1]


def test_losses_come_first() -> None:
    old = Side([SIGMOID, RELU])
    new = Side([replace(RELU, conventions=[]), certificate("sigmoid", *both("sigmoid", "unproved")), PROVED])
    assert [one.kind for one in between(old, new)] == ["lost proof", "new"]
