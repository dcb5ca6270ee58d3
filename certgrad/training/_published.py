"""Further stated updates: other optimizers, and stages that change gradients first. Programs are the formulas."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

import jax.numpy as jnp

from certgrad.training._updates import Named, Run, Stage, Stated, Update

_MOMENTS = ("m' = b1·m + (1 − b1)·g", "v' = b2·v + (1 − b2)·g²")
_CORRECTED = "m̂ = m' / (1 − b1^t'), v̂ = v' / (1 − b2^t')"
_BETAS = ("0 < b1", "b1 < 1", "0 < b2", "b2 < 1", "t >= 0")
_ADAM = {"lr": 1e-3, "b1": 0.9, "b2": 0.999, "eps": 1e-8}


def _stated_update(
    name: str,
    stated: Stated,
    formula: tuple[str, ...],
    hyperparameters: Mapping[str, float | None],
    source: str,
    moments: tuple[str, ...] = (),
    counts: bool = False,
    **further: Any,
) -> Update:
    """Return an update whose program takes the stated step for each parameter; `further` are more fields of it."""
    return Update(
        name,
        formula,
        stated,
        _parameterwise_run(stated, moments, counts),
        hyperparameters,
        source,
        moments,
        counts,
        **further,
    )


def _parameterwise_run(stated: Stated, moments: tuple[str, ...], counts: bool) -> Run:
    """Return the program that takes the stated step for each parameter, one after the other."""

    def run(params: Named, grads: Named, state: Named, hyper: Named) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        t = state["t"] + 1 if counts else None
        steps = {n: stated(params[n], grads[n], tuple(state[m][n] for m in moments), t, hyper) for n in params}
        new_state: dict[str, Any] = {m: {n: steps[n][k + 1] for n in params} for k, m in enumerate(moments)}
        return {n: steps[n][0] for n in params}, {**new_state, "t": t} if counts else new_state

    run.__name__ = stated.__name__.removeprefix("_")
    return run


def _first_two(g: Any, moments: tuple[Any, ...], hyper: Named) -> tuple[Any, Any]:
    """Return the new moments m and v, the running means of g and g²."""
    m, v = moments[:2]
    return hyper["b1"] * m + (1 - hyper["b1"]) * g, hyper["b2"] * v + (1 - hyper["b2"]) * g**2


def _rmsprop(theta: Any, g: Any, moments: tuple[Any, ...], t: Any, hyper: Named) -> tuple[Any, ...]:
    v = hyper["decay"] * moments[0] + (1 - hyper["decay"]) * g**2
    return theta - hyper["lr"] * g / jnp.sqrt(v + hyper["eps"]), v


def _adagrad(theta: Any, g: Any, moments: tuple[Any, ...], t: Any, hyper: Named) -> tuple[Any, ...]:
    s = moments[0] + g**2
    return theta - hyper["lr"] * g / jnp.sqrt(s + hyper["eps"]), s


def _adadelta(theta: Any, g: Any, moments: tuple[Any, ...], t: Any, hyper: Named) -> tuple[Any, ...]:
    v = hyper["rho"] * moments[0] + (1 - hyper["rho"]) * g**2
    step = jnp.sqrt(moments[1] + hyper["eps"]) / jnp.sqrt(v + hyper["eps"]) * g
    return theta - hyper["lr"] * step, v, hyper["rho"] * moments[1] + (1 - hyper["rho"]) * step**2


def _lion(theta: Any, g: Any, moments: tuple[Any, ...], t: Any, hyper: Named) -> tuple[Any, ...]:
    m = moments[0]
    step = jnp.sign(hyper["b1"] * m + (1 - hyper["b1"]) * g)
    stepped = theta - hyper["lr"] * (step + hyper["weight_decay"] * theta)
    return stepped, hyper["b2"] * m + (1 - hyper["b2"]) * g


def _nadam(theta: Any, g: Any, moments: tuple[Any, ...], t: Any, hyper: Named) -> tuple[Any, ...]:
    m, v = _first_two(g, moments, hyper)
    ahead = hyper["b1"] * m / (1 - hyper["b1"] ** (t + 1)) + (1 - hyper["b1"]) * g / (1 - hyper["b1"] ** t)
    return theta - hyper["lr"] * ahead / (jnp.sqrt(v / (1 - hyper["b2"] ** t)) + hyper["eps"]), m, v


def _nadamw(theta: Any, g: Any, moments: tuple[Any, ...], t: Any, hyper: Named) -> tuple[Any, ...]:
    stepped, m, v = _nadam(theta, g, moments, t, hyper)
    return stepped - hyper["lr"] * hyper["weight_decay"] * theta, m, v


def _adamax(theta: Any, g: Any, moments: tuple[Any, ...], t: Any, hyper: Named) -> tuple[Any, ...]:
    m = hyper["b1"] * moments[0] + (1 - hyper["b1"]) * g
    u = jnp.maximum(jnp.abs(g) + hyper["eps"], hyper["b2"] * moments[1])
    return theta - hyper["lr"] * m / (1 - hyper["b1"] ** t) / u, m, u


def _amsgrad(theta: Any, g: Any, moments: tuple[Any, ...], t: Any, hyper: Named) -> tuple[Any, ...]:
    m, v = _first_two(g, moments, hyper)
    largest = jnp.maximum(moments[2], v / (1 - hyper["b2"] ** t))
    return theta - hyper["lr"] * m / (1 - hyper["b1"] ** t) / (jnp.sqrt(largest) + hyper["eps"]), m, v, largest


def _yogi(theta: Any, g: Any, moments: tuple[Any, ...], t: Any, hyper: Named) -> tuple[Any, ...]:
    m = hyper["b1"] * moments[0] + (1 - hyper["b1"]) * g
    v = moments[1] - (1 - hyper["b2"]) * jnp.sign(moments[1] - g**2) * g**2
    m_hat, v_hat = m / (1 - hyper["b1"] ** t), v / (1 - hyper["b2"] ** t)
    return theta - hyper["lr"] * m_hat / (jnp.sqrt(v_hat) + hyper["eps"]), m, v


def _lamb(theta: Any, g: Any, moments: tuple[Any, ...], t: Any, hyper: Named) -> tuple[Any, ...]:
    """Return the new parameter and moments: Adam's direction, with a step as long as lr·‖θ‖."""
    m, v = _first_two(g, moments, hyper)
    m_hat, v_hat = m / (1 - hyper["b1"] ** t), v / (1 - hyper["b2"] ** t)
    r = m_hat / (jnp.sqrt(v_hat) + hyper["eps"]) + hyper["weight_decay"] * theta
    size, change = jnp.sqrt(jnp.sum(theta**2)), jnp.sqrt(jnp.sum(r**2))
    nonzero = (size != 0) & (change != 0)
    ratio = jnp.where(nonzero, size / jnp.where(nonzero, change, 1), 1)
    return theta - hyper["lr"] * ratio * r, m, v


def _sign_sgd(theta: Any, g: Any, moments: tuple[Any, ...], t: Any, hyper: Named) -> tuple[Any, ...]:
    return (theta - hyper["lr"] * jnp.sign(g),)


RMSPROP = _stated_update(
    "rmsprop",
    _rmsprop,
    ("v' = decay·v + (1 − decay)·g²", "θ' = θ − lr·g / √(v' + eps)"),
    {"lr": None, "decay": 0.9, "eps": 1e-8},
    "Hinton 2012, lecture 6e, as optax.rmsprop has it",
    ("v",),
    conditions=("0 < decay", "decay < 1", "eps > 0"),
    nonnegative=("v",),
)
ADAGRAD = _stated_update(
    "adagrad",
    _adagrad,
    ("s' = s + g²", "θ' = θ − lr·g / √(s' + eps)"),
    {"lr": None, "eps": 1e-7},
    "Duchi, Hazan and Singer 2011, as optax.adagrad has it; s is 0.1 at the start",
    ("s",),
    conditions=("eps > 0",),
    positive=("s",),
    initial={"s": 0.1},
)
ADADELTA = _stated_update(
    "adadelta",
    _adadelta,
    (
        "v' = rho·v + (1 − rho)·g²",
        "Δ = √(w + eps) / √(v' + eps)·g",
        "w' = rho·w + (1 − rho)·Δ²",
        "θ' = θ − lr·Δ",
    ),
    {"lr": 1.0, "rho": 0.9, "eps": 1e-6},
    "Zeiler 2012, algorithm 1",
    ("v", "w"),
    conditions=("0 < rho", "rho < 1", "eps > 0"),
    nonnegative=("v", "w"),
)
LION = _stated_update(
    "lion",
    _lion,
    ("θ' = θ − lr·(sign(b1·m + (1 − b1)·g) + weight_decay·θ)", "m' = b2·m + (1 − b2)·g"),
    {"lr": 1e-4, "b1": 0.9, "b2": 0.99, "weight_decay": 1e-3},
    "Chen et al. 2023, algorithm 2",
    ("m",),
    counts=True,
)
NADAM = _stated_update(
    "nadam",
    _nadam,
    (
        "t' = t + 1",
        *_MOMENTS,
        "n = b1·m' / (1 − b1^(t' + 1)) + (1 − b1)·g / (1 − b1^t')",
        "θ' = θ − lr·n / (√v̂ + eps), v̂ = v' / (1 − b2^t')",
    ),
    _ADAM,
    "Dozat 2016, as optax.nadam has it",
    ("m", "v"),
    counts=True,
    conditions=(*_BETAS, "eps > 0"),
    nonnegative=("v",),
    ahead=1,
)
NADAMW = _stated_update(
    "nadamw",
    _nadamw,
    (*NADAM.formula[:-1], "θ' = θ − lr·n / (√v̂ + eps) − lr·weight_decay·θ, v̂ = v' / (1 − b2^t')"),
    {**_ADAM, "weight_decay": 1e-4},
    "Dozat 2016 with the decay of Loshchilov and Hutter 2019",
    ("m", "v"),
    counts=True,
    conditions=(*_BETAS, "eps > 0"),
    nonnegative=("v",),
    ahead=1,
)
ADAMAX = _stated_update(
    "adamax",
    _adamax,
    ("t' = t + 1", _MOMENTS[0], "u' = max(|g| + eps, b2·u)", "θ' = θ − lr·m' / (1 − b1^t') / u'"),
    _ADAM,
    "Kingma and Ba 2015, algorithm 2, with eps beside |g|",
    ("m", "u"),
    counts=True,
    conditions=(*_BETAS, "eps > 0"),
    nonnegative=("u",),
)
AMSGRAD = _stated_update(
    "amsgrad",
    _amsgrad,
    ("t' = t + 1", *_MOMENTS, "w' = max(w, v' / (1 − b2^t'))", "θ' = θ − lr·m̂ / (√w' + eps), m̂ = m' / (1 − b1^t')"),
    _ADAM,
    "Reddi, Kale and Kumar 2018, with corrected moments",
    ("m", "v", "w"),
    counts=True,
    conditions=(*_BETAS, "eps > 0"),
    nonnegative=("v", "w"),
)
YOGI = _stated_update(
    "yogi",
    _yogi,
    (
        "t' = t + 1",
        _MOMENTS[0],
        "v' = v − (1 − b2)·sign(v − g²)·g²",
        f"θ' = θ − lr·m̂ / (√v̂ + eps), {_CORRECTED}",
    ),
    {**_ADAM, "lr": None, "eps": 1e-3},
    "Zaheer et al. 2018, algorithm 2, with corrected moments; m and v are 1e-6 at the start",
    ("m", "v"),
    counts=True,
    conditions=(*_BETAS, "eps > 0"),
    nonnegative=("v",),
    initial={"m": 1e-6, "v": 1e-6},
)
LAMB = _stated_update(
    "lamb",
    _lamb,
    (
        "t' = t + 1",
        *_MOMENTS,
        f"r = m̂ / (√v̂ + eps) + weight_decay·θ, {_CORRECTED}",
        "θ' = θ − lr·‖θ‖ / ‖r‖·r, and θ − lr·r where θ or r is 0; the norms are of the whole parameter",
    ),
    {**_ADAM, "lr": None, "eps": 1e-6, "weight_decay": 0.0},
    "You et al. 2020, algorithm 2, with φ the identity",
    ("m", "v"),
    counts=True,
    conditions=(*_BETAS, "eps > 0"),
    nonnegative=("v",),
)
SIGN_SGD = _stated_update(
    "sign_sgd", _sign_sgd, ("θ' = θ − lr·sign(g)",), {"lr": None}, "Bernstein et al. 2018, algorithm 1"
)


def _clip(params: Named, grads: Named, hyper: Named) -> Mapping[str, Any]:
    return {n: jnp.clip(g, -hyper["max_delta"], hyper["max_delta"]) for n, g in grads.items()}


def _clip_by_global_norm(params: Named, grads: Named, hyper: Named) -> Mapping[str, Any]:
    norm = jnp.sqrt(reduce(lambda a, b: a + b, [jnp.sum(g**2) for g in grads.values()]))
    return {n: jnp.where(norm < hyper["max_norm"], g, g / norm * hyper["max_norm"]) for n, g in grads.items()}


def _decay(params: Named, grads: Named, hyper: Named) -> Mapping[str, Any]:
    return {n: g + hyper["decay_in_gradient"] * params[n] for n, g in grads.items()}


CLIP = Stage("clip", ("g ← min(max(g, −max_delta), max_delta)",), _clip, {"max_delta": None}, ("max_delta > 0",))
CLIP_BY_GLOBAL_NORM = Stage(
    "clip by global norm",
    ("g ← g where ‖g‖ < max_norm, else max_norm·g / ‖g‖, ‖g‖ over all parameters",),
    _clip_by_global_norm,
    {"max_norm": None},
    ("max_norm > 0",),
)
DECAY = Stage("decay", ("g ← g + decay_in_gradient·θ",), _decay, {"decay_in_gradient": None})
