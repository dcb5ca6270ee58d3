"""A variational autoencoder, and an affine coupling flow."""

import jax
import jax.numpy as jnp

from examples.models import Draw, Model


def vae() -> Model:
    """Gaussian encoder with the reparametrisation, Bernoulli decoder, the negative evidence lower bound."""
    draw = Draw()

    def loss(p, x, noise):
        h = jnp.tanh(x @ p["enc"])
        mean, log_variance = h @ p["mean"], h @ p["log_variance"]
        z = mean + jnp.exp(0.5 * log_variance) * noise
        logits = jnp.tanh(z @ p["dec"]) @ p["out"]
        likelihood = jnp.sum(x * jax.nn.log_sigmoid(logits) + (1 - x) * jax.nn.log_sigmoid(-logits), axis=1)
        divergence = -0.5 * jnp.sum(1 + log_variance - mean**2 - jnp.exp(log_variance), axis=1)
        return jnp.mean(divergence - likelihood)

    params = {"enc": draw(6, 5), "mean": draw(5, 2), "log_variance": draw(5, 2), "dec": draw(2, 5), "out": draw(5, 6)}
    return loss, (params, draw(4, 6), draw(4, 2))


def flow() -> Model:
    """Two affine couplings with the halves swapped between them: the negative log-likelihood (Dinh et al. 2017)."""
    draw = Draw()

    def loss(layers, x):
        log_determinant = jnp.zeros(x.shape[0])
        for p in layers:
            a, b = jnp.split(x, 2, axis=1)
            scale = jnp.tanh(jnp.tanh(a @ p["W"]) @ p["scale"])
            x = jnp.concatenate([b * jnp.exp(scale) + jnp.tanh(a @ p["W"]) @ p["shift"], a], axis=1)
            log_determinant = log_determinant + jnp.sum(scale, axis=1)
        log_density = -0.5 * jnp.sum(x**2, axis=1) - 0.5 * x.shape[1] * jnp.log(2 * jnp.pi)
        return -jnp.mean(log_density + log_determinant)

    layers = [{"W": draw(2, 4), "scale": draw(4, 2), "shift": draw(4, 2)} for _ in range(2)]
    return loss, (layers, draw(5, 4))
