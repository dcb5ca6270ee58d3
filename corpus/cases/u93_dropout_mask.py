# ddbourgin/numpy-ml#94: the backward of a dropout wrapper divides by the probability to keep, and does not apply the
# mask.
import jax
import jax.numpy as jnp


from functools import partial


def dropped(x, mask, p):
    return jnp.where(mask, x, 0.0) / (1 - p)


def make(masked):
    rule = partial(jax.custom_vjp, nondiff_argnums=(2,))(lambda x, mask, p=0.25: dropped(x, mask, p))
    rule.defvjp(
        lambda x, mask, p: (dropped(x, mask, p), mask),
        lambda p, mask, g: (masked(g, mask) / (1 - p), None),
    )
    return rule


wrong = make(lambda g, mask: g)
right = make(lambda g, mask: jnp.where(mask, g, 0.0))


def example():
    return jnp.array([[0.5, -1.0, 0.3]]), jnp.array([[True, False, True]]), 0.25
