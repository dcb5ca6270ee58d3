# pytorch/pytorch#31938: leaky ReLU in place: its backward looks at the sign of the output, which is not that of the
# input where the slope is negative.
import jax
import jax.numpy as jnp


from functools import partial


def leaky(x, slope):
    return jnp.where(x > 0, x, slope * x)


def make(kept):
    rule = partial(jax.custom_vjp, nondiff_argnums=(1,))(lambda x, slope=-2.0: leaky(x, slope))
    rule.defvjp(
        lambda x, slope: (leaky(x, slope), kept(x, leaky(x, slope))),
        lambda slope, z, g: (jnp.where(z > 0, g, slope * g),),
    )
    return rule


wrong = make(lambda x, y: y)
right = make(lambda x, y: x)


def example():
    return (jnp.array([[0.5, -1.0]]), -2.0)
