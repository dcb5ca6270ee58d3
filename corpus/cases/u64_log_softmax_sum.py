# apache/tvm#1201: the gradient of log-softmax subtracts the sum of gradient times output from each entry.
import jax
import jax.numpy as jnp


def make(minus):
    rule = jax.custom_vjp(lambda x: jax.nn.log_softmax(x))
    rule.defvjp(lambda x: (jax.nn.log_softmax(x), jax.nn.log_softmax(x)), lambda y, g: (g - minus(y, g),))
    return rule


wrong = make(lambda y, g: jnp.sum(g * y, axis=-1, keepdims=True))
right = make(lambda y, g: jnp.sum(g, axis=-1, keepdims=True) * jnp.exp(y))


def example():
    return (jnp.array([[0.1, -0.4, 1.2], [0.3, 0.8, -1.0]]),)
