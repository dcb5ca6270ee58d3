"""Semantics of the elementwise primitives: a term, its condition, and its sign, at a generic index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from certgrad.obligations.assume.conditions import (
    UNDEFINED_EVERYWHERE,
    Clause,
    Clauses,
    condition,
    discharged,
    merge_clauses,
)
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.index_cases import Indices, resolved
from certgrad.obligations.assume.isl import Condition
from certgrad.obligations.assume.signs import ANY_SIGN, NEG, NONNEG, NONPOS, NONZERO, POS, ZERO, negated, plus, times
from certgrad.obligations.assume.tensor import Tensor
from certgrad.obligations.laws.functions import FUNCTIONS
from certgrad.obligations.laws.selections import simplified_choices
from certgrad.obligations.meaning import semantics
from certgrad.obligations.terms.atoms import Exp
from certgrad.obligations.terms.index import Ix
from certgrad.obligations.terms.index_terms import index_condition, index_equal, index_pred
from certgrad.obligations.terms.polynomials import ONE, Poly, number
from certgrad.obligations.terms.polynomials import ZERO as NOTHING
from certgrad.obligations.terms.power import UndefinedTermError, exp_of, fn, log_of, power, pred
from certgrad.obligations.terms.predicates import INDEX_PREDICATES
from certgrad.obligations.terms.rounded import as_rounded_index
from certgrad.obligations.terms.walk import atoms_of, deep_atoms

from ._infinite import (
    LARGE_NUMBER,
    VANISHING,
    check_beside_large_number,
    exponential,
    finite,
    greatest,
    meant,
    selected,
    sum_with_infinities,
)
from ._registry import Context, Params, Rule, UnprovedError, rule


def common(shapes: list[tuple], *args: Tensor) -> tuple[tuple[Poly, ...], Clauses, Clauses]:
    """Shape and conditions of an elementwise result. Scalars and axes of size 1 stand for constant ones."""
    return shapes[0], merge_clauses(*(a.defined for a in args)), merge_clauses(*(a.smooth for a in args))


def settle(clauses: Clauses, facts: Facts, signs: int | None = None, cases: bool = False) -> Clauses:
    """Return the clauses that neither the facts nor the known sign show to hold."""
    kept = []
    for clause in clauses:
        wanted = clause.alternatives[0].signs
        if signs is not None and wanted is not None and not signs & ~wanted:
            continue
        if not discharged(clause, facts, cases):
            kept.append(clause)
    return tuple(kept)


FINITE = "every value is a finite real number"


def applied(ctx: Context, name: str, x: Tensor) -> Tensor:
    """A function of one real variable."""
    row = FUNCTIONS[name]
    if x.infinite and name in VANISHING:
        if x.infinite > 0:
            return applied(ctx, name, finite(x))
        ctx.used_facts.setdefault(f"{name}(−∞) = 0")
        return exponential(x, applied(ctx, name, replace(x, infinite=0, kept=ONE)))
    own = x.signs if name in _DIRECT else None
    try:
        defined = settle(row.defined(x.body), ctx.facts, own, cases=True)
        # A function of a number is a number, also where it is not differentiable: sqrt(0) is 0.
        smooth = settle(row.smooth(x.body), ctx.facts, own) if x.body.constant() is None else ()
        body = row.value(x.body)
    except UndefinedTermError:
        return replace(x, body=NOTHING, defined=UNDEFINED_EVERYWHERE, smooth=UNDEFINED_EVERYWHERE)
    if name in _DIRECT:
        rests_on_exp(ctx, x.body, defined)
    return Tensor(
        x.shape, body, x.kind, merge_clauses(x.defined, defined), merge_clauses(x.smooth, smooth), row.signs(x.signs)
    )


_DIRECT = {"log", "sqrt", "rsqrt", "cbrt"}
"""Functions whose condition is about the argument itself, so that its sign can answer."""


def _function(name: str) -> Rule:
    def apply(ctx: Context, params: Params, shapes: list[tuple], x: Tensor) -> list[Tensor]:
        if params.get("accuracy") is not None:
            ctx.note(f"{name} is read as the exact function, whatever `accuracy` asks for")
        return [applied(ctx, name, x)]

    return apply


for _name in ("exp2", "expm1", "log1p", "logistic", "rsqrt"):
    rule(_name)(_function(_name))


def rests_on_exp(ctx: Context, body: Poly, conditions: Clauses) -> None:
    """Record that a condition on a term with exp in it was discharged: floats can break it by underflow."""
    if not conditions and body.constant() is None and any(isinstance(a, Exp) for a in deep_atoms(body)):
        ctx.used_facts.setdefault("exp(z) > 0 (in floats it underflows to 0)")


@rule("round")
def _round(ctx: Context, params: Params, shapes: list[tuple], x: Tensor) -> list[Tensor]:
    away = int(params["rounding_method"]) == 0  # lax.RoundingMethod.AWAY_FROM_ZERO; 1 is TO_NEAREST_EVEN
    return [applied(ctx, "round_away" if away else "round_even", x)]


def total(x: Tensor, y: Tensor, shape: tuple[Poly, ...]) -> Tensor:
    """x + y"""
    check_beside_large_number(x, y)
    y = finite(y) if x.infinite * y.infinite < 0 else y  # ∞ − ∞
    _, defined, smooth = common([shape], x, y)
    return sum_with_infinities(x, y, Tensor(shape, x.body + y.body, x.kind, defined, smooth, plus(x.signs, y.signs)))


def opposite(x: Tensor) -> Tensor:
    """−x"""
    return replace(x, body=-x.body, signs=negated(x.signs), infinite=-x.infinite, support=None)


def multiplied(x: Tensor, y: Tensor, shape: tuple[Poly, ...]) -> Tensor:
    """x · y"""
    check_beside_large_number(x, y, least=1)
    if bool(x.infinite) != bool(y.infinite):
        x, y = (x, y) if x.infinite else (y, x)
        x = x if y.signs in (POS, NEG) else finite(x)  # ∞·0 is no number
    else:
        x, y = finite(x), finite(y)
    _, defined, smooth = common([shape], x, y)
    signs = times(x.signs, y.signs)
    if x.body == y.body:
        signs = (x.signs & ZERO) | (POS if x.signs & NONZERO else 0)
    out = Tensor(shape, x.body * y.body, x.kind, defined, smooth, signs)
    return replace(out, infinite=x.infinite if y.signs == POS else -x.infinite, kept=x.kept) if x.infinite else out


def whole_power(ctx: Context, x: Tensor, n: int) -> Tensor:
    """xⁿ"""
    own: Clauses = ()
    if n < 0:
        own = settle(condition("!= 0", x.body, "division"), ctx.facts, x.signs)
        if x.body.is_zero:
            return replace(x, body=NOTHING, defined=UNDEFINED_EVERYWHERE, smooth=UNDEFINED_EVERYWHERE)
    signs = x.signs if n % 2 else (x.signs & ZERO) | (POS if x.signs & NONZERO else 0)
    signs = POS if n == 0 else signs & (NONZERO if n < 0 else ANY_SIGN)
    return replace(
        x,
        body=power(x.body, n),
        defined=merge_clauses(x.defined, own),
        smooth=merge_clauses(x.smooth, own),
        signs=signs,
    )


def raised_to_power(ctx: Context, x: Tensor, y: Tensor, shape: tuple[Poly, ...]) -> Tensor:
    """xʸ"""
    _, defined, smooth = common([shape], x, y)
    c = y.body.constant()
    if c is not None and c.q == 1:
        out = whole_power(ctx, x, int(c.p))
        return replace(out, defined=merge_clauses(defined, out.defined), smooth=merge_clauses(smooth, out.smooth))
    if y.kind == "i":
        # JAX also has 0ᵏ for k ≥ 0; nothing is claimed of that.
        own = settle(condition("!= 0", x.body, "power"), ctx.facts, x.signs)
        return Tensor(
            shape, fn("whole_power", x.body, y.body), "f", merge_clauses(defined, own), merge_clauses(smooth, own)
        )
    if x.body.is_zero:
        own = settle(condition("> 0", y.body, "power of 0"), ctx.facts, y.signs)
        return Tensor(shape, NOTHING, "f", merge_clauses(defined, own), merge_clauses(smooth, own), ZERO)
    if c is not None:
        e = Fraction(int(c.p), int(c.q))
        needs = settle(condition(">= 0" if c > 0 else "> 0", x.body, "power"), ctx.facts, x.signs)
        differs = settle(condition("> 0", x.body, "power"), ctx.facts, x.signs)
        return Tensor(
            shape, power(x.body, e), "f", merge_clauses(defined, needs), merge_clauses(smooth, differs), NONNEG
        )
    own = settle(condition("> 0", x.body, "power"), ctx.facts, x.signs)
    body = exp_of(y.body * log_of(x.body))
    return Tensor(shape, body, "f", merge_clauses(defined, own), merge_clauses(smooth, own), POS)


def greater(x: Tensor, y: Tensor, shape: tuple[Poly, ...]) -> Tensor:
    """The greater of two numbers."""
    if x.infinite or y.infinite:
        return _beside_infinities(x, y, shape, -1)
    _, defined, smooth = common([shape], x, y)
    d = x.body - y.body
    signs = 0
    signs |= POS if (x.signs | y.signs) & POS else 0
    signs |= ZERO if (x.signs & ZERO and y.signs & NONPOS) or (y.signs & ZERO and x.signs & NONPOS) else 0
    signs |= NEG if x.signs & NEG and y.signs & NEG else 0
    if x.signs == POS or y.signs == POS:
        signs = POS
    elif not (x.signs & NEG and y.signs & NEG):
        signs &= NONNEG
    return Tensor(shape, y.body + d * _greater(x, y), x.kind, defined, smooth, signs or ANY_SIGN)


def lesser(x: Tensor, y: Tensor, shape: tuple[Poly, ...]) -> Tensor:
    """The lesser of two numbers."""
    if x.infinite or y.infinite:
        return _beside_infinities(x, y, shape, 1)
    _, defined, smooth = common([shape], x, y)
    d = x.body - y.body
    signs = ANY_SIGN
    if x.signs == POS and y.signs == POS:
        signs = POS
    elif not (x.signs | y.signs) & NEG:
        signs = NONNEG
    elif x.signs == NEG or y.signs == NEG:
        signs = NEG
    elif not x.signs & POS or not y.signs & POS:
        signs = NONPOS
    return Tensor(shape, x.body - d * _greater(x, y), x.kind, defined, smooth, signs)


def _beside_infinities(x: Tensor, y: Tensor, shape: tuple[Poly, ...], neutral: int) -> Tensor:
    """Return max (or min) where entries may be −∞ (or ∞), which leaves the other operand as it is."""
    check_beside_large_number(x, y)
    x, y = (finite(t) if t.infinite * neutral < 0 else t for t in (x, y))
    for t, other in ((x, y), (y, x)):
        if t.infinite and t.kept.is_zero:  # what makes it is to have a value all the same
            _, defined, smooth = common([shape], x, y)
            return replace(other, shape=shape, defined=defined, smooth=smooth)
    if x.infinite and y.infinite:
        x = finite(x)
    masked, other = (x, y) if x.infinite else (y, x)
    real = replace(masked, infinite=0, kept=ONE)
    out = (greater if neutral < 0 else lesser)(real, other, shape)
    return greatest(masked, other, out) if masked.infinite else out


def angle(ctx: Context, y: Tensor, x: Tensor, shape: tuple[Poly, ...]) -> Tensor:
    """The angle of (x, y). Where y is 0 and x is not positive it is the sign of the zero that tells π from −π, and of
    that the calculus knows nothing: 0·x is −0 for a negative x."""
    _, defined, smooth = common([shape], y, x)
    own: Clauses = ()
    off_axis, right = condition("!= 0", y.body, "atan2"), condition("> 0", x.body, "atan2")
    if off_axis and right:
        own = (Clause((*off_axis[0].alternatives, *right[0].alternatives), origin="atan2"),)
        own = () if not y.signs & ZERO or x.signs == POS else tuple(c for c in own if not discharged(c, ctx.facts))
    return Tensor(shape, fn("atan2", y.body, x.body), "f", merge_clauses(defined, own), merge_clauses(smooth, own))


# --- predicates and selection --------------------------------------------------------------------------------------


def _greater(x: Tensor, y: Tensor) -> Poly:
    """[x > y], a condition on indices where both sides are integers that indices, entries and sizes make."""
    difference = x.body - y.body
    if x.kind == "i":
        try:
            return _index_relation(difference, lambda ix: index_pred(ix.shifted(-ONE)))
        except UnprovedError:  # a count, a quotient: a number like any other
            return _whole_greater(difference)
    return pred(difference)


def _whole_greater(difference: Poly) -> Poly:
    """[d > 0] for an integer d, which is 1 − [1 − d > 0]: the same predicate in k > 0 and in k ≥ 1."""
    ix = as_rounded_index(difference)
    if ix is not None and (known := index_condition(ix.shifted(-ONE))).constant() is not None:  # by what a count can be
        return known
    leading = next((c for mono, c in difference.sorted_items() if mono), 0)
    return pred(difference) if leading >= 0 else ONE - pred(ONE - difference)


def _whole_equal(difference: Poly) -> Poly:
    try:
        return _index_relation(difference, index_equal)
    except UnprovedError:
        return ONE - pred(difference) - pred(-difference)


def _index_relation(difference: Poly, relation: Callable[[Ix], Poly]) -> Poly:
    total = NOTHING
    for case in semantics._index_numbers.index_cases(difference, quotients=False):
        total = total + case.guard * _simplified_under_conditions(case.conditions, relation(case.ix))
    return total


def _simplified_under_conditions(conditions: tuple[Condition, ...], holds: Poly) -> Poly:
    """Return a truth value of indices, simplified where conditions hold: x − m·⌊x/m⌋ < m is 1, say."""
    on_atoms = any(a.ix.atoms for a in atoms_of(holds) if isinstance(a, INDEX_PREDICATES))
    return resolved(holds, Indices(conditions=conditions)) if on_atoms else holds


def compared(ctx: Context, relation: str, x: Tensor, y: Tensor, shape: tuple[Poly, ...]) -> Tensor:
    """x < y, x ≤ y or x = y, of numbers."""
    for t, other in ((x, y), (y, x)):
        if t.infinite and not t.kept.is_zero:
            if not other.infinite:
                return _masked_comparison(ctx, relation, x, y, shape)
            return compared(ctx, relation, finite(x), finite(y), shape)
    if x.infinite != y.infinite:
        check_beside_large_number(x, y)
        if x.infinite * y.infinite > 0:  # one of them is a number
            x, y = finite(x), finite(y)
        return _against_infinity(ctx, relation, x, y, shape)
    _, defined, smooth = common([shape], x, y)
    return Tensor(shape, _comparison(relation, x, y), "b", defined, smooth, NONNEG)


def _comparison(relation: str, x: Tensor, y: Tensor) -> Poly:
    if relation == "<":
        return _greater(y, x)
    if relation == "<=":
        return ONE - _greater(x, y)
    return _whole_equal(x.body - y.body) if x.kind == "i" else ONE - _greater(x, y) - _greater(y, x)


def _masked_comparison(ctx: Context, relation: str, x: Tensor, y: Tensor, shape: tuple[Poly, ...]) -> Tensor:
    """A comparison where entries of one operand can be infinite."""
    check_beside_large_number(x, y)
    kept = x.kept if x.infinite else y.kept
    real = compared(ctx, relation, replace(x, infinite=0, kept=ONE), replace(y, infinite=0, kept=ONE), shape)
    beyond = _against_infinity(ctx, relation, x, y, shape).body
    return replace(real, body=beyond + kept * (real.body - beyond))


def _against_infinity(ctx: Context, relation: str, x: Tensor, y: Tensor, shape: tuple[Poly, ...]) -> Tensor:
    """A real number against ∞ or −∞, or these two: known, given that values are finite."""
    ctx.note(FINITE)
    _, defined, smooth = common([shape], x, y)
    below = relation != "=" and x.infinite < y.infinite
    return Tensor(shape, ONE if below else NOTHING, "b", defined, smooth, NONNEG)


@rule("jax.numpy.signbit")
def _sign_bit(ctx: Context, params: Params, shapes: list[tuple], x: Tensor, *_: Tensor) -> list[Tensor]:
    """Return [x < 0]; the sign of a float 0 is not modelled, as over the reals there is one 0."""
    needs = settle(condition("!= 0", x.body, "sign bit"), ctx.facts, x.signs)
    return [
        Tensor(x.shape, pred(-x.body), "b", merge_clauses(x.defined, needs), merge_clauses(x.smooth, needs), NONNEG)
    ]


def is_finite(ctx: Context, x: Tensor) -> Tensor:
    """True for every number: terms are finite."""
    ctx.note(FINITE)
    kept = ONE if meant(x) else x.kept
    return replace(x, body=kept, kind="b", signs=NONNEG, infinite=0, kept=ONE)


def logical_and(x: Tensor, y: Tensor) -> Tensor:
    """x and y."""
    shape, defined, smooth = common([x.shape], x, y)
    return Tensor(shape, x.body * y.body, "b", defined, smooth, NONNEG)


def logical_not(x: Tensor) -> Tensor:
    """Return 1 − x for booleans x."""
    return replace(x, body=ONE - x.body, signs=NONNEG)


def selected_by(ctx: Context, which: Tensor, yes: Tensor, no: Tensor) -> Tensor:
    """`yes` where the boolean holds, else `no`."""
    if which.body.constant() is None:
        yes, no = _as_meant(ctx, yes), _as_meant(ctx, no)
    no = finite(no) if no.infinite * yes.infinite < 0 else no
    chosen, other = simplified_choices(which.body, yes.body, no.body)
    body = other + which.body * (chosen - other) if chosen != other else other

    # What the guard discharges is settled here for definedness. Differentiability keeps its guarded clauses: whether
    # the branches are smooth across the seam is asked of them later.
    defined = tuple(c for c in _either(which.body, no.defined, yes.defined) if not discharged(c, Facts(), cases=False))
    smooth = _either(which.body, no.smooth, yes.smooth)
    defined, smooth = merge_clauses(which.defined, defined), merge_clauses(which.smooth, smooth)
    out = Tensor(which.shape, body, no.kind, defined, smooth, no.signs | yes.signs)
    return selected(which, no, yes, out) if no.infinite or yes.infinite else out


def _as_meant(ctx: Context, x: Tensor) -> Tensor:
    """Return a mask's large number as the infinity that it may stand for."""
    c = x.body.constant() if x.kind == "f" and not x.infinite else None
    sign = 0 if c is None else ctx.reading.masking(Fraction(int(c.p), int(c.q)))
    return replace(x, body=NOTHING, infinite=sign * LARGE_NUMBER, kept=NOTHING) if sign else x


def selected_by_number(ctx: Context, which: Tensor, choices: list[Tensor]) -> Tensor:
    """The choice of this number, which is in range: Σ [which = k]·choiceₖ."""
    shape, choices = which.shape, [finite(c) for c in choices]
    body, defined, smooth, signs = NOTHING, [which.defined], [which.smooth], 0
    for k, choice in enumerate(choices):
        here = _whole_equal(which.body - number(k))
        body = body + here * choice.body
        defined.append(tuple(c.guarded(here, True) for c in choice.defined))
        smooth.append(tuple(c.guarded(here, True) for c in choice.smooth))
        signs |= choice.signs
    if _is_one_of(which.body, len(choices)):
        return Tensor(shape, body, choices[0].kind, merge_clauses(*defined), merge_clauses(*smooth), signs)
    own = condition(">= 0", which.body, "select_n") + condition(
        ">= 0", number(len(choices) - 1) - which.body, "select_n"
    )
    own = settle(own, ctx.facts, cases=True)
    return Tensor(shape, body, choices[0].kind, merge_clauses(*defined, own), merge_clauses(*smooth, own), signs)


def _is_one_of(poly: Poly, count: int) -> bool:
    """Return whether the integer is 0, …, or count − 1 in each case."""
    try:
        cases = semantics._index_numbers.index_cases(poly)
    except UnprovedError:
        return False
    known = [case.ix.const.constant() if not case.ix.terms else None for case in cases]
    return all(c is not None and 0 <= c < count for c in known)


def _either(guard: Poly, no: Clauses, yes: Clauses) -> Clauses:
    """Each branch's conditions under its guard; a condition that both branches have needs none."""
    both = {c.key for c in no} & {c.key for c in yes}
    return (
        *(c if c.key in both else c.guarded(guard, False) for c in no),
        *(c.guarded(guard, True) for c in yes if c.key not in both),
    )


def guarded(x: Tensor, guard: Poly) -> tuple[Clauses, Clauses]:
    """Return the conditions of a tensor that is used only where the guard is 1."""
    if guard == ONE:
        return x.defined, x.smooth
    return tuple(c.guarded(guard, True) for c in x.defined), tuple(c.guarded(guard, True) for c in x.smooth)


def chosen(shape: tuple[Poly, ...], parts: Sequence[tuple[Poly, Tensor]]) -> Tensor:
    """Return Σ guard · tensor, for guards of which at most one is 1; conditions and signs go with the guards."""
    body, signs = NOTHING, 0
    defined, smooth = [], []
    for guard, x in parts:
        if guard.is_zero:
            continue
        body = body + guard * x.body
        signs |= x.signs
        d, s = guarded(x, guard)
        defined.append(d)
        smooth.append(s)
    return Tensor(shape, body, parts[0][1].kind, merge_clauses(*defined), merge_clauses(*smooth), signs)
