"""Arguments with a property that no comparison says: symmetric matrices, unit vectors, probabilities, permutations.

A rule for symmetric matrices takes symmetric tangents, and nothing is claimed for other tangents. Let P be a projection
onto the arrays with the property: differentiable, with P∘P = P. The audit is of f∘P at arbitrary arrays. At an array a
with the property, P(a) = a; and dP maps each tangent to one along which the property stays, and leaves such tangents as
they are (by the chain rule of P∘P = P). So a proof for f∘P says, at each such a, that the rule of f is right for all
tangents along which the property stays; a cotangent is compared on these tangents alone. The certificate lists the
property as a hypothesis.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from flint import fmpq

from certgrad.language import tree as t
from certgrad.language.arithmetic import UnfitError
from certgrad.language.canonical import canonical
from certgrad.obligations.balls import BallError
from certgrad.obligations.balls.statements import evaluate
from certgrad.obligations.certificate import (
    PROOFS,
    CaseClaim,
    Certificate,
    Claim,
    Hypothesis,
    hypothesis,
    with_claims,
    with_each_case,
)
from certgrad.obligations.generality.instances import family
from certgrad.obligations.points import arguments

from .listed import listing
from .properties import PROPERTIES, Property

if TYPE_CHECKING:
    from .user_rule import UserRule


def likely_properties(rule: UserRule) -> list[str]:
    """Return properties that the shapes of arguments suggest and no declaration states, as `a is symmetric`.

    They are symmetric for square matrices, and of unit norm for a last axis of length 4 (a quaternion).
    """
    suggestions = []
    for name, spec in zip(rule.arg_names, rule.signature.inputs, strict=True):
        last = [str(d) for d in spec.dims[-2:]]
        if spec.dtype != "float" or name in rule.properties:
            continue
        if len(last) == 2 and last[0] == last[1] and not last[0].isdigit():
            suggestions.append(f"{name} is symmetric")
        elif last[-1:] == ["4"]:
            suggestions.append(f"{name} is unit norm")
    return suggestions


def in_code(rule: UserRule, names: Sequence[str]) -> list[str]:
    """Return lines of Python that project the arrays of these names, for each that has a declared property."""
    declared = ((n, words) for n, words in rule.properties.items() if n in names)
    return [f"{n} = {PROPERTIES[words].code.format(n)}" for n, words in declared]


def structures(rule: UserRule) -> dict[str, Property]:
    """Return the declared properties, by argument."""
    return {name: PROPERTIES[words] for name, words in rule.properties.items()}


def granted(rule: UserRule) -> dict[str, Hypothesis]:
    """Return the hypotheses that arguments have their declared properties, by declaration (`a is symmetric`)."""
    return {f"{name} is {words}": _hypothesis(rule, name, words) for name, words in rule.properties.items()}


def _hypothesis(rule: UserRule, name: str, words: str) -> Hypothesis:
    """Return the hypothesis that an argument has a property along its last axes, for all indices of its other axes."""
    prop, position = PROPERTIES[words], rule.arg_names.index(name)
    rank = len(rule.signature.inputs[position].dims)
    first = rank - prop.axes
    over = [t.Range(f"i{k}", t.Axis(name, k)) for k in range(rank)]
    outer, inner = over[:first], over[first:]

    def entry(*last: t.Term) -> t.Term:
        return t.Entry(name, (*(t.Index(r.variable) for r in outer), *last))

    tree = prop.says(entry, inner)
    if outer:
        ranges, holds = (tree.over, tree.holds) if isinstance(tree, t.ForAll) else ((), tree)
        tree = t.ForAll((*outer, *ranges), holds)
    return hypothesis(canonical(tree), "domain", False, prop.prose.format(name), rule.arg_names)


DRAWS = 40
"""Draws of arrays, at most, until one with the property is inside the domain; without one the claim is unproved."""
EMPTY = "no array was found that has the property and is inside the other hypotheses"


def with_properties(certificate: Certificate, rule: UserRule) -> Certificate:
    """Return the certificate of f∘P as one of f, whose claims list the properties as hypotheses.

    A projection may take an array out of the domain. A claim under hypotheses that no array with the property
    satisfies says nothing, and is unproved.
    """
    added = granted(rule)

    def unless_empty(_: Claim, case: CaseClaim) -> CaseClaim:
        if case.verdict in PROOFS and (case.hypotheses or rule.domain) and not _inhabited(rule, case.hypotheses):
            return msgspec.structs.replace(case, verdict="unproved", reason=EMPTY)
        return case

    checked = with_each_case(certificate, unless_empty)
    with_added = listing(checked, rule, lambda _, hypotheses: [*hypotheses, *added.values()])
    return with_claims(with_added, with_added.claims, domain=[*added, *certificate.domain])


def _exact(point: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return the arrays of a point with floats as exact fractions."""
    of_float = np.vectorize(lambda x: fmpq(*float(x).as_integer_ratio()), otypes=[object])
    return {n: of_float(x) if np.asarray(x).dtype.kind == "f" else x for n, x in point.items()}


def _inhabited(rule: UserRule, hypotheses: Sequence[Hypothesis]) -> bool:
    """Return whether arrays with the properties satisfy the domain and the hypotheses at some small sizes.

    True is returned as well if a hypothesis cannot be evaluated at a point.
    """
    general, names = family(rule, rule.cases[0]).prove[0], (*rule.arg_names, *rule.params)
    rng, all_decided = random.Random(rule.name), True
    for k in (2, 3):
        sizes = dict.fromkeys(general.names, k)
        instance = general.at(sizes)
        for _ in range(DRAWS):
            if (values := arguments(rule, instance, instance.shapes(), rng)) is None:
                break
            point = _exact(dict(zip(names, values, strict=True)))
            try:
                if all(evaluate(h.tree, point, sizes) is not False for h in hypotheses):
                    return True
            except (BallError, UnfitError):
                all_decided = False
    return not all_decided
