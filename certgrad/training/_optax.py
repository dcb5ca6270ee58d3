"""Optimizers of optax as the program of a stated update, or of none.

The statement is certgrad's, the program is optax's own: `training_step` proves that it takes the stated step, for every
gradient, every state and every value of the hyperparameters. A transformation of which nothing is stated is run as it
is, and its step's certificate says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from certgrad.errors import UsageError
from certgrad.training._proof import COUNT
from certgrad.training._unstated import unstated
from certgrad.training._updates import Named, Update

_ARGUMENTS = {"lr": "learning_rate"}
"""The names in optax of hyperparameters that it calls otherwise."""
_LARGEST = 2**31 - 1
"""optax's counters stop at the largest integer of 32 bits."""


def from_optax(make: Any, update: Update | None = None) -> Update:
    """Return an optimizer of optax as an update: `from_optax(optax.adam, ADAM)`, `from_optax(optax.adafactor(1e-3))`.

    Args:
        make: with an update, a function that returns the transformation, given the hyperparameters of the update by
            name: `optax.adam`, `partial(optax.sgd, nesterov=True)`, or a function of your own. It gets `lr` as
            `learning_rate`, as optax has it. Without an update, a transformation of optax: any chain, mask or schedule.
        update: the statement of what the optimizer does. It is not taken on trust: `training_step` proves it, and
            refuses another program. Without it, the certificate is about the gradient, and says that no other parameter
            changes; it states nothing of what the transformation makes of the gradient, and says so.

    Raises:
        UsageError: `make` does not take the hyperparameters; or the optimizer's state is not that of the update, which
            has an array a parameter for each moment, in order, with the stated values at the start, and its count; or
            `make` without an update is no transformation.
    """
    if update is None:
        return unstated(make)
    name = getattr(make, "__name__", getattr(getattr(make, "func", None), "__name__", "optimizer"))

    def transformation(hyper: Named) -> Any:
        return make(**{_ARGUMENTS.get(k, k): v for k, v in hyper.items()})

    slots = _slots(transformation, name, update)

    def run(params: Named, grads: Named, state: Named, hyper: Named) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        import optax

        rule = transformation(hyper)
        theta, gradient = dict(params), dict(grads)
        shapes = jax.eval_shape(rule.init, theta)  # optax's state is nested; ours is by name
        tree = jax.tree.structure(shapes, is_leaf=lambda x: _is_moment(x, theta))
        before = [dict(state[slot]) if slot != COUNT else state[slot] for slot in slots]
        updates, after = rule.update(gradient, jax.tree.unflatten(tree, before), theta)
        parts = jax.tree.leaves(after, is_leaf=lambda x: _is_moment(x, theta))
        return optax.apply_updates(theta, updates), dict(zip(slots, parts, strict=True))

    run.__name__ = f"optax_{name}"
    # The formula may also need the count `ahead` steps later, which must not reach the number where optax stops.
    conditions = (*update.conditions, f"t < {_LARGEST - update.ahead}") if update.counts else update.conditions
    return replace(update, run=run, conditions=conditions)


def _slots(made: Callable[[Named], Any], name: str, update: Update) -> Sequence[str]:
    """Return the update's name for each part of the optimizer's state: its moments in order, and the count.

    The parts are found by starting the optimizer on example parameters: a moment has an array for each parameter, and
    the count is an integer. Raises UsageError where they are not the parts of the update's state, or start otherwise.
    """
    hyper = {k: 0.1 if v is None else v for k, v in update.hyperparameters.items()}
    example = {
        "a": jnp.asarray([0.5, -2.0]),
        "b": jnp.asarray([[-0.75, 3.0, 0.25]]),
    }  # nowhere zero: a state that starts as a copy of the parameters is not zeros
    try:
        state = made(hyper).init(example)
    except TypeError as error:
        raise UsageError(
            f"{name} cannot be made of the hyperparameters of {update.name}, {', '.join(update.hyperparameters)}: "
            f"{error}. Pass a function of exactly these that returns the transformation."
        ) from None
    except (ValueError, KeyError) as error:
        raise UsageError(
            f"{name} cannot be started on parameters that are named 'a' and 'b', which is how its state is read: "
            f"{error}. If it has a mask or labels by the names of parameters, give a function of them."
        ) from None
    parts = jax.tree.leaves(state, is_leaf=lambda x: _is_moment(x, example))
    moments = iter(update.moments)
    slots = [next(moments, "") if _is_moment(p, example) else COUNT if _is_count(p) else "" for p in parts]
    state_names = [*update.moments, *([COUNT] if update.counts else [])]
    if sorted(slots) != sorted(state_names):
        raise UsageError(
            f"The state of {name} is not that of {update.name}, which has {', '.join(state_names) or 'none'}: it holds "
            f"{', '.join(_kind(p, example) for p in parts) or 'nothing'}. State the update that it takes as an Update."
        )
    for slot, part in zip(slots, parts, strict=True):
        start = update.initial.get(slot, 0.0)
        if any(bool(jnp.any(x != jnp.asarray(start, x.dtype))) for x in jax.tree.leaves(part)):
            raise UsageError(
                f"The state of {name} is not {start or 'zero'} at the start, whatever the parameters are, and that of "
                f"{update.name} is. State it anew."
            )
    return slots


def _is_moment(part: Any, params: Named) -> bool:
    return isinstance(part, dict) and part.keys() == params.keys()


def _is_count(part: Any) -> bool:
    return not jnp.shape(part) and jnp.issubdtype(jnp.result_type(part), jnp.integer)


def _kind(part: Any, params: Named) -> str:
    return "an array a parameter" if _is_moment(part, params) else "a count" if _is_count(part) else "a further value"
