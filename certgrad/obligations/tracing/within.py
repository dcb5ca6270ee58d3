"""A domain as a part of a program: a zero that is defined where the domain holds, and nowhere else.

A function that is read as another one in a domain alone has to be undefined elsewhere. The calculus asks of every
program where it is defined and forgets no condition: 0·log(x − 1), added to a result, says that x > 1.
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
"""The functions in the statements of a domain for which a program can be written here."""


class UnsaidError(Exception):
    """The domain cannot be expressed by a program."""


def conditions(domain: Sequence[str], names: Sequence[str]) -> list[t.Statement]:
    """Return the comparisons of a domain, which hold together. Raises UnsaidError for any other statement."""
    try:
        comparisons = [part for text in domain for part in conjuncts(parse(text, tuple(names)))]
    except DomainError as error:
        raise UnsaidError(str(error)) from None
    for comparison in comparisons:
        if not isinstance(comparison, t.Compare) or comparison.relation == "=":
            raise UnsaidError("it is not made of inequalities that hold together")
        _check(comparison.left)
        _check(comparison.right)
    return comparisons


def zero_within(statements: Sequence[t.Statement], arrays: Mapping[str, Any], dtype: Any) -> Any:
    """Return a scalar zero that is defined where the statements, which are comparisons, hold at every entry.

    A difference d of two sides is kept positive by 0·log(d), nonnegative by 0·√d, and nonzero by 0/d.
    """
    total = jnp.zeros((), dtype)
    for comparison in statements:
        assert isinstance(comparison, t.Compare)
        left, right = _term(comparison.left, arrays, dtype), _term(comparison.right, arrays, dtype)
        difference = left - right if comparison.relation in (">", ">=", "!=") else right - left
        if comparison.relation == "!=":
            defined = 1 / difference
        else:
            defined = jnp.log(difference) if comparison.relation in ("<", ">") else jnp.sqrt(difference)
        total = total + jnp.sum(0 * defined)
    return total


def _check(term: t.Term) -> None:
    """Check that a term can be a program. Raises UnsaidError for other functions, and for a number without a literal.

    The literal of a number has to mean it exactly, as 1/3 has none.
    """
    value = constant(term)
    if value is not None:
        if Fraction(repr(float(value))) != value:
            raise UnsaidError(f"no literal means {value}")
        return
    if isinstance(term, t.Apply) and term.function not in _FUNCTIONS:
        raise UnsaidError(f"it is said by {term.function}")
    if isinstance(term, t.Mul):  # x / 3 is a quotient, and asks for no literal that means 1/3
        for factor in term.factors:
            _check(factor.base if isinstance(factor, t.Power) and _is_divisor(factor) else factor)
        return
    for child in t.children(term):
        _check(child)


def constant(term: t.Term) -> Fraction | None:
    """Return the rational number that a term is, or None. Raises UnsaidError for 1 / 0."""
    if isinstance(term, t.Number):
        return Fraction(term.value)
    if isinstance(term, t.Add | t.Mul):
        total = Fraction(isinstance(term, t.Mul))
        for operand in term.terms if isinstance(term, t.Add) else term.factors:
            value = constant(operand)
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
    """Return the value of a checked term at these arrays, in this dtype."""
    value = constant(term)
    if value is not None:
        return float(value)
    if isinstance(term, t.Array):
        return jnp.asarray(arrays[term.name]).astype(dtype)
    if isinstance(term, t.Add):
        return sum(_term(summand, arrays, dtype) for summand in term.terms)
    if isinstance(term, t.Mul):
        numerator = [factor for factor in term.factors if not _is_divisor(factor)]
        product: Any = math.prod(_term(factor, arrays, dtype) for factor in numerator)
        for factor in term.factors:
            if isinstance(factor, t.Power) and _is_divisor(factor):
                product = product / _term(factor.base, arrays, dtype)
        return product
    if isinstance(term, t.Power):
        return jnp.power(_term(term.base, arrays, dtype), int(term.exponent))
    assert isinstance(term, t.Apply)
    return _FUNCTIONS[term.function](*(_term(argument, arrays, dtype) for argument in term.arguments))
