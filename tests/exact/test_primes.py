"""The moduli are what they are said to be."""

import pytest
from sympy import isprime

from certgrad.exact import _primes as m


def test_they_are_primes() -> None:
    assert all(map(isprime, (m.P, m.OF_EXP, m.OF_CIRCLE)))
    assert [n % 8 for n in (m.P, m.OF_EXP, m.OF_CIRCLE)] == [7, 7, 7]


def test_the_subgroups() -> None:
    assert pow(m.G, m.OF_EXP, m.P) == 1 != m.G
    assert m.turned_by(m.TURN, m.OF_CIRCLE) == (1, 0) != m.TURN
    c, s = m.TURN
    assert (c * c + s * s) % m.P == 1


@pytest.mark.parametrize("prime", m.SQUARES)
def test_small_primes_have_roots(prime: int) -> None:
    assert m.is_square(prime)
    root = m.root_of_exponent(prime)
    assert root is not None
    assert root * root % m.Q == prime


def test_odd_roots_are_unique() -> None:
    for k in m.ODD_ROOTS:
        root = m.power(12345, pow(k, -1, m.P - 1))
        assert pow(root, k, m.P) == 12345


def test_inverses() -> None:
    assert m.inverse(7) * 7 % m.P == 1
    assert m.inverse_exponent(7) * 7 % m.Q == 1
