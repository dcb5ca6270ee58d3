"""The op library: each op with its forward, its derivative rules and their domain, called like a JAX function."""

from certgrad.ops._declare import Case, Op, axis_of, case, op, registry, size_of
from certgrad.ops._registry import Registry
from certgrad.ops._static import AxisOf, SizeOf
from certgrad.ops.activations_gated import geglu, quick_gelu, reglu, swiglu, tanh_shrink
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
from certgrad.ops.activations_sparse import (
    hard_shrink,
    soft_shrink,
    sparse_plus,
    sparse_sigmoid,
    squared_relu,
    threshold,
)
from certgrad.ops.arithmetic import add, constant, div, identity, inv, lerp, mul, neg, scale, sub
from certgrad.ops.arithmetic_fused import axpy, cube, deg2rad, multiply_add, rad2deg, squared_difference
from certgrad.ops.axes import expand_dims, moveaxis, squeeze, swapaxes, transpose
from certgrad.ops.bessel import i0, i0e, i1, i1e
from certgrad.ops.exponential_logarithm import exp, exp2, expm1, log, log1p, log2, log10, logaddexp, logit, xlogy
from certgrad.ops.exponential_logarithm_pairs import entr, exp10, log1mexp, logaddexp2, rel_entr, xlog1py
from certgrad.ops.gelu import gelu_erf, gelu_tanh
from certgrad.ops.hyperbolic import acosh, asinh, atanh, cosh, sinh, tanh
from certgrad.ops.indexing import scatter_add, segment_sum, take, take_along_axis
from certgrad.ops.joining import concatenate, split, stack, unstack
from certgrad.ops.losses_classification import binary_cross_entropy_with_logits, cross_entropy_logits
from certgrad.ops.losses_regression import huber, mae, mse, smooth_l1
from certgrad.ops.losses_similarity import cosine_similarity_loss
from certgrad.ops.masking import apply_mask, dropout, where
from certgrad.ops.matrix import bmm, linear, matmul
from certgrad.ops.normalization import layer_norm, rms_norm
from certgrad.ops.ordering import sort, top_k
from certgrad.ops.padding import pad
from certgrad.ops.piecewise import abs, clamp, floor, max, min, round, sign
from certgrad.ops.powers import integer_pow, inverse_pow, pow, square
from certgrad.ops.reductions import logsumexp, mean, reduce_sum
from certgrad.ops.repetition import broadcast_to, repeat, tile
from certgrad.ops.reshaping import ravel, reshape
from certgrad.ops.roots import cbrt, hypot, rsqrt, smooth_abs, sqrt
from certgrad.ops.rounding import ceil, copysign, fmod, frac, heaviside, remainder, trunc
from certgrad.ops.safe import safe_div, safe_inv, safe_log
from certgrad.ops.scaled_dot_product import attention
from certgrad.ops.slicing import dynamic_slice, dynamic_update_slice, flip, roll, slice, strided_slice
from certgrad.ops.softmax_family import log_softmax, softmax
from certgrad.ops.special import digamma, erf, erf_inv, erfc, lgamma
from certgrad.ops.special_gamma import beta, betaln, gamma, gammainc, gammaincc, ndtr, polygamma
from certgrad.ops.triangles import diag, diag_embed, diagonal, tril, triu
from certgrad.ops.trigonometric import acos, asin, atan, atan2, cos, sin, tan

registry.freeze()

__all__ = [
    "AxisOf",
    "Case",
    "Op",
    "Registry",
    "SizeOf",
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
    "axpy",
    "beta",
    "betaln",
    "binary_cross_entropy_with_logits",
    "bmm",
    "broadcast_to",
    "case",
    "cbrt",
    "ceil",
    "celu",
    "clamp",
    "concatenate",
    "constant",
    "copysign",
    "cos",
    "cosh",
    "cosine_similarity_loss",
    "cross_entropy_logits",
    "cube",
    "deg2rad",
    "diag",
    "diag_embed",
    "diagonal",
    "digamma",
    "div",
    "dropout",
    "dynamic_slice",
    "dynamic_update_slice",
    "elu",
    "entr",
    "erf",
    "erf_inv",
    "erfc",
    "exp",
    "exp2",
    "exp10",
    "expand_dims",
    "expm1",
    "flip",
    "floor",
    "fmod",
    "frac",
    "gamma",
    "gammainc",
    "gammaincc",
    "geglu",
    "gelu_erf",
    "gelu_tanh",
    "glu",
    "hard_shrink",
    "hard_sigmoid",
    "hard_silu",
    "hard_tanh",
    "heaviside",
    "huber",
    "hypot",
    "i0",
    "i0e",
    "i1",
    "i1e",
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
    "log1mexp",
    "log1p",
    "log2",
    "log10",
    "log_sigmoid",
    "log_softmax",
    "logaddexp",
    "logaddexp2",
    "logit",
    "logsumexp",
    "mae",
    "matmul",
    "max",
    "mean",
    "min",
    "mish",
    "moveaxis",
    "mse",
    "mul",
    "multiply_add",
    "ndtr",
    "neg",
    "op",
    "pad",
    "polygamma",
    "pow",
    "prelu",
    "quick_gelu",
    "rad2deg",
    "ravel",
    "reduce_sum",
    "registry",
    "reglu",
    "rel_entr",
    "relu",
    "relu6",
    "remainder",
    "repeat",
    "reshape",
    "rms_norm",
    "roll",
    "round",
    "rsqrt",
    "safe_div",
    "safe_inv",
    "safe_log",
    "scale",
    "scatter_add",
    "segment_sum",
    "selu",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "sinh",
    "size_of",
    "slice",
    "smooth_abs",
    "smooth_l1",
    "soft_shrink",
    "softcap",
    "softmax",
    "softplus",
    "softsign",
    "sort",
    "sparse_plus",
    "sparse_sigmoid",
    "split",
    "sqrt",
    "square",
    "squared_difference",
    "squared_relu",
    "squareplus",
    "squeeze",
    "stack",
    "strided_slice",
    "sub",
    "swapaxes",
    "swiglu",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tanh_shrink",
    "threshold",
    "tile",
    "top_k",
    "transpose",
    "tril",
    "triu",
    "trunc",
    "unstack",
    "where",
    "xlog1py",
    "xlogy",
]
