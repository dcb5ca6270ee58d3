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


@pytest.mark.one_in(3)
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


WORDS = np.array([0, 1, 2**31 - 1, -5, -(2**31)], np.int32)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32], ids=lambda d: d.__name__)
@pytest.mark.parametrize("shift", [jax.lax.shift_left, jax.lax.shift_right_logical], ids=lambda f: f.__name__)
def test_shifts(shift, dtype):
    words, by = WORDS.astype(dtype), np.array([3, 31, 7, 1, 40], dtype)
    (found,) = run(jax.make_jaxpr(shift)(words, by), [words, by], Setting())
    np.testing.assert_array_equal(found, np.asarray(shift(words, by)))


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.uint32, np.int16], ids=lambda d: d.__name__)
def test_bitcasts(dtype):
    def cast(x):
        return jax.lax.bitcast_convert_type(x, dtype)

    (found,) = run(jax.make_jaxpr(cast)(WORDS), [WORDS], Setting())
    np.testing.assert_array_equal(found.view(np.uint8), np.asarray(cast(WORDS)).view(np.uint8))
    back = jax.make_jaxpr(lambda x: jax.lax.bitcast_convert_type(x, np.int32))(found)
    np.testing.assert_array_equal(run(back, [found], Setting())[0], WORDS)
