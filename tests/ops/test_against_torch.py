"""Calls with PyTorch's arguments return what PyTorch returns, and its gradients."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad import ops

torch = pytest.importorskip("torch")
F = torch.nn.functional
LABELS = np.array([0, -100, 2, 1])
CLASSES = np.array([0, 1, 2, 1])

CALLS = {
    "conv1d": (
        lambda x, k: ops.conv1d(x, k, stride=3, padding=2),
        lambda x, k: F.conv1d(x, k, None, 3, 2),
        [(2, 4, 11), (6, 4, 3)],
    ),
    "conv2d, strided, padded, grouped": (
        lambda x, k: ops.conv2d(x, k, stride=2, padding=1, groups=2),
        lambda x, k: F.conv2d(x, k, None, 2, 1, 1, 2),
        [(2, 4, 9, 8), (6, 2, 3, 3)],
    ),
    "conv2d, dilated": (
        lambda x, k: ops.conv2d(x, k, padding=(2, 1), dilation=2),
        lambda x, k: F.conv2d(x, k, None, 1, (2, 1), 2),
        [(2, 4, 9, 8), (6, 4, 3, 3)],
    ),
    "conv3d": (
        lambda x, k: ops.conv3d(x, k, stride=2, padding=(1, 0, 2), groups=2),
        lambda x, k: F.conv3d(x, k, None, 2, (1, 0, 2), 1, 2),
        [(2, 4, 6, 5, 3), (6, 2, 3, 2, 3)],
    ),
    "conv_transpose2d": (
        lambda x, k: ops.conv_transpose2d(x, k, stride=2, padding=1, output_padding=1, groups=2),
        lambda x, k: F.conv_transpose2d(x, k, None, 2, 1, 1, 2),
        [(2, 4, 5, 6), (4, 3, 3, 3)],
    ),
    "max_pool2d": (
        lambda x: ops.max_pool2d(x, 3, strides=2, padding=1),
        lambda x: F.max_pool2d(x, 3, 2, 1),
        [(2, 4, 8, 9)],
    ),
    "max_pool2d, cropped": (lambda x: ops.max_pool2d(x, 2), lambda x: F.max_pool2d(x, 2), [(2, 4, 7, 9)]),
    "avg_pool2d": (
        lambda x: ops.avg_pool2d(x, 3, strides=2, padding=1),
        lambda x: F.avg_pool2d(x, 3, 2, 1),
        [(2, 4, 8, 9)],
    ),
    "group_norm": (
        lambda x, g, b: ops.group_norm(x, g, b, num_groups=2),
        lambda x, g, b: F.group_norm(x, 2, g, b),
        [(2, 4, 3, 3), (4,), (4,)],
    ),
    "instance_norm": (
        lambda x, g, b: ops.instance_norm(x, g, b),
        lambda x, g, b: F.instance_norm(x, None, None, g, b),
        [(3, 4, 5, 2), (4,), (4,)],
    ),
    "batch_norm": (
        lambda x, g, b: ops.batch_norm(x, g, b, axis=1),
        lambda x, g, b: F.batch_norm(x, None, None, g, b, True),
        [(3, 4, 5), (4,), (4,)],
    ),
    "gru_cell": (ops.gru_cell, torch.gru_cell, [(2, 3), (2, 4), (12, 3), (12, 4), (12,), (12,)]),
    "lstm_cell": (
        lambda x, h, c, *w: sum(ops.lstm_cell(x, h, c, *w)),
        lambda x, h, c, *w: sum(torch.lstm_cell(x, (h, c), *w)),
        [(2, 3), (2, 4), (2, 4), (16, 3), (16, 4), (16,), (16,)],
    ),
    "multi_margin": (
        lambda x: ops.multi_margin(x, CLASSES, margin=0.5),
        lambda x: F.multi_margin_loss(x, torch.tensor(CLASSES), margin=0.5),
        [(4, 3)],
    ),
    "cross_entropy_labels": (
        lambda x: ops.cross_entropy_labels(x, LABELS, label_smoothing=0.1),
        lambda x: F.cross_entropy(x, torch.tensor(LABELS), label_smoothing=0.1),
        [(4, 3)],
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_value_and_gradients(name):
    ours, theirs, shapes = CALLS[name]
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    tensors = [torch.tensor(a, requires_grad=True) for a in arrays]
    want = theirs(*tensors)
    seed = rng.normal(size=tuple(want.shape)).astype(np.float32)
    want.backward(torch.tensor(seed))
    value, gradients = jax.jit(lambda *xs: ((pair := jax.vjp(ours, *xs))[0], pair[1](jnp.asarray(seed))))(*arrays)
    np.testing.assert_allclose(value, want.detach().numpy(), rtol=1e-4, atol=1e-5)
    for got, tensor in zip(gradients, tensors, strict=True):
        np.testing.assert_allclose(got, tensor.grad.numpy(), rtol=1e-3, atol=1e-4)
