"""The stated updates are optax's, on the same state: traced at symbolic shapes, with symbolic hyperparameters.

Covered: `optax.sgd` (without momentum, with it, with Nesterov's), `optax.adam` and `optax.adamw` with `eps_root` 0,
`mu_dtype` None, no Nesterov momentum and no mask. optax counts steps in integers that stop at their largest value, so
the equality holds while t is below it.
"""

from typing import Any

import pytest

from certgrad.rules import Equality
from certgrad.training import ADAM, ADAMW, MOMENTUM, NESTEROV, SGD
from certgrad.training._proof import prove_update
from certgrad.training._updates import Update

optax = pytest.importorskip("optax")
SHAPES = {"W": "d h", "b": "h"}
BELOW = "t < 2147483647"


def adapted(make: Any, before: Any, after: Any) -> Any:
    """An optimizer of optax as a program over named parameters; `before` and `after` translate the state."""

    def run(params, grads, state, hyper):
        updates, new = make(hyper).update(grads, before(state), params)
        return optax.apply_updates(params, updates), after(new)

    return run


def adam_like(make: Any, further: int) -> Any:
    """`further` transformations without a state follow that of Adam's moments."""
    empty = (optax.EmptyState(),) * further
    return adapted(
        make,
        lambda state: (optax.ScaleByAdamState(state["t"], state["m"], state["v"]), *empty),
        lambda new: {"t": new[0].count, "m": new[0].mu, "v": new[0].nu},
    )


def proof(update: Update, run: Any, shapes: dict[str, str] = SHAPES) -> Equality:
    return prove_update(update, shapes, run=run, domain=(BELOW,) if update.counts else ())


def test_sgd() -> None:
    plain = adapted(lambda h: optax.sgd(h["lr"]), lambda s: (optax.EmptyState(),) * 2, lambda new: {})
    assert proof(SGD, plain).verdict == "proved"


def momentum(**options: Any) -> Any:
    return adapted(
        lambda h: optax.sgd(h["lr"], h["momentum"], **options),
        lambda s: (optax.TraceState(s["m"]), optax.EmptyState()),
        lambda new: {"m": new[0].trace},
    )


def test_momentum() -> None:
    assert proof(MOMENTUM, momentum()).verdict == "proved"
    assert proof(NESTEROV, momentum(nesterov=True)).verdict == "proved"
    assert proof(MOMENTUM, momentum(nesterov=True)).verdict == "refuted"


ASKED = ["b1 < 1", "b1 > 0", "b2 < 1", "b2 > 0", "eps > 0", "t < 2147483647", "t ≥ 0", "v_W ≥ 0", "v_b ≥ 0"]


def test_adam() -> None:
    found = proof(ADAM, adam_like(lambda h: optax.adam(h["lr"], h["b1"], h["b2"], h["eps"]), 1))
    assert found.verdict == "proved under hypotheses", found
    assert found.hypotheses == ASKED


@pytest.mark.parametrize("options", [{"eps_root": 1e-3}, {"nesterov": True}], ids=str)
def test_adam_of_another_configuration_is_another_update(options: dict) -> None:
    run = adam_like(lambda h: optax.adam(h["lr"], h["b1"], h["b2"], h["eps"], **options), 1)
    assert proof(ADAM, run, {"W": "n"}).verdict == "refuted"


def test_adamw() -> None:
    def make(h: Any) -> Any:
        return optax.adamw(h["lr"], h["b1"], h["b2"], h["eps"], weight_decay=h["weight_decay"])

    found = proof(ADAMW, adam_like(make, 2))
    assert found.verdict == "proved under hypotheses", found
    assert found.hypotheses == ASKED


def test_decay_in_the_gradient_is_not_adamw() -> None:
    def make(h: Any) -> Any:
        return optax.chain(
            optax.add_decayed_weights(h["weight_decay"]), optax.adam(h["lr"], h["b1"], h["b2"], h["eps"])
        )

    empty = optax.EmptyState()
    run = adapted(
        make,
        lambda s: (empty, (optax.ScaleByAdamState(s["t"], s["m"], s["v"]), empty)),
        lambda new: {"t": new[1][0].count, "m": new[1][0].mu, "v": new[1][0].nu},
    )
    assert proof(ADAMW, run, {"W": "n"}).verdict == "refuted"
