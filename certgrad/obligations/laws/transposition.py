"""The adjoint of a linear recurrence: tangents that a loop carries forward become cotangents carried backward.

Let dc[t+1] = A_t·dc[t] + u_t for t < N. For any p, q_0, …, q_{N−1}, with μ_N = p and μ_t = A_tᵀ·μ_{t+1} + q_t,

    ⟨dc[N], p⟩ + Σ_{t<N} ⟨dc[t], q_t⟩ = ⟨dc[0], μ_0⟩ + Σ_{t<N} ⟨u_t, μ_{t+1}⟩,

because ⟨dc[t+1], μ_{t+1}⟩ − ⟨dc[t], μ_t⟩ = ⟨u_t, μ_{t+1}⟩ − ⟨dc[t], q_t⟩ for each t, and the sum over t telescopes. So
a term that is linear in dc is written without dc. As a recurrence that goes forward, M[r] = μ_{N−r}.

A loop whose rows are what it carries *after* each step is looked at at t + 1 for t < N. Then dc[t + 1] is written as
A_t·dc[t] + u_t, and M[r + 1] = Aᵀ·(M[r] + q). Whoever writes the transpose by hand carries L[r + 1] = Aᵀ·L[r] + q.
Where A is the same at every step these are one, and the second form serves too: with L_0 = 0,

    Σ_{t<N} ⟨dc[t+1], q_t⟩ = ⟨dc[0], Aᵀ·L[N]⟩ + Σ_{t<N} ⟨u_t, L[N−t]⟩,   L[r+1] = Aᵀ·L[r] + q_{N−1−r},

which is the identity above for N + 1 steps with p = q_0 = 0, where what stands at step N is multiplied by L[0] = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from certgrad.obligations.terms.atoms import Access, Sum, access
from certgrad.obligations.terms.determined import Loop, Rec
from certgrad.obligations.terms.exponents import Exponent
from certgrad.obligations.terms.index import Ix, of_const, of_var
from certgrad.obligations.terms.index_terms import NO_RANGES, Ranges, at_least, bounds, index_equal, index_within
from certgrad.obligations.terms.law import Law, applied
from certgrad.obligations.terms.polynomials import ONE, ZERO, Atom, Poly, monomial, poly_of
from certgrad.obligations.terms.rewriting import Rewriter
from certgrad.obligations.terms.sums import open_sum, sum_over
from certgrad.obligations.terms.variables import Var, fresh
from certgrad.obligations.terms.walk import deep_atoms, mentions, tensors_in

from .recurrences import Open, System, Value, fresh_carry, open_loop, replacing, solve, stepped


class NoInvariantError(ArithmeticError):
    """No relation between the carries of two loops was found."""


class LookedAt(Enum):
    """How a loop that is read at varying times is transposed."""

    EARLY = "at t + 1 by its step at t, where that is shown to be a later time"
    CUT = "at the first time by itself, and at all others so"
    AFTER = "after each step, in the second form"


def without_carried(poly: Poly, tangents: Iterable[str], looked_at: LookedAt = LookedAt.EARLY) -> Poly:
    """Return the term, linear in the named tensors, without recurrences that depend on them.

    Raises NoInvariantError where a recurrence cannot be transposed.
    """
    names = set(tangents)
    for _ in range(64):
        recurrences = [a for a in deep_atoms(poly) if isinstance(a, Rec) and mentions(poly_of(a), names)]
        if not recurrences:
            return poly
        # A recurrence that reads another one has the higher level: it goes first.
        chosen = max(recurrences, key=lambda a: (a.level, a.key))
        poly = _transposed(poly, chosen, names, looked_at)
    raise NoInvariantError("no invariant: the loops depend on each other in too many ways")


def _transposed(poly: Poly, chosen: Rec, tangents: set[str], looked_at: LookedAt) -> Poly:
    """Return the term without one atom's recurrence, by an identity above, read from left to right.

    The term is split into its uses of the loop's carries (p and q of the identities: `finals` at the end, `sources` at
    other times) and the rest. One step of the loop, paired with the adjoint μ, gives its transpose. The adjoint loop,
    in reversed time, is solved for μ and put into the sums of what each step adds and of the initial values.
    `looked_at` says how uses at varying times are read: as they are, with the first one split off (CUT), or as all from
    1 on (AFTER: after each step, so that the last use is at `end` − 1). In the comments A, u, p, q and μ are those of
    the identities at the head of the file. Raises NoInvariantError if the loop is not linear in the tangents, or of
    another form.
    """
    loop = chosen.loop
    if any(v[0] == "b" for v in loop.free):
        raise NoInvariantError("no invariant: a loop inside a sum")
    after = looked_at is LookedAt.AFTER
    if looked_at is LookedAt.CUT:
        poly = _split_off_first_time(poly, loop)
    if not after:
        poly = _early(poly, loop, NO_RANGES)
    applied(Law.ADJOINT_RECURRENCE)
    system = open_loop(loop)
    # Names for the loop's carries: its entries in the term become those of tensors, in which the term must be linear.
    marks = [fresh_carry() for _ in loop.carries]
    uses, rest = linear_in(_marked(poly, loop, marks), set(marks))
    end = _end(uses)
    if after:  # uses at t + 1 for t < end − 1
        if not all(_late(u) for u in uses):
            raise NoInvariantError("no invariant: a loop is not looked at after each step alone")
        end = end - ONE
    t = fresh()
    finals, sources = _final_and_source(uses, marks, system, t, end, after)
    cotangents = [fresh_carry() for _ in loop.carries]
    step_uses, added = _paired_step(system, cotangents)
    if any(mentions(p, tangents) for p in (*finals, *sources, *(b.rest for b in step_uses))):
        raise NoInvariantError("no invariant: the jvp is not linear in the tangents")
    transposes = _transposes(step_uses, system)
    if after and any(system.step in _at_no_time(p, cotangents).free for p in transposes):
        raise NoInvariantError("no invariant: the steps of a loop are not alike")
    steps = [transpose + source for transpose, source in zip(transposes, sources, strict=True)]
    adjoint = _solved_adjoint(system, t, end, cotangents, finals, steps)
    # What is left: the rest, ⟨u, μ⟩ over the steps, and ⟨c₀, μ⟩ at the start.
    with_adjoint = adjoint.put_in(of_var(adjoint.time).shifted(ONE) if after else of_var(adjoint.time))
    products = Rewriter({system.step: adjoint.reversed_time}, with_adjoint)(added)
    total = rest + sum_over(products, [(adjoint.time, end)])
    at_end = Rewriter(replace=adjoint.put_in(of_const(end)))
    for n, c, transpose in zip(cotangents, system.carries, transposes, strict=True):
        at_start = at_end(transpose) if after else adjoint.value(n, of_const(end), c.index)
        total = total + sum_over(c.init * at_start, _dummies(c))
    return total


def _marked(poly: Poly, loop: Loop, marks: Sequence[str]) -> Poly:
    """Return the term with each read of a carry of the loop as that of a tensor: `marks` are the tensors' names."""

    def marked(a: Atom) -> Poly | None:
        if isinstance(a, Rec) and a.loop == loop:
            return access(marks[a.position], (a.time, *a.index))
        return None if loop.key in tensors_in(a) else poly_of(a)

    return Rewriter(replace=marked)(poly)


def _final_and_source(
    uses: Sequence[Use], marks: list[str], system: System, t: Var, end: Poly, after: bool
) -> tuple[list[Poly], list[Poly]]:
    """Return, for each carry, p and q of the identities: what the uses multiply at the `end`, and at the time `t`.

    With `after`, uses at varying times are at `t` + 1.
    """
    finals, sources = [ZERO] * len(marks), [ZERO] * len(marks)
    for use in uses:
        k = marks.index(use.tensor)
        c = system.carries[k]
        place_ranges = {t: end, **dict(zip(c.axes, c.ranges, strict=True))}
        time = use.index[0]
        if not time.terms and time.const == end:
            finals[k] = finals[k] + use.coefficient(c.index, 1, place_ranges)
        else:
            place = of_var(t).shifted(ONE) if after else of_var(t)
            sources[k] = sources[k] + use.coefficient((place, *c.index), 0, place_ranges)
    return finals, sources


def _paired_step(system: System, cotangents: Sequence[str]) -> tuple[list[Use], Poly]:
    """Return ⟨A·dc + u, μ⟩ at a generic step, as its uses of the carries dc and the rest, which is ⟨u, μ⟩.

    `cotangents` are the names of the tensors that stand for μ.
    """
    paired = ZERO
    for c, name in zip(system.carries, cotangents, strict=True):
        paired = paired + sum_over(c.step * access(name, (of_var(system.step), *c.index)), _dummies(c))
    carry_names = {c.name for c in system.carries}
    return linear_in(without_carried(paired, carry_names), carry_names)


def _transposes(step_uses: Sequence[Use], system: System) -> list[Poly]:
    """Return Aᵀ·μ for each carry: what the uses of the carry in a paired step multiply."""
    carry_names = [c.name for c in system.carries]
    transposes = [ZERO] * len(carry_names)
    for step_use in step_uses:
        k = carry_names.index(step_use.tensor)
        c = system.carries[k]
        if step_use.index[0] != of_var(system.step):
            raise NoInvariantError("no invariant: a step that reads another step")
        transposes[k] = transposes[k] + step_use.coefficient(c.index, 1, dict(zip(c.axes, c.ranges, strict=True)))
    return transposes


@dataclass(frozen=True)
class _Adjoint:
    """The adjoint μ of the carries of a loop of N steps, solved in reversed time r: μ[r] is what stands at N − r."""

    time: Var
    """The variable r."""
    reversed_time: Ix
    """N − 1 − r, the step of the loop that the step r of the adjoint belongs to."""
    names: Mapping[str, str]
    """By the name that a carry's μ has in a paired step, its name in the adjoint loop."""
    values: Mapping[str, Value]
    """By the latter, the value at a time and a place."""

    def value(self, cotangent: str, time: Ix, place: tuple[Ix, ...]) -> Poly:
        return self.values[self.names[cotangent]](time, place)

    def put_in(self, time: Ix) -> Callable[[Atom], Poly | None]:
        """Return the replacement of each read of a μ, at whatever step, by its value at `time`."""
        return replacing(self.names, lambda a: self.value(a.tensor, time, a.index[1:]))


def _solved_adjoint(
    system: System, t: Var, end: Poly, cotangents: Sequence[str], finals: Sequence[Poly], steps: Sequence[Poly]
) -> _Adjoint:
    """Return the adjoint loop, solved: μ[0] = p (`finals`), and μ[r + 1] = Aᵀ·μ[r] + q (`steps`, at the step `t`)."""
    r = fresh()
    reversed_time = of_var(r).scaled(-1).shifted(end - ONE)
    names = {n: fresh_carry() for n in cotangents}
    renamed = replacing(names, lambda a: access(names[a.tensor], (of_var(r), *a.index[1:])))
    backward = Rewriter({system.step: reversed_time, t: reversed_time}, renamed)
    carries = [
        Open(names[n], c.axes, c.ranges, final, backward(step))
        for n, c, final, step in zip(cotangents, system.carries, finals, steps, strict=True)
    ]
    return _Adjoint(r, reversed_time, names, solve(System(r, carries)))


def _late(use: Use) -> bool:
    """Return whether the recurrence is read at varying times from 1 on."""
    least, _ = bounds(use.index[0], dict(use.dummies))
    return bool(use.index[0].terms) and least is not None and at_least(least - ONE) == ONE


def _at_no_time(poly: Poly, carries: Iterable[str]) -> Poly:
    """Return the term with all its reads of these carries at time 0."""
    return Rewriter(replace=replacing(carries, lambda a: access(a.tensor, (of_const(ZERO), *a.index[1:]))))(poly)


def _dummies(c: Open) -> list[tuple[Var, Poly]]:
    return [(v, n) for v, n in zip(c.axes, c.ranges, strict=True) if n != ONE]


def _split_off_first_time(poly: Poly, loop: Loop) -> Poly:
    """Return the term with time 0 apart in sums over the loop's times: Σ_{t<n} f(t) = f(0) + Σ_{t<n−1} f(t + 1)."""

    def first_apart(a: Atom) -> Poly | None:
        if loop.key not in tensors_in(a):
            return poly_of(a)
        if not isinstance(a, Sum):
            return None
        dummies, body = open_sum(a)
        body = _split_off_first_time(body, loop)
        times = {b.time.variable() for b in deep_atoms(body) if isinstance(b, Rec) and b.loop == loop}
        v, n = next(((v, n) for v, n in dummies if v in times and n.positive), (None, ZERO))
        if v is None:
            return sum_over(body, dummies)
        applied(Law.SUM_CUT)
        other_dummies = [(w, m) for w, m in dummies if w != v]
        first, later = (Rewriter({v: ix})(body) for ix in (of_const(ZERO), of_var(v).shifted(ONE)))
        return sum_over(first, other_dummies) + sum_over(later, [*other_dummies, (v, n - ONE)])

    return Rewriter(replace=first_apart)(poly)


def _early(poly: Poly, loop: Loop, ranges: Ranges) -> Poly:
    """Return the term with the loop's carries at the earliest times that can be shown: dc[t + 1] by its step."""

    def earlier(a: Atom) -> Poly | None:
        if loop.key not in tensors_in(a):
            return poly_of(a)
        if isinstance(a, Sum):
            dummies, body = open_sum(a)
            return sum_over(_early(body, loop, {**ranges, **dict(dummies)}), dummies)
        if isinstance(a, Rec):
            step_value = stepped(a, ranges) if a.loop == loop and a.time.terms else None
            return poly_of(a) if step_value is None else _early(step_value, loop, ranges)
        return None

    return Rewriter(replace=earlier)(poly)


def _end(uses: list[Use]) -> Poly:
    """Return a time N such that the recurrence is read at N itself, and at varying times before N only."""
    fixed = [u.index[0].const for u in uses if not u.index[0].terms]
    ends = []
    for u in uses:
        if u.index[0].terms:
            _, most = bounds(u.index[0], dict(u.dummies))
            if most is None:
                raise NoInvariantError("no invariant: the times at which a loop is looked at have no bound")
            ends.append(most + ONE)
    for n in sorted({*fixed, *ends}, key=lambda p: p.key):
        if all(at_least(n - m) == ONE for m in ends) and all(f == n or at_least(n - ONE - f) == ONE for f in fixed):
            return n
    raise NoInvariantError("no invariant: the times at which a loop is looked at have no common bound")


# --- linear terms --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Use:
    """Σ over the dummies of tensor[index] · rest."""

    tensor: str
    index: tuple[Ix, ...]
    rest: Poly
    dummies: tuple[tuple[Var, Poly], ...]

    def coefficient(self, place: tuple[Ix, ...], skip: int, known: Ranges) -> Poly:
        """Return the coefficient of tensor[…, place]; the first `skip` indices of the use are left alone.

        A dummy that index = place determines is substituted, with the condition that it is in range; where an axis
        determines none, the factor [index = place] stays. `known` are the ranges of the place's variables.
        """
        open_ranges = dict(self.dummies)
        rest = self.rest
        index = list(self.index[skip:])
        for k, target in enumerate(place):
            ix = index[k]
            v = next(
                (v for v in open_ranges if abs(ix.coefficient(v)) == 1 and not any(v in x.free for x in ix.atoms)), None
            )
            if v is None:
                rest = rest * index_equal(ix.minus(target), {**known, **open_ranges})
                continue
            c = ix.coefficient(v)
            value = target.minus(ix.plus(of_var(v).scaled(-c))).scaled(c)
            size = open_ranges.pop(v)
            move = Rewriter({v: value})
            rest = move(rest) * index_within(value, size, {**known, **open_ranges})
            index = [ix.subst({v: value}) for ix in index]
        return sum_over(rest, list(open_ranges.items()))


def linear_in(poly: Poly, tensors: set[str]) -> tuple[list[Use], Poly]:
    """Return (uses, rest) with poly = Σ of uses + rest, where the rest is without the tensors.

    Raises NoInvariantError where the term is not linear in them.
    """
    uses: list[Use] = []
    rest = _collect(poly, tensors, ONE, (), uses)
    if mentions(rest, tensors) or any(mentions(u.rest, tensors) for u in uses):
        raise NoInvariantError("no invariant: a loop is not linear in what it carries")
    return uses, rest


def _collect(
    poly: Poly, tensors: set[str], factor: Poly, dummies: tuple[tuple[Var, Poly], ...], uses: list[Use]
) -> Poly:
    """Append the uses of the tensors in Σ factor·poly over the dummies to `uses`, and return the rest of this sum.

    Sums in the term that have the tensors are opened. A monomial in which the tensors are not one plain factor is left
    in the rest.
    """
    rest = ZERO
    for mono, c in poly.items():
        hosts = [(a, e) for a, e in mono if mentions(poly_of(a), tensors)]
        other_factors: dict[Atom, Exponent] = {a: e for a, e in mono if (a, e) not in hosts}
        product = monomial(other_factors).scale(c) * factor
        if len(hosts) != 1 or hosts[0][1] != 1:
            rest = rest + sum_over(Poly({mono: c}) * factor, list(dummies))
            continue
        host = hosts[0][0]
        if isinstance(host, Access):
            uses.append(Use(host.tensor, host.index, product, dummies))
        elif isinstance(host, Sum):
            opened_dummies, body = open_sum(host)
            rest = rest + _collect(body, tensors, product, (*dummies, *opened_dummies), uses)
        else:
            rest = rest + sum_over(product * poly_of(host), list(dummies))
    return rest
