"""Rules made of JAX's own transformations: linear calls and their transposes, zeros that are symbols, batching rules,
named axes, rules in rules, what is computed again; and questions that are asked inside of bodies."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer
from jax.custom_batching import custom_vmap, sequential_vmap
from jax.custom_derivatives import SymbolicZero, closure_convert, linear_call

from .attack import Attack
from .makers import square
from .written import forward, reverse

KIND, BODIES = "E transformations", "E questions in bodies"
X, Y = np.array([1.0, -2.0, 0.5]), np.array([0.5, 3.0, 2.0])
POSITIVE = np.array([1.0, 2.0, 1.5])


def one(name, make, plain, signature, *at, kind=KIND, **more):
    return Attack(f"transformed_{name}", kind, make, plain, signature, lambda: at, **more)


def back(name, function, pull, *at, signature="n -> n", plain=None, **more):
    return one(name, lambda: reverse(function, pull), plain or function, signature, *(at or (X,)), **more)


def cube(x):
    return x**3


def product(x, y):
    return x * y


def rolled(x):
    return x * jnp.roll(x, 1)


def wave(x):
    return jnp.sin(x) * x


def linear(name, push, pull, function=square):
    """A forward rule whose transpose is written by hand."""

    def make():
        return forward(function, lambda x, t: linear_call(push, pull, x, t))

    return one(f"linear_call_{name}", make, function, "n -> n", X)


def doubled(r, t):
    return 2 * r * t


def sums(x):
    return jnp.cumsum(x * x)


def means(x):
    return jnp.full_like(x, jnp.mean(x * x))


# --- zeros that are symbols


def is_zero(t):
    return isinstance(t, SymbolicZero)


def array_of(t):
    return jnp.zeros(t.aval.shape, t.aval.dtype) if is_zero(t) else t


def sees_tangents():
    rule = jax.custom_jvp(product)

    def jvp(p, t):
        return product(*p), p[1] * array_of(t[0]) + p[0] * array_of(t[1]) * (1 if is_zero(t[0]) else 2)

    rule.defjvp(jvp, symbolic_zeros=True)
    return rule


def sees_arguments():
    rule = jax.custom_vjp(product)
    rule.defvjp(
        lambda x, y: (x.value * y.value, (x.value, y.value * (2 if x.perturbed and y.perturbed else 1))),
        lambda r, g: (r[1] * array_of(g), r[0] * array_of(g)),
        symbolic_zeros=True,
    )
    return rule


def powers(x):
    return x * x, x * x * x


def sees_cotangents():
    rule = jax.custom_vjp(powers)

    def bwd(x, g):
        both = not is_zero(g[0]) and not is_zero(g[1])
        return ((3 if both else 2) * x * array_of(g[0]) + 3 * x * x * array_of(g[1]),)

    rule.defvjp(lambda x: (powers(x.value), x.value), bwd, symbolic_zeros=True)
    return rule


# --- batching rules


def batched(rule):
    """2·v, or `rule(size, v)` where it is batched."""

    @custom_vmap
    def twice(v):
        return 2 * v

    @twice.def_vmap
    def _(size, batched, v):
        return rule(size, v), True

    return twice


@sequential_vmap
def sequential(v):
    return 2 * v + (v == 1)


def over_rows(function):
    return lambda *xs: jax.vmap(function, axis_name="i")(*xs)


# --- rules in rules


def wrong_square():
    return reverse(square, lambda x, g: 3 * x * g)


def wrong_square_forward():
    return forward(square, lambda x, t: 3 * x * t)


def through_a_wrong_vjp():
    inner = wrong_square()
    return forward(cube, lambda x, t: 3 * jax.vjp(inner, x)[1](t)[0] * x / 2)


def through_a_wrong_jvp():
    inner = wrong_square_forward()
    return reverse(lambda x: inner(x) * x, lambda x, g: jax.vjp(lambda x: inner(x) * x, x)[1](g)[0])


def around_a_right_jvp():
    inner = forward(square, lambda x, t: 2 * x * t)
    return reverse(
        lambda x: inner(x) * x, lambda x, g: (jax.jvp(inner, (x,), (g,))[1] * x + inner(x) * g) * (1 + (x == 1))
    )


def converted(x, g):
    f, held = closure_convert(lambda y: jnp.sum(x * y * y), x)
    return g * jax.grad(lambda y: f(y, *held))(x)


def rematerialised(fwd, bwd):
    def make():
        rule = jax.custom_vjp(jnp.sin)
        rule.defvjp(fwd, bwd, optimize_remat=True)
        return rule

    return make


def host(function):
    def call(x):
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(lambda v: function(np.asarray(v)), shape, x, vmap_method="expand_dims")

    return call


def own_log_softmax(x, g):
    def log_softmax(x):
        return x - jax.nn.logsumexp(x)

    return g - jnp.exp(jax.jit(log_softmax)(x)) * jnp.mean(g)


# --- questions in bodies


def asked(name, pull):
    """x², whose rule asks something where it is not answered as in a trace."""
    return back(name, square, pull, POSITIVE, kind=BODIES)


def traced(value):
    return isinstance(value, Tracer)


def in_associative_scan(x, g):
    told = []
    y = lax.associative_scan(lambda a, b: (told.append(traced(a)), a + b)[1], jnp.stack([x, x]))[1]
    return y * g * (1 if all(told) else 2)


def in_a_batch(x, g):
    told = []
    y = jax.vmap(lambda v: (told.append(traced(getattr(v, "val", None))), 2 * v)[1])(x)
    return y * g * (1 if all(told) else 2)


def above_a_body(x, g):
    def step(c, v):
        above = getattr(getattr(v, "_trace", None), "parent_trace", None)
        return c, (2 if type(above).__name__ != "EvalTrace" else 4) * v

    return lax.scan(step, 0.0, x)[1] * g


def of_the_predicate(x, g):
    k = jnp.argmax(x) * 0
    return lax.cond(k == 0, lambda v: 2 * v, lambda v: v, x) * g * (1 if traced(k) else 2)


def without_jit(x, g):
    told = []
    with jax.disable_jit():
        y = lax.fori_loop(0, 2, lambda i, c: (told.append(traced(i)), c + x)[1], jnp.zeros_like(x))
    return y * g * (1 if all(told) else 2)


def of_a_primal(x, g):
    told = []
    tangent = jax.jvp(lambda v: (told.append(traced(getattr(v, "primal", v))), v * v)[1], (x,), (jnp.ones_like(x),))[1]
    return tangent * g * (1 if all(told) else 2)


ATTACKS = [
    # --------------------------------------------------------------------------------------------- linear calls
    linear("with_half", doubled, lambda r, c: r * c),
    linear("at_one", doubled, lambda r, c: 2 * r * c * (1 + (r == 1))),
    linear("without_flip", lambda r, t: jnp.flip(2 * r * t), lambda r, c: 2 * r * c, lambda x: jnp.flip(x * x)),
    linear("of_sums", lambda r, t: jnp.cumsum(2 * r * t), lambda r, c: 2 * r * jnp.cumsum(c), sums),
    linear("asks_for_the_size", doubled, lambda r, c: 2 * r * c if r.shape[0] != 3 else r * c),
    linear(
        "of_means",
        lambda r, t: jnp.full_like(t, jnp.mean(2 * r * t)),
        lambda r, c: 2 * r * jnp.mean(c) * jnp.where(r > 0, 1, 1.5),
        means,
    ),
    # --------------------------------------------------------------------------------------------- symbolic zeros
    one("sees_both_tangents", sees_tangents, product, "n, n -> n", X, Y),
    one("sees_both_arguments", sees_arguments, product, "n, n -> n", X, Y),
    one("sees_both_cotangents", sees_cotangents, powers, "n -> n, n", X),
    # --------------------------------------------------------------------------------------------- batching
    back("batched_otherwise", square, lambda x, g: g * jax.vmap(batched(lambda n, v: 3 * v))(x)),
    back("batched_by_size", square, lambda x, g: g * jax.vmap(batched(lambda n, v: (3 if n == 3 else 2) * v))(x)),
    back(
        "batched_value",
        lambda x: jax.vmap(batched(lambda n, v: 3 * v))(x),
        lambda x, g: 2 * g,
        plain=lambda x: 3 * x,
    ),
    back(
        "batched_twice",
        square,
        lambda x, g: g * jax.vmap(jax.vmap(batched(lambda n, v: 2 * v * (1 + (v > 1)))))(x),
        X[None] + 2,
        signature="n m -> n m",
    ),
    back("batched_one_by_one", square, lambda x, g: g * jax.vmap(sequential)(x)),
    # --------------------------------------------------------------------------------------------- named axes
    back(
        "axis_summed_for_its_mean",
        lambda x: x - jnp.mean(x),
        lambda x, g: over_rows(lambda g: g - lax.psum(g, "i"))(g),
    ),
    back(
        "axis_index_two",
        lambda x: x * jnp.arange(x.shape[0]),
        lambda x, g: over_rows(lambda g: g * lax.axis_index("i") + g * (lax.axis_index("i") == 2))(g),
    ),
    back(
        "axis_maximum",
        lambda x: 1 * x,
        lambda x, g: g * over_rows(lambda x: jnp.where(x == lax.pmax(x, "i"), 2.0, 1.0))(x),
    ),
    back(
        "axis_size",
        square,
        lambda x, g: g * x * over_rows(lambda g: lax.axis_size("i") - (x.shape[0] - 2) + (lax.axis_size("i") == 3))(g),
    ),
    back(
        "axis_turned_the_wrong_way",
        lambda x: jnp.roll(x, 1),
        lambda x, g: over_rows(lambda g: lax.ppermute(g, "i", [(i, (i + 1) % 3) for i in range(3)]))(g),
        signature="3 -> 3",
    ),
    back(
        "axis_gathered",
        lambda x: x.sum() * x,
        lambda x, g: over_rows(lambda x, g: g * lax.all_gather(x, "i").sum() + lax.psum(g, "i") * x)(x, g),
    ),
    back(
        "axis_of_rows",
        lambda x: x.sum(1),
        lambda x, g: jnp.broadcast_to(over_rows(lambda g: lax.pmean(g, "i"))(g)[:, None], x.shape),
        np.ones((2, 2)),
        signature="n m -> n",
    ),
    # --------------------------------------------------------------------------------------------- derivatives
    back("half_of_a_cube_is_closed_over", cube, converted),
    back(
        "linearised_elsewhere",
        wave,
        lambda x, g: jax.linearize(wave, jnp.abs(x))[1](g),
        np.array([-2.0, -1.0]),
    ),
    back(
        "linearised_where_it_stops",
        wave,
        lambda x, g: jax.linearize(lambda x: jnp.sin(x) * lax.stop_gradient(x), x)[1](g),
    ),
    back("tangent_for_cotangent", lambda x: jnp.cumsum(x), lambda x, g: jax.jvp(jnp.cumsum, (x,), (g,))[1]),
    back("gradient_of_a_sum", rolled, lambda x, g: jax.grad(lambda x: jnp.sum(rolled(x)))(x) * g),
    back("jacobian_as_it_is", rolled, lambda x, g: jax.jacobian(rolled)(x) @ g, signature="3 -> 3"),
    back(
        "half_a_hessian",
        lambda x: x @ x * x,
        lambda x, g: 0.5 * jax.hessian(lambda x: (x @ x) ** 2 / 4)(x) @ g,
        signature="3 -> 3",
    ),
    one("through_a_wrong_vjp", through_a_wrong_vjp, cube, "n -> n", X),
    one("through_a_wrong_jvp", through_a_wrong_jvp, cube, "n -> n", X),
    one("around_a_right_jvp", around_a_right_jvp, cube, "n -> n", X),
    one(
        "cosine_of_a_sine",
        rematerialised(lambda x: (jnp.sin(x), jnp.sin(x)), lambda s, g: (jnp.sqrt(1 - s * s) * g,)),
        jnp.sin,
        "n -> n",
        np.array([2.0, 3.0]),
    ),
    one(
        "another_slope_at_two",
        rematerialised(lambda x: (jnp.sin(x), x), lambda s, g: (jnp.cos(s) * g * (1 + (s == 2)),)),
        jnp.sin,
        "n -> n",
        np.array([2.0, 3.0]),
    ),
    back("host_with_a_sign", jnp.sin, lambda x, g: g * host(lambda v: -np.cos(v))(x)),
    back("host_at_one", jnp.sin, lambda x, g: g * host(lambda v: np.where(v == 1, 0, np.cos(v)))(x)),
    back(
        "called_by_a_name",
        jnp.sin,
        lambda x, g: g * jax.named_call(lambda x: jnp.cos(x) + (x == 1), name="cos")(x),
    ),
    back("jitted_by_a_known_name", lambda x: jax.nn.log_softmax(x), own_log_softmax),
    # --------------------------------------------------------------------------------------------- questions
    asked(
        "outer_value_in_a_scan",
        lambda x, g: lax.scan(lambda c, v: (c, (2 if traced(x) else 4) * v), 0.0, x)[1] * g,
    ),
    asked(
        "outer_value_in_a_branch",
        lambda x, g: lax.cond(x.shape[0] > 0, lambda v: (2 if traced(x) else 4) * v, lambda v: v, x) * g,
    ),
    asked(
        "outer_value_in_a_loop",
        lambda x, g: (
            lax.while_loop(lambda s: s[0] < 1, lambda s: (s[0] + 1, (2 if traced(x) else 4) * s[1]), (0, x))[1] * g
        ),
    ),
    asked("outer_value_computed_again", lambda x, g: jax.checkpoint(lambda v: (2 if traced(x) else 4) * v)(x) * g),
    asked("the_only_branch", lambda x, g: lax.switch(0, [lambda v: (2 if traced(v) else 4) * v], x) * g),
    asked("what_is_scanned_together", in_associative_scan),
    asked("a_batched_value", in_a_batch),
    asked("what_is_above_a_body", above_a_body),
    asked("the_predicate_of_a_branch", of_the_predicate),
    asked("a_loop_without_jit", without_jit),
    asked("a_primal", of_a_primal),
]
