"""An op's callables, traced again: at the symbolic dimensions of the certificate's digest, and at concrete ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import export

from certgrad._subject import Subject
from certgrad.errors import first_line
from certgrad.obligations.balls._errors import Unsupported
from certgrad.obligations.balls._jaxpr import of_reals
from certgrad.obligations.verify.digest import case_digest
from certgrad.signatures.cases import Case

_DTYPES = {"float": np.float64, "held": np.float64, "int": np.int64, "bool": np.bool_}
_SCOPE = export.SymbolicScope()
"""One for all, so that JAX finds in its caches what it traced before."""


class DoesNotTraceError(Exception):
    """A callable that does not trace, or returns the wrong number, shape or type of arrays."""


@dataclass(frozen=True, eq=False)
class Programs:
    """The traced callables (closed jaxprs); `jvp` takes inputs, tangents, parameters, and so on, as flat lists."""

    forward: Any
    jvp: Any | None
    vjp: Any
    primal: Any | None
    shapes: tuple[tuple[Any, ...], ...]
    outputs: tuple[tuple[Any, ...], ...]
    reference: Any | None = None

    def all(self) -> dict[str, Any]:
        names = ("forward", "jvp", "vjp", "primal", "reference")
        return {name: program for name in names if (program := getattr(self, name)) is not None}


def _dtype(kind: str) -> Any:
    return jax.eval_shape(jax.random.key, 0).dtype if kind == "key" else _DTYPES[kind]


def traced(
    op: Subject, statics: Mapping[str, Any], shapes: Sequence[tuple[Any, ...]], dtypes: Sequence[str]
) -> Programs:
    """Trace in 64 bits, through the same callables that run.

    Raises:
        DoesNotTraceError: naming the callable.
    """
    floats = [k for k, d in enumerate(dtypes) if d == "float"]
    rules = op.rules(statics)
    with jax.enable_x64(True):
        args = [jax.ShapeDtypeStruct(shape, _dtype(d)) for shape, d in zip(shapes, dtypes, strict=True)]
        tangents = [args[k] for k in floats]
        params = [jax.ShapeDtypeStruct((), np.float64, weak_type=True) for _ in op.params]
        first = _trace("forward", rules.forward, args, params)
        outs = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in _avals(first)]
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
    given, found = tuple(map(tuple, shapes)), tuple(tuple(a.shape) for a in outs)
    return Programs(first, jvp, vjp, primal, given, found, reference)


def _avals(program: Any) -> list[Any]:
    return [v.aval for v in getattr(program, "jaxpr", program).outvars]


def _trace(what: str, fn: Callable[..., Any], *specs: Any, returns: Sequence[Any] | None = None) -> Any:
    try:
        program = jax.make_jaxpr(fn)(*specs)
    except Exception as error:  # whatever a user's function raises
        raise DoesNotTraceError(f"the {what} does not trace at {_shown(specs[0])}: {first_line(error)}") from error
    with suppress(Unsupported):  # then what evaluates it says so
        program = of_reals(program, jax.tree.leaves(specs))
    if returns is not None:
        found = [(tuple(a.shape), a.dtype) for a in _avals(program)]
        if found != [(tuple(a.shape), a.dtype) for a in returns]:
            raise DoesNotTraceError(f"the {what} returns other shapes or types than expected at {_shown(specs[0])}")
    return program


def _shown(args: Sequence[Any]) -> str:
    return ", ".join(f"({' '.join(map(str, a.shape))})" for a in args)


def at_symbols(op: Subject, case: Case) -> Programs:
    """The programs at symbolic dimensions, every star group as one axis of the size of its name."""
    inputs = case.signature.inputs
    if op.broadcast:
        names = ["n"]
    else:
        dims = (dim for spec in inputs for dim in spec.dims)
        found = [n for d in dims for n in getattr(d, "names", None) or ([d.name] if d.name else [])]
        names = list(dict.fromkeys([*found, *case.names]))
    sizes = dict(zip(names, export.symbolic_shape(", ".join(names), scope=_SCOPE), strict=True)) if names else {}
    groups = {star: (sizes.get(star),) for star in case.signature.stars}
    shapes = [(sizes["n"],) if op.broadcast else spec.shape(sizes, groups) for spec in inputs]
    ranks = dict.fromkeys(case.signature.stars, 1)
    return traced(op, case.keywords(ranks, sizes), shapes, [spec.dtype for spec in inputs])


def digest(op: Subject, case: Case) -> str:
    """The digest of the case, traced at symbolic dimensions with every star group as one axis."""
    return digest_of(op, case, at_symbols(op, case))


def digest_of(op: Subject, case: Case, programs: Programs) -> str:
    """The digest of the case, of which these are the programs at symbolic dimensions."""
    return case_digest(op, case, {name: (getattr(p, "jaxpr", p), p.consts) for name, p in programs.all().items()})
