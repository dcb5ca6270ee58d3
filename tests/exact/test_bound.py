"""Relations between exponents, and the bound on the error."""

from random import Random

from certgrad.exact._bound import bound, rank, related
from certgrad.exact._model import Model
from certgrad.exact._primes import Q


def _vectors(width: int) -> list[tuple[int, ...]]:
    rng = Random(1)
    a, b = ([rng.randrange(Q) for _ in range(width)] for _ in range(2))
    half = pow(2, -1, Q)
    third = [(3 * x * half - 2 * y) % Q for x, y in zip(a, b, strict=True)]
    return [tuple(a), tuple(b), tuple(third)]


def test_relations_are_found() -> None:
    found = related(_vectors(4))
    assert found.rank == rank(_vectors(4)) == 2
    assert found.height == 7  # 2·c = 3·a − 4·b


def test_too_few_values_say_nothing() -> None:
    assert rank(_vectors(2)) == 2  # of two values each, any two are all there can be


def test_independent_ones_have_no_relation() -> None:
    rng = Random(2)
    found = related([tuple(rng.randrange(Q) for _ in range(5)) for _ in range(4)])
    assert found.rank == 4
    assert found.height == 1


def test_a_relation_by_large_numbers_gives_no_bound() -> None:
    a, _, _ = _vectors(4)
    large = tuple(2**60 * x % Q for x in a)
    assert related([a, large]).height is None


def test_the_bound_grows_with_degree_and_attempts() -> None:
    model = Model()
    model.begin("bound", 2)
    small, larger = bound(model, 4, 1, 1), bound(model, 400, 1, 1)
    assert small is not None
    assert larger is not None
    assert small < larger < -80
    tried = bound(model, 4, 1, 400)
    assert tried is not None
    assert small < tried


def test_exponents_beyond_the_width_give_no_bound() -> None:
    from flint import arb, fmpq

    from certgrad.specification.evaluate import deep

    model = Model()
    model.begin("wide", 2)
    with deep():
        for k in range(3):
            model.exp(model.drawn(("x", k), arb(fmpq(1, 3 + k))))
    assert bound(model, 4, 1, 1) is None
