# rahowa/catboost_focal_loss#2: the derivative of the focal loss by the score is not multiplied by that of the
# probability by the score, p (1 - p).
import jax
import jax.numpy as jnp


def probability(score):
    return jax.nn.sigmoid(score)


def loss(score):
    p = probability(score)
    return -((1 - p) ** 2) * jnp.log(p)


def make(chain):
    rule = jax.custom_vjp(lambda score: loss(score))

    def bwd(score, g):
        p = probability(score)
        by_p = 2 * (1 - p) * jnp.log(p) - (1 - p) ** 2 / p
        return (g * by_p * chain(p),)

    rule.defvjp(lambda score: (loss(score), score), bwd)
    return rule


wrong = make(lambda p: 1.0)
right = make(lambda p: p * (1 - p))


def example():
    return (jnp.array([[0.5, -1.0]]),)
