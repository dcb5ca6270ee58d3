"""Shapes for a rule whose author says nothing: for a choice of ranks, the most general ones at which the function runs.

Sizes are unified (`_unify.py`): what the function does not tie is not tied. Which ranks are meant is evidence
(`_ranks.py`). An argument that JAX hands on as it is (`nondiff_argnums`) and that has no default is every real number;
where the code needs to know it, it has the values of its kind (`_defaults.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import Parameter
from typing import Any

from certgrad.errors import CertgradError
from certgrad.obligations.generality.traces import Traces

from ._declaration import Annotated, Declaration, annotated_arguments
from ._defaults import values_by_kind
from ._layers import parameters_of, plain_function, unwrapped
from ._parameters import nondifferentiable
from ._ranks import ORIGIN, Search, Tried, runs_at_numbers
from ._statics import Default, each, real
from ._traced import untraced
from ._user_rule import UserRule

MAX_ARRAYS = 8
_OPTIONAL = re.compile(r"\bOptional\[|\bNone\b")
_ARRAYS = re.compile(r"(?i)array|tensor|float|shaped|real|num|any\b|int\b|bool\b")
"""What an annotation of arrays, or of numbers, has in its name."""
REST = 2


def inferred(function: Callable) -> Tried:
    """Signatures at which the rule traces, the likeliest first.

    An argument that may be None is an array, if its annotation names one; where nothing traces so, it is None.
    """
    optional = [p for p in _arguments(function) or () if _may_be_none(p)]
    never = {p.name: None for p in optional if not _ARRAYS.search(_text(p.annotation))}
    tried = _inferred(function, never)
    if any(p.kind == p.VAR_POSITIONAL for p in _arguments(function) or ()) and not _runs(function, tried):
        fewer = _inferred(function, never, rest=1)
        tried = fewer if _runs(function, fewer) else tried
    if tried.found or tried.problem or len(never) == len(optional):
        return tried
    there = _inferred(function, {p.name: None for p in optional})
    return there if there.found else tried


def _arguments(function: Callable) -> list[Parameter] | None:
    """Its arguments; None where they cannot be told."""
    custom = unwrapped(function)
    try:
        return [*parameters_of(custom, plain_function(custom)).values()]
    except (TypeError, ValueError):
        return None


def _may_be_none(parameter: Parameter) -> bool:
    """Its annotation says so, and it has no default."""
    return parameter.default is parameter.empty and bool(_OPTIONAL.search(_text(parameter.annotation)))


def _text(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else str(annotation)


def _runs(function: Callable, tried: Tried) -> bool:
    """The function runs at numbers, at the likeliest shapes."""
    return bool(tried.found) and runs_at_numbers(function, tried.found[0])


def _inferred(function: Callable, given: Mapping[str, Any], rest: int = REST) -> Tried:
    """The same with values of some arguments, and so many arrays where it takes `*args` alone."""
    custom = unwrapped(function)
    known = _KNOWN.get(id(function))
    if known is not None and known[0] is function and known[1].problem:
        return known[1]
    plain = plain_function(custom)
    found = _arguments(function)
    if found is None:
        return Tried(problem="its arguments cannot be told")
    parameters = [p for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    static: dict[str, Any] = {p.name: Default(p.default) for p in parameters if p.default is not p.empty}
    static |= given
    unknown = [n for n in nondifferentiable(custom, [p.name for p in parameters]) if n not in static]
    arrays = [p for p in parameters if p.name not in {*static, *unknown}]
    # How many `*args` takes is anyone's guess: two are the fewest that can be mixed up.
    arrays += [p for p in found if p.kind == p.VAR_POSITIONAL for _ in range(max(0, rest - len(arrays)))]
    if not arrays:
        return Tried(problem="it takes no argument without a default, of which a shape could be tried")
    if len(arrays) > MAX_ARRAYS:
        names = ", ".join(p.name for p in arrays)
        return Tried(problem=f"shapes are tried for at most {MAX_ARRAYS} arguments, and it takes {names}")
    said = annotated_arguments(plain)
    evidence = [said.get(p.name, Annotated()) for p in arrays]
    values = values_by_kind(plain, unknown)

    def search(given: Mapping[str, Any]) -> Tried:
        fixed = {**static, **given}
        if known is not None and known[0] is function:
            likely, lower = (
                [replace(d, static=fixed, origin=ORIGIN) for d in some] for some in (known[1].found, known[1].lower)
            )
            return replace(known[1], found=likely, lower=lower)
        return Search(function, [p.name for p in arrays], evidence, fixed).tried()

    def at_each(tried: Tried, names: Iterable[str]) -> Tried:
        some = {n: values[n] for n in names}
        likely, lower = ([_at_each(function, d, some) for d in of_rank] for of_rank in (tried.found, tried.lower))
        return replace(tried, found=likely, lower=lower)

    switches = [n for n in unknown if type(values[n][0]) is bool]
    tried = search({n: values[n][0] if n in switches else real() for n in unknown})
    if not unknown or (tried.found and _traces(function, tried.found[0])):
        return at_each(tried, switches)
    for which in (0, -1):  # a rule may be of some numbers alone
        there = search({n: some[which if type(some[0]) is int else 0] for n, some in values.items()})
        if there.found and _traces(function, there.found[0]):
            return at_each(there, unknown)
        tried = tried if tried.found else there
    return at_each(tried, unknown)


def _at_each(function: Callable, declared: Declaration, values: Mapping[str, Sequence[Any]]) -> Declaration:
    """The declaration with each of the values at which the rule traces, the other arguments at their first ones."""
    static = dict(declared.static)
    for name, some in values.items():
        running = [v for v in some if _traces(function, replace(declared, static={**declared.static, name: v}))]
        static[name] = each(*running) if len(running) > 1 else (*running, declared.static[name])[0]
    return replace(declared, static=static)


def _traces(function: Callable, declared: Declaration) -> bool:
    try:
        return not untraced(Traces(UserRule(function, declared.signature, static=declared.static)))
    except CertgradError:
        return False


_KNOWN: dict[int, tuple[Callable, Tried]] = {}
"""What was found of functions, by this process or another. That a signature traces is seen again where it is used."""


def keep(function: Callable, tried: Tried) -> None:
    """Find the same of this function from now on, without another trace."""
    _KNOWN[id(function)] = function, tried
