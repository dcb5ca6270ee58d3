"""Shapes for a rule whose author says nothing: for a choice of ranks, the most general ones at which the function runs.

Sizes are unified (`_unify.py`): what the function does not tie is not tied. Which ranks are meant is evidence
(`_ranks.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ._declaration import Annotated, Declaration, annotated_arguments
from ._layers import parameters_of, plain_function, unwrapped
from ._parameters import nondifferentiable
from ._ranks import ORIGIN, Search, Tried
from ._statics import Default, real

MAX_ARRAYS = 8
REST = 2


def inferred(function: Callable) -> Tried:
    """Signatures at which the rule traces, the likeliest first."""
    custom = unwrapped(function)
    known = _KNOWN.get(id(function))
    if known is not None and known[0] is function and known[1].problem:
        return known[1]
    plain = plain_function(custom)
    try:
        found = parameters_of(custom, plain).values()
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
        made = {
            name: [Declaration(d.signature, static, origin=ORIGIN) for d in some]
            for name, some in (("found", known[1].found), ("lower", known[1].lower))
        }
        return replace(known[1], found=made["found"], lower=made["lower"])
    said = annotated_arguments(plain)
    evidence = [said.get(p.name, Annotated()) for p in arrays]
    return Search(function, [p.name for p in arrays], evidence, static).tried()


_KNOWN: dict[int, tuple[Callable, Tried]] = {}
"""What was found of functions, by this process or another. That a signature traces is seen again where it is used."""


def keep(function: Callable, tried: Tried) -> None:
    """Find the same of this function from now on, without another trace."""
    _KNOWN[id(function)] = function, tried
