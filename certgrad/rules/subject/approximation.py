"""Functions that only approximate an ideal one, of which their rule is the derivative: how a proof reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from types import FunctionType
from typing import Any

from certgrad.errors import CertgradError
from certgrad.obligations.auditing.witnesses import forward_distance
from certgrad.obligations.balls import Distance
from certgrad.obligations.generality.instances import family
from certgrad.obligations.generality.reach import each_once, is_own, named_in, runnable_parts
from certgrad.obligations.tracing.ideals import Ideal
from certgrad.obligations.tracing.within import UnsaidError, conditions, zero_within
from certgrad.rules.declared.declaration import Declaration, declaration_of

from .layers import keywords_of, plain_function, unwrapped
from .user_rule import UserRule

Declared = tuple[Callable, Declaration]
"""A function, and a declaration of it that stands elsewhere than on the function itself."""

DIGITS = 3
"""Digits of a measured distance."""
ALIKE = 10
"""How many times as far from its ideal the function may be at an undeclared order as at the declared one."""
LONGEST = 60
"""Characters of a point, at most; a longer one is not shown."""


def approximation(rule: UserRule, of_ideal: UserRule) -> str:
    """Return in a sentence which ideal function the derivative claims are about, and how far the function is from it.

    The distance is measured at drawn points of the declared domain, for the first case; it is not proved.
    """
    distance = _measured_distance_text(rule, of_ideal)
    return f"the derivative is that of {of_ideal.derivative_of}, which the function approximates{distance}"


def _measured_distance_text(rule: UserRule, of_ideal: UserRule) -> str:
    """Return how far the function is from its ideal at drawn points, as the end of a sentence, from its `;` on."""
    distance = forward_distance(rule, of_ideal, family(rule, rule.cases[0]).prove[0])
    if not distance.entries and not distance.undefined:
        reason = distance.problem or "no point was found in the domain"
        return f"; how far they are apart could not be measured ({' '.join(reason.split())})"
    parts = [
        f"at {distance.entries} drawn values they differ by at most {distance.absolute.str(DIGITS, radius=False)} "
        f"(relative {distance.relative.str(DIGITS, radius=False)})"
    ]
    where = ", ".join(f"{n} = {_value_text(x)}" for n, x in distance.inputs.items())
    if 0 < len(where) <= LONGEST:
        parts[0] += f", at {where}"
    if distance.undefined:
        parts.append(f"at {distance.undefined} more only one of them is defined")
    measured = "measured in float64" if distance.in_floats else "measured"
    return f"; {'; '.join(parts)} ({measured}, not proved)"


def ideals_of(rule: UserRule, elsewhere: Iterable[Declared]) -> tuple[Ideal, ...]:
    """Return how a proof of the rule reads calls of functions that approximate another: as that other function.

    These are the rule's own function, functions that its code reaches and that declare what they approximate, and those
    that are declared `elsewhere`. Outside of such a function's declared domain, its calls count as undefined, so that
    what is proved says that the arguments are inside.
    """
    ideals = list(_read_as(rule))
    for function, declaration in [*_declared(rule), *elsewhere]:
        try:
            callee = UserRule(
                function,
                declaration.signature,
                static=declaration.static,
                domain=declaration.domain,
                ideal=declaration.approximates,
            )
        except CertgradError:
            continue  # the audit of that function says what is wrong with its declaration
        ideals += _read_as(callee)
    return tuple(ideals)


def _read_as(rule: UserRule) -> Iterator[Ideal]:
    """Yield, for each choice of static arguments, how a call of the rule's function is read: as its ideal function.

    The choices are the declared ones and, of static arguments that the ideal takes as well, the numbers next to them:
    the derivative of a function of order n may call order n + 1. `near` of each measures the distance to the ideal at
    drawn points: at a declared choice one near point is enough, as the author says that it approximates; at another
    choice all have to be near. Nothing is yielded if the function has no ideal, or a condition of its domain cannot be
    tested at a call.
    """
    if rule.params or rule.ideal is None:  # static numbers that are open here have values in a call
        return
    try:
        domain = conditions(rule.domain, rule.arg_names)
    except UnsaidError:
        return  # nothing tells whether a call is inside of the domain

    def within(arrays: Sequence[Any], dtype: Any) -> Any:
        return zero_within(domain, dict(zip(rule.arg_names, arrays, strict=True)), dtype)

    def call(of: Callable[..., Any], statics: Mapping[str, Any], *arrays: Any) -> Any:
        return of(arrays, statics)

    orders = [n for n in keywords_of(rule.ideal) if any(n in statics for statics in rule.choices)]
    undeclared = [s for declared in rule.choices for s in _next_orders(declared, orders)]
    for k, statics in enumerate([*rule.choices, *undeclared]):
        near = partial(_is_near_somewhere if k < len(rule.choices) else _is_near, rule, statics)
        at = "".join(f" at {n} = {statics[n]}" for n in orders)
        sentence = f"{rule.name}{at} is read as {rule.derivative_of}, which it approximates"
        run, exact = partial(call, rule.call, statics), partial(call, rule.call_ideal, statics)
        domain_test = within if domain else None
        helper = rule.function if named_in_module(rule.function) else None
        yield Ideal(
            run, exact, len(rule.arg_names), sentence, bool(rule.kind), within=domain_test, near=near, shown=helper
        )


def named_in_module(helper: Any) -> bool:
    """Return whether `helper` is a function under `jit` whose module has it, without `jit`, under its name."""
    plain = getattr(helper, "__wrapped__", None)
    return isinstance(plain, FunctionType) and plain.__globals__.get(plain.__name__) is plain


def _is_near(rule: UserRule, statics: Mapping[str, Any]) -> bool:
    """Return whether the function is close to its ideal at all drawn points, at undeclared static arguments.

    It may be `ALIKE` times as far from it as at the declared ones. A table of coefficients that is right for one order
    alone is close nowhere at another order; one that is right in a part of the domain has to be declared with it.
    """
    distance = _measured(rule, statics)
    if not distance.near or distance.undefined:
        return False
    return not distance.far or bool(distance.relative <= ALIKE * _measured(rule, rule.choices[0]).relative)


def _is_near_somewhere(rule: UserRule, statics: Mapping[str, Any]) -> bool:
    """Return whether the function is close to its ideal at one drawn point, or far from it at none."""
    distance = _measured(rule, statics)
    return bool(distance.near or not distance.far)


def _measured(rule: UserRule, statics: Mapping[str, Any]) -> Distance:
    """Return the distance between the function and its ideal at drawn points, at these static arguments."""
    value, of_ideal = copy(rule), copy(rule)
    value.ideal = None
    for subject in (value, of_ideal):
        subject.ideals = ()
        subject.cases = (replace(rule.cases[0], statics=dict(statics)),)
    return forward_distance(value, of_ideal, family(value, value.cases[0]).prove[0])


def _next_orders(statics: Mapping[str, Any], names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the static arguments with one number of these names changed by ±1 or ±2, as in a recurrence over orders."""
    for name in names:
        if isinstance(statics[name], int | float) and not isinstance(statics[name], bool):
            yield from ({**statics, name: statics[name] + k} for k in (-1, 1, -2, 2))


def _declared(rule: UserRule) -> Iterator[Declared]:
    """Yield the functions that the rule's code reaches, but its own, which declare what they approximate."""

    def reached(value: Any) -> list[Any]:
        return [*(named_in(value) if is_own(value) else ()), *runnable_parts(value)]

    own_function = unwrapped(rule.function)
    for value in each_once(rule.code, reached):
        if callable(value) and unwrapped(value) is not own_function:
            declaration = declaration_of(value, plain_function(unwrapped(value)), annotated=False)
            if declaration is not None and declaration.approximates is not None:
                yield value, declaration


def _value_text(value: Any) -> str:
    return f"[{', '.join(map(_value_text, value))}]" if isinstance(value, list) else str(value)
