"""Sums over roots of unity: the law against numbers, what it does not speak of, and rules that need it."""

from __future__ import annotations

from itertools import product

import jax
import jax.numpy as jnp
import pytest
from flint import fmpq

from certgrad.obligations.decide.evaluate import evaluate
from certgrad.obligations.laws.roots_of_unity import carried_out
from certgrad.obligations.terms.atoms import Num, Sum, access, dimension
from certgrad.obligations.terms.index import of_var
from certgrad.obligations.terms.index_terms import index_number
from certgrad.obligations.terms.polynomials import Poly, number, poly_of
from certgrad.obligations.terms.power import fn, power
from certgrad.obligations.terms.session import clear_caches, intern
from certgrad.obligations.terms.sums import sum_over
from certgrad.obligations.terms.variables import fresh
from certgrad.obligations.terms.walk import deep_atoms


@pytest.fixture(autouse=True)
def _anew():
    clear_caches()


def turns(share: Poly, n: Poly) -> Poly:
    """2π·share/n."""
    return poly_of(intern(Num("pi"))).scale(2) * share * power(n, -1)


@pytest.mark.parametrize("first", ["cos", "sin"])
@pytest.mark.parametrize("second", ["cos", "sin"])
def test_products_of_two_waves(first: str, second: str) -> None:
    """Σ_k f(2πki/n)·g(2πkj/n + φ), carried out and as it stands, at every i and j of some sizes."""
    n, i, j, k, phase = dimension("n"), ("u", 0, 0), ("u", 1, 0), fresh(), access("φ", ())
    at = {v: turns(index_number(of_var(k)) * index_number(of_var(v)), n) for v in (i, j)}
    wave = sum_over(fn(first, at[i]) * fn(second, at[j] + phase), [(k, n)])
    found = carried_out(wave, {i: n, j: n})
    assert not any(isinstance(a, Sum) for a in deep_atoms(found))
    for size in (1, 2, 3, 4, 6):
        for a, b in product(range(size), repeat=2):
            sides = [evaluate(p, {"n": size}, lambda name, index: fmpq(3, 10), {i: a, j: b}) for p in (wave, found)]
            assert abs(float(sides[0]) - float(sides[1])) < 1e-12


def test_a_number_that_need_not_be_whole_is_left_alone() -> None:
    """Σ_k cos(2πk·x/n) is no multiple of n: entries of arrays are any numbers."""
    n, k = dimension("n"), fresh()
    for share in (access("x", ()), number(1).scale(1) * power(number(2), -1)):
        wave = sum_over(fn("cos", turns(index_number(of_var(k)) * share, n)), [(k, n)])
        assert carried_out(wave, {}) == wave


def test_another_range_is_left_alone() -> None:
    """Σ_{k<m} cos(2πkj/n) for m ≠ n."""
    n, m, j, k = dimension("n"), dimension("m"), ("u", 0, 0), fresh()
    wave = sum_over(fn("cos", turns(index_number(of_var(k)) * index_number(of_var(j)), n)), [(k, m)])
    assert carried_out(wave, {j: n}) == wave


def test_a_whole_number_of_unknown_size_is_left_alone() -> None:
    """Whether n divides j is not known where j may be as large as another dimension."""
    n, m, j, k = dimension("n"), dimension("m"), ("u", 0, 0), fresh()
    wave = sum_over(fn("cos", turns(index_number(of_var(k)) * index_number(of_var(j)), n)), [(k, n)])
    assert carried_out(wave, {j: m}) == wave


def rule(f, bwd):
    made = jax.custom_vjp(f)
    made.defvjp(lambda *x: (f(*x), x), bwd)
    return made


def energy(x):
    w = jnp.fft.fft(x)
    return jnp.sum(w.real**2 + w.imag**2)


def convolved(x, h):
    return jnp.fft.ifft(jnp.fft.fft(x) * jnp.fft.fft(h)).real


def filtered(g, h, conjugate=True):
    w = jnp.fft.fft(h)
    return jnp.fft.ifft(jnp.fft.fft(g) * (w.conj() if conjugate else w)).real


PAIRS = {
    "there and back": (
        "n -> n",
        rule(lambda x: jnp.fft.ifft(jnp.fft.fft(x)).real, lambda r, g: (g,)),
        rule(lambda x: jnp.fft.fft(jnp.fft.fft(x)).real / x.shape[0], lambda r, g: (g,)),
    ),
    "Parseval": (
        "n -> ",
        rule(energy, lambda r, g: (2 * g * r[0].shape[0] * r[0],)),
        rule(lambda x: jnp.sum(jnp.fft.fft(x).real ** 2), lambda r, g: (g * r[0].shape[0] * r[0],)),
    ),
    "circular convolution": (
        "n, n -> n",
        rule(convolved, lambda r, g: (filtered(g, r[1]), filtered(g, r[0]))),
        rule(convolved, lambda r, g: (filtered(g, r[1], conjugate=False), filtered(g, r[0]))),
    ),
}
"""Rows of the corpus."""
