"""Arithmetic on dimensions that JAX's symbols refuse, while tracing: `d ** -0.5`, `math.sqrt(d)`, `np.zeros((n, d))`.

Where Python would compute a number, the trace computes the same number from the dimension, as an equation. A traced
value cannot be compared or turned into a Python number, so code that goes on to branch on it does not trace. Code that
took its own reference to such a function (`from math import sqrt`) does not trace either.
"""

from __future__ import annotations

import builtins
import math
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from threading import get_ident
from types import CodeType, FunctionType
from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import core as _jax_core
from jax._src.export import shape_poly as _shape_poly
from jax._src.lax.control_flow import loops as _loops
from jax._src.numpy import fft as _fft

from certgrad.obligations.tracing.size_residuals import keeping_sizes
from certgrad.process.threads import Kept, one_at_a_time

_DimExpr: Any = _shape_poly._DimExpr
_OF_NUMBERS = "sqrt log log2 log1p exp tanh sin cos".split()
_OF_SHAPES = "zeros ones full eye identity arange tril triu".split()

_symbolic_places = Kept()
"""Where code made an array of a symbolic size: it is traced there at numbers too, so that programs can be compared."""


@one_at_a_time
def arithmetic_of_dimensions(from_library: Callable[[str], bool]) -> Iterator[None]:
    """Let this thread's code outside the libraries compute with dimensions as it does with integers."""
    thread = get_ident()

    def power(self: Any, exponent: Any, modulo: Any = None) -> Any:
        fractional = isinstance(exponent, float) or (isinstance(exponent, int) and exponent < 0)
        if fractional and modulo is None and get_ident() == thread:
            return self.__jax_array__() ** float(exponent)
        return plain_power(self, exponent, modulo)

    quotients: dict[int, tuple[Any, Any, int]] = {}
    """The traced quotients of a dimension by a whole number, by their identity, with what was divided."""

    def quotient(self: Any, divisor: Any) -> Any:
        found = plain_quotient(self, divisor)
        if type(divisor) is int and divisor > 0 and get_ident() == thread:
            quotients[id(found)] = found, self, divisor
        return found

    def of_quotients(own: Callable, whole: Callable[[Any, int], Any]) -> Callable:
        """`math.ceil(n / c)` and `math.floor(n / c)`: floats round a quotient of sizes below 2⁵² across no integer."""

        def call(value: Any, /) -> Any:
            if get_ident() == thread and id(value) in quotients and _is_called_by_user_code(from_library):
                return whole(*quotients[id(value)][1:])
            return own(value)

        return call

    def of_numbers(own: Callable, traced: Callable) -> Callable:
        def call(*args: Any, **kwargs: Any) -> Any:
            if get_ident() == thread and args and _traced(args[0]) and _is_called_by_user_code(from_library):
                value = args[0] if isinstance(args[0], jax.core.Tracer) else args[0].__jax_array__()
                return traced(value, *args[1:], **kwargs)
            return own(*args, **kwargs)

        return call

    def of_shapes(own: Callable, traced: Callable) -> Callable:
        def call(*args: Any, **kwargs: Any) -> Any:
            if get_ident() != thread:
                return own(*args, **kwargs)
            frame = sys._getframe(1)
            place = frame.f_code.co_filename, frame.f_lineno
            if any(map(_symbolic, (*args, *kwargs.values()))) and not from_library(place[0]):
                _symbolic_places.table[place] = None
            return (traced if place in _symbolic_places.table else own)(*args, **kwargs)

        return call

    def of_sizes(force: Any, value: Any, context: str = "") -> Any:
        """Return a size as an int where JAX's functions need one, as `jnp.indices` does."""
        if force is operator.index and type(value) is _DimExpr and get_ident() == thread:
            return value
        return plain_int(force, value, context)

    def scan_length(xs: list[Any], types: list[Any], length: Any = None) -> Any:
        """`lax.scan(step, init, length=n)`: JAX asks for an int there, and binds the size of an array as it is."""
        if type(length) is _DimExpr and get_ident() == thread:
            if not xs:
                return length
            if (of_arrays := plain_length(xs, types, None)) == length:
                return of_arrays
        return plain_length(xs, types, length)

    class Operators:
        """`jnp.fft` asks each length for its int by `operator.index`."""

        @staticmethod
        def index(value: Any) -> Any:
            own = type(value) is _DimExpr and get_ident() == thread
            return value if own else operator.index(value)

    plain_length = _loops._infer_scan_length
    plain_power, plain_quotient = _DimExpr.__pow__, _DimExpr.__truediv__
    plain_int = _jax_core.concrete_or_error
    plain_call = jax.custom_vjp.__call__
    kept = keeping_sizes(plain_call, lambda: get_ident() == thread)
    changed: list[tuple[Any, str, Any, Any]] = [
        (_DimExpr, "__pow__", plain_power, power),
        (_DimExpr, "__truediv__", plain_quotient, quotient),
        (math, "ceil", math.ceil, of_quotients(math.ceil, lambda size, divisor: -(-size // divisor))),
        (math, "floor", math.floor, of_quotients(math.floor, operator.floordiv)),
        (_jax_core, "concrete_or_error", plain_int, of_sizes),
        (_loops, "_infer_scan_length", plain_length, scan_length),
        (_fft, "operator", operator, Operators),
        (jax.custom_vjp, "__call__", plain_call, kept),
    ]
    for module in (math, np):
        for name in _OF_NUMBERS:
            own = getattr(module, name)
            changed.append((module, name, own, of_numbers(own, getattr(jnp, name))))
    for name in _OF_SHAPES:
        own = getattr(np, name)
        changed.append((np, name, own, of_shapes(own, getattr(jnp, name))))
    try:
        for owner, name, _, new in changed:
            setattr(owner, name, new)
        yield
    finally:
        for owner, name, own, _ in changed:
            setattr(owner, name, own)


@dataclass(frozen=True)
class Answers:
    """The answers to code that asked by `isinstance` whether a value is traced."""

    modules: frozenset[int]
    """Whose questions were heard: the identities of their global variables."""
    told: set[CodeType]
    """The code that was told once that a value is traced which is an array where the code runs."""
    handed_on: set[CodeType]
    """The code that was told of a traced value what is not so of a number of Python's, or an array of numpy's, which
    JAX hands on as it is."""

    def never(self, function: FunctionType, codes: Iterable[CodeType]) -> bool:
        """Return whether none of the values that the function's own code asked about was traced by certgrad alone."""
        return id(function.__globals__) in self.modules and self.told.isdisjoint(codes)


@one_at_a_time
def sizes_as_integers(functions: Iterable[Any]) -> Iterator[Answers]:
    """Let the functions' modules find that a dimension is an int, as it is where their code runs.

    What the code goes on to ask is then asked of the dimension, and recorded. `isinstance`, `hasattr` and `len` have
    another meaning in these modules meanwhile, for dimensions alone; certgrad's own, which work on dimensions, keep
    theirs.
    Where `isinstance` says of a traced value that it is one, that is noted; and where either says what is not so of a
    number of Python's or an array of numpy's: `as_handed_on` has that answered otherwise.
    """
    thread, told, handed_on = get_ident(), set[CodeType](), set[CodeType]()

    def otherwise(value: Any, answer: bool, of_another: Callable[[Any], bool]) -> bool:
        """Return the answer, or the one for a number or an array of numpy's where `as_handed_on` asks for it."""
        if all(of_another(one) == answer for one in _handed_on(value)):
            return answer
        handed_on.add(sys._getframe(2).f_code)
        return answer != _OTHERWISE.get()

    def heard(value: Any) -> bool:
        return builtins.isinstance(value, jax.core.Tracer) and get_ident() == thread and not _in_a_body(value)

    def as_it_runs(value: Any, kind: Any, /) -> bool:
        if heard(value):
            if _names_tracers(kind):
                told.add(sys._getframe(1).f_code)
            else:
                answer = builtins.isinstance(value, kind)
                return otherwise(value, answer, lambda one: builtins.isinstance(one, kind))
        return builtins.isinstance(0 if type(value) is _DimExpr else value, kind)

    def has_attribute(value: Any, name: str, /) -> bool:
        answer = builtins.hasattr(0 if type(value) is _DimExpr else value, name)
        return otherwise(value, answer, lambda one: builtins.hasattr(one, name)) if heard(value) else answer

    def length(value: Any, /) -> Any:
        """Python's own makes an int of what an array says."""
        sizes = value.shape if builtins.isinstance(value, jax.core.Tracer) and get_ident() == thread else ()
        return sizes[0] if sizes and type(sizes[0]) is _DimExpr else builtins.len(value)

    # Not `getattr`: who reads an attribute, of JAX's settings say, is seen by the frame around.
    heard_names = {"isinstance": as_it_runs, "hasattr": has_attribute, "len": length}
    modules = {id(f.__globals__): f.__globals__ for f in functions if isinstance(f, FunctionType)}
    before = {
        key: {name: own for name in heard_names if _is_pythons(own := names.get(name))}
        for key, names in modules.items()
        if not _works_on_dimensions(names)
    }
    try:
        for key, own in before.items():
            modules[key].update((name, heard_names[name]) for name in own)
        yield Answers(frozenset(key for key, own in before.items() if "isinstance" in own), told, handed_on)
    finally:
        for key, own in before.items():
            for name, value in own.items():
                if value is None:
                    del modules[key][name]
                else:  # inside another such block
                    modules[key][name] = value


def _is_pythons(value: Any) -> bool:
    """Return whether a module's name has Python's own function for its value."""
    return getattr(value, "__module__", __name__) == __name__


_BODIES = frozenset({"scan", "while_cond", "while_body", "fori_loop", "cond", "switch", "checkpoint / remat"})
"""What JAX calls the traces that it makes of functions which it is given, whether or not it is tracing already.

Those of `jit` are called as that of a whole program is, and of custom functions it makes none where these run.
"""


def _in_a_body(value: Any) -> bool:
    """Return whether the value belongs to a trace that JAX makes where the code runs as well."""
    frame = getattr(getattr(value, "_trace", None), "frame", None)
    return getattr(getattr(frame, "debug_info", None), "traced_for", None) in _BODIES


_OTHERWISE: ContextVar[bool] = ContextVar("_OTHERWISE", default=False)


@contextmanager
def as_handed_on() -> Iterator[None]:
    """Answer questions on the type of a traced value as for the Python numbers or numpy arrays that JAX may hand on."""
    token = _OTHERWISE.set(True)
    try:
        yield
    finally:
        _OTHERWISE.reset(token)


def _handed_on(value: Any) -> list[Any]:
    """Return the values beside arrays of JAX's that may stand for a traced value where code runs outside of `jit`."""
    if not isinstance(value.dtype, np.dtype):  # a key
        return []
    whole = np.zeros((), value.dtype)
    return [whole, _array(), *((whole.item(), whole[()]) if value.ndim == 0 else ())]


@cache
def _array() -> jax.Array:
    """Outside of any trace."""
    with jax.ensure_compile_time_eval():
        return jnp.zeros(())


def _names_tracers(kind: Any) -> bool:
    """Return whether the second argument of `isinstance` has JAX's tracers among its classes."""
    if classes := kind if isinstance(kind, tuple) else get_args(kind):
        return any(map(_names_tracers, classes))
    return isinstance(kind, type) and issubclass(kind, jax.core.Tracer)


def _works_on_dimensions(module: Mapping[str, Any]) -> bool:
    """Return whether the module is part of certgrad, and holds no ops."""
    name = f"{module.get('__name__')}."
    return name.startswith("certgrad.") and not name.startswith("certgrad.ops.")


def _traced(value: Any) -> bool:
    """Return whether it is a dimension, a traced value, or a number that is left open and stands for one."""
    if isinstance(value, (np.ndarray, jax.Array)):
        return isinstance(value, jax.core.Tracer)
    return hasattr(value, "__jax_array__")


def _symbolic(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_symbolic, value))
    return isinstance(value, (_DimExpr, jax.core.Tracer))


def _is_called_by_user_code(from_library: Callable[[str], bool]) -> bool:
    """Return whether code other than JAX's, numpy's and the standard library's called."""
    return not from_library(sys._getframe(2).f_code.co_filename)


def number_of(name: str, operands: list[float], params: dict[str, Any]) -> float | None:
    """Return the number that Python computes for an equation between numbers; None for other equations."""
    compute = _PYTHON.get(name)
    if compute is None:
        return None
    try:
        if name == "integer_pow":
            return float(operands[0] ** params["y"])
        return float(compute(*operands))
    except (ArithmeticError, ValueError):
        return None


_PYTHON: dict[str, Callable[..., float]] = {
    **{name: getattr(math, name) for name in "sqrt log log1p exp tanh sin cos".split()},
    **{name: getattr(operator, name) for name in "add sub mul neg pow".split()},
    "div": operator.truediv,
    "integer_pow": pow,
    "rsqrt": lambda x: x**-0.5,
}
