"""A rule that is wrong only between two numbers of its program, however near they are."""

import jax
import jax.numpy as jnp

import certgrad


def differentiated_at(function, place):
    plain = jax.custom_jvp(function)
    plain.defjvp(lambda p, t: (function(p[0]), jax.jvp(function, (place(p[0]),), t)[1]))
    return plain


def test_a_clip_beside_the_end_of_a_domain():
    report = certgrad.check(differentiated_at(jnp.arccos, lambda x: jnp.clip(x, -1 + 1e-7, 1 - 1e-7)), "n")
    assert report.verdict == "refuted"


def test_a_floor_under_a_square_root():
    report = certgrad.check(differentiated_at(jnp.sqrt, lambda x: jnp.maximum(x, 2.5e-7)), "n")
    assert report.verdict == "refuted"
    assert any("/" in text or "e-" in text for text in report.witness.inputs["x"])
