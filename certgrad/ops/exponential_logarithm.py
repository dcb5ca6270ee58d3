"""Exponentials and logarithms, elementwise."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import op
from certgrad.ops._shapes import at_least_float32, cast_like, sum_to


@op("*s -> *s", like="jax.numpy.exp", torch="torch.exp", source="exp' = exp")
def exp(x):
    """Exponential, elementwise."""
    return jnp.exp(x)


@exp.fwd
def _(x):
    y = jnp.exp(x)
    return y, y


@exp.jvp
def _(y, dx):
    return dx * y


@exp.vjp
def _(y, seed):
    return seed * y


@op("*s -> *s", like="jax.numpy.exp2", torch="torch.exp2", source="d/dx 2^x = 2^x * log(2)")
def exp2(x):
    """Power of two 2 ** x, elementwise."""
    return cast_like(jnp.exp2(at_least_float32(x)), x)


@exp2.fwd
def _(x):
    y = exp2.forward(x)
    return y, y


@exp2.jvp
def _(y, dx):
    return y * jnp.log(2.0) * dx


@exp2.vjp
def _(y, seed):
    return y * jnp.log(2.0) * seed


@op("*s -> *s", like="jax.numpy.expm1", torch="torch.expm1", source="d/dx (exp(x) - 1) = exp(x)")
def expm1(x):
    """exp(x) - 1, precise near 0, elementwise."""
    return jnp.expm1(x)


@expm1.jvp
def _(x, dx):
    return jnp.exp(x) * dx


@expm1.vjp
def _(x, seed):
    return jnp.exp(x) * seed


@op(
    "*s -> *s",
    domain="x > 0",
    like="jax.numpy.log",
    torch="torch.log",
    torch_at={"x = 0": "inf", "x < 0": "1/x"},
    convention={"x = 0": "inf", "x < 0": "1/x"},
    source="log'(x) = 1/x; for x <= 0 the rules return 1/x as well, as JAX and PyTorch do",
)
def log(x):
    """Natural logarithm, elementwise."""
    return jnp.log(x)


@log.jvp
def _(x, dx):
    return dx / x


@log.vjp
def _(x, seed):
    return seed / x


@op(
    "*s -> *s",
    domain="x > -1",
    like="jax.numpy.log1p",
    torch="torch.log1p",
    torch_at={"x = -1": "inf", "x < -1": "1/(1 + x)"},
    convention={"x = -1": "inf", "x < -1": "1/(1 + x)"},
    source="d/dx log(1 + x) = 1/(1 + x)",
)
def log1p(x):
    """log(1 + x), precise near 0, elementwise."""
    return jnp.log1p(x)


@log1p.jvp
def _(x, dx):
    return dx / (1 + x)


@log1p.vjp
def _(x, seed):
    return seed / (1 + x)


@op(
    "*s -> *s",
    domain="x > 0",
    like="jax.numpy.log2",
    torch="torch.log2",
    torch_at={"x = 0": "inf", "x < 0": "1/(x * log(2))"},
    convention={"x = 0": "inf", "x < 0": "1/(x * log(2))"},
    source="d/dx log2(x) = 1/(x * log(2))",
)
def log2(x):
    """Logarithm to base 2, elementwise."""
    return jnp.log(x) / jnp.log(2.0)


@log2.jvp
def _(x, dx):
    return dx / (x * jnp.log(2.0))


@log2.vjp
def _(x, seed):
    return seed / (x * jnp.log(2.0))


@op(
    "*s -> *s",
    domain="x > 0",
    like="jax.numpy.log10",
    torch="torch.log10",
    torch_at={"x = 0": "inf", "x < 0": "1/(x * log(10))"},
    convention={"x = 0": "inf", "x < 0": "1/(x * log(10))"},
    source="d/dx log10(x) = 1/(x * log(10))",
)
def log10(x):
    """Logarithm to base 10, elementwise."""
    return jnp.log(x) / jnp.log(10.0)


@log10.jvp
def _(x, dx):
    return dx / (x * jnp.log(10.0))


@log10.vjp
def _(x, seed):
    return seed / (x * jnp.log(10.0))


@op(
    "*s, *s -> *s",
    broadcast=True,
    like="jax.numpy.logaddexp",
    torch="torch.logaddexp",
    source="numpy.logaddexp; the derivatives are the softmax weights sigmoid(x - y) and sigmoid(y - x)",
)
def logaddexp(x, y):
    """log(exp(x) + exp(y)) of arrays that broadcast, computed from the larger one."""
    d = x - y
    return jnp.where(jnp.isnan(d), x + y, jnp.maximum(x, y) + jnp.log1p(jnp.exp(-jnp.abs(d))))  # -inf - -inf is nan


@logaddexp.jvp
def _(x, y, dx, dy):
    return lax.logistic(x - y) * dx + lax.logistic(y - x) * dy


@logaddexp.vjp
def _(x, y, seed):
    return sum_to(lax.logistic(x - y) * seed, x), sum_to(lax.logistic(y - x) * seed, y)


@op(
    "*s, *s -> *s",
    domain="y > 0",
    broadcast=True,
    like="jax.scipy.special.xlogy",
    torch="torch.special.xlogy",
    convention={"y = 0": "0", "y < 0": "0"},
    source="scipy.special.xlogy; where y <= 0 the rules return 0",
)
def xlogy(x, y):
    """x * log(y) of arrays that broadcast; 0 where x = 0, even if y is 0 or infinite."""
    return jnp.where((x != 0) | jnp.isnan(y), x * jnp.log(y), 0)


@xlogy.jvp
def _(x, y, dx, dy):
    inside = y > 0
    safe = jnp.where(inside, y, 1)
    return jnp.where(inside, jnp.log(safe) * dx + x / safe * dy, 0)


@xlogy.vjp
def _(x, y, seed):
    inside = y > 0
    safe = jnp.where(inside, y, 1)
    ct = jnp.where(inside, seed, 0)
    return sum_to(jnp.log(safe) * ct, x), sum_to(x / safe * ct, y)


@op(
    "*s -> *s",
    domain=("x > 0", "x < 1"),
    like="jax.scipy.special.logit",
    torch="torch.logit",
    torch_at={"x = 0": "inf", "x = 1": "inf"},
    convention={"x = 0": "inf", "x = 1": "inf"},
    source="The inverse of the sigmoid: the derivative is 1/(x * (1 - x))",
)
def logit(x):
    """Log odds log(x / (1 - x)), elementwise."""
    return jnp.log(x) - jnp.log1p(-x)


@logit.jvp
def _(x, dx):
    return dx / (x * (1 - x))


@logit.vjp
def _(x, seed):
    return seed / (x * (1 - x))
