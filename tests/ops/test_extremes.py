"""Values and gradients in float32 and bfloat16 against the references in float64: how many ulps apart they are.

Elementwise ops are compared entry by entry at zero, at subnormal, tiny, large and infinite numbers of their domain, in
units of the last place (of at least 1 for ops of several arrays, which may cancel); all ops at ordinary points, in
units of the largest entry of the result, or of 1. An op may be as far from the truth, the reference in float64, as
`ulps` of its reference says; XLA on a CPU may count a subnormal number as 0. Where an elementwise op is farther away,
the point is listed for a reason: in `alike` if the reference in that dtype is as near to the op as `ulps` says, in
`apart` if it is not: conventions at kinks, and bad values of the reference or of the op.
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


SCALES = (1e4, 1e-4, 1e-30)

COMPARED = [op for op in registry if reference(op).derivatives > 0 and not isinstance(op, Composed)]
ELEMENTWISE = [op for op in COMPARED if elementwise(op)]
SCALED = [op for op in COMPARED if not elementwise(op) and not op.domain and reference(op).arrays is None]
"""The others that take all numbers."""


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


def values(op, arrays, keywords, dtype, over=lambda f: f):
    """The arrays; (value, cotangents) of the op and of its reference in the dtype, and of the reference in float64."""
    narrow = [jnp.asarray(x, dtype) if np.asarray(x).dtype.kind == "f" else jnp.asarray(x) for x in arrays]
    both = lambda xs: tuple(value_and_cotangents(f, xs, keywords) for f in (op.call_case, function(op)))
    ours, theirs = jax.jit(over(both))(narrow)
    with jax.enable_x64(True):
        wide = [jnp.asarray(np.asarray(x, float)) if jnp.issubdtype(x.dtype, jnp.floating) else x for x in narrow]
        truth = jax.jit(over(lambda xs: value_and_cotangents(function(op), xs, keywords)))(wide)
    return narrow, ours, theirs, truth


def distance(got, want, scale, epsilon):
    """|got - want| in ulps of the scale; 0 where both are the same infinity or nan."""
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    with np.errstate(all="ignore"):
        apart = np.abs(got - want) / (epsilon * np.maximum(scale, 2 * TINY))
    return np.where(same, 0, np.where(np.isfinite(apart), apart, np.inf))


def excess(got, want, truth, epsilon, least=None):
    """How far got is from want, in ulps of each entry of the truth (of `least` at least) or of its largest entry."""
    scale = np.nanmax(np.abs(truth), initial=1) if least is None else np.maximum(np.abs(truth), least)
    return np.where(np.isnan(truth), 0, distance(got, want, scale, epsilon))


def in_range(truth, got):
    """The truth as a number of the dtype: infinite, or 0 for a subnormal one where the op says so."""
    truth = np.where(np.abs(truth) > LARGEST, np.copysign(np.inf, truth), truth)
    return np.where((np.abs(truth) < TINY) & (got == 0), 0, truth)


def results(op, ours, theirs, truth):
    """(what, limit in ulps, value of the op, of its reference, truth) for the value and for each cotangent."""
    for what, limit, *three in zip(("value", "cotangent"), reference(op).ulps, ours, theirs, truth, strict=True):
        for k, one in enumerate(zip(*three, strict=True)):
            got, like, exact = (np.asarray(x, float) for x in one)
            yield f"{what} {k}", limit, got, like, in_range(exact, got)


def without_subnormal(x):
    return np.where(np.abs(x) < TINY, np.float32(0), x) if x.dtype.kind == "f" else x


def far_from_truth(op, dtype):
    """(how, point, what, value of the op, truth) at extreme points; how is "alike" if the reference is as far."""
    keywords = {p: PARAMS[p] for p in op.params} | op.cases[0].keywords({"s": 1}, {})
    points = grid(op)
    subnormal = np.logical_or.reduce([x != without_subnormal(x) for x in points])
    least = float(len(points) > 1)
    both = [np.stack([x, without_subnormal(x)]) for x in points]
    narrow, *three = values(op, both, keywords, dtype, over=jax.vmap)
    for what, limit, got, like, truth in results(op, *three):
        at_zero = subnormal & ((got[0] == got[1]) | np.isnan(got[0]) & np.isnan(got[1]))
        far = (excess(got, truth, truth, EPSILON[dtype], least)[0] > limit) & ~at_zero
        alike = excess(got, like, truth, EPSILON[dtype], least)[0] <= limit
        for i in np.flatnonzero(far):
            point = [float(x[0, i]) for x in narrow]
            yield "alike" if alike[i] else "apart", point, what, got[0, i], truth[0, i]


@pytest.mark.one_in(108)
@pytest.mark.parametrize("op", ELEMENTWISE, ids=label)
def test_elementwise_ops_at_extreme_points(op):
    apart, alike = reference(op).apart, reference(op).alike
    seen, unlisted = set(), []
    for dtype in (jnp.float32, jnp.bfloat16) if reference(op).half else (jnp.float32,):
        rounded = {float(jnp.asarray(x, dtype)): x for x in (*apart, *alike)}
        for how, point, *found in far_from_truth(op, dtype):
            here = {rounded[x] for x in point if x in rounded}
            seen |= here
            if not here.intersection(apart if how == "apart" else rounded.values()):
                unlisted.append((dtype.__name__, how, point, *found))
    assert unlisted == []
    assert seen == {*apart, *alike}


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.one_in(240)
@pytest.mark.parametrize("op", COMPARED, ids=label)
def test_ops_at_ordinary_points(op, dtype):
    if dtype == jnp.bfloat16 and not reference(op).half:
        pytest.skip("the reference does not compute in bfloat16")
    call = draw(op, op.cases[0], 6, jnp.float32)
    three = values(op, [np.asarray(x) for x in call.arrays], call.keywords, dtype)[1:]
    for what, limit, got, like, truth in results(op, *three):
        apart = [excess(got, want, truth, EPSILON[dtype]) for want in (truth, like)]
        assert np.max(np.minimum(*apart), initial=0) <= limit, what


def far_at_scale(op, dtype):
    """(scale, what, distance in ulps) where an op is far from the truth, and from its reference in the dtype."""
    call = draw(op, op.cases[0], 6, jnp.float32)
    arrays = [np.asarray(x) for x in call.arrays]
    scaled = [np.stack([x * np.float32(s) if x.dtype.kind == "f" else x for s in SCALES]) for x in arrays]
    for what, limit, got, like, truth in results(op, *values(op, scaled, call.keywords, dtype, over=jax.vmap)[1:]):
        for scale, ours, theirs, exact in zip(SCALES, got, like, truth, strict=True):
            largest = np.max(np.abs(exact), initial=0, where=np.isfinite(exact))
            both = [distance(ours, want, largest, EPSILON[dtype]) for want in (exact, theirs)]
            apart = np.max(np.where(np.isnan(exact), 0, np.minimum(*both)), initial=0)
            if apart > limit:
                yield scale, what, float(apart)


@pytest.mark.slow
@pytest.mark.parametrize("op", SCALED, ids=label)
def test_other_ops_at_extreme_scales(op):
    listed = reference(op).scales
    dtypes = (jnp.float32, jnp.bfloat16) if reference(op).half else (jnp.float32,)
    far = [(dtype.__name__, *found) for dtype in dtypes for found in far_at_scale(op, dtype)]
    assert [found for found in far if found[1] not in listed] == []
    assert {found[1] for found in far} == {*listed}
