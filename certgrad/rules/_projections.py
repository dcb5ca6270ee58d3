"""Arguments with a property that no comparison says: symmetric matrices, unit vectors, probabilities, permutations.

A rule for symmetric matrices takes symmetric tangents, and is about no others. Let P be a projection onto the arrays
with the property: differentiable, with P∘P = P. An audit looks at f∘P at arbitrary arrays. At an array a with the
property P(a) is a; and dP takes every tangent to one along which the property stays, and leaves those as they are (by
the chain rule of P∘P = P). So what is proved of f∘P is, at each such a, that the rule of f is right for all of these
tangents; a cotangent counts as far as they see it. The certificate lists the property.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import msgspec
import numpy as np
from flint import fmpq

from certgrad.errors import DomainError
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
from certgrad.signatures.signature import ArraySpec
from certgrad.signatures.sizes import Star

from ._listed import listing

if TYPE_CHECKING:
    from ._user_rule import UserRule

_SAID = re.compile(r"\s*([A-Za-z_]\w*)\s+is\s+([A-Za-z][A-Za-z _-]*?)\s*")
Says = Callable[[Callable[..., t.Term], Sequence[t.Range]], t.Statement]
"""What holds of the arrays with a property, of an entry at indices and the ranges of the axes that it is about."""


@dataclass(frozen=True)
class Property:
    """What is said of an array: of its last axes, whatever the others are."""

    axes: int
    """So many of its last axes it is about; two of them are equally long."""
    project: Callable[[Any], Any]
    code: str
    """The projection in Python, of an array `{0}`."""
    says: Says
    prose: str
    bounds: tuple[str, ...] = ()
    """What is assumed beside, of an array `{0}`."""
    dtypes: tuple[str, ...] = ("float", "held")


def _transposed(sign: int) -> Says:
    def says(entry: Callable[..., t.Term], over: Sequence[t.Range]) -> t.Statement:
        i, j = (t.Index(r.variable) for r in over)
        both = tuple(t.Range(r.variable, over[0].size) for r in over)  # they are equally long
        return t.ForAll(both, t.Compare("=", t.added([entry(i, j), t.scaled(Fraction(-sign), [entry(j, i)])]), t.ZERO))

    return says


def _beyond(sign: int) -> Says:
    """Entries on one side of the diagonal are 0."""

    def says(entry: Callable[..., t.Term], over: Sequence[t.Range]) -> t.Statement:
        i, j = (t.Index(r.variable) for r in over)
        beyond = t.added([t.scaled(Fraction(sign), [j]), t.scaled(Fraction(-sign), [i])])
        return t.ForAll(
            tuple(over),
            t.Compare("=", t.Mul((entry(i, j), t.Truth(t.Compare(">", beyond, t.ZERO)))), t.ZERO),
        )

    return says


def _total(power: int) -> Says:
    def says(entry: Callable[..., t.Term], over: Sequence[t.Range]) -> t.Statement:
        (i,) = (t.Index(r.variable) for r in over)
        body = entry(i) if power == 1 else t.Power(entry(i), str(power))
        return t.Compare("=", t.added([t.Fold("sum", tuple(over), body), t.Number("-1")]), t.ZERO)

    return says


def _in_order(entry: Callable[..., t.Term], over: Sequence[t.Range]) -> t.Statement:
    """No entry is less than one before it."""
    later = t.Range(f"{over[0].variable}_", over[0].size)
    i, j = (t.Index(r.variable) for r in (*over, later))
    before = t.Truth(t.Compare(">", t.added([j, t.scaled(Fraction(-1), [i])]), t.ZERO))
    more = t.added([entry(j), t.scaled(Fraction(-1), [entry(i)])])
    return t.ForAll((*over, later), t.Compare(">=", t.Mul((more, before)), t.ZERO))


def _each_place_once(entry: Callable[..., t.Term], over: Sequence[t.Range]) -> t.Statement:
    axis, at = over[0], t.Index(over[0].variable)
    below = t.added([axis.size, t.scaled(Fraction(-1), [entry(at)])])
    within = [t.Compare(">=", entry(at), t.ZERO), t.Compare(">", below, t.ZERO)]
    return t.Both((*(t.ForAll((axis,), w) for w in within), t.Distinct((axis,), entry(at))))


PROPERTIES: Mapping[str, Property] = {
    "symmetric": Property(
        2,
        lambda x: (x + jnp.swapaxes(x, -1, -2)) / 2,
        "({0} + jnp.swapaxes({0}, -1, -2)) / 2",
        _transposed(1),
        "each entry of {0}, and of its tangents, is the one across the diagonal",
    ),
    "antisymmetric": Property(
        2,
        lambda x: (x - jnp.swapaxes(x, -1, -2)) / 2,
        "({0} - jnp.swapaxes({0}, -1, -2)) / 2",
        _transposed(-1),
        "each entry of {0}, and of its tangents, is minus the one across the diagonal",
    ),
    "lower triangular": Property(
        2,
        jnp.tril,
        "jnp.tril({0})",
        _beyond(1),
        "each entry of {0}, and of its tangents, right of the diagonal is 0",
    ),
    "upper triangular": Property(
        2,
        jnp.triu,
        "jnp.triu({0})",
        _beyond(-1),
        "each entry of {0}, and of its tangents, left of the diagonal is 0",
    ),
    "unit norm": Property(
        1,
        lambda x: x / jnp.sqrt(jnp.sum(x**2, -1, keepdims=True)),
        "{0} / jnp.sqrt(jnp.sum({0}**2, -1, keepdims=True))",
        _total(2),
        "{0} is of unit norm along its last axis, and no entry moves so that it is not",
    ),
    "probabilities": Property(
        1,
        lambda x: x / jnp.sum(x, -1, keepdims=True),
        "{0} / jnp.sum({0}, -1, keepdims=True)",
        _total(1),
        "{0} sums to 1 along its last axis, and no entry moves so that it does not",
        ("{0} >= 0",),
    ),
    "sorted": Property(
        1,
        lambda x: jnp.sort(x, -1),
        "jnp.sort({0}, -1)",
        _in_order,
        "no entry of {0} is less than one before it along its last axis",
    ),
    "permutation": Property(
        1,
        lambda x: jnp.argsort(jnp.argsort(x, -1), -1),
        "jnp.argsort(jnp.argsort({0}, -1), -1)",
        _each_place_once,
        "along its last axis {0} has each place once",
        dtypes=("int",),
    ),
}


def properties_in(domain: Sequence[str], where: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """The conditions of a domain that are comparisons, and by array the property that it is said to have.

    Raises DomainError for a property that is not known, for two of one array, and for one that `or` may be about.
    """
    compared: list[str] = []
    found: dict[str, str] = {}
    for text in domain:
        rest = []
        for part in text.split(" and "):
            said = _SAID.fullmatch(part)
            if said is None:
                rest.append(part)
                continue
            name, words = said[1], said[2].replace("_", " ").replace("-", " ")
            if words not in PROPERTIES:
                raise DomainError(f"{where}: '{part.strip()}': the properties are {', '.join(PROPERTIES)}.")
            if found.setdefault(name, words) != words:
                raise DomainError(f"{where}: '{name}' is said to be {found[name]} and {words}: say one.")
            if " or " in _outside_brackets(text):
                raise DomainError(f"{where}: '{text}': put what 'or' joins in brackets, or say '{part.strip()}' apart.")
            compared += [bound.format(name) for bound in PROPERTIES[words].bounds]
        compared += [" and ".join(rest)] if rest else []
    return tuple(compared), found


def _outside_brackets(text: str) -> str:
    while (found := re.sub(r"\([^()]*\)", "", text)) != text:
        text = found
    return text


def check_properties(properties: Mapping[str, str], specs: Mapping[str, ArraySpec], where: str) -> None:
    """Raises DomainError where an array that is said to have a property cannot have it."""
    for name, words in properties.items():
        if name not in specs:
            raise DomainError(f"{where}: '{name} is {words}' names no array of it: they are {', '.join(specs)}.")
        spec, axes = specs[name], PROPERTIES[words].axes
        last = spec.dims[-axes:]
        if spec.dtype not in PROPERTIES[words].dtypes:
            raise DomainError(f"{where}: '{name} is {words}', and {name} is an array of dtype {spec.dtype}.")
        if len(last) < axes or any(isinstance(d, Star) for d in last):
            raise DomainError(f"{where}: '{name} is {words}' is about its last axes: name {axes} of them.")
        if len({str(d) for d in last}) != 1:
            raise DomainError(f"{where}: '{name} is {words}', and its last axes are not equally long.")


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


def projected(rule: UserRule, arrays: Sequence[Any]) -> list[Any]:
    """The arrays of a call, those with a property as its projection makes them."""
    found = list(arrays)
    for name, words in rule.properties.items():
        k = rule.arg_names.index(name)
        found[k] = PROPERTIES[words].project(found[k])
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
