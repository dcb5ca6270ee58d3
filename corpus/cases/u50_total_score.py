# k2-fsa/k2#341: the backward of the total score of paths returns the occupations and does not multiply them by the
# gradient at the output.
import jax
import jax.numpy as jnp


def total_score(arcs):
    return jnp.log(jnp.sum(jnp.exp(arcs), axis=-1))


wrong = jax.custom_vjp(lambda arcs: total_score(arcs))
right = jax.custom_vjp(lambda arcs: total_score(arcs))


def fwd(arcs):
    total = total_score(arcs)
    return total, (arcs, total)


def wrong_bwd(res, g):
    arcs, total = res
    return (jnp.exp(arcs - total[..., None]),)


def right_bwd(res, g):
    arcs, total = res
    return (jnp.exp(arcs - total[..., None]) * g[..., None],)


wrong.defvjp(fwd, wrong_bwd)
right.defvjp(fwd, right_bwd)


def example():
    return (jnp.array([[0.1, -0.4, 1.2], [0.3, 0.8, -1.0]]),)
