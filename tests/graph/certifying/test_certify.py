"""Induction over the nodes: what is proved, under which hypotheses, and what a planted wrong rule does."""

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
import pytest

from certgrad import ops
from certgrad.errors import TraceError
from certgrad.graph import GraphCertificate, certify, decode, encode, trace
from certgrad.graph import certificate as as_data
from certgrad.graph.ir import Ref
from tests.graph import models
from tests.graph.models import MLP, mlp, mlp_with

pytestmark = pytest.mark.usefixtures("proofs_alone")


def certificate(fn, *specs: str) -> GraphCertificate:
    return certify(trace(fn, *specs))


def texts(found: GraphCertificate) -> list[str]:
    """The hypotheses without their source lines."""
    return [h.text.split(": ", 1)[1] for h in found.hypotheses]


@pytest.fixture(scope="module")
def perceptron() -> GraphCertificate:
    return certificate(mlp, *MLP)


def test_the_perceptron_asks_for_its_preactivations_and_nothing_else(perceptron: GraphCertificate) -> None:
    assert perceptron.verdict == "proved under hypotheses"
    assert texts(perceptron) == ["every element of `x @ W1 + b1` ≠ 0"]
    assert perceptron.hypotheses[0].text.startswith("maximum at models.py:")
    assert perceptron.dimensions == []
    assert perceptron.findings == []


def test_conclusions(perceptron: GraphCertificate) -> None:
    assert {c.name: c.holds for c in perceptron.conclusions} == {
        "adjoint law": True,
        "derivative": True,
        "gradient": True,
    }
    assert "∂mlp/∂W1" in perceptron.conclusions[2].statement


def test_each_step_names_its_lemma_and_the_sizes(perceptron: GraphCertificate) -> None:
    lemmas = {one.digest: one for one in perceptron.lemmas}
    first, second = perceptron.steps[6], perceptron.steps[10]
    assert first.lemma == second.lemma
    assert lemmas[first.lemma].signature == "x [n, m], y [m, k] -> [n, k]"
    assert first.instantiation == {"n": "n", "m": "d", "k": "h"}
    assert second.instantiation == {"n": "n", "m": "h", "k": "c"}
    assert first.arguments == {"x": Ref(node=0), "y": Ref(node=1)}
    assert all(s.lemma in lemmas for s in perceptron.steps if s.lemma)


def test_a_division_by_a_size_is_discharged(perceptron: GraphCertificate) -> None:
    (one,) = [d for s in perceptron.steps for d in s.discharged]
    assert (one.formula, one.because) == ("y ≠ 0", "`c*n` > 0")


def test_cotangents_of_a_value_used_several_times_are_added() -> None:
    found = certificate(lambda x: jnp.sum(x * jnp.exp(x) + x), "x: n")
    assert found.verdict == "proved"
    assert len(found.steps[0].cotangents[0].contributions) == 3


def test_an_output_that_is_used_gets_its_seed_as_well() -> None:
    found = certificate(lambda x: (jnp.exp(x), jnp.sin(jnp.exp(x))), "x: n")
    assert found.steps[1].cotangents[0].contributions[0] == "seed 0"


def test_certificates_are_deterministic_and_strict(perceptron: GraphCertificate) -> None:
    assert encode(certificate(mlp, *MLP)) == encode(perceptron)
    assert decode(encode(perceptron)) == perceptron
    with pytest.raises(msgspec.ValidationError):
        decode(encode(perceptron).replace(b'"verdict"', b'"verdicts"', 1))


def test_a_malformed_graph_is_refused() -> None:
    traced = trace(mlp, *MLP)
    nodes = list(traced.nodes)
    nodes[6] = msgspec.structs.replace(nodes[6], operands=[Ref(node=1), Ref(node=0)])
    traced.ir = msgspec.structs.replace(traced.ir, nodes=nodes)
    with pytest.raises(TraceError, match=r"is not well formed: node 6 \(dot_general\), operand 0"):
        certify(traced)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("activation", [jax.nn.relu, ops.relu, models.right_vjp])
def test_right_rules_of_every_kind(activation) -> None:
    found = certificate(mlp_with(activation), *MLP)
    assert found.verdict == "proved under hypotheses"
    assert texts(found) == ["every element of `x @ W1 + b1` ≠ 0"]


WHERE_ZERO = "relu at models.py:18: every element of `x @ W1 + b1` < 0"
"""Where a rule's factor has nothing to multiply."""


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "activation, name, kind",
    [
        (models.wrong_jvp, "wrong_jvp", "jvp_is_derivative"),
        (models.wrong_mask, "relu", "vjp_is_adjoint"),
        (models.wrong_forward, "relu", "rule_runs_forward"),
        (models.scaled_op, "relu", "vjp_is_adjoint"),
    ],
)
def test_a_planted_wrong_rule_is_refuted_by_name(activation, name: str, kind: str) -> None:
    found = certificate(mlp_with(activation), *MLP)
    assert found.verdict == "refuted"
    finding, *where, own = found.findings
    assert own.startswith("the graph is refuted: vjp_is_adjoint: the two sides differ at the witness")
    assert finding.startswith(f"%9 {name} at models.py:")
    assert f"is refuted: {kind}: the two sides differ at the witness" in finding
    assert not where or where == [f"the graph is proved under hypotheses where %9 {name} is right: {WHERE_ZERO}"]
    assert not any(c.holds for c in found.conclusions)
    assert sum(s.verdict == "proved" for s in found.steps) == len(found.steps) - 1


def test_rules_are_told_apart_though_the_functions_read_the_same() -> None:
    found = certificate(lambda x: jnp.sum(models.right_jvp(x) + models.wrong_jvp(x)), "x: n")
    assert [s.verdict for s in found.steps if s.operation.startswith("custom_jvp")] == ["proved", "refuted"]


def test_a_rule_that_is_not_followed_is_unproved_and_the_rest_is_reported() -> None:
    found = certificate(lambda x: jnp.sum(jnp.exp(jnp.cumprod(x))), "x: n")
    assert found.verdict == "unproved"
    assert any("cumprod at test_certify.py" in f and "JAX could not trace the jvp" in f for f in found.findings)
    assert {s.operation: s.verdict for s in found.steps}["exp(x)"] == "proved"


def test_repeated_operands_are_one_argument() -> None:
    assert certificate(lambda x: jnp.maximum(x, x), "x: n").verdict == "proved"


@pytest.mark.parametrize("fn", [lambda x: jnp.maximum(x, x + 0), lambda x: jnp.log(-jnp.exp(x))])
def test_hypotheses_that_nothing_satisfies_prove_nothing(fn) -> None:
    found = certificate(fn, "x: n")
    assert found.verdict == "unproved"
    assert found.findings[-1].endswith("nothing shows that they can hold together")


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: jnp.sqrt(x * x + 1e-6),
        lambda x: jnp.log(jnp.exp(x) + 1),
        lambda x: x / jnp.sum(jnp.exp(x)),
        lambda x: jnp.log(ops.softmax(x)),
        lambda x: ops.log(jnp.exp(x) + 1),
    ],
)
def test_signs_discharge_hypotheses(fn) -> None:
    found = certificate(fn, "x: n")
    assert found.verdict == "proved"
    assert any(s.discharged for s in found.steps)


def test_a_comparison_says_where_it_is_constant() -> None:
    found = certificate(lambda x: jnp.where(x > 0, x * x, 0), "x: n")
    assert texts(found) == ["every element of `x` ≠ 0"]
    assert found.hypotheses[0].text.startswith("gt at ")


def test_a_select_does_not_weaken_what_its_operand_needs() -> None:
    found = certificate(lambda x: jnp.where(x > 0, jnp.sqrt(x), 0), "x: n")
    assert "every element of `x` > 0" in texts(found)


def test_stop_gradient_is_a_surrogate() -> None:
    found = certificate(lambda x: x * jax.lax.stop_gradient(x), "x: n")
    assert found.verdict == "surrogate"
    assert "stop_gradient" in found.findings[0]


def test_sizes_at_which_the_function_is_another_program() -> None:
    found = certificate(models.branches, "x: n", "y: m")
    assert found.verdict == "proved under hypotheses"
    assert any(d.startswith("where m = n: abs at ") for d in found.dimensions)


def test_a_rule_that_depends_on_the_size() -> None:
    @jax.custom_jvp
    def square(x):
        return x * x

    square.defjvp(lambda p, t: (square(p[0]), (3 if p[0].shape[0] == 7 else 2) * p[0] * t[0]))
    found = certificate(lambda x: square(x), "x: n")
    assert found.verdict == "refuted"
    assert any(text.startswith("the graph is refuted where n = 7: ") for text in found.findings)


def test_a_rule_that_closes_over_a_traced_value_is_refused() -> None:
    def f(x, a):
        @jax.custom_jvp
        def scale(x):
            return x * a

        scale.defjvp(lambda p, t: (scale(*p), t[0] * a))
        return scale(x)

    found = certificate(f, "x: n", "a:")
    assert found.verdict == "unproved"
    assert "a rule closes over a value that is being traced" in found.findings[0]


def test_a_dropped_cotangent_is_refuted() -> None:
    @jax.custom_vjp
    def product(x, y):
        return x * y

    product.defvjp(lambda x, y: (x * y, y), lambda y, g: (g * y, None))
    assert certificate(lambda x, y: product(x, y), "x: n", "y: n").verdict == "refuted"


def test_a_jvp_that_is_not_linear_is_refuted() -> None:
    @jax.custom_jvp
    def square(x):
        return x * x

    square.defjvp(lambda p, t: (square(*p), 2 * p[0] * t[0] + 1))
    assert certificate(lambda x: square(x), "x: n").verdict == "refuted"


def test_a_narrowing_cast_is_an_assumption() -> None:
    found = certificate(lambda x: jnp.sin(x.astype(jnp.bfloat16)), "x: n")
    assert found.verdict == "proved"
    assert any("the cast to bfloat16 is read as exact" in a for a in found.assumptions)


def tripled_in(dtype, factor):
    """A rule that is another in one dtype, off by the factor there."""
    rule = jax.custom_vjp(lambda x: jnp.mean(x.astype(jnp.float32)).astype(x.dtype) + 3 * x)

    def bwd(x, g):
        of_mean = jnp.broadcast_to(jnp.sum(g) / x.shape[0], x.shape).astype(x.dtype)
        return (((factor if x.dtype == dtype else 1) * (of_mean + 3 * g)).astype(x.dtype),)

    rule.defvjp(lambda x: (rule(x), x), bwd)
    return rule


@pytest.mark.one_in(3)
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16, jnp.float32])
def test_a_rule_is_proved_in_the_dtype_of_its_operand(dtype) -> None:
    for factor, proved in ((2, False), (1, True)):
        rule = tripled_in(dtype, factor)
        found = certificate(lambda x, f=rule: f(x.astype(dtype)).astype(x.dtype) + f(x), "x: n")
        assert (found.verdict == "proved") is proved, found.findings


def test_floats_of_half_precision_beside_literals() -> None:
    assert certificate(lambda x: jax.nn.gelu(2 * x.astype(jnp.bfloat16)).astype(x.dtype), "x: n").verdict == "proved"


def test_integers_and_constants_need_no_lemma() -> None:
    found = certificate(lambda x, k: x * k, "x: n", "k: n:int")
    assert found.verdict == "proved"
    assert found.steps[1].cotangents == []


def test_values_that_depend_on_a_size_alone() -> None:
    """They cannot be computed once for all sizes: the hypothesis stays."""

    def f(x):
        return x * jax.scipy.special.erfinv(jnp.arange(x.shape[0]) / (2.0 * x.shape[0]))

    assert "erf_inv" in " ".join(h.text for h in certify(trace(f, "x: n")).hypotheses)


def test_the_text_of_a_graph_does_not_depend_on_the_process() -> None:
    text = str(trace(lambda x: x * jax.random.uniform(jax.random.key(0), x.shape), "n"))
    assert "threefry_seed" in text
    assert " at 0x" not in text


def erf_rule(factor):
    rule = jax.custom_jvp(lambda x: jax.scipy.special.erf(x))
    rule.defjvp(lambda p, t: (rule(p[0]), factor * jnp.exp(-p[0] * p[0]) * t[0]))
    return rule


def test_a_literal_that_was_rounded() -> None:
    """2/√π as a double is read as 2/√π, and said to be; another factor is another factor."""
    certificate = certify(trace(lambda x: jnp.sum(erf_rule(2 / np.sqrt(np.pi))(x) * jax.nn.relu(x)), "f64[n]"))
    assert certificate.verdict == "proved up to rounding"
    assert all(c.holds for c in certificate.conclusions)
    assert any(text.endswith("1.1283791670955126 is read as 2/√π.") for text in certificate.assumptions)
    assert len(certificate.hypotheses) == 1
    assert any("is proved up to rounding" in text for text in certificate.findings)
    assert certify(trace(erf_rule(1.01 * 2 / np.sqrt(np.pi)), "n:f64")).verdict == "refuted"
    off_by_rounding = certify(trace(erf_rule(1.1283791670955), "n:f64"))
    assert off_by_rounding.verdict == "unproved", "what is no larger than rounding refutes nothing"


def test_a_literal_that_was_rounded_to_32_bits() -> None:
    """There are fewer closed forms to believe in: what is off by more than the rounding is another factor."""
    certificate = certify(trace(erf_rule(2 / np.sqrt(np.pi)), "n"))
    assert certificate.verdict == "proved up to rounding"
    assert any(text.endswith("1.1283792 is read as 2/√π.") for text in certificate.assumptions)
    for factor in (1.1283, 1.01 * 2 / np.sqrt(np.pi)):
        assert certify(trace(erf_rule(factor), "n")).verdict == "refuted"
    assert certify(trace(erf_rule(1.1283802), "n")).verdict == "unproved"


@pytest.mark.parametrize("size", [1, 3, 10_000])
def test_a_certificate_is_encoded_in_pieces_of_its_json(
    perceptron: GraphCertificate, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(as_data, "PIECE", size)
    assert b"".join(as_data.pieces(perceptron)) == msgspec.json.encode(perceptron, order="deterministic")
