# davisking/dlib#2518: the gradient of the loss of Barlow Twins lacks a factor 2.
import jax
import jax.numpy as jnp


LAMBDA = 0.005


def weighted(za, zb):
    d = za.shape[1]
    c = za.T @ zb / za.shape[0]
    eye = jnp.eye(d)
    return (c - eye) * jnp.where(eye > 0, 1.0, LAMBDA), c - eye


def loss(za, zb):
    scaled, difference = weighted(za, zb)
    return jnp.sum(scaled * difference)


def make(factor):
    rule = jax.custom_vjp(lambda za, zb: loss(za, zb))

    def bwd(res, g):
        za, zb = res
        d = factor * g * weighted(za, zb)[0] / za.shape[0]
        return zb @ d.T, za @ d

    rule.defvjp(lambda za, zb: (loss(za, zb), (za, zb)), bwd)
    return rule


wrong = make(1)
right = make(2)


def example():
    return jnp.array([[0.5, -1.0], [1.0, 0.2], [0.3, 0.9]]), jnp.array([[0.4, -0.8], [1.1, 0.1], [0.2, 1.0]])
