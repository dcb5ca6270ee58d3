"""All of `certgrad.graph` that touches JAX's internals: equations as functions, their place in the user's source, and
programs at symbolic dimensions run at concrete ones."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, cast

import jax
import numpy as np
from jax._src import source_info_util
from jax._src.export import shape_poly
from jax._src.interpreters import ad
from jax.errors import InconclusiveDimensionOperation
from jax.extend import core as jex

import certgrad
from certgrad.graph.ir import ArrayType, Literal
from certgrad.graph.tracing.numbers import Numbers, OwnNumbers
from certgrad.jaxpr.kinds import SUMS
from certgrad.jaxpr.linear import LINEAR
from certgrad.jaxpr.programs import bound, results
from certgrad.obligations.tracing.jax_internals import (
    DimExpr,
    Program,
    data_of,
    equations_of,
    inner_program,
    is_literal,
    jaxpr_of,
    kind_of,
    program_of,
    sampler,
    symbols,
)
from certgrad.process.threads import Kept
from certgrad.signatures.sizes import Size, parse_size

Dims = Mapping[str, Any]
_PACKAGE = str(Path(certgrad.__file__).parent) + os.sep
_OPS = f"{_PACKAGE}ops{os.sep}"
_TRACE = f"{_PACKAGE}graph{os.sep}tracing{os.sep}trace.py"
"""The file that calls the function which is traced: frames inside of that call are the function's."""
_INSTALLED = f"{os.sep}site-packages{os.sep}"
UnknownDimensionError = shape_poly.UnexpectedDimVar
"""JAX's error for a dimension whose size was not given."""


@dataclass(frozen=True, eq=False)
class Equation:
    """One equation of a jaxpr as a function of its variables: its operands without literals, each once.

    Nodes that differ only in their operands and source lines share one `Equation`.
    """

    eqn: Any
    jaxpr: Any
    wide: bool = True
    """Whether it was traced with 64-bit numbers, and so whether its rules run with them."""

    @cached_property
    def name(self) -> str:
        return str(self.eqn.primitive.name)

    @cached_property
    def variables(self) -> list[Any]:
        return list(dict.fromkeys(v for v in self.eqn.invars if not is_literal(v)))

    @cached_property
    def positions(self) -> list[int]:
        """Return where each of `variables` first stands among the operands."""
        first = {v: k for k, v in reversed(list(enumerate(self.eqn.invars))) if not is_literal(v)}
        return [first[v] for v in self.variables]

    @cached_property
    def real(self) -> list[bool | None]:
        """Whether each of `variables` is real; None for booleans, of which no sign is known."""
        kinds = [kind_of(v.aval.dtype) for v in self.variables]
        return [None if kind == "b" else kind == "f" for kind in kinds]

    @cached_property
    def real_outputs(self) -> list[int]:
        """Return which of its outputs are real."""
        return [k for k, out in enumerate(self.output_types) if out.real]

    @cached_property
    def without_reals(self) -> bool:
        """Whether none of its operands and outputs is real."""
        return not any(self.real) and not self.real_outputs

    @cached_property
    def operand_types(self) -> list[ArrayType]:
        return [type_of(v.aval) for v in self.eqn.invars]

    @cached_property
    def literals(self) -> list[Literal | None]:
        """Return the literal for each operand that is a scalar of the program text, and None for each other operand."""
        return [literal_of(v) if is_literal(v) and not np.ndim(v.val) else None for v in self.eqn.invars]

    @cached_property
    def scalars(self) -> int:
        """The number of operands that are scalars of the program text."""
        return sum(literal is not None for literal in self.literals)

    @cached_property
    def output_types(self) -> list[ArrayType]:
        return [type_of(v.aval) for v in self.eqn.outvars]

    def run(self, *args: Any) -> list[Any]:
        """Return the outputs at values of `variables`, differentiable by JAX's rules for this equation."""
        return list(jex.jaxpr_as_fun(self.program)(*args))

    def at(self, dims: Dims) -> Equation:
        """Return the equation with the dimensions in its parameters replaced; it must hold no program."""
        params = {k: replaced(v, dims) for k, v in self.eqn.params.items()}
        return Equation(self.eqn.replace(params=params), self.jaxpr, self.wide)

    @cached_property
    def inner(self) -> Program | None:
        return inner_program(self.eqn)

    @cached_property
    def primitives(self) -> tuple[Any, ...]:
        """Return the primitives (JAX's objects) of the equation and of the programs that it calls, in order."""
        return tuple(_primitives(self.eqn))

    @cached_property
    def holds_program(self) -> bool:
        """Whether a parameter is a program or a rule, so that the equation belongs to the shapes it was traced at."""
        return any(is_program(v) for k, v in self.eqn.params.items() if k != "update_jaxpr")

    @cached_property
    def program(self) -> Program:
        """Return the equation as a program of its own, whose arguments are `variables`."""
        parts = {"constvars": [], "invars": self.variables, "outvars": list(self.eqn.outvars), "eqns": [self.eqn]}
        return cast(Program, jex.ClosedJaxpr(self.jaxpr.replace(**parts), []))


def type_of(aval: Any) -> ArrayType:
    """Return shape and dtype of an abstract array."""
    if all(isinstance(d, int) for d in aval.shape):
        return _type(tuple(aval.shape), aval.dtype)
    return ArrayType(shape=[str(d) for d in aval.shape], dtype=str(aval.dtype))


@lru_cache(maxsize=256)
def dtype_name(dtype: Any) -> str:
    """Return a dtype's name, remembered because numpy is slow at it."""
    return str(dtype)


@lru_cache(maxsize=4096)
def _type(shape: tuple[int, ...], dtype: Any) -> ArrayType:
    return ArrayType(shape=[str(d) for d in shape], dtype=str(dtype))


def literal_of(atom: Any) -> Literal:
    """Return a literal of JAX, a scalar of the program text, as data."""
    value = np.asarray(atom.val)
    item = value.item()
    # The shortest decimal in its own dtype: 0.1 of float32 is not 0.10000000149011612.
    return Literal(text=repr(float(str(value))) if isinstance(item, float) else repr(item), dtype=str(atom.aval.dtype))


def bytes_of(value: Any) -> tuple[str, tuple[int, ...], bytes]:
    """Return dtype, shape and contents of a constant."""
    array = data_of(value)
    return str(getattr(value, "dtype", array.dtype)), array.shape, np.ascontiguousarray(array).tobytes()


def _primitives(eqn: Any) -> Iterator[Any]:
    yield eqn.primitive
    inner = inner_program(eqn)
    if inner is not None:
        for equation in inner.jaxpr.eqns:
            yield from _primitives(equation)


def primal_function(equation: Equation) -> Callable[..., list[Any]]:
    """Return the function of `variables` that a calling equation runs, with derivative rules inside left out."""
    inner = equation.inner
    assert inner is not None

    def run(*args: Any) -> list[Any]:
        values = dict(zip(equation.variables, args, strict=True))
        return _primal(inner, [v.val if is_literal(v) else values[v] for v in equation.eqn.invars])

    return run


def _primal(program: Program, args: Sequence[Any]) -> list[Any]:
    def rule(eqn: Any, values: list[Any]) -> list[Any]:
        inner = None if sampler(eqn) else inner_program(eqn)  # a random draw stays one call
        return bound(eqn, values) if inner is None else _primal(inner, values)

    return results(program, args, rule)


def program_equation(fn: Callable[..., Any], avals: Sequence[Any], wide: bool) -> Equation:
    """Return a function of arrays at these shapes and dtypes as one equation, a call of its program."""
    closed = jax.make_jaxpr(jax.jit(fn))(*avals)
    jaxpr = jaxpr_of(closed)
    (eqn,) = jaxpr.eqns
    return Equation(eqn.replace(invars=list(jaxpr.invars)), jaxpr, wide)


def captures(program: Program) -> bool:
    """Return whether the program has a value of an enclosing trace, a tracer of JAX, as a constant."""
    return any(isinstance(c, jax.core.Tracer) for c in program.consts)


def source_of(eqn: Any) -> tuple[str, str]:
    """Return the user's file and line of an equation (`mlp.py:12`), and the name of the function there."""
    return place_of(eqn.source_info.traceback)


def place_of(traceback: Any) -> tuple[str, str]:
    """Return the user's file and line in a traceback, and the name of the function there; "" where there is none.

    An operation in a library on top of JAX gets the line that calls the library. Where an op of certgrad is itself the
    function that is traced, the op's own lines count as the user's.
    """
    first = op_position = "", ""
    for frame in source_info_util.user_frames(traceback):
        position = f"{os.path.basename(frame.file_name)}:{frame.start_line}", frame.function_name
        if frame.file_name.startswith(_PACKAGE):
            if frame.file_name == _TRACE and op_position[0]:
                return first if first[0] else op_position
            if frame.file_name.startswith(_OPS) and not position[0].startswith("_"):
                op_position = position
            continue
        if _INSTALLED not in frame.file_name:
            return position
        first = first if first[0] else position
    return first


def current_traceback() -> Any:
    """Return the program's present source position, as equations record it."""
    return source_info_util.current().traceback


def as_written_at(traceback: Any) -> Any:
    """Return a context in which equations are traced with this traceback as their source."""
    return source_info_util.UserContextManager(traceback, name_stack=source_info_util.current().name_stack)


def called_name(program: Program) -> str:
    """Return the name of the function that an inner program was traced from; "" where it is unknown."""
    info = getattr(program.jaxpr, "debug_info", None)
    return str(getattr(info, "func_name", "") or "").split(" ")[0]


# --- dimensions


def dims_in(value: Any) -> list[str]:
    """Return the names of the dimension variables in a size, a shape or a parameter, in order of appearance."""
    if isinstance(value, DimExpr):
        return list(parse_size(value).names)
    if isinstance(value, tuple | list):
        return list(dict.fromkeys(n for v in value for n in dims_in(v)))
    return []


def dimension_table(names: Sequence[str], fixed: Mapping[str, Size]) -> dict[str, Any]:
    """Return a fresh symbol of JAX for each dimension; one in `fixed` gets the size given there: `1`, `n`, `2*n`."""
    used = [n for size in fixed.values() for n in size.names]
    table: dict[str, Any] = dict(symbols(list(dict.fromkeys([*(n for n in names if n not in fixed), *used]))))
    return table | {n: size.evaluate(table) for n, size in fixed.items()}


def is_positive(size: Any) -> bool:
    """Return whether the size is at least 1 whatever its dimension variables are: `n`, `2*n - 1`, but not `n - 1`."""
    try:
        return bool(size >= 1)
    except InconclusiveDimensionOperation:
        return False


def replaced(value: Any, dims: Dims) -> Any:
    """Return a size, a shape or a parameter with its dimension variables replaced by their values in `dims`."""
    if isinstance(value, DimExpr):
        out = value._evaluate(dict(dims))
        return out if isinstance(out, DimExpr) else int(out)
    if type(value) in (tuple, list):
        return type(value)(replaced(v, dims) for v in value)
    return value


# --- programs at concrete dimensions


def evaluate(program: Program, args: Sequence[Any], dims: Dims, numbers: Numbers) -> list[Any]:
    """Return the program's outputs at arrays of concrete shapes: `dims` gives the sizes, `numbers` the dtypes.

    A call inside runs its program; derivative rules play no part here.
    """
    rule = partial(evaluate_equation, dims=dims, numbers=numbers)
    return results(program, args, rule, lambda value, aval: numbers.value(value))


def evaluate_equation(eqn: Any, values: Sequence[Any], dims: Dims, numbers: Numbers) -> list[Any]:
    """Return the outputs of an equation at arrays of concrete shapes, with sizes `dims` and dtypes by `numbers`.

    A call is evaluated by its program; a random draw runs in the dtypes that it was traced in, and is then converted.
    """
    inner = inner_program(eqn)
    if inner is not None and sampler(eqn) and not isinstance(numbers, OwnNumbers):  # a draw depends on the dtype
        in_own_dtypes = [
            jax.numpy.asarray(x, v.aval.dtype) if kind_of(v.aval.dtype) in "fi" else x
            for x, v in zip(values, eqn.invars, strict=True)
        ]
        drawn = evaluate(inner, in_own_dtypes, dims, OwnNumbers(numbers.real, numbers.integer, numbers.precision))
        return [x.astype(numbers.dtype(x.dtype)) for x in drawn]
    if inner is not None:
        return evaluate(inner, values, dims, numbers)
    if eqn.primitive.name == "dim_as_value":
        return [jax.numpy.asarray(replaced(eqn.params["dim"], dims), numbers.integer)]
    params = {k: _at_run_time(v, dims, numbers) for k, v in eqn.params.items()}
    if params.get("update_jaxpr") is not None:
        params["update_jaxpr"] = _combination(eqn, dims, numbers)
    if numbers.precision is not None and params.get("precision", ...) is None:
        params["precision"] = (numbers.precision, numbers.precision)
    if eqn.primitive.name in _ADDED_UP and kind_of(values[0].dtype) == "f" and values[0].dtype.itemsize < 4:
        sums = bound(eqn, [values[0].astype(np.float32)], params)
        return [x.astype(values[0].dtype) for x in sums]
    return bound(eqn, values, params)


_ADDED_UP = SUMS | {"reduce_prod", "cumprod", "cumlogsumexp"}
"""Primitives that add or multiply in 32 bits where the entries have fewer bits, as jax.numpy does."""


def _combination(eqn: Any, dims: Dims, numbers: Numbers) -> Any:
    """Return the program by which a scatter combines two numbers, at these sizes and in these dtypes."""
    program = Program(jaxpr_of(eqn.params["update_jaxpr"]), eqn.params.get("update_consts", ()))
    return jaxpr_of(_program_at(program, dims, numbers))


def _at_run_time(value: Any, dims: Dims, numbers: Numbers) -> Any:
    """Return a parameter of an equation with sizes from `dims` and dtypes from `numbers`."""
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return np.dtype(numbers.dtype(value))
    if dims and _of_symbolic_sizes(value):
        return _program_at(program_of(value), dims, numbers)
    if type(value) in (tuple, list):
        return type(value)(_at_run_time(v, dims, numbers) for v in value)
    return replaced(value, dims)


def _of_symbolic_sizes(value: Any) -> bool:
    """Return whether a parameter is a program, such as a branch, in which some array has a symbolic size."""
    if not hasattr(jaxpr_of(value), "eqns"):
        return False
    jaxpr = jaxpr_of(value)
    outputs = [v for eqn in equations_of(jaxpr) for v in eqn.outvars]
    return any(dims_in(tuple(getattr(v.aval, "shape", ()))) for v in (*jaxpr.invars, *outputs))


def _program_at(program: Program, dims: Dims, numbers: Numbers) -> Any:
    """Return the program traced again with sizes from `dims` and dtypes from `numbers`."""
    specs = [
        jax.ShapeDtypeStruct(replaced(tuple(v.aval.shape), dims), numbers.dtype(v.aval.dtype))
        for v in program.jaxpr.invars
    ]
    return jax.make_jaxpr(lambda *xs: evaluate(program, xs, dims, numbers))(*specs)


_tables = Kept()


def installed_rules() -> int:
    """Return a number that changes whenever the rule of a primitive is replaced."""
    # The rules of all primitives are a key: a new combination gets the next number.
    tables = (ad.primitive_jvps, ad.primitive_transposes, ad.fancy_transposes, ad.primitive_linearizations)
    numbers = _tables.table
    return int(numbers.setdefault(tuple((p, rule) for table in tables for p, rule in table.items()), len(numbers)))


# --- ops of certgrad


def without_linear(fn: Callable[..., Any]) -> Callable[..., list[Any]]:
    """Return `fn` with the declared jvp or vjp in the place of each op's tangent map."""

    def run(*args: Any) -> list[Any]:
        closed = jax.make_jaxpr(fn)(*args)
        return _inlined(Program(jaxpr_of(closed), closed.consts), jax.tree.leaves(args))

    return run


def _inlined(program: Program, args: Sequence[Any]) -> list[Any]:
    """Return the program's outputs; tangent maps of ops, also inside a jit, run as the ops' declared rules."""

    def rule(eqn: Any, values: list[Any]) -> list[Any]:
        inner = inner_program(eqn)
        if eqn.primitive.name == LINEAR:
            count = eqn.params["count"]
            arrays = [jax.numpy.asarray(x) for x in values]
            return list(eqn.params["linear"].apply(tuple(arrays[:count]), tuple(arrays[count:])))
        if inner is not None and eqn.primitive.name == "jit" and mentions(inner, LINEAR):
            return _inlined(inner, values)
        equation = Equation(eqn, program.jaxpr)
        return equation.run(*(values[k] for k in equation.positions))

    return results(program, args, rule)


def mentions(program: Program | None, primitive: str) -> bool:
    """Return whether an equation of the program, or of one inside, has this primitive."""
    eqns = () if program is None else program.jaxpr.eqns
    return any(eqn.primitive.name == primitive or mentions(inner_program(eqn), primitive) for eqn in eqns)


def op_of(equation: Equation) -> tuple[Any, dict[str, Any]] | None:
    """Return the op of certgrad that a `custom_jvp_call` calls, with its keyword arguments; None for any other.

    The op serves to name the node and to read its domain. What is proved of the node is traced from the equation. An
    op's tangents are one equation of the primitive `LINEAR`, whose function closes over the op: so the equation is
    differentiated, and the op read from that closure.
    """
    if equation.name != "custom_jvp_call" or not equation.eqn.params.get("symbolic_zeros"):
        return None
    avals = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in equation.variables]
    moving = [k for k, a in enumerate(avals) if jax.numpy.issubdtype(a.dtype, np.floating)]

    def tangent(*args: Any) -> Any:
        floats = [args[k] for k in moving]

        def of_moving(*xs: Any) -> list[Any]:
            all_args = list(args)
            for k, x in zip(moving, xs, strict=True):
                all_args[k] = x
            return equation.run(*all_args)

        return jax.jvp(of_moving, floats, floats)[1]

    try:
        closed = jax.make_jaxpr(tangent)(*avals)
    except Exception:
        return None
    for eqn in jaxpr_of(closed).eqns:
        if eqn.primitive.name == LINEAR:
            closure = inspect.getclosurevars(eqn.params["linear"].apply).nonlocals
            if "op" in closure and "statics" in closure:
                return closure["op"], dict(closure["statics"])
    return None


def is_program(value: Any) -> bool:
    """Return whether an equation's parameter is a program, or a list that has one."""
    if isinstance(value, tuple | list):
        return any(is_program(v) for v in value)
    return hasattr(value, "eqns") or hasattr(value, "jaxpr")
