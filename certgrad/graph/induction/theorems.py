"""The induction step itself, proved by the kernel for any linear maps: matrices of arbitrary entries and sizes.

A lemma says of a node that its JVP multiplies by a matrix and its VJP by the transpose. That the sweep over nodes put
together is the adjoint of the whole is then a statement about matrices, and is proved as such, for all sizes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from certgrad._subject import Rules
from certgrad.graph.certificate import Theorem
from certgrad.graph.lemmas.rules import ActiveShapes
from certgrad.obligations.certificate import KERNEL
from certgrad.obligations.prove.problem import Posed, Programs, build, trace_rules
from certgrad.obligations.prove.prove import prove
from certgrad.obligations.tracing.jax_internals import serialised, symbols, versions, wide_floats


@dataclass(frozen=True)
class Statement:
    """Tangents, and the sweep that is claimed to be their adjoint: functions of fixed matrices and moving vectors."""

    name: str
    text: str
    matrices: dict[str, str]
    """The sizes of each matrix by its name: `{"A": "v x"}` for A of shape (v, x)."""
    vectors: dict[str, str]
    tangents: Callable[..., list[Any]]
    """A function of the matrices by name and the vectors by position."""
    sweep: Callable[..., list[Any]]
    """A function of the matrices by name and the seeds by position."""


APPEND = Statement(
    "appending a node",
    "Let A·dx be the tangents of the values so far, and s ↦ Aᵀs their sweep. A node with tangents J·(A·dx) is "
    "appended. Then adding Jᵀt to the cotangents s and sweeping on is the adjoint of (A·dx, J·A·dx).",
    {"A": "v x", "J": "w v"},
    {"dx": "x"},
    lambda m, dx: [m["A"] @ dx, m["J"] @ (m["A"] @ dx)],
    lambda m, s, t: [m["A"].T @ (s + m["J"].T @ t)],
)
SCAN = Statement(
    "one more step of a loop",
    "Let the tangents of the loop so far be linear in those of the first carry and of the constants: the carry "
    "C·dc + P·dp, the rows Y·dc + Q·dp, with the adjoint as their sweep. A step with carry F·c + G·dp + H·dx and row "
    "K·c + L·dp + M·dx follows. Then sweeping the step first, handing the carry's cotangent on and adding up those of "
    "the constants, is the adjoint of the longer loop.",
    {
        "C": "c c",
        "P": "c p",
        "Y": "y c",
        "Q": "y p",
        "F": "c c",
        "G": "c p",
        "H": "c x",
        "K": "r c",
        "L": "r p",
        "M": "r x",
    },
    {"dc": "c", "dp": "p", "dx": "x"},
    lambda m, dc, dp, dx: [
        m["F"] @ (m["C"] @ dc + m["P"] @ dp) + m["G"] @ dp + m["H"] @ dx,
        m["Y"] @ dc + m["Q"] @ dp,
        m["K"] @ (m["C"] @ dc + m["P"] @ dp) + m["L"] @ dp + m["M"] @ dx,
    ],
    lambda m, s, u, r: [
        m["C"].T @ (m["F"].T @ s + m["K"].T @ r) + m["Y"].T @ u,
        (m["G"].T @ s + m["L"].T @ r) + (m["P"].T @ (m["F"].T @ s + m["K"].T @ r) + m["Q"].T @ u),
        m["H"].T @ s + m["M"].T @ r,
    ],
)


def theorems(kinds: Collection[str]) -> list[Theorem]:
    """Return the theorems for these kinds of nodes, each proved once a process."""
    return [prove_by_name(statement.name) for statement in needed_statements(kinds)]


def needed_statements(kinds: Collection[str]) -> list[Statement]:
    """Return the statements that an induction over nodes of these kinds needs."""
    return [APPEND, *([SCAN] if "scan" in kinds else [])]


@lru_cache
def prove_by_name(name: str) -> Theorem:
    """Return the statement of this name with the kernel's verdict on it."""
    return prove_statement(next(s for s in (APPEND, SCAN) if s.name == name))


def prove_statement(statement: Statement) -> Theorem:
    """Return the kernel's verdict on a statement: that its tangents are a derivative, and its sweep their adjoint."""
    names, shapes, programs, digest = traced(statement)
    with wide_floats():
        problem = build(Posed(names, {}, (), shapes, programs, statement.name))
        outcomes = [prove(problem, kind) for kind in ("jvp_is_derivative", "vjp_is_adjoint")]
    holds = all(o.proved and not o.hypotheses for o in outcomes)
    return Theorem(
        name=statement.name, statement=statement.text, verdict="proved" if holds else "unproved", digest=digest
    )


def traced(statement: Statement) -> tuple[list[str], ActiveShapes, Programs, str]:
    """Return the names and shapes of a statement's matrices and vectors, its programs, and its digest."""
    names = [*statement.matrices, *statement.vectors]
    sizes = [text.split() for text in (*statement.matrices.values(), *statement.vectors.values())]
    table = symbols(list(dict.fromkeys(n for s in sizes for n in s)))
    count = len(statement.matrices)
    shapes = ActiveShapes(
        tuple(tuple(table[n] for n in s) for s in sizes),
        ("float",) * len(names),
        active=tuple(range(count, len(names))),
    )

    def matrices(args: Sequence[Any]) -> dict[str, Any]:
        return dict(zip(names[:count], args[:count], strict=True))

    rules = Rules(
        forward=lambda args, params: statement.tangents(matrices(args), *args[count:]),
        jvp=lambda args, tangents, params: statement.tangents(matrices(args), *tangents),
        vjp=lambda args, seeds, params: statement.sweep(matrices(args), *seeds),
        primal=None,
    )
    with wide_floats():
        programs = trace_rules(rules, shapes, 0, statement.name)
        texts = [f"{k}\n{serialised(p)}" for k, p in sorted(programs.all().items())]
    parts = [statement.name, statement.text, *texts, repr(sorted(versions().items())), KERNEL]
    return names, shapes, programs, hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()
