# chelsea0x3b/dfdx#915, in a review: the derivative of SiLU lacks the brackets of its numerator.
import jax
import jax.numpy as jnp


def silu(x):
    return x / (1 + jnp.exp(-x))


def make(slope):
    rule = jax.custom_vjp(lambda x: silu(x))
    rule.defvjp(lambda x: (silu(x), x), lambda x, g: (g * slope(x, jnp.exp(-x)),))
    return rule


wrong = make(lambda x, e: 1 + e + x * e / (1 + e) ** 2)
right = make(lambda x, e: (1 + e + x * e) / (1 + e) ** 2)


def example():
    return (jnp.array([[0.5, -1.0]]),)
