"""Certificates of composed ops: by induction over the nodes; a wrong part, or one without a proof, is found."""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad import audit, obligation, ops, verify
from certgrad._subject import OF_RULES
from certgrad.errors import TraceError, UsageError
from certgrad.graph.certifying import composed as _composed
from certgrad.language.tree import Words
from certgrad.obligations.cache import Cache, Folder, _key
from certgrad.obligations.certificate import Certificate, Hypothesis
from certgrad.ops import Composed, Op, Registry, composed, op
from certgrad.report import json
from tests.obligations.verify.forging import with_hypothesis, without_hypothesis

pytestmark = pytest.mark.usefixtures("proofs_alone")

CERTIFICATES = Path(__file__).parents[3] / "reports" / "certificates"
PERCEPTRON = "n d, h d, h, k h, k -> n k"


def named(certificate: Certificate) -> dict[str, str]:
    return {claim.kind: claim.verdict for claim in certificate.claims}


@pytest.fixture(scope="module")
def mlp() -> Certificate:
    return audit(ops.mlp)


@pytest.mark.slow
def test_a_perceptron_is_proved_where_its_relu_is_differentiable(mlp: Certificate) -> None:
    assert (mlp.verdict, mlp.signature, [c.kind for c in mlp.claims]) == (
        "proved under hypotheses",
        [PERCEPTRON],
        list(OF_RULES),
    )
    for claim in mlp.claims:
        (hypothesis,) = claim.hypotheses
        place, _, text = hypothesis.text.partition(": ")
        assert re.fullmatch(r"relu at perceptrons\.py:\d+", place)
        assert text == "every element of `linear(x, weight_1, bias_1)` ≠ 0"
        assert (hypothesis.source, hypothesis.negligible) == ("asked at node %6", True)
        assert claim.cases[0].scope == "all shapes, by induction over 8 nodes"


def test_its_convention_is_that_of_the_part(mlp: Certificate) -> None:
    (one,) = mlp.conventions
    assert one.point.startswith("x = 0 of relu at perceptrons.py:")
    assert (one.rule, one.jax, one.torch) == ("0", "0", "0")


def test_its_lemmas_and_the_induction_are_named(mlp: Certificate) -> None:
    assert any(text.startswith("induction: ") for text in mlp.rules_used)
    lemmas = [text.partition(" of ")[2] for text in mlp.rules_used if text.startswith("lemma ")]
    assert {text.partition("(")[0] for text in lemmas} == {"op linear", "op relu"}


@pytest.mark.slow
def test_the_same_bytes_each_time(mlp: Certificate) -> None:
    _composed._certified.cache_clear()
    assert json.encode(audit(ops.mlp)) == json.encode(mlp)
    assert json.decode(json.encode(mlp)) == mlp


def test_any_length_of_a_sequence_is_proved_and_verified_by_evaluation() -> None:
    certificate = audit(ops.rnn)
    assert (certificate.verdict, certificate.claims[0].cases[0].scope) == (
        "proved",
        "all shapes, by induction over 12 nodes",
    )
    assert verify(certificate).outcome == "verified"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", ["jvp_is_derivative", "vjp_is_adjoint", "rule_runs_forward"])
def test_evaluation_sees_what_a_part_asks(mlp: Certificate, kind: str) -> None:
    """At a relu that is 0 the JVP is no derivative; the adjoint law and the value hold there as well."""
    dropped = without_hypothesis(mlp, ops.mlp, kind, mlp.claims[0].hypotheses[0].text)
    assert verify(dropped).outcome == ("failed" if kind == "jvp_is_derivative" else "verified")


def test_a_hypothesis_in_words_alone_is_not_checked(mlp: Certificate) -> None:
    hypothesis = Hypothesis(text="x is nice", latex="", prose="", source="", negligible=True, tree=Words("x is nice"))
    result = verify(with_hypothesis(mlp, ops.mlp, "jvp_is_derivative", hypothesis))
    assert result.outcome == "not checked"
    assert (
        "the hypothesis 'x is nice' is not one that can be evaluated: it is said in words alone" in result.problems[0]
    )


def test_what_fails_on_an_open_set_is_marked() -> None:
    """The maxima of a window tie wherever a relu before them is 0; the relu of a polynomial is 0 next to nowhere."""
    committed = json.decode((CERTIFICATES / "conv_norm_relu_pool.json").read_bytes())  # current, as CI checks
    marks = {h.text.partition(" ")[0]: h.negligible for h in committed.claims[0].hypotheses}
    assert marks == {"max_pool2d": False, "relu": True}


def test_an_obligation_is_that_of_the_parts() -> None:
    with pytest.raises(UsageError, match="'mlp' is composed: its obligations are those of its parts"):
        obligation("mlp", "vjp_is_adjoint")


# --- wrong twins: a part is wrong, or the whole is no program of parts

WRONG = Registry()


@op("n d -> n d", domain="x != 0", registry=WRONG)
def leaky(x):
    """A relu whose VJP lets a tenth of the cotangent through."""
    return jnp.maximum(x, 0)


@leaky.jvp
def _(x, dx):
    return jnp.where(x > 0, dx, 0)


@leaky.vjp
def _(x, seed):
    return jnp.where(x > 0, seed, 0.1 * seed)


@op("n d, n d -> n d", registry=WRONG)
def residual(x, y):
    """x + y, whose VJP forgets the residual path."""
    return x + y


@residual.jvp
def _(x, y, dx, dy):
    return dx + dy


@residual.vjp
def _(x, y, seed):
    return jnp.zeros_like(x), seed


@op("n -> n", registry=WRONG)
def doubled(x):
    """The argument, of which both rules say that it is twice that."""
    return x


@doubled.jvp
def _(x, dx):
    return 2 * dx


@doubled.vjp
def _(x, seed):
    return 2 * seed


def program(signature: str, forward) -> Composed:
    """A composed op of its own registry."""
    return composed(signature, registry=Registry())(forward)


@pytest.mark.slow
def test_a_wrong_rule_in_the_middle() -> None:
    def twin(x, weight_1, bias_1, weight_2, bias_2):
        return ops.linear(leaky(ops.linear(x, weight_1, bias_1)), weight_2, bias_2)

    certificate = audit(program(PERCEPTRON, twin))
    assert named(certificate) == {
        "jvp_is_derivative": "unproved",
        "vjp_is_adjoint": "refuted",
        "rule_runs_forward": "unproved",
    }
    (case,) = certificate.claims[1].cases
    assert "its part op leaky(x) at test_composed.py:" in case.reason
    assert case.witness is not None
    assert set(case.witness.inputs) == {"x", "weight_1", "bias_1", "weight_2", "bias_2"}
    assert certificate.claims[0].cases[0].reason == _composed.ELSEWHERE


def test_a_missing_residual_path() -> None:
    def twin(x, weight_1, bias_1, weight_2, bias_2):
        return residual(x, ops.mlp(x, weight_1, bias_1, weight_2, bias_2))

    certificate = audit(program("n d, h d, h, d h, d -> n d", twin))
    assert named(certificate)["vjp_is_adjoint"] == "refuted"
    assert "its part op residual(x, y) at test_composed.py:" in certificate.claims[1].cases[0].reason


def test_a_wrong_rule_inside_a_loop() -> None:
    def twin(x, h):
        return jax.lax.scan(lambda h, row: (jnp.tanh(doubled(h) + row), h), h, x)[0]

    verdicts = named(audit(program("t n, n -> n", twin)))
    assert verdicts == {
        "jvp_is_derivative": "refuted",
        "vjp_is_adjoint": "unproved",
        "rule_runs_forward": "unproved",
    }


def test_two_wrong_parts_that_cancel_are_not_refuted() -> None:
    @op("n -> n", registry=Registry())
    def halved(x):
        """The argument, of which both rules say that it is half of that."""
        return x

    halved.jvp(lambda x, dx: dx / 2)
    halved.vjp(lambda x, seed: seed / 2)
    certificate = audit(program("n -> n", lambda x: halved(doubled(x))))
    assert named(certificate)["jvp_is_derivative"] == "unproved"
    assert certificate.claims[0].cases[0].witness is None


def test_a_part_without_a_proof() -> None:
    certificate = audit(program("n n -> n n", lambda a: ops.tanh(jax.lax.linalg.lu(a)[0])))
    assert certificate.verdict == "unproved"
    assert re.match(r"its part lu\(.\) at test_composed.py:\d+ is unproved", certificate.claims[0].cases[0].reason)


def test_a_program_that_jax_cannot_differentiate() -> None:
    def twin(x):
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), ops.exp(x))

    with pytest.raises(
        TraceError, match=r"JAX could not trace 'twin' \(test_composed.py:\d+\): the jvp does not trace"
    ):
        audit(program("n -> n", twin))


def test_a_narrowing_cast_is_an_idealisation_of_the_whole() -> None:
    certificate = audit(program("n -> n", lambda x: ops.tanh(jax.lax.reduce_precision(x, 8, 7))))
    assert certificate.verdict == "proved"
    assert all(any("reduce_precision" in note for note in claim.idealisations) for claim in certificate.claims)


def test_the_claim_names_the_dtypes_where_the_code_asks_for_them() -> None:
    @jax.custom_vjp
    def square(x):
        return x * x

    square.defvjp(lambda x: (x * x, x), lambda x, g: ((1.0 if x.dtype == jnp.bfloat16 else 2.0) * x * g,))

    @composed("n -> n", registry=Registry())
    def asks(x):
        """A square whose rule is wrong in bfloat16."""
        return square(x)

    scopes = {case.scope for claim in audit(asks).claims for case in claim.cases}
    assert all(scope.startswith("all shapes, float64 only (") for scope in scopes), scopes


def test_a_literal_that_was_rounded_keeps_the_hypotheses() -> None:
    rule = jax.custom_jvp(lambda x: jax.scipy.special.erf(x))
    factor = 2 / np.sqrt(np.pi)
    rule.defjvp(lambda p, t: (rule(p[0]), factor * jnp.exp(-p[0] * p[0]) * t[0]))
    certificate = audit(program("n -> n", lambda x: rule(x) * ops.relu(x)))
    claim = certificate.claims[0]
    assert certificate.verdict == claim.verdict == "proved up to rounding"
    assert [h.text.partition(": ")[2] for h in claim.hypotheses] == ["every element of `x` ≠ 0"]
    assert any("is read as 2/√π" in text for text in claim.idealisations)


# --- the cache


@pytest.mark.slow
def test_the_cache_serves_what_was_proved_of_the_same_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlp: Certificate
) -> None:
    proofs: list[str] = []
    real = _composed._audited
    monkeypatch.setattr(_composed, "_audited", lambda op, traced: proofs.append(op.name) or real(op, traced))
    folder = Folder(tmp_path)
    assert [audit(ops.mlp, Cache(folder)) for _ in range(2)] == [mlp, mlp]
    assert proofs == ["mlp"]
    other = ops.mlp.with_rules(forward=lambda x, a, b, c, d: ops.linear(ops.silu(ops.linear(x, a, b)), c, d))
    assert audit(other, Cache(folder)).verdict == "proved"
    assert proofs == ["mlp", "mlp"]
    monkeypatch.setattr(_key, "_parts_source", lambda: "an op was edited")
    audit(ops.mlp, Cache(folder))
    assert proofs == ["mlp", "mlp", "mlp"]


def test_nothing_is_kept_of_parts_that_no_key_speaks_of(tmp_path: Path) -> None:
    mine: Op = program("n -> n", lambda x: ops.tanh(x))
    audit(mine, Cache(Folder(tmp_path)))
    assert not list(tmp_path.glob("*.entry"))
