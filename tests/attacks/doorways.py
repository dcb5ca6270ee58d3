"""A6: the same wrong rules through other doors: the rule is right at every size but one, and nested in other things."""

from __future__ import annotations

import functools
import types

import jax
import jax.numpy as jnp
from jax import lax

from .attack import Attack
from .example import custom
from .makers import asked_in_bwd, asked_in_fwd, asked_in_jvp, ones, square

KIND = "A6 doors"

QUESTIONS = {
    "constant": lambda x: jax.core.is_constant_dim(x.shape[-1]) and x.shape[-1] == 4,
    "typed": lambda x: type(x.shape[-1]) is int and x.shape[-1] == 4,
    "shown": lambda x: "4]" in str(jax.typeof(x)),
}


def inner(question, where="bwd"):
    """A function that makes the wrong rule anew."""
    return {"bwd": asked_in_bwd, "fwd": asked_in_fwd, "jvp": asked_in_jvp}[where](question)


class Layer:
    """A module with a rule of its own."""

    def __init__(self, rule):
        self.rule = rule

    def __call__(self, x):
        return self.rule(x)

    def method(self, x):
        return self.rule(x)


def in_custom_vjp(rule):
    """A right rule whose backward rule uses the wrong one."""
    return custom(square, lambda x: (x * x, x), lambda x, g: (jax.vjp(rule, x)[1](g)[0],))


def in_forward_rule(rule):
    """A rule whose forward rule keeps the pullback of the wrong one."""

    def fwd(x):
        return jax.vjp(rule, x)

    return custom(square, fwd, lambda pull, g: pull(g))


def in_gradient(rule):
    """A rule that takes the gradient of the wrong one's sum."""
    return custom(square, lambda x: (x * x, jax.grad(lambda v: jnp.sum(rule(v)))(x)), lambda d, g: (d * g,))


def in_jvp_rule(rule):
    outer = jax.custom_jvp(square)
    outer.defjvp(lambda p, t: (p[0] * p[0], jax.vjp(rule, p[0])[1](jnp.ones_like(p[0]))[0] * t[0]))
    return outer


def in_custom_gradient(rule):
    @jax.custom_gradient
    def outer(x):
        y, pull = jax.vjp(rule, x)
        return y, lambda g: pull(g)

    return outer


def in_scan(rule):
    return lambda x: lax.scan(lambda c, _: (c, rule(x)), 0.0, None, length=3)[1][0]


def in_carry(rule):
    return lambda x: lax.scan(lambda c, _: (rule(x) + 0 * c, None), x, None, length=2)[0]


def in_rows(rule):
    return lambda x: lax.scan(lambda c, row: (c, rule(row)), 0.0, x)[1]


def in_fori(rule):
    return lambda x: lax.fori_loop(0, 1, lambda _, y: rule(y), x)


def in_cond(rule):
    return lambda x: lax.cond(x[0] > -1, rule, lambda x: x * x, x)


def in_switch(rule):
    return lambda x: lax.switch(1, [lambda x: x, rule], x)


def in_while(rule):
    """Forward mode is not asked: the loop runs outside of what is differentiated."""
    return custom(
        square,
        lambda x: (x * x, x),
        lambda x, g: (
            lax.while_loop(lambda s: s[0] < 1, lambda s: (s[0] + 1, jax.vjp(rule, x)[1](g)[0]), (0, 0 * x))[1],
        ),
    )


def in_where(rule):
    return lambda x: jnp.where(x > -100, rule(x), x * x)


def reversed_twice(rule):
    return lambda x: rule(x[::-1])[::-1]


def in_tree(rule):
    return lambda x: jax.tree.map(rule, {"a": x})["a"]


def by_wraps(rule):
    @functools.wraps(square)
    def outer(x):
        return rule(x)

    return outer


def by_getattr(rule):
    module = types.ModuleType("rules")
    module.rule = rule
    return lambda x: getattr(module, "ru" + "le")(x)


def by_table(rule):
    table = {"square": [rule]}
    return lambda x: table["square"][0](x)


def by_dispatch(rule):
    @functools.singledispatch
    def outer(x):
        return rule(x)

    return lambda x: outer(x)


def by_closure_convert(rule):
    def outer(x):
        converted, consts = jax.closure_convert(rule, x)
        return converted(x, *consts)

    return outer


def by_linearize(rule):
    def fwd(x):
        return jax.linearize(rule, x)[0], x

    def bwd(x, g):
        _, push = jax.linearize(square, x)
        return (push(g) + jax.vjp(rule, x)[1](g)[0] - 2 * x * g,)

    return custom(square, fwd, bwd)


def reshaped(rule):
    return lambda x: rule(x.reshape(1, -1)).reshape(-1)


def padded(rule):
    return lambda x: rule(jnp.pad(x, (0, 1)))[:-1]


def joined(rule):
    return lambda x: rule(jnp.concatenate([x, x]))[: x.shape[0]]


WRAPPERS = {
    "jit": jax.jit,
    "jit_of_lambda": lambda rule: jax.jit(lambda x: rule(x)),
    "inlined": lambda rule: jax.jit(lambda x: rule(x), inline=True),
    "checkpoint": jax.checkpoint,
    "checkpoint_policy": lambda rule: jax.checkpoint(rule, policy=jax.checkpoint_policies.dots_saveable),
    "named_call": lambda rule: jax.named_call(rule, name="square"),
    "partial": lambda rule: functools.partial(lambda f, x: f(x), rule),
    "tree_partial": jax.tree_util.Partial,
    "callable_object": Layer,
    "bound_method": lambda rule: Layer(rule).method,
    "attribute": lambda rule: Layer(rule).rule,
    "wraps": by_wraps,
    "getattr": by_getattr,
    "table": by_table,
    "dispatch": by_dispatch,
    "custom_vjp": in_custom_vjp,
    "forward_rule": in_forward_rule,
    "gradient": in_gradient,
    "jvp_rule": in_jvp_rule,
    "custom_gradient": in_custom_gradient,
    "scan": in_scan,
    "carry": in_carry,
    "fori": in_fori,
    "cond": in_cond,
    "switch": in_switch,
    "while": in_while,
    "where": in_where,
    "reversal": reversed_twice,
    "tree_map": in_tree,
    "closure_convert": by_closure_convert,
    "linearize": by_linearize,
    "one_row": reshaped,
    "checkpoint_of_jit_of_scan": lambda rule: jax.checkpoint(jax.jit(in_scan(rule))),
    "custom_vjp_of_jit": lambda rule: in_custom_vjp(jax.jit(rule)),
    "cond_of_checkpoint": lambda rule: in_cond(jax.checkpoint(rule)),
    "nested_custom_vjp": lambda rule: in_custom_vjp(in_forward_rule(rule)),
}
ROWS = {
    "vmap": jax.vmap,
    "vmap_of_jit": lambda rule: jax.vmap(jax.jit(rule)),
    "rows_of_a_scan": in_rows,
    "map": lambda rule: lambda x: lax.map(rule, x),
    "vectorize": lambda rule: jnp.vectorize(rule, signature="(n)->(n)"),
    "broadcast": lambda rule: rule,
}


FOUR = ones(4)


def attack(name, wrapper, question, where="bwd", signature="n -> n", at=FOUR):
    make = inner(QUESTIONS[question], where)
    suffix = "" if (question, where) == ("constant", "bwd") else f"_{question}_{where}"
    return Attack(f"through_{name}{suffix}", KIND, lambda: wrapper(make()), square, signature, at)


ATTACKS = [
    *(attack(name, wrapper, "constant") for name, wrapper in WRAPPERS.items()),
    *(attack(name, wrapper, "typed") for name, wrapper in list(WRAPPERS.items())[::4]),
    *(attack(name, wrapper, "shown", "fwd") for name, wrapper in list(WRAPPERS.items())[1::5]),
    *(attack(name, wrapper, "constant", "jvp") for name, wrapper in list(WRAPPERS.items())[2::5]),
    *(attack(name, wrapper, "constant", "bwd", "m n -> m n", ones(2, 4)) for name, wrapper in ROWS.items()),
    attack("padded", padded, "constant", at=ones(3)),
    attack("joined", joined, "constant", at=ones(2)),
]
