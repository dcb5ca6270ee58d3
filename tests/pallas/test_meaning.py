"""A kernel read as a program computes what it computes in JAX's interpret mode."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.core import jaxpr_as_fun

from certgrad.jaxpr.lowerings import lowered, why_not

from .kernels import MEANT, at_computed_rows, called


def call_of(f, *operands):
    (eqn,) = jax.make_jaxpr(f)(*operands).eqns
    assert eqn.primitive.name == "pallas_call"
    return eqn


def same(f, *operands):
    eqn = call_of(f, *operands)
    program = lowered(eqn)
    assert program is not None, why_not(eqn)
    found = jax.jit(jaxpr_as_fun(program))(*operands)
    expected = f(*operands)
    np.testing.assert_allclose(found[0], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.one_in(15)
@pytest.mark.parametrize("name", MEANT)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_program_computes_the_same(name, sign):
    f, shapes = MEANT[name]
    keys = jax.random.split(jax.random.key(0), len(shapes))
    operands = [sign * (jax.random.uniform(k, s) + 0.1) for k, s in zip(keys, shapes, strict=True)]
    same(f, *operands)


@pytest.mark.slow
def test_computed_rows():
    x = jnp.arange(12.0).reshape(4, 3)
    same(called(at_computed_rows, (3, 3)), x, jnp.array([2, 0, 3]))
