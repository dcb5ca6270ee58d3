"""Shapes for a rule whose author says nothing: for a choice of ranks, the most general ones at which the function runs.

Sizes are unified (`_unify.py`): what the function does not tie is not tied. Which ranks are meant is evidence
(`_ranks.py`). An argument that JAX hands on as it is (`nondiff_argnums`) and that has no default is every real number;
where the code needs to know it, it has the values of its kind (`_defaults.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, is_dataclass, replace
from dataclasses import fields as dataclass_fields
from inspect import Parameter
from typing import Any

from certgrad.errors import CertgradError
from certgrad.obligations.generality.hidden import untraceable
from certgrad.obligations.generality.traces import Traces
from certgrad.signatures.signature import parse

from ._called import values as values_in_calls
from ._calls import Call
from ._declaration import Annotated, Declaration, annotated_arguments
from ._defaults import annotations_of, values_by_kind
from ._layers import parameters_of, plain_function, unwrapped
from ._parameters import nondifferentiable
from ._ranks import Search, runs_at_numbers
from ._statics import Default, each, real
from ._traced import untraced
from ._tried import ORIGIN, Tried
from ._user_rule import UserRule

MAX_ARRAYS = 8
_OPTIONAL = re.compile(r"\bOptional\[|\bNone\b")
_ARRAYS = re.compile(r"(?i)array|tensor|float|shaped|real|num|any\b|int\b|bool\b")
"""What an annotation of arrays, or of numbers, has in its name."""
REST = 2
MOST_VALUES = 6
"""Of an argument that is no array and has no default."""


def inferred(function: Callable, calls: Sequence[Call] = ()) -> Tried:
    """Signatures at which the rule traces, the likeliest first; `calls` are evidence of which are meant.

    An argument that may be None is an array, if its annotation names one; where nothing traces so, it is None.
    """
    optional = [p for p in _arguments(function) or () if _may_be_none(p)]
    never = {p.name: None for p in optional if not _ARRAYS.search(_text(p.annotation))}
    tried = _inferred(function, calls, never)
    if any(p.kind == p.VAR_POSITIONAL for p in _arguments(function) or ()) and not _runs(function, tried):
        fewer = _inferred(function, calls, never, rest=1)
        tried = fewer if _runs(function, fewer) else tried
    if tried.found or tried.problem or len(never) == len(optional):
        return tried
    there = _inferred(function, calls, {p.name: None for p in optional})
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


def _inferred(function: Callable, calls: Sequence[Call], given: Mapping[str, Any], rest: int = REST) -> Tried:
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
    if (shown := _containers(plain, [p.name for p in arrays])) is not None:
        return Tried(problem=shown)
    said = annotated_arguments(plain)
    evidence = [said.get(p.name, Annotated()) for p in arrays]
    used = {n: values_in_calls(calls, n) for n in unknown}
    values = {n: _first(used[n], some) for n, some in values_by_kind(plain, unknown).items()}

    def search(given: Mapping[str, Any]) -> Tried:
        fixed = {**static, **given}
        if known is not None and known[0] is function:
            if any(len(parse(f"{d.signature} ->").inputs) != len(arrays) for d in known[1].found):
                return Tried()  # it is known with another number of arrays: some are None, or `*args` is one
            return known[1].each(lambda d: replace(d, static=fixed, origin=ORIGIN))
        return Search(function, [p.name for p in arrays], evidence, fixed, calls).tried()

    switches = [n for n in unknown if type(values[n][0]) is bool]
    used = {n: some for n, some in used.items() if some and n not in switches}
    tried = Tried()
    if all(any(type(v) in (int, float) for v in some) for some in used.values()):
        tried = search({n: values[n][0] if n in switches else real() for n in unknown})
    seen = known is None and bool(tried.found) and str(tried.found[0].signature) not in tried.refused
    if not unknown or (tried.found and _is_open(function, tried.found[0], seen)):
        return tried.each(lambda d: _at_each(function, d, {n: values[n] for n in switches}))
    first: Tried | None = None
    for which in (0, -1):  # a rule may be of some numbers alone
        there = search({n: some[which if type(some[0]) is int else 0] for n, some in values.items()})
        first = first if first is not None and first.found else there
        if there.found and _traces(function, there.found[0]):
            first = there
            break
    assert first is not None
    return first.each(lambda d: _at_values(function, d, values))


def _first(used: Sequence[Any], by_kind: Sequence[Any]) -> list[Any]:
    """The values that calls use, and then those of its kind that are of their types."""
    types = {type(v) for v in used}
    types |= {int, float} if types & {int, float} else set()
    further = [*(True, False), *by_kind] if bool in types else by_kind
    alike = [v for v in further if not used or type(v) in types]
    return [*used, *(v for v in alike if not any(type(v) is type(u) and v == u for u in used))][:MOST_VALUES]


def _containers(plain: Callable, names: Sequence[str]) -> str | None:
    """That an argument is an object of arrays by its annotation, with a declaration to fill in; None if none is."""
    annotations = annotations_of(plain)
    kinds = {n: a for n in names if isinstance(a := annotations.get(n), type) and (is_dataclass(a) or _is_named(a))}
    if not kinds:
        return None
    name, kind = next(iter(kinds.items()))
    shown = ", ".join(_written(kinds[n]) if n in kinds else '"n d"' for n in names)
    return f"{name} is of {kind.__name__}, of whose arrays nothing says the shapes: @certgrad.declare(({shown})) does"


def _is_named(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def _written(kind: Any) -> str:
    """An object that holds texts in place of its arrays; what has a default stands at it."""
    if _is_named(kind):
        fields = [n for n in kind._fields if n not in kind._field_defaults]
    else:
        fields = [f.name for f in dataclass_fields(kind) if f.default is f.default_factory is MISSING and f.init]
    given = ", ".join(f'{n}="d m"' for n in fields)
    return f"{kind.__name__}({given})"


def _at_values(function: Callable, declared: Declaration, values: Mapping[str, Sequence[Any]]) -> Declaration:
    """The declaration with each of the values at which the rule traces, the other arguments at their first ones.
    Numbers whose values the code does not need are left open, beside others that have some.
    """
    for name in values if len(values) > 1 else ():
        left_open = replace(declared, static={**declared.static, name: real()})
        if _is_open(function, left_open):
            declared = left_open
    return _at_each(function, declared, {n: some for n, some in values.items() if declared.static[n] != real()})


def _at_each(function: Callable, declared: Declaration, values: Mapping[str, Sequence[Any]]) -> Declaration:
    static = dict(declared.static)
    for name, some in values.items():
        running = [v for v in some if _traces(function, replace(declared, static={**declared.static, name: v}))]
        static[name] = each(*running) if len(running) > 1 else (*running, declared.static[name])[0]
    return replace(declared, static=static)


def without_open_numbers(function: Callable, declared: Declaration) -> Declaration | None:
    """The declaration with values of their kind for the numbers that it leaves open; None where there are none."""
    names = [name for name, value in declared.static.items() if value == real()]
    if not names:
        return None
    values = values_by_kind(plain_function(unwrapped(function)), names)
    return _at_each(function, replace(declared, static={**declared.static, **{n: values[n][0] for n in names}}), values)


def _is_open(function: Callable, declared: Declaration, seen: bool = False) -> bool:
    """The numbers that a declaration leaves open can be: nothing in the code needs their values. That it traces was
    `seen` before.
    """
    rule = UserRule(function, declared.signature, static=declared.static)
    return (seen or _traces(function, declared)) and not untraceable(rule)


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
