"""Defaults that a rule takes beside its arrays, and that its function needs as they are: `jax.custom_jvp(jnp.round)`.

JAX hands a custom function every argument, also those that a call leaves out. In a call, `jax.grad` and `jax.vmap` an
integer stays what it is; where the call is traced, as under `jax.jit`, it becomes a tracer, and code that asks for its
value fails. What runs elsewhere is the custom function of the arrays alone, with the defaults as they stand: that one
is looked at, and what is left out is said.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import jax
import numpy as np

from certgrad import rules
from certgrad.jaxpr.closures import kind_of_rule
from certgrad.obligations.generality.traces import Traces

from ._layers import parameters_of
from ._parameters import POSITIONAL
from ._user_rule import UserRule

LEFT_OUT = "calls under jax.jit: JAX traces {} there, of which the default stands, and the function fails"


def standing(rule: UserRule) -> Callable | None:
    """The function with the defaults that a call leaves out as they stand; None where it traces as it is, or where
    something other than integers, booleans and None would have to stand.
    """
    custom, names = rule.custom, of_defaults(rule)
    known = type(custom) in (jax.custom_jvp, jax.custom_vjp) and rule.function is custom and not rule.sees_zeros
    alone = known and all(p.kind in POSITIONAL for p in rule.parameters.all.values()) and not rule.parameters.rest
    if not alone or rule.parameters.fixed or not names or rules.traces(Traces(rule)):
        return None
    if not all(isinstance(rule.unsaid[n], int | None) for n in names):
        return None
    of = inspect.Signature([*parameters_of(custom, rule.plain).values()])

    @wraps(custom)
    def called(*args: Any, **kwargs: Any) -> Any:
        bound = of.bind(*args, **kwargs)
        bound.apply_defaults()
        values = list(bound.args)
        places = [k for k, n in enumerate(bound.arguments) if n not in names]
        return _of_arrays(custom, values, places)(*(values[k] for k in places))

    return called


def of_defaults(rule: UserRule) -> list[str]:
    """The arguments that the rule takes as arrays, and of which nothing but the default is said."""
    return [n for n in rule.unsaid if n in rule.dynamic]


def _of_arrays(custom: Any, values: Sequence[Any], places: Sequence[int]) -> Any:
    """The custom function of the arguments at these places, with the others as they are, and its rule."""

    def full(arrays: Sequence[Any], others: Sequence[Any] = values) -> list[Any]:
        found = list(others)
        for k, x in zip(places, arrays, strict=True):
            found[k] = x
        return found

    def fun(*arrays: Any) -> Any:
        return custom.fun(*full(arrays))

    if kind_of_rule(custom) == "jax.custom_jvp":
        # The tangent of an integer is an array of float0, and that of None is None.
        none = [None if v is None else np.zeros((), jax.dtypes.float0) for v in values]
        found: Any = jax.custom_jvp(fun)
        found.defjvp(lambda primals, tangents: custom.jvp(tuple(full(primals)), tuple(full(tangents, none))))
        return found

    def bwd(residuals: Any, seed: Any) -> tuple[Any, ...]:
        cotangents = tuple(custom.bwd(residuals, seed))
        if len(cotangents) != len(values) or any(c is not None for k, c in enumerate(cotangents) if k not in places):
            raise TypeError("the rule returns no None for an argument that is no array of floats")
        return tuple(cotangents[k] for k in places)

    found = jax.custom_vjp(fun)
    found.defvjp(lambda *arrays: custom.fwd(*full(arrays)), bwd)
    return found
