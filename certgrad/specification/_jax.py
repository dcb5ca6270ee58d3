"""What the specification asks of JAX: sorts of dtypes, sizes, literals, and the parts of an equation."""

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
    """The sort of the entries of an array. Raises UnreadableError for complex numbers and other types."""
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
    """A size of a shape, or an integer that a size may stand in."""
    if not hasattr(dim, "_sorted_terms"):
        return Integer(int(dim))
    terms = [_term(term, count) for term, count in dim._sorted_terms]
    total = terms[0] if terms else Integer(0)
    for term in terms[1:]:
        total = total + term
    return total


def _term(term: Any, count: int) -> Node:
    """The product of a number and powers of factors."""
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
    """A constant's entry as it was meant: a float is the shortest decimal that rounds to it in its dtype.

    NaN is no number: not defined.
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
    """The closed jaxpr that a call runs on the equation's operands; of a custom function the primal one."""
    return linear_program(eqn) if eqn.primitive.name == LINEAR else executed_program(eqn)
