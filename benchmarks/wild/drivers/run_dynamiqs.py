"""A master equation at low rank, as its documentation solves it."""

import dynamiqs as dq
import jax
import jax.numpy as jnp
from _driver import each


def solved(method):
    def loss(omega):
        a = dq.destroy(4)
        h = omega * (a + a.dag())
        method_ = dq.method.LowRank(M=2, linear_solver=method)
        out = dq.mesolve(h, [a], dq.coherent_dm(4, 1.0), jnp.linspace(0.0, 0.1, 2), method=method_)
        return out.states[-1].to_jax().real.sum()

    jax.grad(loss)(0.3)


def rk():
    a = dq.destroy(3)
    f = lambda w: dq.sesolve(w * (a + a.dag()), dq.fock(3, 0), jnp.linspace(0.0, 0.1, 2)).states.to_jax().real.sum()  # noqa: E731
    jax.grad(f)(0.3)


each(lambda: solved("qr"), lambda: solved("cholesky"), rk)
