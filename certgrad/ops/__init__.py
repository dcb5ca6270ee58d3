"""The op library: each op with its forward, its derivative rules and their domain, called like a JAX function."""

from certgrad.ops._declare import Case, Op, axis_of, case, op, registry
from certgrad.ops._registry import Registry
from certgrad.ops.activations_piecewise import relu
from certgrad.ops.arithmetic import add, mul
from certgrad.ops.exponential_logarithm import exp, log
from certgrad.ops.hyperbolic import tanh
from certgrad.ops.losses_regression import mse
from certgrad.ops.matrix import matmul
from certgrad.ops.normalization import layer_norm
from certgrad.ops.roots import sqrt
from certgrad.ops.softmax_family import softmax

registry.freeze()

__all__ = [
    "Case",
    "Op",
    "Registry",
    "add",
    "axis_of",
    "case",
    "exp",
    "layer_norm",
    "log",
    "matmul",
    "mse",
    "mul",
    "op",
    "registry",
    "relu",
    "softmax",
    "sqrt",
    "tanh",
]
