# pytorch/pytorch#32876, in a review: the backward of logcumsumexp multiplies by exp(-result) twice, and does not return
# the reversed sum that it has made.
import jax
import jax.numpy as jnp


def logcumsumexp(x):
    return jnp.log(jnp.cumsum(jnp.exp(x), axis=-1))


def reversed_sum(x):
    return jnp.flip(jnp.cumsum(jnp.flip(x, -1), axis=-1), -1)


def make(inner):
    rule = jax.custom_vjp(lambda x: logcumsumexp(x))

    def bwd(res, g):
        x, y = res
        return (inner(g * jnp.exp(-y), y) * jnp.exp(x),)

    rule.defvjp(lambda x: (logcumsumexp(x), (x, logcumsumexp(x))), bwd)
    return rule


wrong = make(lambda d, y: d * jnp.exp(-y))
right = make(lambda d, y: reversed_sum(d))


def example():
    return (jnp.array([[0.5, -1.0, 0.2]]),)
