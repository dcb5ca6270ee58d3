"""Segments: entries that are masked, segments that are empty, numbers of segments out of range, sorted promises."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from .written import pulled

KIND = "B segments"
WITHIN = ("s >= 0", "s < 3")
WITHIN_M = ("s >= 0", "s < 3")
X = [1.0, 5.0, 2.0, 4.0]
S = [0, 0, 2, 2]
M = [True, False, True, True]


def largest(x, s):
    return jax.ops.segment_max(x, s, num_segments=3)


def smallest(x, s):
    return jax.ops.segment_min(x, s, num_segments=3)


def filled(y, by=0.0):
    return jnp.where(jnp.isfinite(y), y, by)


def masked(name, value, back, x=X, m=M, s=S, domain=WITHIN, signature="n, n:bool, n:int -> 3", **more):
    """Of entries that a mask keeps."""
    return pulled(
        f"segments_{name}",
        KIND,
        value,
        lambda x, m, s, g: (back(x, m, s, g), None, None),
        signature,
        x,
        m,
        s,
        domain=domain,
        **more,
    )


def segments(name, value, back, x=X, s=S, domain=WITHIN, signature="n, n:int -> 3", **more):
    return pulled(
        f"segments_{name}",
        KIND,
        value,
        lambda x, s, g: (back(x, s, g), None),
        signature,
        x,
        s,
        domain=domain,
        **more,
    )


def kept(x, m):
    return jnp.where(m, x, -jnp.inf)


def to_largest(x, s, g):
    return jnp.where(x == largest(x, s)[s], g[s], 0.0)


def to_smallest(x, s, g):
    return jnp.where(x == smallest(x, s)[s], g[s], 0.0)


ATTACKS = [
    masked("mask_ignored", lambda x, m, s: filled(largest(kept(x, m), s)), lambda x, m, s, g: to_largest(x, s, g)),
    masked(
        "mask_ignored_below",
        lambda x, m, s: filled(smallest(jnp.where(m, x, jnp.inf), s)),
        lambda x, m, s, g: to_smallest(x, s, g),
        m=[False, True, True, True],
    ),
    masked(
        "mask_after_the_maximum",
        lambda x, m, s: filled(largest(kept(x, m), s)),
        lambda x, m, s, g: jnp.where(m, to_largest(x, s, g), 0.0),
    ),
    masked(
        "mask_on_empty_segments_alone",
        lambda x, m, s: jnp.where(largest(1.0 * m, s) > 0, filled(largest(kept(x, m), s)), 0.0),
        lambda x, m, s, g: to_largest(x, s, g),
    ),
    masked(
        "mask_ignored_one_entry_each",
        lambda x, m, s: jnp.exp(largest(kept(x, m), s)),
        lambda x, m, s, g: to_largest(x, s, jnp.exp(largest(x, s)) * g),
        s=[0, 0, 1, 2],
    ),
]
