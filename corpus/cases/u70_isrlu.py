# pytorch/pytorch#4355: a backward of ISRLU returns the derivative alone, and the gradient at the output is not used.
import jax
import jax.numpy as jnp


def inverse_root(x):
    return jax.lax.rsqrt(1 + jnp.minimum(x, 0) ** 2)


def make(times):
    rule = jax.custom_vjp(lambda x: x * inverse_root(x))
    rule.defvjp(lambda x: (x * inverse_root(x), inverse_root(x)), lambda r, g: (times(r**3, g),))
    return rule


wrong = make(lambda d, g: d)
right = make(lambda d, g: d * g)


def example():
    return (jnp.array([[0.5, -1.0, -0.3]]),)
