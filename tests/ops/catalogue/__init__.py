"""The catalogue of ops that the library promises, a chapter a module: rows of names, and TorchLean's status of them."""

from . import blocks, elementwise, linear, losses, normalization, reductions, shape

CHAPTERS = {
    "elementwise": elementwise.ROWS,
    "reductions": reductions.ROWS,
    "linear": linear.ROWS,
    "shape": shape.ROWS,
    "normalization": normalization.ROWS,
    "losses": losses.ROWS,
    "blocks": blocks.ROWS,
}
