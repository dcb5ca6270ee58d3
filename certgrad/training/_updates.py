"""Stated updates: the formula of one parameter's step, as published, and a program that takes a step of all of them.

The formula is the statement. The program is what runs, over dictionaries of named arrays; `_proof` proves that it is
the formula for every parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp

from certgrad.errors import UsageError

THETA, GRADIENT, COUNT = "theta", "g", "t"
RESERVED = (THETA, GRADIENT, COUNT)
Named = Mapping[str, Any]
Run = Callable[[Named, Named, Named, Named], tuple[Mapping[str, Any], Mapping[str, Any]]]
"""A program: takes parameters, gradients, state and hyperparameters by name; returns the new parameters and state."""
Stated = Callable[[Any, Any, tuple[Any, ...], Any, Named], tuple[Any, ...]]
"""A formula: takes one parameter, its gradient, its moments, the new count of steps and the hyperparameters. It returns
the new parameter, then its new moments."""


@dataclass(frozen=True)
class Stage:
    """A change of all gradients before the step of each parameter, such as clipping by their norm."""

    name: str
    formula: tuple[str, ...]
    apply: Callable[[Named, Named, Named], Mapping[str, Any]]
    """Takes parameters, gradients and hyperparameters by name; returns the gradients that the step takes."""
    hyperparameters: Mapping[str, float | None]
    conditions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Update:
    """An optimizer's step as a statement about one parameter θ with gradient g, and a program for many.

    The state holds each of `moments` for each parameter, in its shape, and the count `t` of steps taken if `counts`.
    Both are zero at the start, except for moments in `initial`.
    """

    name: str
    formula: tuple[str, ...]
    """The formula of `stated` in lines for people."""
    stated: Stated
    run: Run
    hyperparameters: Mapping[str, float | None]
    """The default of each, or None where a value must be given."""
    source: str
    moments: tuple[str, ...] = ()
    counts: bool = False
    conditions: tuple[str, ...] = ()
    """Hypotheses on the hyperparameters and the count, in the syntax of domains."""
    nonnegative: tuple[str, ...] = ()
    """Moments that are at least 0 at the start, and that each step keeps so."""
    positive: tuple[str, ...] = ()
    """Moments that are above 0 at the start, and that each step keeps so."""
    initial: Mapping[str, float] = field(default_factory=dict)
    """The value at the start of moments whose entries are not zero there."""
    stages: tuple[Stage, ...] = ()
    """The changes that are made to the gradients first, in order."""
    ahead: int = 0
    """How many steps beyond the new count the formula uses: 1 if it has t' + 1."""

    def __post_init__(self) -> None:
        """Raise UsageError for a name that stands for two things or nothing, or a sign that is wrong at the start."""
        names = [*self.moments, *self.hyperparameters]
        if twice := [n for k, n in enumerate(names) if n in (*RESERVED, *names[:k])]:
            raise UsageError(
                f"In the update {self.name} '{twice[0]}' stands for two things: parameters are theta there, gradients "
                "g, and the count of steps is t. Give it another name."
            )
        signs = [*((m, "nonnegative") for m in self.nonnegative), *((m, "positive") for m in self.positive)]
        for m in (*(m for m, _ in signs), *self.initial):
            if m not in self.moments:
                raise UsageError(f"The update {self.name} has no moment '{m}'; it has {', '.join(self.moments)}.")
        for m, sign in signs:
            start = self.initial.get(m, 0.0)
            if not (start > 0 if sign == "positive" else start >= 0):
                raise UsageError(
                    f"In the update {self.name} the moment {m} is said to be {sign}, but it is {start} at the start. "
                    f"Say in `initial` with what it starts."
                )

    def after(self, *stages: Stage) -> Update:
        """Return the update that first makes these changes to the gradients: `ADAM.after(CLIP_BY_GLOBAL_NORM)`."""
        return replace(
            self,
            name=f"{self.name} after {', '.join(s.name for s in stages)}",
            formula=(*(line for s in stages for line in s.formula), *self.formula),
            hyperparameters={**self.hyperparameters, **{k: v for s in stages for k, v in s.hyperparameters.items()}},
            conditions=(*self.conditions, *(c for s in stages for c in s.conditions)),
            stages=(*stages, *self.stages),
            run=_after(stages, self.run),
        )

    def start(self, parameters: Named) -> dict[str, Any]:
        """Return the state before the first step at these parameters."""
        state: dict[str, Any] = {
            m: {n: jnp.full_like(p, self.initial.get(m, 0.0)) for n, p in parameters.items()} for m in self.moments
        }
        return {**state, COUNT: jnp.zeros((), jnp.int32)} if self.counts else state

    def __str__(self) -> str:
        return "\n".join([f"{self.name} ({self.source})", *(f"  {line}" for line in self.formula)])


def staged(stages: Sequence[Stage], params: Named, grads: Named, hyper: Named) -> Mapping[str, Any]:
    """Return the gradients after the changes of some stages, in order."""
    for stage in stages:
        grads = stage.apply(params, grads, hyper)
    return grads


def _after(stages: Sequence[Stage], run: Run) -> Run:
    def after(params: Named, grads: Named, state: Named, hyper: Named) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        return run(params, staged(stages, params, grads, hyper), state, hyper)

    after.__name__ = run.__name__
    return after


def _for_each_name(names: Named, one: Callable[[str], Any]) -> dict[str, Any]:
    return {n: one(n) for n in names}


def _sgd(params: Named, grads: Named, state: Named, hyper: Named) -> tuple[dict[str, Any], Named]:
    return jax.tree.map(lambda p, g: p - hyper["lr"] * g, dict(params), dict(grads)), state


def _momentum(params: Named, grads: Named, state: Named, hyper: Named) -> tuple[dict[str, Any], Named]:
    trace = jax.tree.map(lambda g, m: hyper["momentum"] * m + g, dict(grads), dict(state["m"]))
    return jax.tree.map(lambda p, m: p - hyper["lr"] * m, dict(params), trace), {"m": trace}


def _nesterov(params: Named, grads: Named, state: Named, hyper: Named) -> tuple[dict[str, Any], Named]:
    mu, lr = hyper["momentum"], hyper["lr"]
    trace = jax.tree.map(lambda g, m: mu * m + g, dict(grads), dict(state["m"]))
    return jax.tree.map(lambda p, g, m: p - lr * (g + mu * m), dict(params), dict(grads), trace), {"m": trace}


def _adam_direction(grads: Named, state: Named, hyper: Named) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return m̂ / (√v̂ + ε) for each parameter, and the new state.

    m̂ and v̂ are the moments m and v over 1 − b1ᵗ and 1 − b2ᵗ, corrections that are computed once for all parameters.
    """
    t = state["t"] + 1
    b1, b2 = hyper["b1"], hyper["b2"]
    first, second = 1 - b1**t, 1 - b2**t
    m = _for_each_name(grads, lambda n: b1 * state["m"][n] + (1 - b1) * grads[n])
    v = _for_each_name(grads, lambda n: b2 * state["v"][n] + (1 - b2) * jnp.square(grads[n]))
    return _for_each_name(grads, lambda n: (m[n] / first) / (jnp.sqrt(v[n] / second) + hyper["eps"])), {
        "t": t,
        "m": m,
        "v": v,
    }


def _adam(params: Named, grads: Named, state: Named, hyper: Named) -> tuple[dict[str, Any], Named]:
    direction, new = _adam_direction(grads, state, hyper)
    return _for_each_name(params, lambda n: params[n] - hyper["lr"] * direction[n]), new


def _adamw(params: Named, grads: Named, state: Named, hyper: Named) -> tuple[dict[str, Any], Named]:
    direction, new = _adam_direction(grads, state, hyper)
    decay = hyper["weight_decay"]
    return _for_each_name(params, lambda n: params[n] - hyper["lr"] * (direction[n] + decay * params[n])), new


def _stated_adam(theta: Any, g: Any, moments: tuple[Any, ...], t: Any, hyper: Named) -> tuple[Any, ...]:
    m, v = moments
    m = hyper["b1"] * m + (1 - hyper["b1"]) * g
    v = hyper["b2"] * v + (1 - hyper["b2"]) * g**2
    m_hat = m / (1 - hyper["b1"] ** t)
    v_hat = v / (1 - hyper["b2"] ** t)
    return theta - hyper["lr"] * m_hat / (jnp.sqrt(v_hat) + hyper["eps"]), m, v


def _stated_adamw(theta: Any, g: Any, moments: tuple[Any, ...], t: Any, hyper: Named) -> tuple[Any, ...]:
    stepped, m, v = _stated_adam(theta, g, moments, t, hyper)
    return stepped - hyper["lr"] * hyper["weight_decay"] * theta, m, v


def _stated_momentum(theta: Any, g: Any, moments: tuple[Any, ...], t: Any, hyper: Named) -> tuple[Any, ...]:
    m = hyper["momentum"] * moments[0] + g
    return theta - hyper["lr"] * m, m


def _stated_nesterov(theta: Any, g: Any, moments: tuple[Any, ...], t: Any, hyper: Named) -> tuple[Any, ...]:
    m = hyper["momentum"] * moments[0] + g
    return theta - hyper["lr"] * g - hyper["lr"] * hyper["momentum"] * m, m


_ADAM_MOMENTS = (
    "t' = t + 1",
    "m' = b1·m + (1 − b1)·g",
    "v' = b2·v + (1 − b2)·g²",
)
_ADAM_CONDITIONS = ("0 < b1", "b1 < 1", "0 < b2", "b2 < 1", "eps > 0", "t >= 0")

SGD = Update(
    name="sgd",
    formula=("θ' = θ − lr·g",),
    stated=lambda theta, g, moments, t, hyper: (theta - hyper["lr"] * g,),
    run=_sgd,
    hyperparameters={"lr": None},
    source="gradient descent",
)
MOMENTUM = Update(
    name="momentum",
    formula=("m' = momentum·m + g", "θ' = θ − lr·m'"),
    stated=_stated_momentum,
    run=_momentum,
    hyperparameters={"lr": None, "momentum": 0.9},
    moments=("m",),
    source="Polyak 1964, as torch.optim.SGD has it",
)
NESTEROV = Update(
    name="nesterov",
    formula=("m' = momentum·m + g", "θ' = θ − lr·g − lr·momentum·m'"),
    stated=_stated_nesterov,
    run=_nesterov,
    hyperparameters={"lr": None, "momentum": 0.9},
    moments=("m",),
    source="Nesterov 1983 in the form of Sutskever et al. 2013, as torch.optim.SGD has it",
)
ADAM = Update(
    name="adam",
    formula=(*_ADAM_MOMENTS, "θ' = θ − lr·m̂ / (√v̂ + eps), m̂ = m' / (1 − b1^t'), v̂ = v' / (1 − b2^t')"),
    stated=_stated_adam,
    run=_adam,
    hyperparameters={"lr": 1e-3, "b1": 0.9, "b2": 0.999, "eps": 1e-8},
    moments=("m", "v"),
    counts=True,
    conditions=_ADAM_CONDITIONS,
    nonnegative=("v",),
    source="Kingma and Ba 2015, algorithm 1",
)
ADAMW = Update(
    name="adamw",
    formula=(
        *_ADAM_MOMENTS,
        "θ' = θ − lr·m̂ / (√v̂ + eps) − lr·weight_decay·θ, m̂ = m' / (1 − b1^t'), v̂ = v' / (1 − b2^t')",
    ),
    stated=_stated_adamw,
    run=_adamw,
    hyperparameters={"lr": 1e-3, "b1": 0.9, "b2": 0.999, "eps": 1e-8, "weight_decay": 1e-2},
    moments=("m", "v"),
    counts=True,
    conditions=_ADAM_CONDITIONS,
    nonnegative=("v",),
    source="Loshchilov and Hutter 2019, algorithm 2, with lr as the schedule",
)
