"""Static arguments of which the author says nothing, at each of their values: booleans, `Literal`s, enums.

A rule that is right at the defaults can be wrong, or fail, at `keepdims=True`. What is proved there is part of the
claim; where nothing comes of it, the report says so.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from certgrad import rules
from certgrad.obligations.certificate import AT_SIZES, PROOFS, Certificate

from ._report import Report
from ._statics import text_of
from ._user_rule import UserRule

MOST = 8
"""So many values beside the defaults are looked at."""


def choices(rule: UserRule) -> list[tuple[str, Any]]:
    """The other values of arguments that have their default, by what annotations and defaults say."""
    try:
        annotations = {n: p.annotation for n, p in inspect.signature(rule.plain, eval_str=True).parameters.items()}
    except Exception:  # an annotation that is a text can be any code
        annotations = {}
    found = []
    for name, default in rule.unsaid.items():
        values = [*_of_annotation(annotations.get(name)), *_of_default(default)]
        others = [v for v in values if type(v) is not type(default) or v != default]
        unique = [v for k, v in enumerate(others) if not any(type(u) is type(v) and u == v for u in others[:k])]
        found += [(name, v) for v in unique]
    return found[:MOST]


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


def _of_default(default: Any) -> Sequence[Any]:
    if type(default) is bool:
        return (not default,)
    return list(type(default)) if isinstance(default, Enum) else ()


def at_choices(report: Report, rule: UserRule, checked: Callable[[Mapping[str, Any]], Report | str | None]) -> Report:
    """The report with what comes of the other values of its static arguments, one argument at a time.

    Args:
        report: what came of the rule at the defaults; proved.
        rule: that rule.
        checked: the report at a value, or why there is none; None where the function does not run.
    """
    certificates: list[Certificate] = [report.certificate]
    left: list[str] = []
    for name, value in choices(rule):
        found = checked({name: value})
        at = f"{name} = {text_of(value)}"
        if found is None:
            continue
        if isinstance(found, str):
            left.append(f"{at}: {found}")
        elif found.verdict == "refuted":
            return found
        elif found.verdict in (*PROOFS, AT_SIZES):
            certificates.append(found.certificate)
        else:
            left.append(f"{at}: {found.verdict}: {found.reason}")
    same = [c for c in certificates if [x.kind for x in c.claims] == [x.kind for x in report.claims]]
    if len(same) > 1:
        report = replace(report, certificate=rules.merged(same))
    return replace(report, left_out=(*report.left_out, *left))
