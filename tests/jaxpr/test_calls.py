"""Programs that JAX runs in place of a primitive: what stands in their identity, in every version of JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certgrad
from certgrad.obligations.tracing.jax_internals import program_of
from certgrad.obligations.tracing.jax_internals._text import serialised
from certgrad.obligations.verify.digest import _Writer

pytestmark = pytest.mark.usefixtures("verdicts_alone")

ROW = np.arange(3.0)


def texts(function, *args):
    closed = jax.make_jaxpr(function)(*args)
    return serialised(program_of(closed)), _Writer().program(getattr(closed, "jaxpr", closed), closed.consts)


def test_what_a_class_declares_is_told_apart_by_its_program():
    """From JAX 0.12 on `searchsorted` is one equation, of which only an object says the side."""
    left, right = (texts(lambda x, side=side: jnp.searchsorted(x, x, side=side), ROW) for side in ("left", "right"))
    assert [a == b for a, b in zip(left, right, strict=True)] == [False, False]


def polynomial(slope):
    rule = jax.custom_vjp(lambda x, c: jnp.polyval(c, x))
    rule.defvjp(
        lambda x, c: (jnp.polyval(c, x), (x, c)),
        lambda kept, g: (
            g * (slope * kept[0] * kept[1][0] + kept[1][1]),
            jnp.stack([jnp.sum(g * kept[0] ** k) for k in (2, 1, 0)]),
        ),
    )
    return rule


@pytest.mark.parametrize("slope, verdict", [(2, "proved"), (3, "refuted")])
def test_a_polynomial_and_its_rule(slope, verdict):
    assert certgrad.check(polynomial(slope), "n, 3 -> n").verdict == verdict


@pytest.mark.slow
def test_a_mantissa_is_made_of_bits():
    """Whether a function with a rule makes it or a class, JAX runs the same operations on bits."""
    rule = jax.custom_vjp(lambda x: jnp.frexp(x)[0])
    rule.defvjp(lambda x: jnp.frexp(x), lambda e, g: (g * jnp.exp2(-e.astype(g.dtype)),))
    report = certgrad.check(rule, "n -> n")
    assert report.verdict == "unproved"
    assert "the bits of a number are nothing over the reals" in str(report)
