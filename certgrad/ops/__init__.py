"""The op library: each op with its forward, its derivative rules and their domain, called like a JAX function."""

from certgrad.ops._declare import AxisOf, Case, Op, axis_of, case, op, registry
from certgrad.ops._registry import Registry
from certgrad.ops.activations_hard import hard_sigmoid, hard_silu, hard_tanh, relu6
from certgrad.ops.activations_piecewise import celu, elu, leaky_relu, prelu, relu, selu
from certgrad.ops.activations_smooth import (
    glu,
    log_sigmoid,
    mish,
    sigmoid,
    silu,
    softcap,
    softplus,
    softsign,
    squareplus,
)
from certgrad.ops.arithmetic import add, constant, div, identity, inv, lerp, mul, neg, scale, sub
from certgrad.ops.exponential_logarithm import exp, exp2, expm1, log, log1p, log2, log10, logaddexp, logit, xlogy
from certgrad.ops.gelu import gelu_erf, gelu_tanh
from certgrad.ops.hyperbolic import acosh, asinh, atanh, cosh, sinh, tanh
from certgrad.ops.losses_classification import binary_cross_entropy_with_logits, cross_entropy_logits
from certgrad.ops.losses_regression import huber, mae, mse, smooth_l1
from certgrad.ops.losses_similarity import cosine_similarity_loss
from certgrad.ops.masking import apply_mask, dropout, where
from certgrad.ops.matrix import bmm, linear, matmul
from certgrad.ops.normalization import layer_norm, rms_norm
from certgrad.ops.piecewise import abs, clamp, floor, max, min, round, sign
from certgrad.ops.powers import integer_pow, inverse_pow, pow, square
from certgrad.ops.reductions import logsumexp, mean, reduce_sum
from certgrad.ops.roots import cbrt, hypot, rsqrt, smooth_abs, sqrt
from certgrad.ops.safe import safe_div, safe_inv, safe_log
from certgrad.ops.scaled_dot_product import attention
from certgrad.ops.softmax_family import log_softmax, softmax
from certgrad.ops.special import digamma, erf, erf_inv, erfc, lgamma
from certgrad.ops.trigonometric import acos, asin, atan, atan2, cos, sin, tan

registry.freeze()

__all__ = [
    "AxisOf",
    "Case",
    "Op",
    "Registry",
    "abs",
    "acos",
    "acosh",
    "add",
    "apply_mask",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "attention",
    "axis_of",
    "binary_cross_entropy_with_logits",
    "bmm",
    "case",
    "cbrt",
    "celu",
    "clamp",
    "constant",
    "cos",
    "cosh",
    "cosine_similarity_loss",
    "cross_entropy_logits",
    "digamma",
    "div",
    "dropout",
    "elu",
    "erf",
    "erf_inv",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "gelu_erf",
    "gelu_tanh",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_tanh",
    "huber",
    "hypot",
    "identity",
    "integer_pow",
    "inv",
    "inverse_pow",
    "layer_norm",
    "leaky_relu",
    "lerp",
    "lgamma",
    "linear",
    "log",
    "log1p",
    "log2",
    "log10",
    "log_sigmoid",
    "log_softmax",
    "logaddexp",
    "logit",
    "logsumexp",
    "mae",
    "matmul",
    "max",
    "mean",
    "min",
    "mish",
    "mse",
    "mul",
    "neg",
    "op",
    "pow",
    "prelu",
    "reduce_sum",
    "registry",
    "relu",
    "relu6",
    "rms_norm",
    "round",
    "rsqrt",
    "safe_div",
    "safe_inv",
    "safe_log",
    "scale",
    "selu",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "sinh",
    "smooth_abs",
    "smooth_l1",
    "softcap",
    "softmax",
    "softplus",
    "softsign",
    "sqrt",
    "square",
    "squareplus",
    "sub",
    "tan",
    "tanh",
    "where",
    "xlogy",
]
