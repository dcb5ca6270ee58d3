"""The stated updates are optax's, on the same state: traced at symbolic shapes, with symbolic hyperparameters.

Covered: `optax.sgd` (without momentum, with it, with Nesterov's), `optax.adam` and `optax.adamw` with `eps_root` 0,
`mu_dtype` None, no Nesterov momentum and no mask; those of `STATED`; after clipping, or decay in the gradient. optax
counts steps in integers that stop at their largest value, so the equality holds while t is below it, which is a
hypothesis. Other transformations run as they are (`UNSTATED`).
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certgrad
from certgrad.errors import UsageError
from certgrad.rules import Equality
from certgrad.training import (
    ADADELTA,
    ADAGRAD,
    ADAM,
    ADAMAX,
    ADAMW,
    AMSGRAD,
    CLIP,
    CLIP_BY_GLOBAL_NORM,
    DECAY,
    LAMB,
    LION,
    MOMENTUM,
    NADAM,
    NADAMW,
    NESTEROV,
    RMSPROP,
    SGD,
    SIGN_SGD,
    YOGI,
    certify_step,
    decode,
    encode,
    from_optax,
    render,
    train,
    training_step,
)
from certgrad.training._proof import prove_update
from certgrad.training._updates import Update

optax = pytest.importorskip("optax")
SHAPES = {"W": "d h", "b": "h"}


def proof(make: Any, update: Update, shapes: dict[str, str] = SHAPES) -> Equality:
    return prove_update(from_optax(make, update), shapes)


def test_sgd() -> None:
    assert proof(optax.sgd, SGD).verdict == "proved"


def test_momentum() -> None:
    nesterov = partial(optax.sgd, nesterov=True)
    assert proof(optax.sgd, MOMENTUM).verdict == "proved"
    assert proof(nesterov, NESTEROV).verdict == "proved"
    assert proof(nesterov, MOMENTUM).verdict == "refuted"


ASKED = ["b1 < 1", "b1 > 0", "b2 < 1", "b2 > 0", "eps > 0", "t < 2147483647", "t ≥ 0", "v_W ≥ 0", "v_b ≥ 0"]


@pytest.mark.slow
def test_adam() -> None:
    found = proof(optax.adam, ADAM)
    assert found.verdict == "proved under hypotheses", found
    assert found.hypotheses == ASKED


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"eps_root": 1e-3}, {"nesterov": True}], ids=str)
def test_adam_of_another_configuration_is_another_update(options: dict) -> None:
    assert proof(partial(optax.adam, **options), ADAM, {"W": "n"}).verdict == "refuted"


@pytest.mark.slow
def test_adamw() -> None:
    found = proof(optax.adamw, ADAMW)
    assert found.verdict == "proved under hypotheses", found
    assert found.hypotheses == ASKED


@pytest.mark.slow
def test_decay_in_the_gradient_is_not_adamw() -> None:
    def make(learning_rate: Any, b1: Any, b2: Any, eps: Any, weight_decay: Any) -> Any:
        return optax.chain(optax.add_decayed_weights(weight_decay), optax.adam(learning_rate, b1, b2, eps))

    assert proof(make, ADAMW, {"W": "n"}).verdict == "refuted"


def test_what_cannot_be_the_update_is_said_at_once() -> None:
    with pytest.raises(
        UsageError, match=r"The state of <lambda> is not that of sgd, which has none: it holds a count, an"
    ):
        from_optax(lambda learning_rate: optax.adam(learning_rate), SGD)
    with pytest.raises(UsageError, match=r"sgd cannot be made of the hyperparameters of adam, lr, b1, b2, eps"):
        from_optax(optax.sgd, ADAM)
    started = partial(optax.adagrad, initial_accumulator_value=0.1)
    with pytest.raises(UsageError, match=r"not zero at the start"):
        from_optax(lambda learning_rate, momentum: started(learning_rate), MOMENTUM)


def test_it_runs_as_optax_does() -> None:
    update = from_optax(optax.adam, ADAM)
    params, grads = {"a": jnp.ones(3), "b": jnp.zeros((2, 2))}, {"a": jnp.arange(3.0), "b": jnp.ones((2, 2))}
    state, rule = update.start(params), optax.adam(0.1)
    theirs, expected = rule.init(params), params
    for _ in range(3):
        params, state = update.run(params, grads, state, {"lr": 0.1, "b1": 0.9, "b2": 0.999, "eps": 1e-8})
        change, theirs = rule.update(grads, theirs, expected)
        expected = optax.apply_updates(expected, change)
    assert all(jnp.allclose(params[n], expected[n]) for n in params)
    assert int(state["t"]) == 3


def _chain(*parts: Any) -> Any:
    """A chain of parts, each made of some hyperparameters by name."""

    def make(**hyper: Any) -> Any:
        return optax.chain(*(part(**{k: hyper[k] for k in names}) for part, names in parts))

    return make


def _decay(decay_in_gradient: Any) -> Any:
    return optax.add_decayed_weights(decay_in_gradient)


RATE = ("learning_rate",)
BETAS = (*RATE, "b1", "b2", "eps")
STATED = {
    "rmsprop": (optax.rmsprop, RMSPROP),
    "adagrad": (optax.adagrad, ADAGRAD),
    "adadelta": (optax.adadelta, ADADELTA),
    "lion": (optax.lion, LION),
    "nadam": (optax.nadam, NADAM),
    "nadamw": (optax.nadamw, NADAMW),
    "adamax": (optax.adamax, ADAMAX),
    "amsgrad": (optax.amsgrad, AMSGRAD),
    "yogi": (optax.yogi, YOGI),
    "sign_sgd": (optax.sign_sgd, SIGN_SGD),
    "clip": (_chain((optax.clip, ["max_delta"]), (optax.sgd, RATE)), SGD.after(CLIP)),
    "clip by norm": (
        _chain((optax.clip_by_global_norm, ["max_norm"]), (optax.adamw, (*BETAS, "weight_decay"))),
        ADAMW.after(CLIP_BY_GLOBAL_NORM),
    ),
    "decay": (
        _chain((_decay, ["decay_in_gradient"]), (optax.sgd, (*RATE, "momentum"))),
        MOMENTUM.after(DECAY),
    ),
}


def loss(params: Any, x: Any, target: Any) -> Any:
    return jnp.mean((jnp.tanh(x @ params["W"]) @ params["V"]["v"] - target) ** 2)


RANDOM = np.random.default_rng(0)
PARAMS = {
    "W": jnp.asarray(RANDOM.normal(size=(3, 4)), jnp.float32),
    "V": {"v": jnp.asarray(RANDOM.normal(size=4), jnp.float32)},
}
DATA = {"x": jnp.asarray(RANDOM.normal(size=(8, 3)), jnp.float32), "target": jnp.ones(8)}


@pytest.fixture(scope="module")
def graph() -> Any:
    return certgrad.trace(loss, PARAMS, *DATA.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", STATED)
def test_further_updates_are_certified_and_run_as_optax_does(name: str, graph: Any) -> None:
    make, update = STATED[name]
    step = training_step(graph, from_optax(make, update), ["params"])
    assert step.certificate.verdict in ("proved", "proved under hypotheses")
    assert not any("g_" in h for h in step.certificate.hypotheses)  # none is on a gradient
    hyper = {k: 0.01 if v is None else v for k, v in update.hyperparameters.items()}
    context = step.start({"params": PARAMS}, hyperparameters=hyper)
    rule = make(**{"learning_rate" if k == "lr" else k: v for k, v in hyper.items()})
    agrees(step, context, rule)


def agrees(step: Any, context: Any, rule: Any, **more: Any) -> None:
    """Five steps are those of optax with the gradients of JAX."""
    params, state = PARAMS, rule.init(PARAMS)
    for _ in range(5):
        context, value = step(context, **DATA)
        wanted, grads = jax.value_and_grad(loss)(params, **DATA)
        np.testing.assert_allclose(value, wanted, rtol=1e-5)
        given = {"value": wanted, "grad": grads} if more.get("value") else {}
        change, state = rule.update(grads, state, params, **given)
        params = optax.apply_updates(params, change)
    for found, expected in zip(context.parameters.values(), jax.tree.leaves(params), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-5)


@pytest.mark.slow
def test_lamb_is_certified_by_its_own_program_and_runs_as_that_of_optax_does(graph: Any) -> None:
    """That optax's program is the same is beyond the budget of a proof: its norms have norms in their conditions."""
    step = training_step(graph, LAMB, ["params"])
    assert step.certificate.verdict == "proved under hypotheses"
    assert not any("g_" in h for h in step.certificate.hypotheses)
    hyper = {"lr": 0.01, "weight_decay": 0.1}
    agrees(step, step.start({"params": PARAMS}, hyperparameters=hyper), optax.lamb(0.01, weight_decay=0.1))


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "make, update",
    [
        (partial(optax.rmsprop, eps_in_sqrt=False), RMSPROP),
        (optax.nadam, ADAM),
        (_chain((optax.sgd, RATE), (optax.clip, ["max_delta"])), SGD.after(CLIP)),
    ],
)
def test_other_updates_are_not(make: Any, update: Update) -> None:
    assert not proof(make, update, {"W": "n"}).proved


@pytest.mark.parametrize(
    "make, update", [(partial(optax.rmsprop, centered=True), RMSPROP), (partial(optax.adagrad, 0.1), ADAGRAD)]
)
def test_other_states_are_refused(make: Any, update: Update) -> None:
    with pytest.raises(UsageError, match=r"The state of|cannot be made"):
        from_optax(make, update)


MASK = {"W": True, "V": {"v": False}}
LABELS = {"W": "one", "V": {"v": "other"}}
SCHEDULE = optax.warmup_cosine_decay_schedule(0.0, 0.1, 2, 10)
UNSTATED: dict[str, Any] = {
    **{
        name: getattr(optax, name)(1e-2)
        for name in (
            "adabelief adadelta adafactor adagrad adam adamax adamaxw adamw adan amsgrad fromage lamb lars lion nadam "
            "nadamw novograd optimistic_gradient_descent radam rmsprop rprop sgd sign_sgd signum sm3 yogi"
        ).split()
    },
    "momentum": optax.sgd(1e-2, momentum=0.9, nesterov=True),
    "a chain": optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(SCHEDULE, weight_decay=1e-2, mask=MASK)),
    "clip": optax.chain(optax.clip(0.1), optax.sgd(0.1)),
    "adaptive clip": optax.chain(optax.adaptive_grad_clip(0.1), optax.sgd(0.1)),
    "a mask": optax.masked(optax.sgd(0.1), MASK),
    "partition": optax.partition({"one": optax.adam(0.1), "other": optax.sgd(0.1)}, LABELS),
    "inject_hyperparams": optax.inject_hyperparams(optax.adam)(SCHEDULE),
    "many steps": optax.MultiSteps(optax.adam(0.1), 2).gradient_transformation(),
    "noise": optax.chain(optax.add_noise(0.1, 0.55, key=jax.random.key(3)), optax.sgd(0.1)),
    "if finite": optax.apply_if_finite(optax.adam(0.1), 3),
    "schedule free": optax.contrib.schedule_free_sgd(0.1),
    "muon": optax.contrib.muon(0.1),
}
BY_VALUE = {"polyak": optax.polyak_sgd(), "plateau": optax.chain(optax.sgd(0.1), optax.contrib.reduce_on_plateau())}


@pytest.mark.one_in(36)
@pytest.mark.parametrize("name", [*UNSTATED, *BY_VALUE])
def test_any_transformation_runs_on_the_certified_gradient(name: str, graph: Any) -> None:
    rule = {**UNSTATED, **BY_VALUE}[name]
    step = training_step(graph, from_optax(rule), ["params"])
    assert step.certificate.equality is None
    agrees(step, step.start({"params": PARAMS}), rule, value=name in BY_VALUE)


def test_what_is_certified_of_it_is_said(graph: Any) -> None:
    certificate = certify_step(graph, from_optax(optax.adafactor(1e-2)), ["params"])
    assert [c.name for c in certificate.conclusions] == ["gradient", "the rest"]
    text = render(certificate)
    assert text.startswith("training step of loss by optax.chain: the gradient is proved\n")
    assert "no formula is stated of it" in text
    assert "Of the update, optax.chain, no formula is stated and nothing is proved: it runs as it is." in text
    assert decode(encode(certificate)) == certificate


@pytest.mark.slow
def test_its_state_survives_a_checkpoint(graph: Any, tmp_path: Any) -> None:
    pytest.importorskip("orbax.checkpoint")
    for name in ("a chain", "noise", "inject_hyperparams"):
        step = training_step(graph, from_optax(UNSTATED[name]), ["params"])
        start = step.start({"params": PARAMS})
        options = {"log_every": 1, "save_every": 2, "progress": False}
        whole = train(step, start, [DATA], steps=6, folder=tmp_path / f"{name} a", **options)
        train(step, start, [DATA], steps=3, folder=tmp_path / f"{name} b", **options)
        again = train(step, start, [DATA], steps=6, folder=tmp_path / f"{name} b", **options)
        assert again.resumed == 3
        for a, b in zip(jax.tree.leaves(again.context.state), jax.tree.leaves(whole.context.state), strict=True):
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def test_what_it_cannot_be_given_is_said(graph: Any) -> None:
    step = training_step(graph, from_optax(optax.lbfgs()), ["params"])
    with pytest.raises(UsageError, match=r"does not run on the parameters, .* the value of the loss: .*value_fn"):
        step.start({"params": PARAMS})
    with pytest.raises(UsageError, match=r"adam is no transformation of optax\. Pass one, such as optax\.adafactor"):
        from_optax(optax.adam)
    with pytest.raises(UsageError, match="no other program or domain goes with it"):
        training_step(graph, from_optax(optax.sgd(0.1)), ["params"], domain=["lr > 0"])
