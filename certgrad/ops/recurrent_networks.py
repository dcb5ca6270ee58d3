"""Recurrent networks over sequences of any length, composed: a scan of a cell, time first."""

from jax import lax

from certgrad.ops._composed import composed
from certgrad.ops.recurrent import elman_cell, gru_cell, lstm_cell


@composed(
    "b d, b d, b h, h d, h h, h -> b h",
    source="Elman 1990, with tanh: backpropagation through two steps, whose gradients of the weights add up",
)
def elman_two_steps(x_1, x_2, h, w_x, w_h, b):
    """The state of an Elman network after two steps from h."""
    return elman_cell(x_2, elman_cell(x_1, h, w_x, w_h, b), w_x, w_h, b)


@composed(
    "t b d, b h, h d, h h, h -> t b h",
    torch="torch.nn.RNN",
    source="Elman 1990, with tanh; `elman` is the fused form",
)
def rnn(x, h, w_x, w_h, b):
    """An Elman network over a batch of sequences from the state h: the states after each step."""

    def step(h, row):
        h = elman_cell(row, h, w_x, w_h, b)
        return h, h

    return lax.scan(step, h, x)[1]


@composed(
    "t b d, b h, 3*h d, 3*h h, 3*h, 3*h -> t b h",
    torch="torch.nn.GRU",
    source="Cho et al. 2014, as PyTorch: weights in the order r, z, n",
)
def gru(x, h, w_ih, w_hh, b_ih, b_hh):
    """A gated recurrent network over a batch of sequences from the state h: the states after each step."""

    def step(h, row):
        h = gru_cell(row, h, w_ih, w_hh, b_ih, b_hh)
        return h, h

    return lax.scan(step, h, x)[1]


@composed(
    "t b d, b h, b h, 4*h d, 4*h h, 4*h, 4*h -> t b h, b h",
    torch="torch.nn.LSTM",
    source="Hochreiter and Schmidhuber 1997, as PyTorch: weights in the order i, f, g, o",
)
def lstm(x, h, c, w_ih, w_hh, b_ih, b_hh):
    """A long short-term memory over a batch of sequences from state h and cell c: the states, and the last cell."""

    def step(carry, row):
        h, c = lstm_cell(row, *carry, w_ih, w_hh, b_ih, b_hh)
        return (h, c), h

    (_, c), states = lax.scan(step, (h, c), x)
    return states, c
