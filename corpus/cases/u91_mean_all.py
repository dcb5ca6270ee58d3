# tenstorrent/tt-metal#57360: the backward of a mean over all axes counts too few of them, and divides by too little.
import jax
import jax.numpy as jnp


def make(count):
    rule = jax.custom_vjp(lambda x: jnp.mean(x))
    rule.defvjp(lambda x: (jnp.mean(x), x), lambda x, g: (jnp.broadcast_to(g / count(x), x.shape),))
    return rule


wrong = make(lambda x: x.shape[1])
right = make(lambda x: x.shape[0] * x.shape[1])


def example():
    return (jnp.array([[0.5, -1.0, 2.0], [0.1, 0.4, -0.2]]),)
