"""The catalogue of ops that the library promises, a chapter a module: rows of names, and TorchLean's status of them."""

from . import elementwise, linear, reductions

CHAPTERS = {"elementwise": elementwise.ROWS, "reductions": reductions.ROWS, "linear": linear.ROWS}
