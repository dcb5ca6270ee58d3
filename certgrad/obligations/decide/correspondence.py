"""Equal recurrences: relations between the carries of loops, found by refinement and proved by induction on time.

Carries are first put in classes by their init; then, assuming that members of a class are equal at time s, members
whose steps are not shown equal are separated, until nothing changes. The classes that are left are an invariant: equal
at time 0, and equal at s + 1 if they are equal at s. (Signal correspondence, after van Eijk.) Equal means up to a sign,
one for each member: a loop may carry −c where another one carries c, as the imaginary part of a conjugate does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain

from certgrad.obligations.laws.range_products import product_over
from certgrad.obligations.laws.recurrences import (
    Open,
    entry,
    has_loop,
    linear_part,
    open_loop,
    replacing,
    stepped,
)
from certgrad.obligations.laws.unfolding import folded, unfolded
from certgrad.obligations.terms.atoms import Access, Max, Product, Sum, access
from certgrad.obligations.terms.determined import Loop, Rec
from certgrad.obligations.terms.index import of_const, of_var
from certgrad.obligations.terms.index_terms import Ranges, at_least, bounds, index_pred
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, ZERO, Atom, Poly, number, poly_of
from certgrad.obligations.terms.rewriting import Rewriter
from certgrad.obligations.terms.sums import open_sum, sum_over
from certgrad.obligations.terms.variables import Var, fresh
from certgrad.obligations.terms.walk import atoms_of, deep_atoms, mentions, tensors_in

from .cases import Region, nonzero_part
from .sampled import differs

MOST_STEPS = 8
"""Steps of a loop that is written out, at most; a longer one has to be proved by induction."""

Relation = tuple[Rec, Rec, int]
"""Two carries, shown at time 0, of which the first is the second times a sign at every time that is looked at."""


def matched(poly: Poly, region: Region) -> tuple[Poly, list[Relation]]:
    """The term with equal carries written alike, and the relations that were used."""
    relations: list[Relation] = []
    while True:
        found = _classes(poly, region)
        if not found:
            return poly, relations
        applied(Law.EQUAL_RECURRENCES)
        relations += [(_carry_entry(*member), _carry_entry(*first), sign) for member, (first, sign) in found.items()]

        def first(a: Atom, found: Mapping = found) -> Poly | None:
            if isinstance(a, Rec) and (a.loop, a.position) in found:
                (loop, position), sign = found[a.loop, a.position]
                return entry(loop, position, a.time, a.index).scale(sign)
            return None if any(loop.key in tensors_in(a) for loop, _ in found) else poly_of(a)

        poly = Rewriter(replace=first)(poly)


def _carry_entry(loop: Loop, position: int) -> Rec:
    axes = range(len(loop.carries[position].ranges))
    return Rec(loop, position, of_var(("t", 0, 0)), tuple(of_var(("t", 1 + k, 0)) for k in axes))


@dataclass
class _Member:
    loop: Loop
    position: int
    carry: Open
    beside: frozenset[str]
    """All that the loop carries."""
    sign: int = 1
    """Times which it is the first member of its class."""

    @property
    def place(self) -> tuple[Loop, int]:
        return self.loop, self.position

    @cached_property
    def added(self) -> Poly | None:
        """The value of a step where all carries of the loop are 0; None where it is undefined."""

        def nothing(a: Atom) -> Poly | None:
            if isinstance(a, Access):
                return ZERO if a.tensor in self.beside else poly_of(a)
            return None

        try:
            return Rewriter(replace=nothing)(self.carry.step)
        except ArithmeticError:
            return None

    def after(self, steps: int) -> Poly | None:
        """Return the carry after so many steps; None where it is undefined."""
        try:
            return written_out(entry(self.loop, self.position, of_const(number(steps)), self.carry.index))
        except ArithmeticError:
            return None


def _classes(poly: Poly, region: Region) -> dict[tuple[Loop, int], tuple[tuple[Loop, int], int]]:
    """Return, for each carry that equals another one up to a sign, that other carry and the sign."""
    times = latest(poly, region.indices.ranges)
    loops = [c for c in times if not any(v[0] == "b" for v in c.free)]
    if len(loops) < 2:
        return {}
    s = fresh()
    last = _largest([t for c in loops for t in times[c]])
    compared = _Comparison(region, {} if last is None else {s: last})
    members: list[_Member] = []
    axes: dict[int, tuple[Var, ...]] = {}
    for loop in sorted(loops, key=lambda c: (c.level, c.key)):
        system = open_loop(loop)
        beside = frozenset(c.name for c in system.carries)
        for k, c in enumerate(system.carries):
            own = axes.setdefault(len(c.axes), tuple(fresh() for _ in c.axes))
            names = {v: of_var(w) for v, w in zip(c.axes, own, strict=True)}
            change = Rewriter({**names, system.step: of_var(s)})
            carry = replace(c, axes=own, init=change(c.init), step=change(c.step))
            members.append(_Member(loop, k, carry, beside))
    classes: list[list[_Member]] = []
    for m in members:
        same = [c for c in classes if c[0].carry.ranges == m.carry.ranges]
        home = next((c for c in same if _begins_as(m, c, compared)), None)
        classes.append([m]) if home is None else home.append(m)
    while True:
        alike = {m.carry.name: (c[0].carry.name, m.sign * c[0].sign) for c in classes for m in c[1:]}
        if not alike:
            return {}
        hypothesis = Rewriter(replace=_signed(alike))
        refined: list[list[_Member]] = []
        for members in classes:
            split: list[list[_Member]] = []
            for m in members:
                step = hypothesis(m.carry.step).scale(m.sign)

                firsts = (hypothesis(d[0].carry.step).scale(d[0].sign) for d in split)
                alike_now = (d for d, f in zip(split, firsts, strict=True) if compared.equal(f, step, m))
                home = next(alike_now, None)
                split.append([m]) if home is None else home.append(m)
            refined += split
        if len(refined) == len(classes):
            return {m.place: (c[0].place, m.sign * c[0].sign) for c in classes for m in c[1:]}
        classes = refined


def _signed(alike: Mapping[str, tuple[str, int]]) -> Callable[[Atom], Poly | None]:
    """Return a rewriting of carries' entries as those of equal carries, times their sign."""

    def entries(a: Access) -> Poly:
        name, sign = alike[a.tensor]
        return access(name, a.index).scale(sign)

    return replacing(alike, entries)


def _begins_as(m: _Member, others: Sequence[_Member], compared: _Comparison) -> bool:
    """Return whether the carry may be those of a class times a sign, which is settled here: at time 0 it is.

    Where all begin at 0, the first steps say which sign to try.
    """
    first = others[0]
    if m.carry.init.is_zero and first.carry.init.is_zero:
        found = (d.sign * sign for d in others if (sign := _sign_of(m, d) or _shown_sign(m, d, compared)))
        m.sign = next(found, 1)
        return True
    for sign in (1, -1):
        if compared.equal(first.carry.init, m.carry.init.scale(sign), m):
            m.sign = sign
            return True
    return False


def _sign_of(m: _Member, other: _Member) -> int:
    """Return the sign by which one carry that begins at 0 may equal another; 0 where that is not seen.

    It is seen from what a step adds, or where that is 0 from the first of a few steps after which they are not 0.
    """
    by_steps = ((m.after(k), other.after(k)) for k in range(1, 4))
    for own, its in chain([(m.added, other.added)], by_steps):
        if own is None or its is None:
            return 0
        if not (own.is_zero and its.is_zero):
            return 1 if own == its else -1 if own == -its else 0
    return 0


def _shown_sign(m: _Member, other: _Member, compared: _Comparison) -> int:
    """Return the same where both steps add differently written terms: by values, or by proof."""
    own, its = m.added, other.added
    if own is None or its is None or own.is_zero or its.is_zero:
        return 0
    signs = [sign for sign in (1, -1) if not compared.differ(its, own.scale(sign), m)]
    if len(signs) == 2:  # no values are known
        signs = [sign for sign in signs if compared.equal(its, own.scale(sign), m)]
    return signs[0] if signs else 0


@dataclass
class _Comparison:
    """Which entries of carries are equal at each step; each difference is examined once."""

    region: Region
    steps: Ranges
    zero: dict[tuple[Poly, tuple[Poly, ...]], bool] = field(default_factory=dict)

    def equal(self, left: Poly, right: Poly, m: _Member) -> bool:
        """Return whether two terms over the axes of a member are shown to be equal."""
        difference, there = left - right, self._over(m)
        question = difference, m.carry.ranges
        if question not in self.zero:
            self.zero[question] = not differs(difference, there) and vanishes(difference, there)
        return self.zero[question]

    def differ(self, left: Poly, right: Poly, m: _Member) -> bool:
        """Return whether a point shows that the two terms differ."""
        return differs(left - right, self._over(m))

    def _over(self, m: _Member) -> Region:
        return self.region.over({**self.steps, **dict(zip(m.carry.axes, m.carry.ranges, strict=True))})


def vanishes(poly: Poly, region: Region) -> bool:
    """Return whether the term is shown to be zero, written out a step further where that is needed."""
    if nonzero_part(poly, region) is None:
        return True
    further = unfolded(poly, region.indices.ranges)
    return further != poly and nonzero_part(further, region) is None


# --- which times are looked at -------------------------------------------------------------------------------------


def latest(poly: Poly, ranges: Ranges) -> dict[Loop, list[Poly | None]]:
    """Return bounds of the times at which each recurrence in the term is read; None for a time without a bound."""
    out: dict[Loop, list[Poly | None]] = {}
    seen: set[tuple[Atom, tuple]] = set()

    def visit(p: Poly, known: Ranges) -> None:
        """Note the latest time at which each loop inside a term is read, by the ranges of its variables."""
        for a in atoms_of(p):
            mark = (a, tuple(sorted((v, known[v].key) for v in a.free if v in known)))
            if mark in seen:
                continue
            seen.add(mark)
            if isinstance(a, Rec):
                _, most = bounds(a.time, known)
                out.setdefault(a.loop, []).append(most)
                for c in a.carries:
                    inner = {**known, **{("b", a.level, 1 + k): n for k, n in enumerate(c.ranges)}}
                    if most is not None:
                        inner[("b", a.level, 0)] = most
                    else:
                        inner.pop(("b", a.level, 0), None)
                    visit(c.init, inner)
                    visit(c.step, inner)
                continue
            own = dict(zip(a.vars, a.ranges, strict=True)) if isinstance(a, (Sum, Max, Product)) else {}
            inner = {**known, **own}
            for part in a.parts():
                visit(part, inner)

    visit(poly, ranges)
    return out


def _largest(times: list[Poly | None]) -> Poly | None:
    """Return a bound that is at least each of the others, or None."""
    for t in times:
        if t is not None and all(u is not None and at_least(t - u) == ONE for u in times):
            return t
    return None


def summed(poly: Poly, ranges: Ranges) -> Poly:
    """Return the term with carries whose steps are linear in themselves as sums of products, also at varying times.

    Where c[s + 1] = a(s)·c[s] + b(s) for a and b without the loop's carries, and t ≤ N, by induction on t c[t] =
    c[0]·Π_{k<N, k<t} a(k) + Σ_{j<N} [j < t]·b(j)·Π_{k<N, j<k<t} a(k). That is said of carries a step later.
    """
    poly = folded(poly)

    def total(a: Atom, ranges: Ranges = ranges) -> Poly | None:
        """An atom with a carry c ← f·c + a in closed form: Σ of a times the later factors. None keeps the atom."""
        if not has_loop(poly_of(a)):
            return poly_of(a)
        if isinstance(a, Sum):
            dummies, body = open_sum(a)
            inside = {**ranges, **dict(dummies)}
            return sum_over(Rewriter(replace=lambda b: total(b, inside))(body), dummies)
        if not isinstance(a, Rec):
            return None
        _, most = bounds(a.time, ranges)
        system = open_loop(a.loop)
        c = system.carries[a.position]
        factor, added = linear_part(c.step, access(c.name, (of_var(system.step), *c.index)))
        if most is None or any(mentions(p, [d.name]) for d in system.carries for p in (factor, added)):
            return poly_of(a)
        applied(Law.LINEAR_CARRY)
        j, k = fresh(), fresh()
        before, earlier = (index_pred(a.time.shifted(-ONE).minus(of_var(v))) for v in (j, k))
        at_j, at_k = (c.at(p, a.index, {system.step: of_var(v)}) for p, v in ((added, j), (factor, k)))
        if factor == ONE:
            return c.at(c.init, a.index) + sum_over(before * at_j, [(j, most)])
        at_j, at_k = summed(at_j, {**ranges, j: most}), summed(at_k, {**ranges, k: most})
        if has_loop(at_j) or has_loop(at_k):
            return poly_of(a)
        later = index_pred(of_var(k).minus(of_var(j)).shifted(-ONE))
        start = c.at(c.init, a.index) * product_over(at_k, [(k, most)], earlier)
        return start + sum_over(before * at_j * product_over(at_k, [(k, most)], earlier * later), [(j, most)])

    return Rewriter(replace=total)(poly)


def written_out(poly: Poly) -> Poly:
    """Return the term with loops of few steps, and sums over few of their entries, written out."""

    def whole(a: Atom) -> Poly | None:
        if not has_loop(poly_of(a)):
            return poly_of(a)
        if isinstance(a, Sum):
            dummies, body = open_sum(a)
            times = {v for b in deep_atoms(body) if isinstance(b, Rec) for v in b.time.free}
            few = [k for k, (v, n) in enumerate(dummies) if v in times and (_number(n) or MOST_STEPS + 1) <= MOST_STEPS]
            if not few:
                return None
            v, n = dummies[few[0]]
            total = ZERO
            for place in range(_number(n) or 0):
                at = Rewriter({v: of_const(number(place))})(body)
                total = total + sum_over(at, [d for k, d in enumerate(dummies) if k != few[0]])
            return written_out(total)
        if isinstance(a, Rec) and not a.time.terms and (_number(a.time.const) or MOST_STEPS + 1) <= MOST_STEPS:
            back = stepped(a)
            return poly_of(a) if back is None else written_out(back)
        return None

    return Rewriter(replace=whole)(poly)


def _number(size: Poly) -> int | None:
    c = size.constant()
    return None if c is None else int(c.p)
