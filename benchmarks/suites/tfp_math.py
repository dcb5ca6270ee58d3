"""Gradients of functions of TensorFlow Probability that have rules of their own, printed: a program to record."""

import jax
import jax.numpy as jnp
from tensorflow_probability.substrates import jax as tfp

A = jnp.array([0.6, 1.5, 2.5])
B = jnp.array([1.2, 0.8, 3.0])
P = jnp.array([0.2, 0.5, 0.7])

FUNCTIONS = {
    "bessel_iv_ratio": (tfp.math.bessel_iv_ratio, A, B),
    "log_cosh": (tfp.math.log_cosh, A),
    "erfcx": (tfp.math.erfcx, A),
    "igammainv": (tfp.math.igammainv, A, P),
    "lambertw": (tfp.math.lambertw, A),
    "clip_by_value_preserve_gradient": (lambda x: tfp.math.clip_by_value_preserve_gradient(x, 0.0, 1.0), A),
    "round_exponential_bump_function": (tfp.math.round_exponential_bump_function, P),
    "sigmoid": (tfp.bijectors.Sigmoid(low=0.0, high=2.0).inverse, P),
    "softplus": (tfp.bijectors.Softplus(hinge_softness=0.5).forward, A),
}


def main() -> None:
    for name, (function, *arguments) in FUNCTIONS.items():
        found = jax.grad(lambda *xs, f=function: jnp.sum(f(*xs)), range(len(arguments)))(*arguments)
        print(name, *found)


if __name__ == "__main__":
    main()
