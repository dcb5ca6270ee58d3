"""Arguments of which the author says nothing: they stand at their defaults, or are tried at each of their values.

JAX hands a custom function every argument, also those that a call leaves out, as in `jax.custom_jvp(jnp.round)`. In a
call, `jax.grad` and `jax.vmap` an integer stays what it is; where the call is traced, as under `jax.jit`, it becomes a
tracer, and code that asks for its value fails. What runs elsewhere is the custom function of the arrays alone, with the
defaults as they stand: that one is looked at, and what is left out is said.

A rule that is right at the defaults can be wrong, or fail, at `keepdims=True`. Booleans, `Literal`s and enums are tried
at each of their values: what is proved there is part of the claim, and where nothing comes of it the report says so.
A rule that has the number at which an argument stands by default in its backward, or forgets a factor of 1.0, is right
at that one alone: where a numeric check of another one finds a point at which both sides differ, it is refuted there.
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
    """Return the function with omitted defaults fixed at their values; None where it traces as it is.

    None also where a default is other than an integer, a boolean or None, or where the function is wrapped, sees
    symbolic zeros, or takes arguments by name alone.
    """
    custom, names = rule.custom, of_defaults(rule)
    is_plain = type(custom) in (jax.custom_jvp, jax.custom_vjp) and rule.function is custom and not rule.sees_zeros
    by_place = all(p.kind in POSITIONAL for p in rule.parameters.all.values()) and not rule.parameters.rest
    if not (is_plain and by_place) or rule.parameters.fixed or not names or rules.traces(Traces(rule)):
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
    """Return the undeclared arguments with defaults that JAX hands the rule as arrays."""
    return [n for n in rule.unsaid if n in rule.dynamic and n in rule.parameters.seen]


def _of_arrays(custom: Any, values: Sequence[Any], places: Sequence[int]) -> Any:
    """Return the custom function, with its rule, of the arguments at these places; the others keep their values."""

    def full(arrays: Sequence[Any], others: Sequence[Any] = values) -> list[Any]:
        """Return all arguments: the arrays at their places, and the others at theirs."""
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
"""At most this many values beside the defaults are tried."""


AXES, NUMBERS, SWITCH = (-1, 0, 1), (2, 3, 1), (True, False)
"""The values of an axis, of another number and of a choice, where nobody says which are meant."""
SHARES = (0.5, 0.25)
"""Values of arguments that are shares, as their names say."""
COUNTS = (3,)
"""The bound below which integer arguments lie: one value, since each would have other bounds."""
DTYPES, OF_MATRICES = (jnp.float32,), ((((1,), (0,)), ((), ())),)
"""Values tried for a dtype, and for the `dimension_numbers` of a `dot_general`: a matrix product."""
IDLE = {0.0: 0.5, 1.0: 0.5, -1.0: -0.5}
"""Numbers at which a factor or a term does nothing, and others beside them."""
ANOTHER = "other"
"""A word that code does not know."""
AXIS = re.compile(r"(\w+_)?(axis|dim|dimension)\d*")
_CHOICE = re.compile(r"(is|has|use|with|keep|include|apply)_\w+|causal|reverse\w*|exclusive|keepdims|training|inverse")
_SHARE = re.compile(r"(\w+_)?(rate|prob|probability|smoothing)|p")
_COUNT = re.compile(r"(num|n)_(segments|classes|labels|categories|buckets|bins|tokens|embeddings|nodes)")
_OF_LABELS = "(index|idx|id|label|token|token_id)"
SENTINEL = re.compile(f"(ignored?|pad|padding|blank)_{_OF_LABELS}")
"""What an integer among the arguments is where it means something else: one value too, as it is part of a domain."""
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
    """Return other values to try for defaulted arguments, by annotations and defaults."""
    annotations, _ = annotations_of(rule.plain)
    found = []
    for name, default in rule.unsaid.items():
        values = [*_of_annotation(annotations.get(name)), *_of_default(name, default)]
        found += [(name, v) for v in different(values) if type(v) is not type(default) or v != default]
    return found[:MOST]


def values_by_kind(plain: Callable, names: Iterable[str]) -> dict[str, list[Any]]:
    """Values of arguments that are no arrays and have no default, by what annotations and names say, some of each."""
    annotations, _ = annotations_of(plain)
    found = {}
    for name in names:
        said = [*_of_annotation(annotations.get(name))] or _objects(plain, annotations.get(name))
        found[name] = said or list(next((values for kind, values in _KINDS if kind.fullmatch(name)), NUMBERS))
    return found


def _of_annotation(annotation: Any) -> Iterator[Any]:
    origin = get_origin(annotation)
    if origin is Literal:
        yield from get_args(annotation)
    elif origin in (Union, UnionType):
        parts = [list(_of_annotation(part)) for part in get_args(annotation)]
        if all(parts):  # of `None | int` nobody can list the values
            yield from (value for part in parts for value in part)
    elif annotation is bool:
        yield from (False, True)
    elif annotation is NoneType:
        yield None
    elif isinstance(annotation, type) and issubclass(annotation, Enum):
        yield from annotation


def _objects(plain: Callable, annotation: Any) -> list[Any]:
    """Objects of the annotated class, where it is one of a user's: those of the function's module, or the one that a
    dataclass or a NamedTuple is by default.
    """
    if not isinstance(annotation, type) or annotation.__module__ == "builtins" or annotation in (np.ndarray, jax.Array):
        return []
    scope = getattr(inspect.unwrap(plain), "__globals__", {})
    found = [value for value in scope.values() if type(value) is annotation]
    whole = is_dataclass(annotation) and all(map(_has_default, fields(annotation)))
    names, defaults = (getattr(annotation, of, ()) for of in ("_fields", "_field_defaults"))  # of a NamedTuple
    if not found and (whole or (names and len(names) == len(defaults))):
        found = [annotation()]
    return found


def _has_default(field: Field[Any]) -> bool:
    return not field.init or field.default is not MISSING or field.default_factory is not MISSING


def _of_default(name: str, default: Any) -> Sequence[Any]:
    if type(default) is bool:
        return (not default,)
    if type(default) is int and default in AXES and AXIS.fullmatch(name):
        return [v for v in AXES if v != default]
    return list(type(default)) if isinstance(default, Enum) else ()


def _alternative_values(default: Any, plain: Callable) -> Iterator[Any]:
    """A number beside one that is a default; the words of the code, and another one, beside a word; of a dataclass or a
    NamedTuple of these, one field at another value.
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
        for one in fields(default):
            if one.init:
                yield from (replace(default, **{one.name: v}) for v in _of_field(getattr(default, one.name), plain))
    elif isinstance(default, tuple):
        for name in getattr(default, "_fields", ()):
            others = _of_field(getattr(default, name), plain)
            yield from (default._replace(**{name: v}) for v in others)  # type: ignore[attr-defined]


def _of_field(default: Any, plain: Callable) -> Iterator[Any]:
    yield from [not default] if type(default) is bool else _alternative_values(default, plain)


def at_choices(
    report: Report,
    rule: UserRule,
    checked: Callable[[dict[str, Any]], Report | str | None],
    refuted: Callable[[dict[str, Any]], Report | None],
) -> Report:
    """Return the report with what comes of the other values of its static arguments, one argument at a time.

    Args:
        report: what came of the rule at the defaults; proved.
        rule: that rule.
        checked: the report at a value, or why there is none; None where the function does not run.
        refuted: the report at a value where it is refuted and a numeric check sees it.
    """

    def right_at_default(wrong: Report, name: str) -> Report:
        """Return a refutation at another value, which says that the rule is right at the default if that is proved for
        all sizes.
        """
        return _with_default(wrong, rule, name) if report.verdict in PROOFS else wrong

    certificates: list[Certificate] = [report.certificate]
    left_out: list[str] = []
    for name, value in choices(rule):
        other = checked({name: value})
        at = f"{name} = {text_of(value)}"
        if other is None:
            continue
        if isinstance(other, str):
            left_out.append(f"{at}: {other}")
        elif other.verdict == "refuted":
            return right_at_default(other, name)
        elif other.verdict in (*PROOFS, AT_SIZES):
            certificates.append(other.certificate)
        else:
            left_out.append(f"{at}: {other.verdict}: {other.reason}")
    looked_at = {name for name, _ in choices(rule)}
    unsaid = ((name, default) for name, default in rule.unsaid.items() if name not in looked_at)
    beside = ({name: v} for name, default in unsaid for v in _alternative_values(default, rule.plain))
    for chosen in islice(beside, MOST):  # where the rule is not refuted, the claim is about the default as ever
        if (wrong := refuted(chosen)) is not None:
            return right_at_default(wrong, *chosen)
    alike = [c for c in certificates if [x.kind for x in c.claims] == [x.kind for x in report.claims]]
    if len(alike) > 1:
        report = replace(report, certificate=rules.merged(alike))
    return replace(report, left_out=(*report.left_out, *left_out))


def _with_default(report: Report, rule: UserRule, name: str) -> Report:
    """The report on a rule that is refuted at another value of an argument, with the default at which it is proved."""
    from certgrad.report.wording import LIKELY_CAUSE, RIGHT_WHERE

    line = f"{LIKELY_CAUSE}: {RIGHT_WHERE}{name} = {text_of(rule.unsaid[name])}, the default"

    def with_line(_: Claim, case: CaseClaim) -> CaseClaim:
        refuted = case.verdict == "refuted"
        return msgspec.structs.replace(case, reason=f"{case.reason}\n{line}".strip()) if refuted else case

    return replace(report, certificate=with_each_case(report.certificate, with_line))
