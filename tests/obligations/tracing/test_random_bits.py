"""The bits that numpy computes of random keys are those that JAX draws."""

import jax
import numpy as np
import pytest

from certgrad.obligations.floats import Setting, run
from certgrad.obligations.tracing.random_bits import OtherKeysError, bits, folded, split

KEYS = {
    "one key": lambda: jax.random.key(5),
    "an array of keys": lambda: jax.random.split(jax.random.key(7), (3, 2)),
}


def of_each(function, keys, *others):
    for _ in range(keys.ndim):
        function = jax.vmap(function)
    return function(keys, *others)


@pytest.mark.parametrize("shape", [(), (3,), (2, 5), (0,)], ids=str)
@pytest.mark.parametrize("width", [8, 16, 32, 64])
@pytest.mark.parametrize("name", KEYS)
def test_bits(name, width, shape):
    keys = KEYS[name]()
    with jax.enable_x64(True):
        expected = np.asarray(of_each(lambda k: jax.random.bits(k, shape, f"uint{width}"), keys))
    found = bits({"shape": shape, "bit_width": width}, keys)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", KEYS)
def test_keys_made_of_keys(name):
    keys = KEYS[name]()
    numbers = np.arange(keys.size).reshape(keys.shape) - 1
    made = {
        "split": (split({"shape": (4, 2)}, keys), of_each(lambda k: jax.random.split(k, (4, 2)), keys)),
        "folded": (folded({}, keys, numbers), of_each(jax.random.fold_in, keys, numbers)),
    }
    for found, expected in made.values():
        np.testing.assert_array_equal(jax.random.key_data(found), jax.random.key_data(expected))


@pytest.mark.parametrize(
    "draw", [jax.random.uniform, jax.random.normal, jax.random.bernoulli], ids=lambda f: f.__name__
)
def test_what_is_drawn(draw):
    def drawn(key):
        return draw(jax.random.fold_in(jax.random.split(key, 3)[1], 4), shape=(5,))

    key = jax.random.key(11)
    (found,) = run(jax.make_jaxpr(drawn)(key), [key], Setting())
    np.testing.assert_allclose(found, np.asarray(drawn(key)), rtol=1e-6)


def test_keys_of_another_generator_are_left_to_jax():
    with pytest.raises(OtherKeysError):
        bits({"shape": (2,), "bit_width": 32}, jax.random.key(1, impl="rbg"))
