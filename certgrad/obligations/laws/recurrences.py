"""Recurrences: values that a loop carries from step to step, as terms at a symbolic time.

c[0] is `init`, c[s + 1] is `step` of the carries at s. Two recurrences with the same init and the same step are the
same atom, whatever loop they came from. A carry that closes does not stay: one that never changes is its init, a
counter and an accumulator are sums; carries that do not depend on each other are recurrences of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from flint import fmpq

from certgrad.obligations.laws.selections import on_both_sides
from certgrad.obligations.terms.atoms import Access, Exp, access
from certgrad.obligations.terms.determined import CARRY, Carry, Loop, Rec, carried
from certgrad.obligations.terms.index import Ix, of_const, of_var
from certgrad.obligations.terms.index_terms import NO_RANGES, Ranges, at_least, bounds, index_number, index_pred
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, ZERO, Atom, Mono, Poly, number, poly_of
from certgrad.obligations.terms.power import exp_of
from certgrad.obligations.terms.predicates import IxEq, IxPred
from certgrad.obligations.terms.rewriting import Rewriter, rebuilds
from certgrad.obligations.terms.session import intern
from certgrad.obligations.terms.sums import sum_over
from certgrad.obligations.terms.variables import Var, fresh
from certgrad.obligations.terms.walk import atoms_of, deep_atoms, tensors_in

Value = Callable[[Ix, tuple[Ix, ...]], Poly]
"""A carry as a function: from a time and an index to the entry."""


@dataclass(frozen=True)
class Open:
    """A carry with its bound variables opened: `init` and `step` are terms over the variables `axes`.

    `step` reads carries by name, at the step s and an index.
    """

    name: str
    axes: tuple[Var, ...]
    ranges: tuple[Poly, ...]
    init: Poly
    step: Poly

    @property
    def index(self) -> tuple[Ix, ...]:
        return tuple(of_const(ZERO) if n == ONE else of_var(v) for v, n in zip(self.axes, self.ranges, strict=True))

    def at(self, poly: Poly, index: tuple[Ix, ...], more: dict[Var, Ix] | None = None) -> Poly:
        """Return a term over the axes' variables at an index, with the substitutions `more`."""
        return Rewriter({**dict(zip(self.axes, index, strict=True)), **(more or {})})(poly)


@dataclass(frozen=True)
class System:
    """Carries that are stepped together; `step` is the variable that numbers the steps."""

    step: Var
    carries: list[Open]


def fresh_carry() -> str:
    """Return a name for a carry that is used nowhere else in this proof."""
    return f"{CARRY}~{fresh()[1]}"


def has_loop(poly: Poly) -> bool:
    """Return whether a value that a loop carries occurs in the term."""
    return any(name.startswith("#") for a in atoms_of(poly) for name in tensors_in(a))


def open_loop(loop: Loop) -> System:
    """Return a loop's carries with fresh names and variables."""
    s = fresh()
    names = {carried(loop.level, k): fresh_carry() for k in range(len(loop.carries))}
    carries = []
    for k, c in enumerate(loop.carries):
        axes = tuple(fresh() for _ in c.ranges)
        mapping = {("b", loop.level, 0): of_var(s)} | {("b", loop.level, 1 + j): of_var(v) for j, v in enumerate(axes)}
        rename = Rewriter(mapping, renaming(names))
        carries.append(Open(names[carried(loop.level, k)], axes, c.ranges, rename(c.init), rename(c.step)))
    return System(s, carries)


def replacing(names: Iterable[str], value: Callable[[Access], Poly]) -> Callable[[Atom], Poly | None]:
    """Return a rewriting, for `Rewriter`, that replaces entries of the named tensors by `value` and keeps all else."""
    tensors = set(names)

    def replaced(a: Atom) -> Poly | None:
        if isinstance(a, Access):
            return value(a) if a.tensor in tensors else poly_of(a)
        return None if not tensors_in(a).isdisjoint(tensors) else poly_of(a)

    return replaced


def renaming(names: Mapping[str, str]) -> Callable[[Atom], Poly | None]:
    """Return a rewriting of tensors to other names."""
    return replacing(names, lambda a: access(names[a.tensor], a.index))


def valued(values: Mapping[str, Value]) -> Callable[[Atom], Poly | None]:
    """Return a rewriting of carries to their values."""

    def value(a: Access) -> Poly:
        return values[a.tensor](a.index[0], a.index[1:])

    return replacing(values, value)


@rebuilds(Rec)
def rewritten(a: Rec, rewrite: Rewriter) -> Poly:
    """Return the atom with indices substituted and, inside its loop too, atoms replaced."""

    def substituted(ix: Ix) -> Ix:
        ix = ix.subst(rewrite.indices)
        return ix if rewrite.replace is None or ix.const.constant() is not None else Ix(ix.terms, rewrite(ix.const))

    time, index = substituted(a.time), tuple(substituted(ix) for ix in a.index)
    if rewrite.replace is None and not a.loop.free & rewrite.indices.keys():
        return entry(a.loop, a.position, time, index)
    values = rewrite.loops.get(a.loop.key)
    if values is None and a.loop.free:
        values = _rewritten_loop(a.loop, rewrite)
    elif values is None:  # nothing outside of the loop is substituted in it: all its entries share the result
        values = rewrite.loops[a.loop.key] = _rewritten_loop(a.loop, rewrite.of_closed())
    return values[a.position](time, index)


def _rewritten_loop(loop: Loop, rewrite: Rewriter) -> list[Value]:
    system = open_loop(loop)
    inner = Rewriter(rewrite.indices, rewrite.replace)
    inner.loops = rewrite.loops
    carries = [
        replace(c, ranges=tuple(inner(n) for n in c.ranges), init=inner(c.init), step=inner(c.step))
        for c in system.carries
    ]
    solved = solve(System(system.step, carries))
    return [solved[c.name] for c in carries]


def stepped(a: Rec, ranges: Ranges = NO_RANGES) -> Poly | None:
    """Return the entry at time t as the step of those at t − 1, if t is shown to be at least 1; else None."""
    before = a.time.shifted(-ONE)
    least, _ = bounds(before, ranges)
    if least is None or at_least(least) != ONE:
        return None
    system = generic_step(a.loop)
    chosen = system.carries[a.position]
    return chosen.at(chosen.step, a.index, {system.step: before})


def generic_step(loop: Loop) -> System:
    """Return the loop's carries at a generic step and index; what a step reads is written as entries of the loop."""
    system = open_loop(loop)
    place = {c.name: k for k, c in enumerate(system.carries)}
    change = Rewriter(replace=replacing(place, lambda b: entry(loop, place[b.tensor], b.index[0], b.index[1:])))
    return System(system.step, [replace(c, step=change(c.step)) for c in system.carries])


def solve(system: System) -> dict[str, Value]:
    """Return each carry's value (its entry as a function of time and index), by name.

    Carries that others depend on are solved first: what a step reads of them is then their value at time s.
    """
    by_name = {c.name: c for c in system.carries}
    solved: dict[str, Value] = {}
    for names in _components(system):
        group = [by_name[n] for n in names]
        if solved:
            settled = Rewriter(replace=valued(solved))
            group = [replace(c, step=settled(c.step)) for c in group]
        group = [replace(c, step=on_both_sides(c.step)) for c in group]
        solved |= _solved(system.step, group)
    return solved


def _reads(poly: Poly, names: set[str]) -> set[str]:
    return {n for a in atoms_of(poly) for n in tensors_in(a) & names}


def _components(system: System) -> list[list[str]]:
    """Return groups of carries that depend on each other, each group after those that it depends on.

    A group is a strongly connected component of the graph "the step of one reads the other", whose transitive closure
    is `reach`.
    """
    names = {c.name for c in system.carries}
    direct = {c.name: _reads(c.step, names) for c in system.carries}
    reach = {n: set(d) for n, d in direct.items()}
    for k in direct:
        for n in direct:
            if k in reach[n]:
                reach[n] |= reach[k]
    groups: list[list[str]] = []
    for c in system.carries:
        if not any(c.name in g for g in groups):
            groups.append([c.name, *(n for n in direct if n in reach[c.name] and c.name in reach[n] and n != c.name)])
    order = {c.name: k for k, c in enumerate(system.carries)}
    groups = [sorted(g, key=order.__getitem__) for g in groups]
    ordered: list[list[str]] = []
    while groups:
        ordered_names = {n for g in ordered for n in g}
        ready = next(g for g in groups if all(reach[n] <= ordered_names | set(g) for n in g))
        groups.remove(ready)
        ordered.append(ready)
    return ordered


def _solved(s: Var, group: list[Open]) -> dict[str, Value]:
    if all(c.init.is_zero for c in group):
        names = {c.name for c in group}
        still = Rewriter(replace=replacing(names, lambda a: ZERO))
        if all(_vanishes(still, c.step) for c in group):
            return {c.name: lambda time, index: ZERO for c in group}
    if len(group) == 1:
        closed = _closed_form(s, group[0])
        if closed is not None:
            applied(Law.CLOSED_CARRY)
            return {group[0].name: closed}
    loop = _closed(s, group)

    def value(k: int) -> Value:
        return lambda time, index: entry(loop, k, time, index)

    return {c.name: value(k) for k, c in enumerate(group)}


def _vanishes(still: Rewriter, step: Poly) -> bool:
    try:
        return still(step).is_zero
    except ArithmeticError:  # a division by the carry
        return False


def _closed_form(s: Var, c: Open) -> Value | None:
    """Return the value of a carry that stays, adds up, or is overwritten; None for one that steps otherwise."""
    carry_now = access(c.name, (of_var(s), *c.index))
    if c.step == carry_now:
        return lambda time, index: c.at(c.init, index)
    added = c.step - carry_now
    if not _reads(added, {c.name}):
        if s not in added.free:  # the same at each step: t times it
            return lambda time, index: c.at(c.init, index) + index_number(time) * c.at(added, index)
        loop = _closed(s, [c])

        def total(time: Ix, index: tuple[Ix, ...]) -> Poly:
            if time.terms:  # the range of a sum is a term in sizes, without indices: the entry of the loop stays
                return entry(loop, 0, time, index)
            j = fresh()
            return c.at(c.init, index) + sum_over(c.at(added, index, {s: of_var(j)}), [(j, time.const)])

        return total
    if _reads(c.step, {c.name}):
        return _filled_buffer_value(s, c) or _overwritten(s, c) or _rescaled(s, c)
    return _last_step_value(s, c, ZERO, c.step)


def _overwritten(s: Var, c: Open) -> Value | None:
    """Return the value of a carry of which each step writes the same entries anew; None for another carry.

    Let c[s + 1] = a·c[s] + b(s), where a and b do not read c, a is the same at each step, a² = a and a·b = 0. Then
    c[t] = a·c[0] + b(t − 1) for t ≥ 1, by induction on t.
    """
    kept, added = linear_part(c.step, access(c.name, (of_var(s), *c.index)))
    if s in kept.free or _reads(kept, {c.name}) or _reads(added, {c.name}):
        return None
    return _last_step_value(s, c, kept, added) if kept * kept == kept and (kept * added).is_zero else None


def _last_step_value(s: Var, c: Open, kept: Poly, added: Poly) -> Value:
    """Return the value kept·c[0] + added(t − 1), for times t shown to be at least 1; at others, the loop's entry."""
    loop = _closed(s, [c])

    def last(time: Ix, index: tuple[Ix, ...]) -> Poly:
        before = time.shifted(-ONE)
        least, _ = bounds(before, NO_RANGES)
        if least is not None and at_least(least) == ONE:
            return c.at(kept * c.init + added, index, {s: before})
        return entry(loop, 0, time, index)

    return last


def _filled_buffer_value(s: Var, c: Open) -> Value | None:
    """Return the value of a carry of which each step writes other entries, as a buffer filled row by row; else None.

    Let c[s + 1] = (1 − d(s))·c[s] + b(s), where d and b do not read c and have a common factor [e(s) = 0], e an index
    expression with s or −s in it. It holds at one s alone, r say, so that d(s)·d(t) = 0 and d(t)·b(s) = 0 for s ≠ t,
    and c[t] = (1 − Σ_{j<t} d(j))·c[0] + Σ_{j<t} b(j), by induction on t. Of these sums one term is left, that at r, if
    0 ≤ r < t.
    """
    carry_now = access(c.name, (of_var(s), *c.index))
    written = c.step - carry_now
    shared_turns = set.intersection(*(_turns(mono, s) for mono, _ in written.items()))
    for turn in sorted(shared_turns, key=lambda a: a.key):
        at = _solved_for(s, turn.ix, ZERO)

        def value(a: Access, at: Ix = at) -> Poly:
            is_written_entry = a.index[0] == of_var(s) and tuple(ix.subst({s: at}) for ix in a.index[1:]) == c.index
            return carry_now if is_written_entry else poly_of(a)

        factor, added = linear_part(Rewriter(replace=replacing([c.name], value))(written), carry_now)
        if not _reads(factor, {c.name}) and not _reads(added, {c.name}):
            return partial(_written_by, s, c, at, factor, added)
    return None


def _written_by(s: Var, c: Open, at: Ix, factor: Poly, added: Poly, time: Ix, index: tuple[Ix, ...]) -> Poly:
    """Return the entry at a time, where step `at` alone writes it, as c + factor·c + added."""
    init = c.at(c.init, index)
    if not time.terms and time.const.is_zero:
        return init
    ranges = {v: n for v, n in zip(c.axes, c.ranges, strict=True) if n != ONE}
    done = index_pred(at, ranges) * index_pred(time.minus(at).shifted(-ONE), ranges)
    change = done * Rewriter({s: at})(c.init * factor + added)
    return init + c.at(change, index)


def _turns(mono: Mono, s: Var) -> set[IxEq]:
    """Return the factors [e = 0] with s or −s in e, and s nowhere else in e."""
    return {
        a
        for a, _ in mono
        if isinstance(a, IxEq)
        and abs(a.ix.coefficient(s)) == 1
        and all(s not in integer.free for integer in a.ix.atoms)
    }


def _rescaled(s: Var, c: Open) -> Value | None:
    """Return the value of a carry that each step measures in a new unit, as in an online softmax; else None.

    Let c[s + 1] = a(s)·c[s] + b(s), where a and b do not read c, and a(s) = g(s)/g(s + 1) with g(s) = exp(Σ q·r[s]) for
    other carries r and numbers q. Then c·g is an accumulator, as c[s + 1]·g(s + 1) = c[s]·g(s) + b(s)·g(s + 1), so that
    c[t] = (c[0]·g(0) + Σ_{j<t} b(j)·g(j + 1)) / g(t), by induction on t; and an exp is never 0.
    """
    factor, added = linear_part(c.step, access(c.name, (of_var(s), *c.index)))
    if _reads(factor, {c.name}) or _reads(added, {c.name}):
        return None
    units = _units(s, factor)
    if not units:
        return None
    loop = _closed(s, [c])
    unit_after = exp_of(_total(units, lambda r: _stepped(r)))

    def total(time: Ix, index: tuple[Ix, ...]) -> Poly:
        if time.terms:
            return entry(loop, 0, time, index)
        j = fresh()

        def exponent_at(when: Ix) -> Poly:
            return c.at(_total(units, lambda r: entry(r.loop, r.position, when, r.index)), index)

        gains = sum_over(c.at(added * unit_after, index, {s: of_var(j)}), [(j, time.const)])
        start = c.at(c.init, index) * exp_of(exponent_at(of_const(ZERO)))
        return (start + gains) * exp_of(-exponent_at(time))

    return total


def _units(s: Var, factor: Poly) -> dict[Rec, fmpq] | None:
    """Return carries r and numbers q with factor = exp(Σ q·(r[s] − r[s + 1])); None where there are none."""
    single = factor.single()
    if single is None or single[1] != 1 or not all(isinstance(a, Exp) for a, _ in single[0]):
        return None
    exponent = sum((Poly({a.mono: number(e).constant()}) for a, e in single[0] if isinstance(a, Exp)), ZERO)
    units = {}
    # Each q is read off one coefficient; whether they give the whole exponent is checked at the end.
    for r in _carried_at(s, exponent):
        change = poly_of(r) - _stepped(r)
        mono, leading = next(iter(change.sorted_items()), ((), fmpq(0)))
        if leading != 0 and (q := exponent.coefficient(mono) / leading) != 0:
            units[r] = q
    change = _total(units, lambda r: poly_of(r) - _stepped(r))
    return units if exponent == change else None


def _carried_at(s: Var, poly: Poly) -> list[Rec]:
    """Return the carries of other loops read at time s: at time s + 1 each is the step of its loop."""
    carries = (a for a in deep_atoms(poly) if isinstance(a, Rec) and a.time == of_var(s))
    return sorted((r for r in carries if s not in r.loop.free.union(*(x.free for x in r.index))), key=lambda r: r.key)


def _stepped(r: Rec) -> Poly:
    """Return the carry's entry one step later."""
    system = generic_step(r.loop)
    chosen = system.carries[r.position]
    return chosen.at(chosen.step, r.index, {system.step: r.time})


def _total(units: Mapping[Rec, fmpq], value: Callable[[Rec], Poly]) -> Poly:
    return sum((value(r).scale(q) for r, q in units.items()), ZERO)


def linear_part(step: Poly, carry: Poly) -> tuple[Poly, Poly]:
    """Return (a, b) with step = a·carry + b; terms with the carry to another power than 1 are in b."""
    factor, added = ZERO, ZERO
    for mono, c in step.items():
        rest = dict(mono)
        if rest.pop(carry.atom(), None) == 1:  # type: ignore[arg-type]
            factor = factor + Poly({tuple(rest.items()): c})
        else:
            added = added + Poly({mono: c})
    return factor, added


def _closed(s: Var, group: list[Open]) -> Loop:
    """Return the carries as a loop with canonical bound variables and names."""
    level = 1 + max(p.level for c in group for p in (c.init, c.step))
    names = {c.name: carried(level, k) for k, c in enumerate(group)}
    out = []
    for c in group:
        mapping = {s: of_var(("b", level, 0))} | {v: of_var(("b", level, 1 + k)) for k, v in enumerate(c.axes)}
        rename = Rewriter(mapping, renaming(names))
        out.append(Carry(c.ranges, rename(c.init), rename(c.step)))
    return Loop(tuple(out))


def entry(loop: Loop, position: int, time: Ix, index: tuple[Ix, ...]) -> Poly:
    """Return a carry's entry; at time 0, that of its init."""
    if not time.terms and time.const.is_zero:
        return Rewriter({("b", loop.level, 1 + k): ix for k, ix in enumerate(index)})(loop.carries[position].init)
    return poly_of(intern(Rec(loop, position, time, index)))


def merge_agreeing_cases(poly: Poly, ranges: Ranges) -> Poly:
    """Return the term without index conditions that are decided, or that separate forms which agree where they meet.

    [i ≥ 1]·c[i] + [i < 1]·c₀ is c[i], if c[0] = c₀: what a loop carried, with its start put in front.
    """
    for a in deep_atoms(poly):
        if not isinstance(a, IxPred) or not a.free or not a.free <= ranges.keys():
            continue
        decided = index_pred(a.ix, ranges)
        if decided.constant() is not None:
            return merge_agreeing_cases(Rewriter(replace=_atom_replacer(a, decided))(poly), ranges)
        v = next((v for v in sorted(a.free) if abs(a.ix.coefficient(v)) == 1), None)
        if v is None:
            continue
        least, most = bounds(a.ix, ranges)
        # The term where the condition holds, and where it fails. If one of them is needed at one index only, and has
        # the value of the other there, the other serves everywhere.
        holds, fails = (Rewriter(replace=_atom_replacer(a, value))(poly) for value in (ONE, ZERO))
        if most == ZERO:  # it holds at one place only: what is carried there is written for that place
            holds = Rewriter(replace=_at_time(_solved_for(v, a.ix, ZERO), of_var(v)))(holds)
        for bound, ix_value, same_form in ((least, -ONE, holds), (most, ZERO, fails)):
            place = {v: _solved_for(v, a.ix, ix_value)}
            if bound == ix_value and Rewriter(place)(holds) == Rewriter(place)(fails):
                return merge_agreeing_cases(same_form, ranges)
    return poly


def _solved_for(v: Var, ix: Ix, value: Poly) -> Ix:
    """Return the index v at which the expression has the value; v's coefficient in it is 1 or −1."""
    c = ix.coefficient(v)
    return ix.plus(of_var(v).scaled(-c)).shifted(-value).scaled(-c)


def _at_time(time: Ix, other: Ix) -> Callable[[Atom], Poly | None]:
    def moved(a: Atom) -> Poly | None:
        return entry(a.loop, a.position, other, a.index) if isinstance(a, Rec) and a.time == time else None

    return moved


def _atom_replacer(a: Atom, value: Poly) -> Callable[[Atom], Poly | None]:
    return lambda b: value if b is a else None
