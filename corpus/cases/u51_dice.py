# milesial/Pytorch-UNet#35: the quotient rule of the dice coefficient has a plus for its minus.
import jax
import jax.numpy as jnp


def parts(pred, target):
    return jnp.sum(pred * target), jnp.sum(pred) + jnp.sum(target)


def dice(pred, target):
    inter, union = parts(pred, target)
    return 2 * inter / union


wrong = jax.custom_vjp(lambda pred, target: dice(pred, target))
right = jax.custom_vjp(lambda pred, target: dice(pred, target))


def fwd(pred, target):
    return dice(pred, target), (pred, target)


def wrong_bwd(res, g):
    pred, target = res
    inter, union = parts(pred, target)
    return g * 2 * (target * union + inter) / union**2, None


def right_bwd(res, g):
    pred, target = res
    inter, union = parts(pred, target)
    return g * 2 * (target * union - inter) / union**2, None


wrong.defvjp(fwd, wrong_bwd)
right.defvjp(fwd, right_bwd)


def example():
    return jnp.array([[0.2, 0.9, 0.4]]), jnp.array([[0.0, 1.0, 1.0]])
