"""Losses. A status of None: TorchLean's op list does not have the row."""

ROWS = [
    ("mse", "N"),
    ("mae huber smooth_l1 cross_entropy binary_cross_entropy", "—"),
    ("cross_entropy_logits", "N, of another formula"),
    ("cross_entropy_labels binary_cross_entropy_with_logits", None),
    ("cosine_similarity_loss hinge poisson log_cosh", "—"),
    ("nll kl_div triplet_margin info_nce focal dice", None),
    # What readers expect beside them.
    ("squared_hinge soft_margin multi_margin margin_ranking gaussian_nll quantile charbonnier jaccard tversky", None),
]
