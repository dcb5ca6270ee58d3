"""The losses of optax: functions of predictions and targets."""

from __future__ import annotations

import inspect

import jax
import jax.numpy as jnp
import optax.losses as losses

from benchmarks.libraries._part import Part, function


def public() -> list[str]:
    return [n for n in sorted(dir(losses)) if not n.startswith("_") and inspect.isfunction(getattr(losses, n))]


PARTS: dict[str, Part] = {
    "binary_dice_loss": function(losses.binary_dice_loss, "logits: n d", "labels: n d"),
    "convex_kl_divergence": function(losses.convex_kl_divergence, "log_predictions: n d", "targets: n d"),
    "cosine_distance": function(losses.cosine_distance, "predictions: n d", "targets: n d"),
    "cosine_similarity": function(losses.cosine_similarity, "predictions: n d", "targets: n d"),
    "ctc_loss": function(
        losses.ctc_loss, "logits: n t k", "logit_paddings: n t", "labels: n m:int", "label_paddings: n m"
    ),
    "ctc_loss_with_forward_probs": function(
        losses.ctc_loss_with_forward_probs,
        "logits: n t k",
        "logit_paddings: n t",
        "labels: n m:int",
        "label_paddings: n m",
    ),
    "dice_loss": function(losses.dice_loss, "predictions: n t d", "targets: n t d"),
    "generalized_kl_divergence": function(losses.generalized_kl_divergence, "log_predictions: n d", "targets: n d"),
    "hinge_loss": function(losses.hinge_loss, "predictor_outputs: n", "targets: n"),
    "huber_loss": function(losses.huber_loss, "predictions: n d", "targets: n d"),
    "kl_divergence": function(losses.kl_divergence, "log_predictions: n d", "targets: n d"),
    "kl_divergence_with_log_targets": function(
        losses.kl_divergence_with_log_targets, "log_predictions: n d", "log_targets: n d"
    ),
    "l2_loss": function(losses.l2_loss, "predictions: n d", "targets: n d"),
    "log_cosh": function(losses.log_cosh, "predictions: n d", "targets: n d"),
    "make_fenchel_young_loss": function(losses.make_fenchel_young_loss(jax.nn.logsumexp), "scores: d", "targets: d"),
    "multiclass_generalized_dice_loss": function(
        losses.multiclass_generalized_dice_loss, "logits: n t d", "labels: n t d"
    ),
    "multiclass_hinge_loss": function(losses.multiclass_hinge_loss, "scores: n d", "labels: n:int"),
    "multiclass_perceptron_loss": function(losses.multiclass_perceptron_loss, "scores: n d", "labels: n:int"),
    "multiclass_sparsemax_loss": function(losses.multiclass_sparsemax_loss, "scores: n d", "labels: n:int"),
    "ntxent": function(losses.ntxent, "embeddings: n d", "labels: n:int"),
    "perceptron_loss": function(losses.perceptron_loss, "predictor_outputs: n", "targets: n"),
    "poly_loss_cross_entropy": function(losses.poly_loss_cross_entropy, "logits: n d", "labels: n d"),
    "ranking_softmax_loss": function(losses.ranking_softmax_loss, "logits: n d", "labels: n d"),
    "safe_softmax_cross_entropy": function(losses.safe_softmax_cross_entropy, "logits: n d", "labels: n d"),
    "sigmoid_binary_cross_entropy": function(losses.sigmoid_binary_cross_entropy, "logits: n d", "labels: n d"),
    "sigmoid_focal_loss": function(losses.sigmoid_focal_loss, "logits: n d", "labels: n d"),
    "smooth_labels": function(lambda labels: losses.smooth_labels(labels, 0.1), "labels: n d"),
    "softmax_cross_entropy": function(losses.softmax_cross_entropy, "logits: n d", "labels: n d"),
    "softmax_cross_entropy_with_integer_labels": function(
        losses.softmax_cross_entropy_with_integer_labels, "logits: n d", "labels: n:int"
    ),
    "sparsemax_loss": function(losses.sparsemax_loss, "logits: n", "labels: n"),
    "squared_error": function(losses.squared_error, "predictions: n d", "targets: n d"),
    "triplet_margin_loss": function(
        lambda a, p, n: jnp.mean(losses.triplet_margin_loss(a, p, n)),
        "anchors: n d",
        "positives: n d",
        "negatives: n d",
    ),
}
