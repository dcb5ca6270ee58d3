# deepseek-ai/FlashMLA#203: attention returns the logarithms of its row sums as well, and its backward throws away the
# gradient at that output.
import jax
import jax.numpy as jnp


def scores(q, k):
    return q @ k.T / jnp.sqrt(q.shape[-1])


def attention(q, k, v):
    s = scores(q, k)
    lse = jax.nn.logsumexp(s, axis=-1)
    return jnp.exp(s - lse[:, None]) @ v, lse


def make(of_lse):
    rule = jax.custom_vjp(lambda q, k, v: attention(q, k, v))

    def fwd(q, k, v):
        o, lse = attention(q, k, v)
        return (o, lse), (q, k, v, o, lse)

    def bwd(res, cotangents):
        q, k, v, o, lse = res
        g, glse = cotangents
        p = jnp.exp(scores(q, k) - lse[:, None])
        row = jnp.sum(g * o, axis=-1) - of_lse(glse)
        ds = p * (g @ v.T - row[:, None]) / jnp.sqrt(q.shape[-1])
        return ds @ k, ds.T @ q, p.T @ g

    rule.defvjp(fwd, bwd)
    return rule


wrong = make(jnp.zeros_like)
right = make(lambda glse: glse)


def example():
    q = jnp.array([[0.5, -1.0], [1.0, 0.2]])
    return q, jnp.array([[0.3, 0.1], [0.7, -0.2], [0.4, 1.0]]), jnp.array([[1.0], [0.5], [-0.3]])
