"""What follows from the laws is equal in the model, at every point; what is one term off is not."""

from random import Random

import pytest

from certgrad.exact._model import Model
from certgrad.exact._number import NoRootError, OpenError
from certgrad.exact._primes import P
from certgrad.language.arithmetic import UndefinedError
from certgrad.specification.evaluate import deep
from tests.exact.identities import LAWS, Identities, Pair

NUMBER = 500
WIDTH = 40


def _drawn(k: int, depth: int | None = None) -> tuple[Identities, Pair]:
    """The k-th identity, at a point at which the field has all roots."""
    for attempt in range(200):
        model = Model()
        model.begin(f"identity {k} {attempt}", WIDTH)
        rng = Random(k)
        identities = Identities(model, rng)
        try:
            return identities, identities.pair(rng.randint(1, 3) if depth is None else depth)
        except NoRootError:
            continue
        except (OpenError, UndefinedError):
            k += NUMBER  # beyond what balls hold, or the logarithm of a difference that is 0: another one
    raise AssertionError("no point")


def _gap(pair: Pair) -> int:
    left, right = pair
    gap = left - right
    return gap if isinstance(gap, int) else gap.a % P


@pytest.mark.one_in(10)
@pytest.mark.parametrize("k", range(NUMBER))
def test_an_identity_holds(k: int) -> None:
    with deep():
        _, pair = _drawn(k)
        assert _gap(pair) == 0


@pytest.mark.one_in(10)
@pytest.mark.parametrize("k", range(NUMBER))
def test_one_term_more_is_seen(k: int) -> None:
    with deep():
        identities, (left, right) = _drawn(k)
        term = identities.variables[k % 4] * identities.variables[k // 4 % 4] if k % 3 else 1
        assert _gap((left, right + term)) != 0


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__.strip("_"))
def test_each_law(law: object) -> None:
    with deep():
        for k in range(3):
            identities, _ = _drawn(k, 0)
            try:
                assert _gap(law(identities, 1)) == 0  # type: ignore[operator]
            except NoRootError:
                continue
