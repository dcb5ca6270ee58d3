"""Two values that nothing follows (callbacks, primitives of the user's, bits, draws), which look alike and are not the
same: the function multiplies by the one, its rule by the other."""

from __future__ import annotations

import functools
import operator
import types

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .attack import Attack
from .makers import saved
from .same_names import primitive

KIND = "B opaque twins"


def twins(name, right, wrong, signature="n, n:int -> n", at=None, **more):
    """x·right(p), whose rule returns g·wrong(p)."""

    def value(x, p):
        return x * right(p)

    def bwd(args, g):
        return g * wrong(args[1]), None

    at = (X3, P3) if at is None else at
    return Attack(f"twins_{name}", KIND, saved(value, bwd), value, signature, lambda: at, **more)


X3, P3 = np.array([1.0, 2.0, 3.0]), np.array([0, 1, 2], dtype=np.int32)


def host(function):
    """A call of the host, as a function of integers."""

    def called(p):
        return jax.pure_callback(function, jax.ShapeDtypeStruct(p.shape, jnp.result_type(float)), p)

    return called


def floats(p):
    return np.asarray(p, jnp.result_type(float))


def scaled(by):
    return lambda p: floats(p) * by


def with_default(by):
    def function(p, by=by):
        return floats(p) * by

    return function


def with_global(by):
    """The same code, with other globals."""

    def function(p):
        return FLOATS(p) * BY  # noqa: F821

    return types.FunctionType(function.__code__, {"FLOATS": floats, "BY": by})


class Scaled:
    def __init__(self, by):
        self.by = by

    def __call__(self, p):
        return floats(p) * self.by

    def method(self, p):
        return floats(p) * self.by


class Slots:
    __slots__ = ("by",)

    def __init__(self, by):
        self.by = by

    def __call__(self, p):
        return floats(p) * self.by


class Equal(Scaled):
    """Objects that say that they are equal."""

    def __eq__(self, other):
        return isinstance(other, Equal)

    def __hash__(self):
        return 7


class OfClass:
    by = 2.0

    def __call__(self, p):
        return floats(p) * self.by


class OfAnotherClass(OfClass):
    by = 3.0


OfAnotherClass.__name__ = OfAnotherClass.__qualname__ = "OfClass"


def in_a_cell(by):
    kept = [by]
    return lambda p: floats(p) * kept[0]


def in_a_dict(by):
    kept = {"by": np.array([by])}
    return lambda p: floats(p) * kept["by"][0]


def in_a_large_array(by):
    """Arrays of which the text shows the ends alone."""
    kept = np.zeros(5000)
    kept[2500] = by
    return lambda p: floats(p) * kept[2500]


def in_a_closure_of_a_closure(by):
    inner = scaled(by)
    return lambda p: inner(p)


def of_a_number(by):
    return functools.partial(operator.mul, by)


def on_host(function):
    return host(lambda p: floats(function(floats(p))))


def table(values):
    return np.asarray(values, dtype=float).__getitem__


def generated(text):
    space = {"floats": floats}
    exec(text, space)
    return space["made"]


def key(p, number):
    return jax.random.fold_in(jax.random.key(number), p[0])


def bits(p, number, dtype=jnp.uint32):
    return (jax.random.bits(jax.random.key(number), p.shape, dtype) % 8).astype(float)


def sorted_by(p, how):
    return lax.sort((p // 2, -p), num_keys=how)[1].astype(float)


def reduced(p, by, start=0):
    return lax.reduce(p, jnp.asarray(start, p.dtype), by, (0,)).astype(float)


FIRST = primitive("doubled", lambda p: p * 2.0, inline=False)
SECOND = primitive("doubled", lambda p: p * 3.0, inline=False)
INLINE, OTHER = primitive("tripled", lambda p: p * 3.0), primitive("tripled", lambda p: p * 4.0)
NEGATED = primitive("neg", lambda p: p * 1.0, inline=False)


def cast(p):
    return p.astype(float)


ATTACKS = [
    twins("lambdas_of_one_line", host(scaled(2.0)), host(scaled(3.0))),
    twins("lambdas_of_close_numbers", host(scaled(2.0)), host(scaled(2.01))),
    twins("defaults", host(with_default(2.0)), host(with_default(3.0))),
    twins("globals", host(with_global(2.0)), host(with_global(3.0))),
    twins("objects", host(Scaled(2.0)), host(Scaled(3.0))),
    twins("objects_with_slots", host(Slots(2.0)), host(Slots(3.0))),
    twins("objects_that_are_equal", host(Equal(2.0)), host(Equal(3.0))),
    twins("methods_of_objects", host(Scaled(2.0).method), host(Scaled(3.0).method)),
    twins("methods_of_objects_that_are_equal", host(Equal(2.0).method), host(Equal(3.0).method)),
    twins("classes_of_one_name", host(OfClass()), host(OfAnotherClass())),
    twins("cells", host(in_a_cell(2.0)), host(in_a_cell(3.0))),
    twins("dicts", host(in_a_dict(2.0)), host(in_a_dict(3.0))),
    twins("large_arrays", host(in_a_large_array(2.0)), host(in_a_large_array(3.0))),
    twins("closures_of_closures", host(in_a_closure_of_a_closure(2.0)), host(in_a_closure_of_a_closure(3.0))),
    twins(
        "partials",
        host(functools.partial(lambda by, p: floats(p) * by, 2.0)),
        host(functools.partial(lambda by, p: floats(p) * by, 3.0)),
    ),
    twins("partials_of_builtins", on_host(of_a_number(2.0)), on_host(of_a_number(3.0))),
    twins("methods_of_arrays", host(table([1, 2, 3])), host(table([1, 2, 4]))),
    twins(
        "methods_of_lists",
        host(lambda p, m=[1.0, 2.0].__len__: floats(p) * m()),
        host(lambda p, m=[1.0].__len__: floats(p) * m()),
    ),
    twins("functions_of_numpy", on_host(np.sin), on_host(np.cos)),
    twins("vectorised", on_host(np.vectorize(lambda v: v * 2)), on_host(np.vectorize(lambda v: v * 3))),
    twins(
        "generated_code",
        host(generated("def made(p): return floats(p) * 2")),
        host(generated("def made(p): return floats(p) * 3")),
    ),
    twins("generated_lambdas", host(eval("lambda p: p * 2.0")), host(eval("lambda p: p * 3.0"))),
    twins("getters", on_host(operator.attrgetter("real")), on_host(operator.attrgetter("imag"))),
    twins("calls_with_other_operands", lambda p: host(scaled(2.0))(p), lambda p: host(scaled(2.0))(p[::-1])),
    twins(
        "calls_with_a_constant",
        lambda p: host(lambda p: floats(p) + 1)(p * 2),
        lambda p: host(lambda p: floats(p) + 1)(p + p % 2),
    ),
    # ----------------------------------------------------------------------------------------------- primitives
    twins("primitives_of_one_name", lambda p: FIRST.bind(cast(p)), lambda p: SECOND.bind(cast(p))),
    twins("primitives_read_of_one_name", lambda p: INLINE.bind(cast(p)), lambda p: OTHER.bind(cast(p))),
    twins("primitive_with_the_name_of_jax", lambda p: -cast(p), lambda p: NEGATED.bind(cast(p))),
    twins("primitive_for_that_of_jax", lambda p: NEGATED.bind(cast(p)), lambda p: -cast(p)),
    # --------------------------------------------------------------------------------------------------- random
    twins("keys", lambda p: bits(p, 1), lambda p: bits(p, 2)),
    twins(
        "keys_by_width",
        lambda p: bits(p, 1),
        lambda p: bits(p, 1, jnp.uint8),
        at=(np.linspace(1, 2, 9), np.arange(9, dtype=np.int32)),
    ),
    twins(
        "keys_split",
        lambda p: jax.random.normal(jax.random.split(jax.random.key(0))[0], p.shape),
        lambda p: jax.random.normal(jax.random.split(jax.random.key(0))[1], p.shape),
    ),
    twins(
        "keys_folded",
        lambda p: jax.random.normal(key(p, 0), p.shape),
        lambda p: jax.random.normal(key(p + 1, 0), p.shape),
    ),
    twins(
        "kinds_of_draws",
        lambda p: jax.random.uniform(key(p, 0), p.shape, minval=-1),
        lambda p: jax.random.uniform(key(p, 0), p.shape) * 2 - 0.999,
    ),
    twins(
        "shapes_of_draws",
        lambda p: jax.random.normal(key(p, 0), p.shape),
        lambda p: jax.random.normal(key(p, 0), (p.shape[0] + 1,))[1:],
    ),
    twins(
        "impl_of_keys",
        lambda p: jax.random.normal(jax.random.key(0, impl="rbg"), p.shape),
        lambda p: jax.random.normal(jax.random.key(0), p.shape),
    ),
    # --------------------------------------------------------------------------------------- orders and monoids
    twins("numbers_of_keys", lambda p: sorted_by(p, 1), lambda p: sorted_by(p, 2)),
    twins("monoids", lambda p: reduced(p, lambda a, b: a * 2 + b), lambda p: reduced(p, lambda a, b: a + b * 2)),
    twins("starts_of_monoids", lambda p: reduced(p, lambda a, b: a + b, 1), lambda p: reduced(p, lambda a, b: a + b)),
    twins(
        "bits_of_numbers",
        lambda p: lax.bitcast_convert_type(p, jnp.uint32).astype(float),
        lambda p: lax.bitcast_convert_type(p, jnp.int32).astype(float),
        at=(X3, np.array([-1, 2, 3], dtype=np.int32)),
    ),
    twins("leading_zeros", lambda p: lax.clz(p).astype(float), lambda p: (32 - lax.population_count(p)).astype(float)),
]
