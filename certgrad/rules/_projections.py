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
    project: Callable[[Any, Any], Any]
    """Of an array, by the functions of JAX or numpy."""
    code: str
    """The projection in Python, of an array `{0}`."""
    says: Says
    prose: str
    bounds: tuple[str, ...] = ()
    """What is assumed beside, of an array `{0}`."""
    dtypes: tuple[str, ...] = ("float", "held")
    row: Callable[[np.ndarray], Any] | None = None
    """What is made of a last axis of rationals, where the projection has no rational value of each."""
    move: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    """The tangent that keeps the property, where that is not the projection of it."""

    def made(self, x: np.ndarray) -> np.ndarray:
        """An array with the property, of one with it that one."""
        return self.project(np, x) if self.row is None else np.apply_along_axis(self.row, -1, x)

    def along(self, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """What the derivative of the projection makes of a tangent, at an array with the property."""
        return self.project(np, dx) if self.move is None else self.move(x, dx)


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


def _on_the_sphere(x: np.ndarray) -> np.ndarray:
    """The stereographic projection of all but the last entry, on the side of the last one."""
    if sum(x**2) == 1:
        return x
    square = sum(x[:-1] ** 2, start=0 * x[-1])
    last = (square - 1) / (square + 1)
    return np.array([*(2 * x[:-1] / (square + 1)), last if x[-1] < 0 else -last], x.dtype)


def _of_sum_1(x: np.ndarray) -> np.ndarray:
    return x / sum(x) if sum(x) else (x + 1) / x.size


PROPERTIES: Mapping[str, Property] = {
    "symmetric": Property(
        2,
        lambda xp, x: (x + xp.swapaxes(x, -1, -2)) / 2,
        "({0} + jnp.swapaxes({0}, -1, -2)) / 2",
        _transposed(1),
        "each entry of {0}, and of its tangents, is the one across the diagonal",
    ),
    "antisymmetric": Property(
        2,
        lambda xp, x: (x - xp.swapaxes(x, -1, -2)) / 2,
        "({0} - jnp.swapaxes({0}, -1, -2)) / 2",
        _transposed(-1),
        "each entry of {0}, and of its tangents, is minus the one across the diagonal",
    ),
    "lower triangular": Property(
        2,
        lambda xp, x: xp.tril(x),
        "jnp.tril({0})",
        _beyond(1),
        "each entry of {0}, and of its tangents, right of the diagonal is 0",
    ),
    "upper triangular": Property(
        2,
        lambda xp, x: xp.triu(x),
        "jnp.triu({0})",
        _beyond(-1),
        "each entry of {0}, and of its tangents, left of the diagonal is 0",
    ),
    "unit norm": Property(
        1,
        lambda xp, x: x / xp.sqrt(xp.sum(x**2, -1, keepdims=True)),
        "{0} / jnp.sqrt(jnp.sum({0}**2, -1, keepdims=True))",
        _total(2),
        "{0} is of unit norm along its last axis, and no entry moves so that it is not",
        row=_on_the_sphere,
        move=lambda x, dx: dx - x * np.sum(x * dx, -1, keepdims=True),
    ),
    "probabilities": Property(
        1,
        lambda xp, x: x / xp.sum(x, -1, keepdims=True),
        "{0} / jnp.sum({0}, -1, keepdims=True)",
        _total(1),
        "{0} sums to 1 along its last axis, and no entry moves so that it does not",
        ("{0} >= 0",),
        row=_of_sum_1,
        move=lambda x, dx: dx - x * np.sum(dx, -1, keepdims=True),
    ),
    "sorted": Property(
        1,
        lambda xp, x: xp.sort(x, -1),
        "jnp.sort({0}, -1)",
        _in_order,
        "no entry of {0} is less than one before it along its last axis",
        move=lambda x, dx: dx,
    ),
    "permutation": Property(
        1,
        lambda xp, x: xp.argsort(xp.argsort(x, -1), -1),
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
        found[k] = PROPERTIES[words].project(jnp, found[k])
    return found


def in_code(rule: UserRule, names: Sequence[str]) -> list[str]:
    """The lines of Python that give those of these arrays their properties."""
    found = ((n, words) for n, words in rule.properties.items() if n in names)
    return [f"{n} = {PROPERTIES[words].code.format(n)}" for n, words in found]


def structures(rule: UserRule) -> dict[str, Property]:
    """By argument, the property that it is said to have."""
    return {name: PROPERTIES[words] for name, words in rule.properties.items()}


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


DRAWS = 40
EMPTY = "no array was found that has the property and is inside the other hypotheses"


def with_properties(certificate: Certificate, rule: UserRule) -> Certificate:
    """The certificate of the rule on arrays that a projection makes, as one whose claims list what they are.

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
    """An array with the property is inside the domain and the hypotheses at some small sizes, or nobody can tell."""
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
