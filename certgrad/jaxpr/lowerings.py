"""Primitives that JAX itself runs as programs of other primitives, which are read as these programs.

They are some primitives of JAX, by name, and every primitive from outside JAX's core (sparse arrays, other packages)
for which a Python function is registered that JAX traces in its place (`mlir.lower_fun`).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
from jax._src.core import jaxprs_in_params
from jax._src.interpreters import mlir
from jax._src.lax.lax import _ragged_dot_general_impl
from jax.core import ShapedArray
from jax.extend.core import Primitive

from certgrad.jaxpr import devices as _devices
from certgrad.jaxpr import pallas as _pallas
from certgrad.jaxpr.kinds import CALLS
from certgrad.jaxpr.linear import LINEAR, linear_program
from certgrad.jaxpr.programs import called_program

DECLARED = "call_hi_primitive"
"""A primitive whose class says what it runs. Its parameter is an object, which has no textual form."""


def _over_positions(reduction: Callable[..., Any], axes: Sequence[Any], groups: Any) -> Callable[..., Any] | None:
    """Return a collective (`psum` …) over axes of arrays as a reduction of each operand.

    None where an axis still has a name; `vmap` turns the names of its axes into positions.
    """
    if groups is not None or not all(isinstance(axis, int) for axis in axes):
        return None
    return lambda *arrays: [reduction(x, axis=tuple(axes)) for x in arrays]


def _ragged_dot(params: Mapping[str, Any]) -> Callable[..., Any]:
    return partial(_ragged_dot_general_impl, **params)


def _polynomial(x: Any, *coefficients: Any) -> list[Any]:
    """Return Σ cₖ·xᵏ by Horner's rule, as `jax.lax.polynomial` computes it (above 8 terms, in a scan)."""
    total = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return [total]


def _declared(params: Mapping[str, Any]) -> Callable[..., Any] | None:
    """Return the function that JAX runs for a primitive declared by a class (from JAX 0.12 on): its own `expand`.

    None where an operand or a result is no array, or where running the primitive has side effects.
    """
    primitive = params["_prim"]
    if primitive.effects or not all(
        isinstance(a, ShapedArray) for a in (*primitive.in_avals_flat, *primitive.out_avals_flat)
    ):
        return None

    def run(*arrays: Any) -> list[Any]:
        return jax.tree.leaves(primitive.expand(*jax.tree.unflatten(primitive.in_tree, arrays)))

    run.__name__ = type(primitive).__name__
    return run


def _collective(reduction: Callable[..., Any]) -> Callable[[Mapping[str, Any]], Callable[..., Any] | None]:
    return lambda params: _over_positions(reduction, params["axes"], params.get("axis_index_groups"))


_PROGRAMS: dict[str, Callable[[Mapping[str, Any]], Callable[..., Any] | None]] = {
    "ragged_dot_general": _ragged_dot,
    "psum": _collective(jnp.sum),
    "pmax": _collective(jnp.max),
    "pmin": _collective(jnp.min),
    "pallas_call": lambda params: _pallas.program(params),
    "shard_map": lambda params: _devices.program(params),
    "polynomial": lambda params: _polynomial,
    DECLARED: _declared,
}
"""By name of a primitive, the map from its parameters to a function of its operands, as JAX runs it on a CPU."""


def _function_of(primitive: Any) -> Callable[[Mapping[str, Any]], Callable[..., Any] | None] | None:
    """Return the map from a primitive's parameters to the function that JAX runs for it; None for other primitives."""
    return _registered_for(primitive) or _PROGRAMS.get(primitive.name)


def is_python(primitive: Any) -> bool:
    """Return whether JAX runs a Python function in place of the primitive, which its core does not define."""
    return _registered_for(primitive) is not None


def _registered_for(primitive: Any) -> Callable[[Mapping[str, Any]], Callable[..., Any] | None] | None:
    """Return `_registered` of a genuine primitive; None for an object that only imitates one."""
    return _registered(primitive) if isinstance(primitive, Primitive) else None


@lru_cache(maxsize=512)
def _registered(primitive: Any) -> Callable[[Mapping[str, Any]], Callable[..., Any] | None] | None:
    """Return the map from parameters to the Python function that JAX traces on a CPU in place of a primitive.

    None for a primitive of JAX's core or of certgrad, and for one that is compiled in another way. The function is
    found in the closure of the lowering that `mlir.lower_fun` registered.
    """
    if primitive in mlir._platform_specific_lowerings["cpu"]:
        return None
    lowering: Any = getattr(mlir._lowerings.get(primitive), "rule", None)
    if getattr(lowering, "__qualname__", "") != _LOWER_FUN or lowering.__module__ != mlir.__name__:
        return None
    closure = dict(
        zip(lowering.__code__.co_freevars, (cell.cell_contents for cell in lowering.__closure__), strict=True)
    )
    function = closure["fun"]
    inner = function.func if isinstance(function, partial) else function
    # Primitives of certgrad, such as that of `solves`, have a meaning of their own.
    internal = str(getattr(inner, "__module__", "jax._src")).startswith(("jax._src", "certgrad."))
    return None if internal else lambda params: partial(function, **params)


_LOWER_FUN = f"{mlir.lower_fun.__qualname__}.<locals>.f_lowered"


def _elsewhere(primitive: Any) -> list[str]:
    """Return the platforms for which a primitive has a lowering of its own."""
    return sorted(p for p, rules in mlir._platform_specific_lowerings.items() if primitive in rules)


_WIDE = ("float64", "int64", "uint64", "complex128")


def _variables(jaxpr: Any) -> list[Any]:
    """Return the variables that a program and its inner programs compute."""
    inner = [v for eqn in jaxpr.eqns for program in jaxprs_in_params(eqn.params) for v in _variables(program)]
    return [*(v for eqn in jaxpr.eqns for v in eqn.outvars), *inner]


def lowered(eqn: Any) -> Any:
    """Return the closed jaxpr as which JAX runs an equation at its shapes and dtypes; None where there is none.

    There is none for a primitive that runs as it is, and where the program cannot be traced (`why_not`).
    """
    return _traced_lowering(eqn)[0] if _function_of(eqn.primitive) else None


def why_not(eqn: Any) -> str:
    """Return why the program that JAX runs for an equation cannot be traced; "" where it can, or there is none."""
    return _traced_lowering(eqn)[1] if _function_of(eqn.primitive) else ""


@lru_cache(maxsize=512)
def idealised(eqn: Any) -> tuple[str, ...]:
    """Return the idealisations, as sentences, in reading an equation as another program."""
    if eqn.primitive.name == "shard_map":
        along = ", ".join(f"{n} along {name}" for name, n in _devices.devices(eqn.params).items())
        return (f"devices: {along}; another number of them is another program",)
    if eqn.primitive.name != "pallas_call":
        platforms = _elsewhere(eqn.primitive) if is_python(eqn.primitive) else []
        return (f"{eqn.primitive.name} is read as JAX runs it on a CPU",) if platforms else ()
    order = ("the steps of a Pallas kernel's grid are taken to run one after another",)
    return ("what compilers make of a Pallas kernel is not looked at", *(order if _pallas.in_order(eqn.params) else ()))


@lru_cache(maxsize=512)
def _traced_lowering(eqn: Any) -> tuple[Any, str]:
    """Return the program that an equation runs, and "", or None and the reason why it cannot be traced.

    The cache is by the identity of the equation. The program is traced in 64 bits if any value in it is that wide.
    """
    function_of_params = _function_of(eqn.primitive)
    function = function_of_params and function_of_params(eqn.params)
    if function is None:
        return None, ""
    avals = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in eqn.invars]
    inner_avals = [v.aval for inner in jaxprs_in_params(eqn.params) for v in _variables(inner)]
    with jax.enable_x64(any(str(getattr(a, "dtype", "")) in _WIDE for a in (*avals, *inner_avals))):
        try:
            return jax.make_jaxpr(function)(*avals), ""
        except (_pallas.KernelError, _devices.DevicesError) as error:
            return None, str(error)
        except Exception as error:  # such as an operation that only JAX's compilers know
            return None, f"reading it raises {type(error).__name__}: {str(error).partition(chr(10))[0]}"


def executed_program(eqn: Any) -> Any:
    """Return the closed jaxpr that an equation runs on its operands: the one that it calls, or its lowering.

    None for a primitive that runs as it is.
    """
    calls = eqn.primitive.name in CALLS and not is_python(eqn.primitive)
    return called_program(eqn) if calls else lowered(eqn)


def identifying_params(eqn: Any) -> Mapping[str, Any]:
    """Return the parameters that say which function an equation computes.

    For a primitive with a Python object as a parameter, that object is replaced by the program that it runs.
    """
    if eqn.primitive.name == LINEAR:
        return {"jaxpr": linear_program(eqn)}
    program = lowered(eqn) if eqn.primitive.name == DECLARED else None
    return eqn.params if program is None else {"jaxpr": program}
