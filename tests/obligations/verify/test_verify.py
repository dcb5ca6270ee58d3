"""The second check passes every certificate of the library, and none of a changed op or claim."""

from __future__ import annotations

import re

import jax.numpy as jnp
import pytest

from certgrad.errors import TraceError
from certgrad.language.parse import parse
from certgrad.language.text import text
from certgrad.language.tree import Apply, Array, Compare, Entry, Index, Number, OffBoundaries, Size, Statement, Words
from certgrad.obligations import audit
from certgrad.obligations.certificate import Certificate, Hypothesis, sealed
from certgrad.obligations.verify import _declared, verify
from certgrad.ops import Composed, Op, op, registry
from certgrad.ops._registry import Registry
from tests.mutation._points import broken, places
from tests.mutation._sample import sample
from tests.mutation._verdicts import mutated
from tests.obligations.verify.forging import (
    certificate_of,
    for_code_of,
    replace,
    with_hypothesis,
    without_hypothesis,
)
from tests.ops.sampling import label

UNDECIDED = {"triplet_margin": 16, "pre_norm_attention": 3}
"""At most so many points stay open, by which are drawn: irrational numbers that tie. On boundaries, two distances; all
scores of one channel."""

FEW_POINTS = {"cholesky": 5}
"""At random no more points of shape 3×3 or larger are positive definite."""

ALONE = "no point that is drawn is outside this hypothesis alone and decides the claim"
NOT_SEEN = {
    "remainder": (r"jvp.*: y ≠ 0", ALONE),
    "fmod": (r"jvp.*: y ≠ 0", ALONE),
    "i1": (r"jvp.*: x ≠ 0", "the claim holds at 0 too, as far as evaluation says"),
    "i1e": (r"jvp.*: x ≠ 0", "the claim holds at 0 too, as far as evaluation says"),
    "beta": (r"rule_runs.*: a \+ b is", ALONE),
    "betaln": (r"jvp.*: a \+ b is", ALONE),
    "multi_margin": (r"vjp.*: labels", ALONE),
    "triplet_margin": (r"jvp.*: sqrt\(eps\^2 \+ \(Σj anchor\[i,j\]\^2\) \+ \(Σj neg", "points of this seam stay open"),
}
"""Hypotheses, as `claim: text`, whose loss evaluation does not see: exactly these."""

NO_ENTRY = {"multi_margin": r"jvp.*: labels"}
"""Hypotheses without which the certificate cannot be checked: an index out of range has no entry to compare."""

NONE_DIFFERS = {"trunc"}
"""Ops none of whose mutants that are drawn differs at the points tried and at a general shape."""


WITH_RULES = [op for op in registry if not isinstance(op, Composed)]


@pytest.mark.one_in(320)  # CI verifies all of `reports/` by the command
@pytest.mark.parametrize("op", registry, ids=label)
def test_every_certificate_of_the_library_is_verified(op: Op) -> None:
    result = verify(certificate_of(op.name))
    assert (result.outcome, result.problems) == ("verified", ())
    assert result.cases == len(op.cases)
    if op.name in FEW_POINTS:
        assert result.points == FEW_POINTS[op.name]
    else:
        assert result.points >= 10 * result.cases
    assert result.undecided <= UNDECIDED.get(op.name, 0)


@pytest.mark.one_in(276)
@pytest.mark.parametrize("op", WITH_RULES, ids=label)
def test_every_dropped_hypothesis_is_found_by_evaluation(op: Op) -> None:
    certificate = certificate_of(op.name)
    unseen, _ = NOT_SEEN.get(op.name, (r"(?!)", ""))
    unread = NO_ENTRY.get(op.name, r"(?!)")
    for claim in certificate.claims:
        for hypothesis in claim.hypotheses:
            result = verify(without_hypothesis(certificate, op, claim.kind, hypothesis.text))
            text = f"{claim.kind}: {hypothesis.text}"
            unread_or_false = "not checked" if re.match(unread, text) else "failed"
            wanted = "verified" if re.match(unseen, text) else unread_or_false
            assert result.outcome == wanted, (claim.id, hypothesis.text)


@pytest.mark.one_in(40)
@pytest.mark.parametrize("op", WITH_RULES[::7], ids=label)
def test_mutants_with_forged_digests_fail(op: Op) -> None:
    certificate = certificate_of(op.name)
    differing = 0
    for one, mutation in sample(op, 8):
        mutant = mutated(one, mutation)
        try:
            found, _ = broken(mutant, mutation.role, places(one, one.cases[0]))
            forged = for_code_of(certificate, mutant)
        except Exception:  # a mutant that does not run has no certificate to forge
            continue
        if found is not None and not mutation.shapewise:
            differing += 1
            assert verify(forged, mutant).outcome == "failed", mutation
    assert bool(differing) == (op.name not in NONE_DIFFERS)


def flipped(name: str, **rules: object) -> Op:
    return registry.get(name).with_rules(**rules)


WRONG_TANH = {"jvp": lambda y, dx: (1 + y * y) * dx}


def test_a_flipped_coefficient_changes_the_digest() -> None:
    result = verify(certificate_of("tanh"), flipped("tanh", **WRONG_TANH))
    assert result.outcome == "failed"
    assert "traces to another program" in result.problems[0]
    assert result.points == 0


def test_a_flipped_coefficient_with_a_forged_digest_is_found_by_evaluation() -> None:
    wrong = flipped("tanh", **WRONG_TANH)
    result = verify(for_code_of(certificate_of("tanh"), wrong), wrong)
    assert result.outcome == "failed"
    assert result.problems[0].startswith("tanh.jvp_is_derivative at x = ")


@pytest.mark.parametrize(
    "name, rules",
    [
        ("square", {"vjp": lambda x, seed: 2 * x * seed + jnp.where(x > 3, 1e-30, 0.0) * seed}),
        ("square", {"vjp": lambda x, seed: 2 * x * seed + jnp.where(x > 123456, 1e-30, 0.0) * seed}),
        ("relu", {"jvp": lambda x, dx: jnp.where(x >= 0, dx, 0)}),
        ("exp", {"jvp": lambda x, dx: jnp.exp(x) * dx + (0 if x.ndim else 1) * dx}),
        ("neg", {"vjp": lambda x, seed: -seed * (2 if x.size == 1 else 1)}),
        ("mul", {"vjp": lambda x, y, seed: (y * seed * x / x, x * seed)}),
    ],
)
def test_small_and_rare_errors_fail(name: str, rules: dict) -> None:
    wrong = registry.get(name).with_rules(**rules)
    try:
        result = verify(for_code_of(certificate_of(name), wrong), wrong)
    except TraceError:
        return
    assert result.outcome == "failed"
    if name == "relu":  # another convention at 0: the JVP and the VJP then disagree there
        assert "vjp_is_adjoint at x" in result.problems[0]


def test_a_hypothesis_that_nothing_satisfies_is_no_pass() -> None:
    tree = parse("x**2 < 0", ("x",))
    empty = Hypothesis(text=text(tree), latex="", prose="", source="", negligible=False, tree=tree)
    result = verify(with_hypothesis(certificate_of("sin"), registry.get("sin"), "jvp_is_derivative", empty))
    assert result.outcome == "not checked"
    assert "no point was found" in result.problems[0]


@pytest.mark.parametrize(
    "tree",
    [
        Words("x is nice"),
        OffBoundaries("x is nice"),
        parse("z > 0", ("z",)),
        Compare(">", Entry("x", (Index("i"),)), Size("n")),
        Compare(">", Entry("x", (Number("0"),)), Size("n")),
        Compare(">", Array("x"), Size("elephants")),
        Compare(">", Apply("__import__", (Array("x"),)), Number("0")),
        parse("0 < x < 0", ("x",)),
    ],
)
def test_a_hypothesis_that_cannot_be_evaluated_is_no_pass(tree: Statement) -> None:
    odd = Hypothesis(text=text(tree), latex="", prose="", source="", negligible=True, tree=tree)
    result = verify(with_hypothesis(certificate_of("sin"), registry.get("sin"), "jvp_is_derivative", odd))
    assert result.outcome == "not checked"


RELU = "relu"


def relu(**fields: object) -> Certificate:
    return sealed(replace(certificate_of(RELU), **fields))


def without_claim(k: int) -> list:
    claims = list(certificate_of(RELU).claims)
    del claims[k]
    return claims


@pytest.mark.parametrize(
    "certificate, said",
    [
        (lambda: replace(certificate_of(RELU), source="someone else"), "checksum"),
        (lambda: replace(certificate_of(RELU), checksum="0" * 64), "checksum"),
        (lambda: replace(certificate_of(RELU), checksum=""), "checksum"),
        (lambda: relu(op="relu6"), "domain"),
        (lambda: relu(op="abs"), "is not that of"),
        (lambda: relu(verdict="proved"), "is not the worst of its claims"),
        (lambda: relu(verdict="unproved"), "is not the worst of its claims"),
        (lambda: relu(claims=without_claim(0)), "its claims are"),
        (lambda: relu(claims=without_claim(2)), "its claims are"),
        (lambda: relu(claims=[*certificate_of(RELU).claims, certificate_of(RELU).claims[0]]), "its claims are"),
        (lambda: relu(signature=["*s, *s -> *s"]), "signature"),
        (lambda: relu(domain=[]), "domain"),
        (lambda: relu(params={"alpha": ""}), "parameters"),
        (lambda: relu(traced=[]), "traced"),
        (lambda: relu(traced=[replace(certificate_of(RELU).traced[0], digest="0" * 64)]), "another program"),
    ],
)
def test_edited_certificates_fail(certificate, said: str) -> None:
    result = verify(certificate())
    assert result.outcome == "failed"
    assert any(said in problem for problem in result.problems)


def test_a_renamed_op_fails_by_its_digest_and_by_evaluation() -> None:
    square, identity = registry.get("square"), registry.get("identity")
    renamed = for_code_of(certificate_of("square"), identity.with_rules())
    kept = replace(renamed, traced=certificate_of("square").traced)
    assert verify(sealed(kept)).outcome == "failed"
    wrong = identity.with_rules(jvp=square.jvp_rule)
    assert verify(for_code_of(certificate_of("square"), wrong), wrong).outcome == "failed"
    assert verify(relu(op="nosuch")).outcome == "not checked"


@pytest.mark.parametrize("name", ["jax", "kernel", "certgrad", "sympy", "isl", "flint"])
def test_other_versions_are_never_a_pass(name: str) -> None:
    certificate = certificate_of(RELU)
    result = verify(sealed(replace(certificate, versions=certificate.versions | {name: "0.0.1"})))
    assert result.outcome == "not checked"
    assert f"{name} 0.0.1 (here" in result.problems[0]
    assert result.points == 0


def test_another_version_installed_is_never_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = certificate_of(RELU)
    monkeypatch.setattr(_declared.jax, "__version__", "99.0")
    assert verify(certificate).outcome == "not checked"


def test_what_is_not_proved_is_said_and_does_not_pass() -> None:
    @op("*s -> *s", registry=Registry())
    def wrong(x):
        """Twice x."""
        return 2 * x

    wrong.jvp(lambda x, dx: 3 * dx)
    wrong.vjp(lambda x, seed: 3 * seed)
    result = verify(audit(wrong), wrong)
    assert result.outcome == "not a proof"
    assert result.problems == ("wrong.jvp_is_derivative is refuted",)


@pytest.mark.slow
def test_the_same_call_draws_the_same_points() -> None:
    certificate = certificate_of("logsumexp")
    assert verify(certificate) == verify(certificate)
    assert verify(certificate, draws=40).points > verify(certificate).points
    assert verify(certificate, seed="other").outcome == "verified"


@pytest.mark.slow
def test_the_level_says_how_far_it_is_exact() -> None:
    for name, level in (("matmul", "for all sizes"), ("relu", "for all sizes"), ("flip", "at sizes ≤ ")):
        found = verify(certificate_of(name))
        assert found.level.startswith(f"exact {level}")
        assert int(found.error.removeprefix("2^")) <= -80


def test_a_claim_beyond_exact_evaluation_is_left_to_balls() -> None:
    """Its roots of sums of exponentials leave no bound that is small enough."""
    found = verify(certificate_of("post_norm_attention"))
    assert (found.outcome, found.level, found.error) == ("verified", "balls", "")
