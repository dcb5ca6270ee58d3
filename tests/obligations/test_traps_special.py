"""Special functions, remainders, casts and bits: wrong rules beside right ones; what is refused, with its reason."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from certgrad.obligations import audit
from tests.obligations.traps import Trap, declare

where = jnp.where


def by(forward, slope):
    return declare("*s -> *s", forward, lambda x, g: slope(x) * g)


def of_two(forward, slopes):
    def jvp(x, y, dx, dy):
        a, b = slopes(x, y)
        return a * dx + b * dy

    def vjp(x, y, g):
        a, b = slopes(x, y)
        return a * g, b * g

    return declare("*s, *s -> *s", forward, jvp, vjp)


def with_integers(forward, slope, **options):
    return declare("*s, *s:int -> *s", forward, lambda x, k, g: slope(x, k) * g, **options)


def density(a, x):
    return jnp.exp((a - 1) * jnp.log(x) - x - lax.lgamma(a))


def beta_density(a, b, x):
    return jnp.exp((a - 1) * jnp.log(x) + (b - 1) * jnp.log1p(-x) - lax.lgamma(a) - lax.lgamma(b) + lax.lgamma(a + b))


def beta(x):
    return lax.betainc(jnp.full_like(x, 2.0), jnp.full_like(x, 0.5), x)


def trigamma(x):
    return lax.polygamma(jnp.ones_like(x), x)


def zeta(x):
    return lax.zeta(jnp.full_like(x, 2.5), x)


FUNCTIONS = [
    Trap(
        "the incomplete gamma function by its second argument, without Γ(a)",
        of_two(lax.igamma, lambda a, x: (lax.igamma_grad_a(a, x), jnp.exp((a - 1) * jnp.log(x) - x))),
        at=(2.5, 1.5),
        right=of_two(lax.igamma, lambda a, x: (lax.igamma_grad_a(a, x), density(a, x))),
        hypotheses={"a > 0", "x > 0"},
    ),
    Trap(
        "its complement, with the sign of the function itself",
        of_two(lax.igammac, lambda a, x: (lax.igamma_grad_a(a, x), -density(a, x))),
        at=(2.5, 1.5),
        right=of_two(lax.igammac, lambda a, x: (-lax.igamma_grad_a(a, x), -density(a, x))),
        hypotheses={"a > 0", "x > 0"},
    ),
    Trap(
        "the incomplete beta function, its shapes swapped",
        by(beta, lambda x: beta_density(0.5, 2.0, x)),
        at=(0.25,),
        right=by(beta, lambda x: beta_density(2.0, 0.5, x)),
        hypotheses={"x > 0", "x < 1"},
    ),
    Trap(
        "trigamma's derivative, one order too low",
        by(trigamma, trigamma),
        at=(1.5,),
        right=by(trigamma, lambda x: lax.polygamma(jnp.full_like(x, 2.0), x)),
        hypotheses={"x is not 0, −1, −2, …"},
    ),
    Trap(
        "Hurwitz zeta by its second argument, without the factor",
        by(zeta, lambda x: -lax.zeta(jnp.full_like(x, 3.5), x)),
        at=(1.5,),
        right=by(zeta, lambda x: -2.5 * lax.zeta(jnp.full_like(x, 3.5), x)),
        hypotheses={"x > 0"},
    ),
    Trap(
        "a scaled Bessel function, without the kink of its scale",
        by(lax.bessel_i0e, lambda x: lax.bessel_i1e(x) - lax.bessel_i0e(x)),
        at=(-1.5,),
        right=by(lax.bessel_i0e, lambda x: lax.bessel_i1e(x) - jnp.sign(x) * lax.bessel_i0e(x)),
        hypotheses={"x ≠ 0"},
    ),
    Trap(
        "I₀ by way of the scaled function has no kink, and |x|'s one-sided slope makes one at 0",
        by(
            lambda x: jnp.exp(jnp.abs(x)) * lax.bessel_i0e(x),
            lambda x: jnp.exp(jnp.abs(x)) * (lax.bessel_i1e(x) + where(x == 0, 1.0, 0.0)),
        ),
        at=(0.0,),
        right=by(lambda x: jnp.exp(jnp.abs(x)) * lax.bessel_i0e(x), lambda x: jnp.exp(jnp.abs(x)) * lax.bessel_i1e(x)),
    ),
    Trap(
        "a power with an integer array, one exponent off",
        with_integers(lambda x, k: x**k, lambda x, k: k * x**k),
        at=(1.5, np.array(3)),
        right=with_integers(lambda x, k: x**k, lambda x, k: k * x ** (k - 1), domain=("x != 0",)),
        hypotheses={"x ≠ 0"},
    ),
]

STEPS = [
    Trap(
        "a remainder by the second argument, rounded down instead of towards 0",
        of_two(lax.rem, lambda x, y: (1.0, -jnp.floor(x / y))),
        at=(-1.5, 1.0),
        right=of_two(lax.rem, lambda x, y: (1.0, -jnp.sign(x / y) * jnp.floor(jnp.abs(x / y)))),
        hypotheses={"x/y is not an integer or x/y = 0", "y ≠ 0"},
    ),
    Trap(
        "a remainder jumps at the multiples of its divisor",
        of_two(lax.rem, lambda x, y: (1.0, -jnp.trunc(x / y))),
        at=(2.0, 1.0),
        under={"x/y is not an integer or x/y = 0", "y ≠ 0"},
    ),
    Trap(
        "a cast to an integer is a step, though not at 0",
        by(lambda x: x * x.astype(int), lambda x: jnp.floor(x)),
        at=(-0.5,),
        right=by(lambda x: x * x.astype(int), lambda x: x.astype(int) * 1.0),
        hypotheses={"x is not an integer or x = 0"},
    ),
    Trap(
        "a whole number comes out of floor, a half does not",
        by(lambda x: jnp.floor(x + 0.5) * x, lambda x: jnp.floor(x) + 0.5),
        at=(0.25,),
        right=by(lambda x: jnp.floor(x + 1) * x, lambda x: jnp.floor(x) + 1),
        hypotheses={"1 + x is not an integer"},
    ),
]

INTEGERS = [
    Trap(
        "the last bit and the last two",
        with_integers(lambda x, k: x * (k & 1), lambda x, k: (k & 3) * 1.0),
        at=(1.5, np.array(2)),
        right=with_integers(lambda x, k: x * (k & 1), lambda x, k: (1 & k) * 1.0),
    ),
    Trap(
        "a shift to the right rounds down, a division towards 0",
        with_integers(lambda x, k: x * (k >> 1), lambda x, k: lax.div(k, 2) * 1.0),
        at=(1.5, np.array(-3)),
        right=with_integers(lambda x, k: x * (k >> 1), lambda x, k: (k >> 1) * 1.0),
    ),
    Trap(
        "not k is −k − 1",
        with_integers(lambda x, k: x * ~k, lambda x, k: -k * 1.0),
        at=(1.5, np.array(2)),
        right=with_integers(lambda x, k: x * ~k, lambda x, k: (-k - 1) * 1.0),
    ),
    Trap(
        "an integer that may be negative wraps in an unsigned type",
        with_integers(lambda x, k: x * k.astype(jnp.uint32).astype(int), lambda x, k: k * 1.0),
        at=(1.5, np.array(-2)),
        verdict="refuted",
    ),
]


def reasons(one):
    certificate = audit(one)
    assert certificate.verdict == "unproved", certificate.verdict
    return {case.reason for claim in certificate.claims for case in claim.cases if case.reason}


def constant_slope(forward):
    return declare("n -> n", forward, lambda x, dx: dx, lambda x, g: g)


COMPLEX = {
    "transformed and back": (lambda x: jnp.fft.ifft(jnp.fft.fft(x)).real, "proved"),
    "a real part": (lambda x: lax.real(lax.complex(x, x)), "proved"),
    "an imaginary part": (lambda x: jnp.imag(jnp.conj(x - 1j * x)), "proved"),
    "a root": (lambda x: jnp.sqrt(x * x + 0j).real * jnp.sign(x), "unproved"),
    "a modulus": (lambda x: jnp.abs((1 + 0j) * x) * jnp.sign(x), "proved under hypotheses"),
    "an eigenvalue": (lambda x: x + jnp.linalg.eigvals(jnp.outer(x, x)).real, "unproved"),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers_that_come_to_the_identity(name):
    forward, verdict = COMPLEX[name]
    assert audit(constant_slope(forward)).verdict == verdict
    twice = declare("n -> n", forward, lambda x, dx: 2 * dx, lambda x, g: 2 * g)
    assert audit(twice).verdict == ("unproved" if name == "an eigenvalue" else "refuted")


@pytest.mark.parametrize(
    ("forward", "reason"),
    [
        (lambda x: lax.nextafter(x, x + 1), "nothing over the reals"),
        (lambda x: jnp.copysign(x, x), "another program in float32"),
        (lambda x: lax.bitcast_convert_type(lax.bitcast_convert_type(x, jnp.int64), x.dtype), ""),
        (lambda x: lax.betainc(x, x, 0.5 + 0 * x), "no derivative of incomplete_beta by its argument 0"),
        (lambda x: lax.zeta(x, 1 + 0 * x), "no derivative of zeta by its argument 0"),
    ],
)
def test_what_has_no_meaning_says_why(forward, reason):
    one = declare("n -> n", forward, lambda x, dx: dx, lambda x, g: g)
    certificate = audit(one)
    assert not certificate.verdict.startswith("proved")
    assert any(reason in case.reason for claim in certificate.claims for case in claim.cases)


@pytest.mark.parametrize(
    "one",
    [
        with_integers(lambda x, k: x * (k * k), lambda x, k: k * (k * 1.0)),
        declare("n, n:int -> n", lambda x, k: x * jnp.sum(k), lambda x, k, g: g * jnp.sum(k)),
        declare("n, n:int -> n", lambda x, k: x * (k @ k), lambda x, k, g: g * (k @ k)),
    ],
)
def test_integer_arithmetic_is_an_idealisation_that_is_printed(one):
    certificate = audit(one)
    assert certificate.verdict == "proved"
    assert any("range of its type" in note for claim in certificate.claims for note in claim.idealisations)


def test_a_real_number_is_not_infinite():
    one = by(lambda x: where(jnp.isinf(x) | (x >= jnp.inf), 0.0, x * x), lambda x: 2 * x)
    certificate = audit(one)
    assert certificate.verdict == "proved"
    assert any("finite" in note for claim in certificate.claims for note in claim.idealisations)


def test_softplus_and_logaddexp_as_jax_has_them():
    assert audit(by(lambda x: jnp.logaddexp(x, 0.0), lambda x: lax.logistic(x))).verdict == "proved"
