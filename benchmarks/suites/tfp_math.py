"""Gradients of functions of TensorFlow Probability that have rules of their own, printed: a program to record."""

import jax
import jax.numpy as jnp
from tensorflow_probability.substrates import jax as tfp
from tensorflow_probability.substrates.jax.math import special

A = jnp.array([0.6, 1.5, 2.5])
B = jnp.array([1.2, 0.8, 3.0])
P = jnp.array([0.2, 0.5, 0.7])

FUNCTIONS = {
    "bessel_iv_ratio": (tfp.math.bessel_iv_ratio, A, B),
    "bessel_ive": (tfp.math.bessel_ive, A, B),
    "bessel_kve": (tfp.math.bessel_kve, A, B),
    "log_bessel_ive": (tfp.math.log_bessel_ive, A, B),
    "log_bessel_kve": (tfp.math.log_bessel_kve, A, B),
    "log_cosh": (tfp.math.log_cosh, A),
    "betainc": (tfp.math.betainc, A, B, P),
    "betaincinv": (special.betaincinv, A, B, P),
    "dawsn": (special.dawsn, A),
    "erfcx": (tfp.math.erfcx, A),
    "igammainv": (tfp.math.igammainv, A, P),
    "igammacinv": (tfp.math.igammacinv, A, P),
    "lambertw": (tfp.math.lambertw, A),
    "owens_t": (tfp.math.owens_t, A, B),
    "clip_by_value_preserve_gradient": (lambda x: tfp.math.clip_by_value_preserve_gradient(x, 0.0, 1.0), A),
    "round_exponential_bump_function": (tfp.math.round_exponential_bump_function, P),
    "sigmoid": (tfp.bijectors.Sigmoid(low=0.0, high=2.0).inverse, P),
    "softplus": (tfp.bijectors.Softplus(hinge_softness=0.5).forward, A),
    "gamma_cdf": (lambda a, b: tfp.distributions.Gamma(a, b).cdf(P), A, B),
    "student_t_cdf": (lambda df: tfp.distributions.StudentT(df, 0.0, 1.0).cdf(P), A),
    "von_mises_cdf": (lambda k: tfp.distributions.VonMises(0.0, k).cdf(P), A),
    "gamma_sample": (lambda a: tfp.distributions.Gamma(a, 1.0).sample(seed=jax.random.key(0)), A),
    "two_piece_sample": (lambda s: tfp.distributions.TwoPieceNormal(0.0, 1.0, s).sample(seed=jax.random.key(0)), A),
    "inverse_gaussian_sample": (lambda a: tfp.distributions.InverseGaussian(a, 1.0).sample(seed=jax.random.key(0)), A),
    "von_mises_sample": (lambda k: tfp.distributions.VonMises(0.0, k).sample(seed=jax.random.key(0)), A),
}


def main() -> None:
    for name, (function, *arguments) in FUNCTIONS.items():
        found = jax.grad(lambda *xs, f=function: jnp.sum(f(*xs)), range(len(arguments)))(*arguments)
        print(name, *found)


if __name__ == "__main__":
    main()
