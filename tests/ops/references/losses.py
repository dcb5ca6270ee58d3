"""References of the losses."""

import jax
import jax.numpy as jnp
import numpy as np

from ._reference import Reference

INFINITE = "a difference or a product of an infinity and 0 in the formula, and none in the reference's"


def reduced(losses, reduction):
    return {"none": lambda x: x, "mean": jnp.mean, "sum": jnp.sum}[reduction](losses)


def of_difference(loss):
    """The reference of a loss of x - target, with a parameter or without."""
    return Reference(lambda x, target, *, reduction, **params: reduced(loss(x - target, **params), reduction))


def cross_entropy_logits(x, target, *, reduction):
    return reduced(-jnp.sum(target * jax.nn.log_softmax(x), -1), reduction)


def binary_cross_entropy_with_logits(x, target, *, reduction):
    return reduced(-target * jax.nn.log_sigmoid(x) - (1 - target) * jax.nn.log_sigmoid(-x), reduction)


def cosine_similarity_loss(x, target, *, eps, reduction):
    norms = jnp.linalg.norm(x, axis=-1) * jnp.linalg.norm(target, axis=-1)
    return reduced(1 - jnp.sum(x * target, -1) / jnp.maximum(norms, eps), reduction)


def huber(d, *, delta):
    return jnp.where(jnp.abs(d) <= delta, d * d / 2, delta * (jnp.abs(d) - delta / 2))


def smooth_l1(d, *, beta):
    return jnp.where(jnp.abs(d) < beta, d * d / (2 * beta), jnp.abs(d) - beta / 2)


def hinge(x, target, *, reduction):
    return reduced(jax.nn.relu(1 - target * x), reduction)


def margin_ranking(x1, x2, target, *, margin, reduction):
    return reduced(jax.nn.relu(margin - target * (x1 - x2)), reduction)


def triplet_margin(anchor, positive, negative, *, margin, eps, reduction):
    distance = lambda a, b: jnp.sqrt(jnp.sum((a - b) ** 2, -1) + eps**2)
    return reduced(jax.nn.relu(margin + distance(anchor, positive) - distance(anchor, negative)), reduction)


def cross_entropy(x, target, *, eps, reduction):
    return reduced(-jnp.sum(target * jnp.log(jnp.clip(x, eps, 1 - eps)), -1), reduction)


def binary_cross_entropy(x, target, *, eps, reduction):
    c = jnp.clip(x, eps, 1 - eps)
    return reduced(-target * jnp.log(c) - (1 - target) * jnp.log(1 - c), reduction)


def of_labelled(losses, labels, reduction):
    kept = labels >= 0
    if reduction == "mean":
        return jnp.sum(jnp.where(kept, losses, 0)) / jnp.maximum(jnp.sum(kept), 1)
    return reduced(jnp.where(kept, losses, 0), reduction)


def nll(x, labels, *, reduction):
    return of_labelled(-jnp.take_along_axis(x, labels[..., None], -1)[..., 0], labels, reduction)


def cross_entropy_labels(x, labels, *, label_smoothing, reduction):
    targets = jax.nn.one_hot(labels, x.shape[-1], dtype=x.dtype)
    smoothed = (1 - label_smoothing) * targets + label_smoothing / x.shape[-1]
    return of_labelled(-jnp.sum(smoothed * jax.nn.log_softmax(x), -1), labels, reduction)


def gaussian_nll(x, target, var, *, eps, reduction):
    v = jnp.maximum(var, eps)
    return reduced((jnp.log(v) + (x - target) ** 2 / v) / 2, reduction)


def focal(x, target, *, alpha, gamma, reduction):
    p = jax.nn.sigmoid(x)
    loss = -target * jax.nn.log_sigmoid(x) - (1 - target) * jax.nn.log_sigmoid(-x)
    weight = alpha * target + (1 - alpha) * (1 - target)
    return reduced(weight * loss * (1 - p * target - (1 - p) * (1 - target)) ** gamma, reduction)


def tversky(x, target, *, alpha, beta, eps, reduction):
    both, of_x, of_target = (jnp.sum(y, -1) for y in (x * target, x * (1 - target), (1 - x) * target))
    return reduced(1 - (both + eps) / (both + alpha * of_x + beta * of_target + eps), reduction)


def dice(x, target, *, eps, reduction):
    return reduced(1 - (2 * jnp.sum(x * target, -1) + eps) / (jnp.sum(x + target, -1) + eps), reduction)


def jaccard(x, target, *, eps, reduction):
    both = jnp.sum(x * target, -1)
    return reduced(1 - (both + eps) / (jnp.sum(x + target, -1) - both + eps), reduction)


def info_nce(queries, keys, *, temperature, reduction):
    scores = queries @ keys.T / temperature
    return reduced(-jnp.diagonal(jax.nn.log_softmax(scores)), reduction)


def rows_and_labels(rng, shapes, keywords):
    return [rng.normal(size=shapes[0]), rng.integers(-1, shapes[0][-1], size=shapes[1])]


def positive(rng, shapes, keywords):
    return [rng.uniform(0.1, 1, size=shape) for shape in shapes]


def rows_and_classes(rng, shapes, keywords):
    return [rng.normal(size=shapes[0]), rng.integers(shapes[0][-1], size=shapes[1])]


def multi_margin(x, labels, *, margin, reduction):
    chosen = jnp.take_along_axis(x, labels[..., None], -1)
    total = jnp.sum(jax.nn.relu(margin + x - chosen), -1) - margin
    return reduced(total / x.shape[-1], reduction)


_MASK = "The rules pick the label's entry by a mask over the classes; the reference gathers and scatters it."


REFERENCES = {
    "binary_cross_entropy": Reference(binary_cross_entropy, positive, apart={0.3: "the edge of the clamp, eps"}),
    "charbonnier": of_difference(lambda d, *, eps: jnp.sqrt(d * d + eps * eps)),
    "cross_entropy": Reference(cross_entropy, positive),
    "cross_entropy_labels": Reference(cross_entropy_labels, rows_and_labels),
    "dice": Reference(dice, positive),
    "focal": Reference(focal, positive, apart={np.inf: INFINITE}),
    "gaussian_nll": Reference(
        gaussian_nll, positive, apart={0.3: "the edge of the clamp, eps", np.inf: INFINITE, -np.inf: INFINITE}
    ),
    "hinge": Reference(hinge),
    "info_nce": Reference(info_nce),
    "jaccard": Reference(jaccard, positive),
    "kl_div": Reference(lambda x, t, *, reduction: reduced(t * (jnp.log(t) - x), reduction), apart={np.inf: INFINITE}),
    "log_cosh": of_difference(lambda d: jnp.logaddexp(d, -d) - jnp.log(2.0).astype(d.dtype)),
    "margin_ranking": Reference(margin_ranking),
    "multi_margin": Reference(multi_margin, rows_and_classes),
    "nll": Reference(nll, rows_and_labels, slow=_MASK),
    "poisson": Reference(
        lambda x, t, *, reduction: reduced(jnp.exp(x) - t * x, reduction),
        alike={np.inf: "exp(90) is infinite in float32, and so is what is subtracted"},
    ),
    "quantile": of_difference(lambda d, *, q: jnp.where(d > 0, (1 - q) * d, -q * d)),
    "soft_margin": Reference(lambda x, t, *, reduction: reduced(jax.nn.softplus(-t * x), reduction)),
    "squared_hinge": Reference(
        lambda x, t, *, reduction: reduced(jax.nn.relu(1 - t * x) ** 2, reduction),
        apart={np.inf: INFINITE, -np.inf: INFINITE},
    ),
    "triplet_margin": Reference(triplet_margin),
    "tversky": Reference(tversky, positive),
    "binary_cross_entropy_with_logits": Reference(binary_cross_entropy_with_logits, apart={np.inf: INFINITE}),
    "cosine_similarity_loss": Reference(cosine_similarity_loss),
    "cross_entropy_logits": Reference(cross_entropy_logits),
    "huber": of_difference(huber),
    "mae": of_difference(jnp.abs),
    "mse": of_difference(jnp.square),
    "smooth_l1": of_difference(smooth_l1),
}
