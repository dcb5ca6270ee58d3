"""Transformations of optax of which no formula is stated: they run as they are, on the certified gradient."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from certgrad.errors import UsageError, first_line
from certgrad.training._updates import Named, Update

LOSS = "the loss"
"""The hyperparameter in which the value of the loss is handed to a transformation that takes it."""
NOT_STATED = "θ', state' = what the transformation of optax makes of θ, g and its state: no formula is stated of it"


@dataclass(frozen=True)
class Nesting:
    """How named arrays are nested for a transformation (`nest`), and the way back (`flat`)."""

    nest: Callable[[Named], Any] = dict
    flat: Callable[[Any], Mapping[str, Any]] = dict


@dataclass(frozen=True)
class Unstated(Update):
    """A transformation of optax as an update without a statement. Its state is kept as one array a leaf, by path."""

    rule: Any = None
    nesting: Nesting = Nesting()

    def nested(self, nesting: Nesting) -> Unstated:
        """Return this update with a program that nests the parameters this way."""
        bound = replace(self, nesting=nesting)
        return replace(bound, run=bound._run)

    def start(self, parameters: Named) -> dict[str, Any]:
        leaves = jax.tree.leaves_with_path(self.rule.init(self.nesting.nest(parameters)))
        return {jax.tree_util.keystr(path) or "state": _saved(x) for path, x in leaves}

    def check(self, parameters: Named) -> None:
        """Raise UsageError unless the transformation traces at these parameters and keeps all shapes and dtypes.

        The message quotes the error of the transformation.
        """
        abstract = {n: jax.ShapeDtypeStruct(jnp.shape(p), jnp.result_type(p)) for n, p in parameters.items()}
        state = jax.eval_shape(self.start, abstract)
        try:
            loss = jax.ShapeDtypeStruct((), jnp.float32)
            new, kept = jax.eval_shape(self._run, abstract, abstract, state, {LOSS: loss})
        except Exception as error:
            raise UsageError(
                f"{self.name} does not run on the parameters, their gradients and the value of the loss: "
                f"{first_line(error)}"
            ) from error
        for what, before, after in (("parameter", abstract, new), ("state", state, kept)):
            for name, x in before.items():
                if (x.shape, x.dtype) != (after[name].shape, after[name].dtype):
                    raise UsageError(
                        f"{self.name} makes the {what} {name} {after[name].dtype}{list(after[name].shape)}, which was "
                        f"{x.dtype}{list(x.shape)}. A step keeps types."
                    )

    def _run(self, params: Named, grads: Named, state: Named, hyper: Named) -> tuple[Mapping[str, Any], dict[str, Any]]:
        """Return the new parameters and state after a step of the transformation.

        The state's nesting is not stored: it is that which `init` gives for these parameters.
        """
        import optax

        nested_params, gradients = self.nesting.nest(params), self.nesting.nest(grads)
        shapes = jax.eval_shape(self.rule.init, nested_params)
        paths = [(jax.tree_util.keystr(path) or "state", x) for path, x in jax.tree.leaves_with_path(shapes)]
        before = jax.tree.unflatten(jax.tree.structure(shapes), [_restored(state[n], x) for n, x in paths])
        loss_arguments = (
            {"value": hyper[LOSS], "grad": gradients}
            if isinstance(self.rule, optax.GradientTransformationExtraArgs) and LOSS in hyper
            else {}
        )
        updates, after = self.rule.update(gradients, before, nested_params, **loss_arguments)
        leaves = jax.tree.leaves(after)
        if len(leaves) != len(paths):
            raise UsageError(f"{self.name} returns a state of {len(leaves)} arrays, and had one of {len(paths)}.")
        new = {n: _saved(x) for (n, _), x in zip(paths, leaves, strict=True)}
        return self.nesting.flat(optax.apply_updates(nested_params, updates)), new


def unstated(rule: Any) -> Unstated:
    """Return a transformation of optax as an update. Raises UsageError for any other object."""
    if not (callable(getattr(rule, "init", None)) and callable(getattr(rule, "update", None))):
        raise UsageError(
            f"{getattr(rule, '__name__', repr(rule))} is no transformation of optax. Pass one, such as "
            "optax.adafactor(1e-3); or, for a stated update, the function that makes it: from_optax(optax.adam, ADAM)."
        )
    name = str(getattr(rule.update, "__qualname__", "optax")).split(".")[0]
    update = Unstated(
        f"optax.{name}", (NOT_STATED,), _no_statement, _no_run, {}, "nothing: no formula is stated", rule=rule
    )
    return update.nested(Nesting())


def _saved(x: Any) -> Any:
    """Return a leaf of the state as an array that a checkpoint can hold: of a random key, its data."""
    if jnp.issubdtype(jnp.asarray(x).dtype if not hasattr(x, "dtype") else x.dtype, jax.dtypes.prng_key):
        return jax.random.key_data(x)
    return jnp.asarray(x)


_GENERATORS = ("threefry2x32", "rbg", "unsafe_rbg")


def _restored(x: Any, like: Any) -> Any:
    """Return a leaf of the state from its array, with the type of `like`: the inverse of `_saved`."""
    if not jnp.issubdtype(like.dtype, jax.dtypes.prng_key):
        return x
    return next(
        key for key in (jax.random.wrap_key_data(x, impl=name) for name in _GENERATORS) if key.dtype == like.dtype
    )


def _no_statement(*_: Any) -> tuple[Any, ...]:
    raise AssertionError("no formula is stated")


def _no_run(*_: Any) -> tuple[Any, Any]:
    raise AssertionError("it is bound to parameters first")
