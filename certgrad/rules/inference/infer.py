"""Shapes for a rule whose author says nothing: for a choice of ranks, the most general ones at which the function runs.

Sizes are unified (`unify.py`): what the function does not tie is not tied. Which ranks are meant is evidence
(`ranks.py`). An argument that JAX hands on as it is (`nondiff_argnums`) and that has no default is every real number;
where the code needs to know it, it has the values of its kind (`subject/defaults.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import Parameter
from typing import Any, get_args

from certgrad.errors import CertgradError, SignatureError
from certgrad.obligations.generality.hidden import untraceable
from certgrad.obligations.generality.traces import Traces
from certgrad.obligations.terms.budget import allotted_seconds, uncounted_time
from certgrad.rules.declared.declaration import Declaration
from certgrad.rules.declared.statics import Default, different, each, real
from certgrad.rules.declared.structure import parse_structure
from certgrad.rules.subject.containers import Forms, OtherFormsError, forms_of
from certgrad.rules.subject.defaults import SENTINEL, values_by_kind
from certgrad.rules.subject.failures import runs_at_numbers
from certgrad.rules.subject.layers import backward_of, parameters_of, plain_function, unwrapped
from certgrad.rules.subject.parameters import nondifferentiable
from certgrad.rules.subject.traced import untraced
from certgrad.rules.subject.user_rule import UserRule
from certgrad.signatures.nested import has_fields

from .called import values as values_in_calls
from .calls import Call
from .ranks import Search
from .tried import ORIGIN, Tried
from .unify import PRIMES

SEARCH = 2.0
"""The search for shapes has so many times the seconds of an audit, which it does not take from that."""
MAX_ARRAYS = 8
"""Arrays whose ranks are tried, at most; a rule with more has to declare its shapes."""
_OPTIONAL = re.compile(r"\bOptional\[|\bNone\b")
_ARRAYS = re.compile(r"(?i)array|tensor|float|shaped|real|num|any\b|int\b|bool\b")
"""What an annotation of arrays, or of numbers, has in its name."""
MOST_FORMS = 4
"""At most this many structures of the arguments are tried."""
_COUNTED = re.compile(r"(?<![\w*+-])\d+(?![\w*+-])")
"""An axis of a number of entries."""
REST = 2
"""Arrays that are tried for `*args`."""
MOST_VALUES = 6
"""At most this many values are tried for an argument that is no array and has no default."""


def inferred(function: Callable, calls: Sequence[Call] = ()) -> Tried:
    """Signatures at which the rule traces, the likeliest first; `calls` are evidence of which are meant.

    An argument that may be None is an array, if its annotation names one; where nothing traces so, it is None.
    """
    with uncounted_time(SEARCH * allotted_seconds()):
        return _of_optional(function, calls)


def _of_optional(function: Callable, calls: Sequence[Call]) -> Tried:
    optional = [p for p in _arguments(function) or () if _may_be_none(p)]
    never = {p.name: None for p in optional if not _of_arrays(p.annotation)}
    tried = _inferred(function, calls, never)
    if any(p.kind == p.VAR_POSITIONAL for p in _arguments(function) or ()) and not _runs(function, tried):
        fewer = _inferred(function, calls, never, rest=1)
        tried = fewer if _runs(function, fewer) else tried
    if tried.found or tried.problem or len(never) == len(optional):
        return tried
    there = _inferred(function, calls, {p.name: None for p in optional})
    return there if there.found else tried


def _arguments(function: Callable) -> list[Parameter] | None:
    """Return the function's parameters; None where they cannot be read."""
    custom = unwrapped(function)
    try:
        return [*parameters_of(custom, plain_function(custom)).values()]
    except (TypeError, ValueError):
        return None


def _may_be_none(parameter: Parameter) -> bool:
    """Return whether a parameter may be None by its annotation, and has no default."""
    return parameter.default is parameter.empty and bool(_OPTIONAL.search(_text(parameter.annotation)))


def _of_arrays(annotation: Any) -> bool:
    return bool(_ARRAYS.search(_text(annotation))) or any(map(has_fields, get_args(annotation)))


def _text(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else str(annotation)


def _runs(function: Callable, tried: Tried) -> bool:
    """Return whether the function runs at numbers, at the likeliest shapes."""
    return bool(tried.found) and runs_at_numbers(function, tried.found[0])


def _inferred(function: Callable, calls: Sequence[Call], given: Mapping[str, Any], rest: int = REST) -> Tried:
    """Return what is inferred with these values of some arguments, and `rest` arrays for `*args`.

    Arguments with defaults have these, those without a gradient are unknown, and all others are arrays, whose shapes
    are searched for. Unknown arguments are open numbers first. Where the rule does not trace so, they have values of
    calls or of their kinds: the first ones, or if that fails the last ones. The result is then claimed at each value.

    Args:
        function: the rule.
        calls: the calls of it, which say ranks and values.
        given: values of some arguments, None among them.
        rest: how many arrays `*args` takes, less those that have names.
    """
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
    try:
        forms = forms_of(custom, [p.name for p in arrays])
    except SignatureError as error:
        return Tried(problem=str(error))
    if not forms.leaves:
        return Tried(problem="it takes no argument without a default, of which a shape could be tried")
    used = {n: values_in_calls(calls, n) for n in unknown}
    values = {n: _values_to_try(used[n], some) for n, some in values_by_kind(plain, unknown).items()}

    def search(given: Mapping[str, Any]) -> Tried:
        """Return what is inferred with these values of the unknown arguments."""
        fixed = {**static, **given}
        if known is not None and known[0] is function:
            if any(len(parse_structure(d.signature).inputs) != len(arrays) for d in known[1].found):
                return Tried()  # it is known with another number of arrays: some are None, or `*args` is one
            return known[1].each(lambda d: replace(d, static=fixed, origin=ORIGIN))
        return _searched(function, forms, fixed, calls)

    values |= {n: some[:1] for n, some in values.items() if SENTINEL.fullmatch(n)}
    switches = [n for n in unknown if type(values[n][0]) is bool or SENTINEL.fullmatch(n)]
    used = {n: some for n, some in used.items() if some and n not in switches}
    tried = Tried()
    if all(any(type(v) in (int, float) for v in some) for some in used.values()):
        tried = search({n: values[n][0] if n in switches else real() for n in unknown})
    seen = known is None and bool(tried.found) and str(tried.found[0].signature) not in tried.refused
    if not unknown or (tried.found and _is_open(function, tried.found[0], seen)):
        return tried.each(lambda d: _at_each(function, d, {n: values[n] for n in switches}))
    best: Tried | None = None
    for place in (0, -1):  # a rule may be of some numbers alone
        tried = search({n: some[place if type(some[0]) is int else 0] for n, some in values.items()})
        best = best if best is not None and best.found else tried
        if tried.found and _traces(function, tried.found[0]):
            best = tried
            break
    assert best is not None
    return best.each(lambda d: _at_values(function, d, values))


def _values_to_try(used: Sequence[Any], by_kind: Sequence[Any]) -> list[Any]:
    """Return values to try for an argument: those that calls use, then those of its kind that are of their types."""
    types = {type(v) for v in used}
    types |= {int, float} if types & {int, float} else set()
    further = [*(True, False), *by_kind] if bool in types else by_kind
    return different([*used, *(v for v in further if not used or type(v) in types)])[:MOST_VALUES]


def _searched(function: Callable, forms: Forms, static: Mapping[str, Any], calls: Sequence[Call]) -> Tried:
    """Return the result of a search with the structures of arguments that failures ask for; where nothing runs with
    these, with those before.

    An array that a rule without a backward unpacks may be a tuple: both are tried.
    """
    of_calls = {k for k, name in enumerate(forms.names) if any(call.of(name).rank is not None for call in calls)}
    steps = [replace(forms, open=forms.open - of_calls)]
    tried = _search(function, steps, static, calls)
    unpacks = backward_of(forms.custom) is None and any(_COUNTED.search(str(d.signature)) for d in tried.found)
    if (unpacks or not tried.found) and not tried.problem and (by_text := steps[-1].by_text()) is not None:
        array, tried = tried, _search(function, [*steps, by_text], static, calls)
        tried = replace(tried, found=[*tried.found, *array.found])
    for before in reversed(steps[:-1]):
        if tried.found or tried.problem:
            break
        tried = Search(function, before, static, calls, settled=True).tried()
    return tried


def _search(function: Callable, steps: list[Forms], static: Mapping[str, Any], calls: Sequence[Call]) -> Tried:
    """Return the result of a search with the last of the structures of arguments in `steps`.

    Structures that its failures ask for are added there, and tried.
    """
    while True:
        names = [name for name, _ in steps[-1].leaves]
        if len(names) > MAX_ARRAYS:
            shown = ", ".join(names)
            return Tried(problem=f"shapes are tried for at most {MAX_ARRAYS} arrays, and it takes {shown}")
        try:
            return Search(function, steps[-1], static, calls, settled=len(steps) > MOST_FORMS).tried()
        except OtherFormsError as other:
            steps.append(other.forms)


def _at_values(function: Callable, declared: Declaration, values: Mapping[str, Sequence[Any]]) -> Declaration:
    """Return the declaration with the values at which the rule traces, other arguments at their first ones.

    Numbers whose values the code does not need are left open, beside others that have some.
    """
    for name in values if len(values) > 1 else ():
        left_open = replace(declared, static={**declared.static, name: real()})
        if _is_open(function, left_open):
            declared = left_open
    return _at_each(function, declared, {n: some for n, some in values.items() if declared.static[n] != real()})


def _at_each(function: Callable, declared: Declaration, values: Mapping[str, Sequence[Any]]) -> Declaration:
    """Return the declaration with each of the values at which the rule runs, of one argument after the other."""

    def runs(name: str, value: Any) -> bool:
        """Return whether the rule traces with a value, and its function runs at primes for sizes as well.

        Symbols can be divided by anything, but there are three groups of 2·d channels at few numbers.
        """
        there = replace(declared, static={**declared.static, name: value})
        return _traces(function, there) and runs_at_numbers(function, there, PRIMES)

    static = dict(declared.static)
    for name, some in values.items():
        running = [v for v in some if runs(name, v)]
        static[name] = each(*running) if len(running) > 1 else (*running, declared.static[name])[0]
    return replace(declared, static=static)


def without_open_numbers(function: Callable, declared: Declaration) -> Declaration | None:
    """Return the declaration with values for its open parameters; None where it has none."""
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
