"""Each primitive's meaning, evaluated at concrete sizes, is what JAX computes in double precision."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb, fmpq
from jax import lax

from certgrad.obligations._evaluate import UndecidedError, evaluate
from certgrad.obligations._facts import NEG, POS, ZERO, Facts
from certgrad.obligations._index import template
from certgrad.obligations._jax_internals import shape_polys, symbols, trace, wide_floats
from certgrad.obligations._satisfiable import _true
from certgrad.obligations._semantics_inputs import argument
from certgrad.obligations._sums import reset_fresh
from certgrad.obligations._terms import clear_caches
from certgrad.obligations.semantics import RULES, Context, UnprovedError, interpret

where = jnp.where
SIZES = {"n": 3, "m": 2}
GRID = [fmpq(k, 4) for k in range(-12, 13)]
X = ("x", "n", "float")
Y = ("y", "n", "float")
K = ("k", "n", "int")
P = ("p", "n", "bool")
Q = ("q", "n", "bool")
M = ("a", "n m", "float")
N = ("b", "m n", "float")
S = ("s", "n n", "float")


def softmax(a):
    powers = jnp.exp(a - jnp.max(a, axis=1, keepdims=True))
    return powers / jnp.sum(powers, axis=1, keepdims=True)


def conv(x, k, strides, padding="VALID", base=None, dilation=None, groups=1, batches=1):
    return lax.conv_general_dilated(
        x, k, strides, padding, base, dilation, feature_group_count=groups, batch_group_count=batches
    )


UNARY = (
    "abs acos acosh asin asinh atan atanh cbrt ceil cos cosh digamma erf erf_inv erfc exp exp2 expm1 floor "
    "lgamma log log1p logistic neg rsqrt sign sin sinh sqrt square tan tanh is_finite stop_gradient"
).split()
BINARY = "add atan2 div eq ge gt le lt max min mul ne pow sub".split()

CASES = {name: (getattr(lax, name), [X]) for name in UNARY} | {name: (getattr(lax, name), [X, Y]) for name in BINARY}
CASES |= {
    "and": (lambda p, q: p & q, [P, Q]),
    "or": (lambda p, q: p | q, [P, Q]),
    "xor": (lambda p, q: p ^ q, [P, Q]),
    "not": (lambda p: ~p, [P]),
    "eq of booleans": (lambda p, q: p == q, [P, Q]),
    "ne of booleans": (lambda p, q: p != q, [P, Q]),
    "max of booleans": (lambda p, q: lax.max(p, q), [P, Q]),
    "min of booleans": (lambda p, q: lax.min(p, q), [P, Q]),
    "lt of booleans": (lambda p, q: lax.lt(p, q), [P, Q]),
    "select_n": (lambda p, x, y: lax.select_n(p, x, y), [P, X, Y]),
    "clamp": (lambda x, y: lax.clamp(-0.5, x, 1.0), [X, Y]),
    "clamp, bounds crossed": (lambda x, y: lax.clamp(jnp.ones_like(x), x, y), [X, Y]),
    "integer_pow": (lambda x: x**3, [X]),
    "integer_pow, negative": (lambda x: lax.integer_pow(x, -2), [X]),
    "integer_pow, zero": (lambda x: lax.integer_pow(x, 0), [X]),
    "pow, rational": (lambda x: x**0.75, [X]),
    "pow, negative rational": (lambda x: x**-1.5, [X]),
    "pow, whole": (lambda x: lax.pow(x, 3.0), [X]),
    "pow of 0": (lambda x: lax.pow(0.0 * x, x), [X]),
    "round, to even": (lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), [X]),
    "round, away from 0": (lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), [X]),
    "polygamma": (lambda x: lax.polygamma(jnp.ones_like(x), x), [X]),
    "copy": (lambda x: lax.optimization_barrier(x), [X]),
    "reduce_precision": (lambda x: lax.reduce_precision(x, 11, 52), [X]),
    "convert: float to bool": (lambda x: x.astype(bool), [X]),
    "convert: bool to float": (lambda p: p.astype(float), [P]),
    "convert: int to float": (lambda k: k.astype(float), [K]),
    "convert: int to bool": (lambda k: k.astype(bool), [K]),
    "convert: float to int": (lambda x: x.astype(int), [X]),
    "integers: add and compare": (lambda k: (k + 1 > 0) & (2 * k <= 3), [K]),
    "integers: sign, abs, power": (lambda k: jnp.sign(k) * jnp.abs(k) ** 3, [K]),
    "integers: division": (lambda k: lax.div(k, jnp.full_like(k, 2)), [K]),
    "transpose": (lambda a: a.T, [M]),
    "transpose and add": (lambda a, b: a + b.T, [M, N]),
    "reshape": (lambda a: a.reshape(a.shape[0], 1, a.shape[1]), [M]),
    "squeeze": (lambda a: jnp.squeeze(a[:, None, :], 1), [M]),
    "expand_dims": (lambda x: jnp.expand_dims(x, 0), [X]),
    "broadcast_in_dim": (lambda a, x: a * x[:, None], [M, X]),
    "broadcast a square": (lambda x, y: x[:, None] - y[None, :], [X, Y]),
    "concatenate": (lambda x, y: jnp.concatenate([x, y, x * y]), [X, Y]),
    "concatenate and sum": (lambda x, y: jnp.sum(jnp.concatenate([x, y]) ** 2), [X, Y]),
    "concatenate, sum one axis": (lambda a, b: jnp.sum(jnp.concatenate([a.T, b * b], axis=1), axis=1), [M, N]),
    "split": (lambda x, y: jnp.split(jnp.concatenate([x, y]), 2)[1], [X, Y]),
    "slice": (lambda x: lax.slice_in_dim(jnp.concatenate([x, 2 * x]), 1, x.shape[0] + 1), [X]),
    "iota": (lambda x: x * jnp.arange(x.shape[0]), [X]),
    "iota compared": (lambda a: where(jnp.arange(a.shape[0])[:, None] >= jnp.arange(a.shape[1])[None, :], a, 0.0), [M]),
    "iota compared and summed": (lambda x: jnp.sum(where(jnp.arange(x.shape[0]) < 1, x, 2 * x)), [X]),
    "iota of floats, cast": (lambda x: (lax.broadcasted_iota(float, x.shape, 0) * 0.5).astype(int) * x, [X]),
    "dim_as_value": (lambda a: a / a.shape[0] + a.shape[1] ** 2, [M]),
    "reduce_sum": (lambda a: jnp.sum(a, axis=0), [M]),
    "reduce_sum, all": (lambda a: jnp.sum(a * a) ** 2, [M]),
    "reduce_sum of booleans": (lambda p: jnp.sum(p), [P]),
    "reduce_sum of what does not depend": (lambda a, x: jnp.sum(a * 0 + x[:, None], axis=1), [M, X]),
    "reduce_max": (lambda a: jnp.max(a, axis=1), [M]),
    "reduce_min": (lambda a: jnp.min(a, axis=0), [M]),
    "reduce_max, all": (lambda a: jnp.max(a) - jnp.min(a), [M]),
    "reduce_max of a sum": (lambda a, x: jnp.max(a + x[:, None], axis=1), [M, X]),
    "dot_general": (lambda a, b: a @ b, [M, N]),
    "dot_general, other side": (lambda a, b: b @ a, [M, N]),
    "dot_general, both axes": (lambda a, b: jnp.einsum("ij,ji->", a, b), [M, N]),
    "dot_general, a chain": (lambda a, b: a @ b @ a, [M, N]),
    "dot_general, batched": (lambda a, b: jnp.einsum("ij,ji->i", a, b), [M, N]),
    "dot_general of booleans": (lambda p, q: lax.dot(p, q), [P, Q]),
    "custom_linear_solve": (lambda a, b: jnp.linalg.solve(a, b), [S, M]),
    "custom_linear_solve, a vector": (lambda a, x: jnp.linalg.solve(a, x), [S, X]),
    "custom_linear_solve, a batch": (lambda a, b: jnp.linalg.solve(a[None] + b[:, :, None], b[..., None]), [S, N]),
    "custom_linear_solve, transposed": (lambda a, b: jnp.linalg.solve(a.T, b) @ b.T @ jnp.linalg.solve(a, b), [S, M]),
    "custom_linear_solve, a sum": (lambda a, b: (a + a.T) @ jnp.linalg.solve(a + 2 * a.T, b), [S, M]),
    "custom_linear_solve, undone": (lambda a, b: a @ jnp.linalg.solve(3 * a, b), [S, M]),
    "custom_linear_solve, twice": (lambda a, b: jnp.linalg.solve(a, jnp.linalg.solve(a.T, a @ b)), [S, M]),
    "custom_linear_solve, a Gram matrix": (lambda a, b: jnp.linalg.solve(b @ a, b @ a @ b), [M, N]),
    "triangular_solve": (
        lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True) + jnp.tril(a) @ b, [S, M]
    ),
    "triangular_solve, upper on the right": (
        lambda a, b: lax.linalg.triangular_solve(a, b, left_side=False, lower=False) + b @ jnp.triu(a, 1), [S, N]
    ),
    "triangular_solve, unit and transposed": (
        lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, unit_diagonal=True, transpose_a=True), [S, M]
    ),
    "triangular_solve, undone": (
        lambda a, b: jnp.tril(a) @ lax.linalg.triangular_solve(a, b, left_side=True, lower=True), [S, M]
    ),
    "cholesky": (lambda a: jnp.linalg.cholesky(a @ a.T + jnp.eye(a.shape[0])), [S]),
    "cholesky, undone": (lambda a: (lambda c: c @ c.T)(jnp.linalg.cholesky(a @ a.T)), [S]),
    "cholesky, of what is not symmetric": (
        lambda a: lax.linalg.cholesky(a + 9 * jnp.eye(a.shape[0]), symmetrize_input=False), [S]
    ),
    "cholesky, its inverse twice": (
        lambda a, b: jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(a @ a.T), True), b), [S, M]
    ),
    "cholesky, undone from the left": (
        lambda a: jnp.linalg.solve(a @ a.T, jnp.linalg.cholesky(a @ a.T)), [S]
    ),
    "jax.numpy.linalg.slogdet": (lambda a: tuple(jnp.linalg.slogdet(a)), [S]),
    "jax.numpy.linalg.slogdet, det": (lambda a: jnp.linalg.det(a), [S]),
    "slice, strided": (lambda x: jnp.concatenate([x, x * x])[1::2], [X]),
    "slice, of both axes": (lambda a: jnp.exp(jnp.pad(a, 2)[1:-1, ::2]), [M]),
    "rev": (lambda a: jnp.flip(a, 0) * a[:, ::-1], [M]),
    "pad": (lambda a, x: lax.pad(a, 2.0 * x[0], [(1, 2, 0), (0, 1, 0)]), [M, X]),
    "pad, negative": (lambda a: lax.pad(jnp.pad(a, 1), 0.5, [(-1, 2, 0), (1, -2, 0)]), [M]),
    "pad, interior": (lambda a: lax.pad(a, 1.5, [(1, 0, 1), (-1, 2, 2)]) ** 2, [M]),
    "dynamic_slice": (lambda x, k: lax.dynamic_slice(jnp.concatenate([x, x]), (k[0],), (2,)), [X, K]),
    "dynamic_slice, both axes": (lambda a, k: lax.dynamic_slice(jnp.tile(a, (2, 2)), (k[0], k[1]), (2, 2)), [M, K]),
    "dynamic_update_slice": (lambda a, k: lax.dynamic_update_slice(jnp.tile(a, (2, 2)), a[:1], (k[0], k[1])), [M, K]),
    "reduce_window_sum": (lambda a: lax.reduce_window(a, 0.0, lax.add, (2, 2), (1, 1), "SAME"), [M]),
    "reduce_window_sum, in full": (
        lambda a: lax.reduce_window(a, 0.0, lax.add, (2, 3), (2, 1), ((1, 2), (0, 3)), (2, 3), (2, 1)) ** 2,
        [M],
    ),
    "conv_general_dilated": (lambda a, b: conv(a[None], b[..., None] * jnp.arange(1.0, 3.0), (1,), ((1, 1),)), [M, N]),
    "conv_general_dilated, in full": (
        lambda a, b: conv(
            jnp.tile(a, (1, 4))[None], jnp.tile(b[..., None], (2, 1, 2)), (2,), ((2, 1),), (2,), (3,), groups=1
        ),
        [M, N],
    ),
    "conv_general_dilated, feature groups": (
        lambda a, b: conv(jnp.tile(a, (2, 3))[None], jnp.tile(b, (4, 1))[..., None], (1,), groups=2), [M, N]
    ),
    "conv_general_dilated, batch groups": (
        lambda a: conv(jnp.tile(a[:, :, None], (2, 1, 3)), jnp.tile(a.T[:, :, None], (2, 1, 1)), (1,), batches=2),
        [S],
    ),
    "conv_general_dilated, another layout": (
        lambda a, b: lax.conv_general_dilated(
            a[:, None, :], b[:, :, None], (1,), ((1, 1),), dimension_numbers=("CNH", "HIO", "HCN")
        ),
        [M, N],
    ),
    "cumsum": (lambda a: lax.cumsum(a, 0) * lax.cumsum(a, 1, reverse=True), [M]),
    "cumsum, summed": (lambda x: jnp.sum(lax.cumsum(x) * jnp.arange(x.shape[0])), [X]),
    "reshape, merging": (lambda a: a.reshape(-1) * 2, [M]),
    "reshape, merging and splitting": (lambda a, b: a.reshape(b.shape) * b, [M, N]),
    "reshape, of a transpose": (lambda a: jnp.exp(a.T.reshape(-1)), [M]),
    "reshape, three axes": (lambda a, x: (a[None] * x[:, None, None]).reshape(x.shape[0], -1).sum(0), [M, X]),
    "reshape, permuted": (lambda a: lax.reshape(a, (a.shape[0] * a.shape[1],), dimensions=(1, 0)), [M]),
    "reshape, numbers": (lambda x: (x[:, None] * jnp.arange(6.0)).reshape(-1, 3, 2).sum(1), [X]),
    "tile": (lambda a: jnp.tile(a, (2, 3)), [M]),
    "tile, and summed": (lambda a: jnp.sum(jnp.tile(a, (2, 3)) ** 2, axis=1), [M]),
    "gather": (lambda a, k: a[k], [M, K]),
    "gather, clipped": (lambda a, k: jnp.take(a, k, axis=0, mode="clip"), [M, K]),
    "gather, filled": (lambda a, k: jnp.take(a, k, axis=1), [M, K]),
    "gather, along an axis": (lambda a, k: jnp.take_along_axis(a, k[:, None], axis=1), [M, K]),
    "gather, two indices": (lambda a, k: a[k, k[0]], [M, K]),
    "gather, of windows": (
        lambda x, k: jax.vmap(lambda i: lax.dynamic_slice(jnp.concatenate([x, x]), (i,), (2,)))(k), [X, K]
    ),
    "gather, a diagonal": (lambda a: jnp.tile(a, (1, 2))[jnp.arange(3), jnp.arange(3)], [M]),
    "scatter-add": (lambda a, k, b: a.at[k].add(b.T), [M, K, N]),
    "scatter-add, clipped": (lambda a, k, b: a.at[k].add(b.T, mode="clip"), [M, K, N]),
    "scatter-add, segments": (lambda x, k: jax.ops.segment_sum(x, k, num_segments=2), [X, K]),
    "scatter_add, along an axis": (lambda a, k, x: a.at[jnp.arange(a.shape[0]), k].add(x), [M, K, X]),
    "scatter": (lambda a, k, x: a.at[k[0], 1].set(x[0]), [M, K, X]),
    "scatter, a row": (lambda a, k, b: a.at[k[0]].set(b[:, 0]), [M, K, N]),
    "scatter, several": (lambda x, k, y: x.at[k].set(y), [X, K, Y]),
    "integers: clamp and choose": (lambda x, k: x * jnp.clip(k, 0, 1) + where(k == 1, k, -k), [X, K]),
    "integers: quotient": (lambda x: x * lax.div(jnp.arange(x.shape[0]), 2), [X]),
    "stack": (lambda x, y: jnp.stack([x, y, x * y], 1), [X, Y]),
    "unstack": (lambda a: jnp.unstack(jnp.tile(a, (1, 2))[:, :2], axis=1)[1], [M]),
    "platform_index": (lambda s: jnp.diagonal(s) ** 2, [S]),
    "one_hot": (lambda a, k: jnp.sum(a * jax.nn.one_hot(k, a.shape[1]), axis=1), [M, K]),
    "a causal mask": (lambda a: softmax(where(jnp.tri(a.shape[0], dtype=bool), a @ a.T, -9.0)), [M]),
    "softmax": (lambda a: softmax(a), [M]),
    "variance": (lambda a: jnp.var(a, axis=0), [M]),
    "where, nested": (lambda x, y: where(x > y, where(y > 0, x / y, x), jnp.sqrt(jnp.abs(x))), [X, Y]),
    "logsumexp": (lambda a: jnp.log(jnp.sum(jnp.exp(a), axis=0)), [M]),
}  # fmt: skip

REFUSED = {
    "scatter, several",
    "convert: float to int",
    "integers: division",
    "dot_general of booleans",
    "iota of floats, cast",
}
"""Where the calculus may decline; if it does not, it must be right."""


def programs(name):
    """The function's outputs as tensors of terms."""
    f, arguments = CASES[name]
    clear_caches()
    reset_fresh()
    dims = symbols(list(dict.fromkeys(d for _, shape, _ in arguments for d in shape.split())))
    kinds = {"float": np.float64, "int": np.int64, "bool": np.bool_}
    with wide_floats():
        specs = [
            jax.ShapeDtypeStruct(tuple(dims[d] for d in shape.split()), kinds[kind]) for _, shape, kind in arguments
        ]
        program = trace(f, specs)
    inputs = [argument(n, shape_polys(s), kind) for (n, _, kind), s in zip(arguments, specs, strict=True)]
    context = Context(Facts())
    return interpret(context, program, inputs, [True] * len(program.jaxpr.outvars)), arguments


def table(arguments, rng):
    """Random entries on a grid, ties and zeros among them."""
    out = {}
    for name, shape, kind in arguments:
        for index in itertools.product(*(range(SIZES[d]) for d in shape.split())):
            if kind == "float":
                out[name, index] = GRID[rng.integers(len(GRID))]
            else:
                out[name, index] = fmpq(int(rng.integers(-2, 3) if kind == "int" else rng.integers(0, 2)))
    return out


def arrays(arguments, entries):
    for name, shape, kind in arguments:
        sizes = tuple(SIZES[d] for d in shape.split())
        x = np.zeros(sizes)
        for index in np.ndindex(*sizes):
            x[index] = float(arb(entries[name, index]).mid())
        yield {"float": x, "int": x.astype(np.int64), "bool": x > 0}[kind]


@pytest.mark.parametrize("name", CASES)
def test_a_primitive_means_what_jax_computes(name):
    try:
        tensors, arguments = programs(name)
    except UnprovedError:
        assert name in REFUSED
        return
    rng = np.random.default_rng(7)
    compiled = jax.jit(CASES[name][0])
    for _ in range(25):
        entries = table(arguments, rng)
        with jax.enable_x64(True):
            found = jax.tree_util.tree_leaves(compiled(*map(jnp.asarray, arrays(arguments, entries))))
        for tensor, numbers in zip(tensors, found, strict=True):
            compare(tensor, np.asarray(numbers), entries)


def compare(tensor, numbers, entries):
    assert tensor.rank == numbers.ndim

    def value(t, i):
        return entries.get((t, i), fmpq(5, 3))  # out of range: stands in terms that cancel

    for index in np.ndindex(*numbers.shape):
        env = {template(k): i for k, i in enumerate(index)}
        defined = all(holds(c, value, env) for c in tensor.defined)
        number = float(numbers[index])
        if not np.isfinite(number):
            assert not defined, (tensor.body, index)
            continue
        if not defined:
            continue  # JAX may return a number where the calculus claims nothing
        try:
            exact = evaluate(tensor.body, SIZES, value, env)
        except UndecidedError:
            continue
        assert abs(float(exact.mid()) - number) <= 1e-9 * max(1.0, abs(number)), (tensor.body, index, exact, number)
        sign = POS if exact > 0 else NEG if exact < 0 else ZERO
        assert tensor.signs & sign, (tensor.body, tensor.signs, exact)


def holds(clause, value, env):
    """The clause at these indices, for all values of its other variables."""
    others = sorted(clause.free - env.keys())
    for choice in itertools.product(range(max(SIZES.values())), repeat=len(others)):
        here = {**env, **dict(zip(others, choice, strict=True))}
        try:
            if any((evaluate(g, SIZES, value, here) == 1) != wanted for g, wanted in clause.guards):
                continue
            if not any(_true(a, evaluate(a.poly, SIZES, value, here)) for a in clause.alternatives):
                return False
        except (KeyError, ZeroDivisionError, ValueError):
            continue
        except UndecidedError:
            return False
    return True


def test_every_primitive_is_here():
    """A rule without a test is not trusted. (The names of the tests begin with the primitive's.)"""
    elsewhere = {
        "add_any",
        "platform_index",  # left open
        "lu",  # opaque: recognised by what solves with it
        "convert_element_type",
        "empty",  # undefined until it is written
        "empty2",
        "copy_p",
        "one_minus_square",
        "optimization_barrier",
        "pvary",
        "sharding_constraint",
    }
    names = {name.split(",")[0].split(" ")[0].rstrip(":") for name in CASES}
    assert set(RULES) - elsewhere <= names | {"logistic"}
