"""Axes: contractions, broadcasting, axes of size 1, index conditions."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from certgrad.obligations import audit
from certgrad.ops._declare import axis_of, case
from tests.obligations.traps import Trap, declare, error

where = jnp.where
A = np.array([[1.0, 2.0], [3.0, 5.0]])
B = np.array([[2.0, 1.0], [0.0, 7.0]])
V = np.array([1.0, -2.0, 3.0])


def matmul(vjp, signature="n d, d m -> n m"):
    return declare(signature, lambda a, b: a @ b, lambda a, b, da, db: da @ b + a @ db, vjp)


def reduced(forward, jvp, vjp, signature="n d -> d"):
    return declare(signature, forward, jvp, vjp)


def steps(x):
    """x[1:] - x[:-1]."""
    n = x.shape[0]
    return lax.slice_in_dim(x, 1, n) - lax.slice_in_dim(x, 0, n - 1)


def padded(g, end):
    zero = jnp.zeros((1,), g.dtype)
    return jnp.concatenate([g, zero] if end else [zero, g])


def differences(vjp):
    return declare("n+1 -> n", steps, lambda x, dx: steps(dx), lambda x, g: vjp(g))


CONTRACTIONS = [
    Trap(
        "square matmul: the cotangents swapped",
        matmul(lambda a, b, g: (a.T @ g, g @ b.T), "n n, n n -> n n"),
        at=(A, B),
        right=matmul(lambda a, b, g: (g @ b.T, a.T @ g), "n n, n n -> n n"),
    ),
    Trap(
        "square matmul: a transpose forgotten",
        matmul(lambda a, b, g: (g @ b, a.T @ g), "n n, n n -> n n"),
        at=(A, B),
        right=matmul(lambda a, b, g: (g @ b.T, a.T @ g)),
    ),
    Trap(
        "square matmul: both factors and the result transposed",
        matmul(lambda a, b, g: ((b @ g.T), a.T @ g), "n n, n n -> n n"),
        at=(A, B),
        right=matmul(lambda a, b, g: ((b @ g.T).T, (g.T @ a).T)),
    ),
    Trap(
        "an outer product the wrong way round",
        declare(
            "n, n -> n n",
            lambda a, b: a[:, None] * b[None, :],
            lambda a, b, da, db: da[:, None] * b + a[:, None] * db,
            lambda a, b, g: (g.T @ b, g @ a),
        ),
        at=(V, V + 1),
        right=declare(
            "n, n -> n n",
            lambda a, b: a[:, None] * b[None, :],
            lambda a, b, da, db: da[:, None] * b + a[:, None] * db,
            lambda a, b, g: (g @ b, g.T @ a),
        ),
    ),
    Trap(
        "batch axes: a batch summed away in one cotangent",
        declare(
            "b n n, b n n -> b n n",
            lambda a, b: a @ b,
            lambda a, b, da, db: da @ b + a @ db,
            lambda a, b, g: (
                g @ jnp.swapaxes(jnp.mean(b, axis=0, keepdims=True) + 0 * b, -1, -2),
                jnp.swapaxes(a, -1, -2) @ g,
            ),
        ),
        at=(np.stack([A, B]), np.stack([B, A])),
        right=declare(
            "b n n, b n n -> b n n",
            lambda a, b: a @ b,
            lambda a, b, da, db: da @ b + a @ db,
            lambda a, b, g: (g @ jnp.swapaxes(b, -1, -2), jnp.swapaxes(a, -1, -2) @ g),
        ),
    ),
    Trap(
        "the mean is not the sum",
        reduced(
            lambda x: jnp.sum(x, axis=0),
            lambda x, dx: jnp.sum(dx, axis=0),
            lambda x, g: jnp.broadcast_to(g / x.shape[0], x.shape),
        ),
        at=(A,),
        right=reduced(
            lambda x: jnp.sum(x, axis=0), lambda x, dx: jnp.sum(dx, axis=0), lambda x, g: jnp.broadcast_to(g, x.shape)
        ),
    ),
    Trap(
        "the other axis, where both have one size",
        reduced(
            lambda x: jnp.sum(x * x, axis=0),
            lambda x, dx: jnp.sum(2 * x * dx, axis=0),
            lambda x, g: 2 * x * g[:, None],
            "n n -> n",
        ),
        at=(A,),
        right=reduced(
            lambda x: jnp.sum(x * x, axis=0),
            lambda x, dx: jnp.sum(2 * x * dx, axis=0),
            lambda x, g: 2 * x * g[None, :],
            "n n -> n",
        ),
    ),
    Trap(
        "concatenation gives the halves back in the wrong order",
        declare(
            "n, n -> 2*n",
            lambda a, b: jnp.concatenate([a, b]),
            lambda a, b, da, db: jnp.concatenate([da, db]),
            lambda a, b, g: tuple(jnp.split(g, 2)[::-1]),
        ),
        at=(V, V),
        right=declare(
            "n, n -> 2*n",
            lambda a, b: jnp.concatenate([a, b]),
            lambda a, b, da, db: jnp.concatenate([da, db]),
            lambda a, b, g: tuple(jnp.split(g, 2)),
        ),
    ),
    Trap("an index shifted by one", differences(lambda g: padded(g, 1) - padded(g, 1)), at=(V,)),
    Trap("both ends exchanged", differences(lambda g: padded(g, 1) - padded(g, 0)), at=(V,)),
    Trap(
        "an iota that starts at 1",
        declare(
            "n -> ",
            lambda x: jnp.sum(x * jnp.arange(x.shape[0])),
            lambda x, dx: jnp.sum(dx * jnp.arange(x.shape[0])),
            lambda x, g: g * (jnp.arange(x.shape[0]) + 1.0),
        ),
        at=(V,),
        right=declare(
            "n -> ",
            lambda x: jnp.sum(x * jnp.arange(x.shape[0])),
            lambda x, dx: jnp.sum(dx * jnp.arange(x.shape[0])),
            lambda x, g: g * jnp.arange(x.shape[0]),
        ),
    ),
    Trap(
        "a triangular mask the wrong way",
        declare(
            "n n -> n n",
            lambda x: where(jnp.arange(x.shape[0])[:, None] >= jnp.arange(x.shape[0])[None, :], x, 0.0),
            lambda x, dx: where(jnp.arange(x.shape[0])[:, None] >= jnp.arange(x.shape[0])[None, :], dx, 0.0),
            lambda x, g: where(jnp.arange(x.shape[0])[:, None] <= jnp.arange(x.shape[0])[None, :], g, 0.0),
        ),
        at=(A,),
        right=declare(
            "n n -> n n",
            lambda x: where(jnp.arange(x.shape[0])[:, None] >= jnp.arange(x.shape[0])[None, :], x, 0.0),
            lambda x, dx: where(jnp.arange(x.shape[0])[:, None] >= jnp.arange(x.shape[0])[None, :], dx, 0.0),
        ),
    ),
    Trap(
        "a triangular mask without its diagonal",
        declare(
            "n n -> n n",
            lambda x: where(jnp.arange(x.shape[0])[:, None] >= jnp.arange(x.shape[0])[None, :], x, 0.0),
            lambda x, dx: where(jnp.arange(x.shape[0])[:, None] > jnp.arange(x.shape[0])[None, :], dx, 0.0),
        ),
        at=(A,),
    ),
    Trap(
        "an iota cast down",
        declare(
            "n -> n",
            lambda x: x * (lax.broadcasted_iota(x.dtype, x.shape, 0) * 0.5).astype(jnp.int32).astype(x.dtype),
            lambda x, g: g * lax.broadcasted_iota(x.dtype, x.shape, 0) * 0.5,
        ),
        at=(V,),
    ),
]


def unbroadcast(g, shape):
    """Sum the cotangent back to the argument's shape."""
    g = jnp.sum(g, axis=tuple(range(g.ndim - len(shape))))
    axes = tuple(k for k, n in enumerate(shape) if isinstance(n, int) and n == 1)
    return jnp.sum(g, axis=axes, keepdims=True) if axes else g


def by_size(g, shape):
    """The same, but drops the axes whose size does not occur in the target."""
    if g.ndim > len(shape):
        g = jnp.sum(g, axis=tuple([k for k in range(g.ndim) if g.shape[k] not in shape][: g.ndim - len(shape)]))
    axes = tuple(k for k in range(len(shape)) if g.shape[k] != shape[k])
    return jnp.sum(g, axis=axes, keepdims=True) if axes else g


def averaged(g, shape):
    """Keeps the shape by means where it should sum."""
    g = jnp.mean(g, axis=tuple(range(g.ndim - len(shape))))
    axes = tuple(k for k, n in enumerate(shape) if isinstance(n, int) and n == 1)
    return jnp.mean(g, axis=axes, keepdims=True) if axes else g


def multiply(back):
    return declare(
        "*s, *s -> *s",
        lambda x, y: x * y,
        lambda x, y, dx, dy: dx * y + x * dy,
        lambda x, y, g: (back(g * y, x.shape), back(g * x, y.shape)),
        broadcast=True,
    )


def test_broadcasting_that_forgets_to_sum():
    wrong = multiply(averaged)
    assert error(wrong, (A, V[:2])) > 0.1
    assert audit(wrong).verdict == "refuted"


def test_broadcasting_by_size():
    """Right unless the two axes happen to be of one size, or none matches."""
    certificate = audit(multiply(by_size))
    assert not certificate.verdict.startswith("proved")


def test_broadcasting_with_an_axis_of_one_against_n():
    wrong = declare(
        "n 1, n m -> n m",
        lambda x, y: x * y,
        lambda x, y, dx, dy: dx * y + x * dy,
        lambda x, y, g: (jnp.mean(g * y, axis=1, keepdims=True), g * x),
    )
    assert error(wrong, (A[:, :1], B)) > 0.1
    assert audit(wrong).verdict == "refuted"
    right = declare(
        "n 1, n m -> n m",
        lambda x, y: x * y,
        lambda x, y, dx, dy: dx * y + x * dy,
        lambda x, y, g: (jnp.sum(g * y, axis=1, keepdims=True), g * x),
    )
    assert audit(right).verdict == "proved"


def squeezed(vjp):
    return declare("n 1 -> n", lambda x: jnp.squeeze(x, 1), lambda x, dx: jnp.squeeze(dx, 1), vjp)


def test_axes_counted_from_the_end():
    def forward(x, *, axis):
        return jnp.sum(x, axis=axis)

    right = declare(
        case("*a n *c -> *a *c", axis=axis_of("n")),
        forward,
        lambda x, dx, *, axis: jnp.sum(dx, axis=axis),
        lambda x, g, *, axis: jnp.expand_dims(g, axis) + 0 * x,
    )
    assert audit(right).verdict == "proved"
    wrong = declare(
        case("*a n *c -> *a *c", axis=axis_of("n")),
        forward,
        lambda x, dx, *, axis: jnp.sum(dx, axis=axis),
        lambda x, g, *, axis: jnp.expand_dims(g, axis) + x,
    )
    assert audit(wrong).verdict == "refuted"


def test_a_repeated_argument_size():
    assert audit(squeezed(lambda x, g: g[:, None])).verdict == "proved"
