"""Auditing a rule found by name: with the declaration that it carries, that the project gives, or that fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from certgrad.errors import UsageError
from certgrad.obligations.certificate import ORDER

from ._check import check
from ._declaration import Declaration, declaration_of
from ._infer import inferred
from ._layers import plain_function, unwrapped
from ._report import Report


def audited(name: str, rule: Callable, table: Mapping[str, Declaration] | None = None) -> tuple[Report, str]:
    """The report on a rule, the worst one where its shapes are inferred, and where its shapes come from.

    Raises:
        UsageError: nothing declares its shapes, and none was found that traces.
    """
    said = declaration_of(rule, plain_function(unwrapped(rule))) or (table or {}).get(name)
    declarations = [said] if said is not None else inferred(rule)
    if not declarations:
        raise UsageError("no signature is declared, and none was found that traces: declare one with certgrad.declare")
    reports = [check(rule, d.signature, name=name, **_options(d)) for d in declarations]
    return max(reports, key=lambda r: ORDER.index(r.verdict)), declarations[0].origin


def _options(d: Declaration) -> dict[str, Any]:
    return {"static": d.static, "differentiable": d.differentiable, "domain": d.domain, "surrogate": d.surrogate}
