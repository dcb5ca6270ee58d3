"""`certgrad.special`: the values are scipy's, the derivatives those of differences, and shapes and dtypes JAX's."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
import scipy.special

import certgrad
from certgrad import special
from certgrad.errors import UsageError

pytestmark = pytest.mark.usefixtures("proofs_alone")

X = np.array([0.3, 0.55, 0.8])
FUNCTIONS = {
    "jv": (lambda x: special.jv(1.5, x), lambda x: scipy.special.jv(1.5, x)),
    "yv": (lambda x: special.yv(2, x), lambda x: scipy.special.yv(2, x)),
    "iv": (lambda x: special.iv(0, x), lambda x: scipy.special.iv(0, x)),
    "kv": (lambda x: special.kv(1, x), lambda x: scipy.special.kv(1, x)),
    "erfi": (special.erfi, scipy.special.erfi),
    "dawsn": (special.dawsn, scipy.special.dawsn),
    "erfcx": (special.erfcx, scipy.special.erfcx),
    "expi": (special.expi, scipy.special.expi),
    "expn": (lambda x: special.expn(3, x), lambda x: scipy.special.expn(3, x)),
    "expn of order 0": (lambda x: special.expn(0, x), lambda x: scipy.special.expn(0, x)),
    "si": (lambda x: special.sici(x)[0], lambda x: scipy.special.sici(x)[0]),
    "ci": (lambda x: special.sici(-x)[1], lambda x: scipy.special.sici(x)[1]),
    "fresnel, S": (lambda x: special.fresnel(x)[0], lambda x: scipy.special.fresnel(x)[0]),
    "fresnel, C": (lambda x: special.fresnel(x)[1], lambda x: scipy.special.fresnel(x)[1]),
    "owens_t": (lambda x: special.owens_t(x, 0.7), lambda x: scipy.special.owens_t(x, 0.7)),
    "owens_t by its second": (lambda x: special.owens_t(0.7, x), lambda x: scipy.special.owens_t(0.7, x)),
    "wofz, real": (lambda x: special.wofz(x + 0.4j).real, lambda x: scipy.special.wofz(x + 0.4j).real),
    "wofz, imaginary": (lambda x: special.wofz(x).imag, lambda x: scipy.special.wofz(x).imag),
    "voigt_k by its second": (lambda y: special.voigt_k(0.7, y), lambda y: scipy.special.wofz(0.7 + 1j * y).real),
    "voigt_l by its second": (lambda y: special.voigt_l(0.7, y), lambda y: scipy.special.wofz(0.7 + 1j * y).imag),
    "lambertw": (special.lambertw, lambda x: scipy.special.lambertw(x).real),
    "spence": (special.spence, scipy.special.spence),
    "hyp1f1": (lambda x: special.hyp1f1(1, 2.5, x), lambda x: scipy.special.hyp1f1(1, 2.5, x)),
    "hyp2f1": (lambda x: special.hyp2f1(1, 2.5, 3, x), lambda x: scipy.special.hyp2f1(1, 2.5, 3, x)),
    "jinc": (special.jinc, lambda x: scipy.special.j1(x) / x),
    "betaln": (lambda x: special.betaln(x, 1.5), lambda x: scipy.special.betaln(x, 1.5)),
    "log_gamma_difference": (
        lambda x: special.log_gamma_difference(x, 1.5),
        lambda x: scipy.special.gammaln(1.5) - scipy.special.gammaln(x + 1.5),
    ),
    "gammaincinv": (lambda y: special.gammaincinv(1.5, y), lambda y: scipy.special.gammaincinv(1.5, y)),
    "gammaincinv by its first": (lambda a: special.gammaincinv(a, 0.4), lambda a: scipy.special.gammaincinv(a, 0.4)),
    "gammainccinv": (lambda y: special.gammainccinv(1.5, y), lambda y: scipy.special.gammainccinv(1.5, y)),
    "eccentric_anomaly": (lambda m: special.eccentric_anomaly(m, 0.4), lambda m: np.vectorize(_anomaly)(m, 0.4)),
    "kepler, sine": (
        lambda m: special.kepler(m, 0.4)[0],
        lambda m: np.sin(_true_anomaly(np.vectorize(_anomaly)(m, 0.4), 0.4)),
    ),
    "kepler, cosine by eccentricity": (
        lambda e: special.kepler(1.1, e)[1],
        lambda e: np.cos(_true_anomaly(np.vectorize(_anomaly)(1.1, e), e)),
    ),
}


def _anomaly(mean: float, e: float) -> float:
    return float(scipy.optimize.brentq(lambda z: z - e * np.sin(z) - mean, mean - e, mean + e, xtol=1e-15, rtol=1e-14))


def _true_anomaly(eccentric: np.ndarray, e: np.ndarray | float) -> np.ndarray:
    return np.asarray(2 * np.arctan(np.sqrt((1 + e) / (1 - e)) * np.tan(eccentric / 2)))


def test_jinc_at_0() -> None:
    assert special.jinc(0.0) == 0.5
    assert jax.grad(special.jinc)(0.0) == 0.0


@pytest.mark.one_in(13)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_derivatives(name: str) -> None:
    ours, scipys = FUNCTIONS[name]
    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.jit(ours)(X), scipys(X), rtol=1e-12)
        gradient = jax.vmap(jax.grad(ours))(jnp.asarray(X))
        np.testing.assert_allclose(gradient, (scipys(X + 1e-5) - scipys(X - 1e-5)) / 2e-5, rtol=1e-7)
        np.testing.assert_allclose(ours(0.55), scipys(0.55), rtol=1e-12)  # a number of Python's is as exact
        assert jax.grad(ours)(jnp.float32(0.5)).dtype == jnp.float32
    assert ours(jnp.float32(0.5)).dtype == jnp.float32


def test_orders_are_broadcast_and_whole_numbers_are_floats() -> None:
    orders = jnp.arange(3)[:, None]
    np.testing.assert_allclose(special.jv(orders, X[None]), scipy.special.jv(np.arange(3)[:, None], X), rtol=1e-5)
    assert special.kv(1, 2).dtype == jnp.float32
    at_one = jax.vmap(special.jv, in_axes=(None, 0))(1, jnp.asarray(X))
    np.testing.assert_allclose(at_one, scipy.special.jv(1, X), rtol=1e-5)


def test_what_is_no_argument() -> None:
    with pytest.raises(UsageError, match="expn is of a whole order from 0, not of -1"):
        special.expn(-1, X)
    with pytest.raises(UsageError, match="kv is a function of real numbers, not of complex64"):
        special.kv(0, 1j)
    with pytest.raises(NotImplementedError, match="the derivative of jv by a parameter"):
        jax.grad(special.jv)(1.0, 2.0)


def of(primal, tangent):
    rule = jax.custom_jvp(primal)
    rule.defjvp(lambda p, t: (primal(*p), tangent(*p) * t[0]))
    return rule


IDENTITIES = {
    "J₀' = −J₁": (lambda x: special.jv(0, x), lambda x: -special.jv(1, x), ""),
    "2J₃' = J₂ − J₄": (lambda x: special.jv(3, x), lambda x: (special.jv(2, x) - special.jv(4, x)) / 2, ""),
    "Y₁' = Y₀ − Y₁/x": (lambda x: special.yv(1, x), lambda x: special.yv(0, x) - special.yv(1, x) / x, ""),
    "I₂' = I₁ − 2I₂/x": (lambda x: special.iv(2, x), lambda x: special.iv(1, x) - 2 * special.iv(2, x) / x, ""),
    "K of half an order": (
        lambda x: special.kv(2.5, x),
        lambda x: -special.kv(1.5, x) - 2.5 * special.kv(2.5, x) / x,
        "",
    ),
    "scaled K": (
        lambda x: jnp.exp(x) * special.kv(1, x),
        lambda x: jnp.exp(x) * (special.kv(1, x) - special.kv(0, x) - special.kv(1, x) / x),
        "",
    ),
    "log K": (lambda x: jnp.log(special.kv(0, x)), lambda x: -special.kv(1, x) / special.kv(0, x), ""),
    "E₃' = −E₂": (lambda x: special.expn(3, x), lambda x: -special.expn(2, x), "x > 0"),
    "Ci' = cos(x)/x": (lambda x: special.sici(x)[1], lambda x: jnp.cos(x) / x, ""),
    "W' = W/(x(1 + W))": (
        special.lambertw,
        lambda x: special.lambertw(x) / (x * (1 + special.lambertw(x))),
        "x > 0",
    ),
    "W' = 1/(x + exp(W))": (special.lambertw, lambda x: 1 / (x + jnp.exp(special.lambertw(x))), "x > 0"),
    "spence": (special.spence, lambda x: jnp.log(x) / (1 - x), ""),
    "Kummer": (lambda x: special.hyp1f1(1.5, 2.0, x), lambda x: 0.75 * special.hyp1f1(2.5, 3.0, x), ""),
    "Gauss": (
        lambda x: special.hyp2f1(0.5, 1.0, 2.0, x),
        lambda x: special.hyp2f1(1.5, 2.0, 3.0, x) / 4,
        "",
    ),
}


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", IDENTITIES)
def test_a_rule_by_an_identity_is_proved_and_its_wrong_twin_refuted(name: str) -> None:
    primal, tangent, domain = IDENTITIES[name]
    right = certgrad.check(of(primal, tangent), "n -> n", domain=domain or ())
    assert right.proved, right
    wrong = certgrad.check(of(primal, lambda x: tangent(x) + primal(x) / 8), "n -> n", domain=domain or ())
    assert wrong.verdict == "refuted", wrong
