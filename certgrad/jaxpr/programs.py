"""Programs (jaxprs) apart from what they mean: inner programs of equations, in each version of JAX; equality of
programs, by their equations and not by their texts; running one by a given rule; undefined values; integers that wrap.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.extend import core as jex

from . import kinds


def no_number(shape: Sequence[int], dtype: Any) -> Any:
    """Return an array of undefined entries, made from NaN, as in memory to which nothing was written."""
    nothing = jnp.full(tuple(shape), jnp.nan, jnp.result_type(float))
    return nothing > 0 if jnp.issubdtype(dtype, jnp.bool_) else nothing.astype(dtype)


def jaxpr_of(program: Any) -> Any:
    """Return the open jaxpr of a closed one (the same object where JAX has one class for both)."""
    return getattr(program, "jaxpr", program)


def consts_of(program: Any) -> tuple[Any, ...]:
    """Return the values of a program's constants; () for an open jaxpr."""
    return tuple(getattr(program, "consts", ()) or ())


def is_literal(atom: Any) -> bool:
    """Return whether an operand is a constant that is written into the equation."""
    return isinstance(atom, jex.Literal)


def is_dropped(var: Any) -> bool:
    """Return whether an output of an equation is one that nothing reads."""
    return type(var).__name__ == "DropVar"


def programs_in(eqn: Any) -> Iterator[Any]:
    """Yield the programs among an equation's parameters, also those in tuples and lists."""
    for value in eqn.params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if hasattr(jaxpr_of(item), "eqns"):
                yield item


def equations_of(program: Any) -> Iterator[Any]:
    """Yield the equations of a program, and of the programs inside it."""
    for eqn in jaxpr_of(program).eqns:
        yield eqn
        for inner in programs_in(eqn):
            yield from equations_of(inner)


def scan_counts(params: Mapping[str, Any]) -> tuple[int, int]:
    """Return how many operands of a `scan` are constants, and how many are carried; the others are scanned over."""
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    consts, carries, *_ = params["ft_in"].unpack()  # from JAX 0.11 on, they are counted by trees
    return len(consts), len(carries)


_INNER = ("jaxpr", "call_jaxpr", "call", "callee", "fwd_jaxpr")
"""Names of the parameter that holds a primitive's inner program; they differ between primitives and versions of JAX."""


def called_program(eqn: Any) -> Any:
    """Return the closed jaxpr that an equation runs on its operands (`kinds.CALLS`); None for any other equation."""
    if eqn.primitive.name not in kinds.CALLS:
        return None
    programs = [eqn.params[key] for key in _INNER if key in eqn.params]
    return programs[0] if len(programs) == 1 else None


def same_program(a: Any, b: Any) -> bool:
    """Return whether two programs are equal, equation by equation, up to the names of variables.

    They have the same primitives, equal parameters and constants, values of the same types, and operands that stand for
    each other.
    """
    x, y = jaxpr_of(a), jaxpr_of(b)
    consts = [consts_of(c) for c in (a, b)]
    ends = [(p.constvars, p.invars, p.eqns, p.outvars) for p in (x, y)]
    if [*map(len, ends[0])] != [*map(len, ends[1])] or not _equal_params(*consts):
        return False
    counterpart: dict[Any, Any] = {}

    def bound(vs: Any, ws: Any) -> bool:
        counterpart.update(zip(vs, ws, strict=True))
        return all(v.aval.shape == w.aval.shape and v.aval.dtype == w.aval.dtype for v, w in zip(vs, ws, strict=True))

    def read(v: Any, w: Any) -> bool:
        if is_literal(v) or is_literal(w):
            return is_literal(v) and is_literal(w) and _constant(v, w)
        return counterpart.get(v) is w

    return (
        bound([*x.constvars, *x.invars], [*y.constvars, *y.invars])
        and all(
            e.primitive is f.primitive
            and len(e.invars) == len(f.invars)
            and len(e.outvars) == len(f.outvars)
            and all(map(read, e.invars, f.invars))
            and _equal_params(e.params, f.params)
            and bound(e.outvars, f.outvars)
            for e, f in zip(x.eqns, y.eqns, strict=True)
        )
        and all(map(read, x.outvars, y.outvars))
    )


def results(
    program: Any,
    args: Sequence[Any],
    rule: Callable[[Any, list[Any]], Sequence[Any]],
    constant: Callable[[Any, Any], Any] = lambda value, aval: value,
) -> list[Any]:
    """Return the outputs of a program that is run by a given rule, on values of any kind.

    `rule(eqn, operands)` returns the results of an equation. `constant(value, aval)` returns the value for a constant
    or a literal of the program.
    """
    jaxpr = jaxpr_of(program)
    values = {v: constant(c, v.aval) for v, c in zip(jaxpr.constvars, consts_of(program), strict=False)}
    values.update(zip(jaxpr.invars, args, strict=True))

    def read(v: Any) -> Any:
        return constant(v.val, v.aval) if is_literal(v) else values[v]

    for eqn in jaxpr.eqns:
        values.update(zip(eqn.outvars, rule(eqn, [read(v) for v in eqn.invars]), strict=True))
    return [read(v) for v in jaxpr.outvars]


def needed_for(equations: Sequence[Any], wanted: Iterable[Any], at_hand: Collection[Any] = ()) -> list[Any]:
    """Return in order the equations that are needed to compute the `wanted` values from those `at_hand`.

    Literals among the wanted values need no equation.
    """
    needed, chosen = {v for v in wanted if not is_literal(v)}, []
    for eqn in reversed(equations):
        if any(v in needed and v not in at_hand for v in eqn.outvars):
            chosen.append(eqn)
            needed.update(v for v in eqn.invars if not is_literal(v))
    return chosen[::-1]


def rounded_constant(eqn: Any, held: Mapping[Any, Any], is_float: Callable[[Any], bool]) -> np.ndarray | None:
    """Return the result of an equation that casts a constant from one float type to another; None for other equations.

    A table in 64 bits that a program casts to 32 is then read as the rounded table. `held` are the values of the
    variables that are constants.
    """
    # A user's primitive may have the same name.
    if eqn.primitive.name != "convert_element_type" or "new_dtype" not in eqn.params:
        return None
    (v,), new = eqn.invars, eqn.params["new_dtype"]
    value = v.val if is_literal(v) else held.get(v)
    return np.asarray(value).astype(new) if value is not None and is_float(v.aval.dtype) and is_float(new) else None


def bound(eqn: Any, operands: Sequence[Any], params: Mapping[str, Any] | None = None) -> list[Any]:
    """Return the results of an equation's primitive at these operands; `params` replaces the equation's parameters."""
    params = eqn.params if params is None else params
    out = eqn.primitive.bind(*operands, **eqn.primitive.get_bind_params(params))
    return list(out) if eqn.primitive.multiple_results else [out]


Run = Callable[[Any, list[Any]], Sequence[Any]]
"""Runs a program on values of any kind: from the program and its arguments to its outputs."""


def scanned(
    params: Mapping[str, Any], operands: Sequence[Any], run: Run, row: Callable[[Any, int], Any]
) -> tuple[list[Any], list[tuple[Any, ...]]]:
    """Return the carry of a `scan` after its last step, and the rows of each array that it stacks, in order.

    The steps are run one after the other by `run`; `row(x, k)` returns row k of a scanned operand. For a scan of no
    steps the list of stacked arrays is empty.
    """
    consts, carries = scan_counts(params)
    fixed, carry, arrays = operands[:consts], operands[consts : consts + carries], operands[consts + carries :]
    steps = range(int(params["length"]))
    rows_of_step: dict[int, Sequence[Any]] = {}
    for k in reversed(steps) if params["reverse"] else steps:
        out = run(params["jaxpr"], [*fixed, *carry, *(row(x, k) for x in arrays)])
        carry, rows_of_step[k] = out[:carries], out[carries:]
    return list(carry), list(zip(*(rows_of_step[k] for k in steps), strict=True))


def repeated(
    params: Mapping[str, Any], operands: Sequence[Any], run: Run, goes_on: Callable[[Any], bool], most: int
) -> list[Any] | None:
    """Return the carry of a `while` when its test fails; None where the test still holds after `most` steps.

    The test and the steps are run one after the other by `run`; `goes_on` says whether the output of the test is true.
    """
    ends = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    of_test, of_body, carry = operands[: ends[0]], operands[ends[0] : ends[1]], operands[ends[1] :]
    for _ in range(most):
        if not goes_on(*run(params["cond_jaxpr"], [*of_test, *carry])):
            return list(carry)
        carry = run(params["body_jaxpr"], [*of_body, *carry])
    return None


def reaches_as_number(jaxpr: Any, inputs: Sequence[bool]) -> list[bool]:
    """Return, for each output of a program, whether one of the `inputs` reaches it through floats alone.

    An output that none reaches depends on these inputs only by comparisons and rounding to integers, so that its
    derivative in them is 0 wherever it exists.
    """
    moved = {v for v, reaches in zip(jaxpr.invars, inputs, strict=True) if reaches}
    for eqn in jaxpr.eqns:
        moved_in = [not is_literal(v) and v in moved for v in eqn.invars]
        if not any(moved_in):
            continue
        inner = jaxpr_of(called_program(eqn))
        within = inner is not None and (len(inner.invars), len(inner.outvars)) == (len(moved_in), len(eqn.outvars))
        reached = reaches_as_number(inner, moved_in) if within else [True] * len(eqn.outvars)
        moved |= {v for v, reaches in zip(eqn.outvars, reached, strict=True) if reaches and _is_number(v.aval)}
    return [not is_literal(v) and v in moved for v in jaxpr.outvars]


def _is_number(aval: Any) -> bool:
    """Return whether a value may have a tangent, as its dtype is none of integers or booleans."""
    dtype = getattr(aval, "dtype", None)
    return dtype is None or not (jnp.issubdtype(dtype, jnp.integer) or jnp.issubdtype(dtype, jnp.bool_))


def _constant(v: Any, w: Any) -> bool:
    """Return whether two literals have the same dtype and value."""
    return bool(v.aval.dtype == w.aval.dtype) and _equal_params(np.asarray(v.val), np.asarray(w.val))


def _equal_params(p: Any, q: Any) -> bool:
    """Return whether two parameters are equal: programs by their equations, arrays by their bytes, others by `==`."""
    if p is q:
        return True
    if hasattr(jaxpr_of(p), "eqns") and hasattr(jaxpr_of(q), "eqns"):
        return same_program(p, q)
    if type(p) is not type(q):
        return False
    if isinstance(p, dict):
        return p.keys() == q.keys() and all(_equal_params(p[k], q[k]) for k in p)
    if isinstance(p, (tuple, list)):
        return len(p) == len(q) and all(map(_equal_params, p, q))
    if hasattr(p, "shape") and hasattr(p, "tobytes"):
        x, y = np.asarray(p), np.asarray(q)
        return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()
    return bool(p == q)


# --- integers of few bits, or without a sign: which operations on them differ from those on numbers

NUMBERING = kinds.ENTRIES | {"iota"}
"""Primitives that number entries, move or choose them: no arithmetic, so that unsigned integers do not wrap."""
EXACT = kinds.ENTRIES | kinds.LOGIC - {"not"} | {"convert_element_type", "shift_right_logical"}
"""Primitives whose results are in the range of a narrow type if their operands are, or that wrap by definition."""


def wraps(dtype: np.dtype, primitive: str) -> bool:
    """Return whether a result of this integer dtype may differ from that of exact arithmetic.

    True for arithmetic in unsigned types, and in types so narrow that ordinary sizes overflow. Wider signed types are
    read as exact, which certificates mention as an idealisation.
    """
    narrow = dtype.itemsize < 4
    return (narrow or dtype.kind == "u") and primitive not in (EXACT if narrow else NUMBERING)
