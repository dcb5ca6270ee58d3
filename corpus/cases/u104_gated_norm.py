# fla-org/flash-linear-attention#1071: the backward of a gated norm and a linear layer computes the norm's output anew,
# and takes it for the gradient of the layer's weight without the gate.
import jax
import jax.numpy as jnp

EPS = 1e-5


def normed(x, w):
    r = jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + EPS)
    return x * r, x * r * w, r


def layer(x, w, gate, weight):
    return (normed(x, w)[1] * jax.nn.silu(gate)) @ weight.T


def make(seen):
    rule = jax.custom_vjp(lambda x, w, gate, weight: layer(x, w, gate, weight))

    def bwd(res, g):
        x, w, gate, weight = res
        xhat, y, r = normed(x, w)
        s = jax.nn.sigmoid(gate)
        dgated = g @ weight
        dgate = dgated * y * s * (1 + gate * (1 - s))
        dy = dgated * gate * s
        dxhat = dy * w
        dx = r * (dxhat - xhat * jnp.mean(dxhat * xhat, axis=-1, keepdims=True))
        return dx, jnp.sum(dy * xhat, axis=0), dgate, g.T @ seen(y, gate * s)

    rule.defvjp(lambda x, w, gate, weight: (layer(x, w, gate, weight), (x, w, gate, weight)), bwd)
    return rule


wrong = make(lambda y, gate: y)
right = make(lambda y, gate: y * gate)


def example():
    x = jnp.array([[0.5, -1.0], [0.3, 0.7]])
    return x, jnp.array([1.2, 0.8]), jnp.array([[0.1, 0.4], [1.0, -0.6]]), jnp.array([[0.2, 0.9], [0.5, -0.3], [1.0, 0.1]])
