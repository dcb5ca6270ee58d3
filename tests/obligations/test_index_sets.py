"""What is said to vanish does, at every small size; and enough is said to vanish."""

from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from certgrad.obligations._cases import Region, nonzero_part
from certgrad.obligations._facts import Facts
from certgrad.obligations._index_sets import vanishes
from tests.obligations.index_strategy import FREE_RANGES, SHAPES, Summed, Values, all_points, changed, sums

quick = settings(max_examples=300, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))


def differs(terms: list[Summed]) -> bool:
    """The terms do not add up to 0 at some small sizes, indices and entries."""
    for sizes in SHAPES:
        for seed in range(2):
            values = Values(seed)
            if any(sum((t.at(free, sizes, values) for t in terms), 0) != 0 for free in all_points(sizes)):
                return True
    return False


@quick
@given(sums(), st.integers(0, 10**6))
def test_what_vanishes_is_zero(term, seed):
    other = changed(term, Random(seed))
    terms = [term, Summed(-other.coefficient, other.dummies, other.factors)]
    poly = terms[0].poly() + terms[1].poly()
    if vanishes(poly, FREE_RANGES, (), lambda entry: []):
        assert not differs(terms), (poly, terms)


@quick
@given(sums(), st.integers(0, 10**6))
def test_what_the_case_split_shows_is_zero(term, seed):
    other = changed(term, Random(seed))
    terms = [term, Summed(-other.coefficient, other.dummies, other.factors)]
    poly = terms[0].poly() + terms[1].poly()
    if nonzero_part(poly, Region(Facts()).over(FREE_RANGES)) is None:
        assert not differs(terms), (poly, terms)
