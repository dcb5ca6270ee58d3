"""Kinds of primitives that are treated alike, as sets of names.

The rule of a single primitive is in `certgrad/specification/primitives/`. A statement about a kind holds for all
primitives of it: where it holds for some only, these are another kind.
"""

from __future__ import annotations


def _name_set(names: str) -> frozenset[str]:
    return frozenset(names.split())


# --- entries that stay as they are

RENAMES = _name_set("copy name stop_gradient")
"""The result is the operand; that of `stop_gradient` has no derivative."""
BROADCASTS = _name_set("broadcast_in_dim")
"""The operand, repeated along further axes."""
RESHAPES = _name_set("reshape squeeze")
"""The same entries in the same row-major order."""
CASTS = _name_set("convert_element_type reduce_precision")
"""Each entry in another dtype, or with fewer bits."""
KEEPS_CONSTANTS = RENAMES | BROADCASTS | RESHAPES | {"convert_element_type"}
"""An array all of whose entries are one number keeps that number, but for the rounding to its dtype."""
MOVES_ENTRIES = RENAMES | BROADCASTS | RESHAPES | _name_set("optimization_barrier rev slice tile transpose")
"""Each entry is one of the operand's, at a place that the parameters determine; no arithmetic."""
JOINS = _name_set("concatenate dynamic_update_slice pad stack")
"""Each entry is an entry of one of the operands."""
PARTS = _name_set("dynamic_slice split unstack")
"""Some of the first operand's entries."""
REARRANGES = MOVES_ENTRIES | JOINS | PARTS
"""Each entry is one of the operands', at a place that the parameters or an index operand determine."""
PLACES = _name_set("device_put layout_constraint reshard sharding_constraint")
"""The result is the operand, on other devices or in another order in memory."""

# --- entries that are compared, chosen, put together

COMPARES = _name_set("eq ne lt le gt ge")
LOGIC = _name_set("and not or xor")
"""On booleans; on integers, bit by bit."""
CLIPS = _name_set("clamp max min")
"""Each entry is the entry of one of the operands, which a comparison of them chooses."""
ORDERS = COMPARES | CLIPS
"""The result depends on a comparison of the operands' entries."""
CHOOSES = CLIPS | {"select_n"}
"""Each entry is the entry of one of the operands at the same place."""
ROUNDS = _name_set("ceil floor round")
"""Each entry is rounded to a whole number."""
ADDS = _name_set("add add_any sub neg")
"""Sums and differences of the operands, entry by entry."""
ALONG_AN_AXIS = {
    **dict.fromkeys(("cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum"), "axis"),
    **dict.fromkeys(("argmax", "argmin"), "axes"),
    "sort": "dimension",
    "top_k": "axis",
}
"""Primitives that treat all lines along one axis alike, with the name of the parameter that has the axis."""
CUMULATES = frozenset(k for k in ALONG_AN_AXIS if k.startswith("cum"))
EXTREMA = _name_set("cummax cummin reduce_max reduce_min reduce_window_max reduce_window_min")
"""Each entry is the greatest or the least of some of the operand's entries."""
SUMS = _name_set("cumsum reduce_sum reduce_window_sum")
"""Each entry is a sum of some of the operand's entries."""
REDUCES = _name_set("reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum")
"""A reduction over the axes in the parameter `axes`, which the result does not have."""
WINDOWS = _name_set(
    "reduce_window_max reduce_window_min reduce_window_sum select_and_gather_add select_and_scatter_add"
)
"""Each entry is computed from a window of the last operand."""
CONTRACTS = _name_set("conv_general_dilated dot_general")
"""Sums of products of entries of both operands: linear in each."""
READS_PLACES = _name_set("dynamic_slice gather slice")
"""The result has the operand's entries at given places."""
LINEAR = REARRANGES | PLACES | ADDS | SUMS | _name_set("gather scatter scatter-add scatter-sub select_n")
"""Linear, with real coefficients, in all operands together that are not places or booleans."""
ENTRIES = REARRANGES | CHOOSES | EXTREMA | _name_set("gather scatter sort")
"""Each entry is an entry of an operand, or a fill value where there is none."""

# --- entry by entry

POINTWISE = (
    (RENAMES | CASTS | COMPARES | LOGIC | CHOOSES | ROUNDS | ADDS)
    | _name_set("eq_to le_to lt_to clz mulhi population_count shift_left shift_right_arithmetic shift_right_logical")
    | _name_set(
        "abs acos acosh asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt conj cos cosh digamma div erf erf_inv"
    )
    | _name_set(
        "erfc exp exp2 expm1 igamma igamma_grad_a igammac integer_pow is_finite lgamma log log1p log2 logistic mul"
    )
    | _name_set(
        "nextafter one_minus_square optimization_barrier polygamma pow regularized_incomplete_beta rem rsqrt sign"
    )
    | _name_set("sin sinh sqrt square tan tanh zeta")
)
"""Each entry depends on the operands' entries at the same place only; operands may be scalars. No parameter is an axis.
"""

# --- programs inside

CALLS = _name_set(
    "jit closed_call custom_jvp_call custom_vjp_call remat2 composite custom_vmap_call linear_call remat_opt"
)
"""Primitives that run an inner program on their operands."""
INLINES = CALLS - _name_set("custom_jvp_call custom_vjp_call linear_call remat_opt")
"""Calls whose derivative is that of the program inside."""
