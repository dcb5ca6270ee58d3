"""Activations with a kink or a seam, elementwise."""

import jax.numpy as jnp

from certgrad.ops._declare import op
from certgrad.ops._shapes import sum_to


@op(
    "*s -> *s",
    domain="x != 0",
    integers=True,
    like="jax.nn.relu",
    torch="torch.nn.functional.relu",
    torch_at={"x = 0": "0"},
    convention={"x = 0": "0"},
    source="Nair and Hinton 2010; the derivative 0 at 0 is JAX's and PyTorch's choice",
)
def relu(x):
    """The positive part max(x, 0), elementwise."""
    return jnp.maximum(x, 0)


@relu.jvp
def _(x, dx):
    return jnp.where(x > 0, dx, 0)


@relu.vjp
def _(x, seed):
    return jnp.where(x > 0, seed, 0)


@op(
    "*s -> *s",
    domain="x != 0 or negative_slope == 1",
    params={"negative_slope": None},
    like="jax.nn.leaky_relu",
    torch="torch.nn.functional.leaky_relu",
    torch_at={"x = 0": "negative_slope"},
    convention={"x = 0": "negative_slope"},
    source="The convention is PyTorch's; JAX returns 1 at 0",
)
def leaky_relu(x, *, negative_slope=0.01):
    """x where positive and negative_slope * x elsewhere."""
    return jnp.where(x > 0, x, negative_slope * x)


@leaky_relu.jvp
def _(x, dx, *, negative_slope):
    return jnp.where(x > 0, dx, negative_slope * dx)


@leaky_relu.vjp
def _(x, seed, *, negative_slope):
    return jnp.where(x > 0, seed, negative_slope * seed)


@op(
    "*s, *s -> *s",
    domain="x != 0",
    broadcast=True,
    torch="torch.nn.functional.prelu",
    torch_at={"x = 0": "slope, 0"},
    convention={"x = 0": "slope, 0"},
    source="He et al. 2015",
)
def prelu(x, slope):
    """x where positive and slope * x elsewhere, of arrays that broadcast; the slope has a derivative too."""
    return jnp.where(x > 0, x, slope * x)


@prelu.jvp
def _(x, slope, dx, dslope):
    return jnp.where(x > 0, dx, slope * dx + dslope * x)


@prelu.vjp
def _(x, slope, seed):
    return sum_to(jnp.where(x > 0, seed, slope * seed), x), sum_to(jnp.where(x > 0, 0, x * seed), slope)


@op(
    "*s -> *s",
    domain="x != 0 or alpha == 1",
    params={"alpha": None},
    like="jax.nn.elu",
    torch="torch.nn.functional.elu",
    torch_at={"x = 0": "alpha"},
    convention={"x = 0": "alpha"},
    source="Clevert et al. 2015",
)
def elu(x, *, alpha=1.0):
    """x where positive and alpha * (exp(x) - 1) elsewhere."""
    positive = x > 0
    return jnp.where(positive, x, alpha * jnp.expm1(jnp.where(positive, 0, x)))


@elu.jvp
def _(x, dx, *, alpha):
    positive = x > 0
    return jnp.where(positive, dx, alpha * jnp.exp(jnp.where(positive, 0, x)) * dx)


@elu.vjp
def _(x, seed, *, alpha):
    positive = x > 0
    return jnp.where(positive, seed, alpha * jnp.exp(jnp.where(positive, 0, x)) * seed)


@op(
    "*s -> *s",
    params={"alpha": "alpha > 0"},
    like="jax.nn.celu",
    torch="torch.nn.functional.celu",
    source="Barron 2017",
)
def celu(x, *, alpha=1.0):
    """x where positive and alpha * (exp(x / alpha) - 1) elsewhere: continuously differentiable for every alpha."""
    positive = x > 0
    return jnp.where(positive, x, alpha * jnp.expm1(jnp.where(positive, 0, x) / alpha))


@celu.jvp
def _(x, dx, *, alpha):
    positive = x > 0
    return jnp.where(positive, dx, jnp.exp(jnp.where(positive, 0, x) / alpha) * dx)


@celu.vjp
def _(x, seed, *, alpha):
    positive = x > 0
    return jnp.where(positive, seed, jnp.exp(jnp.where(positive, 0, x) / alpha) * seed)


_SELU_ALPHA = 1.6732632423543772
_SELU_SCALE = 1.0507009873554805


@op(
    "*s -> *s",
    domain="x != 0",
    like="jax.nn.selu",
    torch="torch.nn.functional.selu",
    torch_at={"x = 0": "1.7580993408473766"},
    convention={"x = 0": "1.7580993408473766"},
    source="Klambauer et al. 2017, with the two constants of JAX and PyTorch",
)
def selu(x):
    """scale * elu(x, alpha) with the two constants that keep mean 0 and variance 1 through layers."""
    positive = x > 0
    return _SELU_SCALE * jnp.where(positive, x, _SELU_ALPHA * jnp.expm1(jnp.where(positive, 0, x)))


@selu.jvp
def _(x, dx):
    positive = x > 0
    return _SELU_SCALE * jnp.where(positive, dx, _SELU_ALPHA * jnp.exp(jnp.where(positive, 0, x)) * dx)


@selu.vjp
def _(x, seed):
    positive = x > 0
    return _SELU_SCALE * jnp.where(positive, seed, _SELU_ALPHA * jnp.exp(jnp.where(positive, 0, x)) * seed)
