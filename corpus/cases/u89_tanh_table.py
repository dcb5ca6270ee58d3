# scutan90/DeepLearning-500-questions#544: the derivative of tanh is given as -tanh(x)^2; the 1 is missing.
import jax
import jax.numpy as jnp


def make(slope):
    rule = jax.custom_vjp(lambda x: jnp.tanh(x))
    rule.defvjp(lambda x: (jnp.tanh(x), jnp.tanh(x)), lambda y, g: (g * slope(y),))
    return rule


wrong = make(lambda y: -(y**2))
right = make(lambda y: 1 - y**2)


def example():
    return (jnp.array([[0.5, -1.0]]),)
