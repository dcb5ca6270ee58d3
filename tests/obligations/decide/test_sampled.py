"""Points at which a term is not 0: of what is shown to be 0 there are none, of what plainly is not there are some."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from certgrad.obligations.assume.conditions import Atomic, Clause
from certgrad.obligations.assume.fact import Fact
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.index_cases import Indices
from certgrad.obligations.assume.signs import POS
from certgrad.obligations.decide.cases import Region, nonzero_part
from certgrad.obligations.decide.sampled import differs
from certgrad.obligations.terms.atoms import access, dimension
from certgrad.obligations.terms.budget import BudgetError, limited
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.index_terms import index_equal
from certgrad.obligations.terms.polynomials import ONE
from certgrad.obligations.terms.power import fn, power, pred
from certgrad.obligations.terms.session import clear_caches
from certgrad.obligations.terms.sums import sum_over
from certgrad.obligations.terms.variables import fresh
from tests.obligations.terms_strategy import RANGES, Pair, pairs

N = dimension("n")


def x(v):
    return access("x", (of_var(v),))


@settings(max_examples=75, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(pairs(), pairs(size=4))
def test_what_is_shown_to_vanish_does_at_every_point(p: Pair, q: Pair) -> None:
    everywhere = Region(Facts(), indices=Indices(ranges={v: dimension(n) for v, n in RANGES.items()}))
    for poly in (p.poly - q.poly, power(p.poly + q.poly, 2) - p.poly * p.poly - q.poly * q.poly - p.poly * q.poly):
        try:
            with limited(20_000):
                zero = nonzero_part(poly, everywhere) is None
        except (BudgetError, ArithmeticError):
            continue
        assert not (zero and differs(poly, everywhere)), poly


def test_what_differs():
    clear_caches()
    i, j = fresh(), fresh()
    everywhere = Region(Facts(), indices=Indices(ranges={i: N}))
    total = sum_over(x(j), [(j, N)])
    assert differs(x(i) - total, everywhere)
    assert differs(fn("sin", x(i)) - x(i), everywhere)
    assert not differs(power(ONE + x(i), -1) * (ONE + x(i)) - ONE, everywhere)


def test_where_conditions_hold_alone():
    clear_caches()
    i, j = fresh(), fresh()
    same = index_equal(of_var(i).minus(of_var(j)))
    everywhere = Region(Facts(), indices=Indices(ranges={i: N, j: N}))
    assert differs(same - ONE, everywhere)
    assert not differs(same - ONE, Region(Facts(), indices=Indices({i: N, j: N}, ((of_var(i).minus(of_var(j)), "="),))))


def test_what_is_assumed_holds_at_the_point():
    clear_caches()
    y, i = access("y", ()), fresh()
    assert differs(y - ONE, Region(Facts()))
    assert differs(y - ONE, Region(Facts([Fact(y, POS, universal=False)])))
    step = pred(ONE - x(i))
    below = Clause((Atomic("> 0", ONE - x(i)),))
    assert differs(step - ONE, Region(Facts(), indices=Indices(ranges={i: N})))
    assert not differs(step - ONE, Region(Facts(), (below,), Indices(ranges={i: N})))
    assert not differs(step - ONE, Region(Facts([Fact(ONE - x(i), POS)]), indices=Indices(ranges={i: N})))
    assert not differs(y - ONE, Region(Facts(), (Clause((Atomic("= 0", y - ONE),)),)))
    assert not differs(x(fresh()) - ONE, Region(Facts())), "an index without a range"
