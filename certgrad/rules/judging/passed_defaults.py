"""Rules that fail where a call passes an argument with a default, as their backward returns no cotangent for it.

JAX hands `jax.custom_vjp` the defaults of arguments that a call leaves out. A function under `jax.custom_gradient` gets
only the arguments that were passed, and its backward has to return a cotangent for each of them.
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
    """Return the defaults that are passed (`name = None`) and the rule's error, if the rule fails when they are passed.

    Two empty texts if the rule does not fail, if the function itself fails, or if JAX passes all defaults anyway.
    """
    with suppress(CertgradError):
        rule = UserRule(found.rule, declared.signature, static=declared.static, name=found.name)
        hidden = {n: v for n, v in rule.unsaid.items() if n in rule.positional and n not in rule.parameters.seen}
        if not hidden:
            return "", ""
        passed = replace(declared, static={**declared.static, **hidden})
        symbolic = UserRule(found.rule, passed.signature, static=passed.static, name=found.name)
        for subject in (symbolic, at_numbers(found.rule, passed)):  # code may need numbers for sizes
            error = failed(Traces(subject))
            if error is None:
                break
            if not error.of_function:
                return " and ".join(f"{n} = {text_of(v)}" for n, v in hidden.items()), error.brief
    return "", ""
