"""What TorchLean proves of each op, by the name of certgrad's op: a column of the page on the ops."""

LEGEND = """\
`D`: a theorem that the op's own backward is the adjoint of the derivative, for vectors. `N`: a theorem about a node
that is defined separately. `T`: a theorem about a layer or a model. `J`: only the adjoint law. `—`: no proof found.
Empty: TorchLean does not have the op."""

STATUS: dict[str, str] = {
    **dict.fromkeys("sigmoid tanh softplus silu sinh cosh exp square gelu_tanh smooth_abs".split(), "D"),
    **dict.fromkeys("relu elu log".split(), "J, N"),
    **dict.fromkeys("abs sqrt inv add sub mul min max scale apply_mask dropout matmul".split(), "N"),
    **dict.fromkeys("reshape transpose expand_dims squeeze concatenate broadcast_to mse softmax".split(), "N"),
    **dict.fromkeys("neg identity gelu_erf leaky_relu safe_inv pow clamp div safe_div constant slice".split(), "—"),
    **dict.fromkeys("mae huber smooth_l1 cross_entropy binary_cross_entropy".split(), "—"),
    **dict.fromkeys("cosine_similarity_loss hinge poisson log_cosh".split(), "—"),
    **dict.fromkeys("reduce_sum mean bmm".split(), "N, in part"),
    **dict.fromkeys("embedding embedding_one_hot".split(), "in part"),
    **dict.fromkeys("attention multi_head_attention residual_attention elman_cell layer_norm".split(), "T"),
    **dict.fromkeys("mlp_mse post_norm_attention post_norm_feed_forward post_norm_block".split(), "T"),
    "elman_two_steps": "T",
    **dict.fromkeys("conv2d max_pool2d avg_pool2d batch_norm".split(), "—"),
    "safe_log": "D, of log(softplus(x) + ε)",
    "log_softmax": "D, for vectors",
    "linear": "D, in x",
    "cross_entropy_logits": "N, of another formula",
}
