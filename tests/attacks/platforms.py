"""A2: `platform_dependent` with lists of platforms that are not the same list. On a CPU each rule is wrong."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from .attack import Attack
from .example import custom
from .makers import ones

KIND = "A2 platforms"
pd = lax.platform_dependent


def sine(x):
    return jnp.sin(x)


def cosine(x):
    return jnp.cos(x)


def minus_sine(x):
    return -jnp.sin(x)


def one(x):
    return 1 + jnp.tan(x) ** 2


def square(x):
    return x * x


def wrong(name, value, factor, fwd=None):
    """A rule of `value`, whose backward rule multiplies by `factor(x)`."""

    def make():
        return custom(value, fwd or (lambda x: (value(x), x)), lambda x, g: (g * factor(x),))

    return Attack(f"platform_{name}", KIND, make, value, "n -> n", ones(3))


def by_residual(value, residual):
    """The factor of the backward rule is made by the forward rule."""
    return custom(value, lambda x: (value(x), residual(x)), lambda r, g: (g * r,))


def forward_mode(value, factor):
    rule = jax.custom_jvp(value)
    rule.defjvp(lambda p, t: (value(p[0]), factor(p[0]) * t[0]))
    return rule


def on_cpu(x):
    return pd(x, cpu=sine, default=cosine)


def on_gpu_first(x):
    return pd(x, cuda=sine, cpu=cosine, default=jnp.tan)


def nested(x):
    return pd(x, cpu=lambda x: pd(x, tpu=sine, default=cosine), default=sine)


ATTACKS = [
    wrong("tpu_for_cpu", on_cpu, lambda x: pd(x, tpu=cosine, default=minus_sine)),
    wrong("cuda_for_cpu", on_cpu, lambda x: pd(x, cuda=cosine, default=minus_sine)),
    wrong("rocm_for_cpu", on_cpu, lambda x: pd(x, rocm=cosine, default=minus_sine)),
    wrong("two_for_cpu", on_cpu, lambda x: pd(x, cuda=cosine, cpu=minus_sine, default=minus_sine)),
    wrong("tpu_and_cuda", on_cpu, lambda x: pd(x, tpu=cosine, cuda=cosine, default=minus_sine)),
    wrong("swapped_branches", on_cpu, lambda x: pd(x, cpu=minus_sine, default=cosine)),
    wrong("order", on_gpu_first, lambda x: pd(x, cpu=cosine, cuda=minus_sine, default=one)),
    wrong("other_second", on_gpu_first, lambda x: pd(x, cuda=cosine, tpu=minus_sine, default=one)),
    wrong("other_first_and_order", on_gpu_first, lambda x: pd(x, tpu=cosine, cuda=minus_sine, default=one)),
    wrong("forgets_one", on_gpu_first, lambda x: pd(x, cuda=cosine, default=one)),
    wrong("only_in_the_rule", square, lambda x: pd(x, cpu=lambda x: 3 * x, default=lambda x: 2 * x)),
    wrong("default_only_in_the_rule", square, lambda x: pd(x, tpu=lambda x: 2 * x, default=lambda x: 3 * x)),
    wrong(
        "difference_of_two", square, lambda x: 2 * x + pd(x, cpu=sine, default=cosine) - pd(x, tpu=sine, default=cosine)
    ),
    wrong(
        "product_of_two",
        square,
        lambda x: (
            2 * x + pd(x, cpu=jnp.ones_like, default=jnp.zeros_like) * pd(x, tpu=jnp.zeros_like, default=jnp.ones_like)
        ),
    ),
    wrong(
        "cpu_means_not_tpu",
        square,
        lambda x: (
            2 * x
            + pd(x, cpu=jnp.ones_like, default=jnp.zeros_like) * (1 - pd(x, tpu=jnp.ones_like, default=jnp.zeros_like))
        ),
    ),
    wrong("nested_forgotten", nested, lambda x: pd(x, cpu=cosine, default=cosine)),
    wrong(
        "nested_other",
        nested,
        lambda x: pd(x, cpu=lambda x: pd(x, cuda=cosine, default=minus_sine), default=minus_sine) * -1,
    ),
    wrong(
        "nested_swapped", nested, lambda x: pd(x, tpu=lambda x: pd(x, cpu=cosine, default=minus_sine), default=cosine)
    ),
    wrong(
        "nested_same_twice",
        nested,
        lambda x: pd(x, cpu=lambda x: pd(x, cpu=cosine, default=minus_sine), default=cosine),
    ),
    Attack(
        "platform_in_residual",
        KIND,
        lambda: by_residual(on_cpu, lambda x: pd(x, tpu=cosine, default=minus_sine)),
        on_cpu,
        "n -> n",
        ones(3),
    ),
    Attack(
        "platform_in_jvp",
        KIND,
        lambda: forward_mode(on_cpu, lambda x: pd(x, tpu=cosine, default=minus_sine)),
        on_cpu,
        "n -> n",
        ones(3),
    ),
    Attack(
        "platform_in_jit",
        KIND,
        lambda: custom(
            on_cpu,
            lambda x: (on_cpu(x), x),
            lambda x, g: (jax.jit(lambda x: pd(x, tpu=cosine, default=minus_sine))(x) * g,),
        ),
        on_cpu,
        "n -> n",
        ones(3),
    ),
    Attack(
        "platform_in_scan",
        KIND,
        lambda: custom(
            on_cpu,
            lambda x: (on_cpu(x), x),
            lambda x, g: (lax.map(lambda v: pd(v, tpu=cosine, default=minus_sine), x) * g,),
        ),
        on_cpu,
        "n -> n",
        ones(3),
    ),
    wrong(
        "constants",
        square,
        lambda x: x * (1 + pd(cpu=lambda: 0.0, default=lambda: 1.0) + pd(tpu=lambda: 1.0, default=lambda: 0.0)),
    ),
]
