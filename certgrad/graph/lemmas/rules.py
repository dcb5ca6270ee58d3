"""The rules that run for one node, as callables over its arguments: what the node's lemma is about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from certgrad._subject import Rules
from certgrad.graph.tracing.jaxpr import Equation, primal_function, without_linear
from certgrad.obligations.generality.patterns import sees_zeros
from certgrad.obligations.prove.problem import Shapes
from certgrad.obligations.tracing.jax_internals import equations_of, jaxpr_of

Outputs = Callable[..., list[Any]]


@dataclass(frozen=True)
class ActiveShapes(Shapes):
    """Shapes of arguments of which only the `active` ones, by position, depend on the graph's inputs."""

    active: tuple[int, ...] = ()
    used: tuple[int, ...] | None = None
    """The positions of the real outputs that are used; the others' cotangents are symbolic zeros. All if None."""

    @property
    def floats(self) -> list[int]:
        return list(self.active)


def node_rules(equation: Equation, shapes: ActiveShapes, run: Outputs) -> Rules:
    """Return forward, jvp, vjp and the primal of the vjp of one equation, by JAX's own transforms.

    The jvp of a function that has only a `custom_vjp` is that of the function itself, without the rule: once it is
    proved to be the derivative, the adjoint law says that the vjp is right. Outputs that are no floats are converted,
    so that the lemma says where they are locally constant. `run` computes the equation's outputs. Of an equation with a
    custom rule in it, the programs run the declared rules (`without_linear`). `both` gives outputs and cotangents by
    one run of the vjp.
    """
    forward = _real_outputs(run, shapes.used)
    tangent_of = forward
    if equation.name.startswith("custom_vjp_call") and equation.inner is not None:
        tangent_of = _real_outputs(primal_function(equation), shapes.used)
    custom = ("custom_jvp_call", "custom_vjp_call")
    has_rule = any(e.primitive.name.startswith(custom) for e in equations_of(equation.program.jaxpr))
    with_declared_rules = without_linear if has_rule else lambda fn: fn
    active = shapes.active

    def jvp(args: list, tangents: list, params: list) -> list:
        return with_declared_rules(
            lambda xs, dxs: jax.jvp(_partial(tangent_of, xs, active), _chosen(xs, active), dxs)[1]
        )(list(args), list(tangents))

    def both(args: list, seeds: list | None, params: list) -> tuple[list, list]:
        assert seeds is not None, "the cotangents of a node are given"

        def pull(xs: list, cts: list) -> list:
            if not active:
                return forward(*xs)
            value, pulled = jax.vjp(_partial(forward, xs, active), *_chosen(xs, active))
            return [*value, *pulled(list(cts))]

        outputs = with_declared_rules(pull)(list(args), list(seeds))
        return outputs[: len(seeds)], outputs[len(seeds) :]

    def vjp(args: list, seeds: list, params: list) -> list:
        return both(args, seeds, params)[1]

    def primal(args: list, params: list) -> list:
        if not active:
            return forward(*args)
        return with_declared_rules(lambda xs: jax.vjp(_partial(forward, xs, active), *_chosen(xs, active))[0])(
            list(args)
        )

    return Rules(lambda args, params: forward(*args), jvp, vjp, primal, both=both)


def _chosen(args: Sequence[Any], active: Sequence[int]) -> list[Any]:
    return [args[k] for k in active]


def _partial(fn: Outputs, args: Sequence[Any], active: Sequence[int]) -> Outputs:
    """Return the function of the active arguments, with the other ones fixed."""

    def run(*moving: Any) -> list[Any]:
        all_args = list(args)
        for k, x in zip(active, moving, strict=True):
            all_args[k] = x
        return fn(*all_args)

    return run


def _real_outputs(fn: Outputs, used: Sequence[int] | None) -> Outputs:
    """Return the function with all outputs as floats, or with the float outputs `used` alone."""

    def run(*args: Any) -> list[Any]:
        outputs = fn(*args)
        if used is not None:
            floats = [y for y in outputs if jnp.issubdtype(y.dtype, jnp.floating)]
            return [floats[k] for k in used]
        return [y if jnp.issubdtype(y.dtype, jnp.floating) else y.astype(float) for y in outputs]

    return run


def sees_used_outputs(run: Outputs, shapes: ActiveShapes, specs: Sequence[Any]) -> bool:
    """Return whether a backward that the operation calls sees which outputs are used. Raises what tracing raises."""
    active = shapes.active

    def jvp(args: list[Any], tangents: list[Any]) -> list[Any]:
        return list(jax.jvp(_partial(_real_outputs(run, None), args, active), _chosen(args, active), tangents)[1])

    return sees_zeros(jaxpr_of(jax.make_jaxpr(jvp)(list(specs), _chosen(specs, active))))
