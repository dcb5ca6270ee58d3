"""Predicates and what they imply; dummies that are captured or swapped; repeated operands."""

import jax.numpy as jnp

from tests.obligations.traps import Trap, declare

where = jnp.where


def by(forward, slope, **options):
    return declare("*s -> *s", forward, lambda x, g, **p: slope(x, **p) * g, **options)


def of_two(forward, slopes, **options):
    def jvp(x, y, dx, dy):
        a, b = slopes(x, y)
        return a * dx + b * dy

    def vjp(x, y, g):
        a, b = slopes(x, y)
        return a * g, b * g

    return declare("*s, *s -> *s", forward, jvp, vjp, **options)


PREDICATES = [
    Trap(
        "[x > 0][x > 1] is [x > 1]",
        by(lambda x: where(x > 0, where(x > 1, x * x, 2 * x - 1), 2 * x - 1), lambda x: where(x > 0, 2 * x, 2.0)),
        at=(0.5,),
        right=by(lambda x: where(x > 0, where(x > 1, x * x, 2 * x - 1), 2 * x - 1), lambda x: where(x > 1, 2 * x, 2.0)),
    ),
    Trap(
        "[x > 0] + [x < 0] is not 1",
        by(lambda x: x, lambda x: where(x > 0, 1.0, 0.0) + where(x < 0, 1.0, 0.0)),
        at=(0.0,),
        right=by(lambda x: x, lambda x: where(x > 0, 1.0, 0.0) + where(x <= 0, 1.0, 0.0)),
    ),
    Trap(
        "[x > y] and [y > z] give [x > z], not the converse",
        of_two(
            lambda x, y: x,
            lambda x, y: (where((x > y) & (y > 1), where(x > 1, 1.0, 5.0), where(x > 1, 5.0, 1.0)), 0 * y),
        ),
        at=(2.0, 3.0),
        right=of_two(lambda x, y: x, lambda x, y: (where((x > y) & (y > 1), where(x > 1, 1.0, 5.0), 1.0), 0 * y)),
    ),
    Trap(
        "[x² > 0] is [x ≠ 0]",
        by(lambda x: x, lambda x: where(x * x > 0, 1.0, 3.0)),
        at=(0.0,),
        right=by(lambda x: x, lambda x: where(x * x >= 0, 1.0, 3.0)),
    ),
    Trap("[x² > 1] is [|x| > 1]", by(lambda x: x, lambda x: where(x * x > 1, where(x > 1, 1.0, 3.0), 1.0)), at=(-2.0,)),
    Trap(
        "predicates with a divisor: [x/y > 1] is not [x > y]",
        of_two(lambda x, y: x, lambda x, y: (where(x / y > 1, where(x > y, 1.0, 3.0), 1.0), 0 * y)),
        at=(-2.0, -1.0),
        right=of_two(lambda x, y: x, lambda x, y: (where(x / y > 1, where(x * y > y * y, 1.0, 3.0), 1.0), 0 * y)),
        hypotheses={"y ≠ 0"},
    ),
    Trap(
        "1/x > 1/y",
        of_two(lambda x, y: x, lambda x, y: (where((1 / x > 1 / y) & (x > y), 3.0, 1.0), 0 * y)),
        at=(1.0, -1.0),
    ),
    Trap(
        "exp is increasing: no false region",
        of_two(lambda x, y: x, lambda x, y: (where((jnp.exp(x) > 1) & (x > -1), 3.0, 1.0), 0 * y)),
        at=(1.0, 0.0),
    ),
    Trap(
        "sign of 0",
        by(lambda x: x * x, lambda x: 2 * jnp.abs(x) * where(x >= 0, 1.0, -1.0) + where(x == 0, 1.0, 0.0)),
        at=(0.0,),
        right=by(lambda x: x * x, lambda x: 2 * jnp.abs(x) * jnp.sign(x)),
    ),
    Trap(
        "no point between: x > 1 and x < 0",
        by(lambda x: x, lambda x: where((x > 1) & (x < 2), 3.0, 1.0)),
        at=(1.5,),
        right=by(lambda x: x, lambda x: where((x > 1) & (x < 0), 3.0, 1.0)),
    ),
]


def contraction(forward, jvp, vjp):
    return declare("n n, n n -> ", forward, jvp, vjp)


SQUARES = ([[1.0, 2.0], [3.0, 5.0]], [[2.0, 1.0], [0.0, 7.0]])


def of_matrix(forward, gradient, signature="n n -> "):
    return declare(signature, forward, lambda a, da: jnp.sum(gradient(a) * da), lambda a, g: g * gradient(a))


DUMMIES = [
    Trap(
        "Σ a_ij b_ji against Σ a_ij b_ij",
        contraction(
            lambda a, b: jnp.sum(a * b.T),
            lambda a, b, da, db: jnp.sum(da * b.T) + jnp.sum(a * db.T),
            lambda a, b, g: (g * b, g * a),
        ),
        at=SQUARES,
        right=contraction(
            lambda a, b: jnp.sum(a * b.T),
            lambda a, b, da, db: jnp.sum(da * b.T) + jnp.sum(a.T * db),
            lambda a, b, g: (g * b.T, g * a.T),
        ),
    ),
    Trap(
        "tr(A A) against tr(A Aᵀ)",
        of_matrix(lambda a: jnp.sum(a * a.T), lambda a: 2 * a),
        at=SQUARES[:1],
        right=of_matrix(lambda a: jnp.sum(a * a.T), lambda a: 2 * a.T),
    ),
    Trap(
        "tr(A A A), transposed once too often",
        of_matrix(lambda a: jnp.einsum("ij,jk,ki->", a, a, a), lambda a: 3 * a @ a),
        at=SQUARES[:1],
        right=of_matrix(lambda a: jnp.einsum("ij,jk,ki->", a, a, a), lambda a: 3 * (a @ a).T),
    ),
    Trap(
        "(Σ a)² against Σ a²",
        of_matrix(lambda a: jnp.sum(a) ** 2, lambda a: 2 * a),
        at=SQUARES[:1],
        right=of_matrix(lambda a: jnp.sum(a) ** 2, lambda a: 2 * jnp.sum(a) * jnp.ones_like(a)),
    ),
    Trap(
        "Σ_i (Σ_j a_ij)² against Σ_j (Σ_i a_ij)²",
        of_matrix(
            lambda a: jnp.sum(jnp.sum(a, axis=1) ** 2),
            lambda a: 2 * jnp.sum(a, axis=0, keepdims=True) * jnp.ones_like(a),
        ),
        at=SQUARES[:1],
        right=of_matrix(
            lambda a: jnp.sum(jnp.sum(a, axis=1) ** 2),
            lambda a: 2 * jnp.sum(a, axis=1, keepdims=True) * jnp.ones_like(a),
        ),
    ),
    Trap(
        "a quadratic form: A + Aᵀ",
        of_matrix(lambda a: jnp.sum(a @ a), lambda a: jnp.sum(a, 0)[:, None] + jnp.sum(a, 0)[None, :]),
        at=SQUARES[:1],
        right=of_matrix(lambda a: jnp.sum(a @ a), lambda a: jnp.sum(a, 0)[:, None] + jnp.sum(a, 1)[None, :]),
        verdict="refuted",
    ),
    Trap(
        "symmetric only if a is: max of a matrix and its transpose",
        declare(
            "n n -> n n",
            lambda a: jnp.maximum(a, a.T),
            lambda a, da: where(a > a.T, da, da.T),
            lambda a, g: where(a > a.T, g + g.T, 0.0),
        ),
        at=SQUARES[:1],
        right=declare("n n -> n n", lambda a: a + a.T, lambda a, da: da + da.T, lambda a, g: g.T + g),
    ),
    Trap(
        "repeated operand: x*x is not x*y",
        declare("n -> ", lambda x: x @ x, lambda x, dx: x @ dx, lambda x, g: g * x),
        at=([1.0, 2.0],),
        right=declare("n -> ", lambda x: x @ x, lambda x, dx: 2 * x @ dx, lambda x, g: 2 * g * x),
    ),
    Trap(
        "four dummies: Σ a_ij a_jk a_kl a_li",
        of_matrix(lambda a: jnp.einsum("ij,jk,kl,li->", a, a, a, a), lambda a: 4 * a @ a @ a),
        at=([[0.1, 0.2], [0.3, 0.5]],),
        right=of_matrix(lambda a: jnp.einsum("ij,jk,kl,li->", a, a, a, a), lambda a: 4 * (a @ a @ a).T),
    ),
]
