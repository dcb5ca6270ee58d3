"""numpy's values of scalar programs are JAX's, at kinks, poles and infinities too."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from certgrad.obligations.auditing import conventions as _conventions
from certgrad.obligations.floats import Setting, run
from certgrad.obligations.tracing.jax_internals import trace, wide_floats
from certgrad.ops import registry

POINTS = np.array([-np.inf, -3.0, -2.5, -1.0, -0.5, -0.0, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 7.0, np.inf, np.nan])
LIKES = [n for n in registry.names() if registry.get(n).convention and registry.get(n).like]
UNARY = {
    **{n: getattr(jnp, n) for n in "abs cbrt ceil cos cosh exp exp2 expm1 floor log log1p sign sin sinh".split()},
    **{n: getattr(jnp, n) for n in "sqrt square tan tanh acos acosh asin asinh atan atanh".split()},
    "rsqrt": lax.rsqrt,
    "neg": jnp.negative,
    "round": jnp.round,
    "a cube": lambda x: lax.integer_pow(x, 3),
    "an inverse square": lambda x: lax.integer_pow(x, -2),
    "a clamp": lambda x: lax.clamp(-1.0, x, 1.0),
    "a choice": lambda x: jnp.where((x > 0) & ~(x >= 2) | (x == -1), x, 1 / x),
    "a cast": lambda x: jnp.floor(x * 2).astype(bool).astype(float),
}
BINARY = {"atan2": jnp.arctan2, "pow": lax.pow, "max": jnp.maximum, "min": jnp.minimum, "div": jnp.divide}


def compare(function, columns):
    with wide_floats():
        program = trace(lambda *a: [function(*a)], [jax.ShapeDtypeStruct((), np.float64) for _ in columns])
        mine = [run(program, [*map(np.asarray, point)], Setting())[0] for point in zip(*columns, strict=True)]
        theirs = jax.jit(jax.vmap(function))(*columns)
    np.testing.assert_allclose(mine, theirs, rtol=1e-12)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name):
    compare(UNARY[name], [POINTS])


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_numbers(name):
    x, y = np.meshgrid(POINTS, POINTS)
    compare(BINARY[name], [x.ravel(), y.ravel()])


@pytest.mark.one_in(9)
@pytest.mark.parametrize("name", LIKES)
def test_the_gradients_of_conventions(name, monkeypatch):
    op = registry.get(name)
    mine = _conventions._gradients_of_like(op)

    def compiled(function, columns):
        gradient = jax.grad(lambda *a: jnp.sum(function(*a)), argnums=tuple(range(len(columns))))
        return jax.jit(jax.vmap(gradient))(*map(jnp.asarray, columns))

    monkeypatch.setattr(_conventions, "gradients", compiled)
    assert _conventions._gradients_of_like(op) == mine
