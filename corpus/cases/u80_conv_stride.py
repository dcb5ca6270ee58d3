# enggen/Deep-Learning-Coursera#7: in the backward of a convolution the window does not move by the stride.
import jax
import jax.numpy as jnp


STRIDE, WIDTH = 2, 3


def windows(x, outputs, step):
    places = step * jnp.arange(outputs)[:, None] + jnp.arange(WIDTH)[None, :]
    return places, x[places]


def conv(x, w):
    outputs = (x.shape[0] - WIDTH) // STRIDE + 1
    return windows(x, outputs, STRIDE)[1] @ w


def make(step):
    rule = jax.custom_vjp(lambda x, w: conv(x, w))

    def bwd(res, g):
        x, w = res
        places, slices = windows(x, g.shape[0], step)
        return jnp.zeros_like(x).at[places].add(g[:, None] * w[None, :]), slices.T @ g

    rule.defvjp(lambda x, w: (conv(x, w), (x, w)), bwd)
    return rule


wrong = make(1)
right = make(STRIDE)


def example():
    return jnp.array([0.5, -1.0, 2.0, 0.3, 1.0, -0.4, 0.7]), jnp.array([0.2, 0.5, -1.0])
