"""Perturbed optimisers, isotonic regression, and solvers differentiated at their solution."""

import jax
import jax.numpy as jnp
import jaxopt
from _driver import each
from jaxopt import isotonic, perturbations, projection

X = jnp.array([0.3, 1.0, -0.2])
KEY = jax.random.PRNGKey(0)


def largest(x):
    return jax.nn.one_hot(jnp.argmax(x), x.size)


def perturbed(make, f):
    jax.grad(lambda x: jnp.sum(make(f, num_samples=2)(x, KEY)))(X)


def solver():
    f = lambda w, a: jnp.sum((w - a) ** 2) + jnp.sum(w**4)  # noqa: E731
    made = jaxopt.GradientDescent(f, maxiter=5)
    jax.grad(lambda a: jnp.sum(made.run(jnp.zeros(3), a).params))(X)


each(
    lambda: perturbed(perturbations.make_perturbed_argmax, largest),
    lambda: perturbed(perturbations.make_perturbed_max, largest),
    lambda: perturbed(perturbations.make_perturbed_fun, jnp.max),
    lambda: jax.grad(lambda x: isotonic.isotonic_l2_pav(x)[0])(X),
    lambda: jax.grad(lambda x: projection.projection_simplex(x)[0])(X),
    solver,
)
