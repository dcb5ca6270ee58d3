"""Attention by tiles: that it is attention, in tiles of any size, and that no array of all scores is made."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad import ops


def arrays(n=6, m=8, dtype=jnp.float32):
    rng = np.random.default_rng(0)
    return [jnp.asarray(rng.normal(size=(2, *shape)), dtype) for shape in ((n, 3), (m, 3), (m, 4))]


def gradients(f, args):
    return jax.grad(lambda *a: jnp.sum(jnp.sin(f(*a))), (0, 1, 2))(*args)


@pytest.mark.slow
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("tile", [None, 1, 2, 8])
def test_it_is_attention(tile, is_causal):
    args = arrays()
    tiled = lambda *a: ops.flash_attention(*a, tile=tile, is_causal=is_causal)
    plain = lambda *a: ops.attention(*a, is_causal=is_causal)
    np.testing.assert_allclose(tiled(*args), plain(*args), rtol=1e-5, atol=1e-6)
    for got, want in zip(gradients(tiled, args), gradients(plain, args), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("size", [1e4, -1e4, 1e-30])
def test_large_and_small_scores(size):
    q, k, v = arrays()
    q = q * size
    got, want = ops.flash_attention(q, k, v, tile=2), ops.attention(q, k, v)
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4)
    assert all(bool(jnp.isfinite(x).all()) for x in gradients(lambda *a: ops.flash_attention(*a, tile=2), (q, k, v)))


def test_no_array_of_all_scores():
    """Of the sizes in the compiled gradient none has both the queries' and the keys' number."""
    n, m = 96, 80
    args = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((n, 3), (m, 3), (m, 4))]
    f = lambda *a: jax.grad(lambda *a: jnp.sum(ops.flash_attention(*a, tile=16)), (0, 1, 2))(*a)
    text = jax.jit(f).lower(*args).as_text()
    assert f"{n}x16x" in text
    assert f"{n}x{m}x" not in text
    assert f"{m}x{n}x" not in text


@pytest.mark.parametrize("tile", [3, 0, -4])
def test_a_tile_that_does_not_divide_the_keys(tile):
    with pytest.raises(ValueError, match=rf"tile={tile} do not fit its signature"):
        ops.flash_attention(*arrays(), tile=tile)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16], ids=["float32", "bfloat16"])
def test_scores_of_a_hundred_million(dtype):
    """Each query attends to one key: the weights and the cotangent of the values are as exact as those."""
    q, k, v = (1e4 * jax.random.normal(key, (8, 4)) for key in jax.random.split(jax.random.key(0), 3))
    q, k, v = (x.astype(dtype) for x in (q, k, v))
    seed = jnp.ones((8, 4), dtype)
    chosen = jax.nn.one_hot(jnp.argmax((q @ k.T).astype(float), -1), 8, dtype=dtype)
    out, pull = jax.jit(lambda *xs: jax.vjp(lambda *ys: ops.flash_attention(*ys, tile=2), *xs))(q, k, v)
    np.testing.assert_array_equal(out, chosen @ v)
    np.testing.assert_array_equal(pull(seed)[2], chosen.T @ seed)
