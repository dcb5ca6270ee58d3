"""The properties of arrays that no comparison says: symmetric matrices, unit vectors, probabilities, permutations.

`projections.py` says how an audit uses them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np

from certgrad.errors import DomainError
from certgrad.language import tree as t
from certgrad.signatures.signature import ArraySpec
from certgrad.signatures.sizes import Star

_SAID = re.compile(r"\s*([A-Za-z_]\w*)\s+is\s+([A-Za-z][A-Za-z _-]*?)\s*")
Says = Callable[[Callable[..., t.Term], Sequence[t.Range]], t.Statement]
"""Makes the statement that an array has a property, from a function that gives its entry at indices, and the ranges of
the axes that the property is about."""


@dataclass(frozen=True)
class Property:
    """A property of an array's last axes."""

    axes: int
    """The number of last axes that the property is about; if two, they are equally long."""
    project: Callable[[Any, Any], Any]
    """Returns the projection of an array, by the functions of the module `jax.numpy` or `numpy` that it is given."""
    code: str
    """The projection of an array `{0}` as Python code."""
    says: Says
    prose: str
    bounds: tuple[str, ...] = ()
    """Comparisons of an array `{0}` that the property implies and the domain gets as well."""
    dtypes: tuple[str, ...] = ("float", "held")
    row: Callable[[np.ndarray], Any] | None = None
    """Returns a vector of rationals with the property, for a projection that takes rationals to irrational numbers."""
    move: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    """Returns the derivative of the projection at x along dx; None if it is linear, and so its own derivative."""

    def structured(self, x: np.ndarray) -> np.ndarray:
        """Return an array with the property that is made of `x`: `x` itself if it has the property."""
        return self.project(np, x) if self.row is None else np.apply_along_axis(self.row, -1, x)

    def along(self, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """Return the derivative of the projection along a tangent, at an array with the property."""
        return self.project(np, dx) if self.move is None else self.move(x, dx)


def _transposed(sign: int) -> Says:
    """Return what makes the statement that x[i,j] = sign · x[j,i]."""

    def says(entry: Callable[..., t.Term], over: Sequence[t.Range]) -> t.Statement:
        i, j = (t.Index(r.variable) for r in over)
        both = tuple(t.Range(r.variable, over[0].size) for r in over)  # they are equally long
        return t.ForAll(
            both, t.Compare("=", t.sum_of_terms([entry(i, j), t.scaled(Fraction(-sign), [entry(j, i)])]), t.ZERO)
        )

    return says


def _beyond(sign: int) -> Says:
    """Return what makes the statement that x[i,j] = 0 wherever sign · (j − i) > 0."""

    def says(entry: Callable[..., t.Term], over: Sequence[t.Range]) -> t.Statement:
        i, j = (t.Index(r.variable) for r in over)
        beyond = t.sum_of_terms([t.scaled(Fraction(sign), [j]), t.scaled(Fraction(-sign), [i])])
        return t.ForAll(
            tuple(over),
            t.Compare("=", t.Mul((entry(i, j), t.Truth(t.Compare(">", beyond, t.ZERO)))), t.ZERO),
        )

    return says


def _total(power: int) -> Says:
    """Return what makes the statement that the entries to that power sum to 1."""

    def says(entry: Callable[..., t.Term], over: Sequence[t.Range]) -> t.Statement:
        (i,) = (t.Index(r.variable) for r in over)
        body = entry(i) if power == 1 else t.Power(entry(i), str(power))
        return t.Compare("=", t.sum_of_terms([t.Fold("sum", tuple(over), body), t.Number("-1")]), t.ZERO)

    return says


def _in_order(entry: Callable[..., t.Term], over: Sequence[t.Range]) -> t.Statement:
    """Return the statement that no entry is less than one before it: (x[j] − x[i])·[j > i] ≥ 0."""
    later = t.Range(f"{over[0].variable}_", over[0].size)
    i, j = (t.Index(r.variable) for r in (*over, later))
    before = t.Truth(t.Compare(">", t.sum_of_terms([j, t.scaled(Fraction(-1), [i])]), t.ZERO))
    increase = t.sum_of_terms([entry(j), t.scaled(Fraction(-1), [entry(i)])])
    return t.ForAll((*over, later), t.Compare(">=", t.Mul((increase, before)), t.ZERO))


def _each_place_once(entry: Callable[..., t.Term], over: Sequence[t.Range]) -> t.Statement:
    """Return the statement that the entries of an axis of length n are from 0 to n − 1 and distinct."""
    axis, at = over[0], t.Index(over[0].variable)
    below = t.sum_of_terms([axis.size, t.scaled(Fraction(-1), [entry(at)])])
    within = [t.Compare(">=", entry(at), t.ZERO), t.Compare(">", below, t.ZERO)]
    return t.Both((*(t.ForAll((axis,), w) for w in within), t.Distinct((axis,), entry(at))))


def _on_the_sphere(x: np.ndarray) -> np.ndarray:
    """Return a rational unit vector: the inverse stereographic projection of all entries of `x` but the last.

    The sign of its last entry is that of `x`. A unit vector is returned as it is.
    """
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
    """Return the comparisons of a domain, and by array the property that the domain states of it (`a is symmetric`).

    Bounds that a property implies are among the comparisons. `where` is what messages call the rule. Raises DomainError
    for an unknown property, for two of one array, and for one in a condition with `or`.
    """
    compared: list[str] = []
    property_of: dict[str, str] = {}
    for text in domain:
        rest = []
        for part in text.split(" and "):
            match = _SAID.fullmatch(part)
            if match is None:
                rest.append(part)
                continue
            name, words = match[1], match[2].replace("_", " ").replace("-", " ")
            if words not in PROPERTIES:
                raise DomainError(f"{where}: '{part.strip()}': the properties are {', '.join(PROPERTIES)}.")
            if property_of.setdefault(name, words) != words:
                raise DomainError(f"{where}: '{name}' is said to be {property_of[name]} and {words}: say one.")
            if " or " in _outside_brackets(text):
                raise DomainError(f"{where}: '{text}': put what 'or' joins in brackets, or say '{part.strip()}' apart.")
            compared += [bound.format(name) for bound in PROPERTIES[words].bounds]
        compared += [" and ".join(rest)] if rest else []
    return tuple(compared), property_of


def _outside_brackets(text: str) -> str:
    """Return a text without what is in brackets."""
    while (shorter := re.sub(r"\([^()]*\)", "", text)) != text:
        text = shorter
    return text


def check_properties(properties: Mapping[str, str], specs: Mapping[str, ArraySpec], where: str) -> None:
    """Raise DomainError if an array cannot have the property that is declared of it: by its dtype or its last axes."""
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


def projected(properties: Mapping[str, str], names: Sequence[str], arrays: Sequence[Any]) -> list[Any]:
    """Return the arrays, of which those whose name has a property are projected to have it."""
    return [
        PROPERTIES[properties[n]].project(jnp, x) if n in properties else x for n, x in zip(names, arrays, strict=True)
    ]
