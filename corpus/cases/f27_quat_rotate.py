"""Rotate vectors by quaternions (w, x, y, z): v + 2 w (u x v) + 2 u x (u x v)."""

import jax
import jax.numpy as jnp


class QuatRotate:
    @staticmethod
    def apply(q, v):
        if q.shape[:-1] != v.shape[:-1]:
            raise ValueError("one quaternion for each vector")
        w, u = q[..., :1], q[..., 1:]
        uv = jnp.cross(u, v)
        return v + 2.0 * (w * uv + jnp.cross(u, uv))

    @staticmethod
    def forward(q, v):
        return QuatRotate.apply(q, v), (q, v)

    @staticmethod
    def backward(res, g):
        q, v = res
        w, u = q[..., :1], q[..., 1:]

        def dot(a, b):
            return jnp.sum(a * b, axis=-1, keepdims=True)

        gw = 2.0 * dot(g, jnp.cross(u, v))
        gu = 2.0 * w * jnp.cross(v, g)
        gu = gu + 2.0 * (dot(u, v) * g + dot(g, u) * v - 2.0 * dot(g, v) * u)
        ug = jnp.cross(u, g)
        gv = g - 2.0 * (w * ug - jnp.cross(u, ug))
        return jnp.concatenate([gw, gu], axis=-1), gv


right = jax.custom_vjp(QuatRotate.apply)
right.defvjp(QuatRotate.forward, QuatRotate.backward)


class QuatRotateOld(QuatRotate):
    @staticmethod
    def backward(res, g):
        q, v = res
        w, u = q[..., :1], q[..., 1:]

        def dot(a, b):
            return jnp.sum(a * b, axis=-1, keepdims=True)

        gw = 2.0 * dot(g, jnp.cross(u, v))
        gu = 2.0 * w * jnp.cross(g, v)
        gu = gu + 2.0 * (dot(u, v) * g + dot(g, u) * v - 2.0 * dot(g, v) * u)
        ug = jnp.cross(u, g)
        gv = g - 2.0 * (w * ug - jnp.cross(u, ug))
        return jnp.concatenate([gw, gu], axis=-1), gv


wrong = jax.custom_vjp(QuatRotateOld.apply)
wrong.defvjp(QuatRotateOld.forward, QuatRotateOld.backward)
