"""Where in arrays a statement holds, in JAX and at all places at once: for large arrays, and inside compiled programs.

Each variable that a statement binds is an axis of the arrays that stand for its parts, the outermost the first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from . import tree as t
from .arithmetic import UnfitError, as_float
from .fitting import about_whole_arrays, entered, length, size, spread
from .relations import COMPARES

MAX_TERMS = 1 << 28
"""The most numbers that a part of a statement may consist of."""

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": jnp.abs,
    "floor": jnp.floor,
    "gamma": jax.scipy.special.gamma,
    "lgamma": jax.scipy.special.gammaln,
    "square": jnp.square,
    "stop": lambda x: x,
    **{name: getattr(jnp, name) for name in "exp expm1 log log1p sin cos tan sinh cosh tanh sqrt cbrt".split()},
    **{name: getattr(jnp, f"arc{name[1:]}") for name in "asin acos atan asinh acosh atanh".split()},
    **{name: getattr(jax.scipy.special, name) for name in "digamma erf erfc".split()},
    **{name: getattr(jnp, name) for name in "exp2 log2".split()},
    **{name: getattr(jax.lax, name) for name in "bessel_i0e bessel_i1e erf_inv logistic rsqrt".split()},
}


class Tested(NamedTuple):
    """Whether a statement holds, and is defined, at each choice of the variables around it."""

    holds: Any
    defined: Any


@dataclass(frozen=True)
class Scope:
    """The meaning of names, and the bound variables around a part with their names and ranges."""

    arrays: Mapping[str, Any]
    sizes: Mapping[str, int]
    axes: tuple[tuple[str, int], ...] = ()
    entry: int = 0
    """Number of axes that belong to whole arrays."""
    values: Mapping[str, np.ndarray] = field(default_factory=dict)
    """The values of each variable that skips some of its range, along its axis and the axes before."""

    def within(self, over: Sequence[t.Range], where: Sequence[t.Statement] = ()) -> Scope:
        """Return the scope inside further variables, without the values at which `where` is false."""
        inner = self
        for r in over:
            inner = inner._with(r.variable, _range_length(_term(r.size, self)), where)
        if prod(n for _, n in inner.axes) > MAX_TERMS:
            raise UnfitError(f"more than {MAX_TERMS} terms")
        return inner

    def _with(self, variable: str, count: int, where: Sequence[t.Statement]) -> Scope:
        """Return the scope with one more variable, which runs only over values that conditions on indices leave."""
        values = {name: places for name, places in self.values.items() if name != variable}
        wide = replace(self, axes=(*self.axes, (variable, count)), values=values)
        named = {name for name, _ in wide.axes}
        conditions = [w for w in where if isinstance(w, t.Compare) and _of_indices(w, variable, named)]
        sides = [(w.relation, _term(w.left, wide), _term(w.right, wide)) for w in conditions]
        shape = np.broadcast_shapes(*(np.shape(x) for _, *pair in sides for x in pair)) if sides else ()
        if not sides or prod(shape) > MAX_TERMS:
            return wide
        kept = np.ones(shape, bool)
        for relation, left, right in sides:
            kept &= COMPARES[relation](left, right)
        largest_count = max(int(kept.sum(-1).max(initial=0)), 1)
        if largest_count >= count:
            return wide
        places = np.argsort(~kept, axis=-1, kind="stable")[..., :largest_count]
        return replace(self, axes=(*self.axes, (variable, largest_count)), values={**values, variable: places})

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(n for _, n in self.axes)


class Counted(NamedTuple):
    """How often a statement fails at the choices of its variables, and where first. All are scalars, or numpy's."""

    failing: Any
    """The number of choices at which the statement does not hold, or is undefined."""
    first: Any
    """The place of the first such choice, counted along all axes; 0 where there is none."""
    sides: tuple[Any, Any] | None
    """The two numbers compared there, if the statement is one comparison; else None."""


@dataclass(frozen=True)
class Question:
    """A statement that fits some arrays: the variables that it is about, and the test."""

    axes: tuple[tuple[str, int], ...]
    """Each variable, or axis of whole arrays, with its number of values."""
    relation: str
    """The sign of a single comparison; "" for other statements."""
    scope: Scope
    body: t.Statement

    def holds(self) -> Any:
        """Return whether the statement holds, at each choice of the variables; undefined, it does not hold."""
        tested = _test(self.body, self.scope)
        return _spread(tested.holds & tested.defined, self.scope)

    def counted(self) -> Counted:
        holds = self.holds().reshape(-1)
        first = jnp.argmin(holds) if holds.size else jnp.asarray(0)
        sides = None
        if isinstance(self.body, t.Compare) and holds.size:
            left, right = (_spread(_term(p, self.scope), self.scope) for p in (self.body.left, self.body.right))
            sides = (left.reshape(-1)[first], right.reshape(-1)[first])
        return Counted((~holds).sum(), first, sides)


def question(statement: t.Statement, arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> Question:
    """Return the statement about these arrays (JAX's or numpy's, traced or not).

    Raises UnfitError where it does not fit the arrays, or is about too much; the methods raise it for a statement in
    words.
    """
    scope = Scope(arrays, sizes)
    if about_whole_arrays(statement):
        shape = spread(jnp.shape(_array(name, scope)) for name in sorted(entered(statement)))
        scope = Scope(arrays, sizes, tuple((f"axis {k}", n) for k, n in enumerate(shape)), len(shape))
    while isinstance(statement, t.ForAll):
        scope, statement = scope.within(statement.over), statement.holds
    relation = statement.relation if isinstance(statement, t.Compare) else ""
    return Question(scope.axes, relation, scope, statement)


# --- statements


def _test(s: t.Statement, scope: Scope) -> Tested:
    """Return whether a statement holds, and whether it is defined, at all places of the scope at once.

    Raises UnfitError for statements in words and about loops.
    """
    if isinstance(s, t.Compare):
        return _compared(s.relation, _term(s.left, scope), _term(s.right, scope))
    if isinstance(s, t.NotIn):
        x = _term(s.term, scope)
        off = x != jnp.floor(x)
        return Tested(off if s.numbers == "integers" else off | (x > 0), x == x)
    if isinstance(s, t.Either):
        parts = [_test(p, scope) for p in s.parts]
        true = _any_true([p.holds & p.defined for p in parts])
        return Tested(true, true | _all_true([p.defined for p in parts]))
    if isinstance(s, t.Both):
        parts = [_test(p, scope) for p in s.parts]
        return Tested(_all_true([p.holds for p in parts]), _all_true([p.defined for p in parts]))
    if isinstance(s, t.Where):
        guards, then = [_test(g, scope) for g in s.guards], _test(s.then, scope)
        guarded = _all_true([g.holds for g in guards])
        return Tested(~guarded | then.holds, _all_true([g.defined for g in guards]) & (~guarded | then.defined))
    if isinstance(s, t.ForAll):
        inner = scope.within(s.over)
        tested, last = _test(s.holds, inner), _trailing_axes(len(s.over))
        return Tested(_spread(tested.holds, inner).all(last), _spread(tested.defined, inner).all(last))
    if isinstance(s, t.Unique):
        values, kept = _flat(s.over, [s.body], s.where, scope)
        top = _greatest(values[0], kept)
        times = (kept & (values[0] == top[..., None])).sum(-1)
        return Tested(times == 1, top == top)
    if isinstance(s, t.Distinct):
        values, _ = _flat(s.over, [s.body], (), scope)
        ordered = jnp.sort(values[0], axis=-1)
        return Tested((ordered[..., 1:] != ordered[..., :-1]).all(-1), (ordered == ordered).all(-1))
    raise UnfitError("it is said in words alone" if isinstance(s, t.Words | t.Solves | t.OffBoundaries) else "a loop")


def _compared(relation: t.Relation, a: Any, b: Any) -> Tested:
    return Tested(jnp.asarray(COMPARES[relation](a, b)), jnp.asarray((a == a) & (b == b)))


_OF_INDICES = (t.Compare, t.Index, t.Number, t.Size, t.Axis, t.Add, t.Mul)


def _of_indices(condition: t.Compare, variable: str, known: Collection[str]) -> bool:
    """Return whether a condition depends on the variable and otherwise only on sizes and known variables."""
    nodes = list(t.walk(condition))
    variables = {n.name for n in nodes if isinstance(n, t.Index)}
    return all(isinstance(n, _OF_INDICES) for n in nodes) and variable in variables and variables <= {*known}


def _all_true(parts: Sequence[Any]) -> Any:
    out = jnp.asarray(True)
    for part in parts:
        out = out & part
    return out


def _any_true(parts: Sequence[Any]) -> Any:
    return ~_all_true([~jnp.asarray(part) for part in parts])


# --- variables


def _trailing_axes(count: int) -> tuple[int, ...]:
    return tuple(range(-count, 0))


def _spread(x: Any, scope: Scope) -> Any:
    """Return an array broadcast to all axes of the scope."""
    return jnp.broadcast_to(jnp.asarray(x), scope.shape)


def _tested_guards(where: Sequence[t.Statement], inner: Scope) -> Tested:
    tests = [_test(w, inner) for w in where]
    return Tested(_all_true([x.holds for x in tests]), _all_true([x.defined for x in tests]))


def _flat(
    over: Sequence[t.Range], bodies: Sequence[t.Term], where: Sequence[t.Statement], scope: Scope, whole: bool = False
) -> tuple[list[Any], Any]:
    """Return terms with the variables of `over` as one last axis, and where the conditions hold; with `whole`, the axis
    has all values of the variables, even those that conditions on indices exclude."""
    inner = scope.within(over, () if whole else where)
    kept = _tested_guards(where, inner)
    shape = (*scope.shape, prod(inner.shape[len(scope.shape) :]))
    values = [
        _spread(jnp.where(kept.defined, _as_float(_term(b, inner)), jnp.nan), inner).reshape(shape) for b in bodies
    ]
    return values, _spread(kept.holds, inner).reshape(shape)


def _greatest(values: Any, kept: Any) -> Any:
    top = jnp.max(values, axis=-1, where=kept, initial=-jnp.inf)
    return jnp.where(kept.any(-1), top, jnp.nan)


# --- terms


def _term(p: t.Term, scope: Scope) -> Any:
    """Return a term's values with one axis for each variable in scope, of length 1 for a variable that does not occur;
    or a number.

    Values made of indices alone are arrays of numpy, so that they are known while JAX traces.
    """
    if isinstance(p, t.Number):
        value = Fraction(p.value)
        return _float_if_too_large(int(value)) if value.denominator == 1 else as_float(value)
    if isinstance(p, t.Constant):
        if p.name == "pi":
            return np.pi
        raise UnfitError(f"the number '{p.name}'")
    if isinstance(p, t.Index):
        return _index(p.name, scope)
    if isinstance(p, t.Size):
        return size(p.name, scope.sizes)
    if isinstance(p, t.Axis):
        return length(p, jnp.shape(_array(p.array, scope)))
    if isinstance(p, t.Array) or (isinstance(p, t.Entry) and not p.index):
        return _aligned(_array(p.name, scope), scope)
    if isinstance(p, t.Entry):
        return _entry(p, scope)
    if isinstance(p, t.Add | t.Mul):
        parts = [_term(x, scope) for x in (p.terms if isinstance(p, t.Add) else p.factors)]
        out = parts[0]
        for part in parts[1:]:
            out = _float_if_too_large(out + part if isinstance(p, t.Add) else out * part)
        return out
    if isinstance(p, t.Power):
        return _float_if_too_large(_power(_term(p.base, scope), Fraction(p.exponent)))
    if isinstance(p, t.Apply):
        return _applied(p.function, [_term(x, scope) for x in p.arguments])
    if isinstance(p, t.Truth):
        tested = _test(p.statement, scope)
        return jnp.where(tested.defined, _as_float(tested.holds), jnp.nan)
    if isinstance(p, t.Fold):
        return _fold(p, scope)
    if isinstance(p, t.Matrix):
        return _matrix(p, scope)
    if isinstance(p, t.Chosen):
        return _chosen(p, scope)
    raise UnfitError("a loop")


def _as_float(x: Any) -> Any:
    """Return an array as floats, so that NaN can mark what is undefined."""
    x = jnp.asarray(x)
    return x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(jnp.result_type(float))


def _float_if_too_large(x: Any) -> Any:
    """Return Python's and numpy's integers as floats where JAX's integers do not hold them."""
    if not isinstance(x, int | np.ndarray | np.integer):
        return x
    numbers = np.asarray(x)
    if numbers.dtype.kind not in "iuO":
        return x
    bounds = jnp.iinfo(jnp.result_type(int))
    if not numbers.size or (bounds.min <= numbers.min() and numbers.max() <= bounds.max):
        return x
    return as_float(x) if isinstance(x, int) else np.vectorize(as_float, otypes=[float])(numbers)


def _entries(x: Any) -> Any:
    """Return an array of numbers; integers and booleans in a signed type that holds a statement's integers as well."""
    x = jnp.asarray(x)
    if not jnp.issubdtype(x.dtype, jnp.integer) and x.dtype != bool:
        return x
    wide = jnp.result_type(int)
    narrow = (
        x.dtype == bool or jnp.iinfo(x.dtype).bits - jnp.issubdtype(x.dtype, jnp.signedinteger) < jnp.iinfo(wide).bits
    )
    return x.astype(wide if narrow else jnp.result_type(float))


def _range_length(x: Any) -> int:
    if not isinstance(x, int | np.integer):
        raise UnfitError("how far a variable runs is not known")
    return max(int(x), 0)


def _array(name: str, scope: Scope) -> Any:
    if name not in scope.arrays:
        raise UnfitError(f"'{name}' is no argument of the op")
    return scope.arrays[name]


def _index(name: str, scope: Scope) -> np.ndarray:
    """Return the values of a variable along its own axis of the scope."""
    at = next(k for k in reversed(range(len(scope.axes))) if scope.axes[k][0] == name)
    if name in scope.values:
        places = scope.values[name]
        return places.reshape(*places.shape, *[1] * (len(scope.axes) - places.ndim))
    shape = [1] * len(scope.axes)
    shape[at] = scope.axes[at][1]
    return np.arange(scope.axes[at][1]).reshape(shape)


def _aligned(x: Any, scope: Scope) -> Any:
    """Return a whole array along the axes of whole arrays, or a scalar. Raises UnfitError for too many axes."""
    x = _entries(x)
    if x.ndim > scope.entry:
        raise UnfitError("an array stands for a scalar")
    return x.reshape((1,) * (scope.entry - x.ndim) + x.shape + (1,) * (len(scope.axes) - scope.entry)) if x.ndim else x


def _entry(p: t.Entry, scope: Scope) -> Any:
    """Return the entries of an array at computed indices; NaN where an index is out of range."""
    array = _entries(_array(p.name, scope))
    if len(p.index) != array.ndim:
        raise UnfitError(f"'{p.name}' has no entry of {len(p.index)} indices")
    if (transposed := _transposed(array, p.index, scope)) is not None:
        return transposed
    where = [_term(ix, scope) for ix in p.index]
    in_range: Any = True
    for k, n in zip(where, array.shape, strict=True):
        in_range = in_range & (k >= 0) & (k < n)
    if 0 in array.shape:
        raise UnfitError(f"'{p.name}' has no entries")
    value = array[
        tuple(jnp.clip(jnp.asarray(k), 0, n - 1).astype(int) for k, n in zip(where, array.shape, strict=True))
    ]
    if isinstance(in_range, bool | np.bool_ | np.ndarray) and np.all(in_range):
        return value
    return jnp.where(in_range, _as_float(value), jnp.nan)


def _transposed(array: Any, index: Sequence[t.Term], scope: Scope) -> Any:
    """Return the array with its axes at those of its index variables; None if these differ in range or repeat."""
    names = [name for name, _ in scope.axes]
    variables = [ix.name for ix in index if isinstance(ix, t.Index)]
    if len(variables) < len(index) or len(set(variables)) < len(variables) or len(set(names)) < len(names):
        return None
    at = [names.index(name) for name in variables]
    if not scope.values.keys().isdisjoint(variables):
        return None
    if any(scope.axes[k][1] != n for k, n in zip(at, array.shape, strict=True)):
        return None
    shape = [1] * len(names)
    for k in at:
        shape[k] = scope.axes[k][1]
    return array.transpose(np.argsort(at)).reshape(shape)


def _power(x: Any, e: Fraction) -> Any:
    if e.denominator == 1 and e >= 0:
        return x ** int(e)
    x = _as_float(x)
    value = x ** (int(e) if e.denominator == 1 else float(e))
    undefined = (x == 0 if e < 0 else False) | (x < 0 if e.denominator != 1 else False)
    return jnp.where(undefined, jnp.nan, value)


def _applied(function: str, arguments: list[Any]) -> Any:
    """Return a function's values. Raises UnfitError for one that is not known."""
    if function in ("quotient", "remainder"):
        left, right = arguments
        if all(isinstance(x, int | np.ndarray) for x in arguments) and np.all(np.asarray(right) != 0):
            return left // right if function == "quotient" else left % right
        quotient = jnp.floor(_as_float(left) / _as_float(right))
        return quotient if function == "quotient" else left - right * quotient
    if function not in _FUNCTIONS or len(arguments) != 1:
        raise UnfitError(f"'{function}' is no known function")
    return _FUNCTIONS[function](_as_float(arguments[0]) if function not in ("abs", "square", "stop") else arguments[0])


def _fold(p: t.Fold, scope: Scope) -> Any:
    """Return a sum, product or maximum along the variables' axes; NaN where a part of it is undefined."""
    if p.kind == "maximum":
        values, kept = _flat(p.over, [p.body], p.where, scope)
        return _greatest(values[0], kept)
    inner = scope.within(p.over, p.where)
    kept, last = _tested_guards(p.where, inner), _trailing_axes(len(p.over))
    value = jnp.where(kept.holds, _as_float(_term(p.body, inner)), float(p.kind == "product"))
    value = _spread(jnp.where(kept.defined, value, jnp.nan), inner)
    return value.sum(last) if p.kind == "sum" else value.prod(last)


def _matrix(p: t.Matrix, scope: Scope) -> Any:
    """Return a function of a matrix (its determinant, its inverse, …) at all places of the scope at once."""
    inner = scope.within(p.over)
    rows = _spread(_as_float(_term(p.body, inner)), inner)
    if rows.shape[-1] != rows.shape[-2]:
        raise UnfitError(f"a matrix of {rows.shape[-2]} rows and {rows.shape[-1]} columns")
    if p.kind == "determinant":
        return jnp.linalg.det(rows)
    if p.kind == "smallest minor":
        minors = [jnp.linalg.det(rows[..., :k, :k]) for k in range(1, rows.shape[-1] + 1)]
        return jnp.min(jnp.stack(minors), axis=0)
    if p.kind == "discriminant":
        values = jnp.linalg.eigvalsh(rows, symmetrize_input=False)
        gaps = values[..., :, None] - values[..., None, :]
        return jnp.prod(jnp.where(jnp.tril(jnp.ones_like(gaps), -1) > 0, gaps**2, 1.0), axis=(-2, -1))
    if p.kind == "pivot gap":
        return _eliminated(rows)[1]
    if p.kind == "inverse":
        i, j = (jnp.broadcast_to(jnp.asarray(_term(ix, scope), int), scope.shape)[..., None, None] for ix in p.index)
        row = jnp.take_along_axis(jnp.linalg.inv(rows), jnp.broadcast_to(i, (*scope.shape, 1, rows.shape[-1])), -2)
        return jnp.take_along_axis(row, j, -1)[..., 0, 0]
    raise UnfitError(f"the {p.kind} of a matrix")


def _eliminated(rows: Any) -> tuple[Any, Any]:
    """Return the order of the rows after elimination with pivots, for many matrices at once, and the smallest gap
    between the moduli of a pivot and of another candidate (1 if there is none). The largest entry of a column is pivot.
    """
    n = rows.shape[-1]
    order, gap = jnp.broadcast_to(jnp.arange(n), rows.shape[:-1]), jnp.ones(rows.shape[:-2])
    if n > 1:
        gap = jnp.full(rows.shape[:-2], jnp.inf)
    for k in range(n):
        sizes = jnp.abs(rows[..., k:, k])
        best = jnp.argmax(sizes, axis=-1)
        other_sizes = jnp.where(jnp.arange(n - k) == best[..., None], -jnp.inf, sizes)
        gap = jnp.minimum(gap, sizes.max(-1) - other_sizes.max(-1))
        places = jnp.broadcast_to(jnp.arange(n), rows.shape[:-1])
        swapped = jnp.where(places == k, k + best[..., None], jnp.where(places == k + best[..., None], k, places))
        order = jnp.take_along_axis(order, swapped, -1)
        rows = jnp.take_along_axis(rows, swapped[..., None], -2)
        pivot = rows[..., k, k][..., None]
        factor = jnp.where(pivot == 0, 0, rows[..., k + 1 :, k] / jnp.where(pivot == 0, 1, pivot))
        rows = rows.at[..., k + 1 :, :].add(-factor[..., None] * rows[..., k : k + 1, :])
    return order, gap


def _chosen(p: t.Chosen, scope: Scope) -> Any:
    """Return the first index of the maximum, the index at a place of the sorted order, or the place of an index in it.

    It is NaN where an entry is undefined, or there is none.
    """
    values, kept = _flat(p.over, p.bodies, p.where, scope, whole=True)
    undefined = jnp.stack([x != x for x in values]).any((0, -1)) | ~kept.any(-1)
    lengths = scope.within(p.over).shape[len(scope.axes) :]
    if p.kind in ("pivots", "pivoted"):
        order = _eliminated(values[0].reshape(*scope.shape, *lengths))[0]
        order = order if p.kind == "pivots" else jnp.argsort(order, axis=-1)
        place = jnp.broadcast_to(jnp.asarray(_term(p.place[0], scope), int), scope.shape)
        return jnp.where(undefined, jnp.nan, _as_float(jnp.take_along_axis(order, place[..., None], -1)[..., 0]))
    if p.kind in ("order", "rank"):
        order = jnp.lexsort([*reversed(values), ~kept])
        order = order if p.kind == "order" else jnp.argsort(order, axis=-1)
        place = jnp.broadcast_to(jnp.asarray(_term(p.place[0], scope), int), scope.shape)
        chosen = jnp.take_along_axis(order, place[..., None], -1)[..., 0]
    else:
        best = kept
        for x in values:
            best = best & (x == _greatest(x, best)[..., None])
        chosen = jnp.argmax(best, axis=-1)
    return jnp.where(undefined, jnp.nan, _as_float(jnp.unravel_index(chosen, lengths)[p.component]))
