# BobMcDear/attorch#17: the correction of each row in the backward of RMSNorm lacks an axis, so that it is broadcast
# along the columns; it fails to trace but for square blocks.
import jax
import jax.numpy as jnp


def norm(x):
    return x / jnp.sqrt(jnp.mean(x**2, axis=-1, keepdims=True) + 1e-5)


def make(spread):
    rule = jax.custom_vjp(lambda x: norm(x))

    def bwd(x, g):
        r = 1 / jnp.sqrt(jnp.mean(x**2, axis=-1) + 1e-5)
        correction = jnp.mean(g * x, axis=-1) * r**3
        return (g * r[:, None] - x * spread(correction),)

    rule.defvjp(lambda x: (norm(x), x), bwd)
    return rule


wrong = make(lambda correction: correction)
right = make(lambda correction: correction[:, None])


def example():
    return (jnp.array([[0.5, -1.0], [1.0, 0.2]]),)
