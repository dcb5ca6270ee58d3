"""Changes of complex numbers, factorisations, order, devices, kernels and special functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from tests.mutation._changes import NUDGE, Args, Outs, change, is_float
from tests.mutation._interpreter import Frame, Site


def _is_complex(aval: Any) -> bool:
    return jnp.issubdtype(aval.dtype, jnp.complexfloating)


def _complex(site: Site) -> Sequence[Args]:
    return [()] if len(site.outputs) == 1 and _is_complex(site.outputs[0]) else []


def _of(*names: str) -> Callable[[Site], Sequence[Args]]:
    return lambda site: [()] if site.key[0] in names else []


def _out(f: Frame) -> Any:
    (out,) = f.run(*f.operands)
    return out


# where a value is defined, at all entries of an operand


def _arrays(site: Site) -> Sequence[Args]:
    """The float operands with axes, where the output is one array of floats."""
    if len(site.outputs) != 1 or not is_float(site.outputs[0]):
        return []
    return [(j,) for j, a in enumerate(site.operands) if is_float(a) and not site.literals[j] and a.shape]


@change("plus 0 times a sum of logarithms", _arrays)
def _(f: Frame, j: int) -> Outs:
    return [_out(f) + 0.0 * jnp.sum(jnp.log(f.operands[j]))]


@change("plus 0 times a sum of roots", _arrays)
def _(f: Frame, j: int) -> Outs:
    return [_out(f) + 0.0 * jnp.sum(jnp.sqrt(f.operands[j]))]


@change("plus 0 over the output", lambda s: [()] if len(s.outputs) == 1 and is_float(s.outputs[0]) else [])
def _(f: Frame) -> Outs:
    return [_out(f) + 0.0 / _out(f)]


# complex numbers


@change("complex number doubled", _complex)
def _(f: Frame) -> Outs:
    return [2.0 * _out(f)]


@change("complex number off by 1e-6", _complex)
def _(f: Frame) -> Outs:
    return [_out(f) * (1 + NUDGE)]


@change("conjugated", _complex)
def _(f: Frame) -> Outs:
    return [jnp.conj(_out(f))]


@change("times i", _complex)
def _(f: Frame) -> Outs:
    return [_out(f) * 1j]


@change("real part only", _complex)
def _(f: Frame) -> Outs:
    return [_out(f).real + 0j]


@change("the other part", _of("real", "imag"))
def _(f: Frame) -> Outs:
    return [(lax.imag if f.key[0] == "real" else lax.real)(f.operands[0])]


@change("parts exchanged", _of("complex"))
def _(f: Frame) -> Outs:
    return f.run(*f.operands[::-1])


@change("another transform", lambda s: [()] if s.key[0] == "fft" and "IRFFT" not in str(s.params["fft_type"]) else [])
def _(f: Frame) -> Outs:
    kind = str(f.params["fft_type"])
    if "RFFT" in kind:
        return [jnp.conj(_out(f))]
    x, shape = f.operands[0], f.params["fft_lengths"]
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    return [(jnp.fft.fftn if "IFFT" in kind else jnp.fft.ifftn)(x, axes=axes)]


# linear algebra


@change("the other triangle", lambda s: [()] if "lower" in s.params and s.key[0] != "custom_lin" else [])
def _(f: Frame) -> Outs:
    return f.run(*f.operands, lower=not f.params["lower"])


@change("transposed in a solve", lambda s: [()] if "transpose_a" in s.params else [])
def _(f: Frame) -> Outs:
    before = f.params["transpose_a"]
    return f.run(*f.operands, transpose_a=not before if isinstance(before, bool) else 1 - int(before))


@change("unit diagonal", lambda s: [()] if "unit_diagonal" in s.params else [])
def _(f: Frame) -> Outs:
    return f.run(*f.operands, unit_diagonal=not f.params["unit_diagonal"])


def _contracted(site: Site) -> Sequence[Args]:
    if site.key[0] != "dot_general":
        return []
    return [(j,) for j, a in enumerate(site.operands) if len(a.shape) >= 2 and a.shape[-1] == a.shape[-2]]


@change("product with the transpose", _contracted)
def _(f: Frame, j: int) -> Outs:
    return f.changed(j, jnp.swapaxes(f.operands[j], -1, -2))


def _factors(site: Site) -> Sequence[Args]:
    if len(site.outputs) < 2 or site.key[0] == "scan":
        return []
    return [(j,) for j, a in enumerate(site.outputs) if is_float(a)]


@change("one of several outputs doubled", _factors)
def _(f: Frame, j: int) -> Outs:
    outs = list(f.run(*f.operands))
    return [*outs[:j], 2.0 * outs[j], *outs[j + 1 :]]


@change(
    "one of several outputs transposed",
    lambda s: [
        (j,)
        for (j,) in _factors(s)
        if len(s.outputs[j].shape) >= 2 and s.outputs[j].shape[-1] == s.outputs[j].shape[-2]
    ],
)
def _(f: Frame, j: int) -> Outs:
    outs = list(f.run(*f.operands))
    return [*outs[:j], jnp.swapaxes(outs[j], -1, -2), *outs[j + 1 :]]


@change(
    "one of several outputs in the other order",
    lambda s: [(j,) for (j,) in _factors(s) if len(s.outputs[j].shape) >= 1],
)
def _(f: Frame, j: int) -> Outs:
    outs = list(f.run(*f.operands))
    return [*outs[:j], jnp.flip(outs[j], -1), *outs[j + 1 :]]


# order and places


@change("sorted the other way", _of("sort"))
def _(f: Frame) -> Outs:
    outs = f.run(*f.operands)
    return [jnp.flip(x, f.params["dimension"]) for x in outs]


@change("the other extreme's place", _of("argmax", "argmin"))
def _(f: Frame) -> Outs:
    axes = f.params["axes"]
    if len(axes) != 1:
        return None
    other = jnp.argmin if f.key[0] == "argmax" else jnp.argmax
    return [other(f.operands[0], axis=axes[0])]


@change("quotient for remainder", _of("rem"))
def _(f: Frame) -> Outs:
    return [lax.div(f.operands[0], f.operands[1] * jnp.ones_like(f.operands[0]))]


_PLACES = ("rem", "div", "mul", "argmax", "argmin")


def _place(site: Site) -> Sequence[Args]:
    whole = jnp.issubdtype(site.outputs[0].dtype, jnp.signedinteger) if site.outputs else False
    return [(1,), (-1,)] if whole and site.key[0] in _PLACES else []


@change("a step of a position", _place)
def _(f: Frame, by: int) -> Outs:
    return [_out(f) + by]


# many devices


@change("not summed over devices", _of("psum", "psum_invariant", "pmax"))
def _(f: Frame) -> Outs:
    return [*f.operands]


@change("sent to the other side", _of("ppermute"))
def _(f: Frame) -> Outs:
    return f.run(*f.operands, perm=tuple((b, a) for a, b in f.params["perm"]))


@change("sent to nobody", _of("ppermute"))
def _(f: Frame) -> Outs:
    return [*f.operands]


@change("device off by one", _of("axis_index", "program_id"))
def _(f: Frame) -> Outs:
    return [_out(f) + 1]


# loops


@change(
    "a step fewer",
    lambda s: [()] if s.key[0] == "lt" and all(jnp.issubdtype(a.dtype, jnp.signedinteger) for a in s.operands) else [],
)
def _(f: Frame) -> Outs:
    a, b = f.operands
    return [lax.lt(jnp.asarray(a) + jnp.ones_like(a), jnp.asarray(b) * jnp.ones_like(a))]


@change("the other branch", _of("cond"))
def _(f: Frame) -> Outs:
    return f.run(*f.operands, branches=tuple(f.params["branches"][::-1]))


# special functions


_RELATED: dict[str, Callable[..., Any]] = {
    "igamma": lax.igammac,
    "igammac": lax.igamma,
    "regularized_incomplete_beta": lambda a, b, x: x,
    "bessel_i0e": lax.bessel_i1e,
    "bessel_i1e": lax.bessel_i0e,
    "polygamma": lambda m, x: lax.polygamma(m + 1.0, x),
    "zeta": lambda s, q: lax.zeta(s + 1.0, q),
    "erfc": lambda x: 1.0 - lax.erf(0.5 * x),
    "logistic": lambda x: 1.0 - lax.logistic(x),
    "exp": lambda x: 1.0 + x,
    "log": lambda x: x - 1.0,
    "square": lambda x: x,
}


@change("a related function", lambda s: [()] if s.key[0] in _RELATED else [])
def _(f: Frame) -> Outs:
    return [_RELATED[f.key[0]](*f.operands)]
