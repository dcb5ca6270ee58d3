# linkedin/Liger-Kernel#584: the backward of a cross entropy that is not reduced multiplies the gradients of all rows by
# the gradient at the output of the first one.
import jax
import jax.numpy as jnp


def losses(logits, labels):
    return jax.nn.logsumexp(logits, axis=-1) - jnp.take_along_axis(logits, labels[:, None], axis=-1)[:, 0]


def make(of_row):
    rule = jax.custom_vjp(lambda logits, labels: losses(logits, labels))

    def bwd(res, g):
        logits, labels = res
        d = jax.nn.softmax(logits) - (jnp.arange(logits.shape[-1]) == labels[:, None])
        return of_row(g) * d, None

    rule.defvjp(lambda logits, labels: (losses(logits, labels), (logits, labels)), bwd)
    return rule


wrong = make(lambda g: g[0])
right = make(lambda g: g[:, None])


def example():
    return (jnp.array([[0.1, -0.4, 1.2], [0.3, 0.8, -1.0]]), jnp.array([1, 2]))
