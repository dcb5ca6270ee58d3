"""Derivative rules that look right, and are wrong. certgrad refutes each of them, with a point where it fails.

    python examples/wrong_rules.py

Several were shipped: the four losses come from an early public version of a verified library, where sampling did not
see them (the cosine rule, for one, is right on vectors of length 1).
"""

import jax.numpy as jnp
from jax import lax

from certgrad.ops._declare import op
from certgrad.ops._registry import Registry

rules = Registry()
EPS = {"eps": "eps > 0"}


# --- losses ---------------------------------------------------------------------------------------------------------


@op("n, n -> ", registry=rules, domain=("x != 0", "t != 0"))
def cosine_loss(x, t):
    """1 - x · t / (‖x‖ ‖t‖). Wrong: the radial term divides by ‖x‖² where it should by ‖x‖³."""
    return 1 - x @ t / (jnp.sqrt(x @ x) * jnp.sqrt(t @ t))


@cosine_loss.jvp
def _(x, t, dx, dt):
    norm_x, norm_t, dot = jnp.sqrt(x @ x), jnp.sqrt(t @ t), x @ t
    along_x = (t @ dx) / (norm_x * norm_t) - dot * (x @ dx) / (norm_x**3 * norm_t)
    return -along_x - (x @ dt) / (norm_x * norm_t) + dot * (t @ dt) / (norm_x * norm_t**3)


@cosine_loss.vjp
def _(x, t, seed):
    norm_x, norm_t, dot = jnp.sqrt(x @ x), jnp.sqrt(t @ t), x @ t
    ct_x = -seed * (t / (norm_x * norm_t) - dot * x / (norm_x**2 * norm_t))
    ct_t = -seed * (x / (norm_x * norm_t) - dot * t / (norm_x * norm_t**3))
    return ct_x, ct_t


@op("n, n -> ", registry=rules, domain=("q != 1/100", "q != 1"))
def cross_entropy(q, p):
    """-Σ p log clamp(q, 1/100, 1). Wrong: it divides by the clamped probability even where the clamp is flat."""
    return -jnp.sum(p * jnp.log(jnp.clip(q, 0.01, 1.0)))


@cross_entropy.jvp
def _(q, p, dq, dp):
    kept = jnp.clip(q, 0.01, 1.0)
    inside = (q > 0.01) & (q < 1.0)
    return -jnp.sum(jnp.where(inside, p * dq / kept, 0.0) + dp * jnp.log(kept))


@cross_entropy.vjp
def _(q, p, seed):
    kept = jnp.clip(q, 0.01, 1.0)
    return -seed * p / kept, -seed * jnp.log(kept)


@op("*s, *s -> *s", registry=rules, domain=("q != 1/100", "q != 99/100"))
def binary_cross_entropy(q, y):
    """-y log c - (1 - y) log(1 - c), c = clamp(q, 1/100, 99/100). Wrong in the same way as cross_entropy."""
    kept = jnp.clip(q, 0.01, 0.99)
    return -(y * jnp.log(kept) + (1 - y) * jnp.log(1 - kept))


@binary_cross_entropy.jvp
def _(q, y, dq, dy):
    kept = jnp.clip(q, 0.01, 0.99)
    slope = jnp.where((q > 0.01) & (q < 0.99), (kept - y) / (kept * (1 - kept)), 0.0)
    return slope * dq + dy * (jnp.log(1 - kept) - jnp.log(kept))


@binary_cross_entropy.vjp
def _(q, y, seed):
    kept = jnp.clip(q, 0.01, 0.99)
    return seed * (kept - y) / (kept * (1 - kept)), seed * (jnp.log(1 - kept) - jnp.log(kept))


def _log_softmax(z):
    shifted = z - jnp.max(z)
    return shifted - jnp.log(jnp.sum(jnp.exp(shifted)))


@op("n, n -> ", registry=rules)
def logits_cross_entropy(z, p):
    """-Σ p log_softmax(z). Wrong: softmax - p is right only where the targets sum to 1."""
    return -jnp.sum(p * _log_softmax(z))


@logits_cross_entropy.jvp
def _(z, p, dz, dp):
    soft = jnp.exp(_log_softmax(z))
    return jnp.sum((soft * jnp.sum(p) - p) * dz) - jnp.sum(dp * _log_softmax(z))


@logits_cross_entropy.vjp
def _(z, p, seed):
    return seed * (jnp.exp(_log_softmax(z)) - p), -seed * _log_softmax(z)


# --- elementwise ----------------------------------------------------------------------------------------------------


@op("*s -> *s", registry=rules, domain="x != 0")
def root_of_square(x):
    """sqrt(x²), which is |x|. Wrong: its derivative is taken to be 1."""
    return jnp.sqrt(x * x)


@root_of_square.jvp
def _(x, dx):
    return dx


@root_of_square.vjp
def _(x, seed):
    return seed


@op("*s -> *s", registry=rules)
def relu_reversed(x):
    """max(x, 0). Wrong: the mask of the VJP is reversed."""
    return jnp.maximum(x, 0.0)


@relu_reversed.jvp
def _(x, dx):
    return jnp.where(x > 0, dx, 0.0)


@relu_reversed.vjp
def _(x, seed):
    return jnp.where(x > 0, 0.0, seed)


@op("*s -> *s", registry=rules)
def relu_shared_mask(x):
    """max(x, 0). Wrong: JVP and VJP share a wrong mask, so that each is the adjoint of the other."""
    return jnp.maximum(x, 0.0)


@relu_shared_mask.jvp
def _(x, dx):
    return jnp.where(x > 1, dx, 0.0)


@relu_shared_mask.vjp
def _(x, seed):
    return jnp.where(x > 1, seed, 0.0)


@op("*s -> *s", registry=rules)
def gelu_off(x):
    """gelu, tanh form. Wrong: one coefficient of the JVP is off by 1e-6 (0.134146 for 3 · 0.044715)."""
    return 0.5 * x * (1 + jnp.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def _gelu_slope(x, cubic):
    t = jnp.tanh(0.7978845608 * (x + 0.044715 * x**3))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608 * (1 + cubic * x * x)


@gelu_off.jvp
def _(x, dx):
    return _gelu_slope(x, 0.134146) * dx


@gelu_off.vjp
def _(x, seed):
    return _gelu_slope(x, 0.134145) * seed


# --- reductions -----------------------------------------------------------------------------------------------------


def _softmax(x):
    powers = jnp.exp(x - jnp.max(x))
    return powers / jnp.sum(powers)


@op("n -> n", registry=rules)
def softmax(x):
    """exp(x) / Σ exp(x). Wrong: the VJP forgets the mean term."""
    return _softmax(x)


@softmax.jvp
def _(x, dx):
    y = _softmax(x)
    return y * (dx - jnp.sum(y * dx))


@softmax.vjp
def _(x, seed):
    return _softmax(x) * seed


def _normal(x, eps):
    centred = x - jnp.mean(x)
    rstd = lax.rsqrt(jnp.mean(centred * centred) + eps)
    return centred * rstd, rstd


def _layer_norm_jvp(x, dx, *, eps):
    normal, rstd = _normal(x, eps)
    return rstd * (dx - jnp.mean(dx) - normal * jnp.mean(normal * dx))


@op("n -> n", registry=rules, params=EPS)
def layer_norm_without_mean(x, *, eps=1e-5):
    """(x - mean) / sqrt(var + eps). Wrong: the VJP leaves the mean of the seed in."""
    return _normal(x, eps)[0]


layer_norm_without_mean.jvp(_layer_norm_jvp)


@layer_norm_without_mean.vjp
def _(x, seed, *, eps):
    normal, rstd = _normal(x, eps)
    return rstd * (seed - normal * jnp.mean(normal * seed))


@op("n -> n", registry=rules, params=EPS)
def layer_norm_without_radial(x, *, eps=1e-5):
    """(x - mean) / sqrt(var + eps). Wrong: the VJP leaves the radial part of the seed in."""
    return _normal(x, eps)[0]


layer_norm_without_radial.jvp(_layer_norm_jvp)


@layer_norm_without_radial.vjp
def _(x, seed, *, eps):
    _, rstd = _normal(x, eps)
    return rstd * (seed - jnp.mean(seed))


# --- linear ---------------------------------------------------------------------------------------------------------


@op("n n, n n -> n n", registry=rules)
def square_matmul(a, b):
    """A B for square matrices. Wrong: the two cotangents are swapped, and both have the right shape."""
    return a @ b


@square_matmul.jvp
def _(a, b, da, db):
    return da @ b + a @ db


@square_matmul.vjp
def _(a, b, seed):
    return a.T @ seed, seed @ b.T


@op("n d, d -> n d", registry=rules)
def add_bias(x, b):
    """x + b. Wrong: the cotangent of b is the mean of the seed over the rows, where it should be the sum."""
    return x + b


@add_bias.jvp
def _(x, b, dx, db):
    return dx + db


@add_bias.vjp
def _(x, b, seed):
    return seed, jnp.mean(seed, axis=0)


def main():
    """Audit every rule and print where it fails."""
    from certgrad.obligations import audit

    for name in rules.names():
        certificate = audit(rules.get(name))
        print(f"{name}: {certificate.verdict}")
        for claim in certificate.claims:
            for case in claim.cases:
                if case.witness is not None:
                    w = case.witness
                    print(f"  {claim.kind} at {w.inputs}: {w.lhs.midpoint} against {w.rhs.midpoint}")


if __name__ == "__main__":
    main()
