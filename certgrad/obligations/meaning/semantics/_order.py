"""Semantics of maxima over windows, arg-maxima, and the primitives that move entries to or from arg-maxima.

A window's maximum is taken over those entries of the operand that the window covers: padding is −∞ and takes no part.
Where entries are equal the first counts, in row-major order, as XLA has it.
"""

from __future__ import annotations

from collections.abc import Sequence

from certgrad.obligations.assume.conditions import Clause, Clauses, condition, merged
from certgrad.obligations.assume.isl import inhabited
from certgrad.obligations.assume.signs import ANY, NONNEG, ZERO
from certgrad.obligations.assume.tensor import Tensor, axis_index, for_all, own_index
from certgrad.obligations.laws.order import all_different, argument_of, attained_once, place_in_order
from certgrad.obligations.terms.atoms import Max
from certgrad.obligations.terms.determined import CARRY
from certgrad.obligations.terms.index import Ix, of_const, of_var
from certgrad.obligations.terms.index_terms import index_condition, index_equal, index_number
from certgrad.obligations.terms.integers import remainder
from certgrad.obligations.terms.polynomials import ONE, Poly, number, poly_of
from certgrad.obligations.terms.polynomials import ZERO as NOTHING
from certgrad.obligations.terms.power import UndefinedTermError
from certgrad.obligations.terms.predicates import PREDICATES, Pred
from certgrad.obligations.terms.rewriting import Rewriter, substitute
from certgrad.obligations.terms.sums import max_over, sum_over
from certgrad.obligations.terms.variables import Var, fresh
from certgrad.obligations.terms.walk import atoms_of, deep_atoms, tensors_in
from certgrad.obligations.tracing.jax_internals import dim_poly

from ._registry import Context, Params, UnprovedError, rule
from ._windows import _window_axes, ranges_of

Shapes = list[tuple]
Dummies = list[tuple[Var, Poly]]


def _covered(x: Tensor, shape: tuple[Poly, ...], params: Params) -> tuple[list[Ix], Dummies, Poly]:
    """The operand's index, the variables in it, and which of their values the window at the output's index covers."""
    index: list[Ix] = []
    dummies: Dummies = []
    where = ONE
    ranges = ranges_of(shape)
    axes = _window_axes(x.rank, shape, params["window_dimensions"], params)
    for k, (start, size, dilation, base, low) in enumerate(axes):
        if size == ONE and base == 1 and low.is_zero and dim_poly(params["padding"][k][1]).is_zero:
            index.append(of_const(NOTHING) if x.shape[k] == ONE else start)
            continue
        v = fresh()
        dummies.append((v, x.shape[k]))
        ranges[v] = x.shape[k]
        index.append(of_var(v))
        offset = of_var(v).scaled(base).minus(start)
        last = (size - ONE).scale(dilation)
        where = where * index_condition(offset, ranges)
        where = where * index_condition(offset.scaled(-1).shifted(last), ranges)
        if dilation > 1:
            where = where * index_equal(remainder(offset, number(dilation)))
    if where.is_zero or not inhabited(where, dict(dummies), ranges_of(shape)):
        raise UnprovedError("a window that may cover no entry")
    return index, dummies, where


def _everywhere(x: Tensor, index: Sequence[Ix], dummies: Dummies, shape: tuple[Poly, ...]) -> tuple[Clauses, Clauses]:
    """The operand's conditions at every entry that a window may look at."""
    return x.indexed(index, shape).conditions_for_all(dummies)


def _reduce_window(sign: int) -> None:
    def apply(ctx: Context, params: Params, shapes: Shapes, x: Tensor) -> list[Tensor]:
        (shape,) = shapes
        if x.kind == "b":
            raise UnprovedError("an extremum of booleans")
        index, dummies, where = _covered(x, shape, params)
        body = max_over(x.indexed(index, shape).body.scale(sign), dummies, where).scale(sign)
        return [Tensor(shape, body, x.kind, *_everywhere(x, index, dummies, shape), x.signs)]

    rule("reduce_window_max" if sign > 0 else "reduce_window_min")(apply)


_reduce_window(1)
_reduce_window(-1)


# --- arguments -----------------------------------------------------------------------------------------------------


def _refuse_carries(polys: Sequence[Poly]) -> None:
    if any(name.startswith(CARRY) for p in polys for a in atoms_of(p) for name in tensors_in(a)):
        raise UnprovedError("a comparison of values that a loop carries")


def _first(body: Poly, dummies: Dummies, where: Poly) -> tuple[dict[Var, Ix], Max | None]:
    _refuse_carries([body, where])
    try:
        return argument_of(body, dummies, where)
    except UndefinedTermError as error:
        raise UnprovedError(str(error)) from None


def _steady(x: Tensor, atom: Max | None) -> Clauses:
    """Conditions under which the argument is locally constant: it is unique, and no entry jumps."""
    if atom is None or x.kind == "i":
        return ()
    return (attained_once(atom), *_seams(atom.body), *_seams(atom.where))


def _seams(poly: Poly) -> Clauses:
    """No predicate in the term is on its boundary, at any index."""
    out: list[Clause] = []
    for a in deep_atoms(poly):
        if isinstance(a, Pred):
            change = {v: of_var(fresh("q")) for v in a.free if v[0] == "b"}
            out += condition("!= 0", substitute(a.poly, change), "kink")
    return tuple(out)


FEW = 8
"""An arg-extremum over so many entries is written out where predicates alone determine them."""
MAX_CASES = 64


def _of_few(x: Tensor, axis: int, shape: tuple[Poly, ...], sign: int) -> Tensor | None:
    """The arg-extremum along a short axis whose entries are numbers in each case of the predicates in them.

    Σ over the cases of [the case]·(the first extremum there): a number that jumps where one of the predicates does.
    """
    count = x.shape[axis].constant()
    if count is None or count > FEW or x.infinite:
        return None
    entries = []
    for k in range(int(count.p)):
        own = iter(range(len(shape)))
        place = [of_const(number(k)) if a == axis else axis_index(j := next(own), shape[j]) for a in range(x.rank)]
        entries.append(x.indexed(place, shape))
    body = _first_by_cases([e.body.scale(sign) for e in entries])
    if body is None:
        return None
    defined, smooth = merged(*(e.defined for e in entries)), merged(*(e.smooth for e in entries))
    return Tensor(shape, body, "i", defined, smooth, NONNEG)


def _first_by_cases(entries: list[Poly]) -> Poly | None:
    """The place of the first greatest entry; None where some case leaves an entry open, or there are too many."""
    total, left = NOTHING, MAX_CASES
    waiting = [(entries, ONE)]
    while waiting:
        here, guard = waiting.pop()
        if guard.is_zero:
            continue
        choice = next((a for p in here for a in atoms_of(p) if isinstance(a, PREDICATES)), None)
        if choice is not None:
            for value, holds in ((ONE, poly_of(choice)), (NOTHING, ONE - poly_of(choice))):
                decide = Rewriter(replace=lambda a, value=value, choice=choice: value if a is choice else None)  # type: ignore[misc]
                waiting.append(([decide(p) for p in here], guard * holds))
            continue
        known = [p.constant() for p in here]
        left -= 1
        if left < 0 or any(c is None for c in known):
            return None
        total = total + guard.scale(known.index(max(c for c in known if c is not None)))
    return total


def _arg(sign: int) -> None:
    def apply(ctx: Context, params: Params, shapes: Shapes, x: Tensor) -> list[Tensor]:
        (shape,) = shapes
        (axis,) = params["axes"]
        if x.shape[axis] == ONE:
            return [Tensor(shape, NOTHING, "i", x.defined, x.smooth, ZERO)]
        if (by_cases := _of_few(x, axis, shape, sign)) is not None:
            return [by_cases]
        if x.kind == "b":
            raise UnprovedError("an arg-extremum of booleans")
        if not x.shape[axis].positive:
            raise UnprovedError("an arg-extremum over a range that may be empty")
        v = fresh()
        own = iter(k for k in range(len(shape)))
        index = [of_var(v) if k == axis else axis_index(j := next(own), shape[j]) for k in range(x.rank)]
        entry = x.indexed(index, shape)
        place, atom = _first(entry.body.scale(sign), [(v, x.shape[axis])], ONE)
        defined, smooth = _everywhere(x, index, [(v, x.shape[axis])], shape)
        return [Tensor(shape, index_number(place[v]), "i", defined, merged(smooth, _steady(x, atom)), NONNEG)]

    rule("argmax" if sign > 0 else "argmin")(apply)


_arg(1)
_arg(-1)


def _side(params: Params) -> int:
    """1 where the greatest entry is selected, −1 where the least."""
    return {"ge": 1, "le": -1}[params["select_prim"].name]


@rule("select_and_gather_add")
def _select_and_gather_add(ctx: Context, params: Params, shapes: Shapes, tangents: Tensor, x: Tensor) -> list[Tensor]:
    """out[t] = tangents[where the window at t has its extremum]."""
    (shape,) = shapes
    index, dummies, where = _covered(x, shape, params)
    place, atom = _first(x.indexed(index, shape).body.scale(_side(params)), dummies, where)
    defined, smooth = _everywhere(x, index, dummies, shape)
    own, of_tangents = _everywhere(tangents, index, dummies, shape)
    body = substitute(tangents.indexed(index, shape).body, place)
    return [
        Tensor(
            shape,
            body,
            tangents.kind,
            merged(defined, own),
            merged(smooth, of_tangents, _steady(x, atom)),
            tangents.signs,
        )
    ]


@rule("select_and_scatter_add")
def _select_and_scatter_add(ctx: Context, params: Params, shapes: Shapes, source: Tensor, x: Tensor) -> list[Tensor]:
    """out[u] = Σ_t [u is where the window at t has its extremum]·source[t]."""
    (shape,) = shapes
    index, dummies, where = _covered(x, source.shape, params)
    place, atom = _first(x.indexed(index, source.shape).body.scale(_side(params)), dummies, where)
    target = [place.get(v, ix) if (v := ix.variable()) is not None else ix for ix in index]
    names: dict[Var, Ix] = {}
    windows: Dummies = []
    for v, n in source.variables:
        if n != ONE:
            w = fresh()
            names[v] = of_var(w)
            windows.append((w, n))
    hit = ONE
    ranges = {**ranges_of(shape), **dict(windows)}
    for k, ix in enumerate(target):
        hit = hit * index_equal(axis_index(k, shape[k]).minus(ix.subst(names)), ranges)
    body = sum_over(hit * substitute(source.body, names), windows)
    defined, smooth = _everywhere(x, index, dummies, source.shape)
    places = source.variables
    conditions = [
        for_all(group, places)
        for group in (merged(defined, source.defined), merged(smooth, source.smooth, _steady(x, atom)))
    ]
    signs = source.signs | ZERO
    return [Tensor(shape, body, source.kind, conditions[0], conditions[1], ANY if signs & 5 == 5 else signs)]


# --- sorting -------------------------------------------------------------------------------------------------------


@rule("sort")
def _sort(ctx: Context, params: Params, shapes: Shapes, *args: Tensor) -> list[Tensor]:
    """out[t] = x[the entry that comes to place t], for every operand."""
    axis, keys = params["dimension"], args[: params["num_keys"]]
    if not params["is_stable"] and len(args) > 1:
        raise UnprovedError("an unstable sort of several operands: the order of equal keys is not defined")
    return _in_order(args, keys, axis, shapes, 1)


@rule("top_k")
def _top_k(ctx: Context, params: Params, shapes: Shapes, x: Tensor) -> list[Tensor]:
    """The greatest entries, and their indices: the first places in the order of the negated entries."""
    axis = params.get("axis", x.rank - 1) % x.rank
    number_of = Tensor(x.shape, index_number(axis_index(axis, x.shape[axis])), "i", signs=NONNEG)
    return _in_order([x, number_of], [x], axis, shapes, -1)


@rule("approx_top_k")
def _approx_top_k(ctx: Context, params: Params, shapes: Shapes, x: Tensor) -> list[Tensor]:
    """The greatest or the least entries, and their indices, found exactly: what the primitive approximates."""
    if not params["aggregate_to_topk"]:
        raise UnprovedError("approx_top_k that returns more entries than are asked for")
    ctx.note("approx_top_k is read as exact")
    axis = params["reduction_dimension"] % x.rank
    number_of = Tensor(x.shape, index_number(axis_index(axis, x.shape[axis])), "i", signs=NONNEG)
    return _in_order([x, number_of], [x], axis, shapes, -1 if params["is_max_k"] else 1)


def _in_order(args: Sequence[Tensor], keys: Sequence[Tensor], axis: int, shapes: Shapes, sign: int) -> list[Tensor]:
    n = args[0].shape[axis]
    if any(k.kind == "b" for k in keys):
        raise UnprovedError("an order of booleans")
    if n == ONE:
        return list(args)
    if not n.positive:
        raise UnprovedError("an order of entries of which there may be none")
    own = list(own_index(shapes[0]))
    own[axis] = of_var(("t", axis, 0)) if shapes[0][axis] != ONE else of_const(NOTHING)
    v = fresh()
    along = [of_var(v) if k == axis else ix for k, ix in enumerate(own)]
    entries = [k.indexed(along, shapes[0]).body.scale(sign) for k in keys]
    _refuse_carries(entries)
    source = list(own)
    source[axis] = place_in_order(entries, v, n, own[axis])
    steady: Clauses = ()
    if keys[0].kind == "f":  # where its entries differ, the order is theirs alone, and does not change around them
        steady = (all_different(entries[0].scale(sign), v, n), *_seams(entries[0]))
    elif any(k.kind == "f" for k in keys):
        raise UnprovedError("an order by integers first")
    everywhere = [_everywhere(k, along, [(v, n)], shapes[0]) for k in keys]
    out = []
    for x, shape in zip(args, shapes, strict=True):
        defined, smooth = _everywhere(x, along, [(v, n)], shape)
        body = x.indexed(source, shape).body
        defined = merged(defined, *(d for d, _ in everywhere))
        smooth = merged(smooth, *(s for _, s in everywhere), steady)
        out.append(Tensor(shape, body, x.kind, defined, smooth, x.signs))
    return out
