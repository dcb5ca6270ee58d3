"""Values on a tape: arrays whose operators, and numpy's functions of them, are recorded."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from certgrad.errors import UsageError
from certgrad.ops._declare import Op

if TYPE_CHECKING:
    from certgrad.graph.tape._tape import Tape

_METHODS = (
    "sum mean max min prod var std any all argmax argmin cumsum cumprod clip dot reshape ravel flatten transpose "
    "swapaxes squeeze repeat take astype round"
).split()
_PROPERTIES = ("T", "mT")
_BINARY = "add sub mul truediv floordiv mod pow matmul".split()
_COMPARED = "lt le gt ge eq ne".split()
_UNARY = "neg pos abs invert".split()


class Value:
    """One output of a record of a tape: `value.value` is its array, `record` and `output` say which one it is."""

    __slots__ = ("output", "record", "tape", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, tape: Tape, record: int, output: int, value: Any) -> None:
        self.tape, self.record, self.output, self.value = tape, record, output, value

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.value.shape)

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(self.value.size)

    @property
    def label(self) -> str:
        """The value's label in the views: `%3`, or `%3.1` for a second output."""
        return f"%{self.record}" + (f".{self.output}" if self.output else "")

    def __repr__(self) -> str:
        return f"<{self.label} of a tape: {self.value!r}>"

    # Python's decisions by a value use its present number: the tape holds the operations of this run alone.

    def __bool__(self) -> bool:
        return bool(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __index__(self) -> int:
        return operator.index(self.value)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Any:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        return self.tape.apply(operator.getitem, self, index)

    def __getattr__(self, name: str) -> Any:
        if name in _PROPERTIES:
            return self.tape.apply(_with_name(operator.attrgetter(name), name), self)
        if name in _METHODS:
            method = _with_name(lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs), name)
            return lambda *args, **kwargs: self.tape.apply(method, self, *args, **kwargs)
        raise AttributeError(
            f"A value on a tape has no '{name}'. Apply a function to it with tape.apply(function, value, …), "
            f"or read its array by .value."
        )

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise UsageError(
            "A value on a tape would become a plain array here, and the tape would not see what is done with it. "
            "Call numpy's functions on the value itself, use tape.apply(function, value, …), or read .value."
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        if method != "__call__":
            return NotImplemented
        return self.tape.apply(_of_jax(ufunc), *args, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return self.tape.apply(_of_jax(function), *args, **kwargs)

    def __certgrad_apply__(self, op: Op, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return the result of an op of certgrad that is called with values of a tape."""
        return self.tape.apply(op, *args, **kwargs)


def _with_name(function: Callable, name: str) -> Callable:
    def method(x: Any, *args: Any, **kwargs: Any) -> Any:
        return function(x, *args, **kwargs)

    method.__name__ = name
    return method


def _of_jax(function: Any) -> Callable:
    """Return the function of jax.numpy with the name of one of numpy. Raises UsageError where there is none."""
    jax_function: Any = jnp
    path = [*(getattr(function, "__module__", None) or "numpy").split(".")[1:], function.__name__]
    for part in path:
        jax_function = getattr(jax_function, part, None)
    if jax_function is None:
        raise UsageError(f"jax.numpy has no {'.'.join(path)}, so a tape cannot record it. Use tape.apply with another.")
    return jax_function


def _forward(name: str) -> Callable:
    function = getattr(operator, name)

    def method(self: Value, *others: Any) -> Any:
        return self.tape.apply(function, self, *others)

    return method


def _backward(name: str) -> Callable:
    function = getattr(operator, name)

    def method(self: Value, other: Any) -> Any:
        return self.tape.apply(function, other, self)

    return method


for _name in (*_BINARY, *_COMPARED, *_UNARY):
    setattr(Value, f"__{_name}__", _forward(_name))
for _name in _BINARY:
    setattr(Value, f"__r{_name}__", _backward(_name))


def is_value(x: Any) -> bool:
    return isinstance(x, Value)


def is_real(x: Any) -> bool:
    return bool(jnp.issubdtype(jnp.result_type(x), jnp.floating))
