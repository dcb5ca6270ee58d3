"""Terms: values as data, by what they are computed from. Layers: functions of terms that chain with `>>`.

A term that is used twice is computed once; a term that is written twice is computed twice, as in the traced function.
"""

from __future__ import annotations

import inspect
import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from certgrad.errors import SignatureError, UsageError
from certgrad.graph.ir import ArrayType
from certgrad.graph.tracing import jaxpr
from certgrad.graph.tracing.spec import Argument, split_name
from certgrad.obligations.tracing.jax_internals import symbols, wide_floats
from certgrad.process.threads import Kept
from certgrad.signatures.signature import ArraySpec, parse
from certgrad.signatures.sizes import Size, Star

Number = bool | int | float
Sizes = Mapping[str, Any]
Function = Callable[..., Any]
_serials = itertools.count()


class Chainable:
    """An element of a chain: `linear(W, b) >> relu >> linear(V, c)`."""

    def __rshift__(self, then: Any) -> Layer:
        return Layer((*_steps(self), *_steps(then)))

    def __rrshift__(self, first: Any) -> Layer:
        return Layer((*_steps(first), *_steps(self)))


@dataclass(frozen=True, eq=False)
class Operation(Chainable):
    """A named operation with two meanings of the same arguments: one on JAX's arrays, one on numpy's.

    Called with all its arguments it gives a term; called without the first argument, a layer that waits for it. An
    operation of one argument is itself a layer in a chain.
    """

    name: str
    arguments: tuple[str, ...]
    jax: Function
    numpy: Function
    shapes: tuple[str, ...] = ()
    """The names of keyword arguments that are shapes, written as specs: `"n 2*d"`."""

    def __call__(self, *args: Any, **statics: Any) -> Any:
        if len(args) == len(self.arguments):
            return apply(self, args, statics)
        if len(args) == len(self.arguments) - 1:
            place = jaxpr.current_traceback()
            return Layer((lambda x: apply(self, (x, *args), statics, place),))
        message = f"{self.name} was given {len(args)} arguments. It takes {', '.join(self.arguments) or 'none'}"
        if self.arguments:
            rest = ", ".join(self.arguments[1:]) or "none"
            message += f" to give a value, or {rest} to give a layer that waits for {self.arguments[0]}"
        raise UsageError(f"{message}.")


@dataclass(frozen=True, eq=False)
class Layer(Chainable):
    """A function of one term, made of steps that follow each other."""

    steps: tuple[Callable[[Any], Any], ...]

    def __call__(self, x: Any) -> Any:
        for step in self.steps:
            x = step(x)
        return x


def _steps(part: Any) -> tuple[Callable[[Any], Any], ...]:
    """Return the steps of a part of a chain: a layer, an operation or a function. Raises UsageError for another."""
    if isinstance(part, Layer):
        return part.steps
    if isinstance(part, Operation):  # its source is the line of the chain
        place = jaxpr.current_traceback()
        if len(part.arguments) != 1:
            raise UsageError(f"{part.name} in a chain takes {', '.join(part.arguments[1:])}: write {part.name}(…).")
        return (lambda x: apply(part, (x,), {}, place),)
    if callable(part):
        return (part,)
    raise UsageError(f"{part!r} cannot stand in a chain. Write a layer such as relu or linear(W, b), or a function.")


@dataclass(frozen=True, eq=False, repr=False)
class Term:
    """A value: an operation on other values, a variable or a constant. `type` is its shape and dtype."""

    operation: Operation | None
    args: tuple[Term | Number, ...]
    statics: Mapping[str, Any]
    aval: Any
    """The shape, over symbols that all terms share, and the dtype."""
    name: str = ""
    argument: Argument | None = None
    """The spec of a variable; None for another term."""
    value: Any = None
    """The array of a constant; None for another term."""
    place: Any = None
    """The traceback of the line where the term was written."""
    serial: int = field(default_factory=lambda: next(_serials))
    """A number by which terms are computed in the order in which they were written."""

    @property
    def type(self) -> ArrayType:
        return jaxpr.type_of(self.aval)

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(self.aval.shape)

    @property
    def ndim(self) -> int:
        return len(self.aval.shape)

    def __rshift__(self, then: Any) -> Any:
        return Layer(_steps(then))(self)

    def __repr__(self) -> str:
        return f"{self.name or (self.operation.name if self.operation else 'constant')}: {self.type}"

    def __bool__(self) -> bool:
        raise UsageError(f"{self!r} has no truth value: it stands for every value. Use where(mask, x, y).")

    def __iter__(self) -> Any:
        raise UsageError(f"{self!r} cannot be iterated over: it is one value.")

    # Set below: operators are those of the arrays that the term stands for.
    __array_ufunc__ = None


def _binary(name: str, function: Function, swapped: bool = False) -> Callable[[Term, Any], Any]:
    """Return the method of a binary operator on terms; `swapped` for one such as `__radd__`."""
    operation = Operation(name, ("x", "y"), function, function)

    def method(self: Term, other: Any) -> Any:
        if not isinstance(other, Term | int | float | np.generic):
            return NotImplemented
        return apply(operation, (other, self) if swapped else (self, other), {})

    return method


for _name in ("add", "sub", "mul", "truediv", "matmul", "pow"):
    _function = getattr(operator, _name)
    setattr(Term, f"__{_name}__", _binary(_name, _function))
    setattr(Term, f"__r{_name}__", _binary(_name, _function, swapped=True))
for _name in ("gt", "ge", "lt", "le"):
    setattr(Term, f"__{_name}__", _binary(_name, getattr(operator, _name)))
_NEG = Operation("neg", ("x",), operator.neg, operator.neg)
setattr(Term, "__neg__", lambda self: apply(_NEG, (self,), {}))  # noqa: B010


def apply(operation: Operation, args: Sequence[Any], statics: Mapping[str, Any], place: Any = None) -> Term:
    """Return the term of an operation on these arguments. Raises UsageError, naming the line, if they do not fit."""
    place = place or jaxpr.current_traceback()
    for name, arg in zip(operation.arguments or map(str, range(len(args))), args, strict=True):
        if not isinstance(arg, Term | int | float | np.generic):
            raise UsageError(
                f"{operation.name}{_location_suffix(place)}: {name} is {_described(arg)}. "
                "Arguments are terms and numbers; write constant(…) around an array."
            )
    return Term(operation, tuple(args), statics, _type_of(operation, args, statics, place), place=place)


def _described(arg: Any) -> str:
    return "a layer that waits for an argument" if isinstance(arg, Chainable) else f"{type(arg).__name__} {arg!r}"


_avals = Kept()


def _type_of(operation: Operation, args: Sequence[Any], statics: Mapping[str, Any], place: Any) -> Any:
    """Return the shape and dtype of the result, as JAX infers them at the arguments' symbolic shapes.

    Raises UsageError where the arguments do not fit, or the result is not one array.
    """
    key = (operation, tuple(_kind(a) for a in args), repr(sorted(statics.items())))
    aval = _avals.table.get(key)
    if aval is None:
        terms = [a for a in args if isinstance(a, Term)]

        def run(*arrays: Any) -> Any:
            arrays_left = iter(arrays)
            return operation.jax(*(next(arrays_left) if isinstance(a, Term) else a for a in args), **resolved)

        # Terms are arguments of the traced function; Python's numbers stay what they are.
        try:
            with wide_floats():
                resolved = sized(operation, statics, _SYMBOLS)
                aval = jax.eval_shape(run, *(a.aval for a in terms))
        except Exception as error:
            shapes = ", ".join(
                f"{n} {a.type if isinstance(a, Term) else a}" for n, a in _named_arguments(operation, args)
            )
            text = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise UsageError(f"{operation.name}{_location_suffix(place)} does not take {shapes}: {text}") from error
        if not hasattr(aval, "shape"):
            raise UsageError(
                f"{operation.name}{_location_suffix(place)} gives {aval}, not one array. Lift a part of it."
            )
        _avals.table[key] = aval
    return aval


def _named_arguments(operation: Operation, args: Sequence[Any]) -> list[tuple[str, Any]]:
    return list(zip(operation.arguments or [f"x{k}" for k in range(len(args))], args, strict=True))


def _kind(arg: Any) -> Any:
    return (arg.aval.shape, arg.aval.dtype) if isinstance(arg, Term) else (type(arg), arg)


def _location_suffix(place: Any) -> str:
    source, _ = jaxpr.place_of(place)
    return f" at {source}" if source else ""


class _Symbols(dict[str, Any]):
    """The symbol of JAX for each dimension name, which all terms share."""

    def __missing__(self, name: str) -> Any:
        self[name] = symbols([name], shared=True)[name]
        return self[name]


_SYMBOLS = _Symbols()


def sized(operation: Operation, statics: Mapping[str, Any], sizes: Sizes) -> dict[str, Any]:
    """Return an operation's keyword arguments, with shapes that are written as specs evaluated at these sizes."""
    return {k: shape_of(v, sizes) if k in operation.shapes else v for k, v in statics.items()}


def shape_of(shape: Any, sizes: Sizes) -> tuple[Any, ...]:
    """Return the shape that `"n 2*d"`, or a tuple of names and integers, writes, at these sizes."""
    return tuple(d.evaluate(sizes) for d in _dims(shape))


def _dims(shape: Any) -> tuple[Size, ...]:
    text = shape if isinstance(shape, str) else " ".join(map(str, shape))
    spec = _spec(text, text)
    return tuple(d for d in spec.dims if isinstance(d, Size))


def _spec(body: str, text: str) -> ArraySpec:
    """Return the shape that a spec without its name writes; `text` is the whole spec. Raises UsageError."""
    try:
        specs = parse(f"{body} ->").inputs
    except SignatureError as error:
        first = str(error).splitlines()[0].removeprefix("The signature does not parse: ")
        raise UsageError(
            f"The spec '{text}' does not parse: {first} Example: 'x: n d', or 'x:' for a scalar."
        ) from None
    if len(specs) != 1 or any(isinstance(d, Star) for d in specs[0].dims):
        raise UsageError(f"The spec '{text}' must be the shape of one array at one rank, such as 'x: n d'.")
    return specs[0]


def dims_of(term: Term) -> tuple[str, ...]:
    """Return the dimension names in the spec of a variable, or in the shapes among a term's keyword arguments."""
    if term.argument is not None:
        return tuple(n for d in term.argument.spec.dims if isinstance(d, Size) for n in d.names)
    shapes = term.operation.shapes if term.operation else ()
    return tuple(n for k in shapes if k in term.statics for d in _dims(term.statics[k]) for n in d.names)


# --- what terms are made of


def variable(spec: str) -> Term:
    """Return a named array, a parameter or an input: `variable("W: h d")`, `variable("labels: n:int")`.

    Raises UsageError for a spec without a name, or one that does not parse.
    """
    name, body = split_name(spec) if isinstance(spec, str) else (None, "")
    if name is None:
        raise UsageError(f"The spec {spec!r} of a variable has no name. Write it as 'x: n d', or 'x:' for a scalar.")
    argument = Argument(name, _spec(body, spec))
    aval = jax.ShapeDtypeStruct(shape_of(_text(argument), _SYMBOLS), argument.dtype(wide=True))
    return Term(None, (), {}, aval, name=name, argument=argument, place=jaxpr.current_traceback())


def _text(argument: Argument) -> str:
    return " ".join(str(d) for d in argument.spec.dims)


def variables(*specs: str) -> tuple[Term, ...]:
    """Return several variables: `W, b, x = variables("W: h d", "b: h", "x: n d")`."""
    return tuple(variable(spec) for spec in specs)


def constant(value: Any, name: str = "") -> Term:
    """Return an array that is part of the program. Raises UsageError for another dtype than numbers and booleans."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise UsageError(f"A constant of dtype {array.dtype} is no array of real numbers, integers or booleans.")
    aval = jax.ShapeDtypeStruct(array.shape, np.float64 if array.dtype.kind == "f" else array.dtype)
    return Term(None, (), {}, aval, name=name, value=array, place=jaxpr.current_traceback())


def let(*values_and_body: Any) -> Any:
    """Return the body's result for values that are computed once: `let(value, lambda h: …)`.

    Several values are several arguments: `let(q, k, lambda q, k: …)`. Printed, they have the names of the body's
    arguments.
    """
    *values, body = values_and_body
    if not values or not callable(body) or not all(isinstance(v, Term) for v in values):
        raise UsageError("let takes values and then a function of them: let(x @ W, lambda h: relu(h) + h).")
    names = list(inspect.signature(body).parameters)
    if len(names) != len(values):
        raise UsageError(f"let was given {len(values)} values, but its function takes {', '.join(names) or 'none'}.")
    return body(*(_bound(v, n) for v, n in zip(values, names, strict=True)))


_LET = Operation("let", ("value",), lambda x: x, lambda x: x)


def _bound(value: Term, name: str) -> Term:
    return Term(_LET, (value,), {}, value.aval, name=name, place=value.place)


def lift(function: Function, numpy: Function | None = None, name: str = "") -> Operation:
    """Return any function of arrays as an operation: `lift(certgrad.ops.gelu)`, `lift(jnp.tanh, numpy=np.tanh)`.

    Its positional arguments are terms, its keyword arguments are static. Without `numpy`, evaluation runs the function
    itself, in float64.
    """
    title = name or getattr(function, "name", "") or getattr(function, "__name__", "function")
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise UsageError(f"{title} has no signature to lift. Write a function around it: lift(lambda x: …).") from None
    names = tuple(
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
    )
    return Operation(title, names, function, numpy or as_it_runs(function))


def as_it_runs(function: Function) -> Function:
    """Return a function of JAX's arrays as one of numpy's, run with 64-bit numbers."""

    def run(*args: Any, **statics: Any) -> Any:
        with wide_floats():
            return np.asarray(function(*(jax.numpy.asarray(a) for a in args), **statics))

    return run
