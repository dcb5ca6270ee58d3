"""Costs, linear problems and fixed points, as the tutorials use them."""

import jax
import jax.numpy as jnp
from _driver import each
from ott.geometry import costs, pointcloud, regularizers
from ott.math import fixed_point_loop, matrix_square_root, utils
from ott.solvers import linear

X, Y = jax.random.normal(jax.random.PRNGKey(0), (2, 3, 2))


def sinkhorn():
    f = lambda x: linear.solve(pointcloud.PointCloud(x, Y, epsilon=1.0), max_iterations=20).reg_ot_cost  # noqa: E731
    jax.grad(f)(X)


def legendre():
    cost = costs.RegTICost(regularizers.SqL2(), lam=2.0)
    jax.grad(cost.h_legendre)(X[0])


def root():
    jax.grad(lambda a: jnp.sum(matrix_square_root.sqrtm_only(a @ a.T + jnp.eye(2))))(X[:2])


def loop():
    f = lambda x: fixed_point_loop.fixpoint_iter_backprop(  # noqa: E731
        lambda i, c, s: s[0] < 10.0, lambda i, c, s, e: (s[0] * c,), 1, 4, 2, jnp.float32(2.0), (x,)
    )[0]
    jax.grad(f)(jnp.float32(1.0))


each(sinkhorn, legendre, root, loop, lambda: jax.grad(lambda x: utils.norm(x))(X[0]))
