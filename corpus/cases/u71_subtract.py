# KhawajaAbaid/micrograd_c#1: the backward of a subtraction gives its second operand the gradient with the wrong sign.
import jax
import jax.numpy as jnp


def make(sign):
    rule = jax.custom_vjp(lambda a, b: a - b)
    rule.defvjp(lambda a, b: (a - b, None), lambda _, g: (g, sign * g))
    return rule


wrong = make(1)
right = make(-1)


def example():
    return jnp.array([0.5, -1.0]), jnp.array([2.0, 0.3])
