"""A cell of a few branches, simulated and differentiated."""

import jax
import jax.numpy as jnp
import jaxley as jx
from _driver import each
from jaxley.channels import Leak


def simulated():
    cell = jx.Cell(jx.Branch(jx.Compartment(), ncomp=1), parents=[-1, 0, 0])
    cell.insert(Leak())
    cell.branch(0).loc(0.0).stimulate(0.1 * jnp.ones(3))
    cell.branch(1).loc(0.0).record(verbose=False)
    cell.make_trainable("Leak_gLeak", verbose=False)
    params = cell.get_parameters()
    jax.grad(lambda p: jnp.sum(jx.integrate(cell, params=p)))(params)


each(simulated)
