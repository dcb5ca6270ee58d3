"""The gradient transformations of `optax` and `optax.contrib`: what they make of gradients, state and parameters.

Parameters are a matrix and a vector. Where a transformation asks for the value of the loss, or for the loss itself,
that is a quadratic form.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
import optax.contrib as contrib

from benchmarks.libraries._part import Part, Sizes, layer, untried

PLACES = {"": optax, "contrib.": contrib}
_UNANNOTATED = {"dog", "dowg", "hutchinson_estimator_diag_hessian"}


def public() -> list[str]:
    """What returns a transformation, by its annotation or its name."""
    return [
        before + name
        for before, place in PLACES.items()
        for name in sorted(dir(place))
        if not name.startswith("_")
        and callable(one := getattr(place, name))
        and not inspect.isclass(one)
        and ("GradientTransformation" in _returns(one) or name.startswith("scale_by_") or name in _UNANNOTATED)
    ]


def _returns(one: Any) -> str:
    try:
        return str(inspect.signature(one).return_annotation)
    except ValueError:  # an alias of types
        return ""


def optimiser(make: Callable[[], Any], **extra: Callable[..., Any]) -> Part:
    """`extra` are arguments of the update beside gradients, state and parameters, as functions of the parameters."""

    def init(sizes: Sizes, *inputs: Any) -> Any:
        return jax.eval_shape(lambda w, b: make().init({"w": w, "b": b}), *inputs[2:])

    def apply(sizes: Sizes, state: Any, *inputs: Any) -> Any:
        gradients, parameters = ({"w": w, "b": b} for w, b in (inputs[:2], inputs[2:]))
        given = {name: of(parameters, gradients) for name, of in extra.items()}
        return make().update(gradients, state, parameters, **given)

    return layer(init, apply, "g_w: n d", "g_b: d", "w: n d", "b: d")


def loss(parameters: Any) -> Any:
    return sum(jnp.sum(x**2) for x in jax.tree.leaves(parameters))


SEARCH: dict[str, Callable[..., Any]] = {
    "value": lambda p, g: loss(p),
    "grad": lambda p, g: g,
    "value_fn": lambda p, g: loss,
}
VALUE = {"value": SEARCH["value"]}
LABELS = {"w": "one", "b": "other"}


def by_name(optimiser_name: str, *given: Any, **said: Any) -> Part:
    before, _, name = optimiser_name.rpartition(".")
    make = getattr(PLACES[f"{before}." if before else ""], name)
    return optimiser(lambda: make(*given, **said))


_WITH_RATE = """adabelief adadelta adafactor adagrad adam adamax adamaxw adamw adan amsgrad fromage lamb lars lion nadam
nadamw novograd optimistic_adam optimistic_adam_v2 optimistic_gradient_descent radam rmsprop rprop sgd sign_sgd signum
sm3 yogi scale_by_learning_rate scale_by_rprop contrib.acprop contrib.ademamix contrib.adopt contrib.cocob
contrib.dadapt_adamw contrib.dog contrib.dowg contrib.madgrad contrib.muon contrib.prodigy contrib.scale_by_madgrad
contrib.schedule_free_adamw contrib.schedule_free_sgd contrib.simplified_ademamix""".split()
_WITHOUT = """add_decayed_weights apply_every centralize identity keep_params_nonnegative normalize_by_update_norm
scale_by_adadelta scale_by_adam scale_by_adamax scale_by_adan scale_by_amsgrad scale_by_belief
scale_by_distance_over_gradients scale_by_factored_rms scale_by_lbfgs scale_by_lion scale_by_novograd
scale_by_optimistic_gradient scale_by_param_block_norm scale_by_param_block_rms scale_by_radam scale_by_rms
scale_by_rss scale_by_sign scale_by_sm3 scale_by_stddev scale_by_trust_ratio scale_by_yogi set_to_zero
zero_nans contrib.normalize contrib.scale_by_acprop contrib.scale_by_ademamix contrib.scale_by_adopt
contrib.scale_by_cocob contrib.scale_by_simplified_ademamix""".split()

PARTS: dict[str, Part] = {
    **{name: by_name(name, 0.01) for name in _WITH_RATE},
    **{name: by_name(name) for name in _WITHOUT},
    "adaptive_grad_clip": by_name("adaptive_grad_clip", 0.1),
    "add_noise": by_name("add_noise", 0.1, 0.55, key=jax.random.key(0)),
    "apply_if_finite": optimiser(lambda: optax.apply_if_finite(optax.sgd(0.1), 3)),
    "chain": optimiser(lambda: optax.chain(optax.clip(1.0), optax.sgd(0.1))),
    "clip": by_name("clip", 1.0),
    "clip_by_block_rms": by_name("clip_by_block_rms", 1.0),
    "clip_by_global_norm": by_name("clip_by_global_norm", 1.0),
    "conditionally_mask": optimiser(lambda: optax.conditionally_mask(optax.sgd(0.1), lambda step: step < 5)),
    "conditionally_transform": optimiser(lambda: optax.conditionally_transform(optax.sgd(0.1), lambda step: step < 5)),
    "ema": by_name("ema", 0.9),
    "flatten": optimiser(lambda: optax.flatten(optax.sgd(0.1))),
    "freeze": by_name("freeze", {"w": True, "b": False}),
    "inject_hyperparams": optimiser(lambda: optax.inject_hyperparams(optax.sgd)(0.1)),
    "inject_stateful_hyperparams": optimiser(lambda: optax.inject_stateful_hyperparams(optax.sgd)(0.1)),
    "lbfgs": optimiser(lambda: optax.lbfgs(0.1, memory_size=2), **SEARCH),
    "lookahead": untried("it takes parameters in pairs, fast and slow ones, and does nothing else than its optimiser"),
    "masked": optimiser(lambda: optax.masked(optax.sgd(0.1), {"w": True, "b": False})),
    "measure_with_ema": by_name("measure_with_ema", optax.global_norm, 0.9),
    "multi_transform": optimiser(
        lambda: optax.multi_transform({"one": optax.sgd(0.1), "other": optax.adam(0.1)}, LABELS)
    ),
    "named_chain": optimiser(lambda: optax.named_chain(("clip", optax.clip(1.0)), ("sgd", optax.sgd(0.1)))),
    "noisy_sgd": by_name("noisy_sgd", 0.1, key=jax.random.key(0)),
    "partition": optimiser(lambda: optax.partition({"one": optax.sgd(0.1), "other": optax.adam(0.1)}, LABELS)),
    "polyak_sgd": optimiser(lambda: optax.polyak_sgd(), **VALUE),
    "scale": by_name("scale", 0.1),
    "scale_by_backtracking_linesearch": optimiser(lambda: optax.scale_by_backtracking_linesearch(3), **SEARCH),
    "scale_by_polyak": optimiser(lambda: optax.scale_by_polyak(), **VALUE),
    "scale_by_schedule": by_name("scale_by_schedule", optax.cosine_decay_schedule(0.1, 100)),
    "scale_by_zoom_linesearch": optimiser(lambda: optax.scale_by_zoom_linesearch(3), **SEARCH),
    "selective_transform": optimiser(
        lambda: optax.selective_transform(optax.sgd(0.1), freeze_mask={"w": True, "b": False})
    ),
    "snapshot": by_name("snapshot", "norm", optax.global_norm),
    "stateless": optimiser(lambda: optax.stateless(lambda g, p: jax.tree.map(lambda a, b: a + 0.1 * b, g, p))),
    "stateless_with_tree_map": optimiser(lambda: optax.stateless_with_tree_map(lambda g, p: g + 0.1 * p)),
    "trace": by_name("trace", 0.9),
    "with_extra_args_support": optimiser(lambda: optax.with_extra_args_support(optax.sgd(0.1))),
    "contrib.differentially_private_aggregate": untried("it takes gradients of single examples: `contrib.dpsgd`"),
    "contrib.galore": by_name("contrib.galore", 0.01, rank=2),
    "contrib.mechanize": optimiser(lambda: contrib.mechanize(optax.sgd(0.1))),
    "contrib.momo": optimiser(lambda: contrib.momo(), **VALUE),
    "contrib.momo_adam": optimiser(lambda: contrib.momo_adam(), **VALUE),
    "contrib.reduce_on_plateau": optimiser(lambda: contrib.reduce_on_plateau(), **VALUE),
    "contrib.sam": optimiser(lambda: contrib.sam(optax.sgd(0.1), optax.sgd(0.05))),
    "contrib.scale_by_galore": by_name("contrib.scale_by_galore", rank=2),
    "contrib.schedule_free": optimiser(lambda: contrib.schedule_free(optax.sgd(0.1), 0.1)),
    "contrib.sophia": optimiser(lambda: contrib.sophia(0.1), obj_fn=lambda p, g: loss),
    "contrib.hutchinson_estimator_diag_hessian": optimiser(
        lambda: contrib.hutchinson_estimator_diag_hessian(), obj_fn=lambda p, g: loss
    ),
    "contrib.split_real_and_imaginary": optimiser(lambda: contrib.split_real_and_imaginary(optax.sgd(0.1))),
}


def _of_matrix(make: Callable[[], Any]) -> Part:
    """Of one matrix, where all parameters have to be such."""

    def init(sizes: Sizes, *inputs: Any) -> Any:
        return jax.eval_shape(make().init, inputs[1])

    def apply(sizes: Sizes, state: Any, g: Any, w: Any) -> Any:
        return make().update(g, state, w)

    return layer(init, apply, "g: n d", "w: n d")


def _per_example() -> Part:
    """Gradients of a batch, an axis more than the parameters."""

    def init(sizes: Sizes, *inputs: Any) -> Any:
        return jax.eval_shape(lambda w: _private().init({"w": w}), inputs[1])

    def apply(sizes: Sizes, state: Any, g: Any, w: Any) -> Any:
        return _private().update({"w": g}, state, {"w": w})

    return layer(init, apply, "g_w: n d k", "w: d k")


def _private() -> Any:
    return contrib.dpsgd(0.1, 1.0, 0.5, 0)


PARTS["contrib.dpsgd"] = _per_example()
PARTS["contrib.scale_by_muon"] = _of_matrix(contrib.scale_by_muon)
