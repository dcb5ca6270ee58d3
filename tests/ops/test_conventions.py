"""What the rules return at the points that the domain excludes is what the declaration promises."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad.ops import registry
from tests.ops.sampling import PARAMS, label, number

PROMISES = [(op, point, value) for op in registry for point, value in op.convention.items()]
SPECIAL = {
    "x = y = 0": {"x": 0.0, "y": 0.0},
    "x < 0": {"x": -2.0},
    "x < -1": {"x": -3.0},
    "y < -1": {"x": 1.5, "y": -3.0},
    "y < 0": {"x": 1.5, "y": -2.0},
    "y = 0": {"x": 1.5, "y": 0.0},
}


def values(op, point):
    """The arguments at which the promise is made."""
    known = {"slope": 0.2, "x": 1.5, "y": 1.5, "target": 1.5}
    if point in SPECIAL:
        known |= SPECIAL[point]
    else:
        name, _, text = point.partition(" = ")
        known[name] = float(eval(text, {}, PARAMS | known))
    return [jnp.asarray(known[name]) for name in op.arg_names]


@pytest.mark.one_in(24)
@pytest.mark.parametrize("op, point, promised", PROMISES, ids=label)
def test_rules_return_the_convention(op, point, promised):
    args = values(op, point)
    keywords = {name: PARAMS[name] for name in op.params}
    f = lambda *xs: op(*xs, **keywords)
    known = dict(zip(op.arg_names, map(float, args), strict=True))
    want = number(promised, **known) * (len(args) if "," not in promised else 1)
    every = tuple(range(len(args)))
    np.testing.assert_allclose(jax.grad(f, every)(*args), want, rtol=1e-6)
    for i, one in enumerate(want):
        tangents = [jnp.asarray(float(i == j)) for j in every]
        np.testing.assert_allclose(jax.jvp(f, args, tangents)[1], one, rtol=1e-6)


def test_promises_are_made_at_excluded_points():
    assert len(PROMISES) >= 25
    assert all(op.domain for op, _, _ in PROMISES)


@pytest.mark.slow
def test_promises_at_kinks_hold_inside_arrays():
    from certgrad.ops import abs, clamp, leaky_relu, max, relu, sqrt

    x = jnp.asarray([-1.0, 0.0, 1.0])
    grad = lambda f: jax.grad(lambda x: jnp.sum(f(x)))(x)
    np.testing.assert_array_equal(grad(relu), [0, 0, 1])
    np.testing.assert_array_equal(grad(abs), [-1, 0, 1])
    np.testing.assert_array_equal(grad(sqrt), [0, 0, 0.5])
    np.testing.assert_array_equal(grad(lambda x: clamp(x, lo=-1, hi=1)), [0, 1, 0])
    np.testing.assert_array_equal(grad(lambda x: leaky_relu(x, negative_slope=0.25)), [0.25, 0.25, 1])
    np.testing.assert_array_equal(grad(lambda x: max(x, jnp.zeros(3))), [0, 0.5, 1])
