"""The values of expressions by their source alone: literals, and arrays of known rank and dtype.

Nothing is executed. What the source does not say is None. Sizes are not read at all.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

MOST_PARTS = 16
"""Parts of one value that are read, at most; the others are not."""
FLOAT, INT, BOOL = "", ":int", ":bool"
"""The dtypes as a signature writes them."""


@dataclass(frozen=True)
class Plain:
    """A literal: a number, a boolean, a text, None, or a tuple of these."""

    value: Any


@dataclass(frozen=True)
class Array:
    """An array, or a number that is no literal. `rank` and `kind` (its dtype) are None where they are unknown."""

    rank: int | None
    kind: str | None = None


@dataclass(frozen=True)
class Row:
    """A tuple or a list of values, None for unknown ones; with `names`, a dict or an object with these keys."""

    items: tuple[Any, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Path:
    """An object of a module, by its full name; `rng` is the name of any generator of random numbers."""

    name: str


Value = Any
"""Plain, Array, Row, Path, a slice, what can be called (`inference/call_expressions.py`), or None."""

RNG = "rng"
_SIMPLE = {
    **dict.fromkeys(("float", "math.sqrt"), Array(0, FLOAT)),
    **dict.fromkeys(("int", "len"), Array(0, INT)),
    **{f"numpy.random.{name}": Path(RNG) for name in ("default_rng", "RandomState", "Generator")},
}
"""The values of functions whose result does not depend on their arguments, as far as it is read."""


class _Returns(NamedTuple):
    """How the array that a function returns follows from its arguments."""

    parameters: str
    """The parameters in order, up to the last that matters."""
    kind: str | None = None
    """The dtype, or the parameter that has it; None for the dtype of the first argument."""
    rank: int | None = None
    """The rank; None for that which the parameter `shape` or `size` says, or without such, of the first argument."""


_ENTRYWISE = (
    "abs absolute exp expm1 log log1p log2 log10 sqrt sin cos tan tanh square sign negative clip copy real floor ceil "
    "round nan_to_num block_until_ready ones_like zeros_like full_like empty_like tril triu"
)
_ACTIVATIONS = "softmax log_softmax relu sigmoid log_sigmoid softplus gelu silu tanh elu"
_BY_KEY = "normal uniform truncated_normal gumbel exponential laplace cauchy logistic"
_RETURNS = {
    f"{module}.{name}": returns
    for module, names, returns in (
        ("numpy", "ones zeros empty", _Returns("shape dtype", FLOAT)),
        ("numpy", "full", _Returns("shape fill_value dtype", "fill_value")),
        ("numpy", "reshape broadcast_to", _Returns("a shape", "a")),
        ("numpy", "linspace logspace geomspace", _Returns("start stop num", FLOAT, 1)),
        ("numpy", "eye identity tri", _Returns("N M k", FLOAT, 2)),
        ("numpy", "array asarray ascontiguousarray astype", _Returns("a dtype")),
        ("numpy", _ENTRYWISE, _Returns("a")),
        ("jax", "device_put", _Returns("x")),
        ("jax.nn", _ACTIVATIONS, _Returns("x", FLOAT)),
        ("jax.random", _BY_KEY, _Returns("key shape", FLOAT)),
        ("jax.random", "randint", _Returns("key shape", INT)),
        ("jax.random", "bernoulli", _Returns("key p shape", BOOL)),
        ("jax.random", "gamma", _Returns("key a shape", FLOAT)),
        ("jax.random", "beta", _Returns("key a b shape", FLOAT)),
        ("numpy.random", "standard_normal random random_sample standard_exponential", _Returns("size", FLOAT)),
        ("numpy.random", "normal uniform gamma beta laplace lognormal", _Returns("a b size", FLOAT)),
        ("numpy.random", "exponential", _Returns("scale size", FLOAT)),
        ("numpy.random", "integers randint", _Returns("low high size", INT)),
    )
    for name in names.split()
}
_TWO = frozenset("add subtract multiply divide maximum minimum power".split())
_DTYPE = re.compile(r"(?:.*\.)?(?:(float\w*|bfloat16|double|single|half)|(u?int\w*)|(bool_?))")


def given_kind(value: Value) -> str | None:
    """Return the dtype of a value; None if it is not known, as of an integer literal, which may become a float."""
    if isinstance(value, Array):
        return value.kind
    if isinstance(value, Plain):
        return {bool: BOOL, float: FLOAT}.get(type(value.value))
    return None


def rank_of(value: Value) -> int | None:
    """Return the rank of a value that JAX takes as an array; None for other values and for an unknown rank."""
    if isinstance(value, Array):
        return value.rank
    return 0 if isinstance(value, Plain) and isinstance(value.value, (bool, int, float)) else None


def value_of_call(path: str, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """Return the value of a call of a known function of JAX, numpy or Python; None for any other."""
    if path in _SIMPLE:
        return _SIMPLE[path]
    module, _, name = path.rpartition(".")
    module = {"jax.numpy": "numpy", RNG: "numpy.random"}.get(module, module)
    first = args[0] if args else None
    if (returns := _RETURNS.get(f"{module}.{name}")) is not None:
        return _value_of_tabulated_call(returns, module, args, named)
    if path == "jax.nn.one_hot":
        rank = rank_of(first)
        return Array(None if rank is None else rank + 1, FLOAT)
    if module == "numpy.random" and name in ("randn", "rand"):
        return Array(len(args), FLOAT)
    if module != "numpy":
        return None
    if name == "arange":
        kind = INT if all(map(_is_int, args)) else FLOAT if FLOAT in map(given_kind, args) else None
        return _with_dtype(Array(1, kind), named)
    if name in _TWO and len(args) == 2 and not named:
        # Division makes floats of integers; the other functions give the ranks and dtypes that subtraction gives.
        return arithmetic(args[0], ast.Div() if name == "divide" else ast.Sub(), args[1])
    if _DTYPE.fullmatch(name) and len(args) == 1:
        return _with_dtype(Array(rank_of(_array_of(first))), {"dtype": Path(name)})
    return None


def _value_of_tabulated_call(
    returns: _Returns, module: str, args: Sequence[Value], named: Mapping[str, Value]
) -> Value:
    """Return the value of a call of a function in `_RETURNS`; None if its arguments do not say it."""
    parameters = returns.parameters.split()
    given = {**dict(zip(parameters, args, strict=False)), **named}
    kind = _kind(given.get(returns.kind)) if returns.kind in parameters else returns.kind
    if shape := next((p for p in ("shape", "size") if p in parameters), ""):
        if shape not in given and module.endswith(".random"):
            # Without a shape one number is drawn, or for parameters that are arrays, one for each of their entries.
            return Array(0, kind) if all(rank_of(v) == 0 for v in args[module == "jax.random" :]) else None
        return _with_dtype(Array(_rank_of_shape(given.get(shape)), kind), given)
    if {"retstep", "shape", "ndmin"} & named.keys():
        return None
    if returns.rank is not None:
        numbers = all(v is None or rank_of(v) == 0 for v in args[:3])
        return _with_dtype(Array(returns.rank, kind), named) if numbers else None
    array = _array_of(args[0] if args else None)
    return None if array is None else _with_dtype(array if kind is None else replace(array, kind=kind), given)


def method(value: Array, name: str, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """Return the value of a method call of an array."""
    if name in ("ravel", "flatten"):
        return Array(1, value.kind)
    arguments = (Row(tuple(args)),) if name == "reshape" and len(args) > 1 else args  # x.reshape(2, 3)
    return value_of_call(f"numpy.{name}", (value, *arguments), named)


def attribute(value: Value, name: str) -> Value:
    """Return the value of an attribute of an array or of an object; None if it is not known."""
    if isinstance(value, Row):
        return entry(value, Plain(name))
    if not isinstance(value, Array):
        return None
    if name == "shape":
        return None if value.rank is None else Row((Array(0, INT),) * value.rank)
    if name in ("ndim", "size"):
        return Array(0, INT)
    return value if name == "T" else None


def negated(value: Value, operator: ast.unaryop) -> Value:
    """Return the value of a unary operator on a number or an array; None if it is not known."""
    if isinstance(value, Plain) and isinstance(operator, ast.USub) and type(value.value) in (int, float):
        return Plain(-value.value)
    return value if isinstance(value, Array) and isinstance(operator, (ast.USub, ast.Invert)) else None


def arithmetic(left: Value, operator: ast.operator, right: Value) -> Value:
    """Return the value of a binary operator: a broadcast array, or two tuples joined by `+`; None if unknown."""
    if isinstance(operator, ast.Add) and _is_row(left) and _is_row(right):
        return Row((*items(left), *items(right)))
    ranks = rank_of(left), rank_of(right)
    truths = any(isinstance(v, Plain) and isinstance(v.value, bool) for v in (left, right))
    if None in ranks or truths or isinstance(operator, ast.MatMult):
        return None
    kinds = {given_kind(v) for v in (left, right) if not _is_int(v)}
    kind = FLOAT if isinstance(operator, ast.Div) or FLOAT in kinds else INT if kinds == {INT} else None
    return Array(max(r for r in ranks if r is not None), kind)


def compared(left: Value, right: Value) -> Value:
    """Return the value of a comparison of arrays; None if it is not known, or a single truth value."""
    difference = arithmetic(left, ast.Sub(), right)
    return Array(difference.rank, BOOL) if isinstance(difference, Array) and difference.rank else None


def entry(value: Value, index: Value) -> Value:
    """Return the value at an index: an entry or a slice of a tuple, or an array with fewer or more axes than an array.

    None is returned if it is not known.
    """
    if isinstance(value, Array):
        steps = [_axes_added(part) for part in (items(index) if _is_row(index) else (index,))]
        rank = None if value.rank is None or None in steps else value.rank + sum(s or 0 for s in steps)
        return Array(rank, value.kind) if rank is not None and rank >= 0 else None
    if isinstance(value, Row) and isinstance(index, Plain) and isinstance(index.value, str):
        return dict(zip(value.names, value.items, strict=False)).get(index.value)
    row = items(value)
    if isinstance(index, slice):
        literal = all(e is None or type(e) is int for e in (index.start, index.stop, index.step))
        return Row(row[index]) if row and literal else None
    return row[index.value] if _is_int(index) and -len(row) <= index.value < len(row) else None


def _axes_added(index: Value) -> int | None:
    """Return how many axes a part of an index adds: 1 for None, −1 for an integer; None if it is not known."""
    if isinstance(index, slice) or index == Plain(...):
        return 0
    return 1 if index == Plain(None) else -1 if _is_int(index) else None


def _is_row(value: Value) -> bool:
    return isinstance(value, Row) or (isinstance(value, Plain) and isinstance(value.value, tuple))


def items(value: Value) -> tuple[Value, ...]:
    """Return the entries of a tuple or a list; none of any other value."""
    if isinstance(value, Row):
        return () if value.names else value.items
    return tuple(map(Plain, value.value)) if _is_row(value) else ()


def named_parts(name: str, value: Value) -> Iterator[tuple[str, Value]]:
    """Yield a value with its name, and the parts of a row with names such as `params_w`, as arguments have them."""
    yield name, value
    if isinstance(value, Row):
        for key, part in [*zip(value.names or range(len(value.items)), value.items, strict=True)][:MOST_PARTS]:
            yield from named_parts(f"{name}_{key}", part)


def _rank_of_shape(shape: Value) -> int | None:
    """Return the rank of an array with a shape: the length of a tuple, 1 for a number, None for other values."""
    if _is_row(shape):
        return len(shape.items if isinstance(shape, Row) else shape.value)
    return 1 if rank_of(shape) == 0 else None


def _array_of(value: Value) -> Value:
    """Return the array that a number or nested lists become; an array as it is; None if rank or parts are unknown."""
    if isinstance(value, Array):
        return value
    if rank_of(value) == 0:
        return Array(0, _kind(value))
    parts = [_array_of(part) for part in items(value)]
    if not parts or any(p is None or p.rank is None for p in parts) or len({p.rank for p in parts}) > 1:
        return None
    kinds = {p.kind for p in parts}
    kind = FLOAT if FLOAT in kinds else kinds.pop() if len(kinds) == 1 else None
    return Array(parts[0].rank + 1, kind)


def _kind(value: Value) -> str | None:
    """Return the dtype of a value that becomes an array, which for an integer literal is that of integers."""
    return INT if _is_int(value) else given_kind(value)


def _with_dtype(made: Array, given: Mapping[str, Value]) -> Value:
    """Return the array with the dtype of the argument `dtype`, if there is one; None for a complex dtype."""
    if "dtype" not in given:
        return made
    dtype = given["dtype"]
    text = dtype.name if isinstance(dtype, Path) else dtype.value if isinstance(dtype, Plain) else None
    if not isinstance(text, str):
        return Array(made.rank)
    match = _DTYPE.fullmatch(text)
    kind = None if match is None else FLOAT if match[1] else INT if match[2] else BOOL
    return None if "complex" in text else Array(made.rank, kind)


def _is_int(value: Value) -> bool:
    return isinstance(value, Plain) and type(value.value) is int
