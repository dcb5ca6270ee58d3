# XunhaoLai/native-sparse-attention-triton#27: the backward of attention with shared heads finds the head of the keys by
# dividing by how many heads share one, where the forward divides by how many there are.
import jax
import jax.numpy as jnp


def weights(q, k):
    return jax.nn.softmax(jnp.einsum("hnd,hmd->hnm", q, k), axis=-1)


def heads(q, count):
    return jnp.arange(q.shape[0]) % count


def attention(q, k, v):
    of = heads(q, k.shape[0])
    return jnp.einsum("hnm,hme->hne", weights(q, k[of]), v[of])


def make(count):
    rule = jax.custom_vjp(lambda q, k, v: attention(q, k, v))

    def bwd(res, g):
        q, k, v = res
        of = heads(q, k.shape[0])
        p = weights(q, k[of])
        dp = jnp.einsum("hne,hme->hnm", g, v[of])
        ds = p * (dp - jnp.sum(p * dp, axis=-1, keepdims=True))
        to = heads(q, count(q, k))
        dk = jnp.zeros_like(k).at[to].add(jnp.einsum("hnm,hnd->hmd", ds, q))
        dv = jnp.zeros_like(v).at[to].add(jnp.einsum("hnm,hne->hme", p, g))
        return jnp.einsum("hnm,hmd->hnd", ds, k[of]), dk, dv

    rule.defvjp(lambda q, k, v: (attention(q, k, v), (q, k, v)), bwd)
    return rule


wrong = make(lambda q, k: q.shape[0] // k.shape[0])
right = make(lambda q, k: k.shape[0])


def example():
    q = jnp.arange(24.0).reshape(6, 2, 2) / 10 - 1
    return q, jnp.array([[[0.3, 0.1]], [[0.7, -0.2]]]), jnp.array([[[1.0]], [[0.5]]])
