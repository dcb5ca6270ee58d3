"""Ops that move entries. A status of None: TorchLean's op list does not have the row."""

ROWS = [
    ("reshape transpose expand_dims squeeze concatenate broadcast_to", "N"),
    ("slice", "—"),
    ("strided_slice split stack pad flip roll tile repeat take scatter_add tril triu diag sort top_k", None),
    # What readers expect beside them.
    ("ravel swapaxes moveaxis unstack dynamic_slice dynamic_update_slice", None),
    ("take_along_axis segment_sum diag_embed", None),
]
