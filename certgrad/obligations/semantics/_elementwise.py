"""Semantics of the elementwise primitives: a term, its condition, and its sign, at a generic index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from .._conditions import Clause, Clauses, condition, discharged, merged
from .._facts import ANY, NEG, NONNEG, NONPOS, NONZERO, POS, ZERO, Facts, negated, plus, times
from .._functions import FUNCTIONS
from .._index import Ix, quotient
from .._index_terms import as_index, index_equal, index_number, index_pred
from .._power import UndefinedTermError, exp_of, fn, log_of, power, pred, sign_of
from .._tensor import Tensor
from .._terms import ONE, Exp, Poly, deep_atoms
from .._terms import ZERO as NOTHING
from ._index_numbers import index_cases
from ._registry import Context, Params, Rule, UnprovedError, rule


def common(args: list[Tensor], shapes: list[tuple]) -> tuple[tuple[Poly, ...], Clauses, Clauses]:
    """Shape and conditions of an elementwise result. Scalars and axes of size 1 stand for constant ones."""
    return shapes[0], merged(*(a.defined for a in args)), merged(*(a.smooth for a in args))


def settle(clauses: Clauses, facts: Facts, signs: int | None = None, cases: bool = False) -> Clauses:
    """Without the clauses that the facts, or the sign found by following the program, show to hold."""
    kept = []
    for clause in clauses:
        wanted = clause.alternatives[0].signs
        if signs is not None and wanted is not None and not signs & ~wanted:
            continue
        if not discharged(clause, facts, cases):
            kept.append(clause)
    return tuple(kept)


UNDEFINED: Clauses = (
    Clause(condition("!= 0", NOTHING, "undefined")[0].alternatives, origin="undefined at every input"),
)


def _unary(name: str) -> Rule:
    row = FUNCTIONS[name]

    def apply(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
        (x,) = args
        if params.get("accuracy") is not None:
            ctx.note(f"{name} is read as the exact function, whatever `accuracy` asks for")
        own = x.signs if name in _DIRECT else None
        try:
            defined = settle(row.defined(x.body), ctx.facts, own, cases=True)
            smooth = settle(row.smooth(x.body), ctx.facts, own)
            body = row.value(x.body)
        except UndefinedTermError:
            return [replace(x, body=NOTHING, defined=UNDEFINED, smooth=UNDEFINED)]
        if name in _DIRECT:
            _rests_on_exp(ctx, x.body, defined)
        return [Tensor(x.shape, body, x.kind, merged(x.defined, defined), merged(x.smooth, smooth), row.signs(x.signs))]

    return apply


_DIRECT = {"log", "sqrt", "rsqrt", "cbrt"}
"""Functions whose condition is about the argument itself, so that its sign can answer."""

for _name in FUNCTIONS:
    if _name not in ("round_even", "round_away", "polygamma1"):
        rule(_name)(_unary(_name))


def _rests_on_exp(ctx: Context, body: Poly, conditions: Clauses) -> None:
    """Record that a condition on a term with exp in it was discharged: floats can break it by underflow."""
    if not conditions and body.constant() is None and any(isinstance(a, Exp) for a in deep_atoms(body)):
        ctx.used_facts.setdefault("exp(z) > 0 (in floats it underflows to 0)")


@rule("round")
def _round(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
    away = int(params["rounding_method"]) == 0  # lax.RoundingMethod.AWAY_FROM_ZERO; 1 is TO_NEAREST_EVEN
    return _unary("round_away" if away else "round_even")(ctx, {}, args, shapes)


@rule("add", "add_any")
def _add(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
    x, y = args
    shape, defined, smooth = common(args, shapes)
    return [Tensor(shape, x.body + y.body, x.kind, defined, smooth, plus(x.signs, y.signs))]


@rule("sub")
def _sub(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
    x, y = args
    shape, defined, smooth = common(args, shapes)
    return [Tensor(shape, x.body - y.body, x.kind, defined, smooth, plus(x.signs, negated(y.signs)))]


@rule("mul")
def _mul(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
    x, y = args
    shape, defined, smooth = common(args, shapes)
    signs = times(x.signs, y.signs)
    if x.body == y.body:
        signs = (x.signs & ZERO) | (POS if x.signs & NONZERO else 0)
    return [Tensor(shape, x.body * y.body, x.kind, defined, smooth, signs)]


@rule("div")
def _div(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
    x, y = args
    shape, defined, smooth = common(args, shapes)
    if x.kind == "i":
        return [Tensor(shape, _whole_quotient(x, y), "i", defined, smooth, x.signs | ZERO)]
    own = settle(condition("!= 0", y.body, "division"), ctx.facts, y.signs)
    if y.body.is_zero:
        return [Tensor(shape, NOTHING, x.kind, UNDEFINED, UNDEFINED)]
    _rests_on_exp(ctx, y.body, own)
    signs = times(x.signs, y.signs & NONZERO)
    return [Tensor(shape, x.body * power(y.body, -1), x.kind, merged(defined, own), merged(smooth, own), signs)]


def _whole_quotient(x: Tensor, y: Tensor) -> Poly:
    """⌊x / y⌋ for an index x that is not negative and a positive size y."""
    ix = as_index(x.body)
    if ix is None or x.signs & NEG or y.signs != POS or y.body.free or not y.body.positive:
        raise UnprovedError("a division of integers that may be negative, or by more than a size")
    return index_number(quotient(ix, y.body))


@rule("integer_pow")
def _integer_pow(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
    return [_whole_power(ctx, args[0], int(params["y"]))]


def _whole_power(ctx: Context, x: Tensor, n: int) -> Tensor:
    own: Clauses = ()
    if n < 0:
        own = settle(condition("!= 0", x.body, "division"), ctx.facts, x.signs)
        if x.body.is_zero:
            return replace(x, body=NOTHING, defined=UNDEFINED, smooth=UNDEFINED)
    signs = x.signs if n % 2 else (x.signs & ZERO) | (POS if x.signs & NONZERO else 0)
    signs = POS if n == 0 else signs & (NONZERO if n < 0 else ANY)
    return replace(x, body=power(x.body, n), defined=merged(x.defined, own), smooth=merged(x.smooth, own), signs=signs)


@rule("pow")
def _pow(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
    x, y = args
    shape, defined, smooth = common(args, shapes)
    c = y.body.constant()
    if c is not None and c.q == 1:
        return [replace(_whole_power(ctx, x, int(c.p)), shape=shape)]
    if y.kind == "i":
        raise UnprovedError("a power with a varying integer exponent")
    if x.body.is_zero:
        own = settle(condition("> 0", y.body, "power of 0"), ctx.facts, y.signs)
        return [Tensor(shape, NOTHING, "f", merged(defined, own), merged(smooth, own), ZERO)]
    if c is not None:
        e = Fraction(int(c.p), int(c.q))
        needs = settle(condition(">= 0" if c > 0 else "> 0", x.body, "power"), ctx.facts, x.signs)
        differs = settle(condition("> 0", x.body, "power"), ctx.facts, x.signs)
        return [Tensor(shape, power(x.body, e), "f", merged(defined, needs), merged(smooth, differs), NONNEG)]
    own = settle(condition("> 0", x.body, "power"), ctx.facts, x.signs)
    body = exp_of(y.body * log_of(x.body))
    return [Tensor(shape, body, "f", merged(defined, own), merged(smooth, own), POS)]


@rule("max")
def _max(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
    x, y = args
    if -1 in (x.infinite, y.infinite):
        return [replace(y if x.infinite == -1 else x, shape=shapes[0])]
    shape, defined, smooth = common(args, shapes)
    if x.kind == "b":
        return [Tensor(shape, x.body + y.body - x.body * y.body, "b", defined, smooth, NONNEG)]
    d = x.body - y.body
    signs = 0
    signs |= POS if (x.signs | y.signs) & POS else 0
    signs |= ZERO if (x.signs & ZERO and y.signs & NONPOS) or (y.signs & ZERO and x.signs & NONPOS) else 0
    signs |= NEG if x.signs & NEG and y.signs & NEG else 0
    if x.signs == POS or y.signs == POS:
        signs = POS
    elif not (x.signs & NEG and y.signs & NEG):
        signs &= NONNEG
    return [Tensor(shape, y.body + d * _greater(x, y), x.kind, defined, smooth, signs or ANY)]


@rule("min")
def _min(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
    x, y = args
    if 1 in (x.infinite, y.infinite):
        return [replace(y if x.infinite == 1 else x, shape=shapes[0])]
    shape, defined, smooth = common(args, shapes)
    if x.kind == "b":
        return [Tensor(shape, x.body * y.body, "b", defined, smooth, NONNEG)]
    d = x.body - y.body
    signs = ANY
    if x.signs == POS and y.signs == POS:
        signs = POS
    elif not (x.signs | y.signs) & NEG:
        signs = NONNEG
    elif x.signs == NEG or y.signs == NEG:
        signs = NEG
    elif not x.signs & POS or not y.signs & POS:
        signs = NONPOS
    return [Tensor(shape, x.body - d * _greater(x, y), x.kind, defined, smooth, signs)]


@rule("clamp")
def _clamp(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
    low, x, high = args
    return _min(ctx, {}, [_max(ctx, {}, [x, low], shapes)[0], high], shapes)


@rule("polygamma")
def _polygamma(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
    order, x = args
    m = order.body.constant()
    if m is None or m not in (0, 1):
        raise UnprovedError("polygamma of an order other than 0 or 1")
    return _unary("polygamma1" if m == 1 else "digamma")(ctx, {}, [replace(x, shape=shapes[0])], shapes)


@rule("atan2")
def _atan2(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
    y, x = args
    shape, defined, smooth = common(args, shapes)
    own: Clauses = ()
    off_axis, right = condition("!= 0", y.body, "atan2"), condition("> 0", x.body, "atan2")
    if off_axis and right:
        own = (Clause((*off_axis[0].alternatives, *right[0].alternatives), origin="atan2"),)
        own = () if not y.signs & ZERO or x.signs == POS else tuple(c for c in own if not discharged(c, ctx.facts))
    return [Tensor(shape, fn("atan2", y.body, x.body), "f", defined, merged(smooth, own))]


# --- predicates and selection --------------------------------------------------------------------------------------


def _greater(x: Tensor, y: Tensor) -> Poly:
    """[x > y], a condition on indices where both sides are integers."""
    if x.kind == "i":
        return _index_relation(x.body - y.body, lambda ix: index_pred(ix.shifted(-ONE)))
    return pred(x.body - y.body)


def _index_relation(difference: Poly, relation: Callable[[Ix], Poly]) -> Poly:
    total = NOTHING
    for case in index_cases(difference):
        total = total + case.guard * relation(case.ix)
    return total


def _comparison(name: str, x: Tensor, y: Tensor) -> Poly:
    if x.kind == "b" and name in ("eq", "ne"):
        equal = x.body * y.body + (ONE - x.body) * (ONE - y.body)
        return equal if name == "eq" else ONE - equal
    if x.kind == "i" and name in ("eq", "ne"):
        equal = _index_relation(x.body - y.body, index_equal)
        return equal if name == "eq" else ONE - equal
    if name == "gt":
        return _greater(x, y)
    if name == "lt":
        return _greater(y, x)
    if name == "ge":
        return ONE - _greater(y, x)
    if name == "le":
        return ONE - _greater(x, y)
    differ = _greater(x, y) + _greater(y, x)
    return differ if name == "ne" else ONE - differ


def _compare(name: str) -> Rule:
    def apply(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
        x, y = args
        shape, defined, smooth = common(args, shapes)
        return [Tensor(shape, _comparison(name, x, y), "b", defined, smooth, NONNEG)]

    return apply


for _name in ("gt", "lt", "ge", "le", "eq", "ne"):
    rule(_name)(_compare(_name))


@rule("and")
def _and(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
    x, y = _booleans(args)
    shape, defined, smooth = common(args, shapes)
    return [Tensor(shape, x.body * y.body, "b", defined, smooth, NONNEG)]


@rule("or")
def _or(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
    x, y = _booleans(args)
    shape, defined, smooth = common(args, shapes)
    return [Tensor(shape, x.body + y.body - x.body * y.body, "b", defined, smooth, NONNEG)]


@rule("xor")
def _xor(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
    x, y = _booleans(args)
    shape, defined, smooth = common(args, shapes)
    return [Tensor(shape, x.body + y.body - (x.body * y.body).scale(2), "b", defined, smooth, NONNEG)]


@rule("not")
def _not(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
    (x,) = _booleans(args)
    return [replace(x, body=ONE - x.body, signs=NONNEG)]


def _booleans(args: list[Tensor]) -> list[Tensor]:
    if any(a.kind != "b" for a in args):
        raise UnprovedError("bitwise arithmetic on integers")
    return args


@rule("is_finite")
def _is_finite(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
    ctx.note("every value is a finite real number (is_finite is true)")
    return [replace(args[0], body=ONE, kind="b", signs=POS)]


@rule("select_n")
def _select(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
    which, *choices = args
    if which.kind != "b" or len(choices) != 2:
        raise UnprovedError("a selection among more than two operands")
    no, yes = choices
    shape = shapes[0]
    body = no.body + which.body * (yes.body - no.body) if yes.body != no.body else no.body

    # What the guard discharges is settled here for definedness. Differentiability keeps its guarded clauses: whether
    # the branches are smooth across the seam is asked of them later.
    defined = tuple(c for c in _either(which.body, no.defined, yes.defined) if not discharged(c, Facts()))
    smooth = _either(which.body, no.smooth, yes.smooth)
    return [
        Tensor(shape, body, no.kind, merged(which.defined, defined), merged(which.smooth, smooth), no.signs | yes.signs)
    ]


def _either(guard: Poly, no: Clauses, yes: Clauses) -> Clauses:
    """Each branch's conditions under its guard; a condition that both branches have needs none."""
    both = {c.key for c in no} & {c.key for c in yes}
    return (
        *(c if c.key in both else c.guarded(guard, False) for c in no),
        *(c.guarded(guard, True) for c in yes if c.key not in both),
    )


# --- numbers -------------------------------------------------------------------------------------------------------


@rule("stop_gradient")
def _stop_gradient(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
    (x,) = args
    return [replace(x, body=fn("stop", x.body))] if ctx.stop and x.kind == "f" else [x]


@rule("copy", "copy_p", "optimization_barrier", "sharding_constraint", "pvary")
def _identity(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
    return list(args)


@rule("convert_element_type")
def _convert(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
    (x,) = args
    import numpy as np

    new = np.dtype(params["new_dtype"])
    kind = "b" if new.kind == "b" else "i" if new.kind in "iu" else "f" if new.kind in "fV" else "c"
    if kind == "c":
        raise UnprovedError("complex")
    if kind == "b" and x.kind != "b":
        return [replace(x, body=sign_of(x.body) * sign_of(x.body), kind="b", signs=NONNEG)]
    if kind == "i" and x.kind == "f":
        raise UnprovedError("a cast from float to integer")
    if kind == "i" and x.kind == "i" and new.itemsize < 8:
        ctx.note(f"integers are in the range of {new}")
    if kind == "f" and new != np.dtype("float64"):
        ctx.note(f"the cast to {new} is read as exact")
    return [replace(x, kind=kind)]  # type: ignore[arg-type]


@rule("reduce_precision")
def _reduce_precision(ctx: Context, params: Params, args: list[Tensor], shapes: list[tuple]) -> list[Tensor]:
    ctx.note("reduce_precision is read as exact")
    return list(args)
