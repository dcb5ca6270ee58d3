"""Convolutions of (batch, channels, ..) with kernels (out, in, ..), as in PyTorch.

What is proved is the form without padding, whose windows fill the input: all sizes are symbolic, the number of groups
too; strides and dilations are the declared ones. A call pads or crops first, by ops of their own.
"""

import operator

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import case, op, size_of
from certgrad.ops.padding import pad
from certgrad.ops.slicing import slice

_AXES = "hwt"
_SOURCE = "LeCun et al. 1989; both cotangents are convolutions"


def _dims(rank, text):
    return " ".join(text.format(axis) for axis in _AXES[:rank])


def _cases(rank, *configurations, transposed=False):
    """Return a case for each (stride, dilation) in `configurations`, the same along all axes of the window."""
    cases = []
    for stride, dilation in configurations:
        whole = _dims(rank, f"{stride}*m{{0}}-{stride}+{dilation}*k{{0}}-{dilation}+1")
        part, kernel = _dims(rank, "m{0}"), f"g*o c {_dims(rank, 'k{0}')}"
        arrays = (
            f"b g*o {part}, {kernel} -> b g*c {whole}" if transposed else f"b g*c {whole}, {kernel} -> b g*o {part}"
        )
        cases.append(case(arrays, stride=(stride,) * rank, dilation=(dilation,) * rank, groups=size_of("g")))
    return tuple(cases)


def _conv(x, kernel, stride, dilation, groups):
    return lax.conv_general_dilated(x, kernel, stride, "VALID", rhs_dilation=dilation, feature_group_count=groups)


def _to_input(ct, kernel, stride, dilation, groups):
    """Return the input's cotangent: `ct`, spread by the stride with zeros between, convolved with the turned kernel."""
    edges = [d * (k - 1) for k, d in zip(kernel.shape[2:], dilation, strict=True)]
    widths = [(0, 0, 0), (0, 0, 0), *((e, e, s - 1) for e, s in zip(edges, stride, strict=True))]
    spread = lax.pad(ct, jnp.zeros((), ct.dtype), widths)
    return _conv(spread, _turned(kernel, groups), [1] * len(edges), dilation, groups)


def _turned(kernel, groups):
    """Return a kernel (g*o, c, ..) as (g*c, o, ..), reversed along the axes of the window; g counts the groups."""
    o, c, *window = kernel.shape
    split = jnp.reshape(kernel, (groups, o // groups, c, *window))
    turned = jnp.reshape(jnp.swapaxes(split, 1, 2), (groups * c, o // groups, *window))
    return jnp.flip(turned, tuple(range(2, turned.ndim)))


def _to_kernel(x, ct, stride, dilation, groups):
    """Return the kernel's cotangent: the input convolved with `ct`, with a sum over the batch."""
    batch, channels, *sizes = x.shape
    split = jnp.reshape(x, (batch, groups, channels // groups, *sizes))
    lines = jnp.reshape(jnp.swapaxes(split, 0, 2), (channels // groups, groups * batch, *sizes))
    return jnp.swapaxes(_conv(lines, jnp.swapaxes(ct, 0, 1), dilation, stride, groups), 0, 1)


def _integers_per_axis(value, rank):
    """Return an integer for each of `rank` axes, from one for all or a list of one an axis."""
    values = tuple(value) if isinstance(value, tuple | list) else (value,) * rank
    return tuple(map(operator.index, values))


def _call_with_torch_arguments(one, x, kernel, stride, padding, dilation, groups):
    """Return a call of `one`, a `call_case`, with the arguments of PyTorch's convolutions.

    The cases take no padding, and windows that fill the input exactly; so the input is padded first, and then cropped
    at the end of each axis.
    """
    x, kernel = jnp.asarray(x), jnp.asarray(kernel)
    rank = x.ndim - 2
    stride, dilation = _integers_per_axis(stride, rank), _integers_per_axis(dilation, rank)
    window = [d * (k - 1) + 1 for k, d in zip(kernel.shape[2:], dilation, strict=True)]
    if isinstance(padding, str):
        padding = lax.padtype_to_pads(x.shape[2:], window, stride, padding.upper())
    pairs = padding if isinstance(padding, list | tuple) else (padding,) * rank
    x = pad(x, [(0, 0), (0, 0), *(p if isinstance(p, list | tuple) else (p, p) for p in pairs)])
    for axis, (w, s) in enumerate(zip(window, stride, strict=True), start=2):
        size = x.shape[axis]
        if size < w:
            raise ValueError(f"{one.__self__.name}: the kernel {kernel.shape} is larger than the padded x {x.shape}.")
        if (size - w) % s:
            x = slice(x, start=0, length=size - (size - w) % s, axis=axis)
    return one(x, kernel, stride=stride, dilation=dilation, groups=groups)


def _transposed(one, x, kernel, stride, padding, output_padding, dilation, groups):
    """Return a call of `one`, a `call_case`, with the arguments of PyTorch's transposed convolutions.

    `output_padding` adds zeros after each axis of the output, and `padding` crops it at both ends.
    """
    x, kernel = jnp.asarray(x), jnp.asarray(kernel)
    rank = x.ndim - 2
    stride, padding, further, dilation = (
        _integers_per_axis(v, rank) for v in (stride, padding, output_padding, dilation)
    )
    y = pad(
        one(x, kernel, stride=stride, dilation=dilation, groups=groups), [(0, 0), (0, 0), *((0, q) for q in further)]
    )
    for axis, p in enumerate(padding, start=2):
        y = slice(y, start=p, length=y.shape[axis] - 2 * p, axis=axis) if p else y
    return y


def _vjp(x, kernel, seed, **how):
    return _to_input(seed, kernel, **how), _to_kernel(x, seed, **how)


@op(*_cases(1, (1, 1), (2, 1), (3, 1), (1, 2)), torch="torch.nn.functional.conv1d", source=_SOURCE)
def conv1d(x, kernel, *, stride, dilation, groups):
    """Convolution along one axis: x (batch, channels, n), kernel (out, channels / groups, k).

    A call takes stride, padding (an integer, one an axis, pairs, "SAME" or "VALID"), dilation and groups, as PyTorch's.
    """
    return _conv(x, kernel, stride, dilation, groups)


@conv1d.jvp
def _(x, kernel, dx, dkernel, **how):
    return _conv(dx, kernel, **how) + _conv(x, dkernel, **how)


@conv1d.vjp
def _(x, kernel, seed, **how):
    return _vjp(x, kernel, seed, **how)


@conv1d.several
def _(x, kernel, *, stride=1, padding=0, dilation=1, groups=1):
    return _call_with_torch_arguments(conv1d.call_case, x, kernel, stride, padding, dilation, groups)


@op(*_cases(2, (1, 1), (2, 1), (1, 2)), torch="torch.nn.functional.conv2d", source=_SOURCE)
def conv2d(x, kernel, *, stride, dilation, groups):
    """Convolution of images: x (batch, channels, h, w), kernel (out, channels / groups, kh, kw).

    A call takes stride, padding (an integer, one an axis, pairs, "SAME" or "VALID"), dilation and groups, as PyTorch's.
    """
    return _conv(x, kernel, stride, dilation, groups)


@conv2d.jvp
def _(x, kernel, dx, dkernel, **how):
    return _conv(dx, kernel, **how) + _conv(x, dkernel, **how)


@conv2d.vjp
def _(x, kernel, seed, **how):
    return _vjp(x, kernel, seed, **how)


@conv2d.several
def _(x, kernel, *, stride=1, padding=0, dilation=1, groups=1):
    return _call_with_torch_arguments(conv2d.call_case, x, kernel, stride, padding, dilation, groups)


@op(*_cases(3, (1, 1), (2, 1), (1, 2)), torch="torch.nn.functional.conv3d", source=_SOURCE)
def conv3d(x, kernel, *, stride, dilation, groups):
    """Convolution of volumes: x (batch, channels, h, w, t), kernel (out, channels / groups, kh, kw, kt).

    A call takes stride, padding (an integer, one an axis, pairs, "SAME" or "VALID"), dilation and groups, as PyTorch's.
    """
    return _conv(x, kernel, stride, dilation, groups)


@conv3d.jvp
def _(x, kernel, dx, dkernel, **how):
    return _conv(dx, kernel, **how) + _conv(x, dkernel, **how)


@conv3d.vjp
def _(x, kernel, seed, **how):
    return _vjp(x, kernel, seed, **how)


@conv3d.several
def _(x, kernel, *, stride=1, padding=0, dilation=1, groups=1):
    return _call_with_torch_arguments(conv3d.call_case, x, kernel, stride, padding, dilation, groups)


@op(
    *_cases(1, (1, 1), (2, 1), transposed=True),
    torch="torch.nn.functional.conv_transpose1d",
    source="Zeiler et al. 2010: the transpose of conv1d in its input",
)
def conv_transpose1d(x, kernel, *, stride, dilation, groups):
    """Transposed convolution: x (batch, channels, ..), kernel (channels, out / groups, ..).

    A call takes stride, padding, output_padding, dilation and groups, as PyTorch's.
    """
    return _to_input(x, kernel, stride, dilation, groups)


@conv_transpose1d.jvp
def _(x, kernel, dx, dkernel, **how):
    return _to_input(dx, kernel, **how) + _to_input(x, dkernel, **how)


@conv_transpose1d.vjp
def _(x, kernel, seed, **how):
    return _conv(seed, kernel, **how), _to_kernel(seed, x, **how)


@conv_transpose1d.several
def _(x, kernel, *, stride=1, padding=0, output_padding=0, dilation=1, groups=1):
    return _transposed(conv_transpose1d.call_case, x, kernel, stride, padding, output_padding, dilation, groups)


@op(
    *_cases(2, (1, 1), (2, 1), transposed=True),
    torch="torch.nn.functional.conv_transpose2d",
    source="Zeiler et al. 2010: the transpose of conv2d in its input",
)
def conv_transpose2d(x, kernel, *, stride, dilation, groups):
    """Transposed convolution: x (batch, channels, ..), kernel (channels, out / groups, ..).

    A call takes stride, padding, output_padding, dilation and groups, as PyTorch's.
    """
    return _to_input(x, kernel, stride, dilation, groups)


@conv_transpose2d.jvp
def _(x, kernel, dx, dkernel, **how):
    return _to_input(dx, kernel, **how) + _to_input(x, dkernel, **how)


@conv_transpose2d.vjp
def _(x, kernel, seed, **how):
    return _conv(seed, kernel, **how), _to_kernel(seed, x, **how)


@conv_transpose2d.several
def _(x, kernel, *, stride=1, padding=0, output_padding=0, dilation=1, groups=1):
    return _transposed(conv_transpose2d.call_case, x, kernel, stride, padding, output_padding, dilation, groups)
