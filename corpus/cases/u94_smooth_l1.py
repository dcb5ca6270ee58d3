# BobMcDear/attorch#13: the backward of the smooth L1 loss compares the difference with beta, and not its absolute
# value.
import jax
import jax.numpy as jnp


from functools import partial


def loss(x, target, beta):
    d = x - target
    a = jnp.abs(d)
    return jnp.where(a < beta, 0.5 * d * d / beta, a - 0.5 * beta)


def make(size):
    rule = partial(jax.custom_vjp, nondiff_argnums=(2,))(lambda x, target, beta=1.0: loss(x, target, beta))

    def bwd(beta, d, g):
        dx = g * jnp.where(size(d) < beta, d / beta, jnp.sign(d))
        return dx, -dx

    rule.defvjp(lambda x, target, beta: (loss(x, target, beta), x - target), bwd)
    return rule


wrong = make(lambda d: d)
right = make(jnp.abs)


def example():
    return jnp.array([-3.0, -0.5, 0.0, 1.5]), jnp.array([0.1, 0.2, 0.0, -0.3]), 1.0
