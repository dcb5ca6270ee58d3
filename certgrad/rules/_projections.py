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
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import msgspec
import numpy as np
from flint import fmpq

from certgrad.language import tree as t
from certgrad.language.arithmetic import UnfitError
from certgrad.language.canonical import canonical
from certgrad.obligations.balls import BallError
from certgrad.obligations.balls.statements import evaluate, inside
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
from certgrad.obligations.tracing.jax_internals import wide_floats

from ._listed import listing
from ._properties import PROPERTIES

if TYPE_CHECKING:
    from ._user_rule import UserRule


def likely_properties(rule: UserRule) -> list[str]:
    """What an author may mean by the shapes of the arguments, and says nowhere."""
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
    """The lines of Python that give those of these arrays their properties."""
    found = ((n, words) for n, words in rule.properties.items() if n in names)
    return [f"{n} = {PROPERTIES[words].code.format(n)}" for n, words in found]


def granted(rule: UserRule) -> dict[str, Hypothesis]:
    """That the arguments have the properties that they are said to have, by what the author says."""
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


EMPTY = "no array was found that has the property and is inside the other hypotheses"
OUTSIDE = "the two sides differ at points that leave the domain when they are given the property"


def with_properties(certificate: Certificate, rule: UserRule) -> Certificate:
    """The certificate of the rule on arrays that a projection makes, as one whose claims list what they are.

    What the projection makes of an array in the domain need not be in it. A claim under hypotheses that no array with
    the property meets says nothing, and a point outside of the domain refutes nothing: both are unproved.
    """
    added = granted(rule)

    def looked_at(_: Claim, case: CaseClaim) -> CaseClaim:
        if case.verdict in PROOFS and (case.hypotheses or rule.domain) and not _inhabited(rule, case.hypotheses):
            return msgspec.structs.replace(case, verdict="unproved", reason=EMPTY)
        return case

    checked = with_each_case(inside_domain(certificate, rule), looked_at)
    found = listing(checked, rule, lambda _, own: [*own, *added.values()])
    return with_claims(found, found.claims, domain=[*added, *certificate.domain])


def inside_domain(certificate: Certificate, rule: UserRule) -> Certificate:
    """The certificate without refutations at points that leave the domain when they are given the property."""

    def looked_at(_: Claim, case: CaseClaim) -> CaseClaim:
        if case.verdict != "refuted" or case.witness is None or not rule.domain:
            return case
        point = {n: _numbers(case.witness.inputs[n]) for n in (*rule.arg_names, *rule.params)}
        if _in_domain(rule, _with(rule, point)):
            return case
        return msgspec.structs.replace(case, verdict="unproved", reason=OUTSIDE, witness=None)

    return with_each_case(certificate, looked_at)


Point = Mapping[str, np.ndarray]
"""Arguments and open numbers as floats."""
DRAWS = 40


def _numbers(value: Any) -> np.ndarray:
    return np.vectorize(lambda x: float(Fraction(str(x))), otypes=[float])(np.array(value, dtype=object))


def _with(rule: UserRule, point: Point) -> Point:
    """The point, where arguments have the properties that they are said to have."""
    with wide_floats(True):
        made = {n: np.asarray(PROPERTIES[words].project(jnp.asarray(point[n]))) for n, words in rule.properties.items()}
    return {**point, **made}


def _exact(point: Point) -> dict[str, Any]:
    of_float = np.vectorize(lambda x: fmpq(*float(x).as_integer_ratio()), otypes=[object])
    return {n: of_float(x) if np.asarray(x).dtype.kind == "f" else x for n, x in point.items()}


def _in_domain(rule: UserRule, point: Point) -> bool:
    return bool(np.all([np.isfinite(x).all() for x in point.values()])) and inside(rule.domain, _exact(point))


def _inhabited(rule: UserRule, hypotheses: Sequence[Hypothesis]) -> bool:
    """An array with the property is inside the domain and the hypotheses at some small sizes, or nobody can tell."""
    general, names = family(rule, rule.cases[0]).prove[0], (*rule.arg_names, *rule.params)
    rng, told = random.Random(rule.name), True
    for k in (2, 3):
        instance = general.at(dict.fromkeys(general.names, k))
        for _ in range(DRAWS):
            if (values := arguments(rule, instance, instance.shapes(), rng)) is None:
                break
            point = _with(rule, dict(zip(names, values, strict=True)))
            if not _in_domain(rule, point):
                continue
            try:
                sizes = dict.fromkeys(general.names, k)
                if all(evaluate(h.tree, _exact(point), sizes) is not False for h in hypotheses):
                    return True
            except (BallError, UnfitError):
                told = False
    return not told
