"""Semantics of loops: what a loop carries becomes a recurrence, at a symbolic time."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from certgrad.obligations.assume.conditions import LOOP_STEP, WHILE_EXIT, Atomic, Clause, Clauses, merge_clauses, polys
from certgrad.obligations.assume.signs import ANY_SIGN, NONNEG
from certgrad.obligations.assume.tensor import Tensor, for_all, own_index
from certgrad.obligations.decide.correspondence import MOST_STEPS
from certgrad.obligations.laws.order import boundaries_in_choices
from certgrad.obligations.laws.recurrences import Open, System, Value, fresh_carry, has_loop, solve, valued
from certgrad.obligations.terms.atoms import access, dimension
from certgrad.obligations.terms.index import Ix, of_const, of_var
from certgrad.obligations.terms.index_terms import at_least
from certgrad.obligations.terms.polynomials import ONE, ZERO, Poly, number
from certgrad.obligations.terms.power import pred
from certgrad.obligations.terms.predicates import IxPred, Pred
from certgrad.obligations.terms.rewriting import Rewriter
from certgrad.obligations.terms.variables import Var, fresh, template
from certgrad.obligations.terms.walk import deep_atoms, indices_of, mentions
from certgrad.obligations.tracing.jax_internals import (
    Program,
    ScanLoop,
    WhileLoop,
    dim_poly,
    kind_of,
    live_inputs,
    scan_loop,
    shape_polys,
    while_loop,
)
from certgrad.obligations.tracing.jax_internals._steps import counted_steps

from ._fits import unbounded
from ._infinite import finite
from ._interpreter import interpret
from ._registry import Context, UnprovedError, control
from ._specified import one_after_another


@control("scan")
def _scan(ctx: Context, eqn: Any, use: list[bool], inputs: list[Tensor | None]) -> list[Tensor | None]:
    loop = scan_loop(eqn)
    length = dim_poly(loop.length)
    carried = range(loop.consts, loop.consts + loop.carries)
    inputs = [x if x is None or k in carried else finite(x) for k, x in enumerate(inputs)]
    if length.is_zero:
        return _no_step(eqn, loop, use, inputs)
    if length == ONE:
        return _one_step(ctx, loop, use, inputs)
    if any(x is not None and x.infinite for x in inputs):
        return _after_the_first(ctx, loop, length, use, inputs)
    try:
        return _by_induction(ctx, loop, length, use, inputs)
    except UnprovedError:
        few = length.constant()
        if few is None or few > MOST_STEPS or any(use[loop.carries :]):
            raise
    return _written_out(ctx, loop, int(few), use, inputs)


def _written_out(
    ctx: Context, loop: ScanLoop, length: int, use: list[bool], inputs: list[Tensor | None]
) -> list[Tensor | None]:
    """Return the carries of a loop of a fixed number of steps, one step after another.

    A step that cannot be followed at a generic place may be one that can at each: a loop inside it may have as many
    steps as the place says, which is then a number.
    """
    live = loop.live_outputs(use)
    carried = inputs[loop.consts : loop.consts + loop.carries]
    consts, rows = inputs[: loop.consts], inputs[loop.consts + loop.carries :]
    for step in reversed(range(length)) if loop.reverse else range(length):
        place = of_const(number(step))
        known = interpret(ctx, loop.body, [*consts, *carried, *(x and _row(x, place) for x in rows)], live)
        carried = known[: loop.carries]
    return [
        *(x if wanted else None for x, wanted in zip(carried, use, strict=False)),
        *[None] * (len(use) - loop.carries),
    ]


def _by_induction(
    ctx: Context, loop: ScanLoop, length: Poly, use: list[bool], inputs: list[Tensor | None]
) -> list[Tensor | None]:
    """Return the carries and rows of a scan at a symbolic time."""
    s = fresh()
    ctx.ranges[s] = length
    place = of_var(s).scaled(-1).shifted(length - ONE) if loop.reverse else of_var(s)
    consts, rows = inputs[: loop.consts], inputs[loop.consts + loop.carries :]
    initial = inputs[loop.consts : loop.consts + loop.carries]
    body = _Body(ctx, s, loop.body, initial)
    fixed = [*consts, *body.carries, *(x and _row(x, place) for x in rows)]
    outs = body.run(fixed, loop.live_outputs(use))
    results: list[Tensor | None] = []
    for k, (out, wanted) in enumerate(zip(outs, use, strict=True)):
        if not wanted:
            results.append(None)
        elif k < loop.carries:
            results.append(body.carry(k, of_const(length)))
        else:
            assert out is not None
            results.append(body.stacked(out, length, loop.reverse))
    return results


def _after_the_first(
    ctx: Context, loop: ScanLoop, length: Poly, use: list[bool], inputs: list[Tensor | None]
) -> list[Tensor | None]:
    """Return a loop's results with its first step done apart, after which a maximum that starts at −∞ is a number."""
    if not length.positive:
        raise UnprovedError("a loop that starts at an infinity, and may have no step")
    many, rest = loop.consts + loop.carries, length - ONE
    own = [x and _row(x, of_const(rest if loop.reverse else ZERO)) for x in inputs[many:]]
    first = interpret(ctx, loop.body, [*inputs[:many], *own], loop.live_outputs(use))
    others = [x and _rows(x, ZERO if loop.reverse else ONE, rest) for x in inputs[many:]]
    left = [*inputs[: loop.consts], *first[: loop.carries], *others]
    outs = _one_step(ctx, loop, use, left) if rest == ONE else _by_induction(ctx, loop, rest, use, left)
    stacked: list[Tensor | None] = []
    for x, more in zip(first[loop.carries :], outs[loop.carries :], strict=True):
        if x is None or more is None:
            stacked.append(None)
            continue
        parts = [_as_row(x), more]
        stacked.append(one_after_another(ctx, parts[::-1] if loop.reverse else parts, (length, *x.shape)))
    return [*outs[: loop.carries], *stacked]


def _no_step(eqn: Any, loop: ScanLoop, use: list[bool], inputs: list[Tensor | None]) -> list[Tensor | None]:
    """Return the start of a scan without steps, and no rows."""
    start = inputs[loop.consts : loop.consts + loop.carries]
    carried = [x and finite(x) if wanted else None for x, wanted in zip(start, use, strict=False)]
    rows = zip(eqn.outvars[loop.carries :], use[loop.carries :], strict=True)
    return [*carried, *(_no_rows(v.aval) if wanted else None for v, wanted in rows)]


def _no_rows(aval: Any) -> Tensor:
    kind = kind_of(aval.dtype)
    if kind not in "fib":
        raise UnprovedError(f"rows of dtype {aval.dtype}")
    return Tensor(shape_polys(aval), ZERO, kind)  # type: ignore[arg-type]


def _one_step(ctx: Context, loop: ScanLoop, use: list[bool], inputs: list[Tensor | None]) -> list[Tensor | None]:
    """A scan of one step is its body."""
    first = loop.consts + loop.carries
    rows = [x and _row(x, of_const(ZERO)) for x in inputs[first:]]
    outs = interpret(ctx, loop.body, [*inputs[:first], *rows], use)
    return [*outs[: loop.carries], *(x and _as_row(x) for x in outs[loop.carries :])]


def _row(x: Tensor, place: Ix) -> Tensor:
    """The slice at a place along the first axis."""
    shape = x.shape[1:]
    return x.indexed([place, *own_index(shape)], shape)


def _rows(x: Tensor, first: Poly, count: Poly) -> Tensor:
    """`count` slices along the first axis, beginning at `first`."""
    shape = (count, *x.shape[1:])
    index = own_index(shape)
    return x.indexed([index[0].shifted(first), *index[1:]], shape)


def _as_row(x: Tensor) -> Tensor:
    """The tensor as the one slice along a new first axis."""
    return x.indexed([_shifted(ix) for ix in own_index(x.shape)], (ONE, *x.shape))


class _Body:
    """One step of a loop, interpreted at a generic time s with arbitrary carries."""

    def __init__(
        self, ctx: Context, s: Var, program: Program, initial: Sequence[Tensor | None], step: Var | None = None
    ) -> None:
        self.ctx, self.s, self.program, self.initial = ctx, s, program, initial
        self.step = step
        """What numbers the steps in conditions; where it is None, they are asked at every number."""
        self.names = [fresh_carry() for _ in initial]
        self.carries = [x and self._symbol(name, x) for name, x in zip(self.names, initial, strict=True)]
        self.values: dict[str, Value] = {}
        self.steps: list[Tensor | None] = []
        self.conditions: tuple[Clauses, Clauses] = ((), ())

    def _symbol(self, name: str, x: Tensor) -> Tensor:
        if x.infinite:
            raise UnprovedError("a loop that starts at an infinity")
        entry = access(name, (of_var(self.s), *own_index(x.shape)))
        return Tensor(
            x.shape, pred(entry) if x.kind == "b" else entry, x.kind, signs=NONNEG if x.kind == "b" else ANY_SIGN
        )

    def run(self, inputs: Sequence[Tensor | None], needed: Sequence[bool]) -> list[Tensor | None]:
        """Interpret one step of the loop and solve for its carries; `needed` says which outputs are used.

        Sets `conditions` to those of all steps. An integer carry that is not solved by counting has to stay in its
        dtype's range. Raises UnprovedError where a carry may be infinite, or an index rests on a carry.
        """
        inputs = self._with_counters(inputs, needed)
        outs = interpret(self.ctx, self.program, inputs, needed)
        self.steps = outs[: len(self.names)]
        carries = []
        for name, start, step in zip(self.names, self.initial, self.steps, strict=True):
            if step is not None:
                assert start is not None
                if step.infinite:
                    raise UnprovedError("a loop that carries an infinity")
                axes = tuple(template(k) for k in range(start.rank))
                carries.append(Open(name, axes, start.shape, start.body, step.body))
        self.values = solve(System(self.s, carries))
        for name, x, start in zip(self.names, self.carries, self.initial, strict=True):
            if name in self.values and x and start and x.kind == "i" and any(x is y for y in inputs):
                # An integer that goes on from its own value in another way than by counting.
                unbounded(self.ctx, "a loop", self.values[name](of_var(self.s), own_index(start.shape)))
        started = [start for start, step in zip(self.initial, self.steps, strict=True) if step is not None]
        live = [x for x in (*self.steps, *started) if x is not None]
        self.conditions = (
            merge_clauses(*(self._everywhere(x.defined) for x in live)),
            merge_clauses(*(self._everywhere(x.smooth) for x in live)),
        )
        for x in (x for x in (*outs, *started) if x is not None):
            _indices_are_fixed(x, self.names)
        return outs

    def counted(self, inputs: Sequence[Tensor | None]) -> list[Tensor | None]:
        """The inputs, with integer carries that only count as terms in s."""
        return self._with_counters(inputs, [True] * len(self.program.jaxpr.outvars))

    def _with_counters(self, inputs: Sequence[Tensor | None], needed: Sequence[bool]) -> list[Tensor | None]:
        """Return the inputs, with each needed integer carry that is a counter replaced by its value as a term in s.

        The step number s is a variable, so that such a carry may stand in an index. A counter's step reads no other
        carry.
        """
        out = list(inputs)
        for name, x, start in zip(self.names, self.carries, self.initial, strict=True):
            k = self.names.index(name)
            if x is None or start is None or x.kind != "i" or not needed[k]:
                continue
            at = next(j for j, y in enumerate(out) if y is x)
            try:
                step = interpret(self.ctx, self.program, out, [j == k for j in range(len(needed))])[k]
            except UnprovedError:
                continue
            assert step is not None
            if any(mentions(step.body, [other]) for other in self.names if other != name):
                continue
            axes = tuple(template(j) for j in range(x.rank))
            one = System(self.s, [Open(name, axes, x.shape, start.body, step.body)])
            value = solve(one)[name](of_var(self.s), own_index(x.shape))
            if not has_loop(value):
                out[at] = replace(x, body=value, signs=self.ctx.facts.signs(value))
        return out

    def value(self, poly: Poly) -> Poly:
        """A term with the carries' symbols replaced by their values."""
        return Rewriter(replace=valued(self.values))(poly)

    def _everywhere(self, clauses: Clauses) -> Clauses:
        """The conditions at every step and every index."""
        return tuple(self._closed(c.rewritten(self.value)) for c in clauses)

    def _closed(self, clause: Clause) -> Clause:
        """The clause for all values of its variables: they get names of their own."""
        if self.step is not None:
            clause = clause.substituted({self.s: of_var(self.step)})
        return for_all((clause,), [(v, self._extent(v)) for v in sorted(clause.free - {self.step})])[0]

    def _extent(self, v: Var) -> Poly | None:
        """The range of the variable that numbers the steps, if it is known."""
        return self.ctx.ranges.get(v) if v == self.s else None

    def carry(self, k: int, time: Ix) -> Tensor:
        """A carry at a time, over the template variables."""
        start = self.initial[k]
        assert start is not None
        return self._tensor(start, start.shape, self.values[self.names[k]](time, own_index(start.shape)))

    def exit_of(self, goes_on: Tensor) -> tuple[Poly, Clauses, Clauses]:
        """The first time at which the test fails, where it is locally constant, and where the test is defined."""
        test = self.value(goes_on.body)
        at_time = Rewriter({self.s: of_var(("c", 0, 0))})(test)
        if at_time.free - {("c", 0, 0)}:
            raise UnprovedError("while: a test inside another loop")
        if mentions(test, self.ctx.opaque):  # nothing says where it jumps
            raise UnprovedError("while: a test of what is not followed")
        compared = [a.poly for a in deep_atoms(test) if isinstance(a, Pred)] + boundaries_in_choices(test)
        boundaries = [Clause((Atomic("!= 0", p),), origin=WHILE_EXIT) for p in compared]
        if any(v[0] == "b" for c in boundaries for v in c.free):
            raise UnprovedError("while: a test with a predicate under a sum")
        assert self.step is not None
        self.ctx.tests[self.step] = Rewriter({self.s: of_var(self.step)})(test)
        smooth = (*self._everywhere(goes_on.smooth), *(self._closed(c) for c in boundaries))
        digest = hashlib.blake2b(at_time.key.encode(), digest_size=8).hexdigest()
        return dimension(f"steps {digest}", positive=False), smooth, self._everywhere(goes_on.defined)

    def _tensor(self, like: Tensor, shape: tuple[Poly, ...], body: Poly) -> Tensor:
        if like.kind == "b":
            body = pred(body)  # a boolean carry is a number that is 0 or 1
        return Tensor(shape, body, like.kind, *self.conditions, NONNEG if like.kind == "b" else ANY_SIGN)

    def stacked(self, out: Tensor, length: Poly, reverse: bool) -> Tensor:
        """Return the outputs of every step, stacked along a new first axis."""
        first = of_var(template(0))
        time = first.scaled(-1).shifted(length - ONE) if reverse else first
        moved = {template(k): _shifted(ix) for k, ix in enumerate(own_index(out.shape))}
        shape = (length, *out.shape)
        for name, step in zip(self.names, self.steps, strict=True):
            if step is not None and step.kind == out.kind and step.shape == out.shape and step.body == out.body:
                index = tuple(ix.subst(moved) for ix in own_index(out.shape))
                return self._tensor(step, shape, self.values[name](time.shifted(ONE), index))
        place = {**moved, self.s: time}
        body = Rewriter(place)(self.value(out.body))
        # Beyond what the carries need at every step, a row needs what it needs at its own step.
        defined, smooth = (
            merge_clauses(carried, (c.rewritten(self.value).substituted(place) for c in own))
            for carried, own in zip(self.conditions, (out.defined, out.smooth), strict=True)
        )
        return Tensor(shape, body, out.kind, defined, smooth, out.signs)


def _shifted(ix: Ix) -> Ix:
    """The variable of the next axis; size-1 axes have none."""
    v = ix.variable()
    return ix if v is None else of_var(template(v[1] + 1))


def _indices_are_fixed(x: Tensor, names: Sequence[str]) -> None:
    """Raise UnprovedError if an index depends on a carry, as it would not follow the carry's value."""
    for poly in (x.body, *(p for c in (*x.defined, *x.smooth) for p in polys(c))):
        for ix in indices_of(poly):
            if any(name in ix.key for name in names):
                raise UnprovedError("an index that depends on what a loop carries")


@control("while")
def _while(ctx: Context, eqn: Any, use: list[bool], inputs: list[Tensor | None]) -> list[Tensor | None]:
    """Return the carries at the end: after a known number of steps, or at the first time at which the test fails.

    That time is an opaque number, the same for equal tests of equal carries. It is locally constant where no predicate
    of the test is on its boundary at any step, but for those of terms that are locally constant themselves (`_prove`).
    """
    loop = while_loop(eqn)
    s = fresh()
    tested, consts = inputs[: loop.test_consts], inputs[loop.test_consts : loop.test_consts + loop.body_consts]
    initial = inputs[loop.test_consts + loop.body_consts :]
    counted = counted_steps(loop, [_integer(x) for x in inputs])
    if counted == 0:
        return [x if wanted else None for x, wanted in zip(initial, use, strict=True)]
    body = _Body(ctx, s, loop.body, initial)
    if counted is not None:
        try:
            ctx.ranges[s] = number(counted)
            body.run([*consts, *body.carries], loop.live_outputs(use))
            return [body.carry(k, of_const(number(counted))) if wanted else None for k, wanted in enumerate(use)]
        except UnprovedError:
            if counted > MOST_STEPS:
                raise
        return _stepped(ctx, loop, counted, use, consts, initial)
    at_s = body.counted([*consts, *body.carries])
    (goes_on,) = interpret(ctx, loop.test, [*tested, *at_s[loop.body_consts :]], [True])
    assert goes_on is not None
    steps = _count(goes_on, s)
    # The test reads carries that the needed outputs may not; they have to be defined as well.
    read = live_inputs(loop.test.jaxpr, [True])[loop.test_consts :]
    live = loop.live_outputs([u or r for u, r in zip(use, read, strict=True)])
    if steps is not None:
        ctx.ranges[s] = steps
        body.run([*consts, *body.carries], live)
        return [body.carry(k, of_const(steps)) if wanted else None for k, wanted in enumerate(use)]
    body.step = fresh(LOOP_STEP)
    body.run([*consts, *body.carries], live)
    exit_time, smooth, defined = body.exit_of(goes_on)
    ctx.note("each while loop ends")
    out: list[Tensor | None] = []
    for k, wanted in enumerate(use):
        x = body.carry(k, of_const(exit_time)) if wanted else None
        out.append(x and replace(x, defined=merge_clauses(x.defined, defined), smooth=merge_clauses(x.smooth, smooth)))
    return out


def _stepped(
    ctx: Context,
    loop: WhileLoop,
    steps: int,
    use: list[bool],
    consts: Sequence[Tensor | None],
    carried: Sequence[Tensor | None],
) -> list[Tensor | None]:
    """Return the carries of a loop of a known number of steps, one step after another."""
    live = loop.live_outputs(use)
    for _ in range(steps):
        carried = interpret(ctx, loop.body, [*consts, *carried], live)
    return [x if wanted else None for x, wanted in zip(carried, use, strict=True)]


def _integer(x: Tensor | None) -> int | None:
    """The value of an integer or a boolean that is a number, wherever it stands."""
    value = None if x is None or x.rank or x.kind not in "ib" or x.defined else x.body.constant()
    return None if value is None or value.q != 1 else int(value)


def _count(goes_on: Tensor, s: Var) -> Poly | None:
    """The number T of steps of a loop that goes on exactly while s < T, where that is a size."""
    ended = (ONE - goes_on.body).atom()
    if goes_on.defined or not isinstance(ended, IxPred) or ended.ix.terms != ((s, 1),):
        return None
    count = -ended.ix.const
    return count if at_least(count) == ONE else None
