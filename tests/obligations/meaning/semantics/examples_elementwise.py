"""Examples of the elementwise primitives."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jax.experimental.layout import Layout, with_layout_constraint
from jax.sharding import AxisType

from certgrad import special
from tests.obligations.meaning.semantics.example import Example, example, real, truth, whole

X = real("x", "n")
Y = real("y", "n")
K = whole("k", "n")
L = whole("l", "n")
WIDE = whole("k", "n", -300, 300)
P = truth("p", "n")
Q = truth("q", "n")

UNARY = (
    "abs acos acosh asin asinh atan atanh bessel_i0e bessel_i1e cbrt ceil cos cosh digamma erf erf_inv erfc exp exp2 "
    "expm1 floor is_finite lgamma log log1p logistic neg rsqrt sign sin sinh sqrt square tan tanh"
).split()
BINARY = "add atan2 div eq ge gt le lt max min mul ne pow rem sub".split()
BITS = "and or xor".split()
INTEGERS = "population_count clz".split()


def _rounded(x, method):
    return lax.round(x, lax.RoundingMethod(method))


def _cast(x, dtype):
    return lax.convert_element_type(x, dtype)


def _through(x, dtype):
    """Cast to a narrow type and back."""
    return _cast(_cast(x, dtype), int)


def _masked(name):
    return lambda k, mask: getattr(lax, f"bitwise_{name}")(k, jnp.full_like(k, mask))


def _narrow(function, dtype):
    return lambda k, other: _cast(function(_cast(k, dtype), _cast(other, dtype)), int)


NARROW = {"and": lax.bitwise_and, "or": lax.bitwise_or, "xor": lax.bitwise_xor, "max": lax.max, "min": lax.min}


def one_device():
    return jax.sharding.SingleDeviceSharding(jax.devices()[0])


def mesh_of_one():
    mesh = jax.make_mesh((1,), ("i",), axis_types=(AxisType.Explicit,))
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())


def _to_total(name):
    primitive = getattr(jax.lax, f"{name}_to_p", None) or getattr(jax._src.lax.lax, f"{name}_to_p")
    return lambda x, y: primitive.bind(x, y)


ELEMENTWISE: list[Example] = [
    *(example(name, getattr(lax, name), X, derivative=name != "is_finite") for name in UNARY),
    *(example(name, getattr(lax, name), X, Y) for name in BINARY),
    *(example(name, getattr(lax, f"bitwise_{name}"), P, Q, name="booleans") for name in BITS),
    *(example(name, getattr(lax, f"bitwise_{name}"), K, L, name="integers") for name in BITS),
    *(example(name, _masked(name), WIDE, name="a mask", mask=(15, 6, -4, 96, 0, -1, -7, 1, 255)) for name in BITS),
    *(example(n, _narrow(f, jnp.uint8), WIDE, whole("l", "n", -9, 300), name="unsigned") for n, f in NARROW.items()),
    *(example(n, _narrow(f, jnp.int8), WIDE, whole("l", "n", -9, 300), name="narrow") for n, f in NARROW.items()),
    *(example(name, getattr(lax, name), K) for name in INTEGERS),
    example("not", lax.bitwise_not, P, name="booleans"),
    example("not", lax.bitwise_not, K, name="integers"),
    example("not", lambda k: lax.bitwise_not(abs(k).astype(jnp.uint32)).astype(int), K, name="unsigned", refused=True),
    example("shift_left", lambda k, places: lax.shift_left(k, places), K, places=(0, 1, 3)),
    example("shift_left", lax.shift_left, K, whole("l", "n", 0, 5), name="by an array"),
    example("shift_right_arithmetic", lambda k, places: lax.shift_right_arithmetic(k, places), K, places=(0, 1, 2)),
    example("shift_right_arithmetic", lax.shift_right_arithmetic, K, whole("l", "n", 0, 5), name="by an array"),
    example("shift_right_logical", lambda k, places: lax.shift_right_logical(k, places), K, places=(0, 1, 2)),
    example("shift_right_arithmetic", lambda k: lax.shift_right_arithmetic(k, 4), WIDE, name="of negative numbers"),
    example("shift_right_logical", lambda k: lax.shift_right_logical(abs(k), 1), K, name="not negative"),
    example(
        "shift_right_logical",
        lambda k: _cast(lax.shift_right_logical(_cast(k, jnp.uint8), jnp.uint8(3)), int),
        WIDE,
        name="unsigned",
    ),
    example("mulhi", lax.mulhi, K, L),
    example("eq_to", _to_total("eq"), X, Y),
    example("le_to", _to_total("le"), X, Y),
    example("lt_to", _to_total("lt"), X, Y),
    example("eq", lax.eq, P, Q, name="booleans"),
    example("ne", lax.ne, P, Q, name="booleans"),
    example("lt", lax.lt, P, Q, name="booleans"),
    example("max", lax.max, P, Q, name="booleans"),
    example("min", lax.min, P, Q, name="booleans"),
    example("select_n", lax.select_n, P, X, Y),
    example("select_n", lax.select_n, whole("k", "n", 0, 2), X, Y, real("z", "n"), name="three"),
    example("clamp", lambda x, low, high: lax.clamp(low, x, high), X, low=(-0.5, 0.0), high=(0.25, 1.0)),
    example("clamp", lambda x, y: lax.clamp(jnp.ones_like(x), x, y), X, Y, name="bounds crossed", derivative=False),
    example("integer_pow", lambda x, y: lax.integer_pow(x, y), X, y=(3, -2, 0, 1, 2, -1, 5)),
    example("pow", lambda x, e: x**e, X, e=(0.75, -1.5, 0.5, 2.5), name="rational"),
    example("pow", lambda x: lax.pow(x, 3.0), X, name="whole"),
    example("pow", lambda x: lax.pow(0.0 * x, x), X, name="of 0"),
    example("pow", lax.pow, X, K, name="integer array"),
    example("round", _rounded, X, method=(0, 1)),
    example("copy", jnp.copy, X),
    example("add_any", lambda x: jax.vjp(lambda y: y * y, x)[1](x)[0], X),
    example("tie", lambda x, y: jax._src.lax.lax.tie_p.bind(x, y), X, Y),
    example("stop_gradient", lax.stop_gradient, X, derivative=False),
    example("optimization_barrier", lax.optimization_barrier, X),
    example("reduce_precision", lambda x: lax.reduce_precision(x, 11, 52), X),
    example("convert_element_type", _cast, X, name="reals", dtype=(int, bool, jnp.int32)),
    example("convert_element_type", _cast, K, name="integers", dtype=(float, bool, jnp.int32)),
    example("convert_element_type", _cast, P, name="booleans", dtype=(float, int, jnp.int32)),
    example("convert_element_type", _through, WIDE, name="wrapped", dtype=(jnp.int8, jnp.uint8, jnp.int16, jnp.uint16)),
    example("convert_element_type", lambda k: _through(_cast(k, jnp.int8), jnp.int16), WIDE, name="wider"),
    example("convert_element_type", lambda k: _through(_cast(k, jnp.int8), jnp.uint8), WIDE, name="of its sign"),
    example("convert_element_type", _through, X, name="narrow", dtype=(jnp.int8, jnp.int16)),
    example("convert_element_type", lambda x: _through(abs(x), jnp.uint8), X, name="not negative"),
    example("convert_element_type", lambda p: _through(p, jnp.int8), P, name="a narrow boolean"),
    example("add", lambda k: _through(_cast(k, jnp.int8) + _cast(k, jnp.int8), int), WIDE, name="narrow", refused=True),
    example("not", lambda k: _cast(~_cast(k, jnp.uint8), int), WIDE, name="narrow", refused=True),
    example("gt", lambda k, l: jnp.sum(k > 0) > l % 3, K, L, name="counts"),
    example("eq", lambda k, l: jnp.sum(k > 0) == lax.div(l, 2), K, L, name="counts"),
    example("max", lambda k: jnp.maximum(jnp.sum(k >= 0), 1), K, name="a count"),
    example("ge", lambda k, l: lax.rem(k, l) >= lax.div(l, 2), K, whole("l", "n", 1, 3), name="remainders"),
    example("add", lambda k: (k + 1 > 0) & (2 * k <= 3), K, name="integers"),
    example("sign", lambda k: jnp.sign(k) * jnp.abs(k) ** 3, K, name="integers"),
    example("div", lambda k, by: lax.div(k, jnp.full_like(k, by)), K, name="integers by a number", by=(2, -2, 3)),
    example("div", lax.div, K, whole("l", "n", 1, 3), name="integers"),
    example("rem", lambda k, by: lax.rem(k, jnp.full_like(k, by)), K, name="integers by a number", by=(2, -2, 3)),
    example("rem", lax.rem, K, whole("l", "n", 1, 3), name="integers"),
    example("log2", jnp.log2, X),  # primitives of their own in some versions of JAX
    example("one_minus_square", lambda x: jax.jvp(jnp.tanh, (x,), (x,))[1], X),
    example("name", lambda x: checkpoint_name(x, "x"), X),
    example("device_put", lambda x: jax.device_put(x, jax.devices()[0]), X),
    example("sharding_constraint", lambda x: lax.with_sharding_constraint(x, one_device()), X),
    example("reshard", lambda x: jax.sharding.reshard(x, mesh_of_one()), X),
    example("layout_constraint", lambda x: with_layout_constraint(x, Layout((0,))), X),
    example("nextafter", lax.nextafter, X, Y, refused=True, derivative=False),
    example("bitcast_convert_type", lambda x: lax.bitcast_convert_type(x, jnp.int64), X, refused=True),
]

SHAPE = real("a", "n", 0.25, 3)
UNIT = real("x", "n", 0.0, 1.0)

SPECIAL: list[Example] = [
    example("polygamma", lambda x, m: lax.polygamma(jnp.full_like(x, m), x), X, m=(0.0, 1.0, 2.0, 3.0)),
    example("igamma", lax.igamma, SHAPE, real("x", "n", 0, 3)),
    example("igammac", lax.igammac, SHAPE, real("x", "n", 0, 3)),
    example("igamma_grad_a", lax.igamma_grad_a, SHAPE, real("x", "n", 0, 3), derivative=False),
    example("zeta", lax.zeta, real("s", "n", 1, 4), real("q", "n", 0, 3), derivative=False),
    example(
        "regularized_incomplete_beta", lax.betainc, SHAPE, real("b", "n", 0.25, 3), UNIT, derivative=False
    ),
    example(
        "regularized_incomplete_beta", lambda x: lax.betainc(jnp.full_like(x, 2.5), jnp.full_like(x, 0.75), x), UNIT,
        name="of x",
    ),
    *(
        example(f"certgrad_{f.__name__}", lambda x, v, f=f: f(v, x), real("x", "n", 0.25, 4),
                v=(0, 1, 2, -1, 3, 0.5, 1.75, -2.25))
        for f in (special.jv, special.yv, special.iv, special.kv)
    ),
    example("certgrad_jv", lambda x, v: special.jv(v, x), X, name="on both sides", v=(0, 1, 2, -1, -3)),
    example("certgrad_iv", lambda x, v: special.iv(v, x), X, name="on both sides", v=(0, 1, 2, -1, -3)),
    example("certgrad_erfi", special.erfi, X),
    example("certgrad_expi", special.expi, X),
    example("certgrad_si", lambda x: special.sici(x)[0], X),
    example("certgrad_ci", lambda x: special.sici(x)[1], X),
    example("certgrad_fresnels", lambda x: special.fresnel(x)[0], X),
    example("certgrad_fresnelc", lambda x: special.fresnel(x)[1], X),
    example("certgrad_lambertw", special.lambertw, real("x", "n", -0.36, 4)),
    example("certgrad_spence", special.spence, real("x", "n", 0.05, 4)),
    example("certgrad_owens_t", special.owens_t, X, Y),
    example("certgrad_wofz_re", special.voigt_k, X, Y),
    example("certgrad_wofz_im", special.voigt_l, X, Y),
    example("certgrad_hyp1f1", lambda x, a, b: special.hyp1f1(a, b, x), X, a=(1.0, -2.0, 0.5), b=(2.0, 0.75, -0.5)),
    example("certgrad_hyp2f1", lambda x, a, b: special.hyp2f1(a, b, 1.5, x), real("x", "n", -2, 0.9),
            a=(1.0, 0.5), b=(2.0, -0.75)),
]  # fmt: skip
