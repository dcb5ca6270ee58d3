"""Attention, convolutions, pooling and cells; blocks and networks made of them.

A status of None: TorchLean's list of ops does not have the row.
"""

ROWS = [
    ("attention multi_head_attention residual_attention", "T"),
    ("masked_attention flash_attention", None),
    ("elman_cell", "T"),
    ("elman gru_cell lstm_cell", None),
    ("conv2d", "—"),
    ("conv1d conv_transpose1d conv_transpose2d", None),
    ("max_pool2d avg_pool2d", "—"),
    ("adaptive_avg_pool2d rotary_embedding selective_scan", None),
    # Composed of other ops.
    ("mlp_mse post_norm_attention post_norm_feed_forward post_norm_block elman_two_steps", "T"),
    ("mlp softmax_classifier feed_forward", None),
    ("dot_product_attention multi_head_self_attention multi_head_cross_attention", None),
    ("pre_norm_attention pre_norm_feed_forward pre_norm_block language_model_loss", None),
    ("rnn gru lstm conv_norm_relu_pool residual_block", None),
    # What readers expect beside them.
    ("conv3d max_pool1d avg_pool1d global_avg_pool2d", None),
]
