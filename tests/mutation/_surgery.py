"""One equation of a traced program changed where it stands: also inside loops, branches, kernels and maps over devices.

The changed equation is traced alone, on the types of its operands, and what that gives is put in its place; the rest of
the program stays as it was traced. So a mutant needs no new trace of its rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core as jex

from certgrad.obligations.tracing.jax_internals import is_dropped, is_literal, jaxpr_of
from tests.mutation._changes import CHANGES, Mutation
from tests.mutation._interpreter import Frame, Key, Site

PROGRAMS = {
    "scan": ("jaxpr",),
    "while": ("cond_jaxpr", "body_jaxpr"),
    "cond": ("branches",),
    "jit": ("jaxpr",),
    "shard_map": ("jaxpr",),
    "pallas_call": ("jaxpr",),
    "custom_jvp_call": ("call_jaxpr",),
    "custom_vjp_call": ("call_jaxpr",),
    "closed_call": ("call_jaxpr",),
}
"""By primitive: the parameters that are programs which it runs as they stand."""
NO_NUMBER = jax.ShapeDtypeStruct((), np.dtype(bool))
"""In place of the type of what is no array: a reference, or a token."""


class CannotMakeError(Exception):
    """The change cannot be made there: it leaves other shapes, say."""


def sites(program: Any) -> list[Site]:
    """Every equation of a closed program at any depth that an output needs, inner ones first."""
    return list(_sites(jaxpr_of(program), Counter()))


def _sites(jaxpr: Any, counts: Counter[str], needed: bool = True) -> Iterator[Site]:
    pool = {v: ("in", k) for k, v in enumerate(jaxpr.invars)}
    for equation, used in zip(jaxpr.eqns, _used(jaxpr), strict=True):
        for inner in _inner(equation):
            yield from _sites(jaxpr_of(inner), counts, needed and used)
        key = _next(equation, counts)
        found = Site(
            key,
            tuple(_type(v) for v in equation.invars),
            tuple(is_literal(v) for v in equation.invars),
            tuple(_type(v) for v in equation.outvars),
            dict(equation.params),
            tuple((name, _type(v)) for v, name in pool.items()),
            tuple(None if is_literal(v) else pool.get(v) for v in equation.invars),
        )
        if needed and used:
            yield found
        pool |= {v: (*key, j) for j, v in enumerate(equation.outvars) if not is_dropped(v)}


def _used(jaxpr: Any) -> list[bool]:
    """By equation: whether an output of the program needs it, or it writes somewhere."""
    needed = {v for v in jaxpr.outvars if not is_literal(v)}
    found = []
    for equation in reversed(jaxpr.eqns):
        found.append(bool(equation.effects) or any(v in needed for v in equation.outvars))
        if found[-1]:
            needed |= {v for v in equation.invars if not is_literal(v)}
    return found[::-1]


def changed(program: Any, mutation: Mutation) -> Any:
    """The closed program with one change. Raises CannotMakeError where it cannot be made."""
    counts: Counter[str] = Counter()
    jaxpr = _changed(jaxpr_of(program), mutation, counts)
    if jaxpr is None:
        raise CannotMakeError("there is no such equation")
    return jex.ClosedJaxpr(jaxpr, program.consts)


def _changed(jaxpr: Any, mutation: Mutation, counts: Counter[str]) -> Any:
    """The program with the change, or None where the equation is not in it."""
    pool = {("in", k): v for k, v in enumerate(jaxpr.invars)}
    for place, equation in enumerate(jaxpr.eqns):
        for name in PROGRAMS.get(equation.primitive.name, ()):
            held = equation.params[name]
            several = isinstance(held, (tuple, list))
            programs = list(held) if several else [held]
            for k, inner in enumerate(programs):
                found = _changed(jaxpr_of(inner), mutation, counts)
                if found is not None:
                    programs[k] = jex.ClosedJaxpr(found, inner.consts) if hasattr(inner, "consts") else found
                    params = {**equation.params, name: tuple(programs) if several else programs[0]}
                    eqns = [*jaxpr.eqns[:place], equation.replace(params=params), *jaxpr.eqns[place + 1 :]]
                    return jaxpr.replace(eqns=eqns)
        key = _next(equation, counts)
        if key == mutation.key:
            return _with(jaxpr, place, *_remade(equation, mutation, pool))
        pool |= {(*key, j): v for j, v in enumerate(equation.outvars) if not is_dropped(v)}
    return None


def _inner(equation: Any) -> Iterator[Any]:
    for name in PROGRAMS.get(equation.primitive.name, ()):
        held = equation.params[name]
        yield from held if isinstance(held, (tuple, list)) else (held,)


def _next(equation: Any, counts: Counter[str]) -> Key:
    name = equation.primitive.name
    counts[name] += 1
    return name, counts[name] - 1


def _type(atom: Any) -> Any:
    aval = atom.aval
    if not hasattr(aval, "inner_aval") and hasattr(aval, "dtype") and hasattr(aval, "shape"):
        return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=getattr(aval, "weak_type", False))
    return NO_NUMBER


def _with(jaxpr: Any, place: int, equations: Sequence[Any], outs: Sequence[Any]) -> Any:
    """The program with other equations in the place of one, and what they give in place of its outputs."""
    instead = {v: x for v, x in zip(jaxpr.eqns[place].outvars, outs, strict=True) if not is_dropped(v)}

    def put(atom: Any) -> Any:
        return atom if is_literal(atom) else instead.get(atom, atom)

    later = [e.replace(invars=[put(v) for v in e.invars]) for e in jaxpr.eqns[place + 1 :]]
    return jaxpr.replace(eqns=[*jaxpr.eqns[:place], *equations, *later], outvars=[put(v) for v in jaxpr.outvars])


class _Asked:
    """The equation itself, on other operands or with other parameters: what cannot be traced outside of its program."""

    def __init__(self, operands: Sequence[Any], params: dict[str, Any]) -> None:
        self.operands, self.params = operands, params


def _remade(equation: Any, mutation: Mutation, pool: dict[Any, Any]) -> tuple[list[Any], list[Any]]:
    """The equations in place of one, and the atoms in place of its outputs."""
    wanted = [n for n in (*mutation.args, ("in", 0)) if isinstance(n, tuple) and n in pool and _is_array(pool[n])]
    wanted = list(dict.fromkeys(wanted))
    moving = [j for j, v in enumerate(equation.invars) if not is_literal(v) and _is_array(v)]
    given = [equation.invars[j] for j in moving] + [pool[n] for n in wanted] + list(equation.outvars)
    kept = len(moving) + len(wanted)
    asked: list[_Asked] = []

    def small(*values: Any) -> Any:
        operands = [v.val if is_literal(v) else _NoValue() for v in equation.invars]
        for j, x in zip(moving, values, strict=False):
            operands[j] = x
        here = dict(zip(wanted, values[len(moving) :], strict=False))
        frame = _Frame(mutation.key, equation, operands, here)
        frame.outs, frame.asked = list(values[kept:]), asked
        outs = CHANGES[mutation.change].act(frame, *mutation.args)
        if outs is None:
            raise CannotMakeError("the change is not for these shapes")
        if asked and outs is asked[0]:
            return [x for x in asked[0].operands if isinstance(x, jax.core.Tracer)]
        return [_like(x, v.aval) for x, v in zip(outs, equation.outvars, strict=True)]

    try:
        closed = jax.make_jaxpr(small)(*(_type(v) for v in given))
    except CannotMakeError:
        raise
    except Exception as error:
        raise CannotMakeError(f"{type(error).__name__}: {error}") from error
    jaxpr = jaxpr_of(closed)
    if closed.consts:
        raise CannotMakeError("it holds an array")
    put = dict(zip(jaxpr.invars, given, strict=True))
    renamed = [e.replace(invars=[v if is_literal(v) else put.get(v, v) for v in e.invars]) for e in jaxpr.eqns]
    outs = [v if is_literal(v) else put.get(v, v) for v in jaxpr.outvars]
    if asked:
        left = iter(outs)
        operands = [
            next(left) if isinstance(x, jax.core.Tracer) else _atom(x, v)
            for x, v in zip(asked[0].operands, equation.invars, strict=True)
        ]
        again = equation.replace(invars=operands, params=asked[0].params)
        return [*renamed, again], list(equation.outvars)
    used = {v for e in renamed for v in e.invars if not is_literal(v)} | {v for v in outs if not is_literal(v)}
    needed = bool(used & set(equation.outvars)) or not _stands_alone(equation)
    if not needed:
        return renamed, outs
    fresh = {v: jex.Var(v.aval) for v in equation.outvars if not is_dropped(v)}
    first = equation.replace(outvars=[fresh.get(v, v) for v in equation.outvars])
    renamed = [e.replace(invars=[v if is_literal(v) else fresh.get(v, v) for v in e.invars]) for e in renamed]
    return [first, *renamed], [v if is_literal(v) else fresh.get(v, v) for v in outs]


def _atom(value: Any, old: Any) -> Any:
    """An operand that is no traced value: a reference, or a literal, which may be another one."""
    if isinstance(value, _NoValue):
        return old
    if not is_literal(old) or value is old.val:
        return old
    return jex.Literal(value, old.aval)


def _stands_alone(equation: Any) -> bool:
    """It acts on arrays alone, so that it can be traced outside of its program."""
    return _arrays(equation) == sum(not is_literal(v) for v in equation.invars) and not equation.effects


def _arrays(equation: Any) -> int:
    return sum(not is_literal(v) and _is_array(v) for v in equation.invars)


def _is_array(atom: Any) -> bool:
    return _type(atom) is not NO_NUMBER


class _NoValue:
    """A reference."""


class _Frame(Frame):
    """One equation: asked for with its own operands it gives the outputs that it had."""

    outs: list[Any]
    asked: list[_Asked]

    def run(self, *operands: Any, **params: Any) -> Any:
        same = all(x is y for x, y in zip(operands, self.operands, strict=True))
        if same and not params:
            return self.outs
        outside = any(isinstance(x, _NoValue) for x in operands) or not _stands_alone(self.equation)
        if outside or self.equation.primitive.name in COLLECTIVES:
            self.asked.append(_Asked(operands, {**self.params, **params}))
            return self.asked[0]
        primitive = self.equation.primitive
        found = primitive.get_bind_params({**self.params, **params})
        parts, given = found if isinstance(found, tuple) else ((), found)
        out = primitive.bind(*parts, *operands, **given)
        return list(out) if primitive.multiple_results else [out]


COLLECTIVES = frozenset(
    ("psum", "psum2", "psum_invariant", "pmax", "pmin", "ppermute", "pbroadcast", "pvary", "axis_index")
    + ("all_gather", "all_gather_invariant", "all_to_all", "reduce_scatter")
)
"""They name an axis of devices, which is not bound outside of their program."""


def _like(value: Any, aval: Any) -> Any:
    """A value of the same type: no change may leave another one."""
    out = jnp.asarray(value)
    if tuple(out.shape) != tuple(aval.shape):
        raise CannotMakeError("it has another shape")
    return out if out.dtype == aval.dtype else out.astype(aval.dtype)
