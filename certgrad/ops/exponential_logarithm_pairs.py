"""Exponentials and logarithms to other bases, of pairs, and of entropies, elementwise."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import op
from certgrad.ops._shapes import sum_to


@op("*s -> *s", source="scipy.special.exp10; d/dx 10^x = 10^x * log(10)")
def exp10(x):
    """Power of ten 10 ** x, elementwise."""
    return jnp.power(10.0, x)


@exp10.fwd
def _(x):
    y = jnp.power(10.0, x)
    return y, y


@exp10.jvp
def _(y, dx):
    return y * jnp.log(10.0) * dx


@exp10.vjp
def _(y, seed):
    return y * jnp.log(10.0) * seed


@op(
    "*s -> *s",
    domain="x > 0",
    like="jax.nn.log1mexp",
    convention={"x = 0": "inf"},
    source="Mächler 2012; the derivative is 1/(exp(x) - 1)",
)
def log1mexp(x):
    """log(1 - exp(-x)), precise for small and for large x, elementwise."""
    # Both branches are the same number: a proof sees no seam.
    return jnp.where(x < 0.5, jnp.log(-jnp.expm1(-x)), jnp.log1p(-jnp.exp(-x)))


@log1mexp.jvp
def _(x, dx):
    return dx / jnp.expm1(x)


@log1mexp.vjp
def _(x, seed):
    return seed / jnp.expm1(x)


@op(
    "*s, *s -> *s",
    broadcast=True,
    like="jax.numpy.logaddexp2",
    torch="torch.logaddexp2",
    source="numpy.logaddexp2; the derivatives are the weights 2^x and 2^y over their sum",
)
def logaddexp2(x, y):
    """log2(2^x + 2^y) of arrays that broadcast, computed from the larger one."""
    d = x - y
    value = jnp.maximum(x, y) + jnp.log1p(jnp.exp2(-jnp.abs(d))) / jnp.log(2.0)
    return jnp.where(jnp.isnan(d), x + y, value)  # -inf - -inf is nan


@logaddexp2.jvp
def _(x, y, dx, dy):
    d = (x - y) * jnp.log(2.0)
    return lax.logistic(d) * dx + lax.logistic(-d) * dy


@logaddexp2.vjp
def _(x, y, seed):
    d = (x - y) * jnp.log(2.0)
    return sum_to(lax.logistic(d) * seed, x), sum_to(lax.logistic(-d) * seed, y)


@op(
    "*s, *s -> *s",
    domain="y > -1",
    broadcast=True,
    like="jax.scipy.special.xlog1py",
    torch="torch.special.xlog1py",
    convention={"y = -1": "0", "y < -1": "0"},
    source="scipy.special.xlog1py; where y <= -1 the rules return 0",
)
def xlog1py(x, y):
    """x * log(1 + y) of arrays that broadcast; 0 where x = 0, even if y is -1 or infinite."""
    return jnp.where((x != 0) | jnp.isnan(y), x * jnp.log1p(y), 0)


@xlog1py.jvp
def _(x, y, dx, dy):
    inside = y > -1
    safe = jnp.where(inside, y, 0)
    return jnp.where(inside, jnp.log1p(safe) * dx + x / (1 + safe) * dy, 0)


@xlog1py.vjp
def _(x, y, seed):
    inside = y > -1
    safe = jnp.where(inside, y, 0)
    ct = jnp.where(inside, seed, 0)
    return sum_to(jnp.log1p(safe) * ct, x), sum_to(x / (1 + safe) * ct, y)


@op(
    "*s -> *s",
    domain="x > 0",
    like="jax.scipy.special.entr",
    torch="torch.special.entr",
    torch_at={"x = 0": "inf", "x < 0": "nan"},
    convention={"x = 0": "0", "x < 0": "0"},
    source="Shannon 1948; where x <= 0 the rules return 0",
)
def entr(x):
    """-x * log(x), elementwise; 0 at 0 and -inf below."""
    inside = x > 0
    return jnp.where(inside, -x * jnp.log(jnp.where(inside, x, 1)), jnp.where(x == 0, 0, -jnp.inf))


@entr.jvp
def _(x, dx):
    inside = x > 0
    return jnp.where(inside, -(jnp.log(jnp.where(inside, x, 1)) + 1) * dx, 0)


@entr.vjp
def _(x, seed):
    inside = x > 0
    return jnp.where(inside, -(jnp.log(jnp.where(inside, x, 1)) + 1) * seed, 0)


@op(
    "*s, *s -> *s",
    domain=("x > 0", "y > 0"),
    broadcast=True,
    like="jax.scipy.special.rel_entr",
    convention={"x = 0": "0", "y = 0": "0"},
    source="Kullback and Leibler 1951; outside of x > 0 and y > 0 the rules return 0",
)
def rel_entr(x, y):
    """x * log(x / y) of arrays that broadcast; 0 where x = 0 and y >= 0, inf elsewhere outside of x > 0 and y > 0."""
    inside = (x > 0) & (y > 0)
    a, b = jnp.where(inside, x, 1), jnp.where(inside, y, 1)
    return jnp.where(inside, a * (jnp.log(a) - jnp.log(b)), jnp.where((x == 0) & (y >= 0), 0, jnp.inf))


@rel_entr.jvp
def _(x, y, dx, dy):
    inside = (x > 0) & (y > 0)
    a, b = jnp.where(inside, x, 1), jnp.where(inside, y, 1)
    return jnp.where(inside, (jnp.log(a) - jnp.log(b) + 1) * dx - a / b * dy, 0)


@rel_entr.vjp
def _(x, y, seed):
    inside = (x > 0) & (y > 0)
    a, b = jnp.where(inside, x, 1), jnp.where(inside, y, 1)
    ct = jnp.where(inside, seed, 0)
    return sum_to((jnp.log(a) - jnp.log(b) + 1) * ct, x), sum_to(-a / b * ct, y)
