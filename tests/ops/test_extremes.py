"""Values and gradients in float32 and bfloat16 against the references in float64: how many ulps apart they are.

Elementwise ops are compared entry by entry at zero, at subnormal, tiny, large and infinite numbers of their domain, in
units of the last place (of at least 1 for ops of several arrays, which may cancel); all ops at ordinary points, in
units of the largest entry of the result, or of 1. An op may be as far from the truth as `ulps` of its reference says,
or as the reference itself is in that dtype; XLA on a CPU may count a subnormal number as 0. `apart` lists the points
where the two disagree for a reason: conventions at kinks, and bad values of the reference or of the op.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad.ops import Composed, registry
from tests.ops.references import function, reference
from tests.ops.sampling import PARAMS, draw, holds, label

SIZES = (1e-40, 1e-20, 1e-3, 0.3, 1.0, 2.5, 20.0, 90.0, 1e4, np.inf)
POINTS = np.asarray([*(-x for x in reversed(SIZES)), 0.0, *SIZES], np.float32)
TINY = float(np.finfo(np.float32).tiny)
LARGEST = float(np.finfo(np.float32).max)
EPSILON = {jnp.float32: 2.0**-23, jnp.bfloat16: 2.0**-7}


def elementwise(op):
    signature = op.cases[0].signature
    specs = (*signature.inputs, *signature.outputs)
    return not signature.names and {str(spec).partition(":")[0] for spec in specs} == {"*s"}


COMPARED = [op for op in registry if reference(op).derivatives > 0 and not isinstance(op, Composed)]
ELEMENTWISE = [op for op in COMPARED if elementwise(op)]


def every_fourth(ops):
    """All the ops; those between are marked slow."""
    return [pytest.param(op, marks=pytest.mark.slow if k % 4 else (), id=label(op)) for k, op in enumerate(ops)]


PROBABILITIES = {("focal", "target")}
"""Arguments that are looked at from 0 to 1 only: elsewhere what focal raises to a power cancels."""


def grid(op):
    """All combinations of the points that lie in the domain, a column an argument."""
    unit = POINTS[(POINTS >= 0) & (POINTS <= 1)]
    specs = op.cases[0].signature.inputs
    columns = [POINTS if spec.dtype == "float" else [False, True] for spec in specs]
    for k, name in enumerate(op.arg_names):
        if (op.name, name) in PROBABILITIES:
            columns[k] = unit
    arrays = [np.asarray(column) for column in zip(*itertools.product(*columns), strict=True)]
    known = {n: x.astype(float) for n, x in zip(op.arg_names, arrays, strict=True)} | {p: PARAMS[p] for p in op.params}
    with np.errstate(all="ignore"):
        inside = np.logical_and.reduce([np.full(len(arrays[0]), True), *(holds(text, known) for text in op.domain)])
    return [x[inside] for x in arrays]


def value_and_cotangents(f, arrays, keywords):
    """For the float arguments; the seed varies around 1."""
    moving = [i for i, x in enumerate(arrays) if jnp.issubdtype(x.dtype, jnp.floating)]

    def run(*floats):
        full = list(arrays)
        for i, x in zip(moving, floats, strict=True):
            full[i] = x
        return f(*full, **keywords)

    value, pull = jax.vjp(run, *(arrays[i] for i in moving))
    return jax.tree.leaves(value), pull(jax.tree.map(_seed, value))


def _seed(y):
    return (1 + jnp.sin(jnp.arange(y.size, dtype=float)) / 2).reshape(y.shape).astype(y.dtype)


def three(op, arrays, keywords, dtype):
    """The arrays; of the op and of its reference in the dtype (value, cotangents); of the reference in float64."""
    narrow = [jnp.asarray(x, dtype) if np.asarray(x).dtype.kind == "f" else jnp.asarray(x) for x in arrays]
    both = lambda xs: tuple(value_and_cotangents(f, xs, keywords) for f in (op.one, function(op)))
    ours, theirs = jax.jit(both)(narrow)
    with jax.enable_x64(True):
        wide = [jnp.asarray(np.asarray(x, float)) if jnp.issubdtype(x.dtype, jnp.floating) else x for x in narrow]
        truth = jax.jit(lambda xs: value_and_cotangents(function(op), xs, keywords))(wide)
    return narrow, ours, theirs, truth


def distance(got, want, scale, epsilon):
    """|got - want| in ulps of the scale; 0 where both are the same infinity or nan."""
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    with np.errstate(all="ignore"):
        apart = np.abs(got - want) / (epsilon * np.maximum(scale, 2 * TINY))
    return np.where(same, 0, np.where(np.isfinite(apart), apart, np.inf))


def excess(ours, theirs, truth, epsilon, entrywise, least):
    """How far the op is from the truth, or from the reference in its dtype if that is nearer."""
    ours, theirs, truth = (np.asarray(x, float) for x in (ours, theirs, truth))
    truth = np.where(np.abs(truth) > LARGEST, np.copysign(np.inf, truth), truth)
    scale = np.maximum(np.abs(truth), least) if entrywise else np.nanmax(np.abs(truth), initial=1)
    own = np.minimum(distance(ours, truth, scale, epsilon), distance(ours, theirs, scale, epsilon))
    return np.where(np.isnan(truth), 0, own)


def _without_subnormal(x):
    return np.where(np.abs(x) < TINY, np.float32(0), x) if x.dtype.kind == "f" else x


def too_far(op, arrays, keywords, dtype, entrywise):
    """(what, argument, value of the op, truth) at each entry that is farther away than allowed."""
    narrow, ours, theirs, truth = three(op, arrays, keywords, dtype)
    subnormal = np.zeros(ours[0][0].shape, bool)
    if entrywise:
        at_zero = three(op, [_without_subnormal(x) for x in arrays], keywords, dtype)[1]
        subnormal = np.logical_or.reduce([x != _without_subnormal(x) for x in arrays])
    allowed = reference(op).ulps
    for kind, limit in ((0, allowed[0]), (1, allowed[1])):
        for k, (a, b, c) in enumerate(zip(ours[kind], theirs[kind], truth[kind], strict=True)):
            far = excess(a, b, c, EPSILON[dtype], entrywise, float(len(arrays) > 1)) > limit
            if entrywise:
                z = at_zero[kind][k]
                far &= ~(subnormal & np.asarray((a == z) | (jnp.isnan(a) & jnp.isnan(z))))
            for place in np.argwhere(far):
                at = [float(x[tuple(place)]) for x in narrow] if entrywise else place.tolist()
                yield ("value", f"cotangent {k}")[kind], at, float(a[tuple(place)]), float(c[tuple(place)])


@pytest.mark.parametrize("op", every_fourth(ELEMENTWISE))
def test_elementwise_ops_at_extreme_points(op):
    keywords = {p: PARAMS[p] for p in op.params} | op.cases[0].keywords({"s": 1}, {})
    apart = {float(np.float32(x)) for x in reference(op).apart}
    found = list(too_far(op, grid(op), keywords, jnp.float32, entrywise=True))
    assert [one for one in found if not apart.intersection(one[1])] == []
    assert {x for x in apart if any(x in one[1] for one in found)} == apart


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("op", every_fourth(COMPARED))
def test_ops_at_ordinary_points(op, dtype):
    if dtype == jnp.bfloat16 and not reference(op).half:
        pytest.skip("the reference does not compute in bfloat16")
    call = draw(op, op.cases[0], 6, jnp.float32)
    arrays = [np.asarray(x) for x in call.arrays]
    assert list(too_far(op, arrays, call.keywords, dtype, entrywise=False)) == []
