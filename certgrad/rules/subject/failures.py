"""A rule that raises where its function runs is wrong: the derivative of the function is an error there."""

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
"""Parts of the file names from which an error comes that is the platform's, and not the rule's."""


@dataclass(frozen=True)
class Failure:
    """A call at which a rule raises and its function does not, with the arguments and the full error."""

    case: int
    """The number of the rule's case."""
    arrays: dict[str, np.ndarray]
    numbers: dict[str, float]
    """Values of the static numbers that are left open."""
    error: str
    jitted: bool
    """Whether the rule raises only under `jit`, where the function runs as well."""


Called = tuple[list[np.ndarray], list[float], list[Any]]
"""The arrays of a point of the domain, values of the static numbers that are left open, and the function's outputs."""


def runs(rule: UserRule) -> bool:
    """Return whether the function runs at a point of its domain; all sizes of the rule have to be numbers."""
    return _first_call(rule) is not None


def _first_call(rule: UserRule) -> Called | None:
    return _call_at_point(rule, family(rule, rule.cases[0]).prove[0])


def failure(rule: UserRule, first: Called | None = None) -> Failure | None:
    """Return the first case in which the function runs at a point of its domain and its rule raises; None if none does.

    All sizes of the rule have to be numbers. A function without a rule of the user's cannot fail. `first` is a call of
    the function in its first case, if one was made already.
    """
    if not rule.kind:
        return None
    rule = copy(rule)  # what is called is the function itself, and not the ideal that it approximates
    rule.ideal, rule.ideals = None, ()
    for k, case in enumerate(rule.cases):
        instance = family(rule, case).prove[0]
        failing_call = _failing(rule, instance, first if k == 0 else None)
        if failing_call is not None:
            arrays, scalars, error, jitted = failing_call
            named = dict(zip(rule.arg_names, arrays, strict=True))
            return Failure(k, named, dict(zip(rule.params, scalars, strict=True)), error, jitted)
    return None


def _failing(
    rule: UserRule, instance: Instance, called: Called | None
) -> tuple[list[np.ndarray], list[float], str, bool] | None:
    """Return arrays and scalars at which the rule raises, the error, and whether it raises only under `jit`.

    None is returned if the rule runs, or if its function does not. `called` is a call of the function, if one was made
    already.
    """
    called = called or _call_at_point(rule, instance)
    if called is None:
        return None
    arrays, scalars, outs = called
    programs = rule.rules(instance.statics)
    with wide_floats(False):
        inputs = list(map(_as_jax_argument, arrays))
        if rule.kind in REVERSE:
            derivative, ones = programs.vjp, [jnp.ones_like(y) for y in outs]  # `ones` are seeds
        else:
            assert programs.jvp is not None
            moving = [x for x, n in zip(inputs, rule.arg_names, strict=True) if n in rule.moving]
            derivative, ones = programs.jvp, list(map(jnp.ones_like, moving))  # `ones` are tangents
        if error := _error(lambda: derivative(inputs, ones, list(scalars))):
            return arrays, scalars, error, False
        if _error(lambda: jax.eval_shape(lambda xs: programs.forward(xs, list(scalars)), inputs)):
            return None  # under `jit` the function does not run either
        error = _error(lambda: jax.eval_shape(lambda xs, ys: derivative(xs, ys, list(scalars)), inputs, ones))
    return (arrays, scalars, error, True) if error else None


def _call_at_point(rule: UserRule, instance: Instance) -> Called | None:
    """Return a point of the domain with the function's outputs there.

    None is returned if no point was found, if the function raises, or if its outputs have other shapes than declared.
    """
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
    """Return whether the float outputs have the shapes of the signature, with at least one entry along each axis.

    Nothing is claimed of a call for which code broadcasts to other shapes, or for which a size such as `l-2` is
    negative. Shapes that the signature does not give as numbers are not compared.
    """
    declared = [s for s in rule.outputs_declared or () if s.dtype == "float"]
    if rule.outputs_declared is None or len(declared) != len(outs) or any(s.stars for s in declared):
        return True
    expected = [[str(d) for d in s.dims] for s in declared]
    if not all(d.removeprefix("-").isdigit() for s in expected for d in s):
        return True
    return all(int(d) > 0 for s in expected for d in s) and expected == [[*map(str, y.shape)] for y in outs]


def _point(rule: UserRule, instance: Instance) -> tuple[list[np.ndarray], list[float]] | None:
    """Return arrays in the domain, floats in 32 bits, and values of the open numbers; None if none were found."""
    values = arguments(rule, instance, instance.shapes(), seeded(rule.name, "fails", str(instance.inputs)))
    if values is None:
        return None
    values = [x.astype(np.float32) if x.dtype == np.float64 else x for x in values]
    count = len(rule.arg_names)
    return values[:count], [float(x) for x in values[count:]]


def _as_jax_argument(x: np.ndarray) -> Any:
    return x if kind_of(x.dtype) == "k" else jnp.asarray(x)


def _error(run: Callable[[], Any]) -> str:
    """Return the error that a call raises, with its type; "" if it raises none, or one that is not the rule's fault.

    Errors of the platform, lack of memory, and open numbers whose value is needed are not the rule's fault.
    """
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
    """Return the certificate of a rule that fails, in which the case of the failure is refuted."""
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
    """Return whether the function runs at a point, with numbers for all sizes.

    It is called and not traced, as a trace does not run callbacks.
    """
    return runs(at_numbers(function, declared, numbers))


def fails_at_numbers(function: Callable, declared: Declaration) -> bool:
    """Return whether, with numbers for all sizes, the function does not run, or its rule fails where it does.

    A rule that traces at these sizes counts as one that runs, without a call: that of a large function costs as much as
    hundreds of traces.
    """
    rule = at_numbers(function, declared)
    if traces(Traces(rule)):
        return False
    called = _first_call(rule)
    return called is None or failure(rule, called) is not None


def at_numbers(function: Callable, declared: Declaration, numbers: Sequence[int] = NUMBERS) -> UserRule:
    """Return the rule of a function with numbers for all of its sizes: the `numbers` in turn."""
    names = [str(n) for n in UserRule(function, declared.signature, static=declared.static).signature.names]
    return UserRule(function, declared.signature, static=declared.static, at=assigned_sizes(names, numbers))
