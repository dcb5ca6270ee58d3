"""Functions that only approximate the one that their rule is the derivative of: what is said of them, and of others."""

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
"""A function, and what is said of it elsewhere than on itself."""

DIGITS = 3
"""Digits of a measured distance."""
ALIKE = 10
"""An order beside the declared one may be so many times as far from its ideal."""
LONGEST = 60
"""A point that takes more characters is not shown."""


def approximation(rule: UserRule, of_ideal: UserRule) -> str:
    """Which function the derivative claims are about, and how far the one that runs is from it, in a sentence.

    The distance is measured at drawn points in the declared domain, for the first case; nothing is proved of it.
    """
    distance = _measured_distance_text(rule, of_ideal)
    return f"the derivative is that of {of_ideal.derivative_of}, which the function approximates{distance}"


def _measured_distance_text(rule: UserRule, of_ideal: UserRule) -> str:
    found = forward_distance(rule, of_ideal, family(rule, rule.cases[0]).prove[0])
    if not found.entries and not found.undefined:
        reason = found.problem or "no point was found in the domain"
        return f"; how far they are apart could not be measured ({' '.join(reason.split())})"
    parts = [
        f"at {found.entries} drawn values they differ by at most {found.absolute.str(DIGITS, radius=False)} "
        f"(relative {found.relative.str(DIGITS, radius=False)})"
    ]
    where = ", ".join(f"{n} = {_value_text(x)}" for n, x in found.inputs.items())
    if 0 < len(where) <= LONGEST:
        parts[0] += f", at {where}"
    if found.undefined:
        parts.append(f"at {found.undefined} more only one of them is defined")
    measured = "measured in float64" if found.in_floats else "measured"
    return f"; {'; '.join(parts)} ({measured}, not proved)"


def ideals_of(rule: UserRule, elsewhere: Iterable[Declared]) -> tuple[Ideal, ...]:
    """How the functions that a rule calls are read: it itself, and those that are declared to approximate another.

    The declarations stand on functions that the rule's code reaches, or `elsewhere`. A function is read so inside its
    own declared domain: a call is undefined elsewhere, so that what is proved says that its arguments are inside.
    """
    found = list(_read_as(rule))
    for function, said in [*_declared(rule), *elsewhere]:
        try:
            other = UserRule(function, said.signature, static=said.static, domain=said.domain, ideal=said.approximates)
        except CertgradError:
            continue  # its own audit says what is wrong with its declaration
        found += _read_as(other)
    return tuple(found)


def _read_as(rule: UserRule) -> Iterator[Ideal]:
    """Yield, for each choice of static arguments, how a call of the rule's function is read: as the function it
    approximates. Nothing is yielded if it approximates none, or a condition of its domain cannot be tested at a call.

    Read so are calls at the declared static arguments and, of those that the approximated function takes too, at the
    orders next to them: a derivative of order n may call order n + 1. `near` tells whether it is close there.
    """
    if rule.params or rule.ideal is None:  # numbers that are left open: what is called has others
        return
    try:
        domain = conditions(rule.domain, rule.arg_names)
    except UnsaidError:
        return  # nothing says of a call whether it is inside

    def within(arrays: Sequence[Any], dtype: Any) -> Any:
        return zero_within(domain, dict(zip(rule.arg_names, arrays, strict=True)), dtype)

    def call(of: Callable[..., Any], statics: Mapping[str, Any], *arrays: Any) -> Any:
        return of(arrays, statics)

    named = [n for n in keywords_of(rule.ideal) if any(n in statics for statics in rule.choices)]
    undeclared = [s for one in rule.choices for s in _next_orders(one, named)]
    for k, statics in enumerate([*rule.choices, *undeclared]):
        near = partial(_is_near_somewhere if k < len(rule.choices) else _is_near, rule, statics)
        at = "".join(f" at {n} = {statics[n]}" for n in named)
        said = f"{rule.name}{at} is read as {rule.derivative_of}, which it approximates"
        run, exact = partial(call, rule.call, statics), partial(call, rule.call_ideal, statics)
        inside = within if domain else None
        helper = rule.function if named_in_module(rule.function) else None
        yield Ideal(run, exact, len(rule.arg_names), said, bool(rule.kind), within=inside, near=near, shown=helper)


def named_in_module(helper: Any) -> bool:
    """Return whether it is a helper under `jit` whose plain function stands in the module under its name."""
    plain = getattr(helper, "__wrapped__", None)
    return isinstance(plain, FunctionType) and plain.__globals__.get(plain.__name__) is plain


def _is_near(rule: UserRule, statics: Mapping[str, Any]) -> bool:
    """Return whether, at undeclared static arguments, the function is close to the one it approximates at all drawn
    points.

    It may be about as far from it there as at the declared ones. A table that is right for one order alone is near
    nothing at another; one that is right in a part of the domain is for the author to declare with that domain.
    """
    found = _measured(rule, statics)
    if not found.near or found.undefined:
        return False
    return not found.far or bool(found.relative <= ALIKE * _measured(rule, rule.choices[0]).relative)


def _is_near_somewhere(rule: UserRule, statics: Mapping[str, Any]) -> bool:
    """Return whether the function is close to the one it approximates at a drawn point, or far from it at none."""
    found = _measured(rule, statics)
    return bool(found.near or not found.far)


def _measured(rule: UserRule, statics: Mapping[str, Any]) -> Distance:
    value, of_ideal = copy(rule), copy(rule)
    value.ideal = None
    for one in (value, of_ideal):
        one.ideals = ()
        one.cases = (replace(rule.cases[0], statics=dict(statics)),)
    return forward_distance(value, of_ideal, family(value, value.cases[0]).prove[0])


def _next_orders(statics: Mapping[str, Any], names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the statics with orders one or two higher or lower, as recurrences have them."""
    for name in names:
        if isinstance(statics[name], int | float) and not isinstance(statics[name], bool):
            yield from ({**statics, name: statics[name] + k} for k in (-1, 1, -2, 2))


def _declared(rule: UserRule) -> Iterator[Declared]:
    """Yield other functions that the rule's code reaches and that declare what they approximate."""

    def reached(value: Any) -> list[Any]:
        return [*(named_in(value) if is_own(value) else ()), *runnable_parts(value)]

    own = unwrapped(rule.function)
    for value in each_once(rule.code, reached):
        if callable(value) and unwrapped(value) is not own:
            said = declaration_of(value, plain_function(unwrapped(value)), annotated=False)
            if said is not None and said.approximates is not None:
                yield value, said


def _value_text(value: Any) -> str:
    return f"[{', '.join(map(_value_text, value))}]" if isinstance(value, list) else str(value)
