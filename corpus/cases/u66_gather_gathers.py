# ooples/AiDotNet.Tensors#894: the backward of a gather is itself a gather, whose indices are wrapped to their number.
import jax
import jax.numpy as jnp


def gather(x, index):
    return x[index]


wrong = jax.custom_vjp(lambda x, index: gather(x, index))
right = jax.custom_vjp(lambda x, index: gather(x, index))


def fwd(x, index):
    return gather(x, index), (x, index)


def wrong_bwd(res, g):
    x, index = res
    return g[index[jnp.arange(x.shape[0]) % index.shape[0]]], None


def right_bwd(res, g):
    x, index = res
    return jnp.zeros_like(x).at[index].add(g), None


wrong.defvjp(fwd, wrong_bwd)
right.defvjp(fwd, right_bwd)


def example():
    return jnp.array([[0.1], [0.2], [0.3]]), jnp.array([1, 0, 1])
