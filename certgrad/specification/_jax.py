"""What the specification reads of JAX's objects: sorts of dtypes, sizes, literals, and the programs of calls."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import jax
import numpy as np

from certgrad.jaxpr.linear import LINEAR, linear_program
from certgrad.jaxpr.lowerings import executed_program
from certgrad.language.tree import FALSE, TRUE, Given, If, Infinity, Integer, Node, Number, Size, Sort

from .rule import UnreadableError, less_than


def sort_of(dtype: Any) -> Sort:
    """Return the sort of the entries of an array of a dtype: "real", "integer", "boolean" or "key".

    Raises UnreadableError for complex numbers and other dtypes.
    """
    if jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
        return "key"
    if jax.dtypes.issubdtype(dtype, np.floating):
        return "real"
    if dtype == jax.dtypes.float0 or jax.dtypes.issubdtype(dtype, np.bool_):
        return "boolean"  # an array of float0 holds nothing: JAX writes it as booleans
    if jax.dtypes.issubdtype(dtype, np.integer):
        return "integer"
    raise UnreadableError(f"entries of dtype {dtype}")


def size(dim: Any) -> Node:
    """Return a size, or another integer of a parameter, as an expression: a number, or a sum of products of names."""
    if not hasattr(dim, "_sorted_terms"):
        return Integer(int(dim))
    terms = [_term(term, count) for term, count in dim._sorted_terms]
    total = terms[0] if terms else Integer(0)
    for term in terms[1:]:
        total = total + term
    return total


def _term(term: Any, count: int) -> Node:
    """Return a term of JAX's symbolic size, with its coefficient, as a product of factors."""
    factors = [factor for f, power in term._factors for factor in [factor_of_size(f)] * power]
    if count != 1 or not factors:
        factors = [Integer(count), *factors]
    product = factors[0]
    for factor in factors[1:]:
        product = product * factor
    return product


def factor_of_size(factor: Any) -> Node:
    """Return a factor of a size's term as a node: a name, or a rounded or compared expression in sizes."""
    if factor.var is not None:
        return Size(factor.var)
    left, right = map(size, factor.operands)
    if factor.operation == "floordiv":
        return left // right
    if factor.operation == "mod":
        return left % right
    if factor.operation == "max":
        return If(less_than(left, right), right, left)
    if factor.operation == "min":
        return If(less_than(right, left), right, left)
    raise UnreadableError(f"a size made by {factor.operation}")


def literal(value: Any, dtype: Any) -> Node:
    """Return an entry of a constant as an expression: a float is the shortest decimal that rounds to it in its dtype.

    So 0.1 is 1/10. NaN is an expression that is not defined. Raises UnreadableError for random keys.
    """
    sort = sort_of(dtype)
    if sort == "boolean":
        return TRUE if value else FALSE
    if sort == "integer":
        return Integer(int(value))
    if sort == "key":
        raise UnreadableError("a random key among the constants")
    if np.isnan(np.float64(value)):
        return Given(FALSE, Number("0"))
    if np.isinf(np.float64(value)):
        return Infinity(bool(value > 0))
    return Number(
        str(Fraction(repr(float(value)) if np.dtype(dtype) == np.float64 else str(np.asarray(value, dtype)[()])))
    )


def called_program(eqn: Any) -> Any:
    """Return the closed jaxpr that an equation calls, of a custom function the primal one; None if it calls none."""
    return linear_program(eqn) if eqn.primitive.name == LINEAR else executed_program(eqn)
