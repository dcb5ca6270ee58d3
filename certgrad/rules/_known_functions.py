"""Functions whose values are those of a special function, which nobody declares: what their rule is the derivative of.

A package that computes J₀ by quotients of polynomials, or Lambert's W by an iteration, gives it the derivative of the
exact function. That is not the derivative of what runs, and no author would call it wrong. Which function is meant is
measured: over a range that holds what such code tells apart, the values differ from that function's by rounding alone.
Nothing is proved of this, and a report says that it is inferred.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from certgrad.errors import CertgradError
from certgrad.obligations.generality.reach import each_once, named_in, parts
from certgrad.obligations.tracing.jax_internals import (
    Program,
    approximation,
    equations_of,
    inner_program,
    is_literal,
    wide_floats,
)
from certgrad.signatures.sizes import Star

from ._approximation import Declared
from ._declaration import Declaration
from ._layers import unwrapped
from ._traced import forward_of
from ._user_rule import UserRule

NAMES = (
    "j0 j1 y0 y1 i0 i1 k0 k1 erfi dawsn erfcx expi exp1 si ci sici fresnel lambertw spence".split(),
    "jv yv iv kv owens_t".split(),
)
"""Those of one argument, and of two, in `certgrad.special`."""
_FAR = np.array([2e-5, 1.3e-3, 30.3, 57.1, 101.9, 203.3])
POINTS = np.concatenate([np.linspace(-19.9, 19.8, 148), _FAR, -_FAR])
ORDERS = np.tile([0.0, 1.0, 2.0, 5.0], 40)
"""Of a function of two arguments, the first one."""
NEAR = 1e-6
"""Apart by so much, relative where values are above 1, functions are the same."""
ENOUGH = 40
"""At so many of the points both have a value."""
LONG = 25
"""A forward of so many equations, or with a loop or a call out of the program, is tried as an approximation first."""
CALLS_OUT = ("while", "scan", "pure_callback")
ORIGIN = "inferred from its values"


def known(rule: UserRule) -> str:
    """The name, as `certgrad.check` takes it, of the special function whose values the rule's function has; or an
    empty text."""
    arrays, program = _points(rule), forward_of(rule)
    if arrays is None or program is None or not _is_of_entries(program):
        return ""
    run = rule.call
    if not np.ndim(arrays[0]) or not rule.signature.inputs[0].dims:
        run = jax.vmap(rule.call, in_axes=(0, None))
    try:
        with wide_floats():
            found = [np.asarray(x, float) for x in jax.tree.leaves(run([*map(jnp.asarray, arrays)], rule.choices[0]))]
    except Exception:  # the function does in its own way what it does of such points
        return ""
    names = NAMES[len(arrays) - 1]
    return next((f"certgrad.special:{name}" for name in names if _is_near(found, _values(name, *arrays))), "")


def is_long(rule: UserRule) -> bool:
    """The function is one of real numbers, and no formula at first sight; nor is it made of what the calculus reads as
    an approximation.
    """
    if _points(rule) is None:
        return False
    program = forward_of(rule)
    if program is None or not _is_of_entries(program) or _calls_what_is_read(program):
        return False
    names = [e.primitive.name for e in equations_of(program.jaxpr)]
    return len(names) >= LONG or any(n in CALLS_OUT for n in names)


def _is_of_entries(program: Program) -> bool:
    """Its outputs have the shape of its inputs, and no sum is taken over an axis of open size: of a loop it may be the
    test that sees all entries.
    """
    inputs = {v.aval.shape for v in program.jaxpr.invars}
    if not {v.aval.shape for v in program.jaxpr.outvars} <= inputs:
        return False
    every = list(equations_of(program.jaxpr))
    return any(e.primitive.name in CALLS_OUT for e in every) or not any(map(_loses_an_axis, every))


def _loses_an_axis(eqn: Any) -> bool:
    """Fewer entries come out than go in, by an axis of open size."""
    kept = {d for v in eqn.outvars for d in v.aval.shape}
    entries = {prod(v.aval.shape) for v in eqn.outvars}
    lost = (v for v in eqn.invars if any(not isinstance(d, int) and d not in kept for d in v.aval.shape))
    return any(prod(v.aval.shape) not in entries for v in lost)


def _calls_what_is_read(program: Program) -> bool:
    """It calls a function of JAX's that the calculus reads as what that approximates."""
    held = dict(zip(program.jaxpr.constvars, program.consts, strict=True))
    for eqn in program.jaxpr.eqns:
        body = inner_program(eqn)
        if body is None:
            continue
        tables = [held[v] for v in eqn.invars if not is_literal(v) and v in held]
        if approximation(body, tables) is not None or _calls_what_is_read(body):
            return True
    return False


def known_beside(rule: UserRule) -> list[Declared]:
    """Other functions with rules of their own, among those that the rule's code reaches, with what they approximate."""
    return list(_known_beside(rule))


def _known_beside(rule: UserRule) -> Iterator[Declared]:
    def reached(value: Any) -> list[Any]:
        return [*named_in(value), *parts(value)] if hasattr(value, "__code__") else parts(value)

    own = unwrapped(rule.function)
    for value in each_once(rule.code, reached):
        function = unwrapped(value) if callable(value) else None
        if function is None or function is own or not isinstance(function, jax.custom_jvp | jax.custom_vjp):
            continue
        for shapes in ("n", "n, n"):
            try:
                name = known(UserRule(function, shapes))
            except CertgradError:
                continue
            if name:
                yield function, Declaration(shapes, approximates=name, origin=ORIGIN)


def _points(rule: UserRule) -> list[np.ndarray] | None:
    """Where a function of one or two real arrays of one shape is measured; None where it is none."""
    shapes = [spec.dims for spec in rule.signature.inputs]
    floats = all(spec.dtype == "float" for spec in rule.signature.inputs)
    if rule.params or len(shapes) not in (1, 2) or not floats or len({*shapes}) > 1:
        return None
    dims = [d for d in shapes[0] if not isinstance(d, Star)]
    if len({*dims}) < len(dims) or any(d.name is None for d in dims) or len(dims) > 3:
        return None
    lengths = [4] * (len(dims) - 1)
    shape = (*lengths, len(POINTS) // prod(lengths)) if dims else POINTS.shape
    return [x.reshape(shape) for x in ([POINTS] if len(shapes) == 1 else [ORDERS, POINTS])]


def _values(name: str, *args: np.ndarray) -> tuple[np.ndarray, ...]:
    """Those of the exact function, not finite where it has none."""
    import scipy.special

    others: Mapping[str, Callable[..., Any]] = {
        "sici": lambda x: (scipy.special.sici(x)[0], scipy.special.sici(np.abs(x))[1]),
        "si": lambda x: scipy.special.sici(x)[0],
        "ci": lambda x: scipy.special.sici(np.abs(x))[1],
        "lambertw": lambda x: np.where(x > -np.exp(-1), scipy.special.lambertw(x).real, np.nan),
    }
    with np.errstate(all="ignore"):
        found = others.get(name, getattr(scipy.special, name, None))(*args)  # type: ignore[misc]
    return found if isinstance(found, tuple) else (found,)


def _is_near(found: list[np.ndarray], exact: tuple[np.ndarray, ...]) -> bool:
    """At all points at which both have a value it is the same. Code of positive numbers may have none at others."""
    if [x.shape for x in found] != [x.shape for x in exact]:
        return False
    for a, b in zip(found, exact, strict=True):
        where = np.isfinite(b) & ~np.isnan(a)
        a, b = a[where], b[where]
        if where.sum() < ENOUGH or not (np.abs(a - b) <= NEAR * np.maximum(1, np.abs(b))).all():
            return False
    return True
