"""A rule whose backward returns no cotangent for an argument that calls may leave out: it fails where one passes it.

JAX hands `jax.custom_vjp` the defaults of arguments that a call leaves out. What `jax.custom_gradient` wraps takes
arguments as they come, and its backward has to return a cotangent for each that was given.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from certgrad.errors import CertgradError
from certgrad.obligations.generality.traces import Traces
from certgrad.rules.declared.declaration import Declaration
from certgrad.rules.declared.statics import text_of
from certgrad.rules.finding.find import FoundRule
from certgrad.rules.subject.failures import at_numbers
from certgrad.rules.subject.traced import failed
from certgrad.rules.subject.user_rule import UserRule


def fails_with_passed_defaults(found: FoundRule, declared: Declaration) -> tuple[str, str]:
    """Return what is passed, as in `name = None`, and the error of the rule where it fails with defaults passed.

    Two empty texts where it does not, where the function itself fails, or where JAX passes all of them anyway.
    """
    with suppress(CertgradError):
        rule = UserRule(found.rule, declared.signature, static=declared.static, name=found.name)
        hidden = {n: v for n, v in rule.unsaid.items() if n in rule.positional and n not in rule.parameters.seen}
        if not hidden:
            return "", ""
        passed = replace(declared, static={**declared.static, **hidden})
        symbolic = UserRule(found.rule, passed.signature, static=passed.static, name=found.name)
        for made in (symbolic, at_numbers(found.rule, passed)):  # code may need numbers for sizes
            error = failed(Traces(made))
            if error is None:
                break
            if not error.of_function:
                return " and ".join(f"{n} = {text_of(v)}" for n, v in hidden.items()), error.brief
    return "", ""
