"""Attention, convolutions, pooling and cells; blocks and networks made of them.

A status of None: TorchLean's list of ops does not have the row.
"""

ROWS = [
    ("attention masked_attention flash_attention", None),
    ("multi_head_attention residual_attention", None),
    ("elman_cell elman gru_cell lstm_cell", None),
    ("conv1d conv2d conv_transpose1d conv_transpose2d", None),
    ("max_pool2d avg_pool2d adaptive_avg_pool2d", None),
    ("rotary_embedding selective_scan", None),
    # Composed of other ops.
    ("mlp mlp_mse softmax_classifier", None),
    ("dot_product_attention multi_head_self_attention multi_head_cross_attention", None),
    ("feed_forward post_norm_attention post_norm_feed_forward post_norm_block", None),
    ("pre_norm_attention pre_norm_feed_forward pre_norm_block language_model_loss", None),
    ("elman_two_steps rnn gru lstm", None),
    ("conv_norm_relu_pool residual_block", None),
    # What readers expect beside them.
    ("max_pool1d avg_pool1d global_avg_pool2d", None),
]
