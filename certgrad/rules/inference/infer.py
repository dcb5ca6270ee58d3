"""Shapes of arguments for a rule without a declaration: the most general ones at which its function runs.

Sizes are found by unification (`unify.py`), which ties only those that the function needs to be equal. Ranks are chosen
by evidence (`ranks.py`). An argument that JAX does not trace (`nondiff_argnums`) and that has no default
stands for every real number; where the code needs its value, it takes the values of its kind (`subject/defaults.py`).
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
"""The seconds of the search for shapes, as a multiple of those of an audit, from which they are not taken."""
MAX_ARRAYS = 8
"""At most this many arrays have their ranks tried; a rule with more has to declare its shapes."""
_OPTIONAL = re.compile(r"\bOptional\[|\bNone\b")
_ARRAYS = re.compile(r"(?i)array|tensor|float|shaped|real|num|any\b|int\b|bool\b")
"""Parts of the names of annotations for arrays or numbers."""
MOST_FORMS = 4
"""At most this many structures of the arguments are tried."""
_COUNTED = re.compile(r"(?<![\w*+-])\d+(?![\w*+-])")
"""An axis with a number as its size."""
REST = 2
"""The number of arrays for `*args` that is tried first."""
MOST_VALUES = 6
"""At most this many values are tried for an argument that is no array and has no default."""


def inferred(function: Callable, calls: Sequence[Call] = ()) -> Tried:
    """Return the signatures at which a rule traces, the likeliest first, with the failures at others.

    `calls` are evidence for the signatures. An argument that may be None is an array if its annotation names one; if
    nothing traces that way, it is None.
    """
    with uncounted_time(SEARCH * allotted_seconds()):
        return _of_optional(function, calls)


def _of_optional(function: Callable, calls: Sequence[Call]) -> Tried:
    """Return what is inferred with arrays for arguments that may be None, or else with None for all of these."""
    optional = [p for p in _arguments(function) or () if _may_be_none(p)]
    never_arrays = {p.name: None for p in optional if not _of_arrays(p.annotation)}
    tried = _inferred(function, calls, never_arrays)
    if any(p.kind == p.VAR_POSITIONAL for p in _arguments(function) or ()) and not _runs(function, tried):
        with_fewer = _inferred(function, calls, never_arrays, rest=1)
        tried = with_fewer if _runs(function, with_fewer) else tried
    if tried.found or tried.problem or len(never_arrays) == len(optional):
        return tried
    without_optional = _inferred(function, calls, {p.name: None for p in optional})
    return without_optional if without_optional.found else tried


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
    """Return whether the function runs with numbers for sizes at the likeliest signature; False if there is none."""
    return bool(tried.found) and runs_at_numbers(function, tried.found[0])


def _inferred(function: Callable, calls: Sequence[Call], given: Mapping[str, Any], rest: int = REST) -> Tried:
    """Return what is inferred with the values `given` for some arguments, and `rest` arrays for `*args`.

    Arguments with defaults keep them; arguments that JAX does not trace are unknown values; all others are arrays,
    whose shapes are searched for. Unknown values are open numbers first. If the rule does not trace that way, they
    take values from calls or of their kinds: the first ones, or else the last ones. Each value that works is then
    declared.

    Args:
        function: the rule.
        calls: the calls of the rule, as evidence for ranks and values.
        given: values of some arguments, None among them.
        rest: the number of arrays, with the named ones, up to which `*args` is filled.
    """
    custom = unwrapped(function)
    cached = _KNOWN.get(id(function))
    if cached is not None and cached[0] is function and cached[1].problem:
        return cached[1]
    plain = plain_function(custom)
    all_parameters = _arguments(function)
    if all_parameters is None:
        return Tried(problem="its arguments cannot be told")
    parameters = [p for p in all_parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    static: dict[str, Any] = {p.name: Default(p.default) for p in parameters if p.default is not p.empty}
    static |= given
    unknown = [n for n in nondifferentiable(custom, [p.name for p in parameters]) if n not in static]
    arrays = [p for p in parameters if p.name not in {*static, *unknown}]
    # The number of arrays in `*args` is a guess: two are the fewest that a rule can mix up.
    arrays += [p for p in all_parameters if p.kind == p.VAR_POSITIONAL for _ in range(max(0, rest - len(arrays)))]
    try:
        forms = forms_of(custom, [p.name for p in arrays])
    except SignatureError as error:
        return Tried(problem=str(error))
    if not forms.leaves:
        return Tried(problem="it takes no argument without a default, of which a shape could be tried")
    called_values = {n: values_in_calls(calls, n) for n in unknown}
    values = {
        n: _values_to_try(called_values[n], candidates) for n, candidates in values_by_kind(plain, unknown).items()
    }

    def search(given: Mapping[str, Any]) -> Tried:
        """Return the result of the search with the values `given` for the unknown arguments."""
        fixed = {**static, **given}
        if cached is not None and cached[0] is function:
            if any(len(parse_structure(d.signature).inputs) != len(arrays) for d in cached[1].found):
                return Tried()  # the cached result is for another number of arrays: some are None, or `*args` is one
            return cached[1].each(lambda d: replace(d, static=fixed, origin=ORIGIN))
        return _searched(function, forms, fixed, calls)

    # Switches are no numbers that could be left open: a sentinel keeps its first value, a boolean takes both.
    values |= {n: candidates[:1] for n, candidates in values.items() if SENTINEL.fullmatch(n)}
    switches = [n for n in unknown if type(values[n][0]) is bool or SENTINEL.fullmatch(n)]
    called_values = {n: candidates for n, candidates in called_values.items() if candidates and n not in switches}
    tried = Tried()
    if all(any(type(v) in (int, float) for v in candidates) for candidates in called_values.values()):
        tried = search({n: values[n][0] if n in switches else real() for n in unknown})
    seen = cached is None and bool(tried.found) and str(tried.found[0].signature) not in tried.refused
    if not unknown or (tried.found and _is_open(function, tried.found[0], seen)):
        return tried.each(lambda d: _at_each(function, d, {n: values[n] for n in switches}))
    # The code needs the values of unknown arguments, so they are searched with numbers.
    best: Tried | None = None
    for place in (0, -1):  # a rule may trace with some numbers alone
        tried = search({n: candidates[place if type(candidates[0]) is int else 0] for n, candidates in values.items()})
        best = best if best is not None and best.found else tried
        if tried.found and _traces(function, tried.found[0]):
            best = tried
            break
    assert best is not None
    return best.each(lambda d: _at_values(function, d, values))


def _values_to_try(used: Sequence[Any], by_kind: Sequence[Any]) -> list[Any]:
    """Return values to try for an argument: those in calls, then those of its kind that have the types of these."""
    types = {type(v) for v in used}
    types |= {int, float} if types & {int, float} else set()
    further = [*(True, False), *by_kind] if bool in types else by_kind
    return different([*used, *(v for v in further if not used or type(v) in types)])[:MOST_VALUES]


def _searched(function: Callable, forms: Forms, static: Mapping[str, Any], calls: Sequence[Call]) -> Tried:
    """Return the result of a search with the structures of arguments that its failures ask for.

    If nothing runs with the last structures, earlier ones are tried, the latest first. An argument that a rule without
    a backward unpacks may be an array or a tuple: both are tried.
    """
    of_calls = {k for k, name in enumerate(forms.names) if any(call.of(name).rank is not None for call in calls)}
    steps = [replace(forms, open=forms.open - of_calls)]
    tried = _search(function, steps, static, calls)
    unpacks = backward_of(forms.custom) is None and any(_COUNTED.search(str(d.signature)) for d in tried.found)
    if (unpacks or not tried.found) and not tried.problem and (by_text := steps[-1].by_text()) is not None:
        array, tried = tried, _search(function, [*steps, by_text], static, calls)
        tried = replace(tried, found=[*tried.found, *array.found])
    for earlier in reversed(steps[:-1]):
        if tried.found or tried.problem:
            break
        tried = Search(function, earlier, static, calls, settled=True).tried()
    return tried


def _search(function: Callable, steps: list[Forms], static: Mapping[str, Any], calls: Sequence[Call]) -> Tried:
    """Return the result of a search with the last structures of arguments in `steps`.

    Structures that its failures ask for are appended to `steps`, and tried in turn.
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
    """Return the declaration with the values at which the rule traces, or open numbers, for some arguments.

    Where several arguments have values, those whose value the code does not need are left open. Values of one argument
    are tried with the first ones of the others.
    """
    for name in values if len(values) > 1 else ():
        left_open = replace(declared, static={**declared.static, name: real()})
        if _is_open(function, left_open):
            declared = left_open
    return _at_each(function, declared, {n: some for n, some in values.items() if declared.static[n] != real()})


def _at_each(function: Callable, declared: Declaration, values: Mapping[str, Sequence[Any]]) -> Declaration:
    """Return the declaration with all values at which the rule runs, of one argument after the other."""

    def runs(name: str, value: Any) -> bool:
        """Return whether the rule traces with a value, and its function runs at primes for sizes as well.

        JAX divides symbolic sizes by anything: 2·d channels in 3 groups trace, and do not run at most numbers d.
        """
        with_value = replace(declared, static={**declared.static, name: value})
        return _traces(function, with_value) and runs_at_numbers(function, with_value, PRIMES)

    static = dict(declared.static)
    for name, candidates in values.items():
        running = [v for v in candidates if runs(name, v)]
        static[name] = each(*running) if len(running) > 1 else (*running, declared.static[name])[0]
    return replace(declared, static=static)


def without_open_numbers(function: Callable, declared: Declaration) -> Declaration | None:
    """Return the declaration with values of their kinds for its open numbers; None if it has none."""
    names = [name for name, value in declared.static.items() if value == real()]
    if not names:
        return None
    values = values_by_kind(plain_function(unwrapped(function)), names)
    return _at_each(function, replace(declared, static={**declared.static, **{n: values[n][0] for n in names}}), values)


def _is_open(function: Callable, declared: Declaration, seen: bool = False) -> bool:
    """Return whether the rule traces with the open numbers of a declaration, and no code needs their values.

    `seen` says that it is known to trace.
    """
    rule = UserRule(function, declared.signature, static=declared.static)
    return (seen or _traces(function, declared)) and not untraceable(rule)


def _traces(function: Callable, declared: Declaration) -> bool:
    try:
        return not untraced(Traces(UserRule(function, declared.signature, static=declared.static)))
    except CertgradError:
        return False


_KNOWN: dict[int, tuple[Callable, Tried]] = {}
"""Results for functions, of this process or another one. Whether a signature traces is checked again on use."""


def keep(function: Callable, tried: Tried) -> None:
    """Keep the result for a function, which is returned from now on without a search."""
    _KNOWN[id(function)] = function, tried
