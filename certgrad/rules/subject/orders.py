"""Sizes that tracing compares by order, as `m > n`: each outcome is a case of the rule.

JAX refuses the question of symbols, and code that runs with either answer is one program where m is greater and another
where it is not, as JAX's own derivative of a triangular solve. With n + k in the place of m, n in the place of m, and
m + k in the place of n, where k ≥ 1 is another size, each question has one answer. The three together are all sizes;
beside a number c, these are n + k = c + k, and 1, …, c. A rule is proved that is proved in each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from itertools import count

import msgspec

from certgrad.language import tree as t
from certgrad.language.canonical import canonical
from certgrad.obligations.certificate import CaseClaim, Certificate, Claim, each_once, with_cases, with_claims
from certgrad.obligations.generality.traces import Traces
from certgrad.signatures.cases import Case
from certgrad.signatures.signature import Signature, parse
from certgrad.signatures.sizes import Size, integer_size, named_size, parse_size

from .traced import untraced
from .user_rule import UserRule

INCONCLUSIVE_ORDER = re.compile(
    r"Symbolic dimension comparison '(?P<left>.+?)' (?P<than>[<>])=? '(?P<right>.+?)' is inconclusive"
)
"""What JAX says of an order that symbols leave open."""
LARGEST = 4
"""The largest number that sizes are compared with for which each smaller one is a case."""
Order = tuple[str, str | int]
"""A size by its name, and the size or the number that it is compared with."""


def in_each_order(rule: UserRule, seen: Traces) -> UserRule | None:
    """Return the rule with each outcome of the comparison at which its trace fails as a case; None where it fails for
    something else, or takes sizes that are not its own.
    """
    order = _order_asked(untraced(seen), rule.signature.names)
    if order is None or rule.sees_zeros or rule.ideal is not None or rule.integers or rule.outputs_declared:
        return None
    found = copy(rule)
    sizes = [*_outcomes(order, rule.signature.names)]
    found.cases = tuple(Case(c.signature.renamed(one), c.statics) for c in rule.cases for one in sizes)
    return found


def said_in_general(certificate: Certificate, rule: UserRule) -> Certificate:
    """Return the certificate with hypotheses of a size 1 as those of other sizes where they are the same: of a matrix
    of one entry, that this is not 0 and that the diagonal is not.
    """

    def in_general(claim: Claim, case: CaseClaim) -> CaseClaim:
        inputs = next(c.signature.inputs for c in rule.cases if str(c.signature) == case.signature)
        ranks = {
            name: len(spec.dims)
            for name, spec in zip(rule.arg_names, inputs, strict=True)
            if all(isinstance(d, Size) and d.value == 1 for d in spec.dims)
        }
        general = {_first_entries(h.tree, ranks): h for h in claim.cases[0].hypotheses}
        said = [general.get(_first_entries(h.tree, ranks), h) for h in case.hypotheses]
        return msgspec.structs.replace(case, hypotheses=each_once(said))

    changed = [with_cases(c, [in_general(c, case) for case in c.cases]) for c in certificate.claims]
    whole = [
        with_cases(c, c.cases, hypotheses=each_once(h for case in c.cases for h in case.hypotheses)) for c in changed
    ]
    return with_claims(certificate, whole)


def sizes_of_witnesses(signature: Signature, certificate: Certificate) -> list[Mapping[str, int]]:
    """Return the sizes of a signature at which some of the cases are shown to be wrong."""
    found: list[Mapping[str, int]] = []
    for case in (case for claim in certificate.claims for case in claim.cases):
        dims = case.witness.dims if case.witness is not None else {}
        pairs = zip(signature.inputs, parse(case.signature).inputs, strict=True)
        lengths = [(d, own) for spec, there in pairs for d, own in zip(spec.dims, there.dims, strict=True)]
        found.append(
            {
                d.name: own.evaluate(dims)
                for d, own in lengths
                if isinstance(d, Size) and isinstance(own, Size) and d.name is not None and {*own.names} <= {*dims}
            }
        )
    return [sizes for sizes in found if sizes and sizes.keys() == {*signature.names}]


def _first_entries(statement: t.Statement, ranks: Mapping[str, int]) -> t.Statement:
    """Return what a statement says of arrays of one entry, whose number of axes is given; itself of other arrays."""
    sizes = [r.size for node in t.walk(statement) if isinstance(node, t.ForAll) for r in node.over]
    named = {n.name for n in t.walk(statement) if isinstance(n, (t.Array, t.Entry))}
    other = any(isinstance(n, t.BINDERS) and not isinstance(n, t.ForAll) for n in t.walk(statement))
    if other or not named <= {*ranks} or not all(isinstance(n, t.Axis) and n.array in ranks for n in sizes):
        return statement

    def first(node: t.Node) -> t.Node:
        if isinstance(node, t.ForAll):
            return first(node.holds)
        if isinstance(node, t.Array):
            return t.Entry(node.name, (t.ZERO,) * ranks[node.name])
        return t.ZERO if isinstance(node, t.Index) else t.mapped(node, first)

    return canonical(first(statement))


def _order_asked(failure: str, names: Sequence[str]) -> Order | None:
    """Return the order that a failing trace asks for; None where it is not of two sizes with these names, or one and a
    small number.
    """
    if (match := INCONCLUSIVE_ORDER.search(failure)) is None:
        return None
    sides = [parse_size(match[k]) for k in ("left", "right")]
    known = [side.name if side.name in names else side.value for side in sides]
    one, other = known if isinstance(known[0], str) else known[::-1]
    if not isinstance(one, str) or other is None or one == other:
        return None
    return None if isinstance(other, int) and not 1 <= other <= LARGEST else (one, other)


def _outcomes(order: Order, names: Sequence[str]) -> Iterator[Mapping[str, Size]]:
    """Yield what sizes are in each outcome of a comparison; together these are all sizes."""
    one, other = order
    more = next(n for k in count() if (n := f"more{k or ''}") not in names)
    yield {one: parse_size(f"{other}+{more}")}
    if isinstance(other, int):
        yield from ({one: integer_size(k)} for k in range(other, 0, -1))
    else:
        yield {one: named_size(other)}
        yield {other: parse_size(f"{one}+{more}")}
