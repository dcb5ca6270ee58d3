"""Reductions and the softmax family, over any axis or axes. A status of None: TorchLean does not list the row."""

ROWS = [
    ("reduce_sum mean", "N, in part"),
    ("prod amax amin", None),
    ("var std norm logsumexp", None),
    ("softmax", "N"),
    ("log_softmax", "D, for vectors"),
    ("cumsum cumprod cumlogsumexp cummax", None),
    ("masked_softmax", None),
    # What readers expect beside them.
    ("ptp average standardize logmeanexp masked_sum masked_mean", None),
    ("cummin", None),
    ("softmin softmax_with_temperature gumbel_softmax", None),
]
