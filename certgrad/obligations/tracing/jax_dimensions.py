"""Arithmetic on dimensions that JAX's symbols refuse, while tracing: `d ** -0.5`, `math.sqrt(d)`, `np.zeros((n, d))`.

Where Python would compute a number, the trace computes the same number from the dimension, by an equation. A traced
value cannot be compared or turned into a Python number, so code that branches on the result does not trace. Code that
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
"""Places in code (file, line) where it made a numpy array of a symbolic size. At numbers JAX makes the array there too,
so that the programs can be compared."""


@one_at_a_time
def arithmetic_of_dimensions(from_library: Callable[[str], bool]) -> Iterator[None]:
    """Let this thread's code outside the libraries compute with dimensions as it does with integers, in the context.

    Functions of Python, numpy and JAX are replaced; each replacement does what the plain one does for other threads and
    for other values than dimensions.
    """
    thread = get_ident()

    def power(self: Any, exponent: Any, modulo: Any = None) -> Any:
        fractional = isinstance(exponent, float) or (isinstance(exponent, int) and exponent < 0)
        if fractional and modulo is None and get_ident() == thread:
            return self.__jax_array__() ** float(exponent)
        return plain_power(self, exponent, modulo)

    quotients: dict[int, tuple[Any, Any, int]] = {}
    """By the `id` of a traced quotient: the quotient, kept alive, and the dimension and whole number it was made of."""

    def quotient(self: Any, divisor: Any) -> Any:
        result = plain_quotient(self, divisor)
        if type(divisor) is int and divisor > 0 and get_ident() == thread:
            quotients[id(result)] = result, self, divisor
        return result

    def of_quotients(own: Callable, whole: Callable[[Any, int], Any]) -> Callable:
        """Compute `math.ceil(n / c)` and `math.floor(n / c)` by integers.

        The result is that of floats, as these round a quotient of sizes below 2⁵² across no integer.
        """

        def call(value: Any, /) -> Any:
            if get_ident() == thread and id(value) in quotients and _is_called_by_user_code(from_library):
                return whole(*quotients[id(value)][1:])
            return own(value)

        return call

    def of_numbers(own: Callable, traced: Callable) -> Callable:
        """Return a function of numbers that is JAX's (`traced`) for dimensions and traced values in users' code."""

        def call(*args: Any, **kwargs: Any) -> Any:
            if get_ident() == thread and args and _traced(args[0]) and _is_called_by_user_code(from_library):
                value = args[0] if isinstance(args[0], jax.core.Tracer) else args[0].__jax_array__()
                return traced(value, *args[1:], **kwargs)
            return own(*args, **kwargs)

        return call

    def of_shapes(own: Callable, traced: Callable) -> Callable:
        """Return a function that makes arrays by JAX (`traced`) where users' code once asked for a symbolic size."""

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
        """Return a dimension as it is where a function of JAX's, such as `jnp.indices`, turns a size into an int."""
        if force is operator.index and type(value) is _DimExpr and get_ident() == thread:
            return value
        return plain_int(force, value, context)

    def scan_length(xs: list[Any], types: list[Any], length: Any = None) -> Any:
        """Accept a dimension in `lax.scan(step, init, length=n)`, where JAX asks for an int.

        Where arrays are scanned over, the length that JAX takes from them is used, if it is this dimension.
        """
        if type(length) is _DimExpr and get_ident() == thread:
            if not xs:
                return length
            if (of_arrays := plain_length(xs, types, None)) == length:
                return of_arrays
        return plain_length(xs, types, length)

    class Operators:
        """Stands for the module `operator` in `jnp.fft`, which asks each length for its int by `operator.index`."""

        @staticmethod
        def index(value: Any) -> Any:
            own = type(value) is _DimExpr and get_ident() == thread
            return value if own else operator.index(value)

    plain_length = _loops._infer_scan_length
    plain_power, plain_quotient = _DimExpr.__pow__, _DimExpr.__truediv__
    plain_int = _jax_core.concrete_or_error
    plain_call = jax.custom_vjp.__call__
    keeping = keeping_sizes(plain_call, lambda: get_ident() == thread)
    # Each row: where an attribute is, its name, its plain value, and its replacement in the context.
    replaced: list[tuple[Any, str, Any, Any]] = [
        (_DimExpr, "__pow__", plain_power, power),
        (_DimExpr, "__truediv__", plain_quotient, quotient),
        (math, "ceil", math.ceil, of_quotients(math.ceil, lambda size, divisor: -(-size // divisor))),
        (math, "floor", math.floor, of_quotients(math.floor, operator.floordiv)),
        (_jax_core, "concrete_or_error", plain_int, of_sizes),
        (_loops, "_infer_scan_length", plain_length, scan_length),
        (_fft, "operator", operator, Operators),
        (jax.custom_vjp, "__call__", plain_call, keeping),
    ]
    for module in (math, np):
        for name in _OF_NUMBERS:
            own = getattr(module, name)
            replaced.append((module, name, own, of_numbers(own, getattr(jnp, name))))
    for name in _OF_SHAPES:
        own = getattr(np, name)
        replaced.append((np, name, own, of_shapes(own, getattr(jnp, name))))
    try:
        for owner, name, _, new in replaced:
            setattr(owner, name, new)
        yield
    finally:
        for owner, name, own, _ in replaced:
            setattr(owner, name, own)


@dataclass(frozen=True)
class Answers:
    """What code was told by `isinstance` and `hasattr` of traced values while it was traced."""

    modules: frozenset[int]
    """The ids of the globals of the modules whose `isinstance` was replaced, so that its calls were recorded."""
    told: set[CodeType]
    """Code that asked whether a value is a tracer and was told so, where the value is an array when the code runs."""
    handed_on: set[CodeType]
    """Code that was told of a traced value what does not hold of a Python number or a numpy array: outside of `jit` JAX
    may hand these on as they are."""

    def never(self, function: FunctionType, codes: Iterable[CodeType]) -> bool:
        """Return whether a function's own code never asked of a value whether it is traced that only certgrad traces.

        `codes` are the code objects of the function and of functions inside it. False where its questions were not
        recorded.
        """
        return id(function.__globals__) in self.modules and self.told.isdisjoint(codes)


@one_at_a_time
def sizes_as_integers(functions: Iterable[Any]) -> Iterator[Answers]:
    """Let the functions' modules find that a dimension is an int, as it is where their code runs; yield what code asks.

    What the code goes on to ask is then asked of the dimension, and recorded. For this `isinstance`, `hasattr` and
    `len` are replaced in the modules of the functions, but not in certgrad's own, which work on dimensions. The
    replacements also record where `isinstance` confirms that a traced value is a tracer, and where an answer about a
    traced value does not hold of the Python numbers or numpy arrays that may stand for it: in `as_handed_on` such
    questions get the other answer.
    """
    thread, told, handed_on = get_ident(), set[CodeType](), set[CodeType]()

    def answered(value: Any, answer: bool, of_another: Callable[[Any], bool]) -> bool:
        """Return the answer; in `as_handed_on` its negation, if a number or numpy array that may stand here has it."""
        if all(of_another(plain) == answer for plain in _handed_on(value)):
            return answer
        handed_on.add(sys._getframe(2).f_code)
        return answer != _OTHERWISE.get()

    def is_traced(value: Any) -> bool:
        return builtins.isinstance(value, jax.core.Tracer) and get_ident() == thread and not _in_a_body(value)

    def as_it_runs(value: Any, kind: Any, /) -> bool:
        """Answer `isinstance(value, kind)` with an int in the place of a dimension, and record answers on tracers."""
        if is_traced(value):
            if _names_tracers(kind):
                told.add(sys._getframe(1).f_code)
            else:
                answer = builtins.isinstance(value, kind)
                return answered(value, answer, lambda plain: builtins.isinstance(plain, kind))
        return builtins.isinstance(0 if type(value) is _DimExpr else value, kind)

    def has_attribute(value: Any, name: str, /) -> bool:
        answer = builtins.hasattr(0 if type(value) is _DimExpr else value, name)
        return answered(value, answer, lambda plain: builtins.hasattr(plain, name)) if is_traced(value) else answer

    def length(value: Any, /) -> Any:
        """Return the length of a value, as a dimension if it is one: Python's own `len` turns it into an int."""
        sizes = value.shape if builtins.isinstance(value, jax.core.Tracer) and get_ident() == thread else ()
        return sizes[0] if sizes and type(sizes[0]) is _DimExpr else builtins.len(value)

    # `getattr` is not replaced: the frame that calls it tells which code reads an attribute, as of JAX's settings.
    replacements = {"isinstance": as_it_runs, "hasattr": has_attribute, "len": length}
    modules = {id(f.__globals__): f.__globals__ for f in functions if isinstance(f, FunctionType)}
    before = {
        key: {name: own for name in replacements if _is_pythons(own := names.get(name))}
        for key, names in modules.items()
        if not _works_on_dimensions(names)
    }
    try:
        for key, own in before.items():
            modules[key].update((name, replacements[name]) for name in own)
        yield Answers(frozenset(key for key, own in before.items() if "isinstance" in own), told, handed_on)
    finally:
        for key, own in before.items():
            for name, value in own.items():
                if value is None:
                    del modules[key][name]
                else:  # inside another such context, whose replacement it was
                    modules[key][name] = value


def _is_pythons(value: Any) -> bool:
    """Return whether a module's value for a builtin's name is not its own: it is None, or a replacement made here."""
    return getattr(value, "__module__", __name__) == __name__


_BODIES = frozenset({"scan", "while_cond", "while_body", "fori_loop", "cond", "switch", "checkpoint / remat"})
"""JAX's names for the traces that it makes of bodies of loops, branches and the like, even where nothing else traces.

Traces of `jit` have the same name as that of a whole program, and custom functions are not traced where they run.
"""


def _in_a_body(value: Any) -> bool:
    """Return whether a value belongs to a trace that JAX also makes where the code runs (see `_BODIES`)."""
    frame = getattr(getattr(value, "_trace", None), "frame", None)
    return getattr(getattr(frame, "debug_info", None), "traced_for", None) in _BODIES


_OTHERWISE: ContextVar[bool] = ContextVar("_OTHERWISE", default=False)


@contextmanager
def as_handed_on() -> Iterator[None]:
    """In the context, answer questions on the type of a traced value as for a Python number or a numpy array.

    JAX may hand such values on to code outside of `jit`.
    """
    token = _OTHERWISE.set(True)
    try:
        yield
    finally:
        _OTHERWISE.reset(token)


def _handed_on(value: Any) -> list[Any]:
    """Return examples of the values that may stand for a traced value where code runs outside of `jit`.

    These are arrays of numpy's and of JAX's, and for a scalar numbers of Python's and numpy's; [] for random keys.
    """
    if not isinstance(value.dtype, np.dtype):  # a key
        return []
    whole = np.zeros((), value.dtype)
    return [whole, _array(), *((whole.item(), whole[()]) if value.ndim == 0 else ())]


@cache
def _array() -> jax.Array:
    """Return an array of JAX's that is in no trace."""
    with jax.ensure_compile_time_eval():
        return jnp.zeros(())


def _names_tracers(kind: Any) -> bool:
    """Return whether the second argument of `isinstance` has JAX's tracers among its classes."""
    if classes := kind if isinstance(kind, tuple) else get_args(kind):
        return any(map(_names_tracers, classes))
    return isinstance(kind, type) and issubclass(kind, jax.core.Tracer)


def _works_on_dimensions(module: Mapping[str, Any]) -> bool:
    """Return whether a module is part of certgrad, and holds no ops."""
    name = f"{module.get('__name__')}."
    return name.startswith("certgrad.") and not name.startswith("certgrad.ops.")


def _traced(value: Any) -> bool:
    """Return whether a value is a dimension, a traced value, or an open parameter, which stands for a traced value."""
    if isinstance(value, (np.ndarray, jax.Array)):
        return isinstance(value, jax.core.Tracer)
    return hasattr(value, "__jax_array__")


def _symbolic(value: Any) -> bool:
    """Return whether a value is a dimension or traced, or a tuple or list with such a value."""
    if isinstance(value, (tuple, list)):
        return any(map(_symbolic, value))
    return isinstance(value, (_DimExpr, jax.core.Tracer))


def _is_called_by_user_code(from_library: Callable[[str], bool]) -> bool:
    """Return whether the function that asks this was called by code of no library."""
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
