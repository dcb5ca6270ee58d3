"""Entries that code reads at a fixed index, as `x[..., 1]`, and sizes of axes that are long enough for them.

JAX reads another entry if the axis is shorter, so that nothing can be proved for an open size d. With d+1 in the place
of d a proof is about every size that has the entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from certgrad.jaxpr.kinds import KEEPS_CONSTANTS
from certgrad.jaxpr.programs import called_program, jaxpr_of
from certgrad.obligations.tracing.jax_internals import is_literal
from certgrad.rules.declared.declaration import Declaration
from certgrad.rules.subject.traced import forward_of
from certgrad.rules.subject.user_rule import UserRule
from certgrad.signatures.nested import leaves
from certgrad.signatures.sizes import Size, parse_size

LARGEST = 64
"""The largest index that is looked for: code that reads at a larger one states the size itself."""


def with_read_entries(rule: UserRule, declared: Declaration) -> Declaration | None:
    """Return the declaration with axes long enough for the entries that the function reads.

    None if they are long enough already, or if the signature has a form that is not rewritten here.
    """
    lacking = {name: entry for name, entry in read_entries(rule).items() if 0 < entry <= LARGEST}
    text = declared.signature
    if not lacking or not isinstance(text, str) or "->" in text or any(c in text for c in "{[") or "*" in text:
        return None
    if ", ".join(leaves(text)) != ", ".join(part.strip() for part in text.split(",")):
        return None
    sizes: Mapping[str, Size] = {name: parse_size(f"{name}+{entry}") for name, entry in lacking.items()}
    specs = (spec.renamed(sizes) for spec in rule.signature.inputs)
    return replace(declared, signature=", ".join(_spec_text(spec) for spec in specs))


def _spec_text(spec: Any) -> str:
    text = str(replace(spec, dtype="float") if spec.dtype == "held" else spec)
    return f"(){text}" if not text or text.startswith(":") else text


def read_entries(rule: UserRule) -> dict[str, int]:
    """Return, by size, the largest fixed index that the function reads at along an axis of that size."""
    program = forward_of(rule)
    entries: dict[str, int] = {}
    if program is not None:
        _collect_read_entries(program.jaxpr, [None] * len(program.jaxpr.invars), entries)
    return {name: entry for name, entry in entries.items() if name in rule.signature.names}


def _collect_read_entries(jaxpr: Any, given: Sequence[Any], found: dict[str, int]) -> None:
    """Add to `found`, by size, the largest fixed index at which a program reads along an axis of that size.

    `given` are the values of its inputs, None for those that are not known: constants are followed into called programs
    and through the operations that JAX makes of an index.
    """
    known_values = {v: x for v, x in zip(jaxpr.invars, given, strict=True) if x is not None}

    def number(v: Any) -> Any:
        return np.asarray(v.val) if is_literal(v) else known_values.get(v)

    def note(size: Any, entry: Any) -> None:
        found[str(size)] = max(found.get(str(size), 0), int(entry))

    for eqn in jaxpr.eqns:
        numbers, name = [number(v) for v in eqn.invars], eqn.primitive.name  # of the operands, None where not known
        inner, out = jaxpr_of(called_program(eqn)), _as_index(name, numbers)
        if inner is not None and len(inner.invars) == len(numbers):
            _collect_read_entries(inner, numbers, found)
        elif out is not None:
            known_values[eqn.outvars[0]] = out
        elif name == "gather" and numbers[1] is not None:
            axes, sizes = eqn.params["dimension_numbers"].start_index_map, eqn.params["slice_sizes"]
            if len(axes) == 1 and str(sizes[axes[0]]) == "1":  # one number is one index
                note(eqn.invars[0].aval.shape[axes[0]], numbers[1])
        elif name == "dynamic_slice":
            lengths = eqn.params["slice_sizes"]
            for size, length, start in zip(eqn.invars[0].aval.shape, lengths, numbers[1:], strict=True):
                if start is not None and str(length) == "1":
                    note(size, start)


def _as_index(name: str, own: Sequence[Any]) -> Any:
    """Return the value of an equation on the way to an index, given the operands `own`; None if it is not known.

    For `x[k]` JAX compares k with 0 and selects k or k + n, as a negative k counts from the end.
    """
    if name in KEEPS_CONSTANTS and own[0] is not None and own[0].ndim == 0:
        return own[0]
    if name == "lt" and own[0] is not None and own[1] is not None:  # whether the index counts from the end
        return own[0] < own[1]
    if name == "select_n" and own[0] is not None and own[0].ndim == 0:
        return own[1 + int(own[0])]
    return None
