"""What is taken for granted of an update's state is what the statement says, of the arrays that it says it of."""

from collections import OrderedDict
from typing import Any

import jax
import jax.numpy as jnp
import optax
import pytest

from certgrad import trace
from certgrad.errors import UsageError
from certgrad.graph import TracedGraph
from certgrad.training import SGD, certify_step, from_optax, prove_kept, prove_update, training_step
from certgrad.training._updates import Update


@pytest.fixture(scope="module")
def graph() -> TracedGraph:
    return trace(lambda x, W, b: jnp.mean((x @ W + b) ** 2), "x: n d", "W: d h", "b: h")


def update(stated: Any, moments: tuple[str, ...] = (), **more: Any) -> Update:
    """The statement, and a program that does it parameter by parameter."""

    def run(params: Any, grads: Any, state: Any, hyper: Any) -> Any:
        found = {n: stated(params[n], grads[n], tuple(state[m][n] for m in moments), None, hyper) for n in grads}
        kept = {m: {n: found[n][k + 1] for n in grads} for k, m in enumerate(moments)}
        return {n: found[n][0] for n in grads}, kept

    more = {"hyperparameters": {"lr": 0.1}, **more}
    return Update(name="own", formula=("",), stated=stated, run=run, source="", moments=moments, **more)


def test_a_name_that_begins_like_another_is_another(graph: TracedGraph) -> None:
    def stated(theta: Any, g: Any, moments: Any, t: Any, hyper: Any) -> Any:
        v, v_hat = moments
        return theta - hyper["lr"] * g * jnp.sqrt(v_hat) * jnp.sqrt(hyper["v_min"]), v + g**2, v_hat - g**2

    own = update(stated, ("v", "v_hat"), nonnegative=("v",), hyperparameters={"lr": 0.1, "v_min": 1.0})
    found = certify_step(graph, own, ["W", "b"])
    assert {"update: v_hat_W ≥ 0", "update: v_hat_b ≥ 0", "update: v_min ≥ 0"} <= set(found.hypotheses)
    assert "v_min ≥ 0" not in found.kept


def test_what_is_kept_is_proved_at_the_parameters_own_shapes(graph: TracedGraph) -> None:
    def stated(theta: Any, g: Any, moments: Any, t: Any, hyper: Any) -> Any:
        (s,) = moments
        return theta - hyper["lr"] * g * jnp.sqrt(s), s - g**2 if g.ndim == 2 else s + g**2

    own = update(stated, ("s",), nonnegative=("s",))
    assert prove_kept(own).verdict == "proved under hypotheses"
    assert not prove_kept(own, ["d h", "h"]).proved
    found = certify_step(graph, own, ["W", "b"])
    assert not found.kept
    assert "update: s_W ≥ 0" in found.hypotheses


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"positive": ("s",)}, "s is said to be positive, but it is 0.0 at the start"),
        ({"nonnegative": ("s",), "initial": {"s": -1.0}}, "s is said to be nonnegative, but it is -1.0"),
        ({"nonnegative": ("v",)}, "has no moment 'v'; it has s"),
        ({"initial": {"v": 1.0}}, "has no moment 'v'"),
        ({"hyperparameters": {"t": 1.0}}, "'t' stands for two things"),
        ({"hyperparameters": {"s": 1.0}}, "'s' stands for two things"),
    ],
)
def test_a_statement_that_cannot_be(more: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        update(lambda theta, g, moments, t, hyper: (theta, moments[0]), ("s",), **more)


def test_two_arrays_of_one_name() -> None:
    own = update(lambda theta, g, moments, t, hyper: (theta, *moments), ("v", "v_hat"))
    with pytest.raises(UsageError, match="'v_hat_W' stands for two arrays"):
        prove_update(own, {"W": "n", "hat_W": "n"})


def test_no_parameter_is_trained_and_frozen(graph: TracedGraph) -> None:
    with pytest.raises(UsageError, match="W is both trained and frozen"):
        certify_step(graph, from_optax(optax.sgd(0.1)), ["W"], frozen=["W"])


def test_a_state_that_begins_as_a_copy_of_the_parameters_is_not_zero() -> None:
    def averaged(learning_rate: Any) -> Any:
        def step(grads: Any, state: Any, params: Any) -> Any:
            return jax.tree.map(lambda g, p, s: -learning_rate * (g + p - s), grads, params, state["slow"]), state

        return optax.GradientTransformation(lambda params: {"slow": jax.tree.map(jnp.copy, params)}, step)

    own = update(lambda theta, g, moments, t, hyper: (theta - hyper["lr"] * (g + theta - moments[0]), *moments), ("s",))
    with pytest.raises(UsageError, match="not zero at the start, whatever the parameters are"):
        from_optax(averaged, own)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [0.1, 0.2], "fast", True])
def test_a_hyperparameter_is_one_finite_number(graph: TracedGraph, value: Any) -> None:
    step = training_step(graph, SGD, ["W"])
    start = {"W": jnp.ones((3, 2)), "b": jnp.zeros(2)}
    with pytest.raises(UsageError, match="A hyperparameter is one finite number"):
        step.start(start, hyperparameters={"lr": value})
    context = step.start(start, hyperparameters={"lr": 0.1})
    with pytest.raises(UsageError, match="A hyperparameter is one finite number"):
        step.with_hyperparameters(context, {"lr": value})


def test_a_domain_on_hyperparameters_is_asked_when_a_step_starts(graph: TracedGraph) -> None:
    step = training_step(graph, SGD, ["W"], domain=["lr > 0"])
    with pytest.raises(UsageError, match="proved where lr > 0"):
        step.start({"W": jnp.ones((3, 2)), "b": jnp.zeros(2)}, hyperparameters={"lr": -0.1})


def test_parameters_are_nested_as_their_spec_is() -> None:
    nested = trace(lambda p, x: jnp.sum(p["u"] * x - p["v"]), {"u": "n", "v": "n"}, "x: n")
    step = training_step(nested, SGD, ["p"])
    for given in (OrderedDict(v=jnp.ones(2), u=3 * jnp.ones(2)), {"v2": jnp.ones(2), "u2": jnp.ones(2)}):
        with pytest.raises(UsageError, match="p is nested as "):
            step.start({"p": given}, hyperparameters={"lr": 0.1})
