"""Arguments with a property that no comparison says: symmetric matrices, unit vectors, probabilities, permutations.

A rule for symmetric matrices takes symmetric tangents, and is about no others. Let P be a projection onto the arrays
with the property: differentiable, with P∘P = P. An audit looks at f∘P at arbitrary arrays. At an array a with the
property P(a) is a; and dP takes every tangent to one along which the property stays, and leaves those as they are (by
the chain rule of P∘P = P). So what is proved of f∘P is, at each such a, that the rule of f is right for all of these
tangents; a cotangent counts as far as they see it. The certificate lists the property.
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
    """Return the properties that an author may mean by the shapes of the arguments, and states nowhere."""
    found = []
    for name, spec in zip(rule.arg_names, rule.signature.inputs, strict=True):
        last = [str(d) for d in spec.dims[-2:]]
        if spec.dtype != "float" or name in rule.properties:
            continue
        if len(last) == 2 and last[0] == last[1] and not last[0].isdigit():
            found.append(f"{name} is symmetric")
        elif last[-1:] == ["4"]:
            found.append(f"{name} is unit norm")
    return found


def in_code(rule: UserRule, names: Sequence[str]) -> list[str]:
    """Return the lines of Python that give these arrays their properties."""
    found = ((n, words) for n, words in rule.properties.items() if n in names)
    return [f"{n} = {PROPERTIES[words].code.format(n)}" for n, words in found]


def structures(rule: UserRule) -> dict[str, Property]:
    """Return, by argument, its declared property."""
    return {name: PROPERTIES[words] for name, words in rule.properties.items()}


def granted(rule: UserRule) -> dict[str, Hypothesis]:
    """Return the hypotheses that arguments have the properties which the author states, by statement."""
    return {f"{name} is {words}": _hypothesis(rule, name, words) for name, words in rule.properties.items()}


def _hypothesis(rule: UserRule, name: str, words: str) -> Hypothesis:
    known, position = PROPERTIES[words], rule.arg_names.index(name)
    rank = len(rule.signature.inputs[position].dims)
    first = rank - known.axes
    over = [t.Range(f"i{k}", t.Axis(name, k)) for k in range(rank)]
    outer, inner = over[:first], over[first:]

    def entry(*last: t.Term) -> t.Term:
        return t.Entry(name, (*(t.Index(r.variable) for r in outer), *last))

    said = known.says(entry, inner)
    if outer:
        own, holds = (said.over, said.holds) if isinstance(said, t.ForAll) else ((), said)
        said = t.ForAll((*outer, *own), holds)
    return hypothesis(canonical(said), "domain", False, known.prose.format(name), rule.arg_names)


DRAWS = 40
"""Draws of an array, at most, whose projection is inside the domain; then the claim is unproved."""
EMPTY = "no array was found that has the property and is inside the other hypotheses"


def with_properties(certificate: Certificate, rule: UserRule) -> Certificate:
    """Return the certificate of the rule on arrays that a projection makes, as one whose claims list what they are.

    What the projection makes of an array in the domain need not be in it: a claim under hypotheses that no array with
    the property meets says nothing, and is unproved.
    """
    added = granted(rule)

    def looked_at(_: Claim, case: CaseClaim) -> CaseClaim:
        if case.verdict in PROOFS and (case.hypotheses or rule.domain) and not _inhabited(rule, case.hypotheses):
            return msgspec.structs.replace(case, verdict="unproved", reason=EMPTY)
        return case

    checked = with_each_case(certificate, looked_at)
    found = listing(checked, rule, lambda _, own: [*own, *added.values()])
    return with_claims(found, found.claims, domain=[*added, *certificate.domain])


def _exact(point: Mapping[str, np.ndarray]) -> dict[str, Any]:
    of_float = np.vectorize(lambda x: fmpq(*float(x).as_integer_ratio()), otypes=[object])
    return {n: of_float(x) if np.asarray(x).dtype.kind == "f" else x for n, x in point.items()}


def _inhabited(rule: UserRule, hypotheses: Sequence[Hypothesis]) -> bool:
    """Return whether an array with the property is inside the domain and the hypotheses at some small sizes, or nobody
    can tell.
    """
    general, names = family(rule, rule.cases[0]).prove[0], (*rule.arg_names, *rule.params)
    rng, told = random.Random(rule.name), True
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
                told = False
    return not told
