"""The interpreter: from a traced program to tensors of terms with their conditions.

Forward, JVP and VJP often begin alike. An equation that does what another did, to the very same values, gives the same
result, so it is followed once: `Context.known` says what came of those before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from certgrad.jaxpr.kinds import CALLS, MOVES_ENTRIES
from certgrad.jaxpr.lowerings import idealised, is_python, why_not
from certgrad.jaxpr.programs import rounded_constant, wraps
from certgrad.obligations.assume.conditions import UNDEFINED_EVERYWHERE
from certgrad.obligations.assume.signs import NEG, POS, ZERO
from certgrad.obligations.assume.tensor import Tensor, argument
from certgrad.obligations.meaning import semantics
from certgrad.obligations.terms.budget import budget
from certgrad.obligations.terms.polynomials import ZERO as ZERO_TERM
from certgrad.obligations.terms.polynomials import number
from certgrad.obligations.tracing.jax_internals import (
    SIDE_EFFECTS,
    Program,
    approximation,
    data_of,
    dim_poly,
    genuine,
    has_effects,
    inlined,
    inner_program,
    is_dropped,
    is_literal,
    kind_of,
    literal_value,
    live_equations,
    sampler,
    shape_polys,
    tells,
    with_ideals,
)

from ..literals import Reading
from ._fits import GROWING_PRIMITIVES, note_wrapped_index_uses, noted
from ._infinite import finite, known_after, looked_at
from ._known_integers import Constant, KnownIntegers, is_constant, keep, known_results
from ._opaque import opaque
from ._registry import LIBRARY, REFUSED, RULES, Context, Rule, Runs, UnprovedError


def _constant(ctx: Context, value: Any) -> Tensor:
    """A constant of a program; a large array by its name, where the context can follow a value that has only that."""
    try:
        return constant(value, ctx.reading)
    except semantics._tables.LargeTableError as error:
        if not ctx.names_tables:
            raise
        array = np.asarray(value)
        return semantics._tables.named_table(ctx, array, kind_of(array.dtype), str(error))


def constant(value: Any, reading: Reading | None = None) -> Tensor:
    """A constant as a tensor: a number, an array with one value throughout, or a finite array that is not large."""
    if kind_of(getattr(value, "dtype", np.dtype(bool))) == "k":
        return _keys(value)
    array = np.asarray(value)
    kind = kind_of(array.dtype)
    if kind not in "fib":
        raise UnprovedError({"c": "complex"}.get(kind, f"a constant of dtype {array.dtype}"))
    if array.ndim and (array.size == 0 or not (array == array.flat[0]).all()):
        try:
            return semantics._tables.table(array, kind, reading)
        except semantics._tables.LargeTableError as error:
            if reading is not None and reading.moves(array):
                raise UnprovedError(
                    "a large array with an entry that is read as the number it was rounded from"
                ) from error
            raise
    exact = literal_value(array.flat[0] if array.ndim else array)
    if exact is None:
        # NaN may stand where it is never used: every entry of such a constant counts as undefined.
        value = float(array.flat[0] if array.ndim else array)
        infinite = 0 if value != value else 1 if value > 0 else -1
        shape = tuple(number(n) for n in array.shape)
        if infinite:
            return Tensor(shape, ZERO_TERM, "f", infinite=infinite, kept=ZERO_TERM)
        return Tensor(shape, ZERO_TERM, "f", UNDEFINED_EVERYWHERE, UNDEFINED_EVERYWHERE)
    sign = POS if exact > 0 else NEG if exact < 0 else ZERO
    meant = reading.term(array.flat[0]) if reading is not None and kind == "f" else None
    body = number(exact) if meant is None else meant
    return Tensor(tuple(number(n) for n in array.shape), body, kind, signs=sign)  # type: ignore[arg-type]


def _keys(value: Any) -> Tensor:
    """Return the program's own random keys as an opaque tensor: other keys are others, and nothing more is known."""
    contents = hashlib.blake2b(f"{value.dtype} {value.shape}".encode() + data_of(value).tobytes(), digest_size=8)
    return argument(f"key‹{contents.hexdigest()}›", tuple(number(n) for n in value.shape), "key")


def interpret(
    ctx: Context, program: Program, inputs: Sequence[Tensor | None], needed: Sequence[bool]
) -> list[Tensor | None]:
    """Return the program's outputs as terms; only what the `needed` ones depend on is interpreted."""
    outs = _run(ctx, program, inputs, needed)
    note_wrapped_index_uses(ctx, outs)
    return [x and finite(x) for x in outs]


def _run(
    ctx: Context, program: Program, inputs: Sequence[Tensor | None], needed: Sequence[bool]
) -> list[Tensor | None]:
    """Interpret a program; unlike those of `interpret`, its outputs may have infinite entries."""
    program, inputs = _as_read(ctx, program, inputs)
    jaxpr = program.jaxpr
    if has_effects(jaxpr):
        raise UnprovedError("the program has side effects")
    for eqn in filter(tells, jaxpr.eqns):
        ctx.note(f"{eqn.primitive.name} {SIDE_EFFECTS[eqn.primitive.name]} and returns nothing: it is left out")
    env: dict[Any, Tensor] = {}

    def read(v: Any) -> Tensor:
        return _literal(ctx, v.val) if is_literal(v) else env[v]

    for v, x in zip(jaxpr.invars, inputs, strict=True):
        if x is not None:
            env[v] = x
    wanted_constants: set[Any] = set()
    equations = live_equations(jaxpr, needed)
    for eqn, _ in equations:
        wanted_constants.update(v for v in eqn.invars if not is_literal(v))
    wanted_constants.update(v for v, n in zip(jaxpr.outvars, needed, strict=True) if n and not is_literal(v))
    for v, c in zip(jaxpr.constvars, program.consts, strict=True):
        if v in wanted_constants:
            env[v] = _constant(ctx, c)
            ctx.untouched[id(env[v])] = env[v]
            ctx.arrays[id(env[v])] = env[v], c
            is_constant(ctx, env[v], c, v.aval)
    held = dict(zip(jaxpr.constvars, program.consts, strict=True))
    for eqn, use in equations:
        budget.spend(10)
        if (rounded := rounded_constant(eqn, held, _is_float)) is not None and genuine(eqn.primitive):
            held[eqn.outvars[0]] = rounded
            env[eqn.outvars[0]] = _constant(ctx, rounded)
            ctx.untouched[id(env[eqn.outvars[0]])] = env[eqn.outvars[0]]
            continue
        for v, x in zip(eqn.outvars, _followed(ctx, eqn, use, env, read), strict=True):
            if x is not None and not is_dropped(v):
                env[v] = x
    return [read(v) if n else None for v, n in zip(jaxpr.outvars, needed, strict=True)]


def _is_float(dtype: Any) -> bool:
    return kind_of(dtype) == "f"


def _as_read(
    ctx: Context, program: Program, inputs: Sequence[Tensor | None]
) -> tuple[Program, Sequence[Tensor | None]]:
    """Return the program and its operands, or the function that it approximates with the operands of that."""
    constants = _arrays_first(ctx, program, inputs)
    found = approximation(program, constants)
    if found is None:
        parts = inlined(program)
        for part in parts:
            ctx.reading.approximated.setdefault(part.one.idealisation(part.out.aval.dtype))
        return (with_ideals(program, parts) if parts and ctx.reading.ideal else program), inputs
    aval = program.jaxpr.invars[len(constants)].aval
    ctx.reading.approximated.setdefault(found.idealisation(aval.dtype))
    return (found.program(aval), inputs[len(constants) :]) if ctx.reading.ideal else (program, inputs)


def _arrays_first(ctx: Context, program: Program, inputs: Sequence[Tensor | None]) -> list[Any]:
    """The constant arrays among the operands of a program, as far as they come first."""
    found: list[Any] = []
    for v, x in zip(program.jaxpr.invars, inputs, strict=True):
        known = ctx.arrays.get(id(x))
        if known is None or known[1].shape != v.aval.shape or known[1].dtype != v.aval.dtype:
            break
        found.append(known[1])
    return found


def _followed(ctx: Context, eqn: Any, use: list[bool], env: dict, read: Any) -> Sequence[Tensor | None]:
    """Return an equation's results, or opaque values for those, which are equal where it is run again."""
    try:
        return _apply(ctx, eqn, use, env, read)
    except UnprovedError as error:
        note_wrapped_index_uses(ctx, [env[v] for v in eqn.invars if not is_literal(v) and v in env])
        if ctx.everything_followed or not all(is_literal(v) or v in env for v in eqn.invars):
            raise
        out = opaque(ctx, eqn, [read(v) for v in eqn.invars], str(error))
        if out is None:
            raise
        return out


def _compares_draws(eqn: Any, inner: Program) -> bool:
    """Return whether a sampler only compares what another one draws, as `bernoulli(key, p)` is `uniform(key) < p`."""
    return all(v.aval.dtype == bool for v in eqn.outvars) and any(map(sampler, inner.jaxpr.eqns))


def _apply(ctx: Context, eqn: Any, use: list[bool], env: dict, read: Any) -> Sequence[Tensor | None]:
    """Return what an equation gives, by the function of its primitive or by the program that it runs.

    Equal equations of equal operands are read once. Raises UnprovedError for what has no meaning here, such as wrapping
    integers.
    """
    name = eqn.primitive.name
    if not genuine(eqn.primitive) and not is_python(eqn.primitive):
        raise UnprovedError(f"primitive {name}, which is not JAX's own")
    if (called := next((known for known, is_call in LIBRARY.items() if is_call(eqn)), None)) is not None:
        return _by_library_rule(ctx, called, eqn, env, read)
    inner = inner_program(eqn)
    if (drawn := sampler(eqn)) and not (inner is not None and _compares_draws(eqn, inner)):
        raise UnprovedError(f"what random.{drawn} draws")
    if inner is not None and len(inner.jaxpr.invars) == len(eqn.invars):
        operands = [None if not is_literal(v) and v not in env else read(v) for v in eqn.invars]
        for note in idealised(eqn):
            ctx.note(note)
        return _run(ctx, inner, operands, use)
    if name in CALLS:
        raise UnprovedError(f"primitive {name}: its inner program is not readable")
    ctx.primitives.setdefault(name)
    rule = RULES.get(name)
    if isinstance(rule, Runs):
        return _by_control(ctx, rule, eqn, use, env, read)
    if rule is None and (why := why_not(eqn) or REFUSED.get(name)):
        raise UnprovedError(f"primitive {name}: {why}")
    values = [read(v) for v in eqn.invars]
    key = _key(ctx, eqn, values)
    if key is None:
        return _by_rule(ctx, rule, eqn, values)
    if key not in ctx.known:
        ctx.known[key] = values, _by_rule(ctx, rule, eqn, values)
    return ctx.known[key][1]


def _by_library_rule(ctx: Context, called: str, eqn: Any, env: dict, read: Any) -> Sequence[Tensor | None]:
    """Return the results of a call of a function of JAX's library, `called`, that has a rule as a whole."""
    rule = RULES[called]
    assert not isinstance(rule, Runs)
    ctx.primitives.setdefault(called)
    operands = [finite(read(v)) for v in eqn.invars if is_literal(v) or v in env]
    return rule(ctx, {}, [shape_polys(v.aval) for v in eqn.outvars], *operands)


def _by_control(ctx: Context, rule: Runs, eqn: Any, use: list[bool], env: dict, read: Any) -> Sequence[Tensor | None]:
    """Return the results of an equation that runs programs, such as a loop; an operand that is not read is None."""
    name = eqn.primitive.name
    operands = [None if not is_literal(v) and v not in env else looked_at(name, [read(v)])[0] for v in eqn.invars]
    note_wrapped_index_uses(ctx, operands)
    # What a loop carries is replaced by its value later, which nothing opaque would follow.
    outside, ctx.everything_followed = ctx.everything_followed, True
    try:
        return rule.control(ctx, eqn, use, operands)
    finally:
        ctx.everything_followed = outside


def _by_rule(ctx: Context, rule: Rule | None, eqn: Any, values: list[Tensor]) -> list[Tensor]:
    """Return the results of an equation by the rule of its primitive, as constants where they are known integers.

    Raises UnprovedError if the primitive has no rule, or for dtypes that have no meaning here.
    """
    name = eqn.primitive.name
    for v in (*eqn.invars, *eqn.outvars):
        kind = kind_of(getattr(v.aval, "dtype", np.dtype("float64")))
        if kind not in "fib":
            raise UnprovedError({"c": "complex", "0": "float0 arithmetic"}.get(kind, f"dtype {v.aval.dtype}"))
    for v in eqn.outvars:
        _refuse_wrapping(v.aval, name)
    if rule is None:
        raise UnprovedError(f"primitive {name}")
    integers = known_results(ctx, eqn, values)
    if integers and integers[0].listed and (listed := _listed(ctx, integers)) is not None:
        return listed
    ctx.equation = eqn
    inputs = looked_at(name, values)
    shapes = [shape_polys(v.aval) for v in eqn.outvars]
    outs = [known_after(name, x) for x in rule(ctx, _params_with_polynomial_dims(eqn.params), shapes, *inputs)]
    if name in MOVES_ENTRIES and all(id(x) in ctx.untouched for x in values):
        ctx.untouched |= {id(x): x for x in outs}
    outs = noted(ctx, eqn, inputs, outs)
    keep(ctx, outs, integers)
    return outs


def _listed(ctx: Context, integers: Sequence[KnownIntegers]) -> list[Tensor] | None:
    """Integers that are known, as constants; None where they are not computed or too many to be written out."""
    arrays = [x.array for x in integers]
    try:
        outs = [constant(x, ctx.reading) for x in arrays if x is not None]
    except UnprovedError:
        return None
    if len(outs) < len(arrays):
        return None
    keep(ctx, outs, [Constant(x) for x in arrays if x is not None])
    return outs


def _literal(ctx: Context, value: Any) -> Tensor:
    """A literal operand: one value wherever the same number stands."""
    array = np.asarray(value)
    key = "literal", array.dtype, array.shape, array.tobytes()
    if key not in ctx.known:
        known = _constant(ctx, value)
        ctx.known[key] = [], [known]
        ctx.untouched[id(known)] = known
    return ctx.known[key][1][0]


def _key(ctx: Context, eqn: Any, values: Sequence[Tensor]) -> Any:
    """Equal for two equations only if they do the same to the same values; None where that cannot be told.

    The values are told apart as objects. They are kept with the key, so that no other object takes their place.
    """
    if ctx.stop and eqn.primitive.name == "stop_gradient":
        return None
    operands = tuple((id(x), v.aval.dtype) for x, v in zip(values, eqn.invars, strict=True))
    results = tuple((v.aval.shape, v.aval.dtype) for v in eqn.outvars)
    try:
        key = eqn.primitive, tuple(sorted(eqn.params.items())), operands, results
        hash(key)
    except (TypeError, AttributeError):  # a parameter without a hash, an operand without a dtype
        return None
    return key


def _refuse_wrapping(aval: Any, name: str) -> None:
    """Raise UnprovedError for integers that wrap at ordinary sizes (unsigned or narrow): they are read as exact.

    Sums and products of wide unsigned ones are, where sizes bound them (`_fits`).
    """
    if kind_of(aval.dtype) == "i" and wraps(np.dtype(aval.dtype), name):
        if name in GROWING_PRIMITIVES and aval.dtype.itemsize >= 4:
            return
        raise UnprovedError(f"integers of dtype {aval.dtype}, which wrap")


def _params_with_polynomial_dims(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters with dimensions as polynomials where a rule computes with them."""
    out = dict(params)
    if "dim" in out:
        out["dim"] = dim_poly(out["dim"])
    return out
