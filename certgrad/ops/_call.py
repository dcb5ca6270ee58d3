"""Calls of ops: the arguments become arrays and checked keyword arguments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from certgrad.ops._constraint import holds
from certgrad.signatures.cases import names_in
from certgrad.signatures.fit import covers
from certgrad.signatures.signature import for_people

if TYPE_CHECKING:
    from certgrad.ops._declare import Case, Op


def call(op: Op, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Return the op's value. Raises TypeError or ValueError, naming op and argument, for arguments it does not take."""
    leading = [kwargs[name] for name in op.leading if name in kwargs]
    rest = {name: value for name, value in kwargs.items() if name not in op.leading}
    bound = op.__signature__.bind(*leading, *args, **rest)
    bound.apply_defaults()
    keywords = {name: bound.arguments[name] for name in op.statics}
    arrays = _arrays(op, [bound.arguments[name] for name in op.arg_names])
    params = _params(op, {name: value for name, value in keywords.items() if name in op.params})
    structural = {name: value for name, value in keywords.items() if name not in op.params}
    statics = params | _structural(op, arrays, structural)
    return op.run(arrays, statics)


def _arrays(op: Op, values: list[Any]) -> list[Any]:
    """Return the values as arrays of the dtypes that the op takes. Raises TypeError for any other dtype."""
    specs = op.cases[0].signature.inputs
    arrays = [jnp.asarray(value) for value in values]
    for name, spec, x in zip(op.arg_names, specs, arrays, strict=True):
        if jnp.issubdtype(x.dtype, jnp.complexfloating):
            raise TypeError(f"{op.name}: {name} is {x.dtype}. The rules are proved over the real numbers only.")
        if spec.dtype == "bool" and x.dtype != jnp.bool_:
            raise TypeError(f"{op.name}: {name} is {x.dtype}, but must be bool. Compare it, as in {name} != 0.")
        if spec.dtype == "int" and not jnp.issubdtype(x.dtype, jnp.integer):
            raise TypeError(f"{op.name}: {name} is {x.dtype}, but must be an integer.")
    return _promoted(op, values, arrays)


def _promoted(op: Op, values: list[Any], arrays: list[Any]) -> list[Any]:
    """Return `arrays` with all float arguments cast to the dtype to which they promote in jax.numpy.

    Where no float argument is a float array (Python numbers, integers), that dtype is JAX's default float.
    """
    floats = [i for i, spec in enumerate(op.cases[0].signature.inputs) if spec.dtype == "float"]
    dtypes = {arrays[i].dtype for i in floats}
    if len(dtypes) > 1:
        target = jnp.result_type(*(arrays[i] for i in floats))
        arrays = [x.astype(target) if i in floats else x for i, x in enumerate(arrays)]
    if not op.integers and not any(jnp.issubdtype(arrays[i].dtype, jnp.floating) for i in floats):
        target = jnp.result_type(float)
        arrays = [x.astype(target) if i in floats else x for i, x in enumerate(arrays)]
    return arrays


def _params(op: Op, values: dict[str, Any]) -> dict[str, float]:
    """Return parameters as floats. Raises TypeError for no number, ValueError for one that breaks its constraint."""
    numbers = {name: _number(op, name, value) for name, value in values.items()}
    for name, constraint in op.params.items():
        if constraint is not None and not holds(constraint, numbers):
            raise ValueError(
                f"{op.name}: {name} = {numbers[name]:g} violates the constraint {constraint}, which its proof assumes."
            )
    return numbers


def _number(op: Op, name: str, value: Any) -> float:
    if isinstance(value, jax.core.Tracer):
        raise TypeError(
            f"{op.name}: {name} is a traced value ({value.aval}), but must be a concrete number: the rules have no "
            f"derivative with respect to {name}, and it would silently be zero. "
            f"Pass a Python number, or mark it static in jit."
        )
    if isinstance(value, bool | np.bool_ | str) or np.ndim(value) != 0:
        raise TypeError(f"{op.name}: {name} must be a number, not {value!r}.")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{op.name}: {name} must be a number, not {value!r}.") from None
    if not math.isfinite(number):
        raise ValueError(f"{op.name}: {name} = {number} is not a finite real number.")
    return number


def _structural(op: Op, arrays: list[Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return the structural keyword arguments (those that are no real numbers), with axes in the form of the cases.

    Raises ValueError if no case of the op has such keyword arguments, or none of those that do has such shapes.
    """
    from certgrad.ops._axes import resolve

    defaults = {name: op.defaults[name] for name in given if name in op.defaults}
    statics = resolve(op, arrays, given)
    candidates = [candidate for candidate in op.cases if _agree(candidate, statics, defaults)]
    if not candidates:
        raise ValueError(_no_case(op, given))
    shapes = [x.shape for x in arrays]
    if op.broadcast:
        jnp.broadcast_shapes(*shapes)
    elif not any(covers(candidate, shapes, statics) for candidate in candidates):
        shown_shapes = ", ".join(f"{name} {_shape(x.shape)}" for name, x in zip(op.arg_names, arrays, strict=True))
        signatures = (
            str(candidate) if _sized([candidate]) else for_people(str(candidate.signature)) for candidate in candidates
        )
        forms = " or ".join(dict.fromkeys(f"'{signature}'" for signature in signatures))
        given_sizes = "".join(f", {name}={statics[name]}" for name in _sized(candidates))
        raise ValueError(f"{op.name}: the shapes {shown_shapes}{given_sizes} do not fit its signature {forms}.")
    return statics


def _sized(cases: list[Case]) -> list[str]:
    """Return the names of keyword arguments that are sizes, or tuples with sizes in them, in some case."""
    return sorted({name for case in cases for name, value in case.statics.items() if names_in(value)})


def _agree(one: Case, statics: dict[str, Any], defaults: dict[str, Any]) -> bool:
    from certgrad.ops._axes import matches

    return all(matches(one.statics.get(name, defaults.get(name)), value) for name, value in statics.items())


def _no_case(op: Op, given: dict[str, Any]) -> str:
    wrong = ", ".join(f"{name}={value!r}" for name, value in given.items())
    cases = "; ".join(dict.fromkeys(", ".join(f"{n}={v}" for n, v in case.statics.items()) for case in op.cases))
    cases = cases or "without keyword arguments"
    return f"{op.name}: {wrong} is none of the cases that its rules are proved for: {cases}."


def _shape(shape: Sequence[Any]) -> str:
    return f"({', '.join(map(str, shape))})"
