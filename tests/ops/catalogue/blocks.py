"""Attention, convolutions, pooling and cells. A status of None: TorchLean's list of ops does not have the row."""

ROWS = [
    ("attention masked_attention flash_attention", None),
    ("multi_head_attention residual_attention", None),
    ("elman_cell elman gru_cell lstm_cell", None),
    ("conv1d conv2d conv_transpose1d conv_transpose2d", None),
    ("max_pool2d avg_pool2d adaptive_avg_pool2d", None),
    ("rotary_embedding selective_scan", None),
    # What readers expect beside them.
    ("max_pool1d avg_pool1d global_avg_pool2d", None),
]
