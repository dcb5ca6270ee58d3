"""Shapes for a rule whose author says nothing: signatures that trace, from rank 2 down.

At rank 0 a forgotten sum vanishes, so ranks start at 2 with distinct symbols; what a rule does with each signature that
traces is audited, and the worst verdict counts.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp

from certgrad.errors import CertgradError
from certgrad.obligations.generality.instances import family
from certgrad.obligations.generality.traces import Spec, Traces
from certgrad.obligations.prove.problem import trace_forward
from certgrad.obligations.tracing.jax_internals import Program

from ._declaration import Declaration
from ._fails import failure, runs
from ._layers import backward_of, parameters_of, plain_function, unwrapped
from ._parameters import nondifferentiable
from ._returned import recorded
from ._statics import Default, real
from ._user_rule import UserRule

CANDIDATES = ("n d", "d", "n", "m d", "d m", "n:int", "")
SQUARE = ("n n", "n d", "n", "n:int", "")
EVEN = ("n 2*d", "2*d", "n d", "d", "n")
"""For what no shape of distinct symbols fits: square matrices, and arrays that are cut into halves."""
HIGHER = ("n m d", "n m d k")
"""For all arrays, where a rule traces at none of those, and its function does."""
NUMBERS = (2, 3, 5, 4)
"""For the sizes of such a rule."""
MOST_REFUSED = 40
MAX_ARRAYS = 4
REST = 2
FAMILIES = ((CANDIDATES, 200), (SQUARE, 50), (EVEN, 50))
"""Shapes that are tried together, and how many traces at most; the next only where nothing traces so far."""
MAX_SIGNATURES = 2
SHOWN = 2
"""Of the reasons why nothing traces, so many are told, each with a signature."""
LONGEST = 160
ORIGIN = "inferred"


@dataclass
class Tried:
    """Signatures at which a rule traces, and what became of the others."""

    found: list[Declaration] = field(default_factory=list)
    problem: str = ""
    """Why none was tried."""
    count: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    """By reason, the first signature that failed for it."""
    refused: list[Declaration] = field(default_factory=list)
    """Signatures at which the function traces, and its rule does not."""

    @property
    def why_none(self) -> str:
        """What was tried, and how it failed, in words."""
        if self.problem:
            return self.problem
        shown = [f'"{signature}": {why}' for why, signature in [*self.failures.items()][:SHOWN]]
        more = f", and for {len(self.failures) - SHOWN} other reasons" if len(self.failures) > SHOWN else ""
        tried = f"none of the {self.count} that were tried traces" if self.count > 1 else "the only one tried fails"
        return f"{tried} ({'; '.join(shown)}{more})"


def inferred(function: Callable) -> Tried:
    """Signatures at which the rule traces, those of highest rank first."""
    custom = unwrapped(function)
    known = _KNOWN.get(id(function))
    if known is not None and known[0] is function and known[1].problem:
        return known[1]
    try:
        found = parameters_of(custom, plain_function(custom)).values()
    except (TypeError, ValueError):
        return Tried(problem="its arguments cannot be told")
    parameters = [p for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    static: dict[str, Any] = {p.name: Default(p.default) for p in parameters if p.default is not p.empty}
    # Without a value an argument that is no array can only be proved for every number.
    static |= {n: real() for n in nondifferentiable(custom, [p.name for p in parameters]) if n not in static}
    arrays = [p for p in parameters if p.name not in static]
    # How many `*args` takes is anyone's guess: two are the fewest that can be mixed up.
    arrays += [p for p in found if p.kind == p.VAR_POSITIONAL for _ in range(max(0, REST - len(arrays)))]
    if not arrays:
        return Tried(problem="it takes no argument without a default, of which a shape could be tried")
    if len(arrays) > MAX_ARRAYS:
        names = ", ".join(p.name for p in arrays)
        return Tried(problem=f"shapes are tried for at most {MAX_ARRAYS} arguments, and it takes {names}")
    if known is not None and known[0] is function:
        return Tried([Declaration(one.signature, static, origin=ORIGIN) for one in known[1].found])
    out = Tried()
    before: list[tuple[str, ...]] = []
    for shapes, most in FAMILIES:
        new = [c for c in _ordered([_candidates(p, shapes) for p in arrays]) if c not in before][:most]
        for specs in new:
            if len(out.found) >= MAX_SIGNATURES:
                break
            out.count += 1
            _try(out, function, Declaration(", ".join(specs), static, origin=ORIGIN))
        if out.found:
            break
        before += new
    for shape in () if out.found or not out.refused else HIGHER:  # a rule may be for axes that nothing else asks for
        out.count += 1
        _try(out, function, Declaration(", ".join([shape] * len(arrays)), static, origin=ORIGIN))
    if not out.found and out.refused and all(_fails_at_numbers(function, one) for one in out.refused[:MOST_REFUSED]):
        out.found = out.refused[:1]  # it runs nowhere that its function does: that is the verdict
    return out


def _fails_at_numbers(function: Callable, declared: Declaration) -> bool:
    """Whether the function runs with numbers for all sizes, and its rule does not: code may refuse symbols alone."""
    names = [str(n) for n in UserRule(function, declared.signature, static=declared.static).signature.names]
    sizes = {name: NUMBERS[k] for k, name in enumerate(names)}
    rule = UserRule(function, declared.signature, static=declared.static, at=sizes)
    return not runs(rule) or failure(rule) is not None


def _try(out: Tried, function: Callable, declared: Declaration) -> None:
    """Note whether the rule traces as it is declared, or why not."""
    try:
        rule = UserRule(function, declared.signature, static=declared.static)
        why = untraced(Traces(rule)) or _has_gradient(rule)
        if why and rule.kind and ":" not in f"{declared.signature}" and forward_of(rule) is not None:
            out.refused.append(declared)
    except CertgradError as error:
        why = str(error)
    if why:
        out.failures.setdefault(_brief(why), f"{declared.signature}")
    else:
        out.found.append(declared)


def _has_gradient(rule: UserRule) -> str:
    """Why an argument is not meant to be of integers, as the signature has it: the rule returns its gradient. JAX drops
    that one unseen, and a verdict would say nothing of it.
    """
    whole = [n for n, s in zip(rule.arg_names, rule.signature.inputs, strict=True) if s.dtype == "int"]
    backward = backward_of(rule.custom)
    if backward is None or not whole:
        return ""
    with recorded(*backward) as returned:
        untraced(Traces(rule))
    for cotangents in returned:
        if not isinstance(cotangents, (tuple, list)) or len(cotangents) != len(rule.dynamic):
            continue
        for name, one in zip(rule.dynamic, cotangents, strict=True):
            if name in whole and any(jnp.issubdtype(jnp.result_type(x), jnp.inexact) for x in jax.tree.leaves(one)):
                return f"it returns a gradient for {name}, which is not of integers then"
    return ""


_KNOWN: dict[int, tuple[Callable, Tried]] = {}
"""What was found of functions, by this process or another. That a signature traces is seen again where it is used."""


def keep(function: Callable, tried: Tried) -> None:
    """Find the same of this function from now on, without another trace."""
    _KNOWN[id(function)] = function, tried


def _brief(why: str) -> str:
    """The reason that JAX or the code gives, without what is said around it."""
    text = " ".join(why.split()).partition(" at symbolic shapes: ")
    short = (text[2] or text[0]).partition(". ")[0].rstrip(".")
    return short if len(short) <= LONGEST else f"{short[:LONGEST]} …"


def _candidates(parameter: inspect.Parameter, shapes: tuple[str, ...]) -> tuple[str, ...]:
    """The shapes to try: an argument that is annotated as a `float` is one number."""
    return ("",) if parameter.annotation in (float, "float") else shapes


def _ordered(candidates: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """All choices of shapes, more axes first, the same shape for all before mixed ones."""
    choices = [c for c in product(*candidates) if any(":int" not in s for s in c)]
    rank = {s: len(s.split()) for c in candidates for s in c}
    return sorted(choices, key=lambda c: (-sum(rank[s] for s in c) + sum(4 for s in c if ":int" in s), len(set(c))))


def traces(made: Traces) -> bool:
    """The first case of a rule traces, in 64 bits or in 32."""
    return not untraced(made)


def untraced(made: Traces) -> str:
    """Why the first case of a rule traces neither in 64 bits nor in 32; or an empty text."""
    why = ""
    for wide in (True, False):
        found = made.make(Spec(0, 0, (), wide))
        if not isinstance(found, CertgradError):
            return ""
        why = why or str(found)
        if "float" not in str(found):  # it does not fail for its dtype
            return why
    return why


def forward_of(rule: UserRule) -> Program | None:
    """The forward of the rule's first case, in 64 bits or in 32; None where it does not trace."""
    instance = family(rule, rule.cases[0]).prove[0]
    for wide in (True, False):
        try:
            return trace_forward(rule.rules(instance.statics), instance.shapes(), len(rule.params), rule.name, wide)
        except (CertgradError, RecursionError) as error:
            if "float" not in str(error):
                return None
    return None
