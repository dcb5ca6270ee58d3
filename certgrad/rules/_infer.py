"""Shapes for a rule whose author says nothing: signatures that trace, from rank 2 down.

At rank 0 a forgotten sum vanishes, so ranks start at 2 with distinct symbols; what a rule does with each signature that
traces is audited, and the worst verdict counts.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

from certgrad.errors import CertgradError
from certgrad.obligations.generality.instances import family
from certgrad.obligations.prove.problem import trace_rules

from ._declaration import Declaration
from ._layers import plain_function, unwrapped
from ._parameters import nondifferentiable
from ._statics import Default, real
from ._user_rule import UserRule

CANDIDATES = ("n d", "d", "n", "m d", "d m", "n:int", "")
MAX_ARRAYS = 4
REST = 2
MAX_TRACES = 200
MAX_SIGNATURES = 2
ORIGIN = "inferred"


def inferred(function: Callable) -> list[Declaration]:
    """Signatures at which the rule traces, those of highest rank first; empty where none was found."""
    plain = plain_function(unwrapped(function))
    try:
        found = inspect.signature(plain).parameters.values()
    except (TypeError, ValueError):
        return []
    parameters = [p for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    static: dict[str, Any] = {p.name: Default(p.default) for p in parameters if p.default is not p.empty}
    # Without a value an argument that is no array can only be proved for every number.
    static |= {
        n: real() for n in nondifferentiable(unwrapped(function), [p.name for p in parameters]) if n not in static
    }
    arrays = [p for p in parameters if p.name not in static]
    # How many `*args` takes is anyone's guess: two are the fewest that can be mixed up.
    arrays += [p for p in found if p.kind == p.VAR_POSITIONAL for _ in range(max(0, REST - len(arrays)))]
    if not 1 <= len(arrays) <= MAX_ARRAYS:
        return []
    out: list[Declaration] = []
    for count, specs in enumerate(_ordered([_candidates(p) for p in arrays])):
        if count >= MAX_TRACES or len(out) >= MAX_SIGNATURES:
            break
        declared = Declaration(", ".join(specs), static, origin=ORIGIN)
        try:
            rule = UserRule(function, declared.signature, static=declared.static)
        except CertgradError:
            continue
        if traces(rule):
            out.append(declared)
    return out


def _candidates(parameter: inspect.Parameter) -> tuple[str, ...]:
    """The shapes to try: an argument that is annotated as a `float` is one number."""
    return ("",) if parameter.annotation in (float, "float") else CANDIDATES


def _ordered(candidates: Sequence[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """All choices of shapes, more axes first, the same shape for all before mixed ones."""
    choices = [c for c in product(*candidates) if any(":int" not in s for s in c)]
    rank = {s: len(s.split()) for s in CANDIDATES}
    return iter(
        sorted(choices, key=lambda c: (-sum(rank[s] for s in c) + sum(4 for s in c if ":int" in s), len(set(c))))
    )


def traces(rule: UserRule) -> bool:
    """The first case of the rule traces, in 64 bits or in 32."""
    for wide in (True, False):
        try:
            instance = family(rule, rule.cases[0]).prove[0]
            programs = rule.rules(instance.statics)
            trace_rules(programs, instance.shapes(), len(rule.params), rule.name, wide)
        except (CertgradError, RecursionError) as error:
            if "float" not in str(error):  # it does not fail for its dtype
                return False
            continue
        return True
    return False
