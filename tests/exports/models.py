"""Functions of the kinds that are trained, with their specs and the shapes of arguments."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Model = tuple[Callable[..., Any], Sequence[str], Sequence[tuple[int, ...]]]


def mlp(x: Any, W1: Any, b1: Any, W2: Any, b2: Any, y: Any) -> Any:
    h = jnp.tanh(x @ W1 + b1)
    return jnp.mean((h @ W2 + b2 - y) ** 2)


def cnn(x: Any, K: Any, W: Any, y: Any) -> Any:
    h = jax.lax.conv_general_dilated(x, K, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    h = jax.lax.reduce_window(jax.nn.relu(h), -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return jnp.mean((jnp.mean(h, axis=(1, 2)) @ W - y) ** 2)


def classifier(x: Any, W: Any, b: Any, labels: Any) -> Any:
    scores = jax.nn.log_softmax(jax.nn.relu(x @ W + b))
    return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], axis=1))


def attention(x: Any, Wq: Any, Wk: Any, Wv: Any, gain: Any, shift: Any) -> Any:
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    normal = centred * jax.lax.rsqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + 1e-5) * gain + shift
    q, k, v = normal @ Wq, normal @ Wk, normal @ Wv
    scores = jnp.einsum("bid,bjd->bij", q, k) / 2.0
    n = x.shape[1]
    scores = jnp.where(jnp.tril(jnp.ones((n, n), bool)), scores, -1e9)
    return jnp.mean((x + jax.nn.gelu(jax.nn.softmax(scores) @ v)) ** 2)


def lstm(x: Any, W: Any, U: Any, b: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        h, c = carry
        i, f, g, o = jnp.split(row @ W + h @ U + b, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    start = jnp.zeros((x.shape[1], U.shape[0]))
    return jnp.mean(jax.lax.scan(step, (start, start), x)[1] ** 2)


MODELS: dict[str, Model] = {
    "mlp": (mlp, ["n d", "d h", "h", "h k", "k", "n k"], [(4, 3), (3, 5), (5,), (5, 2), (2,), (4, 2)]),
    "cnn": (cnn, ["n 8 8 c", "3 3 c f", "f k", "n k"], [(2, 8, 8, 3), (3, 3, 3, 4), (4, 2), (2, 2)]),
    "classifier": (classifier, ["n d", "d k", "k", "n:int"], [(4, 3), (3, 5), (5,), (4,)]),
    "attention": (attention, ["b n d", *["d d"] * 3, "d", "d"], [(2, 5, 4), *[(4, 4)] * 3, (4,), (4,)]),
    "lstm": (lstm, ["t n 3", "3 16", "4 16", "16"], [(6, 2, 3), (3, 16), (4, 16), (16,)]),
}


def arrays(name: str, seed: int, dtype: Any = np.float32) -> list[np.ndarray]:
    """Arguments of a model; labels where its spec says integers."""
    random = np.random.default_rng(seed)
    _, specs, shapes = MODELS[name]
    return [
        random.integers(0, 5, shape).astype(np.int32)
        if spec.endswith(":int")
        else random.normal(size=shape).astype(dtype)
        for spec, shape in zip(specs, shapes, strict=True)
    ]
