# jmschrei/cherimoya#25: the gradient of a dilated convolution is loaded, added to and stored for each tap, and taps
# that overlap lose what others stored.
import jax
import jax.numpy as jnp


STEP = 2


def conv(x, w):
    n = x.shape[0] - 2 * STEP
    return w[0] * x[:n] + w[1] * x[STEP : STEP + n] + w[2] * x[2 * STEP :]


def make(store):
    rule = jax.custom_vjp(lambda x, w: conv(x, w))

    def bwd(res, g):
        x, w = res
        n = g.shape[0]
        dx = jnp.zeros_like(x)
        for k in range(3):
            dx = store(dx.at[k * STEP : k * STEP + n], w[k] * g)
        dw = jnp.stack([jnp.sum(g * x[k * STEP : k * STEP + n]) for k in range(3)])
        return dx, dw

    rule.defvjp(lambda x, w: (conv(x, w), (x, w)), bwd)
    return rule


wrong = make(lambda at, value: at.set(value))
right = make(lambda at, value: at.add(value))


def example():
    return jnp.array([0.5, -1.0, 2.0, 0.3, 1.0, -0.4, 0.7]), jnp.array([0.2, 0.5, -1.0])
