"""Programs inside programs: calls, branches, loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from certgrad.jaxpr.linear import LINEAR
from certgrad.jaxpr.programs import jaxpr_of, repeated, scanned
from certgrad.obligations.balls import _jaxpr
from certgrad.obligations.balls._errors import NotDifferentiable, Unsupported
from certgrad.obligations.balls._registry import Params, primitive
from certgrad.obligations.balls._shapes import apply_move
from certgrad.obligations.balls._tangents import KINK
from certgrad.obligations.balls._values import Context, Value, is_float

MAX_STEPS = 2_000
"""A while loop that runs for more steps than this is refused."""


@primitive("jit", "closed_call", "call", "remat2", "remat_opt", "eval_jaxpr", "composite")
def _call(ctx: Context, params: Params, *xs: Value) -> list[Value]:
    (inner,) = (params[name] for name in ("jaxpr", "call_jaxpr", "fwd_jaxpr") if name in params)
    return ctx.run(inner, list(xs))


@primitive("custom_jvp_call", "custom_vjp_call")
def _custom(ctx: Context, params: Params, *xs: Value) -> list[Value]:
    """Run the primal function: a custom derivative nested in a program is not used."""
    return ctx.run(params["call_jaxpr"], list(xs))


@primitive(LINEAR)
def _tangent(ctx: Context, params: Params, *xs: Value) -> list[Value]:
    """Run the JVP or VJP rule of a certgrad op, for the equation that stands for its tangent or cotangent."""
    kinds = {"O": "float", "b": "bool"}
    types = tuple((x.primal.shape, kinds.get(x.primal.dtype.kind, "int")) for x in xs)
    return ctx.run(_jaxpr.tangent_program(params["linear"], params["count"], types), list(xs))


@primitive("cond")
def _cond(ctx: Context, params: Params, index: Value, *xs: Value) -> list[Value]:
    """Run the branch that the index chooses. Where the index jumps at this point, or may, all outputs are kinks."""
    branches = params["branches"]
    which = max(0, min(int(index.primal[()]), len(branches) - 1))
    outs = ctx.run(branches[which], list(xs))
    if index.tangent is None:
        return outs
    return [Value(out.primal, np.full(out.primal.shape, KINK, dtype=object)) for out in outs]


@primitive("platform_index")
def _platform_index(ctx: Context, params: Params) -> Value:
    """Return the index of the branch that runs on a CPU: one that names the CPU, else the default (None)."""
    platforms = list(params["platforms"])
    named = [k for k, names in enumerate(platforms) if names is not None and "cpu" in names]
    if not named and None not in platforms:
        raise Unsupported("a program for other platforms than the CPU only")
    return Value(np.asarray(named[-1] if named else platforms.index(None), dtype=np.int32))


def _nothing(aval: Any) -> Value:
    """Return the empty stacked output of a scan of length 0."""
    return Value(np.empty((0, *aval.shape), dtype=object if is_float(aval.dtype) else aval.dtype))


def _value_at_step(x: Value, step: int) -> Value:
    primal = x.primal[step : step + 1].reshape(x.primal.shape[1:])
    return Value(primal, None if x.tangent is None else x.tangent[step : step + 1].reshape(primal.shape))


@primitive("scan")
def _scan(ctx: Context, params: Params, *xs: Value) -> list[Value]:
    carry, columns = scanned(params, xs, ctx.run, _value_at_step)
    if not params["length"]:
        return [*carry, *(_nothing(v.aval) for v in jaxpr_of(params["jaxpr"]).outvars[len(carry) :])]
    return [*carry, *(apply_move(lambda *rows: np.stack(rows), *column) for column in columns)]


@primitive("while")
def _while(ctx: Context, params: Params, *xs: Value) -> list[Value]:
    carry = repeated(params, xs, ctx.run, _goes_on, MAX_STEPS)
    if carry is None:
        raise Unsupported(f"while loop of more than {MAX_STEPS} steps")
    return carry


def _goes_on(test: Value) -> bool:
    """Return the value of a loop's test. Raises NotDifferentiable where the test jumps at this point."""
    if test.tangent is not None:
        raise NotDifferentiable("the exit of a while loop jumps at this point")
    if test.primal.ndim:
        raise Unsupported("a while loop with a test for each entry")
    return bool(test.primal[()])
