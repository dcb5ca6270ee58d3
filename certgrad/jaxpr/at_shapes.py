"""The callables of a subject traced at concrete shapes, for exact evaluation and for balls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from certgrad._subject import Subject
from certgrad.errors import first_line
from certgrad.jaxpr import complex_numbers
from certgrad.jaxpr.programs import jaxpr_of
from certgrad.jaxpr.references import shares_references, without_references

DTYPES = {"float": np.float64, "held": np.float64, "int": np.int64, "bool": np.bool_}


class DoesNotTraceError(Exception):
    """A callable does not trace, or returns arrays of a wrong number, shape or type."""


@dataclass(frozen=True, eq=False)
class Programs:
    """The traced callables of a subject, as closed jaxprs; None for one that the subject does not have.

    Arguments and outputs are flat lists: `jvp` takes inputs, tangents and parameters, `vjp` inputs, seeds and
    parameters. `primal` is the rule's own forward (the `fwd` of a custom_vjp). `shapes` are those of the inputs.
    """

    forward: Any
    jvp: Any | None
    vjp: Any
    primal: Any | None
    shapes: tuple[tuple[Any, ...], ...]
    outputs: tuple[tuple[Any, ...], ...]
    reference: Any | None = None

    def all(self) -> dict[str, Any]:
        """Return the programs that there are, by name."""
        names = ("forward", "jvp", "vjp", "primal", "reference")
        return {name: program for name in names if (program := getattr(self, name)) is not None}


def _dtype(kind: str) -> Any:
    """Return the dtype of a kind of argument ("float", "key" …); another word is the name of a dtype."""
    return jax.eval_shape(jax.random.key, 0).dtype if kind == "key" else np.dtype(DTYPES.get(kind, kind))


def traced(
    op: Subject, statics: Mapping[str, Any], shapes: Sequence[tuple[Any, ...]], dtypes: Sequence[str]
) -> Programs:
    """Return an op's programs at these shapes, traced in 64 bits through the same callables that run.

    Raises:
        DoesNotTraceError: a callable does not trace, or returns other shapes or types than it should; the message
            names it.
    """
    floats = [k for k, d in enumerate(dtypes) if d == "float"]
    rules = op.rules(statics)
    with jax.enable_x64(True):
        args = [jax.ShapeDtypeStruct(shape, _dtype(d)) for shape, d in zip(shapes, dtypes, strict=True)]
        tangents = [args[k] for k in floats]
        params = [jax.ShapeDtypeStruct((), np.float64, weak_type=True) for _ in op.params]
        forward = _trace("forward", rules.forward, args, params)
        outs = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in _avals(forward)]
        jvp = None
        if rules.jvp is not None:
            jvp = _trace("jvp", rules.jvp, args, tangents, params, returns=outs)
        vjp = _trace("vjp", rules.vjp, args, outs, params, returns=tangents)
        primal = None
        if rules.primal is not None:
            primal = _trace("fwd", rules.primal, args, params, returns=outs)
        reference = None
        if rules.reference is not None:
            reference = _trace("reference", rules.reference, args, params, returns=outs)
    input_shapes, output_shapes = tuple(map(tuple, shapes)), tuple(tuple(a.shape) for a in outs)
    return Programs(forward, jvp, vjp, primal, input_shapes, output_shapes, reference)


def _avals(program: Any) -> list[Any]:
    return [v.aval for v in jaxpr_of(program).outvars]


def _trace(what: str, fn: Callable[..., Any], *specs: Any, returns: Sequence[Any] | None = None) -> Any:
    """Return the closed jaxpr of a callable, on real numbers if that is possible (`of_reals`).

    `returns` are the shapes and dtypes that it must return; None does not check them.
    """
    try:
        program = jax.make_jaxpr(fn)(*specs)
    except Exception as error:  # whatever a user's function raises
        raise DoesNotTraceError(f"the {what} does not trace at {_shapes(specs[0])}: {first_line(error)}") from error
    with suppress(NotOfRealsError):  # such a program stays as it is, and its evaluation fails with the reason
        program = of_reals(program, jax.tree.leaves(specs))
    if returns is not None:
        returned = [(tuple(a.shape), a.dtype) for a in _avals(program)]
        if returned != [(tuple(a.shape), a.dtype) for a in returns]:
            raise DoesNotTraceError(f"the {what} returns other shapes or types than expected at {_shapes(specs[0])}")
    return program


def _shapes(args: Sequence[Any]) -> str:
    return ", ".join(f"({' '.join(map(str, a.shape))})" for a in args)


class NotOfRealsError(Exception):
    """A program cannot be rewritten as one of values and real numbers. The message says why."""


def of_reals(program: Any, arguments: Sequence[Any]) -> Any:
    """Return the closed program without references that it makes, and with pairs of reals for complex numbers.

    Raises NotOfRealsError for a reference that it shares with the outside, and for a primitive of complex numbers that
    has no rule on pairs.
    """
    if shares_references(program):
        raise NotOfRealsError("a mutable reference from outside")
    values = without_references(program)
    program = program if values is None else values
    if not complex_numbers.has_complex(jaxpr_of(program)):
        return program
    try:
        return jax.make_jaxpr(complex_numbers.on_pairs(program))(*arguments)
    except complex_numbers.NoPairsError as error:
        raise NotOfRealsError(f"{error} of complex numbers") from error
