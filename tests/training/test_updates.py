"""Stated updates: what runs is the formula, for every parameter of the list and no other; wrong twins are refuted."""

from typing import Any

import jax.numpy as jnp
import pytest

from certgrad.errors import UsageError
from certgrad.training import ADAM, ADAMW, MOMENTUM, NESTEROV, SGD, prove_kept, prove_update
from certgrad.training._updates import Update

SHAPES = {"W": "d h", "params['b']": "h"}
ADAM_ASKS = ["b1 < 1", "b1 > 0", "b2 < 1", "b2 > 0", "eps > 0", "t ≥ 0", "v_W ≥ 0", "v_params_b ≥ 0"]


@pytest.mark.parametrize(
    "update, asks", [(SGD, []), (MOMENTUM, []), (NESTEROV, []), (ADAM, ADAM_ASKS), (ADAMW, ADAM_ASKS)]
)
def test_what_runs_is_what_is_stated(update: Update, asks: list[str]) -> None:
    found = prove_update(update, SHAPES, {"scale": ""})
    assert found.proved, found
    assert found.hypotheses == asks
    assert [c.scope for c in found.claim.cases] == ["all shapes"]


@pytest.mark.parametrize("update", [ADAM, ADAMW], ids=lambda u: u.name)
def test_the_second_moment_stays_nonnegative(update: Update) -> None:
    found = prove_kept(update)
    assert found is not None
    assert found.hypotheses == ["b1 < 1", "b1 > 0", "b2 < 1", "b2 > 0", "eps > 0", "t ≥ 0", "v_θ ≥ 0"]
    assert prove_kept(SGD) is None


def twin(eps: str = "outside", corrected: bool = True, decay: str = "none", factor: int = 1, skipped: str = "") -> Any:
    """Adam with something changed."""

    def run(params, grads, state, hyper):
        t = state["t"] + 1
        b1, b2, lr = hyper["b1"], hyper["b2"], hyper["lr"]
        new, kept = {}, {"t": t, "m": {}, "v": {}}
        for n, theta in params.items():
            g = grads[n] + (hyper["weight_decay"] * theta if decay == "coupled" else 0)
            m = b1 * state["m"][n] + (1 - b1) * g
            v = b2 * state["v"][n] + (1 - b2) * g * g
            first = m / (1 - b1**t) if corrected else m
            second = v / (1 - b2**t) if corrected else v
            root = jnp.sqrt(second + hyper["eps"]) if eps == "inside" else jnp.sqrt(second) + hyper["eps"]
            step = first / root + (hyper["weight_decay"] * theta if decay == "decoupled" else 0)
            new[n] = theta if n == skipped else theta - lr**factor * step
            kept["m"][n], kept["v"][n] = m, v
        return new, kept

    return run


def test_the_twins_without_a_change_are_right() -> None:
    assert prove_update(ADAM, SHAPES, run=twin()).proved
    assert prove_update(ADAMW, SHAPES, run=twin(decay="decoupled")).proved


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    "update, run",
    [
        (ADAM, twin(eps="inside")),
        (ADAM, twin(corrected=False)),
        (ADAM, twin(factor=2)),
        (ADAM, twin(skipped="W")),
        (ADAMW, twin(decay="coupled")),
        (ADAMW, twin()),
    ],
    ids=["eps inside the root", "no correction", "lr twice", "a parameter left out", "coupled decay", "no decay"],
)
def test_wrong_twins_are_refuted(update: Update, run: Any) -> None:
    found = prove_update(update, SHAPES, run=run)
    assert found.verdict == "refuted", found
    assert found.witness is not None


def _exchanged(params, grads, state, hyper):
    a, b = params
    return {a: params[a] - hyper["lr"] * grads[b], b: params[b] - hyper["lr"] * grads[a]}, state


def _ascent(params, grads, state, hyper):
    return {n: p + hyper["lr"] * grads[n] for n, p in params.items()}, state


def _first_only(params, grads, state, hyper):
    first = next(iter(params))
    return {n: p - hyper["lr"] * grads[n] if n == first else p for n, p in params.items()}, state


@pytest.mark.parametrize("run", [_exchanged, _ascent, _first_only])
def test_wrong_gradient_descent_is_refuted(run: Any) -> None:
    assert prove_update(SGD, {"A": "n", "B": "n"}, run=run).verdict == "refuted"


def test_a_state_that_is_not_updated_is_refuted() -> None:
    def stale(params, grads, state, hyper):
        new, _ = MOMENTUM.run(params, grads, state, hyper)
        return new, state

    def undamped(params, grads, state, hyper):
        m = {n: hyper["momentum"] * state["m"][n] + (1 - hyper["momentum"]) * g for n, g in grads.items()}
        return {n: p - hyper["lr"] * m[n] for n, p in params.items()}, {"m": m}

    def stuck(params, grads, state, hyper):
        new, after = ADAM.run(params, grads, state, hyper)
        return new, {**after, "t": state["t"]}

    assert prove_update(MOMENTUM, {"W": "n"}, run=stale).verdict == "refuted"
    assert prove_update(MOMENTUM, {"W": "n"}, run=undamped).verdict == "refuted"
    assert prove_update(ADAM, {"W": "n"}, run=stuck).verdict == "refuted"


def test_programs_that_return_something_else_are_named() -> None:
    dropped = prove_update(SGD, SHAPES, run=lambda p, g, s, h: ({"W": p["W"]}, s))
    assert dropped.verdict == "unproved"
    assert "The update does not return params['b']." in dropped.reason
    added = prove_update(SGD, SHAPES, run=lambda p, g, s, h: ({**p, "more": p["W"]}, s))
    assert "returns more, which it was not given" in added.reason
    bare = prove_update(SGD, SHAPES, run=lambda p, g, s, h: p)
    assert "An update returns two things" in bare.reason
    transposed = prove_update(SGD, {"W": "d h"}, run=lambda p, g, s, h: ({"W": p["W"].T}, s))
    assert "has shape (h, d)" in transposed.reason
    with pytest.raises(UsageError, match="both trained and frozen"):
        prove_update(SGD, {"W": "n"}, {"W": "n"})
    with pytest.raises(UsageError, match="No parameter is trained"):
        prove_update(SGD, {})


def test_a_program_that_asks_whether_it_is_traced_is_not_proved() -> None:
    import jax

    def run(params, grads, state, hyper):
        factor = 1 if isinstance(hyper["lr"], jax.core.Tracer) else 2
        return {n: p - factor * hyper["lr"] * grads[n] for n, p in params.items()}, state

    found = prove_update(SGD, {"W": "n"}, run=run)
    assert found.verdict == "unproved"
    assert "asks whether a value is traced" in found.reason
