# mlpack/mlpack#1540: the derivative of ELU is written with what goes into the function, where it is made with what
# comes out: x + 1 for elu(x) + 1.
import jax
import jax.numpy as jnp


def elu(x):
    return jnp.where(x > 0, x, jnp.exp(jnp.minimum(x, 0)) - 1)


def make(kept):
    rule = jax.custom_vjp(lambda x: elu(x))
    rule.defvjp(lambda x: (elu(x), (x, elu(x))), lambda res, g: (jnp.where(res[0] > 0, 1.0, kept(*res) + 1) * g,))
    return rule


wrong = make(lambda x, y: x)
right = make(lambda x, y: y)


def example():
    return (jnp.array([[0.5, -1.0, -0.3]]),)
