"""A bijection that is inverted by search."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from _driver import each
from flowjax.bijections import Affine, Chain, NumericalInverse
from flowjax.root_finding import bisect_check_expand_search, root_finder_to_inverter


def inverted():

    search = root_finder_to_inverter(partial(bisect_check_expand_search, midpoint=jnp.zeros(()), width=jnp.ones(())))
    made = NumericalInverse(Chain([Affine(jnp.zeros(()), jnp.ones(()))]), search)
    eqx.filter_grad(lambda b: jnp.sum(b.inverse(jnp.array(0.3))))(made)
    jax.grad(lambda x: made.inverse(x))(0.3)


each(inverted)
