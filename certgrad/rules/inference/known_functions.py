"""Functions with the values of a special function, without a declaration that says so.

A package that computes J₀ by quotients of polynomials, or Lambert's W by an iteration, gives it the derivative of the
exact function. That is not the derivative of the program that runs, and no author would call it wrong. The special
function is found by measuring: at points in all ranges that such code treats differently, the values of the two differ
by rounding alone. That is no proof, and a report says that the function is inferred.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from types import FunctionType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from certgrad import special
from certgrad.errors import CertgradError
from certgrad.obligations.generality.reach import each_once, named_in, runnable_parts
from certgrad.obligations.tracing.jax_internals import (
    Program,
    approximation,
    equations_of,
    from_library,
    inner_program,
    is_literal,
    wide_floats,
)
from certgrad.process.logs import quiet
from certgrad.rules.declared.declaration import Declaration
from certgrad.rules.declared.statics import each
from certgrad.rules.subject.approximation import Declared
from certgrad.rules.subject.layers import parameters_of, plain_function, unwrapped
from certgrad.rules.subject.traced import forward_of
from certgrad.rules.subject.user_rule import UserRule
from certgrad.signatures.sizes import Star


@dataclass(frozen=True)
class Family:
    """Functions of `certgrad.special` that are measured at the same points."""

    names: tuple[str, ...]
    points: tuple[np.ndarray, ...]
    """The points: one array for each argument."""
    domain: tuple[str, ...] = ()
    """Conditions to which points and claim are restricted, with {0} and {1} for the arguments; none if empty."""


_FAR = np.array([2e-5, 1.3e-3, 30.3, 57.1, 101.9, 203.3])
POINTS = np.concatenate([np.linspace(-19.9, 19.8, 148), _FAR, -_FAR])
ORDERS = np.tile([0.0, 1.0, 2.0, 5.0], 40)
"""Values for the first argument of a function of an order and a number."""
POSITIVE = np.geomspace(0.03, 190, 160)
_MIXED = np.arange(160) * 37 % 160
"""A permutation of the points of a second argument, so that neighbours of the first one meet distant values."""
OF_ORDER = Family(("jv", "yv", "iv", "kv", "owens_t"), (ORDERS, POINTS))
FAMILIES = (
    Family(
        tuple(
            "j0 j1 y0 y1 i0 i1 k0 k1 jinc erfi dawsn erfcx expi exp1 si ci sici fresnel lambertw spence wofz".split(),
        ),
        (POINTS,),
    ),
    OF_ORDER,
    Family(("voigt_k", "voigt_l"), (POINTS, np.geomspace(0.003, 40, 160)[_MIXED]), ("{1} > 0",)),
    Family(("betaln", "log_gamma_difference"), (POSITIVE, POSITIVE[_MIXED]), ("{0} > 0", "{1} > 0")),
    Family(
        ("gammaincinv", "gammainccinv"),
        (POSITIVE, np.linspace(0.004, 0.996, 160)[_MIXED]),
        ("{0} > 0", "{1} > 0", "{1} < 1"),
    ),
    Family(("kepler",), (np.linspace(-9.9, 9.8, 160), np.linspace(0, 0.95, 160)[_MIXED]), ("{1} > 0", "{1} < 1")),
)
NEAR = 1e-6
"""The distance, relative for values above 1, up to which two values count as equal."""
ENOUGH = 40
"""Points at which both functions must have a value."""
LONG = 25
"""A forward with this many equations, or with a loop or callback, is tried as an approximation first."""
CALLS_OUT = ("while", "scan", "pure_callback")
ORIGIN = "inferred from its values"


@dataclass(frozen=True)
class SpecialFunction:
    """A special function by its name for `certgrad.check`, and the conditions under which a function equals it."""

    name: str
    domain: tuple[str, ...]


def measured(rule: UserRule) -> Program | None:
    """Return the program of a function that can be measured; None for another one.

    It can be if it acts entry by entry on one or two real arrays of one shape.
    """
    program = forward_of(rule) if _is_measurable(rule) else None
    return program if program is not None and _is_of_entries(program) else None


def special_function(rule: UserRule, everywhere: bool = False) -> SpecialFunction | None:
    """Return the special function whose values the rule's function has; None if there is none."""
    program = measured(rule)
    return None if program is None else known_as(rule, program, everywhere)


def known_as(rule: UserRule, program: Program, everywhere: bool = False) -> SpecialFunction | None:
    """Return the special function whose values a function has; None if there is none. `program` is by `measured`.

    A function for positive numbers may be nan at others: with `everywhere`, it must have a value wherever the special
    function has one.
    """
    # A `while` loop may never end outside of the domain that its author has in mind.
    ends = all(eqn.primitive.name != "while" for eqn in equations_of(program.jaxpr))
    for family in FAMILIES:
        if len(family.points) != len(rule.arg_names) or (family.domain and not ends):
            continue
        arrays = [x.reshape(_shape(rule)) for x in family.points]
        values = _run(rule, arrays)
        name = next((n for n in family.names if _is_near(values, _values(n, *arrays), everywhere)), None)
        if name is not None:
            return SpecialFunction(
                f"certgrad.special:{name}", tuple(text.format(*rule.arg_names) for text in family.domain)
            )
    return None


def _run(rule: UserRule, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the values of the rule's function at points, one array for each real output; [] if it fails."""
    run = rule.call
    if not np.ndim(arrays[0]) or not rule.signature.inputs[0].dims:
        run = jax.vmap(rule.call, in_axes=(0, None))
    try:
        # JAX logs the error of a callback with a traceback, beside raising it.
        with wide_floats(), quiet("jax._src.callback"):
            return _reals(jax.tree.leaves(run([*map(jnp.asarray, arrays)], rule.choices[0])))
    except Exception:  # users' code may raise anything at such points
        return []


def _reals(arrays: Iterable[Any]) -> list[np.ndarray]:
    """Return the arrays, complex ones as real and imaginary parts."""
    values = [*map(np.asarray, arrays)]
    return [np.asarray(y, float) for x in values for y in ((x.real, x.imag) if np.iscomplexobj(x) else (x,))]


def is_long(program: Program) -> bool:
    """Return whether a program is long, or has a loop or callback, so that it may be an approximation.

    False if it calls a function of JAX that the calculus reads as what it approximates.
    """
    names = [e.primitive.name for e in equations_of(program.jaxpr)]
    return (len(names) >= LONG or any(n in CALLS_OUT for n in names)) and not _calls_what_is_read(program)


def _is_of_entries(program: Program) -> bool:
    """Return whether a program acts entry by entry: shapes are kept, and no axis of open size is summed.

    With a loop or callback only the shapes are compared, as the test of a loop may depend on all entries.
    """
    inputs = {v.aval.shape for v in program.jaxpr.invars}
    if not {v.aval.shape for v in program.jaxpr.outvars} <= inputs:
        return False
    every = list(equations_of(program.jaxpr))
    return any(e.primitive.name in CALLS_OUT for e in every) or not any(map(_loses_an_axis, every))


def _loses_an_axis(eqn: Any) -> bool:
    """Return whether an equation returns fewer entries than it takes, as it loses an axis of open size."""
    kept = {d for v in eqn.outvars for d in v.aval.shape}
    entries = {prod(v.aval.shape) for v in eqn.outvars}
    lost = (v for v in eqn.invars if any(not isinstance(d, int) and d not in kept for d in v.aval.shape))
    return any(prod(v.aval.shape) not in entries for v in lost)


def _calls_what_is_read(program: Program) -> bool:
    """Return whether a program calls a function of JAX that the calculus reads as what it approximates."""
    constants = dict(zip(program.jaxpr.constvars, program.consts, strict=True))
    for eqn in program.jaxpr.eqns:
        body = inner_program(eqn)
        if body is None:
            continue
        tables = [constants[v] for v in eqn.invars if not is_literal(v) and v in constants]
        if approximation(body, tables) is not None or _calls_what_is_read(body):
            return True
    return False


def known_beside(rule: UserRule) -> list[Declared]:
    """Return other functions that the rule's code reaches, each with a declaration of what it approximates.

    These are functions with rules of their own, and helpers that are names of a module: a call of a helper can be
    replaced there by one under `jit`, which traces show as a call.
    """
    return list(_known_beside(rule))


def _known_beside(rule: UserRule) -> Iterator[Declared]:
    def reached(value: Any) -> list[Any]:
        return [*named_in(value), *runnable_parts(value)] if hasattr(value, "__code__") else runnable_parts(value)

    own_function = unwrapped(rule.function)
    for value in each_once(rule.code, reached):
        function = unwrapped(value) if callable(value) else None
        if isinstance(value, FunctionType) and _is_named_in_its_module(value):
            function = jax.jit(value)
        elif function is own_function or not isinstance(function, jax.custom_jvp | jax.custom_vjp):
            continue
        if (declaration := _known_function(function) or _known_of_order(function)) is not None:
            yield function, declaration


def _is_named_in_its_module(function: FunctionType) -> bool:
    """Return whether a function is the user's and has its own name in its module, where it can be replaced."""
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        return False
    named = function.__globals__.get(function.__name__)
    return named is function and not from_library(function.__code__.co_filename)


def _known_function(function: Any) -> Declaration | None:
    """Return the declaration of a function of one or two arrays as the special function it equals; None if none."""
    for shapes in ("n", "n, n"):
        try:
            # A rule that calls this helper is read with the special function, so the helper may be nan nowhere else.
            known = special_function(UserRule(function, shapes), everywhere=True)
        except CertgradError:
            continue
        if known is not None:
            return Declaration(shapes, domain=known.domain, approximates=known.name, origin=ORIGIN)
    return None


def _known_of_order(function: Any) -> Declaration | None:
    """Return the declaration of a function of an order and an array, by its values at some orders; None if none."""
    rule = _at_order(function, 0)
    if rule is None or measured(rule) is None:
        return None
    (order,) = rule.choices[0]
    values_at_points = np.full(len(POINTS), np.nan)
    for value in {*ORDERS.tolist()}:
        has_order = value == ORDERS
        rule_at_order = _at_order(function, int(value))
        values = _run(rule_at_order, [POINTS[has_order]]) if rule_at_order is not None else []
        if len(values) != 1 or values[0].shape != (has_order.sum(),):
            return None
        values_at_points[has_order] = values[0]
    names = (n for n in OF_ORDER.names if _is_near([values_at_points], _values(n, *OF_ORDER.points), everywhere=True))
    name = next(names, None)
    if name is None:
        return None
    orders = each(*sorted({int(v) for v in ORDERS}))
    return Declaration("n", static={order: orders}, approximates=_of_order(name, order), origin=ORIGIN)


def _at_order(function: Any, order: int) -> UserRule | None:
    """Return the rule of a function at one order, its first argument, which JAX does not trace; None for others."""
    numbers = getattr(function, "nondiff_argnums", ()) or ()
    if tuple(numbers if isinstance(numbers, (tuple, list)) else (numbers,)) != (0,):
        return None
    try:
        first = next(iter(parameters_of(function, plain_function(function)).values()))
        name = f"{first.name}_0" if first.kind == first.VAR_POSITIONAL else first.name
        return UserRule(function, "n", static={name: order})
    except (CertgradError, TypeError, ValueError, StopIteration):
        return None


def _of_order(name: str, order: str) -> Callable[..., Any]:
    """Return a special function of an order and a number, with the order as a keyword argument of the name `order`."""
    exact = getattr(special, name)

    def ideal(x: Any, **given: Any) -> Any:
        return exact(given[order], x)

    kinds = inspect.Parameter
    ideal.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [kinds("x", kinds.POSITIONAL_ONLY), kinds(order, kinds.KEYWORD_ONLY)]
    )
    ideal.__name__ = ideal.__qualname__ = name
    return ideal


def _is_measurable(rule: UserRule) -> bool:
    """Return whether a rule takes one or two real arrays of one shape with open sizes, and no open numbers."""
    shapes = [spec.dims for spec in rule.signature.inputs]
    floats = all(spec.dtype == "float" for spec in rule.signature.inputs)
    if rule.params or len(shapes) not in (1, 2) or not floats or len({*shapes}) > 1:
        return False
    dims = [d for d in shapes[0] if not isinstance(d, Star)]
    return len({*dims}) == len(dims) and all(d.name is not None for d in dims) and len(dims) <= 3


def _shape(rule: UserRule) -> tuple[int, ...]:
    """Return the shape in which the points are passed to a function: of its rank, 4 along all axes but the last."""
    rank = len([d for d in rule.signature.inputs[0].dims if not isinstance(d, Star)])
    lengths = [4] * (rank - 1)
    return (*lengths, len(POINTS) // prod(lengths))


def _values(name: str, *args: np.ndarray) -> list[np.ndarray]:
    """Return the values of the exact function by SciPy, one array for each real output, not finite where undefined."""
    import scipy.special

    by_name: Mapping[str, Callable[..., Any]] = {
        "sici": lambda x: (scipy.special.sici(x)[0], scipy.special.sici(np.abs(x))[1]),
        "si": lambda x: scipy.special.sici(x)[0],
        "ci": lambda x: scipy.special.sici(np.abs(x))[1],
        "jinc": lambda x: np.where(x == 0, 0.5, scipy.special.j1(x) / np.where(x == 0, 1, x)),
        "log_gamma_difference": lambda x, y: scipy.special.gammaln(y) - scipy.special.gammaln(x + y),
        "kepler": _kepler,
        "voigt_k": lambda x, y: scipy.special.wofz(x + 1j * y).real,
        "voigt_l": lambda x, y: scipy.special.wofz(x + 1j * y).imag,
        "lambertw": lambda x: np.where(x > -np.exp(-1), scipy.special.lambertw(x).real, np.nan),
    }
    with np.errstate(all="ignore"):
        values = by_name.get(name, getattr(scipy.special, name, None))(*args)  # type: ignore[misc]
    return _reals(values if isinstance(values, tuple) else (values,))


def _kepler(mean: np.ndarray, e: np.ndarray) -> tuple[np.ndarray, ...]:
    with wide_floats():
        sine, cosine = special.kepler(jnp.asarray(mean), jnp.asarray(e))
        return np.asarray(sine), np.asarray(cosine)


def _is_near(found: list[np.ndarray], exact: list[np.ndarray], everywhere: bool) -> bool:
    """Return whether values agree at all points where both are numbers, which have to be `ENOUGH`.

    With `everywhere`, they have to agree at all points where `exact` is finite.
    """
    if [x.shape for x in found] != [x.shape for x in exact]:
        return False
    for a, b in zip(found, exact, strict=True):
        where = np.isfinite(b) & (everywhere | ~np.isnan(a))
        a, b = a[where], b[where]
        if where.sum() < ENOUGH or not (np.abs(a - b) <= NEAR * np.maximum(1, np.abs(b))).all():
            return False
    return True
