"""The derivative by structure is `jax.jvp`, at points inside the domain, for random programs."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
from flint import fmpq
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.tensor import argument
from certgrad.obligations.decide.evaluate import evaluate
from certgrad.obligations.differentiate.derivative import Differentiator
from certgrad.obligations.laws.scalar_derivatives import NoDerivativeError
from certgrad.obligations.meaning.semantics import Context, UnprovedError, interpret
from certgrad.obligations.prove.satisfiable import _relation_holds
from certgrad.obligations.terms.functions import UndecidedError
from certgrad.obligations.terms.session import clear_caches
from certgrad.obligations.terms.variables import template
from certgrad.obligations.tracing.jax_internals import shape_polys, symbols, trace, wide_floats

quick = settings(max_examples=25, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
N = 3
where = jnp.where

UNARY = {
    "exp": lambda v: jnp.exp(v / 4),
    "log": jnp.log,
    "sqrt": jnp.sqrt,
    "rsqrt": lambda v: jax.lax.rsqrt(v),
    "cbrt": lambda v: v * jnp.cbrt(v),
    "sin": jnp.sin,
    "cos": jnp.cos,
    "tanh": jnp.tanh,
    "logistic": jax.nn.sigmoid,
    "erf": jax.lax.erf,
    "atan": jnp.arctan,
    "asinh": jnp.arcsinh,
    "log1p": jnp.log1p,
    "square": lambda v: v * v,
    "cube": lambda v: v**3,
    "inverse": lambda v: 1 / v,
    "power": lambda v: v**1.5,
    "abs": jnp.abs,
    "relu": lambda v: jnp.maximum(v, 0),
    "huber": lambda v: where(jnp.abs(v) > 1, jnp.abs(v) - 0.5, v * v / 2),
    "elu": lambda v: where(v > 0, v, jnp.exp(jnp.minimum(v, 0)) - 1),
    "sum": lambda v: v * 0 + jnp.sum(v),
    "mean": lambda v: v - jnp.mean(v),
    "norm": lambda v: v / jnp.sqrt(jnp.sum(v * v) + 1),
    "softmax": lambda v: jnp.exp(v) / jnp.sum(jnp.exp(v)),
    "dot": lambda v: v * (v @ v),
    "outer": lambda v: jnp.sum(v[:, None] * jnp.exp(v[None, :] / 4), axis=1),
    "iota": lambda v: v * jnp.arange(v.shape[0]),
    "mask": lambda v: where(jnp.arange(v.shape[0]) < 1, v, v * v),
}
BINARY = {
    "add": lambda u, v: u + v,
    "sub": lambda u, v: u - v,
    "mul": lambda u, v: u * v,
    "div": lambda u, v: u / v,
    "max": jnp.maximum,
    "min": jnp.minimum,
    "where": lambda u, v: where(u > v, u, v * v),
    "atan2": jnp.arctan2,
    "pow": lambda u, v: jnp.exp(v * jnp.log(u)),
    "dot": lambda u, v: u * (u @ v),
}


def leaf(name):
    return lambda x, y: {"x": x, "y": y, "1": 0 * x + 1, "half": 0 * x + 0.5}[name]


def apply(name, *inner):
    f = UNARY[name] if len(inner) == 1 else BINARY[name]
    return lambda x, y: f(*(g(x, y) for g in inner))


functions = st.recursive(
    st.builds(leaf, st.sampled_from(["x", "y", "x", "y", "1", "half"])),
    lambda inner: st.one_of(
        st.builds(apply, st.sampled_from(sorted(UNARY)), inner),
        st.builds(apply, st.sampled_from(sorted(BINARY)), inner, inner),
    ),
    max_leaves=4,
)
points = st.lists(st.integers(-16, 15).map(lambda k: Fraction(2 * k + 1, 16)), min_size=4 * N, max_size=4 * N)


@quick
@given(functions, points)
def test_the_derivative_is_jax_jvp(f, values):
    clear_caches()
    n = symbols(["n"])["n"]
    with wide_floats():
        specs = [jax.ShapeDtypeStruct((n,), np.float64)] * 2
        try:
            program = trace(lambda x, y: f(x, y) + 0 * x, specs)
        except Exception as error:
            raise AssertionError("the function does not trace") from error
    shape = shape_polys(specs[0])
    try:
        (out,) = interpret(
            Context(Facts()), program, [argument("x", shape, "float"), argument("y", shape, "float")], [True]
        )
        derivative = Differentiator({"x": "dx", "y": "dy"})(out.body)
    except (UnprovedError, NoDerivativeError, ArithmeticError):
        assume(False)
    rows = {name: values[k * N : (k + 1) * N] for k, name in enumerate(["x", "y", "dx", "dy"])}

    def entry(tensor, index):
        value = rows[tensor][index[0] % N]
        return fmpq(value.numerator, value.denominator)

    with jax.enable_x64(True):
        arrays = {name: jnp.asarray([float(v) for v in row]) for name, row in rows.items()}
        _, tangent = jax.jvp(f, (arrays["x"], arrays["y"]), (arrays["dx"], arrays["dy"]))
        tangent = np.asarray(tangent) * np.ones(N)
    checked = 0
    for i in range(N):
        env = {template(0): i}
        try:
            if not all(holds(c, entry, env) for c in (*out.defined, *out.smooth)):
                continue
            found = evaluate(derivative, {"n": N}, entry, env)
        except (UndecidedError, ZeroDivisionError, ValueError):
            continue
        if not np.isfinite(tangent[i]) or not found.is_finite():
            continue
        assert abs(float(found.mid()) - tangent[i]) <= 1e-7 * max(1.0, abs(tangent[i])), (out.body, i)
        checked += 1
    assume(checked)


def holds(clause, entry, env):
    others = sorted(clause.free - env.keys())
    for k in range(N ** len(others)):
        here = {**env, **{v: (k // N**j) % N for j, v in enumerate(others)}}
        if any((evaluate(g, {"n": N}, entry, here) == 1) != wanted for g, wanted in clause.guards):
            continue
        if not any(_relation_holds(a, evaluate(a.poly, {"n": N}, entry, here)) for a in clause.alternatives):
            return False
    return True
