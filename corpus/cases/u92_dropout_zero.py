# kaldi-asr/kaldi#3890: the backward of dropout finds out what was dropped by dividing the output by the input; an input
# of 0 that was dropped gets the whole gradient.
import jax
import jax.numpy as jnp


def dropped(x, keep, scale):
    return jnp.where(keep, scale * x, 0.0)


def make(back):
    rule = jax.custom_vjp(lambda x, keep, scale: dropped(x, keep, scale))

    def fwd(x, keep, scale):
        y = dropped(x, keep, scale)
        return y, (x, y, keep, scale)

    def bwd(res, g):
        return back(*res, g), None, None

    rule.defvjp(fwd, bwd)
    return rule


wrong = make(lambda x, y, keep, scale, g: jnp.where(x == 0, g, y / jnp.where(x == 0, 1.0, x) * g))
right = make(lambda x, y, keep, scale, g: jnp.where(keep, scale * g, 0.0))


def example():
    return jnp.array([[0.5, -1.0, 0.0]]), jnp.array([[True, False, False]]), jnp.array(2.0)
