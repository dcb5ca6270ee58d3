# karpathy/llm.c#763, in a comment: a backward of RMSNorm in which the weight was forgotten.
import jax
import jax.numpy as jnp


def scale_of(x):
    return 1 / jnp.sqrt(jnp.mean(x**2, axis=-1, keepdims=True) + 1e-5)


def norm(x, weight):
    return x * scale_of(x) * weight


def make(weigh):
    rule = jax.custom_vjp(lambda x, weight: norm(x, weight))

    def bwd(res, g):
        x, weight = res
        r = scale_of(x)
        h = weigh(g, weight)
        dx = r * (h - x * r * jnp.mean(h * x * r, axis=-1, keepdims=True))
        return dx, jnp.sum(g * x * r, axis=0)

    rule.defvjp(lambda x, weight: (norm(x, weight), (x, weight)), bwd)
    return rule


wrong = make(lambda g, weight: g)
right = make(lambda g, weight: g * weight)


def example():
    return (jnp.array([[0.5, -1.0, 2.0], [1.0, 0.2, -0.4]]), jnp.array([1.5, 0.5, -1.0]))
