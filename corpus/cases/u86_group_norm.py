# tenstorrent/tt-metal#56202: the gradient of the scale of a group norm reads the statistics of group c % G for channel
# c, which is in group c // (C / G).
import jax
import jax.numpy as jnp


GROUPS = 2


def stats(x):
    parts = x.reshape(x.shape[0], GROUPS, -1)
    mean = parts.mean(-1)
    return mean, jax.lax.rsqrt(((parts - mean[..., None]) ** 2).mean(-1) + 1e-5)


def normed(x, group):
    mean, inverse = stats(x)
    return (x - mean[:, group]) * inverse[:, group], inverse[:, group]


def block(channels):
    return jnp.arange(channels) // (channels // GROUPS)


def make(group):
    rule = jax.custom_vjp(lambda x, scale: normed(x, block(x.shape[1]))[0] * scale)

    def bwd(res, g):
        x, scale = res
        c = x.shape[1]
        h, inverse = normed(x, block(c))
        d = g * scale
        parts = (d.reshape(x.shape[0], GROUPS, -1), (d * h).reshape(x.shape[0], GROUPS, -1))
        m, mh = (jnp.repeat(p.mean(-1), c // GROUPS, axis=1) for p in parts)
        dx = inverse * (d - m - h * mh)
        return dx, jnp.sum(g * normed(x, group(c))[0], axis=0)

    rule.defvjp(lambda x, scale: (normed(x, block(x.shape[1]))[0] * scale, (x, scale)), bwd)
    return rule


wrong = make(lambda channels: jnp.arange(channels) % GROUPS)
right = make(block)


def example():
    return jnp.array([[0.5, -1.0, 2.0, 0.3], [1.0, 0.2, -0.4, 0.7]]), jnp.array([1.0, 0.5, 2.0, -1.0])
