"""A linear map with a declared transpose, as a JAX primitive: an op computes its tangent by it.

JAX has `jax.custom_derivatives.linear_call` for this, but it can neither be batched nor differentiated with respect to
its residuals. Uses jax.extend.core and the registration tables of jax.interpreters; nothing else of certgrad.ops
touches JAX's internals.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

Arrays = tuple[Any, ...]
Avals = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Linear:
    """A map `apply(residuals, inputs)`, linear in the inputs, and its transpose `transpose(residuals, cotangents)`.

    Each takes tuples of arrays and returns one.
    """

    apply: Callable[[Arrays, Arrays], Arrays]
    transpose: Callable[[Arrays, Arrays], Arrays]
    inputs: Avals | None = None
    outputs: Avals | None = None
    """The abstract values of inputs and outputs, which `apply` and `transpose` have to keep to. If they are None, JAX
    traces the map for them each time that it needs them."""

    def flip(self) -> "Linear":
        """Return the transposed map, whose transpose is this one."""
        return Linear(self.transpose, self.apply, self.outputs, self.inputs)

    def map(self, in_axes: Sequence[int | None], size: int) -> "Linear":
        """Return the map over a batch: the residuals are batched along `in_axes`, inputs and outputs along axis 0."""

        def over(fun: Callable[[Arrays, Arrays], Arrays]) -> Callable[[Arrays, Arrays], Arrays]:
            return jax.vmap(lambda res, lin: tuple(fun(res, lin)), in_axes=(tuple(in_axes), 0), axis_size=size)

        return Linear(over(self.apply), over(self.transpose))


def call_linear(linear: Linear, residuals: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    """Return `linear.apply(residuals, inputs)`, which JAX transposes by `linear.transpose`.

    The result is differentiable in the inputs and in the residuals.
    """
    return _linear_p.bind(*residuals, *inputs, linear=linear, count=len(residuals))


def program_of(params: Mapping[str, Any], avals: Sequence[Any]) -> Any:
    """Return the closed jaxpr that the primitive with these parameters runs on arrays of these shapes."""
    return jax.make_jaxpr(lambda *args: _run(*args, **params))(*avals)


def linear_program(eqn: Any) -> Any:
    """Return the closed jaxpr that an equation of the primitive runs: its linear map at the equation's types."""
    avals = [v.aval for v in (*eqn.invars, *eqn.outvars)]
    with jax.enable_x64(any(a.dtype in (jnp.dtype("float64"), jnp.dtype("int64")) for a in avals)):
        return program_of(eqn.params, avals[: len(eqn.invars)])


LINEAR = "certgrad_linear"
_linear_p = Primitive(LINEAR)
_linear_p.multiple_results = True


def _run(*args: Any, linear: Linear, count: int) -> list[Any]:
    arrays = tuple(map(_array, args))
    return list(linear.apply(arrays[:count], arrays[count:]))


def _array(x: Any) -> Any:
    """Return `x` as a JAX array, for which rules are written: JAX may evaluate a jaxpr on numpy arrays and scalars."""
    return x if isinstance(x, jax.Array) else jnp.asarray(x, getattr(x, "dtype", None))


def _shapes(*avals: Any, linear: Linear, count: int) -> list[Any]:
    declared = linear.outputs
    return list(declared) if declared is not None else program_of({"linear": linear, "count": count}, avals).out_avals


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, linear: Linear, count: int) -> tuple[list[Any], list[Any]]:
    """Return outputs and tangents: the map of the inputs' tangents, plus the derivative in the residuals.

    The first term is a call of the same map, so that it can be transposed; the second is JAX's JVP of `apply`.
    """
    arrays = list(map(_array, primals))
    residuals, inputs = arrays[:count], arrays[count:]
    out = call_linear(linear, residuals, inputs)
    terms = []
    if any(type(t) is not ad.Zero for t in tangents[count:]):
        terms.append(call_linear(linear, residuals, [ad.instantiate_zeros(t) for t in tangents[count:]]))
    moving = [i for i, t in enumerate(tangents[:count]) if type(t) is not ad.Zero]
    if moving:

        def of_residuals(*values: Any) -> Arrays:
            full = list(residuals)
            for i, value in zip(moving, values, strict=True):
                full[i] = value
            return tuple(_run(*full, *inputs, linear=linear, count=count))

        _, by_residuals = jax.jvp(of_residuals, [residuals[i] for i in moving], [tangents[i] for i in moving])
        terms.append(list(by_residuals))
    return out, terms[0] if len(terms) == 1 else [jnp.add(a, b) for a, b in zip(*terms, strict=True)]


def _transpose(cotangents: Sequence[Any], *args: Any, linear: Linear, count: int) -> list[Any]:
    """Return the cotangents of the inputs by the transposed map; None for residuals and for inputs that are known."""
    residuals, inputs = args[:count], args[count:]
    seeds = [ad.instantiate_zeros(ct) for ct in cotangents]
    out = call_linear(linear.flip(), residuals, seeds)
    wanted = [ct if ad.is_undefined_primal(x) else None for ct, x in zip(out, inputs, strict=True)]
    return [None] * count + wanted


def _batch(args: Sequence[Any], axes: Sequence[Any], *, linear: Linear, count: int) -> tuple[list[Any], list[int]]:
    """Return the outputs of a batch, along axis 0: inputs are moved or broadcast to axis 0, residuals stay."""
    args = [_array(x) for x in args]
    size = next(x.shape[axis] for x, axis in zip(args, axes, strict=True) if axis is not None)
    inputs = []
    for x, axis in zip(args[count:], axes[count:], strict=True):
        inputs.append(jnp.broadcast_to(x, (size, *x.shape)) if axis is None else jnp.moveaxis(x, axis, 0))
    out = call_linear(linear.map(axes[:count], size), args[:count], inputs)
    return out, [0] * len(out)


_linear_p.def_impl(_run)
_linear_p.def_abstract_eval(_shapes)
ad.primitive_jvps[_linear_p] = _jvp
ad.primitive_transposes[_linear_p] = _transpose
batching.primitive_batchers[_linear_p] = _batch
mlir.register_lowering(_linear_p, mlir.lower_fun(_run, multiple_results=True))
