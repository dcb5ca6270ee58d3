"""Equations that the calculus cannot follow, as functions of which nothing is known.

What such an equation computes gets a name made of the equation itself and of its operands' terms. Equal names then
stand for equal values: the same operation of equal operands. That is enough to compare a rule's value with the
function's, and a JVP with its transpose. It says nothing about a derivative: a forward that is differentiated has none
where such a value is taken that depends on what moves, and whoever asks how a rule depends on its tangents asks for
`tensors`: the inputs that the value depends on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from certgrad.obligations.assume.conditions import merge_clauses, nowhere
from certgrad.obligations.assume.signs import ANY_SIGN, NONNEG
from certgrad.obligations.assume.tensor import Tensor, own_index
from certgrad.obligations.terms.atoms import access
from certgrad.obligations.terms.power import pred
from certgrad.obligations.terms.walk import atoms_of, tensors_in
from certgrad.obligations.tracing.jax_internals import identity, is_function, kind_of, of_equation, sampler, shape_polys

from ._registry import Context

FLOAT_ONLY = ("bitcast_convert_type", "nextafter")
"""Functions of a float's bits: over the reals they are functions of a value only where no arithmetic comes before."""


@dataclass(frozen=True)
class Opaque:
    """Why an equation could not be followed, and the input tensors that it depends on."""

    reason: str
    tensors: frozenset[str]


def opaque(ctx: Context, eqn: Any, inputs: Sequence[Tensor], reason: str) -> list[Tensor] | None:
    """The outputs of an equation as tensors of their own; None where even that is not sound.

    The theorem: two evaluations of one deterministic operation, its parameters the same, at equal operands, give equal
    outputs wherever they are defined; an infinite entry is an operand like another. Effects make it false, and drawing
    from a generator of the machine's; so does arithmetic before an operation on bits. A real number that may well be
    infinite wherever an operand is, as the maximum of a row of −∞, has no name here: the name stands for a finite one.
    """
    if not is_function(eqn):
        return None
    if any(x.infinite for x in inputs) and any(kind_of(v.aval.dtype) not in "ib" for v in eqn.outvars):
        return None
    called = sampler(eqn) or eqn.primitive.name
    text = identity(of_equation(eqn))
    computed = any(x.kind == "f" and id(x) not in ctx.untouched for x in inputs)
    if computed and any(f"{name}[" in text for name in FLOAT_ONLY):
        return None
    found: set[str] = set()
    for x in inputs:
        for tensor in frozenset().union(*(tensors_in(a) for p in (x.body, x.kept) for a in atoms_of(p))):
            found |= ctx.opaque[tensor].tensors if tensor in ctx.opaque else {tensor}
    key = "\n".join([text, *(f"{x.shape} {x.kind} {x.body.key} {x.infinite} {x.kept.key}" for x in inputs)])
    digest = hashlib.blake2b(key.encode(errors="surrogatepass"), digest_size=6).hexdigest()
    conditions = [x.conditions_over(range(x.rank), {}) for x in inputs]
    defined, smooth = merge_clauses(*(c[0] for c in conditions)), merge_clauses(*(c[1] for c in conditions))
    if found & ctx.moving:
        smooth = merge_clauses(smooth, nowhere(reason))
    ctx.note(f"{called}: taken as some function of its operands, where it is defined")
    out = []
    for k, v in enumerate(eqn.outvars):
        name = f"{called}‹{digest}·{k}›"
        ctx.opaque[name] = Opaque(reason, frozenset(found))
        shape = shape_polys(v.aval)
        entry = access(name, own_index(shape))
        kind = kind_of(v.aval.dtype)
        boolean = kind == "b"
        out.append(
            Tensor(
                shape,
                pred(entry) if boolean else entry,
                {"b": "b", "i": "i", "k": "i"}.get(kind, "f"),  # type: ignore[arg-type]
                defined,
                smooth,
                NONNEG if boolean else ANY_SIGN,
            )
        )
    return out
