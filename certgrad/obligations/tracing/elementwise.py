"""Primitives that compute each entry of their results from the entries of their operands at the same index."""

ELEMENTWISE = frozenset(
    """
    abs acos acosh add add_any and asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt ceil clamp
    convert_element_type copy cos cosh digamma div eq erf erf_inv erfc exp exp2 expm1 floor ge gt igamma igamma_grad_a
    igammac integer_pow is_finite le lgamma log log1p logistic lt max min mul ne neg not one_minus_square or polygamma
    pow reduce_precision regularized_incomplete_beta rem round rsqrt select_n sign sin sinh sqrt square stop_gradient
    sub tan tanh xor zeta
    """.split()
)
