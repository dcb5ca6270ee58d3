"""Semantics of gather and scatter: an index is an arbitrary integer after the wrap and clamp that the trace shows.

Which window positions a gather leaves out of its operand, and which updates a scatter drops, is read from its mode
(`jax.lax.GatherScatterMode`): CLIP moves a window into range, FILL_OR_DROP drops the updates of one that is not within
(a gather fills with NaN, which no theorem covers, so being within is a condition), PROMISE_IN_BOUNDS is a condition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from jax.lax import GatherScatterMode

from certgrad.obligations.assume.conditions import Clauses, Relation, condition, merged
from certgrad.obligations.assume.isl import Condition, feasible, inhabited
from certgrad.obligations.assume.signs import ANY, ZERO, negated
from certgrad.obligations.assume.tensor import Tensor, axis_index, for_all
from certgrad.obligations.laws.order import may_be_empty
from certgrad.obligations.terms.index import Ix, of_const, of_var
from certgrad.obligations.terms.index_terms import index_condition, index_equal, index_number, within
from certgrad.obligations.terms.polynomials import ONE, Poly
from certgrad.obligations.terms.polynomials import ZERO as NOTHING
from certgrad.obligations.terms.power import pred
from certgrad.obligations.terms.predicates import PREDICATES
from certgrad.obligations.terms.rewriting import substitute
from certgrad.obligations.terms.sums import max_over, sum_over
from certgrad.obligations.terms.variables import Var, fresh, template
from certgrad.obligations.terms.walk import atoms_of
from certgrad.obligations.tracing.jax_internals import dim_poly

from ._elementwise import chosen, greater, guarded, lesser, multiplied
from ._index_numbers import Case, clamped, in_range, index_cases, ranges_of
from ._infinite import finite
from ._registry import Context, Params, UnprovedError, rule

Shapes = list[tuple]


@dataclass
class _Start:
    """A start position in the operand: its cases, and the conditions under which it may be used."""

    cases: list[tuple[Poly, list[Ix]]]
    conditions: Clauses


def _starts(
    indices: Tensor,
    batch: Sequence[Ix],
    sizes: Sequence[Poly],
    rooms: Sequence[Poly],
    mode: object,
    ranges: dict[Var, Poly],
    drop: bool,
) -> _Start:
    """The operand's start position for the axes, at a batch position of the index array.

    `sizes` and `rooms` are the window's and the operand's sizes along the axes that are indexed. With `drop`, a window
    that is not within the operand gets guard 0 under FILL_OR_DROP; without it, being within is a condition.
    """
    out = _Start([(ONE, [])], ())
    for k, (size, room) in enumerate(zip(sizes, rooms, strict=True)):
        component = indices.indexed([*batch, of_const(NOTHING if k == 0 else ONE.scale(k))], ())
        found: list[Case] = []
        clauses: Clauses = component.defined
        for case in _possible(index_cases(component.body), ranges):
            if mode == GatherScatterMode.CLIP:
                found += clamped(case, room - size)
            elif mode == GatherScatterMode.FILL_OR_DROP and drop:
                found.append(Case(case.guard * within(case.ix, room - size + ONE, ranges), case.ix))
            else:
                found.append(case)
                clauses = merged(clauses, in_range(case, room - size, ranges))
        out.cases = [(g * c.guard, [*ixs, c.ix]) for g, ixs in out.cases for c in found]
        out.cases = [(g, ixs) for g, ixs in out.cases if not g.is_zero]
        out.conditions = merged(out.conditions, clauses)
    return out


def _possible(cases: list[Case], ranges: Mapping[Var, Poly]) -> list[Case]:
    """The cases in which some index can be. Exactly one of them holds: where they all say the same, that is so."""
    if len(cases) == 1:
        return cases
    cases = [c for c in cases if feasible(c.conditions, ranges)]
    return [Case(ONE, cases[0].ix)] if len({c.ix for c in cases}) == 1 else cases


@rule("gather")
def _gather(ctx: Context, params: Params, shapes: Shapes, x: Tensor, indices: Tensor) -> list[Tensor]:
    """out[b, w] = x[start(b) + w], with w over the window's axes that are kept."""
    (shape,) = shapes
    spec, mode = params["dimension_numbers"], params["mode"]
    sizes = [dim_poly(n) for n in params["slice_sizes"]]
    _readable(mode)
    gone = {*spec.collapsed_slice_dims, *spec.operand_batching_dims}
    windows = dict(zip([k for k in range(x.rank) if k not in gone], spec.offset_dims, strict=True))
    batch = [axis_index(k, n) for k, n in enumerate(shape) if k not in spec.offset_dims]
    axes = list(spec.start_index_map)
    ranges = ctx.ranges | ranges_of(shape)
    start = _starts(indices, batch, [sizes[a] for a in axes], [x.shape[a] for a in axes], mode, ranges, drop=False)
    along = {v: shape[v[1]] for ix in batch for v in ix.free}
    first = indices.indexed([*batch, of_const(NOTHING)], ()).body
    promises = _promised(params, axes, start, batch, along, spec.start_indices_batching_dims, first)
    start.conditions = merged(start.conditions, promises)
    parts = []
    for guard, begin in start.cases:
        index = [of_const(NOTHING)] * x.rank
        for a, position in windows.items():
            index[a] = axis_index(position, shape[position])
        for a, b in zip(spec.operand_batching_dims, spec.start_indices_batching_dims, strict=True):
            index[a] = batch[b]
        for a, ix in zip(axes, begin, strict=True):
            index[a] = index[a].plus(ix)
        index = [of_const(NOTHING) if n == ONE else ix for ix, n in zip(index, x.shape, strict=True)]
        parts.append((guard, x.indexed(index, shape)))
    out = chosen(shape, parts)
    return [
        Tensor(
            shape,
            out.body,
            x.kind,
            merged(out.defined, start.conditions),
            merged(out.smooth, start.conditions),
            out.signs,
        )
    ]


def _readable(mode: object) -> None:
    known = (GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP, GatherScatterMode.PROMISE_IN_BOUNDS)
    if mode not in known:
        raise UnprovedError(f"gather or scatter in mode {mode}")


def _promised(
    params: Params,
    axes: Sequence[int],
    start: _Start,
    batch: Sequence[Ix],
    ranges: dict[Var, Poly],
    batching: Sequence[int],
    entry: Poly,
) -> Clauses:
    """What a promise says that the indices are unique or sorted, where it is not shown: what runs is undefined if not.

    Sorted means in the order of the operand's axes, as the batch positions go in row-major order. Of one axis and one
    row of positions it is a condition on the entries, i[a] ≠ i[b] or i[a] ≤ i[b] for a < b; else it is refused: such a
    condition would not be read.
    """
    places = [v for k, ix in enumerate(batch) if k not in batching and (v := ix.variable()) is not None]
    if not places or not (params["unique_indices"] or params["indices_are_sorted"]):
        return ()
    other = {v: of_var(fresh()) for v in places}
    ranges = ranges | {w: ranges[v] for v, ix in other.items() for w in ix.free}
    before = _earlier([(of_var(v), other[v]) for v in places])
    open_promises: dict[str, Relation] = {}
    for _, one in start.cases:
        for _, two in start.cases:
            pairs = [(a, b.subst(other)) for _, a, b in sorted(zip(axes, one, two, strict=True), key=lambda t: t[0])]
            same: list[Condition] = [(a.minus(b), "=") for a, b in pairs]
            if params["unique_indices"] and any(feasible([*order, *same], ranges) for order in before):
                open_promises.setdefault("unique", "!= 0")
            after = _earlier([(b, a) for a, b in pairs])
            if params["indices_are_sorted"] and any(feasible([*o, *p], ranges) for o in before for p in after):
                open_promises.setdefault("sorted", ">= 0")
    if not open_promises:
        return ()
    if len(places) > 1 or len(axes) > 1:
        raise UnprovedError(f"a promise that indices are {next(iter(open_promises))}, which is not shown")
    (v,) = places
    w = fresh()
    entry, out = _as_given(entry, next(iter(open_promises)))
    for promise, relation in open_promises.items():
        difference = substitute(entry, {v: of_var(w)}) - entry
        later = index_condition(of_var(w).minus(of_var(v)).shifted(-ONE))
        clauses = condition(relation, difference, f"indices that are {promise}")
        out = merged(out, for_all(tuple(c.guarded(later, True) for c in clauses), [(v, None), (w, None)]))
    return out


def _as_given(entry: Poly, promise: str) -> tuple[Poly, Clauses]:
    """The entry where it is not moved, and the condition that it is not: of i + n where i < 0, and i, that is i ≥ 0.

    A promise about what is moved is kept where the entries are as given, and keep it.
    """
    if not any(isinstance(a, PREDICATES) for a in atoms_of(entry)):
        return entry, ()
    cases = sorted(index_cases(entry), key=lambda c: len(index_number(c.ix)))
    plain = cases[0]
    if len(index_number(cases[1].ix)) == len(index_number(plain.ix)) or not plain.is_its_conditions:
        raise UnprovedError(f"a promise that indices are {promise}, which is not shown")
    relations: dict[str, Relation] = {">=": ">= 0", "=": "= 0", "!=": "!= 0"}
    stated = [condition(relations[r], index_number(ix), f"indices that are {promise}") for ix, r in plain.conditions]
    return index_number(plain.ix), merged(*stated)


def _earlier(pairs: Sequence[tuple[Ix, Ix]]) -> list[list[Condition]]:
    """The first of each pair are before the second in lexicographic order, in the ways that this can be."""
    out: list[list[Condition]] = []
    equal: list[Condition] = []
    for a, b in pairs:
        out.append([*equal, (b.minus(a).shifted(-ONE), ">=")])
        equal.append((a.minus(b), "="))
    return out


@rule("scatter-add", "scatter_add")
def _scatter_add(
    ctx: Context, params: Params, shapes: Shapes, x: Tensor, indices: Tensor, update: Tensor
) -> list[Tensor]:
    """out[v] = x[v] + Σ_b Σ_w [v = start(b) + w]·update[b, w]: repeated positions add up."""
    (shape,) = shapes
    hit, _, conditions = _hits(params, x, indices, update, shape)
    total, signs = x.body, x.signs | update.signs | ZERO
    for guard, entry, dummies in hit:
        total = total + sum_over(guard * entry.body, dummies)
    defined, smooth = _everywhere(hit)
    return [
        Tensor(
            shape,
            total,
            x.kind,
            merged(x.defined, defined, conditions),
            merged(x.smooth, smooth, conditions),
            ANY if signs & 5 == 5 else signs,
        )
    ]


@rule("scatter-sub")
def _scatter_sub(
    ctx: Context, params: Params, shapes: Shapes, x: Tensor, indices: Tensor, update: Tensor
) -> list[Tensor]:
    taken = replace(update, body=-update.body, signs=negated(update.signs))
    return _scatter_add(ctx, params, shapes, x, indices, taken)


@rule("scatter")
def _scatter(ctx: Context, params: Params, shapes: Shapes, x: Tensor, indices: Tensor, update: Tensor) -> list[Tensor]:
    """Entries replaced by updates, where no entry is written twice."""
    (shape,) = shapes
    hit, twice, conditions = _hits(params, x, indices, update, shape)
    if twice:
        raise UnprovedError("a scatter that may write an entry twice: which write wins is not defined")
    total, covered = NOTHING, NOTHING
    for guard, entry, dummies in hit:
        total = total + sum_over(guard * entry.body, dummies)
        covered = covered + sum_over(guard, dummies)
    defined, smooth = _everywhere(hit)
    kept = guarded(x, ONE - covered)
    return [
        Tensor(
            shape,
            total + (ONE - covered) * x.body,
            x.kind,
            merged(kept[0], defined, conditions),
            merged(kept[1], smooth, conditions),
            x.signs | update.signs,
        )
    ]


Combined = Callable[[Tensor, Tensor, tuple[Poly, ...]], Tensor]


def _scatter_by(name: str, combined: Combined) -> None:
    def apply(ctx: Context, params: Params, shapes: Shapes, x: Tensor, indices: Tensor, update: Tensor) -> list[Tensor]:
        """Entries combined with updates, where no entry is hit twice."""
        (shape,) = shapes
        hit, twice, conditions = _hits(params, x, indices, finite(update), shape)
        if combined in EXTREMA and (twice or _starts_beyond(x, combined)):
            return [_greatest_hit(x, combined, shape, hit, conditions)]
        if twice:
            raise UnprovedError(f"primitive {name} of several windows, which may hit an entry twice")
        x = finite(x)
        total, signs = x.body, x.signs
        for guard, entry, dummies in hit:
            met = combined(x, entry, shape)
            total = total + sum_over(guard * (met.body - x.body), dummies)
            signs |= met.signs
        defined, smooth = _everywhere(hit)
        defined, smooth = merged(x.defined, defined, conditions), merged(x.smooth, smooth, conditions)
        return [Tensor(shape, total, x.kind, defined, smooth, signs)]

    rule(name)(apply)


EXTREMA: dict[Combined, int] = {greater: 1, lesser: -1}


def _starts_beyond(x: Tensor, combined: Combined) -> bool:
    """Every entry is the infinity that all numbers are beyond."""
    return x.infinite * EXTREMA[combined] < 0 and x.kept.is_zero


def _greatest_hit(
    x: Tensor, combined: Combined, shape: tuple[Poly, ...], hit: list[Hit], conditions: Clauses
) -> Tensor:
    """out[v] = max(x[v], max over the windows that hit v), and x[v] where none does."""
    sign, (_, entry, dummies) = EXTREMA[combined], hit[0]
    none = _starts_beyond(x, combined)
    x = x if none else finite(x)
    where = NOTHING
    for guard, _, _ in hit:  # of the cases of a start position one holds
        where = where + guard
    defined, smooth = _everywhere(hit)
    defined, smooth = merged(x.defined, defined, conditions), merged(x.smooth, smooth, conditions)
    if not may_be_empty(where) and not inhabited(where, dict(dummies), ranges_of(shape)):
        raise UnprovedError("a scatter-max of several windows that leaves entries out")
    some = pred(sum_over(where, dummies))
    found = max_over(entry.body.scale(sign), dummies, where).scale(sign)
    made = Tensor(shape, found, x.kind, defined, smooth, entry.signs)
    if none:
        return replace(made, infinite=x.infinite, kept=some)
    met = combined(x, made, shape)
    body = x.body + some * (met.body - x.body)
    return replace(met, body=body, signs=x.signs | met.signs, defined=defined, smooth=merged(smooth, met.smooth))


_scatter_by("scatter-max", greater)
_scatter_by("scatter-min", lesser)
_scatter_by("scatter-mul", multiplied)


Hit = tuple[Poly, Tensor, list[tuple[Var, Poly]]]


def _hits(
    params: Params, x: Tensor, indices: Tensor, update: Tensor, shape: tuple[Poly, ...]
) -> tuple[list[Hit], bool, Clauses]:
    """For each case of the start position: [v = start(b) + w], the update's entry, and the variables b and w.

    Also whether an entry may be hit twice, and the conditions on the indices.
    """
    spec, mode = params["dimension_numbers"], params["mode"]
    _readable(mode)
    gone = {*spec.inserted_window_dims, *spec.operand_batching_dims}
    windows = dict(zip([k for k in range(x.rank) if k not in gone], spec.update_window_dims, strict=True))
    dummies: list[tuple[Var, Poly]] = []
    position: list[Ix] = []
    for n in update.shape:
        v = fresh()
        position.append(of_var(v) if n != ONE else of_const(NOTHING))
        if n != ONE:
            dummies.append((v, n))
    batch_axes = [k for k in range(update.rank) if k not in spec.update_window_dims]
    batch = [position[k] for k in batch_axes]
    axes = list(spec.scatter_dims_to_operand_dims)
    sizes = [update.shape[windows[a]] if a in windows else ONE for a in axes]
    start = _starts(indices, batch, sizes, [x.shape[a] for a in axes], mode, dict(dummies), drop=True)
    first = indices.indexed([*batch, of_const(NOTHING)], ()).body
    promises = _promised(params, axes, start, batch, dict(dummies), spec.scatter_indices_batching_dims, first)
    start.conditions = merged(start.conditions, promises)
    ranges = {**{template(k): n for k, n in enumerate(shape)}, **dict(dummies)}
    out: list[Hit] = []
    targets: list[list[Ix]] = []
    for case, begin in start.cases:
        target = [of_const(NOTHING)] * x.rank
        for a, k in windows.items():
            target[a] = position[k]
        for a, b in zip(spec.operand_batching_dims, spec.scatter_indices_batching_dims, strict=True):
            target[a] = batch[b]
        for a, ix in zip(axes, begin, strict=True):
            target[a] = target[a].plus(ix)
        targets.append(target)
        guard = case
        for a, ix in enumerate(target):
            guard = guard * index_equal(axis_index(a, shape[a]).minus(ix), ranges)
        out.append((guard, update.indexed(position, shape), dummies))
    several = any(update.shape[k] != ONE for k in batch_axes)
    # No target at all: every index is outside of the array, and nothing is hit.
    twice = several and (len(targets) > 1 or any(_may_meet(t, position, dict(dummies)) for t in targets))
    return out, twice, for_all(start.conditions, dummies)


def _may_meet(target: Sequence[Ix], position: Sequence[Ix], ranges: dict[Var, Poly]) -> bool:
    """Two entries of an update at different positions may come to one target."""
    other = {v: of_var(fresh()) for v in ranges}
    ranges = ranges | {w: ranges[v] for v, ix in other.items() for w in ix.free}
    same: list[Condition] = [(ix.minus(ix.subst(other)), "=") for ix in target]
    return any(feasible([*order, *same], ranges) for order in _earlier([(p, p.subst(other)) for p in position]))


def _everywhere(hits: Sequence[Hit]) -> tuple[Clauses, Clauses]:
    """The updates' conditions, at every position."""
    conditions = [entry.conditions_for_all(dummies) for _, entry, dummies in hits]
    return merged(*(defined for defined, _ in conditions)), merged(*(smooth for _, smooth in conditions))
