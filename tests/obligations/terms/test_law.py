"""Every law by its statement: both sides at drawn instances that satisfy its condition.

The instances are numbers and arrays of numpy: a law is compared with what it says, and not with how the calculus
applies it; tests of the laws themselves mirror the modules that apply them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise, permutations

import numpy as np
import pytest
import scipy.special as sp

import certgrad
from certgrad.obligations.terms.law import Law, applied, applied_laws
from certgrad.obligations.terms.session import clear_caches
from certgrad.report.pages.laws import applied_in

Draw = np.random.Generator
Sides = Iterator[tuple[object, object]]
INSTANCES: dict[Law, Callable[[Draw], Sides]] = {}


def of(law: Law) -> Callable[[Callable[[Draw], Sides]], Callable[[Draw], Sides]]:
    """The instances of a law: pairs of what its two sides are."""

    def add(function: Callable[[Draw], Sides]) -> Callable[[Draw], Sides]:
        assert law not in INSTANCES
        INSTANCES[law] = function
        return function

    return add


@pytest.mark.parametrize("law", Law, ids=lambda law: law.name)
def test_both_sides_are_equal(law: Law) -> None:
    seen = 0
    for seed in range(8):
        for left, right in INSTANCES[law](np.random.default_rng(seed)):
            np.testing.assert_allclose(left, right, rtol=1e-7, atol=1e-9)
            seen += 1
    assert seen >= 8


def test_each_law_is_noted_where_it_is_applied() -> None:
    assert [law.name for law, modules in applied_in().items() if not modules] == []


def test_titles_tell_laws_apart() -> None:
    assert len({law.title for law in Law}) == len(Law)
    assert not any(law.title.startswith("semantics of") for law in Law)


def test_a_session_remembers_what_was_applied() -> None:
    clear_caches()
    applied(Law.EXP_OF_SUM)
    applied(Law.PAIRED)
    applied(Law.EXP_OF_SUM)
    assert applied_laws() == [Law.EXP_OF_SUM, Law.PAIRED]
    clear_caches()
    assert applied_laws() == []


def test_a_certificate_lists_what_its_proof_applied() -> None:
    used = certgrad.audit_op("softmax").rules_used
    assert "law: exp of a sum" in used
    assert "law: derivative of a Cholesky factor" not in used
    assert "law: derivative of a Cholesky factor" in certgrad.audit_op("cholesky").rules_used


# --- powers, exponentials, logarithms -------------------------------------------------------------------------------


def positive(draw: Draw, *shape: int) -> np.ndarray:
    return np.exp(draw.normal(size=shape))


@of(Law.POWER_OF_PRODUCT)
def _(draw: Draw) -> Sides:
    a, b = draw.normal(size=2)
    e = int(draw.integers(-3, 4))
    yield (a * b) ** e, a**e * b**e
    a, b, r = positive(draw), positive(draw), draw.normal()
    yield (a * b) ** r, a**r * b**r


@of(Law.POWER_OF_EVEN_POWER)
def _(draw: Draw) -> Sides:
    a = draw.normal()
    for k in (2, 4, 6):
        for whole in (-3, -1, 1, 2, 3):
            yield (a**k) ** (whole / k), abs(a) ** whole


@of(Law.POWER_OF_POWER)
def _(draw: Draw) -> Sides:
    a, k, e = positive(draw), draw.normal(), draw.normal()
    yield (a**k) ** e, a ** (k * e)
    yield (a**3) ** (1 / 2), a ** (3 / 2)


@of(Law.EXP_OF_SUM)
def _(draw: Draw) -> Sides:
    a, b, c = draw.normal(size=3)
    yield np.exp(a + c * b), np.exp(a) * np.exp(b) ** c


@of(Law.EXP_OF_LOG)
def _(draw: Draw) -> Sides:
    p, c = positive(draw), draw.normal()
    yield np.exp(c * np.log(p)), p**c


@of(Law.EXP_OF_LAMBERTW)
def _(draw: Draw) -> Sides:
    for p in (positive(draw), -0.3 * draw.uniform(0.1, 1)):
        yield np.exp(sp.lambertw(p).real), p / sp.lambertw(p).real


@of(Law.LOG_OF_PRODUCT)
def _(draw: Draw) -> Sides:
    a, b, k = positive(draw), positive(draw), draw.normal()
    yield np.log(a**k * b), k * np.log(a) + np.log(b)


@of(Law.LOG_OF_POWER)
def _(draw: Draw) -> Sides:
    a = positive(draw)
    for k in (-3, -1, 3, 5):
        yield np.log(a**k), k * np.log(a)


@of(Law.LOG_OF_TURNED)
def _(draw: Draw) -> Sides:
    p = draw.normal(size=5)
    for condition in (p > 0, p < 0, np.arange(5) % 2 == 0):
        yield np.log(1 + np.exp((1 - 2 * condition) * p)), np.log(1 + np.exp(p)) - condition * p
    p[0] = 0
    yield np.log(1 + np.exp(-abs(p))), np.log(1 + np.exp(p)) - (p > 0) * p


@of(Law.SIN_SQUARED)
def _(draw: Draw) -> Sides:
    p = draw.normal(scale=5)
    yield np.sin(p) ** 2, 1 - np.cos(p) ** 2


@of(Law.CUBE_OF_CBRT)
def _(draw: Draw) -> Sides:
    p = draw.normal(scale=5)
    yield np.cbrt(p) ** 3, p


@of(Law.PARITY)
def _(draw: Draw) -> Sides:
    p = draw.uniform(-0.9, 0.9)
    for odd in (np.sin, np.arctan, np.arcsin, sp.erf, np.cbrt, sp.erfinv):
        yield odd(-p), -odd(p)
    for even in (np.cos, np.abs, sp.i0):
        yield even(-p), even(p)


@of(Law.WHOLE_TURNS)
def _(draw: Draw) -> Sides:
    p, k = draw.normal(), int(draw.integers(-5, 6))
    yield np.sin(p + 2 * np.pi * k), np.sin(p)
    yield np.cos(p + 2 * np.pi * k), np.cos(p)


@of(Law.FLOOR_OF_SHIFTED)
def _(draw: Draw) -> Sides:
    p, k = draw.normal(scale=5), int(draw.integers(-5, 6))
    yield np.floor(p + k), np.floor(p) + k


@of(Law.FLOOR_OF_NEGATED)
def _(draw: Draw) -> Sides:
    for p in (draw.normal(scale=5), float(draw.integers(-5, 6))):
        yield np.floor(-p), -np.floor(p) - holds(p - np.floor(p) > 0)


# --- predicates, indices --------------------------------------------------------------------------------------------


def holds(condition: object) -> np.ndarray:
    return np.asarray(condition, float)


@of(Law.IDEMPOTENT)
def _(draw: Draw) -> Sides:
    p = draw.normal(size=9)
    yield holds(p > 0) ** 2, holds(p > 0)


@of(Law.OPPOSITES)
def _(draw: Draw) -> Sides:
    p = draw.integers(-2, 3, size=9)
    yield holds(p > 0) * holds(-p > 0), np.zeros(9)


@of(Law.BOTH_SIDES)
def _(draw: Draw) -> Sides:
    p = draw.integers(-2, 3, size=9)
    yield (holds(p > 0) + holds(-p > 0)) * p, p


@of(Law.OFF_ZERO)
def _(draw: Draw) -> Sides:
    p = draw.normal(size=9)
    yield -p > 0, 1 - (p > 0)
    yield 1 / np.sign(p), np.sign(p)
    gaps = p[:, None] - p[None, :]
    yield (gaps > 0).astype(int) + (gaps < 0), 1 - np.eye(9)


@of(Law.POSITIVE_FACTOR)
def _(draw: Draw) -> Sides:
    p, a = draw.integers(-2, 3, size=9), positive(draw, 9)
    yield holds(a * p > 0), holds(p > 0)


@of(Law.EXP_OF_CHOSEN)
def _(draw: Draw) -> Sides:
    p, chosen = draw.normal(size=9), np.arange(9) % 2
    yield chosen * np.exp(chosen * p), chosen * np.exp(p)
    yield (1 - chosen) * np.exp(chosen * p), 1 - chosen


@of(Law.BASE_OF_CHOSEN)
def _(draw: Draw) -> Sides:
    x, same = draw.normal(size=5), np.eye(5)
    apart = np.abs(x[:, None] - x)
    for e in (0.5, 2.0):
        yield (1 - same) * apart**e, (1 - same) * (apart + same) ** e
    yield (1 - same) / np.where(same, 1.0, apart), (1 - same) * (apart + same) ** -1.0


@of(Law.SIGN_OF_PRODUCT)
def _(draw: Draw) -> Sides:
    f, g = draw.integers(-2, 3, size=(2, 25))
    yield holds(f * g > 0), holds(f > 0) * holds(g > 0) + holds(-f > 0) * holds(-g > 0)


@of(Law.INDEX_CONDITIONS)
def _(draw: Draw) -> Sides:
    e, c = draw.integers(-4, 5, size=25), int(draw.integers(0, 4))
    yield holds(e >= 0) * holds(e + c >= 0), holds(e >= 0)
    yield holds(e >= 0) * holds(-e - 1 >= 0), np.zeros(25)


@of(Law.BESIDE_CONDITION)
def _(draw: Draw) -> Sides:
    x = draw.normal(size=6)
    for i in range(6):
        for e in range(6):
            # φ is i ≤ e, and what it stands beside is a sum over k ≤ i with k ≤ e as another condition
            inside = np.exp(sum(x[k] for k in range(6) if k <= i and k <= e))
            yield (i <= e) * inside, (i <= e) * np.exp(sum(x[k] for k in range(6) if k <= i))
        yield (i >= 1) * i, i


@of(Law.ZERO_OF_PRODUCT)
def _(draw: Draw) -> Sides:
    for p in (0.0, draw.normal()):
        for q in (0.0, draw.normal()):
            yield float(p * q == 0), float(p == 0 or q == 0)


@of(Law.ROW_MAJOR)
def _(draw: Draw) -> Sides:
    m = int(draw.integers(1, 6))
    i, j = draw.integers(0, 9), draw.integers(0, m)
    yield (i * m + j) // m, i
    yield (i * m + j) % m, j


@of(Law.PERMUTATION_UNDONE)
def _(draw: Draw) -> Sides:
    order = np.argsort(draw.normal(size=7))
    yield order[np.argsort(order)], np.arange(7)


@of(Law.IN_ORDER)
def _(draw: Draw) -> Sides:
    for x in (draw.normal(size=7), draw.integers(0, 3, size=7)):
        yield np.argsort(x[np.argsort(x, kind="stable")], kind="stable"), np.arange(7)


@of(Law.EQUAL_PLACES)
def _(draw: Draw) -> Sides:
    order = np.argsort(draw.normal(size=5))
    s, t = np.divmod(np.arange(25), 5)
    yield holds(order[s] == order[t]), holds(s == t)


@of(Law.BY_PLACES)
def _(draw: Draw) -> Sides:
    x = draw.integers(0, 5, size=6)
    order = np.argsort(x, stable=True)
    yield x.sum(), sum(x[order[t]] for t in range(6))
    yield holds(x[order[:-1]] <= x[order[1:]]), np.ones(5)


# --- sums, maxima, products -----------------------------------------------------------------------------------------


@of(Law.SUM_OF_PRODUCT)
def _(draw: Draw) -> Sides:
    a, b = draw.normal(size=4), draw.normal(size=6)
    yield np.outer(a, b).sum(), a.sum() * b.sum()


@of(Law.SUM_OF_CONSTANT)
def _(draw: Draw) -> Sides:
    n, c = int(draw.integers(0, 9)), draw.normal()
    yield sum(c for _ in range(n)), n * c


@of(Law.EQUAL_INTEGERS)
def _(draw: Draw) -> Sides:
    f, labels = draw.normal(size=(4, 6)), draw.integers(0, 4, 6)
    for i in range(6):
        same = holds(labels == labels[i])
        yield sum(same[j] * f[labels[j], j] for j in range(6)), sum(same[j] * f[labels[i], j] for j in range(6))


@of(Law.SUM_AT_EQUATION)
def _(draw: Draw) -> Sides:
    f = draw.normal(size=6)
    for e in range(-2, 9):
        yield (holds(np.arange(6) == e) * f).sum(), f[e] if 0 <= e < 6 else 0.0


@of(Law.SUM_BY_ROWS)
def _(draw: Draw) -> Sides:
    q, m = draw.integers(1, 5, size=2)
    f = draw.normal(size=(q, m))
    yield sum(f[v // m, v % m] for v in range(q * m)), f.sum()


@of(Law.SUM_CUT)
def _(draw: Draw) -> Sides:
    f = draw.normal(size=6)
    for a in range(7):
        yield f.sum(), sum(f[v] for v in range(a)) + sum(f[v + a] for v in range(6 - a))


@of(Law.SUM_REORDERED)
def _(draw: Draw) -> Sides:
    f, order = draw.normal(size=(5, 5)), draw.permutation(5)
    back = np.argsort(order)
    yield sum(f[order[t], t] for t in range(5)), sum(f[i, back[i]] for i in range(5))


@of(Law.SUM_TURNED)
def _(draw: Draw) -> Sides:
    f = draw.normal(size=5)
    yield sum(f[5 - 1 - v] for v in range(5)), f.sum()


@of(Law.SUM_OF_CONDITION)
def _(draw: Draw) -> Sides:
    v = np.arange(5)
    for e in range(-1, 5):
        yield (v <= e).sum(), e + 1
        yield (v >= e + 1).sum(), 5 - (e + 1)


@of(Law.SUM_FROM_BELOW)
def _(draw: Draw) -> Sides:
    f, v = draw.normal(size=5), np.arange(5)
    for e in range(-1, 7):
        yield f[v >= e].sum(), f.sum() - f[v < e].sum()


@of(Law.SUMS_OVER_PAIRS)
def _(draw: Draw) -> Sides:
    f, g = draw.normal(size=(4, 4)), draw.normal(size=4)
    yield f.sum(), (0.5 * (f + f.T)).sum()
    yield g.sum(), (np.eye(4) * g[:, None]).sum()


@of(Law.MAXIMUM_OF_SUM)
def _(draw: Draw) -> Sides:
    a, f = draw.normal(), draw.normal(size=5)
    yield (a + f).max(), a + f.max()


@of(Law.MAXIMUM_AT_ARGUMENT)
def _(draw: Draw) -> Sides:
    e = draw.integers(0, 3, size=6)
    yield e.max(), e[e.argmax()]


@of(Law.MAXIMUM_ABOVE)
def _(draw: Draw) -> Sides:
    e = draw.permutation(6)
    yield holds(e > e.max()), np.zeros(6)
    yield holds(e.max() > e), 1 - holds(np.arange(6) == e.argmax())


@of(Law.PRODUCT_OF_PRODUCTS)
def _(draw: Draw) -> Sides:
    f, g = draw.integers(-2, 3, size=(2, 4))
    yield (f * g).prod(), f.prod() * g.prod()
    yield (f**3).prod(), f.prod() ** 3


@of(Law.PRODUCT_SPLIT)
def _(draw: Draw) -> Sides:
    f = draw.integers(-2, 3, size=5)
    for j in range(5):
        yield f.prod(), f[j] * np.delete(f, j).prod()


@of(Law.PRODUCT_BY_FORMAL_SUM)
def _(draw: Draw) -> Sides:
    f = draw.integers(-2, 3, size=5)
    yield f.prod(), draw.permutation(f).prod()


@of(Law.PRODUCT_OF_CONSTANT)
def _(draw: Draw) -> Sides:
    c, n = draw.normal(), int(draw.integers(0, 6))
    yield np.full(n, c).prod(), c**n


@of(Law.COUNT)
def _(draw: Draw) -> Sides:
    b = draw.integers(0, 2, size=5)
    yield b.sum() >= 1, 1 - (1 - b).prod()
    for j in np.flatnonzero(b):
        yield b.sum() >= 2, 1 - (1 - np.delete(b, j)).prod()


@of(Law.THRESHOLD)
def _(draw: Draw) -> Sides:
    n = 6
    x = draw.integers(-4, 5, size=n) / 2
    order = np.argsort(x, stable=True)
    rank = np.argsort(order)
    greatest = np.sort(x)[::-1]
    p = (1 + np.arange(1, n + 1) * greatest - np.cumsum(greatest))[n - 1 - rank]
    assert all(p[b] > 0 for a, b in pairwise(order) if p[a] > 0)
    yield holds(p > 0), holds(rank >= n - (p > 0).sum())


# --- matrices -------------------------------------------------------------------------------------------------------


def definite(draw: Draw, n: int) -> np.ndarray:
    a = draw.normal(size=(n, n))
    return a @ a.T + np.eye(n)


@of(Law.INVERSE)
def _(draw: Draw) -> Sides:
    a = draw.normal(size=(4, 4))
    yield np.linalg.inv(a) @ a, np.eye(4)
    yield a @ np.linalg.inv(a), np.eye(4)


@of(Law.INVERSE_OF_SCALED)
def _(draw: Draw) -> Sides:
    a, c = draw.normal(size=(4, 4)), draw.normal()
    yield np.linalg.inv(c * a), np.linalg.inv(a) / c


@of(Law.CHOLESKY)
def _(draw: Draw) -> Sides:
    s = definite(draw, 4)
    factor = np.linalg.cholesky(s)
    inverse = np.linalg.inv(factor)
    yield factor @ factor.T, s
    yield inverse.T @ inverse, np.linalg.inv(s)
    yield np.linalg.inv(s) @ factor, inverse.T


def pivoted(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """L, U and the order of the rows, by elimination with pivots."""
    n, u, lower, order = len(a), a.copy(), np.zeros_like(a), np.arange(len(a))
    for k in range(n):
        best = k + np.argmax(np.abs(u[k:, k]))
        for x in (u, lower, order):
            x[[k, best]] = x[[best, k]]
        lower[k + 1 :, k] = u[k + 1 :, k] / u[k, k]
        u[k + 1 :] -= np.outer(lower[k + 1 :, k], u[k])
    return lower + np.eye(n), u, order


@of(Law.PIVOTED)
def _(draw: Draw) -> Sides:
    a = draw.normal(size=(4, 4))
    lower, upper, order = pivoted(a)
    yield lower @ upper, a[order]
    yield np.linalg.inv(upper) @ np.linalg.inv(lower), np.linalg.inv(a)[:, order]


@of(Law.TRIANGULAR)
def _(draw: Draw) -> Sides:
    lower = np.tril(draw.normal(size=(4, 4)))
    yield np.triu(np.linalg.inv(lower), 1), np.zeros((4, 4))
    yield np.triu(np.linalg.cholesky(definite(draw, 4)), 1), np.zeros((4, 4))


@of(Law.LEIBNIZ_DETERMINANT)
def _(draw: Draw) -> Sides:
    a = draw.normal(size=(3, 3))
    sign = {p: np.linalg.det(np.eye(3)[list(p)]) for p in permutations(range(3))}
    yield np.linalg.det(a), sum(s * a[0, p[0]] * a[1, p[1]] * a[2, p[2]] for p, s in sign.items())


@of(Law.INVERSE_BY_COFACTORS)
def _(draw: Draw) -> Sides:
    a = draw.normal(size=(3, 3))
    for i in range(3):
        for j in range(3):
            minor = np.linalg.det(np.delete(np.delete(a, j, 0), i, 1))
            yield np.linalg.inv(a)[i, j], (-1) ** (i + j) * minor / np.linalg.det(a)


@of(Law.INVERSE_OF_PRODUCT)
def _(draw: Draw) -> Sides:
    f, g = draw.normal(size=(2, 3, 3))
    yield np.linalg.inv(f @ g), np.linalg.inv(g) @ np.linalg.inv(f)
    yield np.linalg.det(f @ g), np.linalg.det(f) * np.linalg.det(g)


@of(Law.RANK_ONE_UPDATE)
def _(draw: Draw) -> Sides:
    m, u, v = draw.normal(size=(4, 4)), draw.normal(size=4), draw.normal(size=4)
    inverse = np.linalg.inv(m)
    s = 1 + v @ inverse @ u
    yield np.linalg.det(m + np.outer(u, v)), np.linalg.det(m) * s
    yield np.linalg.inv(m + np.outer(u, v)), inverse - np.outer(inverse @ u, v @ inverse) / s


@of(Law.COMPLEX_BLOCKS)
def _(draw: Draw) -> Sides:
    a, b = draw.normal(size=(2, 3, 3))
    inverse = np.linalg.inv(np.block([[a, -b], [b, a]]))
    yield inverse[3:, 3:], inverse[:3, :3]
    yield inverse[:3, 3:], -inverse[3:, :3]


@of(Law.EQUAL_INVERSES)
def _(draw: Draw) -> Sides:
    b, c = draw.normal(size=(3, 3)), draw.normal()
    yield np.linalg.inv(c * b), np.linalg.inv(b) / c


@of(Law.ORTHONORMAL)
def _(draw: Draw) -> Sides:
    a = draw.normal(size=(5, 3))
    left, _, right = np.linalg.svd(a, full_matrices=False)
    yield left.T @ left, np.eye(3)
    yield right @ right.T, np.eye(3)
    yield right.T @ right, np.eye(3)
    yield np.linalg.qr(a)[0].T @ np.linalg.qr(a)[0], np.eye(3)
    vectors = np.linalg.eigh(a.T @ a)[1]
    yield vectors.T @ vectors, np.eye(3)
    yield vectors @ vectors.T, np.eye(3)


@of(Law.SPECTRAL_POWER)
def _(draw: Draw) -> Sides:
    a = draw.normal(size=(4, 4))
    a = a + a.T
    values, vectors = np.linalg.eigh(a)
    for p in (2, 3, 5):
        yield (vectors * values**p) @ vectors.T, np.linalg.matrix_power(a, p)


@of(Law.FACTORISATION)
def _(draw: Draw) -> Sides:
    a = draw.normal(size=(5, 3))
    left, singular, right = np.linalg.svd(a, full_matrices=False)
    yield (left * singular) @ right, a
    yield np.linalg.qr(a)[0] @ np.linalg.qr(a)[1], a
    values, vectors = np.linalg.eigh(a.T @ a)
    yield (vectors * values) @ vectors.T, a.T @ a


# --- functions beside each other ------------------------------------------------------------------------------------


@of(Law.INVERSE_FUNCTIONS)
def _(draw: Draw) -> Sides:
    p = draw.uniform(-0.99, 0.99)
    yield sp.erf(sp.erfinv(p)), p
    yield sp.erfinv(sp.erf(2 * p)), 2 * p


@of(Law.INVERSE_HYPERBOLIC)
def _(draw: Draw) -> Sides:
    p = draw.normal()
    yield np.arcsinh(p), np.log(p + np.sqrt(1 + p**2))
    p = 1 + positive(draw)
    yield np.arccosh(p), np.log(p + np.sqrt(p**2 - 1))
    p = draw.uniform(-0.99, 0.99)
    yield np.arctanh(p), 0.5 * np.log(1 + p) - 0.5 * np.log(1 - p)


@of(Law.LOGARITHMS_CANCEL)
def _(draw: Draw) -> Sides:
    p, q = positive(draw, 2)
    c = (1 / 2, -3.0, 1.0)
    terms = np.log([p, q, q**3 / np.sqrt(p)])
    yield np.exp(2 * (np.array(c) @ terms)), p * q**-6 * (q**3 / np.sqrt(p)) ** 2
    yield np.array(c) @ terms, 0.0


@of(Law.ADDITION_THEOREM)
def _(draw: Draw) -> Sides:
    a, b = draw.normal(size=2)
    yield np.exp(1j * (a + b)), (np.cos(a) + 1j * np.sin(a)) * (np.cos(b) + 1j * np.sin(b))
    p = draw.uniform(-1, 1)
    yield np.sin(np.arcsin(p)), p
    yield np.cos(np.arcsin(p)), np.sqrt(1 - p**2)


@of(Law.ANGLES_CANCEL)
def _(draw: Draw) -> Sides:
    x, y = positive(draw, 2)
    # atan(y/x) + atan(x/y) − π/2: the numbers are 1 + i·y/x, 1 + i·x/y, and the sum lies between −π/2 and π/2.
    w = np.exp(-1j * np.pi / 2) * (1 + 1j * y / x) * (1 + 1j * x / y)
    yield w.imag / w.real, 0.0
    yield np.sign(w.real), 1.0
    yield np.arctan(y / x) + np.arctan(x / y) - np.pi / 2, 0.0


@of(Law.GAMMA_RECURRENCE)
def _(draw: Draw) -> Sides:
    p, s = draw.uniform(-3, 3), 1 + positive(draw)
    yield sp.gammaln(p + 1), sp.gammaln(p) + np.log(abs(p))
    yield sp.digamma(p + 1), sp.digamma(p) + 1 / p
    yield sp.zeta(s, abs(p)), sp.zeta(s, abs(p) + 1) + abs(p) ** -s


@of(Law.BESSEL_RECURRENCE)
def _(draw: Draw) -> Sides:
    v, x = draw.uniform(-2, 2), positive(draw)
    for first, second in ((sp.jv, 1), (sp.yv, 1), (sp.iv, -1)):
        yield first(v - 1, x) + second * first(v + 1, x), 2 * v / x * first(v, x)
    yield sp.kv(v + 1, x) - sp.kv(v - 1, x), 2 * v / x * sp.kv(v, x)


@of(Law.MONOTONE)
def _(draw: Draw) -> Sides:
    u, v = draw.uniform(-0.99, 0.99, size=(2, 30))
    for f in (np.arcsin, np.arctan, sp.erf, sp.erfinv, np.cbrt):
        yield holds(f(u) > f(v)), holds(u > v)
    yield holds(np.arccos(u) > np.arccos(v)), holds(v > u)


@of(Law.ROOT_OF_FACTORS)
def _(draw: Draw) -> Sides:
    a, b, d = positive(draw, 3)
    q = draw.normal()
    yield (a * b) ** q, a**q * b**q
    yield (a / d) ** q, a**q * d**-q


@of(Law.CBRT_OF_PRODUCT)
def _(draw: Draw) -> Sides:
    a, b = draw.normal(size=2, scale=5)
    yield np.cbrt(a * b), np.cbrt(a) * np.cbrt(b)
    yield np.cbrt(abs(a)), abs(a) ** (1 / 3)


@of(Law.ROOTS_OF_UNITY)
def _(draw: Draw) -> Sides:
    phase = draw.normal()
    for n in range(1, 7):
        for m in range(-8, 9):
            angles = 2 * np.pi * np.arange(n) * m / n + phase
            yield np.cos(angles).sum(), n * (m % n == 0) * np.cos(phase)
            yield np.sin(angles).sum(), n * (m % n == 0) * np.sin(phase)


@of(Law.HALF_SPECTRUM)
def _(draw: Draw) -> Sides:
    for n in range(1, 8):
        even, k = 2 * (n // 2) - n + 1, np.arange(n // 2 + 1)
        for m in range(-8, 9):
            f = lambda k, m=m, n=n: np.cos(2 * np.pi * k * m / n)
            yield f(k).sum(), (f(np.arange(n)).sum() + 1 + even * f(n / 2)) / 2
            yield ((2 * k == n) * f(k)).sum(), even * f(n / 2)


# --- loops and equations --------------------------------------------------------------------------------------------


@of(Law.CLOSED_CARRY)
def _(draw: Draw) -> Sides:
    b, c = draw.normal(size=5), draw.normal()
    carried = c
    for t in range(6):
        yield carried, c + b[:t].sum()
        carried = carried + b[t] if t < 5 else carried


@of(Law.LINEAR_CARRY)
def _(draw: Draw) -> Sides:
    a, b, c = draw.normal(size=5), draw.normal(size=5), draw.normal()
    carried = c
    for t in range(6):
        yield carried, c * a[:t].prod() + sum(b[j] * a[j + 1 : t].prod() for j in range(t))
        carried = a[t] * carried + b[t] if t < 5 else carried


@of(Law.SCALED_CARRY)
def _(draw: Draw) -> Sides:
    factor, d = draw.normal(), draw.normal(size=3)
    c = factor * d
    for _ in range(5):
        step = draw.normal(size=(3, 3))
        c, d = step @ c, step @ d
        yield from zip(c, factor * d, strict=True)


@of(Law.LOG_CARRY)
def _(draw: Draw) -> Sides:
    c = draw.normal(size=3)
    e = np.exp(c)
    for _ in range(5):
        step = np.exp(draw.normal(size=(3, 3)))
        c, e = np.log(step @ np.exp(c)), step @ e
        yield from zip(c, np.log(e), strict=True)


@of(Law.LATER_CARRY)
def _(draw: Draw) -> Sides:
    a, b, carried = np.exp(draw.normal(size=5)), draw.normal(size=5), draw.normal()
    for t in range(5):
        after = a[t] * carried + b[t]
        yield carried, (after - b[t]) / a[t]
        carried = after


@of(Law.EQUAL_RECURRENCES)
def _(draw: Draw) -> Sides:
    c = d = draw.normal()
    for _ in range(5):
        c, d = np.sin(c) * 2, 4 * np.sin(d / 2) * np.cos(d / 2)
        yield c, d


@of(Law.ADJOINT_RECURRENCE)
def _(draw: Draw) -> Sides:
    steps, n = 4, 3
    a, u, q = draw.normal(size=(steps, n, n)), draw.normal(size=(steps, n)), draw.normal(size=(steps, n))
    c, p = [draw.normal(size=n)], draw.normal(size=n)
    for t in range(steps):
        c.append(a[t] @ c[t] + u[t])
    mu = [p]
    for t in reversed(range(steps)):
        mu.insert(0, a[t].T @ mu[0] + q[t])
    left = c[steps] @ p + sum(c[t] @ q[t] for t in range(steps))
    yield left, c[0] @ mu[0] + sum(u[t] @ mu[t + 1] for t in range(steps))


@of(Law.AFFINE_EQUATION)
def _(draw: Draw) -> Sides:
    j, r = draw.normal(size=(4, 4)), draw.normal(size=4)
    z = -np.linalg.inv(j) @ r
    yield j @ z + r, np.zeros(4)


def slope(f: Callable[[float], np.ndarray], h: float = 1e-3) -> np.ndarray:
    """df/dt at 0, by differences of the eighth order."""
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    return sum(w * (f(k * h) - f(-k * h)) for k, w in weights.items()) / h  # type: ignore[return-value]


@of(Law.IMPLICIT_FUNCTION)
def _(draw: Draw) -> Sides:
    theta = draw.normal()

    def root(theta: float) -> np.ndarray:  # z + z³ = θ
        z = 0.0
        for _ in range(60):
            z -= (z + z**3 - theta) / (1 + 3 * z**2)
        return np.asarray(z)

    z = root(theta)
    yield slope(lambda t: root(theta + t)), -1 / (1 + 3 * z**2) * -1


# --- derivatives ----------------------------------------------------------------------------------------------------


@of(Law.LIMITS)
def _(draw: Draw) -> Sides:
    """A quotient with a removable singularity, which is a polynomial: both sides of the point have its mean there."""
    a, h = draw.normal(), 1e-3

    def around(f: Callable[[float], float]) -> float:
        return (f(a + h) + f(a - h)) / 2

    yield around(lambda x: (x**2 - a**2) / (x - a)), 2 * a
    derivative = around(lambda x: (3 * x**2 - (x**3 - a**3) / (x - a)) / (x - a))
    yield slope(lambda t: (a + t) ** 2 + (a + t) * a + a**2), derivative


@of(Law.DERIVATIVE_OF_PRODUCT)
def _(draw: Draw) -> Sides:
    f, df = draw.integers(-1, 2, size=5).astype(float), draw.normal(size=5)
    yield slope(lambda t: (f + t * df).prod()), sum(df[j] * np.delete(f, j).prod() for j in range(5))


@of(Law.DERIVATIVE_OF_MAXIMUM)
def _(draw: Draw) -> Sides:
    e, de = draw.permutation(5).astype(float), draw.normal(size=5)
    yield slope(lambda t: (e + t * de).max()), de[e.argmax()]


@of(Law.DERIVATIVE_OF_INVERSE)
def _(draw: Draw) -> Sides:
    a, da = definite(draw, 3), draw.normal(size=(3, 3))
    inverse = np.linalg.inv(a)
    yield slope(lambda t: np.linalg.inv(a + t * da)), -inverse @ da @ inverse


@of(Law.DERIVATIVE_OF_DETERMINANT)
def _(draw: Draw) -> Sides:
    a, da = definite(draw, 3), draw.normal(size=(3, 3))
    yield slope(lambda t: np.linalg.det(a + t * da)), np.linalg.det(a) * np.trace(np.linalg.inv(a) @ da)


@of(Law.DERIVATIVE_OF_CHOLESKY)
def _(draw: Draw) -> Sides:
    s, ds = definite(draw, 3), draw.normal(size=(3, 3))
    ds = ds + ds.T
    factor = np.linalg.cholesky(s)
    inverse = np.linalg.inv(factor)
    inside = inverse @ ds @ inverse.T
    kept = np.tril(inside, -1) + np.diag(np.diag(inside)) / 2
    yield slope(lambda t: np.linalg.cholesky(s + t * ds)), factor @ kept


@of(Law.DERIVATIVE_OF_PIVOTED)
def _(draw: Draw) -> Sides:
    a, da = draw.normal(size=(2, 3, 3))
    lower, upper, order = pivoted(a)
    inside = np.linalg.inv(lower) @ da[order] @ np.linalg.inv(upper)
    yield slope(lambda t: pivoted(a + t * da)[0], 1e-6), lower @ np.tril(inside, -1)
    yield slope(lambda t: pivoted(a + t * da)[1], 1e-6), np.triu(inside) @ upper


@of(Law.DERIVATIVE_OF_FACTORS)
def _(draw: Draw) -> Sides:
    a, da = draw.normal(size=(2, 3, 3))
    a, da = a + a.T, da + da.T
    values, vectors = np.linalg.eigh(a)
    inside = vectors.T @ da @ vectors
    yield slope(lambda t: np.linalg.eigh(a + t * da)[0], 1e-4), np.diag(inside)
    gaps = values[None, :] - values[:, None] + np.eye(3)
    turned = vectors @ ((1 / gaps - np.eye(3)) * inside)
    v, dv = vectors[:, 0], turned[:, 0]

    def projector(t: float) -> np.ndarray:  # the sign of a vector is open; v·vᵀ does not depend on it
        there = np.linalg.eigh(a + t * da)[1][:, 0]
        return np.outer(there, there)

    yield slope(projector, 1e-4), np.outer(dv, v) + np.outer(v, dv)


# --- how a difference is shown to vanish ----------------------------------------------------------------------------


@of(Law.PAIRED)
def _(draw: Draw) -> Sides:
    k = draw.normal(size=(3, 4))
    for a in range(3):  # the unit vectors read off each coefficient: they are all 0 if the form is
        for b in range(4):
            yield np.eye(3)[a] @ k @ np.eye(4)[b], k[a, b]


@of(Law.SUMMANDS)
def _(draw: Draw) -> Sides:
    x = draw.normal(size=5)
    yield ((x + 1) ** 2 - x**2 - 2 * x - 1).sum(), 0.0


@of(Law.SIGN_REGIONS)
def _(draw: Draw) -> Sides:
    p = draw.integers(-2, 3, size=25)
    e = np.abs(p) - p * (holds(p > 0) - holds(-p > 0))
    for region in (p > 0, p == 0, p < 0):
        yield e[region], np.zeros(region.sum())
    yield e, np.zeros(25)


@of(Law.INDEX_SETS)
def _(draw: Draw) -> Sides:
    f, n = draw.normal(size=6), 6
    # Σ_v f(n − 1 − v)·[v ≥ 2] − Σ_v f(v)·[v ≤ n − 3]: the coefficient of each f(s) is [s ≤ n − 3] − [s ≤ n − 3].
    yield sum(f[n - 1 - v] for v in range(2, n)) - sum(f[v] for v in range(n - 2)), 0.0


@of(Law.CAUCHY_SCHWARZ)
def _(draw: Draw) -> Sides:
    f = draw.normal(size=6)
    yield holds(f.sum() ** 2 <= 6 * (f**2).sum()), 1.0
    yield np.full(6, f[0]).sum() ** 2, 6 * (np.full(6, f[0]) ** 2).sum()


@of(Law.LINEAR_ARITHMETIC)
def _(draw: Draw) -> Sides:
    # x > y, y > z and z > x have no point: their sum is 0 > 0.
    x, y, z = draw.normal(size=(3, 200))
    yield (holds(x > y) * holds(y > z) * holds(z > x)).sum(), 0.0
    # Nor have n > 0 and 1 > n for an integer n.
    n = np.round(x)
    yield (holds(n > 0) * holds(n < 1)).sum(), 0.0
