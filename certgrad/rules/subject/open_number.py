"""An open parameter: it stands for a Python float that has no value while a rule is traced.

It computes as a number does, and its results are traced. Code that needs its value raises (a comparison in an `if`, a
conversion, a look-up), so that a trace is about every value, or there is no trace.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NoReturn

from certgrad.errors import TraceError
from certgrad.jaxpr.stands_for import stands_for


class OpenNumberError(TraceError):
    """Raised where code needs the value of an open parameter, which it would have in a call."""


class OpenNumber:
    """The stand-in for a float in a rule's arguments; `value` is traced."""

    __array_ufunc__ = None  # arrays leave the operators to this class
    __slots__ = ("_name", "_value")

    def __init__(self, name: str, value: Any) -> None:
        self._name = name
        self._value = value

    def __jax_array__(self) -> Any:
        return self._value

    def _refuse(self, *_: Any) -> NoReturn:
        raise OpenNumberError(
            f"the code needs the value of {self._name}, which is left open as every real number; give values by "
            "certgrad.each"
        )

    __array__ = __float__ = __int__ = __index__ = __bool__ = __complex__ = __round__ = _refuse
    __hash__ = __str__ = __repr__ = __format__ = __iter__ = __len__ = _refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(float, name):  # a float has no such attribute either
            raise AttributeError(name)
        return self._refuse()


def _forwards(name: str) -> Callable:
    function = getattr(operator, name)

    def method(self: OpenNumber, other: Any) -> Any:
        return function(self._value, other._value if isinstance(other, OpenNumber) else other)

    return method


def _backwards(name: str) -> Callable:
    function = getattr(operator, name)

    def method(self: OpenNumber, other: Any) -> Any:
        return function(other, self._value)

    return method


def _unary_operator(name: str) -> Callable:
    function = getattr(operator, name)
    return lambda self: function(self._value)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(OpenNumber, f"__{_name}__", _forwards(_name))
    setattr(OpenNumber, f"__r{_name}__", _backwards(_name))
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "matmul"):
    setattr(OpenNumber, f"__{_name}__", _forwards(_name))
for _name in ("neg", "pos", "abs"):
    setattr(OpenNumber, f"__{_name}__", _unary_operator(_name))

stands_for(OpenNumber, operator.attrgetter("_value"))
