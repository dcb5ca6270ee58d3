"""Arguments with a property that no comparison says: symmetric matrices, unit vectors, probabilities.

A rule for symmetric matrices takes symmetric tangents, and is about no others. Let P be a projection onto the arrays
with the property: differentiable, with P∘P = P. An audit looks at f∘P at arbitrary arrays. At an array a with the
property P(a) is a; and dP takes every tangent to one along which the property stays, and leaves those as they are (by
the chain rule of P∘P = P). So what is proved of f∘P is, at each such a, that the rule of f is right for all of these
tangents; a cotangent counts as far as they see it. The certificate lists the property.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from certgrad.errors import DomainError
from certgrad.language import tree as t
from certgrad.language.canonical import canonical
from certgrad.obligations.certificate import Certificate, Hypothesis, hypothesis, with_claims
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


def _transposed(sign: int) -> Says:
    def says(entry: Callable[..., t.Term], over: Sequence[t.Range]) -> t.Statement:
        i, j = (t.Index(r.variable) for r in over)
        return t.ForAll(
            tuple(over), t.Compare("=", t.added([entry(i, j), t.scaled(Fraction(-sign), [entry(j, i)])]), t.ZERO)
        )

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
}


def properties_in(domain: Sequence[str], where: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """The conditions of a domain that are comparisons, and by array the structures that it is said to have.

    Raises DomainError for a property that is not known, and for two of one array.
    """
    compared: list[str] = []
    found: dict[str, str] = {}
    for text in domain:
        rest = []
        for part in text.split(" and ") if isinstance(text, str) else (text,):
            said = _SAID.fullmatch(part) if isinstance(part, str) else None
            if said is None:
                rest.append(part)
                continue
            name, words = said[1], said[2].replace("_", " ").replace("-", " ")
            if words not in PROPERTIES:
                raise DomainError(f"{where}: '{part.strip()}': the properties are {', '.join(PROPERTIES)}.")
            if found.setdefault(name, words) != words:
                raise DomainError(f"{where}: '{name}' is said to be {found[name]} and {words}: say one.")
            compared += [bound.format(name) for bound in PROPERTIES[words].bounds]
        compared += [" and ".join(rest)] if rest else []
    return tuple(compared), found


def check_properties(properties: Mapping[str, str], specs: Mapping[str, ArraySpec], where: str) -> None:
    """Raises DomainError where an array that is said to have a property cannot have it."""
    for name, words in properties.items():
        if name not in specs:
            raise DomainError(f"{where}: '{name} is {words}' names no array of it: they are {', '.join(specs)}.")
        spec, axes = specs[name], PROPERTIES[words].axes
        last = spec.dims[-axes:]
        if spec.dtype not in ("float", "held"):
            raise DomainError(f"{where}: '{name} is {words}', and {name} is an array of dtype {spec.dtype}.")
        if len(last) < axes or any(isinstance(d, Star) for d in last):
            raise DomainError(f"{where}: '{name} is {words}' is about its last axes: name {axes} of them.")
        if len({str(d) for d in last}) != 1:
            raise DomainError(f"{where}: '{name} is {words}', and its last axes are not equally long.")


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
    first = rank - known.axes  # the others of these are as long
    over = [t.Range(f"i{k}", t.Axis(name, min(k, first))) for k in range(rank)]
    outer, inner = over[:first], over[first:]

    def entry(*last: t.Term) -> t.Term:
        return t.Entry(name, (*(t.Index(r.variable) for r in outer), *last))

    said = known.says(entry, inner)
    if outer:
        own, holds = (said.over, said.holds) if isinstance(said, t.ForAll) else ((), said)
        said = t.ForAll((*outer, *own), holds)
    return hypothesis(canonical(said), "domain", False, known.prose.format(name), rule.arg_names)


def with_properties(certificate: Certificate, rule: UserRule) -> Certificate:
    """The certificate of the rule on arrays that a projection makes, as one whose claims list what they are."""
    added = granted(rule)
    found = listing(certificate, rule, lambda _, own: [*own, *added.values()])
    return with_claims(found, found.claims, domain=[*added, *certificate.domain])
