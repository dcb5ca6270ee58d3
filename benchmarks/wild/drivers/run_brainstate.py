"""An embedding with its own gradient of the table."""

import brainstate
import jax
import jax.numpy as jnp
from _driver import each
from brainstate.nn._embedding import _embedding_lookup_fn

I = jnp.array([[0, 2], [1, 1]])


def layer():
    made = brainstate.nn.Embedding(5, 3)
    brainstate.transform.grad(lambda: jnp.sum(made(I) ** 2), made.states(brainstate.ParamState))()


def looked_up(padding, by_frequency):
    look = _embedding_lookup_fn(padding, by_frequency)
    jax.grad(lambda w: jnp.sum(look(w, I) ** 2))(jnp.ones((5, 3)))


each(layer, lambda: looked_up(None, False))
