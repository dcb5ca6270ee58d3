"""Statements in words."""

from __future__ import annotations

from collections.abc import Sequence

from .denied import negated_guards
from .forms import extreme, once_or_zero
from .text import CONTINUOUS, text
from .tree import (
    Array,
    AtSteps,
    Both,
    Either,
    ForAll,
    Index,
    Node,
    Solves,
    Statement,
    Unique,
    Where,
    walk,
)

_WORDS = {
    " > ": "is greater than",
    " ≥ ": "is at least",
    " < ": "is less than",
    " ≤ ": "is at most",
    " ≠ ": "is not",
    " = ": "is",
}


def prose(statement: Statement, inputs: Sequence[str] = ()) -> str:
    """Return the statement in words; `inputs` are the names that are arguments of the function."""
    inner = statement.holds if isinstance(statement, ForAll) else statement
    if isinstance(inner, Where) and (plainly := negated_guards(inner)) is not None:
        inner = plainly
        statement = ForAll(statement.over, plainly) if isinstance(statement, ForAll) else plainly
    # The conclusion is put into words; the ranges, steps or guards around it follow at the end.
    inner = inner.holds if isinstance(inner, AtSteps) else inner
    guarded = isinstance(inner, Where)
    then = inner.then if isinstance(inner, Where) else inner
    unique = then if isinstance(then, Unique) else once_or_zero(then)
    if unique is not None and not guarded:
        return _attained_once(unique, text(statement, inputs=inputs)) + (", or is 0" if unique is not then else "")
    if isinstance(then, Solves):
        shown = text(then if guarded else statement, inputs=inputs).replace(CONTINUOUS, "", 1)
        shown = shown.replace(" solves ", " returns solves ", 1)
        continuity = ", and depends on them continuously" if then.continuous else ""
        return f"here and at all inputs near by, what {shown}{continuity}"
    parts = then.parts if isinstance(then, Either | Both) else (then,)
    bound = {r.variable for r in statement.over} if isinstance(statement, ForAll) else set()
    shown_parts = [_in_words(text(part, inputs=inputs)) for part in parts]
    at_entries = "at every entry, " if _varies(parts[0], bound, inputs) else ""
    joined = (", or " if not isinstance(then, Both) else ", and ").join(shown_parts)
    end = ", wherever the guarded branch is taken" if guarded else ""
    if statement is not inner:
        end += text(statement, inputs=inputs).removeprefix(text(inner, inputs=inputs))
    return at_entries + joined + end


def _attained_once(unique: Unique, shown: str) -> str:
    subject = shown.removeprefix("argmin of ").removeprefix("argmax of ").replace(" is unique", "", 1)
    subject = subject.replace(f", or the {extreme(unique)} is 0", "", 1)
    return f"the {extreme(unique)} of {subject} is attained only once"


def _in_words(shown: str) -> str:
    """Return a text with its relation in words, if it stands in no bracket."""
    depth = 0
    for k, character in enumerate(shown):
        depth += (character in "([{⟨") - (character in ")]}⟩")
        if not depth and (words := _WORDS.get(shown[k : k + 3])):
            return f"{shown[:k]} {words} {shown[k + 3 :]}"
    return shown


def _varies(part: Node, bound: set[str], inputs: Sequence[str]) -> bool:
    entries = any(isinstance(n, Array) and (not inputs or n.name in inputs) for n in walk(part))
    return entries or any(isinstance(n, Index) and n.name in bound for n in walk(part))
