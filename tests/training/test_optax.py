"""The stated updates are optax's, on the same state: traced at symbolic shapes, with symbolic hyperparameters.

Covered: `optax.sgd` (without momentum, with it, with Nesterov's), `optax.adam` and `optax.adamw` with `eps_root` 0,
`mu_dtype` None, no Nesterov momentum and no mask. optax counts steps in integers that stop at their largest value, so
the equality holds while t is below it, which is a hypothesis.
"""

from functools import partial
from typing import Any

import jax.numpy as jnp
import pytest

from certgrad.errors import UsageError
from certgrad.rules import Equality
from certgrad.training import ADAM, ADAMW, MOMENTUM, NESTEROV, SGD, from_optax
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


def test_adam() -> None:
    found = proof(optax.adam, ADAM)
    assert found.verdict == "proved under hypotheses", found
    assert found.hypotheses == ASKED


@pytest.mark.parametrize("options", [{"eps_root": 1e-3}, {"nesterov": True}], ids=str)
def test_adam_of_another_configuration_is_another_update(options: dict) -> None:
    assert proof(partial(optax.adam, **options), ADAM, {"W": "n"}).verdict == "refuted"


def test_adamw() -> None:
    found = proof(optax.adamw, ADAMW)
    assert found.verdict == "proved under hypotheses", found
    assert found.hypotheses == ASKED


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
