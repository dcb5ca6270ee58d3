"""Findings that a project accepts: by a comment on a definition, by its configuration, by its baseline."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from certgrad.errors import UsageError
from certgrad.report.findings import NO_GRADIENT, Finding, Remark, findings_of
from certgrad.rules.declared.declaration import Declaration, declaration_of
from certgrad.rules.subject.layers import place_of, plain_function, unwrapped
from certgrad.rules.subject.report import Report
from certgrad.rules.syntax.ignores import ignores_of

from . import baseline
from .configuration import Configuration, nearest


def accepted_codes(function: Callable, report: Report) -> set[str]:
    """Return the codes of a report's findings that the project accepts, so that they are no failures.

    They are accepted by a comment on the function, by the baseline, or by the configuration. Raises UsageError if the
    configuration or the baseline cannot be read.
    """
    plain = plain_function(unwrapped(function))
    file, _ = place_of(plain)
    configured, entries = _project(Path.cwd())
    missing = f"no gradient for {', '.join(report.lost_gradient)}"
    remarks = [Remark(NO_GRADIENT, missing)] if report.lost_gradient else []
    findings = findings_of(_name(plain), report.certificate, remarks)
    ignored = ignores_of(plain).reasons
    return {f.code for f in findings if f.code in ignored or f in entries or not configured.wants(f.code, file)}


def declared(function: Callable) -> list[Declaration]:
    """Return the declarations of a function: the one on it, else those by name in the configuration, else annotations.

    Raises UsageError if there are none.
    """
    plain = plain_function(unwrapped(function))
    configured, _ = _project(Path.cwd())
    named = configured.declarations.get(_name(plain), ())
    declaration = declaration_of(function, plain, annotated=not named)
    if declaration is None and not named:
        name = getattr(plain, "__name__", "the function")
        raise UsageError(
            f'Nothing says the shapes of {name}: give a signature, as in assert_certified({name}, "n d, d -> n"), or '
            "declare one with certgrad.declare."
        )
    return [declaration] if declaration is not None else [d.with_objects() for d in named]


def _name(plain: Callable) -> str:
    """Return the name of a function in the files of a project: `module:name`."""
    return f"{getattr(plain, '__module__', '')}:{getattr(plain, '__qualname__', '')}"


@lru_cache(maxsize=4)
def _project(folder: Path) -> tuple[Configuration, frozenset[Finding]]:
    """Return the configuration of the project around a folder, and the findings in its baseline."""
    configured = nearest(folder)
    return configured, frozenset(baseline.read(configured.baseline_file) if configured.has_baseline else ())
