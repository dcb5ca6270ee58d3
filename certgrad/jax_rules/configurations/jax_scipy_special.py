"""Functions of jax.scipy.special: those with a custom rule, and others."""

from __future__ import annotations

import jax.numpy as jnp
from jax.scipy import special

from .._configuration import Configuration, configurations

N = "jax.scipy.special"

SCIPY_SPECIAL: list[Configuration] = [
    *configurations(f"{N}.logit", special.logit, "*s", kinks=[0, 1]),
    *configurations(f"{N}.xlogy", special.xlogy, "*s, *s", kinks=[(0, 0), (0, 1), (1, 0)]),
    *configurations(f"{N}.xlog1py", special.xlog1py, "*s, *s", kinks=[(0, -1), (0, 1)]),
    *configurations(f"{N}.xlogx", special.entr, "*s", form="jax.scipy.special.entr", kinks=[0]),
    *configurations(f"{N}.log_ndtr", special.log_ndtr, "n"),
    *configurations(f"{N}.zeta", special.zeta, "n, n", form="derivative in q", differentiable=["q"]),
    *configurations(f"{N}.expi", special.expi, "n"),
    *configurations(f"{N}.expn", lambda x, n: special.expn(jnp.full_like(x, n, int), x), "n", n=[2, 3]),
    *configurations(f"{N}.sici", lambda x: tuple(special.sici(x)), "n"),
    *configurations(f"{N}.fresnel", lambda x: tuple(special.fresnel(x)), "n"),
    *configurations(f"{N}.poch", special.poch, "n, n"),
    *configurations(
        f"{N}.hyp1f1", special.hyp1f1, "n, n, n", form="derivative in x", domain="b > 0", differentiable=["x"]
    ),
    *configurations(
        f"{N}.hyp2f1", special.hyp2f1, "n, n, n, n", form="derivative in x", domain="c > 0", differentiable=["x"]
    ),
    *configurations(f"{N}.expit", special.expit, "*s"),
    *configurations(f"{N}.rel_entr", special.rel_entr, "*s, *s", kinks=[(0, 1)]),
    *configurations(f"{N}.kl_div", special.kl_div, "*s, *s", kinks=[(0, 1)]),
    *configurations(f"{N}.ndtr", special.ndtr, "*s"),
    *configurations(f"{N}.gammaln", special.gammaln, "*s"),
    *configurations(f"{N}.digamma", special.digamma, "*s"),
    *configurations(f"{N}.multigammaln", lambda a, d: special.multigammaln(a, d), "*s", d=[1, 2]),
    *configurations(f"{N}.i0", special.i0, "*s", kinks=[0]),
    *configurations(f"{N}.i0e", special.i0e, "*s", kinks=[0]),
    *configurations("jax.numpy.i1", special.i1, "*s", form="jax.scipy.special.i1", kinks=[0]),
    *configurations(f"{N}.i1e", special.i1e, "*s", kinks=[0]),
    *configurations(f"{N}.polygamma", lambda x, n: special.polygamma(n, x), "*s", n=[0, 1, 2]),
    *configurations(f"{N}.betainc", special.betainc, "*s, *s, *s", form="derivative in x", differentiable=["x"]),
    *configurations(f"{N}.gammainc", special.gammainc, "*s, *s"),
    *configurations(f"{N}.logsumexp", lambda x, axis: special.logsumexp(x, axis), "n m", axis=[0, 1]),
    *(
        c
        for name, signature in (("erfcx", "n"), ("dawsn", "n"), ("owens_t", "n, n"))
        if hasattr(special, name)  # some versions of JAX do not have it
        for c in configurations(f"{N}.{name}", getattr(special, name), signature)
    ),
]
