"""A7: no gradient, or zeros, for an argument that the caller named."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from .attack import Attack
from .example import custom

KIND = "A7 missing"


def linear(x, w):
    return x * w


def with_bwd(bwd, function=linear):
    return lambda: custom(function, lambda x, w: (function(x, w), (x, w)), bwd)


def two(name, make, named=("w",), function=linear, **more):
    return Attack(
        f"missing_{name}",
        KIND,
        make,
        function,
        "n, n -> n",
        lambda: (np.array([1.0, 2.0]), np.array([3.0, 4.0])),
        declared={"differentiable": list(named)} if named else {},
        **more,
    )


def none_in_jvp():
    rule = jax.custom_jvp(linear)
    rule.defjvps(lambda t, y, x, w: t * w, None)
    return rule


def zero_in_jvp():
    rule = jax.custom_jvp(linear)
    rule.defjvp(lambda p, t: (p[0] * p[1], t[0] * p[1] + 0 * t[1]))
    return rule


def dropped_in_jvp():
    rule = jax.custom_jvp(linear)
    rule.defjvp(lambda p, t: (p[0] * p[1], t[0] * p[1]))
    return rule


def custom_gradient():
    return jax.custom_gradient(lambda x, w: (x * w, lambda g: (g * w, None)))


def custom_gradient_zeros():
    return jax.custom_gradient(lambda x, w: (x * w, lambda g: (g * w, jnp.zeros_like(w))))


def symbolic_zeros():
    rule = jax.custom_vjp(linear)

    def fwd(x, w):
        return x.value * w.value, (x.value, w.value)

    rule.defvjp(fwd, lambda r, g: (g * r[1], None), symbolic_zeros=True)
    return rule


def by_whether_perturbed():
    rule = jax.custom_vjp(linear)

    def fwd(x, w):
        return x.value * w.value, (x.value, w.value if w.perturbed else None)

    def bwd(r, g):
        x, w = r
        return (g * (w if w is not None else 0 * x), None)

    rule.defvjp(fwd, bwd, symbolic_zeros=True)
    return rule


def wrong_with_both_perturbed():
    """Right for x alone and for w alone; where both are differentiated, w gets none."""
    rule = jax.custom_vjp(linear)

    def fwd(x, w):
        return x.value * w.value, (x.value, w.value, None if x.perturbed and w.perturbed else 1)

    def bwd(r, g):
        x, w, alone = r
        return (g * w, None if alone is None else g * x)

    rule.defvjp(fwd, bwd, symbolic_zeros=True)
    return rule


def jitted_none():
    return jax.jit(with_bwd(lambda r, g: (g * r[1], None))())


def nested_none():
    rule = with_bwd(lambda r, g: (g * r[1], None))()
    return lambda x, w: rule(x, w) + 0 * x


def stopped():
    return lambda x, w: x * jax.lax.stop_gradient(w)


def frozen_cast():
    return lambda x, w: x * jax.lax.stop_gradient(w) + 0 * w


ATTACKS = [
    two("none", with_bwd(lambda r, g: (g * r[1], None))),
    two("none_and_both_named", with_bwd(lambda r, g: (g * r[1], None)), ("x", "w")),
    two("none_for_both", with_bwd(lambda r, g: (None, None)), ("x", "w")),
    two("none_for_the_first", with_bwd(lambda r, g: (None, g * r[0])), ("x",)),
    two("zeros", with_bwd(lambda r, g: (g * r[1], jnp.zeros_like(r[1])))),
    two("zeros_not_named", with_bwd(lambda r, g: (g * r[1], jnp.zeros_like(r[1]))), ()),
    two("zero_times", with_bwd(lambda r, g: (g * r[1], 0 * g * r[0]))),
    two("stopped", with_bwd(lambda r, g: (g * r[1], g * jax.lax.stop_gradient(0 * r[0])))),
    two("numpy_zeros", with_bwd(lambda r, g: (g * r[1], r[1] - r[1])), ()),
    two("difference", with_bwd(lambda r, g: (g * r[1], g - g)), ()),
    two("none_in_jvp", none_in_jvp, ()),
    two("none_in_jvp_named", none_in_jvp),
    two("zero_in_jvp", zero_in_jvp, ()),
    two("dropped_in_jvp", dropped_in_jvp),
    two("custom_gradient", custom_gradient),
    two("custom_gradient_zeros", custom_gradient_zeros, ()),
    two("symbolic_zeros", symbolic_zeros),
    two("by_whether_perturbed", by_whether_perturbed),
    two("both_perturbed", wrong_with_both_perturbed, ("x", "w")),
    two("jitted_none", jitted_none),
    two("nested_none", nested_none),
    two("none_at_one_size", with_bwd(lambda r, g: (g * r[1], None if r[0].shape[0] == 2 else g * r[0]))),
    two(
        "none_at_one_constant_size",
        with_bwd(
            lambda r, g: (
                g * r[1],
                None if jax.core.is_constant_dim(r[0].shape[0]) and r[0].shape[0] == 2 else g * r[0],
            )
        ),
    ),
    two("zeros_below_a_size", with_bwd(lambda r, g: (g * r[1], g * r[0] * (jnp.asarray(r[0].shape[0]) > 2))), ()),
    two("stop_gradient", stopped, ()),
    two("stop_gradient_named", stopped),
    two("stop_gradient_and_zero", frozen_cast, ()),
]
