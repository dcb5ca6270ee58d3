"""Normalizations. A status of None: TorchLean's op list does not have the row."""

ROWS = [
    ("layer_norm", "T"),
    ("rms_norm", None),
    ("batch_norm", "—"),
    ("batch_norm_inference", None),
    ("group_norm instance_norm l2_normalize", None),
    # What readers expect beside them.
    ("weight_norm local_response_norm", None),
]
