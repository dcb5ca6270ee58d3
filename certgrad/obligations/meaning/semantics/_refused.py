"""Primitives that have no meaning in the calculus, and why: the reason that a verdict gives."""

from __future__ import annotations

_GROUPS: dict[str, str] = {
    "a collective over devices": """all_gather all_gather_invariant all_gather_reduced all_to_all axis_index
        pbroadcast pbroadcast_dynamic pmax pmin ppermute preduced psum psum_invariant psum_scatter ragged_all_to_all
        reduce_scatter pvary reduced_vary_cast reduced_vary_cast_p shard_map unreduced_psum unreduced_reduce_scatter
        vary_unreduced_cast vary_unreduced_cast_p""",
    "sparse arrays": """bcoo_fromdense bcoo_sort_indices bcoo_spdot_general bcoo_sum_duplicates bcsr_dot_general
        bcsr_extract bcsr_fromdense bcsr_todense coo_fromdense csr_fromdense csr_matmat csr_matvec csr_todense spsolve
        todense""",
    "a call out of the program": """check debug_callback debug_print ffi_call inspect_sharding io_callback
        pure_callback""",
    "a place in memory": "relayout with_memory_space_constraint",
    "an order of effects": "program_order",
    "internal to JAX: in no finished program": "custom_lin eval_jaxpr stage",
    "a mutable reference": """accum_grad_in_ref addupdate array_ref empty_ref free_ref freeze get log_extend log_read
        new_log new_ref run_state swap""",
    "a value of a type that its author defines": "box_get box_set call_hi_primitive new_box",
    "random bits are opaque": """random_bits random_clone random_fold_in random_gamma random_seed random_split
        random_unwrap random_wrap threefry2x32""",
    "an extended dtype": "from_edtype to_edtype",
    "complex numbers, beside a primitive that has no reading as pairs of real ones": "complex conj eig fft imag real",
    "the float next to a number is nothing over the reals": "nextafter",
    "an order of entries": """argmax argmin cummax cummin scatter-max scatter-min
        select_and_gather_add select_and_scatter_add sort top_k""",
    "a product over a range": "scatter-mul",
    "a reduction by an arbitrary function": "reduce reduce_window",
    "a maximum over a window": "reduce_window_max reduce_window_min",
    "a factorisation that its equation alone does not determine": "schur",
    "a loop whose length is data": "while",
    "the bits of a number are nothing over the reals": "bitcast_convert_type",
}
REFUSED: dict[str, str] = {name: reason for reason, names in _GROUPS.items() for name in names.split()}
