"""What expressions are by their text: literals, and arrays of which the text says the rank and the dtype.

Nothing is executed. What the text does not say is None. Sizes are not read at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST_PARTS = 16
"""So many parts of one value are read."""
FLOAT, INT, BOOL = "", ":int", ":bool"
"""The dtypes as a signature writes them."""


@dataclass(frozen=True)
class Plain:
    """A literal: a number, a boolean, a text, None, or a tuple of these."""

    value: Any


@dataclass(frozen=True)
class Array:
    """An array, or a number that is no literal. `rank` or `kind` is None where the text does not say it."""

    rank: int | None
    kind: str | None = None


@dataclass(frozen=True)
class Row:
    """A tuple or a list of values, some of which may be None; with names, a dict or an object of them."""

    items: tuple[Any, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Path:
    """What a module offers, by its full name; numbers that are drawn come of the path `rng`."""

    name: str


Value = Any
"""Plain, Array, Row, Path, what can be called (`_calls.py`), or None."""

RNG = "rng"
_MAKES_RNG = re.compile(r"numpy\.random\.(default_rng|RandomState|Generator)")
_NUMPY = re.compile(r"(?:jax\.numpy|numpy)\.(\w+)")
_DRAWN = re.compile(rf"(?:jax\.random|numpy\.random|{RNG})\.(\w+)")
_SAME = frozenset(
    "abs absolute exp expm1 log log1p log2 log10 sqrt sin cos tan tanh square sign negative clip "
    "array asarray ascontiguousarray copy real floor ceil round nan_to_num ones_like zeros_like full_like empty_like "
    "tril triu".split()
)
"""Functions whose result has the rank of their first argument."""
_TWO = frozenset("add subtract multiply divide maximum minimum power".split())
_ACTIVATIONS = re.compile(r"jax\.nn\.(softmax|log_softmax|relu|sigmoid|log_sigmoid|softplus|gelu|silu|tanh|elu)")
_FILLED: Mapping[str, int] = {"ones": 1, "zeros": 1, "empty": 1, "full": 2}
"""Constructors that take a shape first, and where they take a dtype."""
_OF_RANK: Mapping[str, tuple[int, str | None]] = {
    "linspace": (1, FLOAT),
    "logspace": (1, FLOAT),
    "geomspace": (1, FLOAT),
    "eye": (2, FLOAT),
    "identity": (2, FLOAT),
    "tri": (2, FLOAT),
}
_JAX_DRAWS: Mapping[str, tuple[int, str]] = {
    **dict.fromkeys("normal uniform truncated_normal gumbel exponential laplace cauchy logistic".split(), (1, FLOAT)),
    "randint": (1, INT),
    "bernoulli": (2, BOOL),
    "gamma": (2, FLOAT),
    "beta": (3, FLOAT),
}
"""Where the functions of `jax.random` take a shape, and what they draw."""
_NUMPY_DRAWS: Mapping[str, tuple[int, str]] = {
    **dict.fromkeys(("standard_normal", "random", "random_sample", "standard_exponential"), (0, FLOAT)),
    **dict.fromkeys(("normal", "uniform", "gamma", "beta", "laplace", "lognormal"), (2, FLOAT)),
    "exponential": (1, FLOAT),
    **dict.fromkeys(("integers", "randint"), (2, INT)),
}
_DTYPE = re.compile(r"(?:.*\.)?(?:(float\w*|bfloat16|double|single|half)|(u?int\w*)|(bool_?))")


def given_kind(value: Value) -> str | None:
    """The dtype of a value. A literal integer is a number of either kind."""
    if isinstance(value, Array):
        return value.kind
    if isinstance(value, Plain):
        return {bool: BOOL, float: FLOAT}.get(type(value.value))
    return None


def rank_of(value: Value) -> int | None:
    """The rank of a value that JAX takes as an array."""
    if isinstance(value, Array):
        return value.rank
    return 0 if isinstance(value, Plain) and isinstance(value.value, (bool, int, float)) else None


def called(path: str, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """What a function of JAX, numpy or Python returns; None for any that is not known here."""
    if _MAKES_RNG.fullmatch(path):
        return Path(RNG)
    if path in ("float", "math.sqrt"):
        return Array(0, FLOAT)
    if path in ("int", "len"):
        return Array(0, INT)
    if (match := _NUMPY.fullmatch(path)) is not None:
        return _of_numpy(match[1], args, named)
    if _ACTIVATIONS.fullmatch(path):
        return _floats(_first(args))
    if path == "jax.nn.one_hot":
        rank = rank_of(_first(args))
        return Array(None if rank is None else rank + 1, FLOAT)
    if path == "jax.device_put":
        return _array_of(_first(args))
    if (match := _DRAWN.fullmatch(path)) is not None:
        return _drawn(match[1], path.startswith("jax"), args, named)
    return None


def method(value: Value, name: str, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    """What a method of an array returns."""
    if not isinstance(value, Array):
        return None
    if name == "astype":
        return _with_dtype(Array(value.rank), _first(args) or named.get("dtype"))
    if name == "reshape":
        return Array(_rank_of_shape(args[0] if len(args) == 1 else Row(tuple(args)) if args else None), value.kind)
    if name in ("ravel", "flatten"):
        return Array(1, value.kind)
    return value if name in ("copy", "block_until_ready", "clip", "round") else None


def attribute(value: Array, name: str) -> Value:
    """What an attribute of an array is."""
    if name == "shape":
        return None if value.rank is None else Row((Array(0, INT),) * value.rank)
    if name in ("ndim", "size"):
        return Array(0, INT)
    return value if name == "T" else None


def arithmetic(left: Value, right: Value, divided: bool = False, joined: bool = False) -> Value:
    """What an operator gives of two values; `joined` says that tuples may be added."""
    if joined and all(
        isinstance(v, Row) or (isinstance(v, Plain) and isinstance(v.value, tuple)) for v in (left, right)
    ):
        return Row((*items(left), *items(right)))
    ranks = rank_of(left), rank_of(right)
    if None in ranks or any(isinstance(v, Plain) and isinstance(v.value, bool) for v in (left, right)):
        return None
    kinds = {given_kind(v) for v in (left, right) if not (isinstance(v, Plain) and type(v.value) is int)}
    kind = FLOAT if divided or FLOAT in kinds else INT if kinds == {INT} else None
    return Array(max(r for r in ranks if r is not None), kind)


def compared(left: Value, right: Value) -> Value:
    """What a comparison gives."""
    both = arithmetic(left, right)
    return Array(both.rank, BOOL) if isinstance(both, Array) and both.rank else None


def items(value: Value) -> tuple[Value, ...]:
    """The entries of a tuple or a list; none of any other value."""
    if isinstance(value, Row):
        return () if value.names else value.items
    return tuple(map(Plain, value.value)) if isinstance(value, Plain) and isinstance(value.value, tuple) else ()


def named_parts(name: str, value: Value) -> Iterator[tuple[str, Value]]:
    """A value and what it consists of, if that is no literal, under the names that the arrays of an argument have."""
    yield name, value
    if isinstance(value, Row):
        for key, part in [*zip(value.names or range(len(value.items)), value.items, strict=True)][:MOST_PARTS]:
            yield from named_parts(f"{name}_{key}", part)


def _first(args: Sequence[Value]) -> Value:
    return args[0] if args else None


def _at(args: Sequence[Value], named: Mapping[str, Value], place: int, *names: str) -> tuple[bool, Value]:
    """Whether an argument is given, and its value."""
    for name in names:
        if name in named:
            return True, named[name]
    return (True, args[place]) if len(args) > place else (False, None)


def _of_numpy(name: str, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    if name in _FILLED:
        _, shape = _at(args, named, 0, "shape")
        given, dtype = _at(args, named, _FILLED[name], "dtype")
        filling = _at(args, named, 1, "fill_value")[1]
        kind = FLOAT if name != "full" else INT if _is_int(filling) else given_kind(filling)
        made = Array(_rank_of_shape(shape), kind)
        return _with_dtype(made, dtype) if given else made
    if name == "arange":
        kind = INT if all(map(_is_int, args)) else FLOAT if FLOAT in map(given_kind, args) else None
        return _with_dtype(Array(1, kind), named["dtype"]) if "dtype" in named else Array(1, kind)
    if name in _OF_RANK and "retstep" not in named and all(v is None or rank_of(v) == 0 for v in args[:3]):
        made = Array(*_OF_RANK[name])
        return _with_dtype(made, named["dtype"]) if "dtype" in named else made
    if name in ("reshape", "broadcast_to"):
        return Array(_rank_of_shape(_at(args, named, 1, "shape")[1]), given_kind(_first(args)))
    if name in _SAME and not named.keys() & {"shape", "ndmin"}:
        made = _array_of(_first(args))
        given, dtype = _at(args, named, 1, "dtype") if "array" in name else ("dtype" in named, named.get("dtype"))
        return _with_dtype(made, dtype) if given and made is not None else made
    if name in _TWO and len(args) == 2 and not named:
        return arithmetic(args[0], args[1], name == "divide")
    if _DTYPE.fullmatch(name) and len(args) == 1:
        return _with_dtype(Array(rank_of(_array_of(args[0]))), Path(name))
    return None


def _drawn(name: str, by_key: bool, args: Sequence[Value], named: Mapping[str, Value]) -> Value:
    if not by_key and name in ("randn", "rand"):
        return Array(len(args), FLOAT)
    table = _JAX_DRAWS if by_key else _NUMPY_DRAWS
    if name not in table:
        return None
    place, kind = table[name]
    given, shape = _at(args, named, place, "shape" if by_key else "size")
    if not given:
        # JAX draws one number unless it is told a shape; of a distribution with parameters as many as these have.
        return Array(0, kind) if all(rank_of(v) == 0 for v in args[by_key:]) else None
    made = Array(_rank_of_shape(shape), kind)
    return _with_dtype(made, named["dtype"]) if "dtype" in named else made


def _rank_of_shape(shape: Value) -> int | None:
    """The rank of an array of a shape: the length of a tuple; 1 for a number."""
    if isinstance(shape, Row):
        return len(shape.items)
    if isinstance(shape, Plain) and isinstance(shape.value, tuple):
        return len(shape.value)
    return 1 if rank_of(shape) == 0 else None


def _array_of(value: Value) -> Value:
    """The array that nested lists are; an array as it is."""
    if isinstance(value, Array):
        return value
    if rank_of(value) == 0:
        return Array(0, INT if _is_int(value) else given_kind(value))
    parts = [_array_of(part) for part in items(value)]
    if not parts or any(p is None or p.rank is None for p in parts) or len({p.rank for p in parts}) > 1:
        return None
    kinds = {p.kind for p in parts}
    kind = FLOAT if FLOAT in kinds else kinds.pop() if len(kinds) == 1 else None
    return Array(parts[0].rank + 1, kind)


def _floats(value: Value) -> Value:
    return Array(value.rank, FLOAT) if isinstance(value, Array) else None


def _with_dtype(made: Array, dtype: Value) -> Value:
    """The array with a dtype that is given; None where that is complex."""
    text = dtype.name if isinstance(dtype, Path) else dtype.value if isinstance(dtype, Plain) else None
    if isinstance(text, str) and "complex" in text:
        return None
    match = _DTYPE.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return Array(made.rank)
    return Array(made.rank, FLOAT if match[1] else INT if match[2] else BOOL)


def _is_int(value: Value) -> bool:
    return isinstance(value, Plain) and type(value.value) is int
