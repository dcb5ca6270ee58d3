"""Sizes that tracing compares by order, as `m > n`: each outcome is a case of the rule.

JAX raises where symbolic sizes are compared, and code that compares them is one program where m is greater and another
where it is not, as JAX's own derivative of a triangular solve is. Substituting m = n + k, m = n, and n = m + k, where
k ≥ 1 is a further size, leaves one answer to each comparison, and the three substitutions together are all sizes. For a
number c in the place of n they are m = c + k, and m = 1, …, c. A rule that is proved in each of these cases is proved.
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
"""JAX's message where the order of two symbolic sizes is open."""
LARGEST = 4
"""The largest number c for which 1, …, c are cases of their own, where a size is compared with c."""
Order = tuple[str, str | int]
"""A size by its name, and the size or the number that it is compared with."""


def in_each_order(rule: UserRule, seen: Traces) -> UserRule | None:
    """Return the rule with a case for each outcome of the size comparison at which its traces, `seen`, fail.

    None is returned if they fail for another reason, or if the rule has declared outputs, an ideal function, integer
    outputs or symbolic zeros, for which cases are not split by sizes.
    """
    order = _order_asked(untraced(seen), rule.signature.names)
    if order is None or rule.sees_zeros or rule.ideal is not None or rule.integers or rule.outputs_declared:
        return None
    split_rule = copy(rule)
    outcomes = [*_outcomes(order, rule.signature.names)]
    split_rule.cases = tuple(Case(c.signature.renamed(sizes), c.statics) for c in rule.cases for sizes in outcomes)
    return split_rule


def said_in_general(certificate: Certificate, rule: UserRule) -> Certificate:
    """Return the certificate in which cases of size 1 word their hypotheses as the first, general case does.

    This is done where both say the same: for a matrix of one entry, `a[0,0] ≠ 0` and `the diagonal of a has no 0`.
    """

    def in_general(claim: Claim, case: CaseClaim) -> CaseClaim:
        inputs = next(c.signature.inputs for c in rule.cases if str(c.signature) == case.signature)
        ranks = {
            name: len(spec.dims)
            for name, spec in zip(rule.arg_names, inputs, strict=True)
            if all(isinstance(d, Size) and d.value == 1 for d in spec.dims)
        }
        general = {_first_entries(h.tree, ranks): h for h in claim.cases[0].hypotheses}
        reworded = [general.get(_first_entries(h.tree, ranks), h) for h in case.hypotheses]
        return msgspec.structs.replace(case, hypotheses=each_once(reworded))

    changed = [with_cases(c, [in_general(c, case) for case in c.cases]) for c in certificate.claims]
    claims = [
        with_cases(c, c.cases, hypotheses=each_once(h for case in c.cases for h in case.hypotheses)) for c in changed
    ]
    return with_claims(certificate, claims)


def sizes_of_witnesses(signature: Signature, certificate: Certificate) -> list[Mapping[str, int]]:
    """Return the sizes of `signature` at the witnesses of the certificate's cases, one mapping for each witness.

    The signature of a case has other sizes, such as `n+more` in the place of m; these are evaluated at the witness.
    """
    at_witnesses: list[Mapping[str, int]] = []
    for case in (case for claim in certificate.claims for case in claim.cases):
        dims = case.witness.dims if case.witness is not None else {}
        pairs = zip(signature.inputs, parse(case.signature).inputs, strict=True)
        dim_pairs = [(d, size) for spec, of_case in pairs for d, size in zip(spec.dims, of_case.dims, strict=True)]
        at_witnesses.append(
            {
                d.name: size.evaluate(dims)
                for d, size in dim_pairs
                if isinstance(d, Size) and isinstance(size, Size) and d.name is not None and {*size.names} <= {*dims}
            }
        )
    return [sizes for sizes in at_witnesses if sizes and sizes.keys() == {*signature.names}]


def _first_entries(statement: t.Statement, ranks: Mapping[str, int]) -> t.Statement:
    """Return what a statement says of arrays of one entry: the statement about the entry at index 0 of each.

    `ranks` has the number of axes of each such array. A statement that names other arrays is returned as it is.
    """
    sizes = [r.size for node in t.walk(statement) if isinstance(node, t.ForAll) for r in node.over]
    named = {n.name for n in t.walk(statement) if isinstance(n, (t.Array, t.Entry))}
    has_sums = any(isinstance(n, t.BINDERS) and not isinstance(n, t.ForAll) for n in t.walk(statement))
    if has_sums or not named <= {*ranks} or not all(isinstance(n, t.Axis) and n.array in ranks for n in sizes):
        return statement

    def first(node: t.Node) -> t.Node:
        if isinstance(node, t.ForAll):
            return first(node.holds)
        if isinstance(node, t.Array):
            return t.Entry(node.name, (t.ZERO,) * ranks[node.name])
        return t.ZERO if isinstance(node, t.Index) else t.mapped(node, first)

    return canonical(first(statement))


def _order_asked(failure: str, names: Sequence[str]) -> Order | None:
    """Return the comparison at which a trace failed, as a size's name and a size's name or number.

    None is returned if the message `failure` is another one, or if the sides are not two of these names, or one and a
    number from 1 to `LARGEST`.
    """
    if (match := INCONCLUSIVE_ORDER.search(failure)) is None:
        return None
    sides = [parse_size(match[k]) for k in ("left", "right")]
    operands = [side.name if side.name in names else side.value for side in sides]
    name, compared = operands if isinstance(operands[0], str) else operands[::-1]
    if not isinstance(name, str) or compared is None or name == compared:
        return None
    return None if isinstance(compared, int) and not 1 <= compared <= LARGEST else (name, compared)


def _outcomes(order: Order, names: Sequence[str]) -> Iterator[Mapping[str, Size]]:
    """Yield for each outcome of a comparison what to substitute for a size; the outcomes together are all sizes."""
    name, compared = order
    extra = next(n for k in count() if (n := f"more{k or ''}") not in names)
    yield {name: parse_size(f"{compared}+{extra}")}
    if isinstance(compared, int):
        yield from ({name: integer_size(k)} for k in range(compared, 0, -1))
    else:
        yield {name: named_size(compared)}
        yield {compared: parse_size(f"{name}+{extra}")}
