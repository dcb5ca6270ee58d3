"""The rule of each primitive on pairs of reals, and programs run by these rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src import source_info_util

from certgrad.jaxpr.kinds import CONTRACTS, LINEAR
from certgrad.jaxpr.lowerings import executed_program
from certgrad.jaxpr.programs import jaxpr_of, results, scan_counts

from ._custom import KINDS, ruled
from ._fourier import transform
from ._linear_systems import factors, log_modulus, solution
from ._pair import NoPairsError, Pair, Unread, is_complex, real_dtype, touches
from ._pair import flat as _flat
from ._pair import lifted as _lifted


def pair_of(value: Any) -> Any:
    """Return a constant as it is, or as a pair if it is complex."""
    if not is_complex(value):
        return value
    array, dtype = np.asarray(value), real_dtype(value.dtype)
    return Pair(np.asarray(array.real, dtype), np.asarray(array.imag, dtype))


def to_complex(value: Any) -> Any:
    """Return the complex value of a pair; real values as they are. Raises NoPairsError for an unread value."""
    if isinstance(value, Unread):
        raise NoPairsError(value.what)
    return lax.complex(value.re, value.im) if isinstance(value, Pair) else value


# --- arithmetic ---


def _mul(z: Pair, w: Pair) -> Pair:
    return Pair(z.re * w.re - z.im * w.im, z.re * w.im + z.im * w.re)


def _squares(z: Pair) -> Any:
    return z.re * z.re + z.im * z.im


def _div(z: Pair, w: Pair) -> Pair:
    n = _squares(w)
    return Pair((z.re * w.re + z.im * w.im) / n, (z.im * w.re - z.re * w.im) / n)


def _ones_like(z: Pair) -> Pair:
    return Pair(jnp.ones_like(z.re), jnp.zeros_like(z.im))


def _integer_pow(z: Pair, y: int) -> Pair:
    """Return z to a whole power, by multiplication; 1/z^(−y) for a negative one."""
    if y < 0:
        return _div(_ones_like(z), _integer_pow(z, -y))
    out = _ones_like(z)
    for _ in range(y):
        out = _mul(out, z)
    return out


def _exp(z: Pair) -> Pair:
    r = jnp.exp(z.re)
    return Pair(r * jnp.cos(z.im), r * jnp.sin(z.im))


def _log(z: Pair) -> Pair:
    return Pair(jnp.log(_squares(z)) / 2, jnp.arctan2(z.im, z.re))


def _sin(z: Pair) -> Pair:
    return Pair(jnp.sin(z.re) * jnp.cosh(z.im), jnp.cos(z.re) * jnp.sinh(z.im))


def _cos(z: Pair) -> Pair:
    return Pair(jnp.cos(z.re) * jnp.cosh(z.im), -jnp.sin(z.re) * jnp.sinh(z.im))


def _sinh(z: Pair) -> Pair:
    return Pair(jnp.sinh(z.re) * jnp.cos(z.im), jnp.cosh(z.re) * jnp.sin(z.im))


def _cosh(z: Pair) -> Pair:
    return Pair(jnp.cosh(z.re) * jnp.cos(z.im), jnp.sinh(z.re) * jnp.sin(z.im))


def _plus(z: Pair, number: float) -> Pair:
    return Pair(z.re + number, z.im)


def _sign(z: Pair) -> Pair:
    n = _squares(z)
    zero, r = n == 0, jnp.sqrt(n)
    return Pair(jnp.where(zero, 0, z.re / r), jnp.where(zero, 0, z.im / r))


def _root(z: Pair, power: float) -> Pair:
    """Return z to a real power, on the branch where the argument of z is in (−π, π]."""
    log = _log(z)
    return _exp(Pair(log.re * power, log.im * power))


def _pow(z: Any, w: Any) -> Pair:
    return _exp(_mul(_log(_lifted(z)), _lifted(w)))


_UNARY: dict[str, Callable[[Pair], Any]] = {
    "abs": lambda z: jnp.sqrt(_squares(z)),
    "conj": lambda z: Pair(z.re, -z.im),
    "cos": _cos,
    "cosh": _cosh,
    "exp": _exp,
    "expm1": lambda z: _plus(_exp(z), -1),
    "imag": lambda z: z.im,
    "is_finite": lambda z: jnp.isfinite(z.re) & jnp.isfinite(z.im),
    "log": _log,
    "log1p": lambda z: _log(_plus(z, 1)),
    "logistic": lambda z: _div(_ones_like(z), _plus(_exp(Pair(-z.re, -z.im)), 1)),
    "one_minus_square": lambda z: _plus(_mul(Pair(-z.re, -z.im), z), 1),
    "real": lambda z: z.re,
    "rsqrt": lambda z: _root(z, -0.5),
    "sign": _sign,
    "sin": _sin,
    "sinh": _sinh,
    "sqrt": lambda z: _root(z, 0.5),
    "square": lambda z: _mul(z, z),
    "tan": lambda z: _div(_sin(z), _cos(z)),
    "tanh": lambda z: _div(_sinh(z), _cosh(z)),
}
"""Functions of one complex number, by the name of the primitive."""

_BINARY: dict[str, Callable[[Pair, Pair], Any]] = {
    "div": _div,
    "eq": lambda z, w: (z.re == w.re) & (z.im == w.im),
    "mul": _mul,
    "ne": lambda z, w: (z.re != w.re) | (z.im != w.im),
    "pow": _pow,
}

# --- primitives with parameters ---


def _bound(eqn: Any, operands: Sequence[Any], **other: Any) -> list[Any]:
    """Return the results of the equation's primitive at these operands, with some parameters replaced."""
    params = {**eqn.params, **other}
    out = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(params))
    return list(out) if eqn.primitive.multiple_results else [out]


def _by_parts(eqn: Any, operands: Sequence[Any]) -> list[Any]:
    """Return the results of a real-linear primitive: it is applied to all real parts, and to all imaginary parts."""
    other: dict[str, Any] = {}
    sides = [[getattr(x, part) if isinstance(x, Pair) else x for x in operands] for part in ("re", "im")]
    if eqn.params.get("update_jaxpr") is not None:  # a scatter's addition was traced for complex numbers
        adds = lax.sub if eqn.primitive.name == "scatter-sub" else lax.add
        scalar = jnp.zeros((), sides[0][0].dtype)
        other["update_jaxpr"] = jax.make_jaxpr(adds)(scalar, scalar).jaxpr
    parts = [_bound(eqn, side, **other) for side in sides]
    return [Pair(re, im) for re, im in zip(*parts, strict=True)]


def _cast(eqn: Any, operands: Sequence[Any]) -> list[Any]:
    (x,), dtype = operands, eqn.params["new_dtype"]
    if not jnp.issubdtype(dtype, jnp.complexfloating):
        return [lax.convert_element_type(x.re, dtype)]
    z, real = _lifted(x), real_dtype(dtype)
    return [Pair(lax.convert_element_type(z.re, real), lax.convert_element_type(z.im, real))]


def _bilinear(eqn: Any, operands: Sequence[Any]) -> list[Any]:
    """Return the result of a product of two operands, such as `dot_general`, by the products of their parts."""
    x, y = operands
    preferred = eqn.params.get("preferred_element_type")
    dtype_params = {"preferred_element_type": real_dtype(preferred)} if preferred is not None else {}

    def product(a: Any, b: Any) -> Any:
        return _bound(eqn, [a, b], **dtype_params)[0]

    if not isinstance(y, Pair):
        return [Pair(product(x.re, y), product(x.im, y))]
    if not isinstance(x, Pair):
        return [Pair(product(x, y.re), product(x, y.im))]
    return [Pair(product(x.re, y.re) - product(x.im, y.im), product(x.re, y.im) + product(x.im, y.re))]


def _fft(eqn: Any, operands: Sequence[Any]) -> list[Any]:
    z = _lifted(operands[0])
    re, im = transform(z.re, z.im, eqn.params["fft_type"], eqn.params["fft_lengths"])
    return [Pair(re, im) if is_complex(eqn.outvars[0].aval) else re]


def _iota(eqn: Any, operands: Sequence[Any]) -> list[Any]:
    return [_lifted(_bound(eqn, operands, dtype=real_dtype(eqn.params["dtype"]))[0])]


# --- programs inside programs ---


def _packed(parts: Sequence[Any], avals: Sequence[Any]) -> list[Any]:
    """Return the values of these types, with the parts of complex ones in pairs: the inverse of `flat`."""
    rest = iter(parts)
    return [Pair(next(rest), next(rest)) if is_complex(a) else next(rest) for a in avals]


def _avals(variables: Sequence[Any]) -> list[Any]:
    return [v.aval for v in variables]


def _real_program(closed: Any) -> Any:
    """Return a closed jaxpr on the parts: each complex argument and output becomes two real ones, in its place."""
    jaxpr = jaxpr_of(closed)

    def run(*parts: Any) -> list[Any]:
        return _flat(_run(closed, _packed(parts, _avals(jaxpr.invars))))

    specs = [
        jax.ShapeDtypeStruct(a.shape, real_dtype(a.dtype) if is_complex(a) else a.dtype)
        for a in _avals(jaxpr.invars)
        for _ in range(1 + is_complex(a))
    ]
    return jax.make_jaxpr(run)(*specs)


def _width(variables: Sequence[Any]) -> int:
    """Return how many parts the variables have: two for each complex one."""
    return len(variables) + sum(is_complex(v.aval) for v in variables)


def _scan(eqn: Any, operands: Sequence[Any]) -> list[Any]:
    """Return the outputs of a scan over pairs: a pair is a tree of two arrays, which `lax.scan` takes as it is."""
    consts, carries = scan_counts(eqn.params)
    body, first = eqn.params["jaxpr"], consts + carries

    def step(carry: Any, rows: Any) -> tuple[Any, Any]:
        outs = _run(body, [*operands[:consts], *carry, *rows])
        return outs[:carries], outs[carries:]

    carry, rows = list(operands[consts:first]), list(operands[first:])
    length = None if rows else eqn.params["length"]  # JAX accepts a symbolic length from the rows only
    last, out = lax.scan(step, carry, rows, length=length, reverse=eqn.params["reverse"])
    return [*last, *out]


def _cond(eqn: Any, operands: Sequence[Any]) -> list[Any]:
    """Return the outputs of a `cond` whose branches are rewritten on the parts."""
    return _rebound(eqn, operands, branches=tuple(map(_real_program, eqn.params["branches"])))


def _while(eqn: Any, operands: Sequence[Any]) -> list[Any]:
    """Return the outputs of a `while`, with test and body rewritten on the parts; a complex constant counts twice."""
    p = eqn.params
    test, body = jaxpr_of(p["cond_jaxpr"]), jaxpr_of(p["body_jaxpr"])
    return _rebound(
        eqn,
        operands,
        cond_jaxpr=_real_program(p["cond_jaxpr"]),
        body_jaxpr=_real_program(p["body_jaxpr"]),
        cond_nconsts=_width(test.invars[: p["cond_nconsts"]]),
        body_nconsts=_width(body.invars[: p["body_nconsts"]]),
    )


def _rebound(eqn: Any, operands: Sequence[Any], **params: Any) -> list[Any]:
    """Return the results of an equation with inner programs, on the parts, with the programs replaced."""
    return _packed(_bound(eqn, _flat(operands), **params), _avals(eqn.outvars))


_WITH_PARAMETERS: dict[str, Callable[[Any, Sequence[Any]], list[Any]]] = {
    "complex": lambda eqn, operands: [Pair(*(jnp.broadcast_to(x, eqn.outvars[0].aval.shape) for x in operands))],
    "cond": _cond,
    "convert_element_type": _cast,
    "custom_linear_solve": lambda eqn, operands: solution(eqn, operands, _run),
    "fft": _fft,
    "integer_pow": lambda eqn, operands: [_integer_pow(operands[0], eqn.params["y"])],
    "iota": _iota,
    "lu": factors,
    "scan": _scan,
    "while": _while,
}


def _evaluate_on_pairs(eqn: Any, operands: Sequence[Any]) -> list[Any]:
    """Return the results of an equation of complex numbers, on pairs. Raises NoPairsError where there is no rule."""
    name = eqn.primitive.name
    if name in _WITH_PARAMETERS:
        return _WITH_PARAMETERS[name](eqn, operands)
    if name in LINEAR:  # with real coefficients, so that real and imaginary parts do not mix
        return _by_parts(eqn, operands)
    if name in CONTRACTS:
        return _bilinear(eqn, operands)
    if name in _UNARY:
        return [_UNARY[name](_lifted(operands[0]))]
    if name in _BINARY:
        return [_BINARY[name](*map(_lifted, operands))]
    raise NoPairsError(name)


def _run(program: Any, args: Sequence[Any]) -> list[Any]:
    """Return the outputs of a program on pairs."""
    return results(program, args, _at_its_line, lambda value, aval: pair_of(value))


def _at_its_line(eqn: Any, operands: Sequence[Any]) -> list[Any]:
    """Return the results of an equation; new equations get the source line of the given one, for messages."""
    source = eqn.source_info
    with source_info_util.user_context(source.traceback, name_stack=source.name_stack):
        return _results(eqn, operands)


def _results(eqn: Any, operands: Sequence[Any]) -> list[Any]:
    """Return the results of an equation on pairs.

    An equation without complex numbers runs as it is. Of an unread operand, the results are unread too, so that it is
    no error unless the program needs them.
    """
    unread = next((x for x in operands if isinstance(x, Unread)), None)
    if not touches(eqn) and unread is None:
        return _bound(eqn, operands)
    if (log_and_sign := log_modulus(eqn, operands)) is not None:
        return log_and_sign
    if eqn.primitive.name in KINDS and unread is None:
        run, bind = partial(_run, executed_program(eqn)), partial(_bound, eqn)
        return ruled(eqn, operands, run, bind)
    if (inner := executed_program(eqn)) is not None and len(jaxpr_of(inner).invars) == len(eqn.invars):
        return _run(inner, operands)
    if unread is not None and eqn.primitive.name != "custom_linear_solve":
        return [unread] * len(eqn.outvars)
    return _evaluate_on_pairs(eqn, operands)


def on_pairs(program: Any) -> Callable[..., list[Any]]:
    """Return a program as a function that computes with pairs of reals in the place of complex values.

    The function raises NoPairsError for a primitive without a rule on pairs.
    """
    return lambda *args: [to_complex(x) for x in _run(program, args)]
