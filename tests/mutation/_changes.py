"""The changes that make mutants: what each does to one equation, and at which equations it can be made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.mutation._interpreter import Frame, Hook, Key, Site

NUDGE = 1e-6
Args = tuple[Any, ...]
Outs = list[Any] | None


@dataclass(frozen=True)
class Change:
    """A kind of change: the ways to make it at a site, and what the equation then returns."""

    name: str
    places: Callable[[Site], Sequence[Args]]
    act: Callable[..., Outs]
    shapewise: bool = False
    """It acts only at special shapes, so that the trace at general dimensions is the original's."""


@dataclass(frozen=True)
class Mutation:
    """One change at one equation of one rule (`forward`, `fwd`, `jvp` or `vjp`)."""

    role: str
    key: Key
    change: str
    args: Args = ()

    def __str__(self) -> str:
        given = f" {' '.join(map(str, self.args))}" if self.args else ""
        return f"{self.role}: {self.key[0]} #{self.key[1]}, {self.change}{given}"

    @property
    def shapewise(self) -> bool:
        """It acts only at special shapes."""
        return CHANGES[self.change].shapewise

    @property
    def hook(self) -> Hook:
        """The change, as the interpreter makes it."""
        act = CHANGES[self.change].act

        def hook(frame: Frame) -> Outs:
            return act(frame, *self.args) if frame.key == self.key else None

        return hook


CHANGES: dict[str, Change] = {}


def change(name: str, places: Callable[[Site], Sequence[Args]], shapewise: bool = False) -> Callable:
    """Register a change."""

    def register(act: Callable[..., Outs]) -> Callable[..., Outs]:
        CHANGES[name] = Change(name, places, act, shapewise)
        return act

    return register


def mutations(role: str, sites: Sequence[Site]) -> Iterator[Mutation]:
    """Every mutation of one traced rule."""
    for site in sites:
        for one in CHANGES.values():
            for args in one.places(site):
                yield Mutation(role, site.key, one.name, args)


# where a change can be made


def is_float(aval: Any) -> bool:
    return jnp.issubdtype(aval.dtype, jnp.floating)


def _everywhere(site: Site) -> Sequence[Args]:
    return [()] if len(site.outputs) == 1 and is_float(site.outputs[0]) else []


def _of(*names: str) -> Callable[[Site], Sequence[Args]]:
    return lambda site: [()] if site.key[0] in names else []


def _floats(site: Site, literal: bool | None = None) -> list[int]:
    return [
        j for j, aval in enumerate(site.operands) if is_float(aval) and (literal is None or site.literals[j] == literal)
    ]


def _arrays(site: Site) -> Sequence[Args]:
    """Float operands with axes, each with its first and its last axis."""
    return [
        (j, axis)
        for j in _floats(site, literal=False)
        for axis in dict.fromkeys((0, len(site.operands[j].shape) - 1))
        if site.operands[j].shape and site.key[0] not in ("convert_element_type", "stop_gradient")
    ]


# on any equation with a float output


@change("doubled", _everywhere)
def _(f: Frame) -> Outs:
    return [2.0 * f.run(*f.operands)[0]]


@change("off by 1e-6", _everywhere)
def _(f: Frame) -> Outs:
    return [f.run(*f.operands)[0] * (1 + NUDGE)]


@change("sign flipped", _everywhere)
def _(f: Frame) -> Outs:
    return [-f.run(*f.operands)[0]]


@change("plus 1e-6", _everywhere)
def _(f: Frame) -> Outs:
    return [f.run(*f.operands)[0] + NUDGE]


@change("magnitude", _everywhere)
def _(f: Frame) -> Outs:
    return [jnp.abs(f.run(*f.operands)[0])]


@change(
    "times an operand over itself", lambda s: [(j,) for j in _floats(s, literal=False)][:1] if _everywhere(s) else []
)
def _(f: Frame, j: int) -> Outs:
    (out,), x = f.run(*f.operands), f.operands[j]
    return [out * (x / x)] if x.shape == out.shape else None


@change("plus 0 times a logarithm", lambda s: [(j,) for j in _floats(s, literal=False)][:1] if _everywhere(s) else [])
def _(f: Frame, j: int) -> Outs:
    (out,), x = f.run(*f.operands), f.operands[j]
    return [out + 0.0 * jnp.log(x)] if x.shape == out.shape else None


@change("times a size", lambda s: _everywhere(s) if s.outputs and s.outputs[0].shape else [])
def _(f: Frame) -> Outs:
    (out,) = f.run(*f.operands)
    return [out * _size(out, 0)] if out.ndim else None


@change("clipped at 2", _everywhere)
def _(f: Frame) -> Outs:
    return [jnp.minimum(f.run(*f.operands)[0], 2.0)]


@change("halved below -1", _everywhere)
def _(f: Frame) -> Outs:
    (out,) = f.run(*f.operands)
    return [jnp.where(out < -1.0, 0.5 * out, out)]


def _size(x: Any, axis: int) -> Any:
    """The size of an axis as a number, also where it is symbolic."""
    return jnp.asarray(x.shape[axis]).astype(x.dtype)


# only at special shapes


@change("doubled at size 1", lambda s: _everywhere(s) if s.outputs and s.outputs[0].shape else [], shapewise=True)
def _(f: Frame) -> Outs:
    (out,) = f.run(*f.operands)
    return [2.0 * out] if out.ndim and out.shape[-1] == 1 else None


@change("doubled at odd sizes", lambda s: _everywhere(s) if s.outputs and s.outputs[0].shape else [], shapewise=True)
def _(f: Frame) -> Outs:
    (out,) = f.run(*f.operands)
    return [2.0 * out] if out.ndim and out.shape[-1] % 2 == 1 else None


@change("doubled at size 3", lambda s: _everywhere(s) if s.outputs and s.outputs[0].shape else [], shapewise=True)
def _(f: Frame) -> Outs:
    (out,) = f.run(*f.operands)
    return [2.0 * out] if out.ndim and out.shape[0] == 3 else None


@change("doubled by a look-up of the size", lambda s: _everywhere(s) if s.outputs[0].shape else [], shapewise=True)
def _(f: Frame) -> Outs:
    (out,) = f.run(*f.operands)
    return [2.0 * out] if out.ndim and {1: True}.get(out.shape[0]) else None


@change("doubled at equal sizes", lambda s: _everywhere(s) if len(s.outputs[0].shape) > 1 else [], shapewise=True)
def _(f: Frame) -> Outs:
    (out,) = f.run(*f.operands)
    return [2.0 * out] if out.ndim > 1 and out.shape[0] == out.shape[1] else None


@change("doubled at two axes", _everywhere, shapewise=True)
def _(f: Frame) -> Outs:
    (out,) = f.run(*f.operands)
    return [2.0 * out] if out.ndim == 2 and len(_first(f).shape) == 2 else None


@change("doubled at rank 0", _everywhere, shapewise=True)
def _(f: Frame) -> Outs:
    (out,) = f.run(*f.operands)
    return [2.0 * out] if not _first(f).shape else None


@change(
    "transposed where square", lambda s: [(j,) for j, a in enumerate(s.operands) if len(a.shape) > 1], shapewise=True
)
def _(f: Frame, j: int) -> Outs:
    x = f.operands[j]
    return f.changed(j, jnp.swapaxes(x, -1, -2)) if x.ndim > 1 and x.shape[-1] == x.shape[-2] else None


def _first(f: Frame) -> Any:
    return f.pool[("in", 0)]


# arithmetic


@change("first term only", _of("add", "add_any", "sub", "mul", "div", "max", "min", "pow"))
def _(f: Frame) -> Outs:
    return [jnp.broadcast_to(f.operands[0], _out(f).shape).astype(_out(f).dtype)]


@change("second term only", _of("add", "add_any", "sub", "mul", "max", "min"))
def _(f: Frame) -> Outs:
    return [jnp.broadcast_to(f.operands[1], _out(f).shape).astype(_out(f).dtype)]


@change("operands swapped", _of("sub", "div", "pow", "atan2", "gt", "lt", "ge", "le"))
def _(f: Frame) -> Outs:
    return f.run(f.operands[1], f.operands[0])


_BINARY = {
    "add": (jnp.subtract, jnp.multiply),
    "add_any": (jnp.subtract,),
    "sub": (jnp.add,),
    "mul": (jnp.add, jnp.divide),
    "div": (jnp.multiply,),
    "max": (jnp.minimum,),
    "min": (jnp.maximum,),
    "and": (jnp.logical_or,),
    "or": (jnp.logical_and,),
}


@change("another operation", lambda s: [(k,) for k in range(len(_BINARY.get(s.key[0], ())))])
def _(f: Frame, k: int) -> Outs:
    return [_BINARY[f.key[0]][k](*f.operands)]


def _out(f: Frame) -> Any:
    return f.equation.outvars[0].aval


@change("literal off by 1e-6", lambda s: [(j,) for j in _floats(s, literal=True)])
def _(f: Frame, j: int) -> Outs:
    return f.changed(j, _number(f.operands[j], lambda x: x * (1 + NUDGE) if x else NUDGE))


@change("literal plus 1", lambda s: [(j,) for j in _floats(s, literal=True)])
def _(f: Frame, j: int) -> Outs:
    return f.changed(j, _number(f.operands[j], lambda x: x + 1))


@change("literal negated", lambda s: [(j,) for j in _floats(s, literal=True)])
def _(f: Frame, j: int) -> Outs:
    return f.changed(j, _number(f.operands[j], lambda x: -x))


def _number(old: Any, new: Callable[[float], float]) -> Any:
    """A literal of the same kind with another value."""
    value = new(float(np.asarray(old)))
    return value if type(old) is float else np.asarray(value, np.asarray(old).dtype)[()]


# the wrong value


def _others(site: Site) -> Sequence[Args]:
    """For each operand, up to three other values of the same shape and type, arguments of the rule first."""
    found: list[Args] = []
    for j, aval in enumerate(site.operands):
        same = [n for n, a in site.earlier if a.shape == aval.shape and a.dtype == aval.dtype and n != site.same[j]]
        inputs = [n for n in same if n[0] == "in"]
        found += [(j, n) for n in [*inputs[:2], *[n for n in same if n[0] != "in"][-1:]]]
    return found


@change("another value", _others)
def _(f: Frame, j: int, name: Any) -> Outs:
    value, old = f.pool.get(name), f.operands[j]
    if value is None or np.shape(value) != np.shape(old) or value.dtype != _dtype(old):
        return None
    return f.changed(j, value)


def _dtype(x: Any) -> Any:
    return x.dtype if hasattr(x, "dtype") else jnp.result_type(x)


@change("operand squared", lambda s: [(j,) for j in _floats(s, literal=False)])
def _(f: Frame, j: int) -> Outs:
    return f.changed(j, f.operands[j] * f.operands[j])


# sums, axes, indices


@change("operand summed", _arrays)
def _(f: Frame, j: int, axis: int) -> Outs:
    return _along(f, j, axis, lambda x, a: jnp.sum(x, axis=a, keepdims=True))


@change("operand averaged", _arrays)
def _(f: Frame, j: int, axis: int) -> Outs:
    return _along(f, j, axis, lambda x, a: jnp.mean(x, axis=a, keepdims=True))


@change("operand's largest entry", _arrays)
def _(f: Frame, j: int, axis: int) -> Outs:
    return _along(f, j, axis, lambda x, a: jnp.max(x, axis=a, keepdims=True))


def _along(f: Frame, j: int, axis: int, reduce: Callable[[Any, int], Any]) -> Outs:
    x = f.operands[j]
    return f.changed(j, jnp.broadcast_to(reduce(x, axis), x.shape)) if axis < x.ndim else None


@change("a sum over one axis fewer", lambda s: [()] if s.key[0] == "reduce_sum" and len(s.params["axes"]) > 1 else [])
def _(f: Frame) -> Outs:
    axis = f.params["axes"][0]
    return f.run(_entry(f.operands[0], axis, 0)) if len(f.params["axes"]) > 1 else None


@change("one entry instead of the sum", lambda s: [(0,)] if s.key[0] in ("reduce_sum", "reduce_max") else [])
def _(f: Frame, k: int) -> Outs:
    x = f.operands[0]
    for axis in f.params["axes"]:
        x = _entry(x, axis, k)
    return f.run(x)


@change("largest instead of the sum", _of("reduce_sum"))
def _(f: Frame) -> Outs:
    return [jnp.max(f.operands[0], axis=f.params["axes"])] if f.params["axes"] else None


@change("mean instead of the sum", _of("reduce_sum"))
def _(f: Frame) -> Outs:
    return [jnp.mean(f.operands[0], axis=f.params["axes"])] if f.params["axes"] else None


@change("another extreme", _of("reduce_max", "reduce_min"))
def _(f: Frame) -> Outs:
    other = jnp.min if f.key[0] == "reduce_max" else jnp.max
    return [other(f.operands[0], axis=f.params["axes"])]


@change("sum instead of the largest", _of("reduce_max", "reduce_min"))
def _(f: Frame) -> Outs:
    return [jnp.sum(f.operands[0], axis=f.params["axes"])]


def _entry(x: Any, axis: int, k: int) -> Any:
    return lax.slice_in_dim(x, k, k + 1, axis=axis)


@change(
    "sums apart", lambda s: [(0,), (1,)] if s.key[0] == "dot_general" and s.params["dimension_numbers"][0][0] else []
)
def _(f: Frame, j: int) -> Outs:
    """Σ_k a_ik b_kj becomes Σ_k a_ik · Σ_k b_kj."""
    axes = f.params["dimension_numbers"][0][j]
    x = f.operands[j]
    return f.changed(j, jnp.broadcast_to(jnp.sum(x, axis=tuple(axes), keepdims=True), x.shape))


@change("parts swapped", _of("split", "concatenate"))
def _(f: Frame) -> Outs:
    if f.key[0] == "concatenate":
        return f.run(*f.operands[::-1])
    outs = f.run(*f.operands)
    return outs[::-1] if len({x.shape for x in outs}) == 1 else None


@change("exponent changed", lambda s: [(1,), (-1,)] if s.key[0] == "integer_pow" else [])
def _(f: Frame, by: int) -> Outs:
    return f.run(*f.operands, y=f.params["y"] + by)


# functions


_UNARY: dict[str, tuple[Callable[[Any], Any], ...]] = {
    "exp": (jnp.exp2, jnp.expm1),
    "exp2": (jnp.exp,),
    "expm1": (jnp.exp,),
    "log": (jnp.log1p, jnp.abs),
    "log1p": (jnp.log, jnp.arctan),
    "tanh": (lax.logistic, lax.erf, jnp.arctan),
    "logistic": (jnp.tanh, lambda x: 0.5 * (1.0 + lax.erf(x))),
    "sin": (jnp.cos, jnp.sinh, jnp.arctan),
    "cos": (jnp.sin, jnp.cosh),
    "tan": (jnp.sin, jnp.tanh),
    "sinh": (jnp.cosh, jnp.sin),
    "cosh": (jnp.sinh, jnp.cos),
    "erf": (lax.erfc, jnp.tanh),
    "erfc": (lax.erf, lambda x: 1.0 - jnp.tanh(x)),
    "erf_inv": (lax.erf, jnp.arctanh),
    "sqrt": (lax.cbrt, lax.rsqrt, jnp.abs),
    "rsqrt": (lax.sqrt, lambda x: 1.0 / x),
    "cbrt": (lax.sqrt,),
    "asin": (jnp.arccos, jnp.arctan),
    "acos": (jnp.arcsin,),
    "atan": (jnp.arcsinh, jnp.tanh),
    "asinh": (jnp.arctan, jnp.arccosh),
    "acosh": (jnp.arcsinh,),
    "atanh": (jnp.tanh, jnp.arctan),
    "abs": (lambda x: x, jnp.sign),
    "sign": (jnp.tanh, jnp.abs),
    "neg": (lambda x: x,),
    "floor": (jnp.ceil, lambda x: x),
    "round": (jnp.floor, lambda x: x),
    "lgamma": (lax.digamma, jnp.log),
    "digamma": (lax.lgamma, jnp.log),
    "not": (lambda x: x,),
    "stop_gradient": (lambda x: 1.0 * x,),
}


@change("a similar function", lambda s: [(k,) for k in range(len(_UNARY.get(s.key[0], ())))])
def _(f: Frame, k: int) -> Outs:
    return [_UNARY[f.key[0]][k](f.operands[0])]


# predicates


_COMPARISONS = {
    "gt": ("ge", "lt"),
    "ge": ("gt", "le"),
    "lt": ("le", "gt"),
    "le": ("lt", "ge"),
    "eq": ("ne",),
    "ne": ("eq",),
}
_COMPARE = {"gt": lax.gt, "ge": lax.ge, "lt": lax.lt, "le": lax.le, "eq": lax.eq, "ne": lax.ne}


@change("another comparison", lambda s: [(n,) for n in _COMPARISONS.get(s.key[0], ())])
def _(f: Frame, name: str) -> Outs:
    return [_COMPARE[name](*(jnp.broadcast_to(x, _out(f).shape) for x in _alike(f.operands)))]


@change("threshold moved", lambda s: [(1.0,), (NUDGE,)] if s.key[0] in _COMPARE and is_float(s.operands[0]) else [])
def _(f: Frame, by: float) -> Outs:
    a, b = _alike(f.operands)
    return f.run(a, b + np.asarray(by, b.dtype)[()])


def _alike(operands: Sequence[Any]) -> list[Any]:
    dtype = jnp.result_type(*operands)
    return [jnp.asarray(x, dtype) for x in operands]


@change("predicate negated", _of("select_n"))
def _(f: Frame) -> Outs:
    return f.run(f.operands[0], *f.operands[:0:-1]) if len(f.operands) == 3 else None


@change("one branch only", lambda s: [(1,), (2,)] if s.key[0] == "select_n" and len(s.operands) == 3 else [])
def _(f: Frame, k: int) -> Outs:
    return [f.operands[k]]


@change(
    "complemented", lambda s: [()] if s.key[0] == "convert_element_type" and s.operands[0].dtype == np.bool_ else []
)
def _(f: Frame) -> Outs:
    return [1.0 - f.run(*f.operands)[0]]
