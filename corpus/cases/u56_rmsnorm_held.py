# ooples/AiDotNet#695, in a review: the backward of RMSNorm holds the root of the mean square fixed.
import jax
import jax.numpy as jnp


def root(x):
    return jnp.sqrt(jnp.mean(x**2, axis=-1, keepdims=True) + 1e-6)


def norm(x, gamma):
    return gamma * x / root(x)


def make(held):
    rule = jax.custom_vjp(lambda x, gamma: norm(x, gamma))

    def bwd(res, g):
        x, gamma = res
        r = root(x)
        dx = g * gamma / r
        if not held:
            dx = dx - x * jnp.mean(g * gamma * x, axis=-1, keepdims=True) / r**3
        return dx, jnp.sum(g * x / r, axis=0)

    rule.defvjp(lambda x, gamma: (norm(x, gamma), (x, gamma)), bwd)
    return rule


wrong = make(held=True)
right = make(held=False)


def example():
    return (jnp.array([[0.5, -1.0, 2.0], [1.0, 0.2, -0.4]]), jnp.array([1.5, 0.5, -1.0]))
