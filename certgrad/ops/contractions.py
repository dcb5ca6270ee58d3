"""Contractions of two arrays over any axes: einsum and tensordot.

Proved is one order of the axes, in groups of any number of axes, none too: b stands in both arrays and in the output, k
in both arrays, i and j in one array and in the output. Every contraction is this one once its axes are in this order.
"""

import operator
from string import ascii_letters

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import case, op, rank_of
from certgrad.ops.axes import transpose
from certgrad.ops.reductions import reduce_sum


def _contract(x, y, batch, contracted):
    """Return the contraction b i k, b k j -> b i j: b and k are so many `batch` and `contracted` axes, i and j any."""
    last = tuple(range(x.ndim - contracted, x.ndim))
    shared = tuple(range(batch))
    return lax.dot_general(x, y, ((last, tuple(range(batch, batch + contracted))), (shared, shared)))


def _cotangents(x, y, seed, batch, contracted):
    """Return the cotangents of x and y in `_contract`: b i j, b k j -> b i k and b i k, b i j -> b k j."""
    shared = tuple(range(batch))
    of_x = tuple(range(batch, x.ndim - contracted))
    of_seed, of_y = tuple(range(batch + len(of_x), seed.ndim)), tuple(range(batch + contracted, y.ndim))
    return (
        lax.dot_general(seed, y, ((of_seed, of_y), (shared, shared))),
        lax.dot_general(x, seed, ((of_x, of_x), (shared, shared))),
    )


@op(
    case("*b *i *k, *b *k *j -> *b *i *j", batch=rank_of("b"), contracted=rank_of("k")),
    integers=True,
    like="jax.numpy.einsum",
    torch="torch.einsum",
    source="Linear in each array: the cotangents contract the seed with the other one",
)
def einsum(x, y, *, batch, contracted):
    """The contraction that an equation such as "bij,bkj->bik" says, of two arrays: einsum("bij,bkj->bik", x, y).

    No label stands twice in one array or in the output; "..." stands for leading axes that are equal in both arrays.
    """
    return _contract(x, y, batch, contracted)


@einsum.jvp
def _(x, y, dx, dy, *, batch, contracted):
    return _contract(dx, y, batch, contracted) + _contract(x, dy, batch, contracted)


@einsum.vjp
def _(x, y, seed, *, batch, contracted):
    return _cotangents(x, y, seed, batch, contracted)


@einsum.several
def _(equation, x, y):
    if not isinstance(equation, str):
        raise TypeError(f'einsum: the equation comes first, as a text such as "ij,jk->ik", not {equation!r}.')
    x, y = jnp.asarray(x), jnp.asarray(y)
    left, right, out = _labels(equation, x.ndim, y.ndim)
    x, left = _summed(x, left, {*right, *out})
    y, right = _summed(y, right, {*left, *out})
    shared = [a for a in left if a in right and a in out]
    contracted = [a for a in left if a in right and a not in out]
    of_x, of_y = [a for a in left if a not in right], [a for a in right if a not in left]
    value = einsum.call_case(
        _transposed_to(x, left, [*shared, *of_x, *contracted]),
        _transposed_to(y, right, [*shared, *contracted, *of_y]),
        batch=len(shared),
        contracted=len(contracted),
    )
    return _transposed_to(value, [*shared, *of_x, *of_y], out)


def _labels(equation, *ranks):
    """Return the labels of both arrays and of the output as lists, with unused letters in the place of "...".

    Without "->" the output has the axes of "...", then the labels that stand once, in order of the alphabet, as in
    numpy. Raises ValueError for an equation that is not of two arrays of these ranks.
    """
    inputs, arrow, out = equation.replace(" ", "").partition("->")
    parts = inputs.split(",")
    if len(parts) != 2:
        raise ValueError(f"einsum: '{equation}' is of {len(parts)} arrays; it contracts two. Contract more in steps.")
    free = [a for a in ascii_letters if a not in equation]
    dots = [rank - len(part.replace("...", "")) for part, rank in zip(parts, ranks, strict=True) if "..." in part]
    # as in numpy, the axes of "..." are aligned at the right
    expand = lambda part, n: part.replace("...", "".join(free[max(dots) - n : max(dots)]) if n else "")
    left, right = (
        expand(part, rank - len(part.replace("...", ""))) if "..." in part else part
        for part, rank in zip(parts, ranks, strict=True)
    )
    if not arrow:
        dotted = "".join(free[: max(dots)]) if dots else ""
        out = dotted + "".join(sorted(a for a in {*left, *right} - {*dotted} if (left + right).count(a) == 1))
    elif "..." in out:
        out = expand(out, max(dots, default=0))
    for labels, rank in ((left, ranks[0]), (right, ranks[1]), (out, len(out))):
        if len(set(labels)) < len(labels) or not all(map(str.isalpha, labels)):
            raise ValueError(f"einsum: '{equation}' has '{labels}'; labels are letters, each once in an array.")
        if len(labels) != rank:
            raise ValueError(f"einsum: '{equation}' has {len(labels)} labels for an array of {rank} axes.")
    if not {*out} <= {*left, *right}:
        raise ValueError(f"einsum: the output of '{equation}' has a label that stands in no array.")
    return list(left), list(right), list(out)


def _summed(x, labels, elsewhere):
    """Return the sum over the axes whose labels are not among `elsewhere`, and the labels that remain."""
    axes = tuple(i for i, a in enumerate(labels) if a not in elsewhere)
    return (reduce_sum(x, axis=axes), [a for a in labels if a in elsewhere]) if axes else (x, labels)


def _transposed_to(x, labels, wanted):
    """Return an array with these labels transposed to the order of the labels `wanted`."""
    return x if labels == wanted else transpose(x, tuple(labels.index(a) for a in wanted))


@op(
    case("*i *k, *k *j -> *i *j", contracted=rank_of("k")),
    integers=True,
    like="jax.numpy.tensordot",
    torch="torch.tensordot",
    source="Linear in each array: the cotangents contract the seed with the other one",
)
def tensordot(a, b, *, contracted):
    """Contraction of the last axes of a with the first ones of b: tensordot(a, b, axes=2), or of the named axes."""
    return _contract(a, b, 0, contracted)


@tensordot.jvp
def _(a, b, da, db, *, contracted):
    return _contract(da, b, 0, contracted) + _contract(a, db, 0, contracted)


@tensordot.vjp
def _(a, b, seed, *, contracted):
    return _cotangents(a, b, seed, 0, contracted)


@tensordot.several
def _(a, b, axes=2):
    a, b = jnp.asarray(a), jnp.asarray(b)
    if isinstance(axes, tuple | list):
        of_a, of_b = ([*one] if isinstance(one, tuple | list) else [one] for one in axes)
        if len(of_a) != len(of_b):
            raise ValueError(f"tensordot: axes = {axes} names {len(of_a)} axes of a and {len(of_b)} of b.")
        of_a, of_b = [operator.index(i) % a.ndim for i in of_a], [operator.index(i) % b.ndim for i in of_b]
        a = _transposed_to(a, [*range(a.ndim)], [*(i for i in range(a.ndim) if i not in of_a), *of_a])
        b = _transposed_to(b, [*range(b.ndim)], [*of_b, *(i for i in range(b.ndim) if i not in of_b)])
        axes = len(of_a)
    return tensordot.call_case(a, b, contracted=operator.index(axes))
