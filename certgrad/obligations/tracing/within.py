"""A domain as a part of a program: a zero that is defined where the domain holds, and nowhere else.

What is read as something else in a domain alone is that there, and is undefined elsewhere. The calculus asks of every
program where it is defined and forgets no condition, so that a zero made of log(x − 1) says x > 1 wherever it is added.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import jax.numpy as jnp

from certgrad.errors import DomainError
from certgrad.language import tree as t
from certgrad.language.parse import conjuncts, parse

_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": jnp.abs,
    "cos": jnp.cos,
    "cosh": jnp.cosh,
    "exp": jnp.exp,
    "log": jnp.log,
    "sin": jnp.sin,
    "sinh": jnp.sinh,
    "sqrt": jnp.sqrt,
    "square": jnp.square,
    "tanh": jnp.tanh,
}
"""Those of what a domain may be written with that are programs here."""


class UnsaidError(Exception):
    """The domain cannot be said by a program."""


def conditions(domain: Sequence[str], names: Sequence[str]) -> list[t.Statement]:
    """Return the comparisons of a domain. Raises UnsaidError for alternatives, and for other statements."""
    try:
        found = [one for text in domain for one in conjuncts(parse(text, tuple(names)))]
    except DomainError as error:
        raise UnsaidError(str(error)) from None
    for one in found:
        if not isinstance(one, t.Compare) or one.relation == "=":
            raise UnsaidError("it is not made of inequalities that hold together")
        _check(one.left)
        _check(one.right)
    return found


def zero_within(statements: Sequence[t.Statement], arrays: Mapping[str, Any], dtype: Any) -> Any:
    """Return zero, as a scalar, which is defined where the statements hold at every entry."""
    total = jnp.zeros((), dtype)
    for one in statements:
        assert isinstance(one, t.Compare)
        left, right = _term(one.left, arrays, dtype), _term(one.right, arrays, dtype)
        above = left - right if one.relation in (">", ">=", "!=") else right - left
        if one.relation == "!=":
            defined = 1 / above
        else:
            defined = jnp.log(above) if one.relation in ("<", ">") else jnp.sqrt(above)
        total = total + jnp.sum(0 * defined)
    return total


def _check(term: t.Term) -> None:
    """Raise UnsaidError for what is no part of a program, and for a number that no literal means exactly."""
    value = constant(term)
    if value is not None:
        if Fraction(repr(float(value))) != value:
            raise UnsaidError(f"no literal means {value}")
        return
    if isinstance(term, t.Apply) and term.function not in _FUNCTIONS:
        raise UnsaidError(f"it is said by {term.function}")
    if isinstance(term, t.Mul):  # x / 3 is a quotient, and asks for no literal that means 1/3
        for one in term.factors:
            _check(one.base if isinstance(one, t.Power) and _is_divisor(one) else one)
        return
    for child in t.children(term):
        _check(child)


def constant(term: t.Term) -> Fraction | None:
    """Return the rational number that a term is, or None. Raises UnsaidError for 1 / 0."""
    if isinstance(term, t.Number):
        return Fraction(term.value)
    if isinstance(term, t.Add | t.Mul):
        total = Fraction(isinstance(term, t.Mul))
        for one in term.terms if isinstance(term, t.Add) else term.factors:
            value = constant(one)
            if value is None:
                return None
            total = total + value if isinstance(term, t.Add) else total * value
        return total
    if isinstance(term, t.Power):
        base = constant(term.base)
        if base == 0 and int(term.exponent) < 0:
            raise UnsaidError("it divides by 0")
        return None if base is None else Fraction(base ** int(term.exponent))
    return None


def _is_divisor(term: t.Term) -> bool:
    return isinstance(term, t.Power) and term.exponent == "-1"


def _term(term: t.Term, arrays: Mapping[str, Any], dtype: Any) -> Any:
    value = constant(term)
    if value is not None:
        return float(value)
    if isinstance(term, t.Array):
        return jnp.asarray(arrays[term.name]).astype(dtype)
    if isinstance(term, t.Add):
        return sum(_term(one, arrays, dtype) for one in term.terms)
    if isinstance(term, t.Mul):
        above = [one for one in term.factors if not _is_divisor(one)]
        product: Any = math.prod(_term(one, arrays, dtype) for one in above)
        for one in term.factors:
            if isinstance(one, t.Power) and _is_divisor(one):
                product = product / _term(one.base, arrays, dtype)
        return product
    if isinstance(term, t.Power):
        return jnp.power(_term(term.base, arrays, dtype), int(term.exponent))
    assert isinstance(term, t.Apply)
    return _FUNCTIONS[term.function](*(_term(one, arrays, dtype) for one in term.arguments))
