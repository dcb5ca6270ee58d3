# NVIDIA-NeMo/Automodel#2428, in a review: the backward of a cross entropy with soft targets takes the targets to sum to
# 1, which the forward does not.
import jax
import jax.numpy as jnp


def loss(x, p):
    lse = jax.nn.logsumexp(x, axis=-1)
    return jnp.mean(lse * jnp.sum(p, axis=-1) - jnp.sum(p * x, axis=-1))


def make(mass):
    rule = jax.custom_vjp(lambda x, p: loss(x, p))

    def bwd(res, g):
        x, p = res
        lse = jax.nn.logsumexp(x, axis=-1, keepdims=True)
        each = g / x.shape[0]
        return (mass(p) * jnp.exp(x - lse) - p) * each, (lse - x) * each

    rule.defvjp(lambda x, p: (loss(x, p), (x, p)), bwd)
    return rule


wrong = make(lambda p: 1.0)
right = make(lambda p: jnp.sum(p, axis=-1, keepdims=True))


def example():
    return jnp.array([[0.5, -1.0, 0.3]]), jnp.array([[0.2, 0.1, 0.4]])
