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
"""The most steps of a loop that is written out; what is said of a longer one has to be proved by induction."""

Relation = tuple[Rec, Rec, int]
"""Two carries, as entries at a time t, of which the first is the second times the sign at every time that is read."""


def matched(poly: Poly, region: Region) -> tuple[Poly, list[Relation]]:
    """Return the term with equal carries written alike, and the relations between carries that this uses.

    It is repeated until no more are found, as carries that are written alike may make others equal.
    """
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
    """A carry of a loop, as a member of a class of carries that may be equal."""

    loop: Loop
    position: int
    carry: Open
    beside: frozenset[str]
    """The names of all that the loop carries."""
    sign: int = 1
    """1 or −1: the carry times its sign is the same for all members of a class."""

    @property
    def place(self) -> tuple[Loop, int]:
        return self.loop, self.position

    @cached_property
    def added(self) -> Poly | None:
        """The value of a step where all carries of the loop are 0: what it adds. None where that is undefined."""

        def nothing(a: Atom) -> Poly | None:
            if isinstance(a, Access):
                return ZERO if a.tensor in self.beside else poly_of(a)
            return None

        try:
            return Rewriter(replace=nothing)(self.carry.step)
        except ArithmeticError:
            return None

    def after(self, steps: int) -> Poly | None:
        """Return the carry's entry after this number of steps, written out; None where it is undefined."""
        try:
            return written_out(entry(self.loop, self.position, of_const(number(steps)), self.carry.index))
        except ArithmeticError:
            return None


def _classes(poly: Poly, region: Region) -> dict[tuple[Loop, int], tuple[tuple[Loop, int], int]]:
    """Return, for each carry that equals another one up to a sign, that other carry and the sign.

    Carries are given by loop and position. The classes that begin alike are split, as the head of the file says, until
    all steps agree under the hypothesis that the members of each class are equal.
    """
    times = latest(poly, region.indices.ranges)
    loops = [c for c in times if not any(v[0] == "b" for v in c.free)]
    if len(loops) < 2:
        return {}
    s = fresh()
    last = _largest([t for c in loops for t in times[c]])
    compared = _Comparison(region, {} if last is None else {s: last})
    # All carries get the same variables for their steps and axes, so that those of several loops can be compared.
    members: list[_Member] = []
    axes: dict[int, tuple[Var, ...]] = {}
    for loop in sorted(loops, key=lambda c: (c.level, c.key)):
        system = open_loop(loop)
        loop_names = frozenset(c.name for c in system.carries)
        for k, c in enumerate(system.carries):
            shared_axes = axes.setdefault(len(c.axes), tuple(fresh() for _ in c.axes))
            names = {v: of_var(w) for v, w in zip(c.axes, shared_axes, strict=True)}
            change = Rewriter({**names, system.step: of_var(s)})
            carry = replace(c, axes=shared_axes, init=change(c.init), step=change(c.step))
            members.append(_Member(loop, k, carry, loop_names))
    classes: list[list[_Member]] = []
    for m in members:
        candidates = [c for c in classes if c[0].carry.ranges == m.carry.ranges]
        home_class = next((c for c in candidates if _begins_as(m, c, compared)), None)
        classes.append([m]) if home_class is None else home_class.append(m)
    while True:
        equal_to = {m.carry.name: (c[0].carry.name, m.sign * c[0].sign) for c in classes for m in c[1:]}
        if not equal_to:
            return {}
        hypothesis = Rewriter(replace=_signed(equal_to))
        refined: list[list[_Member]] = []
        for members in classes:
            parts: list[list[_Member]] = []
            for m in members:
                step = hypothesis(m.carry.step).scale(m.sign)
                first_steps = (hypothesis(part[0].carry.step).scale(part[0].sign) for part in parts)
                matching = (
                    part
                    for part, first_step in zip(parts, first_steps, strict=True)
                    if compared.equal(first_step, step, m)
                )
                home_class = next(matching, None)
                parts.append([m]) if home_class is None else home_class.append(m)
            refined += parts
        if len(refined) == len(classes):
            return {m.place: (c[0].place, m.sign * c[0].sign) for c in classes for m in c[1:]}
        classes = refined


def _signed(alike: Mapping[str, tuple[str, int]]) -> Callable[[Atom], Poly | None]:
    """Return a rewriting of carries' entries as those of the equal carries in `alike`, times the sign given there."""

    def entries(a: Access) -> Poly:
        name, sign = alike[a.tensor]
        return access(name, a.index).scale(sign)

    return replacing(alike, entries)


def _begins_as(m: _Member, others: Sequence[_Member], compared: _Comparison) -> bool:
    """Return whether the carry begins as those of a class, up to a sign, which is kept in `m.sign`.

    Where all begin at 0 either sign would do: what the first steps give says which one to try.
    """
    first = others[0]
    if m.carry.init.is_zero and first.carry.init.is_zero:
        signs = (d.sign * sign for d in others if (sign := _sign_of(m, d) or _shown_sign(m, d, compared)))
        m.sign = next(signs, 1)
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
    for own_value, other_value in chain([(m.added, other.added)], by_steps):
        if own_value is None or other_value is None:
            return 0
        if not (own_value.is_zero and other_value.is_zero):
            return 1 if own_value == other_value else -1 if own_value == -other_value else 0
    return 0


def _shown_sign(m: _Member, other: _Member, compared: _Comparison) -> int:
    """Return the sign of `_sign_of` where both steps add terms that are written differently: by values, or by proof."""
    own_value, other_value = m.added, other.added
    if own_value is None or other_value is None or own_value.is_zero or other_value.is_zero:
        return 0
    signs = [sign for sign in (1, -1) if not compared.differ(other_value, own_value.scale(sign), m)]
    if len(signs) == 2:  # no values are known
        signs = [sign for sign in signs if compared.equal(other_value, own_value.scale(sign), m)]
    return signs[0] if signs else 0


@dataclass
class _Comparison:
    """Compares terms of two carries for all their indices and at every step of their loops.

    A difference is examined once, also if several rounds of the refinement ask for it.
    """

    region: Region
    steps: Ranges
    zero: dict[tuple[Poly, tuple[Poly, ...]], bool] = field(default_factory=dict)

    def equal(self, left: Poly, right: Poly, m: _Member) -> bool:
        """Return whether two terms over the axes of a member are shown to be equal."""
        difference, sub_region = left - right, self._over(m)
        question = difference, m.carry.ranges
        if question not in self.zero:
            self.zero[question] = not differs(difference, sub_region) and vanishes(difference, sub_region)
        return self.zero[question]

    def differ(self, left: Poly, right: Poly, m: _Member) -> bool:
        """Return whether a point shows that the two terms differ."""
        return differs(left - right, self._over(m))

    def _over(self, m: _Member) -> Region:
        return self.region.over({**self.steps, **dict(zip(m.carry.axes, m.carry.ranges, strict=True))})


def vanishes(poly: Poly, region: Region) -> bool:
    """Return whether the term is shown to be zero, if needed with its loops written out a step further."""
    if nonzero_part(poly, region) is None:
        return True
    further = unfolded(poly, region.indices.ranges)
    return further != poly and nonzero_part(further, region) is None


# --- which times are looked at -------------------------------------------------------------------------------------


def latest(poly: Poly, ranges: Ranges) -> dict[Loop, list[Poly | None]]:
    """Return, for each loop in the term, the latest times at which it is read; None for a time without a bound.

    Loops inside of loops count too: their times may depend on the step of the outer one.
    """
    latest_times: dict[Loop, list[Poly | None]] = {}
    seen: set[tuple[Atom, tuple]] = set()

    def visit(p: Poly, known: Ranges) -> None:
        """Note the latest time at which each loop inside a term is read, by the ranges of its variables."""
        for a in atoms_of(p):
            visited = (a, tuple(sorted((v, known[v].key) for v in a.free if v in known)))
            if visited in seen:
                continue
            seen.add(visited)
            if isinstance(a, Rec):
                _, most = bounds(a.time, known)
                latest_times.setdefault(a.loop, []).append(most)
                for c in a.carries:  # its bound variables number the axes (from 1 on) and the steps (0)
                    inner = {**known, **{("b", a.level, 1 + k): n for k, n in enumerate(c.ranges)}}
                    if most is not None:
                        inner[("b", a.level, 0)] = most
                    else:
                        inner.pop(("b", a.level, 0), None)
                    visit(c.init, inner)
                    visit(c.step, inner)
                continue
            bound_ranges = dict(zip(a.vars, a.ranges, strict=True)) if isinstance(a, (Sum, Max, Product)) else {}
            inner = {**known, **bound_ranges}
            for part in a.parts():
                visit(part, inner)

    visit(poly, ranges)
    return latest_times


def _largest(times: list[Poly | None]) -> Poly | None:
    """Return a time that is shown to be at least each of the others; None where there is none, or one has no bound."""
    for t in times:
        if t is not None and all(u is not None and at_least(t - u) == ONE for u in times):
            return t
    return None


def summed(poly: Poly, ranges: Ranges) -> Poly:
    """Return the term with carries whose steps are linear in themselves as sums of products, also at varying times.

    Let c[s + 1] = a(s)·c[s] + b(s), where a and b are without the loop's carries, and t ≤ N. By induction on t,

        c[t] = c[0]·Π_{k<N, k<t} a(k) + Σ_{j<N} [j < t]·b(j)·Π_{k<N, j<k<t} a(k).

    It is applied to the term with its carries one step later (`folded`).
    """
    poly = folded(poly)

    def total(a: Atom, ranges: Ranges = ranges) -> Poly | None:
        """Return an atom with carries in the closed form above; None leaves its parts to the rewriter."""
        if not has_loop(poly_of(a)):
            return poly_of(a)
        if isinstance(a, Sum):
            dummies, body = open_sum(a)
            inner_ranges = {**ranges, **dict(dummies)}
            return sum_over(Rewriter(replace=lambda b: total(b, inner_ranges))(body), dummies)
        if not isinstance(a, Rec):
            return None
        _, latest_time = bounds(a.time, ranges)
        system = open_loop(a.loop)
        c = system.carries[a.position]
        factor, added = linear_part(c.step, access(c.name, (of_var(system.step), *c.index)))
        if latest_time is None or any(mentions(p, [d.name]) for d in system.carries for p in (factor, added)):
            return poly_of(a)
        applied(Law.LINEAR_CARRY)
        j, k = fresh(), fresh()
        j_before_t, k_before_t = (index_pred(a.time.shifted(-ONE).minus(of_var(v))) for v in (j, k))
        # N of the formula is `latest_time`.
        b_at_j, a_at_k = (c.at(p, a.index, {system.step: of_var(v)}) for p, v in ((added, j), (factor, k)))
        if factor == ONE:
            return c.at(c.init, a.index) + sum_over(j_before_t * b_at_j, [(j, latest_time)])
        b_at_j, a_at_k = summed(b_at_j, {**ranges, j: latest_time}), summed(a_at_k, {**ranges, k: latest_time})
        if has_loop(b_at_j) or has_loop(a_at_k):
            return poly_of(a)
        k_after_j = index_pred(of_var(k).minus(of_var(j)).shifted(-ONE))
        start = c.at(c.init, a.index) * product_over(a_at_k, [(k, latest_time)], k_before_t)
        return start + sum_over(
            j_before_t * b_at_j * product_over(a_at_k, [(k, latest_time)], k_before_t * k_after_j), [(j, latest_time)]
        )

    return Rewriter(replace=total)(poly)


def written_out(poly: Poly) -> Poly:
    """Return the term with loops of few steps, and sums over few of their entries, written out."""

    def whole(a: Atom) -> Poly | None:
        """Return an atom written out, one sum or one step at a time; None leaves its parts to the rewriter.

        A number of times that is unknown, or 0, counts as too many.
        """
        if not has_loop(poly_of(a)):
            return poly_of(a)
        if isinstance(a, Sum):
            dummies, body = open_sum(a)
            times = {v for b in deep_atoms(body) if isinstance(b, Rec) for v in b.time.free}
            short_sums = [
                k for k, (v, n) in enumerate(dummies) if v in times and (_number(n) or MOST_STEPS + 1) <= MOST_STEPS
            ]
            if not short_sums:
                return None
            v, n = dummies[short_sums[0]]
            total = ZERO
            for place in range(_number(n) or 0):
                summand = Rewriter({v: of_const(number(place))})(body)
                total = total + sum_over(summand, [d for k, d in enumerate(dummies) if k != short_sums[0]])
            return written_out(total)
        if isinstance(a, Rec) and not a.time.terms and (_number(a.time.const) or MOST_STEPS + 1) <= MOST_STEPS:
            earlier = stepped(a)
            return poly_of(a) if earlier is None else written_out(earlier)
        return None

    return Rewriter(replace=whole)(poly)


def _number(size: Poly) -> int | None:
    c = size.constant()
    return None if c is None else int(c.p)
