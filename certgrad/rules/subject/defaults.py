"""Arguments with defaults that the declaration does not mention: audited at their defaults, and at other values.

JAX hands a custom function every argument, also those that a call leaves out, as in `jax.custom_jvp(jnp.round)`. In a
plain call, under `jax.grad` and under `jax.vmap` an integer default stays an integer; under `jax.jit` it becomes a
tracer, and code that needs its value fails. So the audit looks at the custom function of the arrays alone, with the
defaults fixed, and the report says that calls under `jax.jit` are left out.

A rule that is right at the defaults can be wrong, or fail, at `keepdims=True`. Booleans, `Literal`s and enums are tried
at each of their values: what is proved there is part of the claim, and for the other values the report says why not.
A rule whose backward contains the default number itself, or forgets a factor that is 1.0 by default, is right at the
default alone: if a numeric check at another number finds a point where both sides differ, the rule is refuted there.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from enum import Enum
from functools import wraps
from itertools import islice
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import jax
import jax.numpy as jnp
import msgspec
import numpy as np

from certgrad import rules
from certgrad.jaxpr.closures import kind_of_rule
from certgrad.obligations.certificate import AT_SIZES, PROOFS, CaseClaim, Certificate, Claim, with_each_case
from certgrad.obligations.generality.traces import Traces
from certgrad.rules.declared.statics import annotations_of, different, text_of

from .layers import parameters_of
from .parameters import POSITIONAL
from .report import Report
from .user_rule import UserRule

LEFT_OUT = "calls under jax.jit: JAX traces {} there, of which the default stands, and the function fails"


def with_fixed_defaults(rule: UserRule) -> Callable | None:
    """Return the rule's function with the defaults that JAX would trace fixed; None if that is not needed or possible.

    It is not needed if the rule traces as it is. It is not possible if a default is other than an integer, a boolean or
    None, or if the function is wrapped, sees symbolic zeros, or takes arguments by name alone.
    """
    custom, names = rule.custom, of_defaults(rule)
    is_plain = type(custom) in (jax.custom_jvp, jax.custom_vjp) and rule.function is custom and not rule.sees_zeros
    all_by_position = all(p.kind in POSITIONAL for p in rule.parameters.all.values()) and not rule.parameters.rest
    if not (is_plain and all_by_position) or rule.parameters.fixed or not names or rules.traces(Traces(rule)):
        return None
    if not all(isinstance(rule.unsaid[n], int | None) for n in names):
        return None
    signature = inspect.Signature([*parameters_of(custom, rule.plain).values()])

    @wraps(custom)
    def called(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values = list(bound.args)
        places = [k for k, n in enumerate(bound.arguments) if n not in names]
        return _of_arrays(custom, values, places)(*(values[k] for k in places))

    return called


def of_defaults(rule: UserRule) -> list[str]:
    """Return the undeclared arguments with defaults that JAX would hand the rule as arrays."""
    return [n for n in rule.unsaid if n in rule.dynamic and n in rule.parameters.seen]


def _of_arrays(custom: Any, values: Sequence[Any], places: Sequence[int]) -> Any:
    """Return the custom function, with its rule, as a function of the arguments at `places`; the others are fixed.

    `values` are the values of all arguments.
    """

    def full(arrays: Sequence[Any], others: Sequence[Any] = values) -> list[Any]:
        """Return all arguments: `others` with the arrays at `places`."""
        arguments = list(others)
        for k, x in zip(places, arrays, strict=True):
            arguments[k] = x
        return arguments

    def fun(*arrays: Any) -> Any:
        return custom.fun(*full(arrays))

    if kind_of_rule(custom) == "jax.custom_jvp":
        # The tangent of an integer is an array of float0, and that of None is None.
        zeros = [None if v is None else np.zeros((), jax.dtypes.float0) for v in values]
        of_places: Any = jax.custom_jvp(fun)
        of_places.defjvp(lambda primals, tangents: custom.jvp(tuple(full(primals)), tuple(full(tangents, zeros))))
        return of_places

    def bwd(residuals: Any, seed: Any) -> tuple[Any, ...]:
        cotangents = tuple(custom.bwd(residuals, seed))
        if len(cotangents) != len(values) or any(c is not None for k, c in enumerate(cotangents) if k not in places):
            raise TypeError("the rule returns no None for an argument that is no array of floats")
        return tuple(cotangents[k] for k in places)

    of_places = jax.custom_vjp(fun)
    of_places.defvjp(lambda *arrays: custom.fwd(*full(arrays)), bwd)
    return of_places


MOST = 8
"""Values beside the defaults that are tried, at most."""


AXES, NUMBERS, SWITCH = (-1, 0, 1), (2, 3, 1), (True, False)
"""The values that are tried for an axis, for another number and for a boolean, where nothing says which are meant."""
SHARES = (0.5, 0.25)
"""Values of arguments that are shares between 0 and 1 by their names, such as a dropout rate."""
COUNTS = (3,)
"""Values of arguments that bound integers by their names, such as `num_classes`: one, as each is another domain."""
DTYPES, OF_MATRICES = (jnp.float32,), ((((1,), (0,)), ((), ())),)
"""Values tried for a dtype, and for the `dimension_numbers` of a `dot_general`: a matrix product."""
IDLE = {0.0: 0.5, 1.0: 0.5, -1.0: -0.5}
"""For numbers at which a factor or a term has no effect, the number to try instead."""
ANOTHER = "other"
"""A word that no code expects as the value of an argument."""
AXIS = re.compile(r"(\w+_)?(axis|dim|dimension)\d*")
_CHOICE = re.compile(r"(is|has|use|with|keep|include|apply)_\w+|causal|reverse\w*|exclusive|keepdims|training|inverse")
_SHARE = re.compile(r"(\w+_)?(rate|prob|probability|smoothing)|p")
_COUNT = re.compile(r"(num|n)_(segments|classes|labels|categories|buckets|bins|tokens|embeddings|nodes)")
_OF_LABELS = "(index|idx|id|label|token|token_id)"
SENTINEL = re.compile(f"(ignored?|pad|padding|blank)_{_OF_LABELS}")
"""Names of arguments that are the integer for no label, as of padding; one value, as each is another domain."""
_DTYPE = re.compile(r"(\w+_)?dtype|preferred_element_type")
_KINDS: Sequence[tuple[re.Pattern[str], tuple[Any, ...]]] = (
    (AXIS, AXES),
    (_CHOICE, SWITCH),
    (_SHARE, SHARES),
    (_COUNT, COUNTS),
    (re.compile(f"ignored?_{_OF_LABELS}"), (-100,)),
    (SENTINEL, (0,)),
    (_DTYPE, DTYPES),
    (re.compile("dimension_numbers"), OF_MATRICES),
)


def choices(rule: UserRule) -> list[tuple[str, Any]]:
    """Return pairs of an undeclared argument and a value other than its default to try, by annotation and default."""
    annotations, _ = annotations_of(rule.plain)
    pairs = []
    for name, default in rule.unsaid.items():
        values = [*_of_annotation(annotations.get(name)), *_of_default(name, default)]
        pairs += [(name, v) for v in different(values) if type(v) is not type(default) or v != default]
    return pairs[:MOST]


def values_by_kind(plain: Callable, names: Iterable[str]) -> dict[str, list[Any]]:
    """Return by name values to try for arguments that are no arrays and have no default, by annotation or name."""
    annotations, _ = annotations_of(plain)
    values_of = {}
    for name in names:
        annotated = [*_of_annotation(annotations.get(name))] or _objects(plain, annotations.get(name))
        values_of[name] = annotated or list(next((values for kind, values in _KINDS if kind.fullmatch(name)), NUMBERS))
    return values_of


def _of_annotation(annotation: Any) -> Iterator[Any]:
    """Yield all values of an annotation that has few of them: a `Literal`, `bool`, None, an enum, a union of these."""
    origin = get_origin(annotation)
    if origin is Literal:
        yield from get_args(annotation)
    elif origin in (Union, UnionType):
        parts = [list(_of_annotation(part)) for part in get_args(annotation)]
        if all(parts):  # the values of `None | int` cannot be listed
            yield from (value for part in parts for value in part)
    elif annotation is bool:
        yield from (False, True)
    elif annotation is NoneType:
        yield None
    elif isinstance(annotation, type) and issubclass(annotation, Enum):
        yield from annotation


def _objects(plain: Callable, annotation: Any) -> list[Any]:
    """Return objects of an annotated class of the user's: those in the function's module, or else the default one.

    A default object is that of a dataclass or a NamedTuple of which all fields have defaults.
    """
    if not isinstance(annotation, type) or annotation.__module__ == "builtins" or annotation in (np.ndarray, jax.Array):
        return []
    scope = getattr(inspect.unwrap(plain), "__globals__", {})
    objects = [value for value in scope.values() if type(value) is annotation]
    all_defaults = is_dataclass(annotation) and all(map(_has_default, fields(annotation)))
    names, defaults = (getattr(annotation, of, ()) for of in ("_fields", "_field_defaults"))  # of a NamedTuple
    if not objects and (all_defaults or (names and len(names) == len(defaults))):
        objects = [annotation()]
    return objects


def _has_default(field: Field[Any]) -> bool:
    return not field.init or field.default is not MISSING or field.default_factory is not MISSING


def _of_default(name: str, default: Any) -> Sequence[Any]:
    """Return the values to try beside a default: the other boolean, other axes, the members of an enum."""
    if type(default) is bool:
        return (not default,)
    if type(default) is int and default in AXES and AXIS.fullmatch(name):
        return [v for v in AXES if v != default]
    return list(type(default)) if isinstance(default, Enum) else ()


def _alternative_values(default: Any, plain: Callable) -> Iterator[Any]:
    """Yield other values in the place of a default number, word, or object of these, to look for a refutation.

    For a word these are the words in the function's code, and one that it does not have; for a dataclass or a
    NamedTuple, the objects with one field at another value.
    """
    if type(default) is int:
        yield default + 1
    elif type(default) is str:
        code = getattr(inspect.unwrap(plain), "__code__", None)
        words = [c for c in code.co_consts if type(c) is str and c.isidentifier()] if code is not None else []
        yield from (word for word in [*words, ANOTHER] if word != default)
    elif type(default) is float and np.isfinite(default):
        yield IDLE.get(default, default / 2)
    elif is_dataclass(default) and not isinstance(default, type):
        for part in fields(default):
            if part.init:
                yield from (replace(default, **{part.name: v}) for v in _of_field(getattr(default, part.name), plain))
    elif isinstance(default, tuple):
        for name in getattr(default, "_fields", ()):
            values = _of_field(getattr(default, name), plain)
            yield from (default._replace(**{name: v}) for v in values)  # type: ignore[attr-defined]


def _of_field(default: Any, plain: Callable) -> Iterator[Any]:
    yield from [not default] if type(default) is bool else _alternative_values(default, plain)


def at_choices(
    report: Report,
    rule: UserRule,
    checked: Callable[[dict[str, Any]], Report | str | None],
    refuted: Callable[[dict[str, Any]], Report | None],
) -> Report:
    """Return the report with the results at other values of undeclared arguments, one argument at a time.

    Listed values (`choices`) are audited: a proof joins the certificate, a failure is named in `left_out`. Other values
    are only looked at for a refutation. A refutation at any value is returned at once, instead of the report.

    Args:
        report: the report on the rule at the defaults; proved.
        rule: that rule.
        checked: returns the report at a value, or why there is none; None if the function does not run.
        refuted: returns the report at a value if a numeric check refutes the rule there; else None.
    """

    def right_at_default(wrong: Report, name: str) -> Report:
        """Return a refutation at another value, with the remark that the rule is right at the default.

        The remark is left out if the default is proved at some sizes alone.
        """
        return _with_default(wrong, rule, name) if report.verdict in PROOFS else wrong

    certificates: list[Certificate] = [report.certificate]
    left_out: list[str] = []
    for name, value in choices(rule):
        outcome = checked({name: value})
        at = f"{name} = {text_of(value)}"
        if outcome is None:
            continue
        if isinstance(outcome, str):
            left_out.append(f"{at}: {outcome}")
        elif outcome.verdict == "refuted":
            return right_at_default(outcome, name)
        elif outcome.verdict in (*PROOFS, AT_SIZES):
            certificates.append(outcome.certificate)
        else:
            left_out.append(f"{at}: {outcome.verdict}: {outcome.reason}")
    listed = {name for name, _ in choices(rule)}
    unlisted = ((name, default) for name, default in rule.unsaid.items() if name not in listed)
    alternatives = ({name: v} for name, default in unlisted for v in _alternative_values(default, rule.plain))
    for value_by_name in islice(alternatives, MOST):  # without a refutation, the claim stays about the default alone
        if (wrong := refuted(value_by_name)) is not None:
            return right_at_default(wrong, *value_by_name)
    mergeable = [c for c in certificates if [x.kind for x in c.claims] == [x.kind for x in report.claims]]
    if len(mergeable) > 1:
        report = replace(report, certificate=rules.merged(mergeable))
    return replace(report, left_out=(*report.left_out, *left_out))


def _with_default(report: Report, rule: UserRule, name: str) -> Report:
    """Return the report on a rule refuted at another value of `name`, with a line that it is right at the default."""
    from certgrad.report.wording import LIKELY_CAUSE, RIGHT_WHERE

    line = f"{LIKELY_CAUSE}: {RIGHT_WHERE}{name} = {text_of(rule.unsaid[name])}, the default"

    def with_line(_: Claim, case: CaseClaim) -> CaseClaim:
        refuted = case.verdict == "refuted"
        return msgspec.structs.replace(case, reason=f"{case.reason}\n{line}".strip()) if refuted else case

    return replace(report, certificate=with_each_case(report.certificate, with_line))
