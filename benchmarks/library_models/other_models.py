"""Models of Equinox, Haiku, optax, distrax and numpyro."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import distrax
import equinox as eqx
import haiku as hk
import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
import optax
from numpyro.infer.util import log_density

from benchmarks.library_models._model import KEY, Made, mean_square, model, real, whole


@model("equinox")
def equinox_mlp() -> Made:
    return lambda m, x: mean_square(jax.vmap(m)(x)), (eqx.nn.MLP(5, 3, 16, 2, key=KEY), real(8, 5))


@model("equinox", "dropout")
def equinox_attention() -> Made:
    attention = eqx.nn.MultiheadAttention(2, 8, dropout_p=0.1, key=KEY)
    return lambda m, x, key: mean_square(m(x, x, x, key=key)), (attention, real(6, 8), KEY)


@model("equinox", "a loop")
def equinox_gru() -> Made:
    def fn(cell: Any, inputs: Any) -> Any:
        last, _ = jax.lax.scan(lambda h, x: (cell(x, h), None), jnp.zeros(cell.hidden_size), inputs)
        return jnp.sum(last**2)

    return fn, (eqx.nn.GRUCell(3, 8, key=KEY), real(5, 3))


@model("equinox", "convolution, pooling, vmap")
def equinox_cnn() -> Made:
    layers = [eqx.nn.Conv2d(3, 4, 3, key=KEY), eqx.nn.GroupNorm(2, 4), eqx.nn.Lambda(jax.nn.silu)]
    net = eqx.nn.Sequential([*layers, eqx.nn.AvgPool2d(2, 2)])
    return lambda m, x: mean_square(jax.vmap(m)(x)), (net, real(2, 3, 8, 8))


@model("equinox", "batch statistics")
def equinox_batch_norm() -> Made:
    norm, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(5, axis_name="batch", mode="batch")

    def fn(norm: Any, state: Any, x: Any) -> Any:
        return mean_square(jax.vmap(norm, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(x, state)[0] ** 2)

    return fn, (norm, state, real(8, 5))


@model("equinox", "bfloat16 with parameters in float32")
def equinox_half() -> Made:
    def fn(net: Any, x: Any, y: Any) -> Any:
        half = jax.tree.map(lambda a: a.astype(jnp.bfloat16) if eqx.is_inexact_array(a) else a, net)
        return optax.softmax_cross_entropy(jax.vmap(half)(x).astype(jnp.float32), jax.nn.softmax(y)).mean()

    return fn, (eqx.nn.MLP(5, 3, 16, 1, jax.nn.gelu, key=KEY), real(8, 5, dtype=jnp.bfloat16), real(8, 3))


def haiku(fn: Callable[..., Any], *inputs: Any, loss: Callable[[Any], Any] = mean_square) -> Made:
    """Of parameters, state, a key and inputs."""
    net = hk.transform_with_state(fn)
    parameters, state = net.init(jax.random.PRNGKey(0), *inputs)
    return (
        lambda parameters, state, key, *inputs: loss(net.apply(parameters, state, key, *inputs)[0]),
        (parameters, state, jax.random.PRNGKey(0), *inputs),
    )


@model("haiku", "dropout, raw keys")
def haiku_mlp() -> Made:
    return haiku(lambda x: hk.nets.MLP([16, 4])(x, dropout_rate=0.3, rng=hk.next_rng_key()), real(8, 5))


@model("haiku", "a loop")
def haiku_lstm() -> Made:
    def fn(x: Any) -> Any:
        core = hk.LSTM(8)
        return hk.dynamic_unroll(core, x, core.initial_state(x.shape[1]))[0]

    return haiku(fn, real(5, 2, 3))


@model("haiku", "batch statistics")
def haiku_batch_norm() -> Made:
    def fn(x: Any) -> Any:
        return hk.Linear(4)(hk.BatchNorm(True, True, 0.9)(hk.Linear(6)(x), is_training=True))

    return haiku(fn, real(8, 5))


@model("haiku")
def haiku_attention() -> Made:
    def fn(x: Any) -> Any:
        return hk.MultiHeadAttention(2, 4, w_init=hk.initializers.VarianceScaling())(x, x, x)

    return haiku(fn, real(2, 6, 8))


@model("haiku", "batch statistics, residual convolutions")
def haiku_resnet() -> Made:
    def fn(x: Any) -> Any:
        net = hk.nets.ResNet([1] * 4, 3, channels_per_group=[8] * 4, use_projection=[True] * 4, bottleneck=False)
        return net(x, is_training=True)

    def loss(y: Any) -> Any:
        return optax.softmax_cross_entropy_with_integer_labels(y, jnp.arange(2)).mean()

    return haiku(fn, real(2, 8, 8, 3), loss=loss)


@model("optax", "five losses")
def optax_losses() -> Made:
    def fn(y: Any, target: Any, labels: Any) -> Any:
        losses = (
            optax.huber_loss(y, target),
            optax.softmax_cross_entropy_with_integer_labels(y, labels),
            optax.cosine_distance(y, target),
            optax.sigmoid_binary_cross_entropy(y, jax.nn.sigmoid(target)),
            optax.l2_loss(y),
        )
        return sum(x.mean() for x in losses)

    return fn, (real(4, 6), real(4, 6), jnp.asarray([0, 1, 2, 3]))


@model("optax", "schedule, clipping; through a step of the optimiser")
def optax_adamw() -> Made:
    schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-3, 10, 100)
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule))
    parameters = {"w": real(3, 2), "b": real(2)}
    gradients = jax.tree.map(lambda x: x * 0.1 + 0.3, parameters)
    _, state = optimiser.update(gradients, optimiser.init(parameters), parameters)

    def fn(parameters: Any, state: Any, gradients: Any) -> Any:
        updates, _ = optimiser.update(gradients, state, parameters)
        return sum(jnp.sum(x**2) for x in jax.tree.leaves(optax.apply_updates(parameters, updates)))

    return fn, (parameters, state, gradients)


@model("optax", "CTC, a loop")
def optax_ctc() -> Made:
    def fn(logits: Any, paddings: Any, labels: Any, label_paddings: Any) -> Any:
        return optax.ctc_loss(logits, paddings, labels, label_paddings).mean()

    return fn, (real(2, 5, 4), jnp.zeros((2, 5)), 1 + whole(3, 2, 2), jnp.zeros((2, 2)))


@model("distrax", "a reparametrised bound")
def distrax_elbo() -> Made:
    def fn(mean: Any, log_scale: Any, x: Any, key: Any) -> Any:
        posterior = distrax.MultivariateNormalDiag(mean, jnp.exp(log_scale))
        z, log_q = posterior.sample_and_log_prob(seed=key)
        prior = distrax.MultivariateNormalDiag(jnp.zeros_like(z), jnp.ones_like(z))
        return log_q - prior.log_prob(z) - distrax.Bernoulli(logits=x @ z).log_prob(jnp.ones(x.shape[0], int)).sum()

    return fn, (real(3), real(3), real(5, 3), KEY)


@model("distrax", "a flow of coupling layers")
def distrax_flow() -> Made:
    def fn(weights: Any, x: Any) -> Any:
        def bijector(parameters: Any) -> Any:
            return distrax.ScalarAffine(parameters[..., 0], log_scale=jnp.tanh(parameters[..., 1]))

        layers = []
        for k, w in enumerate(weights):
            mask = jnp.arange(4) % 2 == k % 2
            layers.append(
                distrax.MaskedCoupling(mask, lambda x, w=w: jnp.tanh(x @ w).reshape(*x.shape[:-1], 4, 2), bijector)
            )
        base = distrax.Independent(distrax.Normal(jnp.zeros(4), jnp.ones(4)), 1)
        return -distrax.Transformed(base, distrax.Chain(layers)).log_prob(x).mean()

    return fn, ([real(4, 8), real(4, 8)], real(5, 4))


@model("numpyro", "logistic regression")
def numpyro_logistic() -> Made:
    def fn(w: Any, b: Any, x: Any, y: Any) -> Any:
        return -(dist.Bernoulli(logits=x @ w + b).log_prob(y).sum() + dist.Normal(0.0, 1.0).log_prob(w).sum())

    return fn, (real(5), real(), real(8, 5), whole(2, 8))


@model("numpyro", "counts, lgamma")
def numpyro_gamma_poisson() -> Made:
    def fn(a: Any, b: Any, y: Any) -> Any:
        return -dist.GammaPoisson(jnp.exp(a), jnp.exp(b)).log_prob(y).sum()

    return fn, (real(), real(), whole(9, 8))


@model("numpyro", "a probabilistic program: `log_density` of eight schools")
def numpyro_eight_schools() -> Made:
    def schools(sigma: Any, y: Any) -> None:
        mu = numpyro.sample("mu", dist.Normal(0, 5))
        tau = numpyro.sample("tau", dist.HalfCauchy(5))
        with numpyro.plate("schools", 8):
            theta = numpyro.sample("theta", dist.Normal(0, 1))
            numpyro.sample("y", dist.Normal(mu + tau * theta, sigma), obs=y)

    def fn(mu: Any, log_tau: Any, theta: Any, sigma: Any, y: Any) -> Any:
        values = {"mu": mu, "tau": jnp.exp(log_tau), "theta": theta}
        return -log_density(schools, (sigma, y), {}, values)[0]

    return fn, (real(), real(), real(8), jnp.exp(real(8)), real(8))


@model("numpyro", "a mixture, logsumexp")
def numpyro_mixture() -> Made:
    def fn(logits: Any, loc: Any, log_scale: Any, y: Any) -> Any:
        mixture = dist.MixtureSameFamily(dist.Categorical(logits=logits), dist.Normal(loc, jnp.exp(log_scale)))
        return -mixture.log_prob(y).sum()

    return fn, (real(3), real(3), real(3), real(8))


@model("jax.numpy", "weights in int8, activations in bfloat16")
def int8_weights() -> Made:
    def fn(x: Any, scale: Any, w: Any) -> Any:
        return mean_square(x @ (w.astype(jnp.bfloat16) * scale))

    return fn, (real(3, 5, dtype=jnp.bfloat16), jnp.ones((4,), jnp.bfloat16), whole(127, 5, 4, dtype=jnp.int8))
