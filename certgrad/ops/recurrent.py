"""Recurrent cells, and their networks over sequences of any length; the reverse pass is a scan by hand."""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import op
from certgrad.ops._magnitudes import Magnitudes
from certgrad.ops.arithmetic import add
from certgrad.ops.joining import split
from certgrad.ops.matrix import linear


def _outer(a, b):
    """Return Σ a[.., i] b[.., j] over all leading axes: the cotangent of a matrix that all rows share."""
    rows = tuple(range(a.ndim - 1))
    return jnp.tensordot(a, b, axes=(rows, rows))


def _rows(a):
    return jnp.sum(a, axis=tuple(range(a.ndim - 1)))


@op(
    "*b d, *b h, h d, h h, h -> *b h",
    torch="torch.nn.RNNCell",
    source="Elman 1990, with tanh",
    magnitudes=Magnitudes(most=1 / 4),
)
def elman_cell(x, h, w_x, w_h, b):
    """One step of an Elman network: tanh(x w_xᵀ + h w_hᵀ + b)."""
    return jnp.tanh(jnp.matmul(x, w_x.T) + jnp.matmul(h, w_h.T) + b)


@elman_cell.fwd
def _(x, h, w_x, w_h, b):
    y = jnp.tanh(jnp.matmul(x, w_x.T) + jnp.matmul(h, w_h.T) + b)
    return y, (x, h, w_x, w_h, y)


@elman_cell.jvp
def _(residuals, dx, dh, dw_x, dw_h, db):
    x, h, w_x, w_h, y = residuals
    dz = jnp.matmul(dx, w_x.T) + jnp.matmul(x, dw_x.T) + jnp.matmul(dh, w_h.T) + jnp.matmul(h, dw_h.T) + db
    return (1 - y * y) * dz


@elman_cell.vjp
def _(residuals, seed):
    x, h, w_x, w_h, y = residuals
    ct = (1 - y * y) * seed
    return jnp.matmul(ct, w_x), jnp.matmul(ct, w_h), _outer(ct, x), _outer(ct, h), _rows(ct)


@op(
    "*b h, *b h, *b h, *b h, *b h -> *b h",
    torch="torch.nn.GRUCell",
    source="Cho et al. 2014, as PyTorch: the reset gate scales the candidate's share of the state after its product",
)
def gru_cell(r, z, n, inner, h):
    """One step of a gated recurrent unit: (1 - z) * n + z * h with gates r, z and the candidate n.

    A call is gru_cell(x, h, w_ih, w_hh, b_ih, b_hh) with PyTorch's weights (3·hidden, ..), in the order r, z, n.
    """
    return _gru(r, z, n, inner, h)[0]


def _gru(r, z, n, inner, h):
    """Return the new state of a GRU, and the residuals.

    r, z and n are the arguments of the activations: of the reset gate, the update gate and the candidate. `inner` is
    the part of the candidate that comes from the state h; the reset gate scales it.
    """
    r, z = lax.logistic(r), lax.logistic(z)
    n = jnp.tanh(n + r * inner)
    return (1 - z) * n + z * h, (r, z, n, inner, h)


@gru_cell.fwd
def _(r, z, n, inner, h):
    return _gru(r, z, n, inner, h)


@gru_cell.jvp
def _(residuals, dr, dz, dn, dinner, dh):
    r, z, n, inner, h = residuals
    change = (1 - n * n) * (dn + r * (1 - r) * inner * dr + r * dinner)
    return z * (1 - z) * (h - n) * dz + (1 - z) * change + z * dh


@gru_cell.vjp
def _(residuals, seed):
    r, z, n, inner, h = residuals
    ct = seed * (1 - z) * (1 - n * n)
    return ct * inner * r * (1 - r), seed * (h - n) * z * (1 - z), ct, ct * r, seed * z


@gru_cell.several
def _(x, h, w_ih, w_hh, b_ih, b_hh):
    of_x, of_h = split(linear(x, w_ih, b_ih), 3, axis=-1), split(linear(h, w_hh, b_hh), 3, axis=-1)
    return gru_cell.call_case(add(of_x[0], of_h[0]), add(of_x[1], of_h[1]), of_x[2], of_h[2], h)


@op(
    "*b h, *b h, *b h, *b h, *b h -> *b h, *b h",
    torch="torch.nn.LSTMCell",
    source="Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000",
)
def lstm_cell(i, f, g, o, c):
    """One step of a long short-term memory: the new state o * tanh(new cell), and the new cell f * c + i * g.

    A call is lstm_cell(x, h, c, w_ih, w_hh, b_ih, b_hh) with PyTorch's weights (4·hidden, ..), in the order i, f, g, o.
    """
    return _lstm(i, f, g, o, c)[0]


def _lstm(i, f, g, o, c):
    i, f, g, o = lax.logistic(i), lax.logistic(f), jnp.tanh(g), lax.logistic(o)
    new = f * c + i * g
    t = jnp.tanh(new)
    return (o * t, new), (i, f, g, o, c, t)


@lstm_cell.fwd
def _(i, f, g, o, c):
    return _lstm(i, f, g, o, c)


@lstm_cell.jvp
def _(residuals, di, df, dg, do, dc):
    i, f, g, o, c, t = residuals
    dnew = f * (1 - f) * c * df + f * dc + i * (1 - i) * g * di + i * (1 - g * g) * dg
    return o * (1 - o) * t * do + o * (1 - t * t) * dnew, dnew


@lstm_cell.vjp
def _(residuals, seed, seed_cell):
    i, f, g, o, c, t = residuals
    ct = seed_cell + seed * o * (1 - t * t)
    return ct * g * i * (1 - i), ct * c * f * (1 - f), ct * i * (1 - g * g), seed * t * o * (1 - o), ct * f


@lstm_cell.several
def _(x, h, c, w_ih, w_hh, b_ih, b_hh):
    sums = add(linear(x, w_ih, b_ih), linear(h, w_hh, b_hh))
    return lstm_cell.call_case(*split(sums, 4, axis=-1), c)


@op(
    "t d, h, h d, h h, h -> t h",
    torch="torch.nn.RNN",
    source="Elman 1990, with tanh; the reverse pass is one scan backwards in time",
    magnitudes=Magnitudes(most=1 / 4),
)
def elman(x, h, w_x, w_h, b):
    """An Elman network over a sequence x (time, features) from the state h: the states after each step."""
    return _states(jnp.matmul(x, w_x.T) + b, h, w_h)


def _states(inputs, h, w_h):
    def step(h, row):
        y = jnp.tanh(row + jnp.matmul(w_h, h))
        return y, y

    return lax.scan(step, h, inputs)[1]


def _before(states, h):
    """Return the state before each step: h, then all states but the last."""
    return jnp.concatenate([jnp.expand_dims(h, 0), lax.slice_in_dim(states, 0, -1)], 0)


@elman.fwd
def _(x, h, w_x, w_h, b):
    states = _states(jnp.matmul(x, w_x.T) + b, h, w_h)
    return states, (x, h, w_x, w_h, states)


@elman.jvp
def _(residuals, dx, dh, dw_x, dw_h, db):
    x, h, w_x, w_h, states = residuals
    dinputs = jnp.matmul(dx, w_x.T) + jnp.matmul(x, dw_x.T) + db + jnp.matmul(_before(states, h), dw_h.T)

    def step(dh, row):
        dinput, y = row
        dy = (1 - y * y) * (dinput + jnp.matmul(w_h, dh))
        return dy, dy

    return lax.scan(step, dh, (dinputs, states))[1]


@elman.vjp
def _(residuals, seed):
    x, h, w_x, w_h, states = residuals

    def step(ct, row):
        seed, y = row
        ct_z = (1 - y * y) * (seed + ct)
        return jnp.matmul(ct_z, w_h), ct_z

    ct_h, ct_z = lax.scan(step, jnp.zeros_like(h), (seed, states), reverse=True)
    ct_w_h = jnp.matmul(ct_z.T, _before(states, h))
    return jnp.matmul(ct_z, w_x), ct_h, jnp.matmul(ct_z.T, x), ct_w_h, jnp.sum(ct_z, axis=0)


@op(
    "t *c, t *c, *c -> t *c",
    source="Gu and Dao 2023: the scan of a selective state space model, h[t] = a[t] * h[t-1] + b[t]",
)
def selective_scan(a, b, h):
    """The states h[t] = a[t] * h[t-1] + b[t] from the state h on, along the first axis."""
    return _scanned(a, b, h)


def _scanned(a, b, h, reverse=False):
    def step(h, row):
        y = row[0] * h + row[1]
        return y, y

    return lax.scan(step, h, (a, b), reverse=reverse)[1]


@selective_scan.fwd
def _(a, b, h):
    states = _scanned(a, b, h)
    return states, (a, h, states)


@selective_scan.jvp
def _(residuals, da, db, dh):
    a, h, states = residuals
    return _scanned(a, da * _before(states, h) + db, dh)


@selective_scan.vjp
def _(residuals, seed):
    a, h, states = residuals

    def step(ct, row):
        a, seed = row
        ct_state = seed + ct
        return a * ct_state, ct_state

    ct_h, ct = lax.scan(step, jnp.zeros_like(h), (a, seed), reverse=True)
    return ct * _before(states, h), ct, ct_h
