"""Softmax of negated, scaled, perturbed and masked arguments, along any axis."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import axis_of, case, op
from certgrad.ops._magnitudes import Magnitudes

_ALONG = case("*a n *c -> *a n *c", axis=axis_of("n"))


def _softmax(x, axis):
    z = jnp.exp(x - lax.stop_gradient(jnp.max(x, axis=axis, keepdims=True)))
    return z / jnp.sum(z, axis=axis, keepdims=True)


def _slope(y, t, axis):
    """Return the derivative along t of the softmax whose value is y; this linear map is its own transpose."""
    return y * (t - jnp.sum(y * t, axis=axis, keepdims=True))


@op(_ALONG, torch="torch.nn.functional.softmin", source="softmax(-x)")
def softmin(x, *, axis=-1):
    """Softmax of -x along one axis."""
    return _softmax(-x, axis)


@softmin.fwd
def _(x, *, axis):
    y = _softmax(-x, axis)
    return y, y


@softmin.jvp
def _(y, dx, *, axis):
    return -_slope(y, dx, axis)


@softmin.vjp
def _(y, seed, *, axis):
    return -_slope(y, seed, axis)


@op(
    _ALONG,
    params={"temperature": "temperature != 0"},
    source="Hinton, Vinyals and Dean 2015",
    magnitudes=Magnitudes(most=1 / 2),
)
def softmax_with_temperature(x, *, temperature, axis=-1):
    """Softmax of x / temperature along one axis."""
    return _softmax(x / temperature, axis)


@softmax_with_temperature.fwd
def _(x, *, temperature, axis):
    y = _softmax(x / temperature, axis)
    return y, y


@softmax_with_temperature.jvp
def _(y, dx, *, temperature, axis):
    return _slope(y, dx, axis) / temperature


@softmax_with_temperature.vjp
def _(y, seed, *, temperature, axis):
    return _slope(y, seed, axis) / temperature


@op(
    case("*a n *c, *a n *c -> *a n *c", axis=axis_of("n")),
    params={"tau": "tau != 0"},
    torch="torch.nn.functional.gumbel_softmax",
    source="Jang, Gu and Poole 2017; Maddison, Mnih and Teh 2017",
)
def gumbel_softmax(logits, noise, *, tau=1.0, axis=-1):
    """Softmax of (logits + noise) / tau along one axis, for noise that the caller draws, as by jax.random.gumbel."""
    return _softmax((logits + noise) / tau, axis)


@gumbel_softmax.fwd
def _(logits, noise, *, tau, axis):
    y = _softmax((logits + noise) / tau, axis)
    return y, y


@gumbel_softmax.jvp
def _(y, dlogits, dnoise, *, tau, axis):
    return _slope(y, dlogits + dnoise, axis) / tau


@gumbel_softmax.vjp
def _(y, seed, *, tau, axis):
    ct = _slope(y, seed, axis) / tau
    return ct, ct


@op(
    case("*a n *c, *a n *c:bool -> *a n *c", axis=axis_of("n")),
    like="jax.nn.softmax",
    source="jax.nn.softmax with where; each row must keep an entry",
)
def masked_softmax(x, mask, *, axis=-1):
    """Softmax along one axis of the entries where the mask is set, and 0 elsewhere; a row must keep an entry."""
    return _masked(x, mask, axis)


def _masked(x, mask, axis):
    kept = jnp.where(mask, x, -jnp.inf)
    z = jnp.exp(kept - lax.stop_gradient(jnp.max(kept, axis=axis, keepdims=True)))
    return z / jnp.sum(z, axis=axis, keepdims=True)


@masked_softmax.fwd
def _(x, mask, *, axis):
    y = _masked(x, mask, axis)
    return y, y


@masked_softmax.jvp
def _(y, dx, *, axis):
    return _slope(y, dx, axis)


@masked_softmax.vjp
def _(y, seed, *, axis):
    return _slope(y, seed, axis)
