"""Attacks on how rules run: cotangents, several outputs, stopped gradients, literals, nested rules and hidden state."""

from __future__ import annotations

import contextlib
import functools
from concurrent.futures import Future

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_derivatives import SymbolicZero, linear_call

from .attack import Attack
from .example import custom
from .written import array, forward, pulled, reverse

COTANGENTS = "4.15 cotangents"
STOPPED = "4.11 stop_gradient"
LITERALS = "4.12 literals"
TANGENTS = "5 linearity"
NESTED = "4.20 nested rules"
HIDDEN = "5 hidden state"


def attack(name, kind, make, plain, signature, *at, **more):
    values = tuple(array(v) for v in at)
    return Attack(name, kind, make, plain, signature, lambda: values, **more)


def two(x):
    return x * x, x**3


def of_two(name, pull, at=(1.5,), **more):
    return pulled(name, COTANGENTS, two, lambda x, g: pull(x, *g), "n -> n, n", list(at), **more)


def of_g(name, change, at=(1.5, 2.0)):
    """The attack whose backward rule is right but for what it does to the cotangent."""
    return pulled(name, TANGENTS, lambda x: x * x, lambda x, g: 2 * x * change(g), "n -> n", list(at))


def stopped(name, function, slope, plain, at=(1.5, 2.0), signature="n -> n"):
    return attack(name, STOPPED, lambda: reverse(function, lambda x, g: g * slope(x)), plain, signature, list(at))


def literal(name, function, slope, at=(1.5,), **more):
    return pulled(name, LITERALS, function, lambda x, g: g * slope(x), "n -> n", list(at), **more)


def asked(name, question):
    """The attack on a square whose rule is another where the question about an array is answered with yes."""
    return pulled(
        name, HIDDEN, lambda x: x * x, lambda x, g: (3.0 if question(x, g) else 2.0) * x * g, "n -> n", [1.5, 2.0]
    )


def partial_perturbation(wrong):
    """x·w whose rule is wrong where w is not differentiated."""
    rule = jax.custom_vjp(lambda x, w: x * w)

    def fwd(x, w):
        return x.value * w.value, (x.value, w.value, None if w.perturbed else 0)

    def bwd(r, g):
        x, w, mark = r
        return g * w * (1.0 if mark is None else wrong), g * x

    rule.defvjp(fwd, bwd, symbolic_zeros=True)
    return rule


def used_outputs():
    """x² and x³, whose rule is wrong where only one is used."""
    rule = jax.custom_vjp(two)

    def bwd(x, g):
        a, b = g
        if isinstance(a, SymbolicZero) or isinstance(b, SymbolicZero):
            return (5 * x,)
        return (2 * x * a + 3 * x * x * b,)

    rule.defvjp(lambda x: (two(x.value), x.value), bwd, symbolic_zeros=True)
    return rule


def unperturbed_tangent():
    rule = jax.custom_jvp(lambda x, w: x * w)

    def push(primals, tangents):
        (x, w), (dx, dw) = primals, tangents
        if isinstance(dw, SymbolicZero):
            return x * w, 2 * dx * w
        dx = 0 * x if isinstance(dx, SymbolicZero) else dx
        return x * w, dx * w + x * dw

    rule.defjvp(push, symbolic_zeros=True)
    return rule


def transposed_wrongly(scale):
    def scaled(r, x):
        return 2.0 * x

    return lambda x: linear_call(scaled, lambda r, g: scale * g, (), x * x)


def solved_wrongly(x):
    a = jnp.array([[2.0, 1.0], [0.0, 3.0]])
    return lax.custom_linear_solve(
        lambda v: a @ v, x, lambda _, b: jnp.linalg.solve(a, b), transpose_solve=lambda _, b: jnp.linalg.solve(a, b)
    )


def rooted_wrongly(x):
    return lax.custom_root(
        lambda y: y**3 - x, jnp.ones_like(x), lambda f, y: jnp.cbrt(x), lambda g, y: y / g(jnp.ones_like(y)) * 2
    )


def cube_root(x):
    return jnp.cbrt(x)


def with_value(primal):
    """x² whose forward rule returns another value."""
    return custom(lambda x: x * x, lambda x: (primal(x), x), lambda x, g: (2 * x * g,))


@functools.singledispatch
def kind_of(x):
    return "array"


@kind_of.register(jax.core.Tracer)
def _(x):
    return "traced"


def concrete(x):
    with contextlib.suppress(Exception):
        return float(jnp.sum(x)) < 1e9
    return False


def by_future(x):
    future: Future = Future()
    try:
        future.set_result(float(jnp.sum(x)))
    finally:
        return future.done()  # noqa: B012


ATTACKS = [
    of_two("a_product_of_cotangents", lambda x, a, b: 2 * x * a + 3 * x * x * b + a * b),
    of_two("the_second_cotangent_left_out", lambda x, a, b: 2 * x * a),
    of_two("cotangents_swapped", lambda x, a, b: 2 * x * b + 3 * x * x * a),
    of_two("cotangents_that_cancel_at_one", lambda x, a, b: 2 * x * a + 3 * x * b, (2.0,)),
    of_two(
        "a_cotangent_where_another_vanishes",
        lambda x, a, b: jnp.where(b == 0, 2 * x * a, 2 * x * a + 3 * x * jnp.abs(x) * b),
        (-1.0,),
    ),
    of_g("a_squared_cotangent", lambda g: g * g + g),
    of_g("a_cotangent_plus_one", lambda g: g + 1e-2),
    of_g("a_cotangent_normalised", lambda g: g / jnp.sqrt(jnp.sum(g * g))),
    of_g("a_cotangent_clipped", lambda g: jnp.clip(g, -0.4, 0.4)),
    of_g("a_cotangent_of_a_homogeneous_function", lambda g: (g**3 + g[::-1] ** 3) / (g * g + g[::-1] ** 2)),
    of_g("a_modulus_of_the_cotangent", lambda g: jnp.abs(g) * 2 - g * 0.5),
    of_g("a_root_of_the_squared_cotangents", lambda g: jnp.sqrt(g * g + g[::-1] ** 2) / jnp.sqrt(2.0)),
    of_g("the_cotangent_of_the_neighbour", lambda g: jnp.where(g > g[::-1], g, g[::-1])),
    of_g("a_sorted_cotangent", jnp.sort),
    of_g("a_rounded_cotangent", lambda g: jnp.round(g)),
    of_g("a_cotangent_in_half_precision", lambda g: g.astype(jnp.float16).astype(g.dtype) * 1.001),
    attack(
        "wrong_where_the_weight_is_fixed",
        COTANGENTS,
        lambda: lambda x: partial_perturbation(3.0)(x, jnp.ones_like(x)),
        lambda x: x,
        "n -> n",
        [1.5],
    ),
    attack(
        "wrong_where_the_weight_is_stopped",
        COTANGENTS,
        lambda: lambda x: partial_perturbation(3.0)(x, lax.stop_gradient(0 * x + 2)),
        lambda x: 2 * x,
        "n -> n",
        [1.5],
    ),
    attack(
        "wrong_where_one_output_is_used",
        COTANGENTS,
        lambda: lambda x: used_outputs()(x)[0],
        lambda x: x * x,
        "n -> n",
        [1.5],
    ),
    attack(
        "wrong_where_the_other_output_is_used",
        COTANGENTS,
        lambda: lambda x: used_outputs()(x)[1] + jnp.sum(x),
        lambda x: x**3 + jnp.sum(x),
        "n -> n",
        [1.5],
    ),
    attack(
        "wrong_where_a_tangent_is_no_array",
        COTANGENTS,
        lambda: lambda x: unperturbed_tangent()(x, jnp.full_like(x, 3.0)),
        lambda x: 3 * x,
        "n -> n",
        [1.5],
    ),
    attack(
        "no_gradient_for_the_weight",
        COTANGENTS,
        lambda: reverse(lambda x, w: x * w, lambda x, w, g: (g * w, 0 * w * g)),
        lambda x, w: x * w,
        "n, n -> n",
        [1.5],
        [2.0],
    ),
    attack(
        "a_tangent_that_is_left_out",
        TANGENTS,
        lambda: forward(lambda x, w: x * w, lambda x, w, dx, dw: dx * w + jnp.where(x == 3, 0.0, x * dw)),
        lambda x, w: x * w,
        "n, n -> n",
        [3.0],
        [2.0],
    ),
    attack(
        "a_tangent_wrong_by_a_seam",
        TANGENTS,
        lambda: forward(lambda x: x * x, lambda x, dx: jnp.where(jnp.floor(x) == x, 3.0, 2.0) * x * dx),
        lambda x: x * x,
        "n -> n",
        [3.0],
    ),
    attack(
        "a_tangent_along_the_other_axis",
        TANGENTS,
        lambda: forward(
            lambda x: x - jnp.mean(x, axis=1, keepdims=True), lambda x, dx: dx - jnp.mean(dx, axis=0, keepdims=True)
        ),
        lambda x: x - jnp.mean(x, axis=1, keepdims=True),
        "n n -> n n",
        np.eye(2) + 1,
    ),
    attack(
        "a_value_that_is_close",
        COTANGENTS,
        lambda: lambda x: with_value(lambda x: x * x * 2)(x) ** 2,
        lambda x: x**4,
        "n -> n",
        [1.5],
    ),
    attack(
        "a_value_that_parts_at_a_point",
        COTANGENTS,
        lambda: lambda x: with_value(lambda x: x * x + (x == 3))(x) ** 2,
        lambda x: x**4,
        "n -> n",
        [3.0],
    ),
    attack(
        "a_value_that_is_a_maximum_of_ties",
        COTANGENTS,
        lambda: lambda x: with_value(lambda x: x * x + jnp.sum(x == jnp.max(x)) - 1)(x) ** 2,
        lambda x: x**4,
        "n -> n",
        [3.0, 3.0],
    ),
    stopped("a_product_with_itself_stopped", lambda x: x * lax.stop_gradient(x), lambda x: x, lambda x: x * x),
    stopped(
        "a_scale_that_is_stopped",
        lambda x: x / lax.stop_gradient(jnp.sum(x * x)),
        lambda x: 1 / jnp.sum(x * x),
        lambda x: x / jnp.sum(x * x),
    ),
    stopped(
        "a_maximum_stopped_once",
        lambda x: jnp.log(jnp.sum(jnp.exp(x - lax.stop_gradient(jnp.max(x))))) + 2 * lax.stop_gradient(jnp.max(x)),
        jax.nn.softmax,
        lambda x: jax.nn.logsumexp(x) + jnp.max(x),
        signature="n -> ",
    ),
    stopped(
        "a_stop_inside_a_loop",
        lambda x: lax.scan(lambda c, a: (c + a * lax.stop_gradient(a), None), 0.0, x)[0],
        lambda x: x,
        lambda x: jnp.sum(x * x),
        signature="n -> ",
    ),
    stopped(
        "a_stop_inside_a_branch",
        lambda x: lax.cond(jnp.sum(x) > 1, lambda x: x * lax.stop_gradient(x), lambda x: x * x, x),
        lambda x: jnp.where(jnp.sum(x) > 1, x, 2 * x),
        lambda x: x * x,
    ),
    stopped(
        "straight_through_rounding",
        lambda x: x + lax.stop_gradient(jnp.round(x) - x),
        lambda x: 1.0,
        lambda x: jnp.round(x),
        (1.6,),
    ),
    stopped(
        "a_stop_that_nearly_cancels",
        lambda x: (x - lax.stop_gradient(x)) * 5 + x * x,
        lambda x: 5 + 2 * x,
        lambda x: x * x,
    ),
    attack(
        "a_stop_by_a_rule",
        STOPPED,
        lambda: lambda x: x * forward(lambda y: y * 1.0, lambda y, dy: 0 * dy)(x),
        lambda x: x * x,
        "n -> n",
        [1.5],
    ),
    attack(
        "a_stop_by_integers",
        STOPPED,
        lambda: lambda x: x * reverse(lambda y: y * 1.0, lambda y, g: jnp.zeros(y.shape) * g)(x),
        lambda x: x * x,
        "n -> n",
        [1.5],
    ),
    literal("a_float_of_single_precision", lambda x: (x * np.float32(0.1) - x * 0.1) * 1e9, lambda x: 0 * x),
    literal(
        "an_array_of_single_precision", lambda x: (x * np.array([0.1], np.float32) - x * 0.1) * 1e9, lambda x: 0 * x
    ),
    literal("a_number_close_to_one", lambda x: (x * 1.00000001 - x) * 1e8, lambda x: 0 * x),
    literal("a_number_that_single_precision_drops", lambda x: ((x + 1e-9) * 1e9 - x * 1e9) * x, lambda x: 0 * x),
    literal("a_third_that_is_none", lambda x: (x * 0.3333333333 - x / 3) * 1e11, lambda x: 0 * x),
    literal("a_root_of_two_that_is_none", lambda x: (x * 1.41421356 * 1.41421356 - 2 * x) * 1e9, lambda x: 0 * x),
    literal("pi_that_is_none", lambda x: (x * 3.141592654 - x * jnp.arctan(1.0) * 4) * 1e10, lambda x: 0 * x),
    attack(
        "a_linear_call_with_another_transpose",
        NESTED,
        lambda: transposed_wrongly(3.0),
        lambda x: 2 * x * x,
        "n -> n",
        [1.5],
    ),
    attack(
        "a_linear_solve_with_another_transpose",
        NESTED,
        lambda: solved_wrongly,
        lambda x: jnp.linalg.solve(jnp.array([[2.0, 1.0], [0.0, 3.0]]), x),
        "2 -> 2",
        [1.0, 2.0],
    ),
    attack("a_root_with_another_tangent", NESTED, lambda: rooted_wrongly, cube_root, "n -> n", [8.0]),
    attack(
        "a_rule_that_differentiates_a_wrong_rule",
        NESTED,
        lambda: reverse(
            lambda x: x**3,
            lambda x, g: jax.vjp(reverse(lambda y: y**3, lambda y, g: 3 * y * jnp.abs(y) * g), x)[1](g)[0],
        ),
        lambda x: x**3,
        "n -> n",
        [-1.5],
    ),
    attack(
        "a_rule_inside_of_a_rule_at_a_point",
        NESTED,
        lambda: reverse(
            lambda x: x**3,
            lambda x, g: jax.vjp(
                lambda y: y * forward(lambda z: z * z, lambda z, dz: jnp.where(z == 3, 1.0, 2 * z) * dz)(y), x
            )[1](g)[0],
        ),
        lambda x: x**3,
        "n -> n",
        [3.0],
    ),
    asked("asked_by_dispatch", lambda x, g: kind_of(x) == "array"),
    asked("asked_by_suppressing", lambda x, g: concrete(x)),
    asked("asked_by_a_future", lambda x, g: by_future(x)),
    asked("asked_by_its_text", lambda x, g: "Traced" not in repr(x)),
    asked("asked_by_an_attribute", lambda x, g: hasattr(x, "addressable_shards")),
    asked("asked_by_its_class", lambda x, g: type(x).__name__ == "ArrayImpl"),
    asked("asked_by_its_module", lambda x, g: "interpreters" not in type(x).__module__),
    asked("asked_by_its_base", lambda x, g: not any(c.__name__ == "Tracer" for c in type(x).__mro__)),
    asked("asked_by_is_concrete", lambda x, g: jax.core.is_concrete(x)),
    asked(
        "asked_by_a_conversion",
        lambda x, g: (
            getattr(x, "__array__", None) is not None
            and callable(getattr(x, "unsafe_buffer_pointer", None))
            and hasattr(x, "on_device_size_in_bytes")
        ),
    ),
]
