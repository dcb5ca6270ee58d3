"""A rule that fails where its function runs is wrong: the function has no derivative there, but an error."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import numpy as np

from certgrad.obligations.auditing.claims import untraced
from certgrad.obligations.balls import seeded
from certgrad.obligations.certificate import Certificate, Claim, with_cases, with_claims
from certgrad.obligations.generality.instances import Instance, family
from certgrad.obligations.generality.traces import Traces
from certgrad.obligations.points import arguments
from certgrad.obligations.tracing.jax_internals import kind_of, wide_floats
from certgrad.rules.declared.declaration import Declaration
from certgrad.rules.subject.open_number import OpenNumberError

from .examine import NUMBERS, assigned_sizes
from .layers import REVERSE
from .traced import traces
from .user_rule import UserRule

_OF_PLATFORM = ("pallas", "mlir.py", "jaxlib", "triton")
"""Where an error comes from that says of the platform, and not of the rule, that something is missing."""


@dataclass(frozen=True)
class Failure:
    """A call under which a rule fails, and how, in full. `jitted`: under `jit` alone, where the function runs too."""

    case: int
    arrays: dict[str, np.ndarray]
    numbers: dict[str, float]
    error: str
    jitted: bool


Called = tuple[list[np.ndarray], list[float], list[Any]]
"""A point of the domain, the numbers that are left open, and what the function returns there."""


def runs(rule: UserRule) -> bool:
    """Return whether the function runs at a point of its domain; the rule is at numbers."""
    return _first_call(rule) is not None


def _first_call(rule: UserRule) -> Called | None:
    return _call_at_point(rule, family(rule, rule.cases[0]).prove[0])


def failure(rule: UserRule, first: Called | None = None) -> Failure | None:
    """The first case of a rule at numbers in which the function runs at a point of its domain, and the rule does not.

    Only a rule of the user's own can fail: what JAX cannot differentiate has none. `first` is a call of the function in
    its first case, where one was made.
    """
    if not rule.kind:
        return None
    rule = copy(rule)  # as it runs, and not as what it approximates
    rule.ideal, rule.ideals = None, ()
    for k, case in enumerate(rule.cases):
        instance = family(rule, case).prove[0]
        found = _failing(rule, instance, first if k == 0 else None)
        if found is not None:
            arrays, scalars, error, jitted = found
            named = dict(zip(rule.arg_names, arrays, strict=True))
            return Failure(k, named, dict(zip(rule.params, scalars, strict=True)), error, jitted)
    return None


def _failing(
    rule: UserRule, instance: Instance, called: Called | None
) -> tuple[list[np.ndarray], list[float], str, bool] | None:
    """Return arrays and scalars at which the rule raises where its function does not, the error, and whether only under
    `jit`; None where the rule runs, or the function does not. `called` is a call of the function, if one was made.
    """
    called = called or _call_at_point(rule, instance)
    if called is None:
        return None
    arrays, scalars, outs = called
    programs = rule.rules(instance.statics)
    with wide_floats(False):
        inputs = list(map(_as_jax_argument, arrays))
        if rule.kind in REVERSE:
            derivative, ones = programs.vjp, [jnp.ones_like(y) for y in outs]  # seeds
        else:
            assert programs.jvp is not None
            moving = [x for x, n in zip(inputs, rule.arg_names, strict=True) if n in rule.moving]
            derivative, ones = programs.jvp, list(map(jnp.ones_like, moving))  # tangents
        if error := _error(lambda: derivative(inputs, ones, list(scalars))):
            return arrays, scalars, error, False
        if _error(lambda: jax.eval_shape(lambda xs: programs.forward(xs, list(scalars)), inputs)):
            return None  # under `jit` the function does not run either
        error = _error(lambda: jax.eval_shape(lambda xs, ys: derivative(xs, ys, list(scalars)), inputs, ones))
    return (arrays, scalars, error, True) if error else None


def _call_at_point(rule: UserRule, instance: Instance) -> Called | None:
    """Return a point of the domain and the function's results there; None without a point, or where it does not run."""
    point = _point(rule, instance)
    if point is None:
        return None
    arrays, scalars = point
    try:
        with wide_floats(False):
            outs = rule.rules(instance.statics).forward(list(map(_as_jax_argument, arrays)), list(scalars))
    except Exception:
        return None
    return (arrays, scalars, outs) if _as_declared(rule, outs) else None


def _as_declared(rule: UserRule, outs: list[Any]) -> bool:
    """The float outputs have the shapes of the signature, with at least one entry along each axis: where code
    broadcasts to others, or `l-2` is no size, nothing is claimed.
    """
    declared = [s for s in rule.outputs_declared or () if s.dtype == "float"]
    if rule.outputs_declared is None or len(declared) != len(outs) or any(s.stars for s in declared):
        return True
    expected = [[str(d) for d in s.dims] for s in declared]
    if not all(d.removeprefix("-").isdigit() for s in expected for d in s):
        return True
    return all(int(d) > 0 for s in expected for d in s) and expected == [[*map(str, y.shape)] for y in outs]


def _point(rule: UserRule, instance: Instance) -> tuple[list[np.ndarray], list[float]] | None:
    """Arrays in the domain, floats in 32 bits, and the numbers that are left open."""
    values = arguments(rule, instance, instance.shapes(), seeded(rule.name, "fails", str(instance.inputs)))
    if values is None:
        return None
    values = [x.astype(np.float32) if x.dtype == np.float64 else x for x in values]
    count = len(rule.arg_names)
    return values[:count], [float(x) for x in values[count:]]


def _as_jax_argument(x: np.ndarray) -> Any:
    return x if kind_of(x.dtype) == "k" else jnp.asarray(x)


def _error(run: Callable[[], Any]) -> str:
    try:
        run()
    except (jax.errors.JaxRuntimeError, MemoryError, OpenNumberError):
        return ""
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        if any(part in frame.filename for frame in frames[-3:] for part in _OF_PLATFORM):
            return ""
        message = inspect.cleandoc(str(error))
        return f"{type(error).__name__}: {message}" if message else type(error).__name__
    return ""


def refuted(rule: UserRule, found: Failure) -> Certificate:
    """Return the certificate of a rule that fails."""
    kind = "vjp_is_adjoint" if rule.kind in REVERSE else "jvp_is_derivative"
    where = " under jit" if found.jitted else ""
    reason = f"the function runs{where} and its rule fails: {found.error}"

    def turned(claim: Claim) -> Claim:
        if claim.kind != kind:
            return claim
        cases = list(claim.cases)
        cases[found.case] = msgspec.structs.replace(cases[found.case], verdict="refuted", reason=reason)
        return with_cases(claim, cases)

    certificate = untraced(rule, reason)
    return with_claims(certificate, map(turned, certificate.claims))


def runs_at_numbers(function: Callable, declared: Declaration, numbers: Sequence[int] = NUMBERS) -> bool:
    """Return whether the function runs with numbers for all sizes: a trace does not see callbacks out of its
    program.
    """
    return runs(at_numbers(function, declared, numbers))


def fails_at_numbers(function: Callable, declared: Declaration) -> bool:
    """Return whether the function does not run with numbers for all sizes, or its rule fails where it does.

    What traces with them is not called: a call of a large function costs hundreds of traces.
    """
    rule = at_numbers(function, declared)
    if traces(Traces(rule)):
        return False
    called = _first_call(rule)
    return called is None or failure(rule, called) is not None


def at_numbers(function: Callable, declared: Declaration, numbers: Sequence[int] = NUMBERS) -> UserRule:
    """Return the rule of a function at these numbers for its sizes, by turns."""
    names = [str(n) for n in UserRule(function, declared.signature, static=declared.static).signature.names]
    return UserRule(function, declared.signature, static=declared.static, at=assigned_sizes(names, numbers))
