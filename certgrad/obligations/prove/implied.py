"""Whether declared conditions imply another one, at every entry of arrays of one shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from certgrad.language.tree import Statement
from certgrad.obligations.assume.assumptions import facts_of
from certgrad.obligations.assume.conditions import discharged
from certgrad.obligations.assume.entailment import entailed
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.meaning.domain import read_domain, read_statement
from certgrad.obligations.terms.atoms import Dim
from certgrad.obligations.terms.polynomials import poly_of
from certgrad.obligations.terms.session import intern


def implied(statement: Statement, domain: Sequence[str], scalars: Sequence[str], arrays: Sequence[str]) -> bool:
    """Return whether the conditions of `domain` are shown to imply the statement, at every entry of the arrays.

    `scalars` and `arrays` are the names that both are about. Raises DomainError for a domain that cannot be read.
    """
    shapes: dict[str, tuple[Any, ...]] = dict.fromkeys(scalars, ())
    shapes |= dict.fromkeys(arrays, (poly_of(intern(Dim("n"))),))
    clause = read_statement(statement, shapes)
    if clause is None:
        return False
    signs, others = facts_of(read_domain(tuple(domain), shapes, "the conditions"), shapes)
    facts = Facts(signs)
    return discharged(clause, facts) or entailed(clause, facts, others)
