"""Training steps: the certificate, and that what runs takes the step that it states."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certgrad
from certgrad.accel import Options
from certgrad.errors import UsageError
from certgrad.training import (
    ADAM,
    ADAMW,
    MOMENTUM,
    SGD,
    StepNotCertifiedError,
    Update,
    certify_step,
    decode,
    encode,
    render,
    training_step,
)
from tests.graph.models import MLP, mlp, mlp_with, wrong_mask

SIZES = {"x": (6, 3), "W1": (3, 4), "b1": (4,), "W2": (4, 2), "b2": (2,), "target": (6, 2)}
PARAMETERS = ["W1", "b1", "W2", "b2"]


@pytest.fixture(scope="module")
def arrays() -> dict[str, Any]:
    keys = jax.random.split(jax.random.key(3), len(SIZES))
    return {n: jax.random.normal(k, s) for k, (n, s) in zip(keys, SIZES.items(), strict=True)}


@pytest.fixture(scope="module")
def graph() -> Any:
    from certgrad.graph.certifying.certify import certification

    return certification(certgrad.trace(mlp, *MLP))


def by_formula(update: Update, gradient: Any, values: dict, frozen: tuple[str, ...], steps: int, hyper: dict) -> dict:
    """Steps of the stated formula, with the gradients of JAX."""
    values = dict(values)
    trained = [n for n in PARAMETERS if n not in frozen]
    moments = {n: tuple(jnp.zeros_like(values[n]) for _ in update.moments) for n in trained}
    for t in range(1, steps + 1):
        gradients = gradient(**values)
        for n in trained:
            values[n], *moments[n] = update.stated(values[n], gradients[n], tuple(moments[n]), t, hyper)
    return values


@pytest.mark.one_in(4)
@pytest.mark.parametrize("update", [SGD, MOMENTUM, ADAM, ADAMW], ids=lambda u: u.name)
def test_steps_are_those_of_the_formula_with_the_gradients_of_jax(update: Update, graph: Any, arrays: dict) -> None:
    step = training_step(graph, update, ["W1", "b1", "W2"], frozen=["b2"])
    context = step.start({n: arrays[n] for n in PARAMETERS}, hyperparameters={"lr": 0.05})
    losses = []
    for _ in range(3):
        context, value = step(context, x=arrays["x"], target=arrays["target"])
        losses.append(float(value))
    assert (context.step, losses[0]) == (3, pytest.approx(float(mlp(**arrays)), rel=1e-5))
    assert losses[2] < losses[0]

    def gradient(**values: Any) -> dict:
        return jax.grad(lambda p: mlp(**{**values, **p}))({n: values[n] for n in PARAMETERS})

    expected = by_formula(update, gradient, arrays, ("b2",), 3, context.hyperparameters)
    for n in PARAMETERS:
        np.testing.assert_allclose(context.parameters[n], expected[n], rtol=2e-5, atol=1e-6)
    assert list(context.parameters) == PARAMETERS
    assert list(context.gradients) == ["W1", "b1", "W2"]
    assert np.array_equal(context.parameters["b2"], arrays["b2"])


def test_gradients_that_are_not_kept_are_no_results_of_the_program(graph: Any, arrays: dict) -> None:
    steps = [training_step(graph, SGD, ["W1"], frozen=["b2"], keep_gradients=keep) for keep in (True, False)]
    data = {n: x for n, x in arrays.items() if n not in PARAMETERS}
    contexts = [s.start({n: arrays[n] for n in PARAMETERS}, hyperparameters={"lr": 0.05}) for s in steps]
    plans = [s.program(c, **data).compile().memory_analysis() for s, c in zip(steps, contexts, strict=True)]
    size = arrays["W1"].size * arrays["W1"].dtype.itemsize
    assert plans[0].output_size_in_bytes - plans[1].output_size_in_bytes >= size
    after = [s(c, **data)[0] for s, c in zip(steps, contexts, strict=True)]
    assert (list(after[0].gradients), list(after[1].gradients)) == (["W1"], [])
    assert np.array_equal(after[0].parameters["W1"], after[1].parameters["W1"])


def test_the_certificate_says_what_holds_and_why(graph: Any) -> None:
    certificate = certify_step(graph, ADAM, ["W1", "b1", "W2"], frozen=["b2"])
    assert certificate.verdict == "proved under hypotheses"
    assert [c.holds for c in certificate.conclusions] == [True, True, True]
    assert certificate.conclusions[0].statement == "g = ∂mlp/∂θ for θ in W1, b1, W2: backprop of the seed 1"
    assert certificate.seed.verdict == "proved"
    assert certificate.hypotheses == [
        "gradient: maximum at models.py:12: every element of `x @ W1 + b1` ≠ 0",
        *(f"update: {h}" for h in ("b1 < 1", "b1 > 0", "b2 < 1", "b2 > 0", "eps > 0")),
    ]
    assert certificate.kept == ["v_W1 ≥ 0", "v_W2 ≥ 0", "v_b1 ≥ 0", "t ≥ 0"]
    assert decode(encode(certificate)) == certificate
    text = render(certificate)
    assert text.startswith("training step of mlp by adam: proved under hypotheses\n")
    assert "for every θ in W1, b1, W2, with g = ∂mlp/∂θ" in text
    assert "unchanged: b2\n" in text


@pytest.mark.parametrize("update", [SGD, pytest.param(ADAM, marks=pytest.mark.slow)], ids=lambda u: u.name)
def test_an_update_runs_in_dtypes_in_which_it_is_the_program_that_was_proved(update: Update, graph: Any, arrays: dict):
    def run(params: Any, grads: Any, state: Any, hyper: Any) -> Any:
        twice = {n: p * (2 if p.dtype == jnp.bfloat16 else 1) for n, p in params.items()}
        return update.run(twice, grads, state, hyper)

    def stepped(run: Any) -> None:
        step = training_step(graph, update, PARAMETERS, run=run, options=Options(dtype="bfloat16"))
        given = {n: arrays[n].astype(jnp.bfloat16) for n in PARAMETERS}
        context = step.start(given, hyperparameters={"lr": 0.5})
        step(context, x=arrays["x"], target=arrays["target"])

    stepped(None)
    with pytest.raises(UsageError, match="in bfloat16 it is another program"):
        stepped(run)


def test_integers_are_handed_on_too(arrays: dict) -> None:
    def loss(x, offset, rows):
        return jnp.sum((x - offset)[rows] ** 2)

    traced = certgrad.trace(loss, "n d", "d", "k:int")
    certificate = certify_step(traced, SGD, ["x"], frozen=["rows", "offset"])
    assert certificate.unchanged == ["rows", "offset"]
    assert certificate.equality.verdict == "proved"
    assert "theta_rows" in certificate.equality.claims[0].statement
    assert "In the update, integer arithmetic stays in the range of its type." in certificate.assumptions


def test_gradient_descent_asks_nothing_of_its_own(graph: Any) -> None:
    certificate = certify_step(graph, SGD, PARAMETERS)
    assert certificate.equality.verdict == "proved"
    assert [h for h in certificate.hypotheses if h.startswith("update")] == []
    assert certificate.kept == []


def test_what_is_not_proved_does_not_run(graph: Any) -> None:
    def too_far(params, grads, state, hyper):
        return {n: p - 2 * hyper["lr"] * grads[n] for n, p in params.items()}, state

    certificate = certify_step(graph, SGD, PARAMETERS, run=too_far)
    assert certificate.verdict == "refuted"
    assert [c.holds for c in certificate.conclusions] == [True, False, False]
    assert "the update too_far is refuted" in render(certificate)
    with pytest.raises(StepNotCertifiedError, match="the update too_far is refuted"):
        training_step(graph, SGD, PARAMETERS, run=too_far)
    assert "the two sides are" in certificate.findings[-1]
    with pytest.raises(StepNotCertifiedError, match="relu at models"):
        training_step(certgrad.trace(mlp_with(wrong_mask), *MLP, name="loss"), SGD, PARAMETERS)


def test_a_hypothesis_on_the_gradient_is_no_step(graph: Any) -> None:
    """Whether it can hold together with those of the loss is not known: the gradient may be 0 everywhere."""

    def normalized(params, grads, state, hyper):
        return {n: p - hyper["lr"] * grads[n] * grads[n] / grads[n] for n, p in params.items()}, state

    certificate = certify_step(graph, SGD, ["W1"], run=normalized)
    assert certificate.equality.verdict == "proved under hypotheses"
    assert certificate.verdict == "unproved"
    assert certificate.findings == [
        "the update normalized is the stated one where g_W1 ≠ 0; whether gradients and parameters are ever like that, "
        "under the hypotheses of the gradient, is not known"
    ]


@pytest.mark.slow
def test_parameters_in_a_structure() -> None:
    def loss(params, x, labels):
        logits = x @ params["W"] + params["b"]
        return -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(x.shape[0]), labels])

    traced = certgrad.trace(loss, {"W": "d c", "b": "c"}, "n d", "n:int")
    step = training_step(traced, SGD, ["params"])
    assert step.trained == ["params['W']", "params['b']"]
    params = {"W": jnp.ones((3, 2)), "b": jnp.zeros(2)}
    x, labels = jnp.arange(12.0).reshape(4, 3) / 10, jnp.array([0, 1, 1, 0])
    context, value = step(step.start({"params": params}, hyperparameters={"lr": 1.0}), x=x, labels=labels)
    expected = jax.grad(loss)(params, x, labels)
    np.testing.assert_allclose(context.parameters["params['W']"], params["W"] - expected["W"], rtol=1e-5)
    assert float(value) == pytest.approx(float(jnp.log(2.0)))


@pytest.mark.slow
def test_messages_name_what_is_wrong(graph: Any, arrays: dict) -> None:
    with pytest.raises(UsageError, match=r"There is no parameter 'W3'\. The arrays are x, W1"):
        certify_step(graph, SGD, ["W3"])
    with pytest.raises(UsageError, match="does not return one real number"):
        certify_step(certgrad.trace(lambda x: x, "n"), SGD, ["x"])
    step = training_step(graph, SGD, PARAMETERS)
    values = {n: arrays[n] for n in PARAMETERS}
    with pytest.raises(UsageError, match="sgd needs a value for lr"):
        step.start(values)
    with pytest.raises(UsageError, match="sgd has no hyperparameter 'b1'; it has lr"):
        step.start(values, hyperparameters={"lr": 1, "b1": 1})
    with pytest.raises(UsageError, match="The parameter b2 has no value"):
        step.start({n: arrays[n] for n in PARAMETERS[:3]}, hyperparameters={"lr": 1})
    context = step.start(values, hyperparameters={"lr": 1})
    with pytest.raises(UsageError, match=r"needs a value for target. Pass it, as step\(context, target=…\)"):
        step(context, x=arrays["x"])
    with pytest.raises(UsageError, match="W1 is a parameter of the context"):
        step(context, **arrays)
    with pytest.raises(UsageError, match="There is no argument 'y'"):
        step(context, x=arrays["x"], y=arrays["target"])
    adam = training_step(graph, ADAM, PARAMETERS)
    with pytest.raises(UsageError, match="adam is proved where b1 < 1, and that does not hold of lr = "):
        adam.start(values, hyperparameters={"b1": 1})


def test_an_update_is_not_traced_again_after_what_it_reads_has_changed() -> None:
    """JAX traces it at the first step, and at other sizes: the certificate is about what it was before."""
    settings = {"decay": 0.0}

    def update(params: Any, grads: Any, state: Any, hyper: Any) -> Any:
        kept = {k: p - hyper["lr"] * grads[k] - settings["decay"] * p for k, p in params.items()}
        return kept, state

    graph = certgrad.trace(lambda x, w: jnp.mean((x @ w) ** 2), "x: n d", "w: d h")
    step = certgrad.training.training_step(graph, certgrad.training.SGD, ["w"], run=update)
    x, w = jnp.ones((3, 2)), jnp.ones((2, 4))
    context, _ = step(step.start({"w": w}, hyperparameters={"lr": 0.25}), x=x)
    assert context.parameters["w"].shape == (2, 4)
    settings["decay"] = 0.5
    with pytest.raises(UsageError, match="is not what it was when this step was certified"):
        step(step.start({"w": jnp.ones((5, 4))}, hyperparameters={"lr": 0.25}), x=jnp.ones((3, 5)))
