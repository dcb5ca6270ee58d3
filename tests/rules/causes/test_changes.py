"""Steps of a backward that are done otherwise: each is named where the rule is proved with it, and is not said else."""

import jax
import jax.numpy as jnp
import pytest

import certgrad


def causes(f, bwd, signature):
    custom = jax.custom_vjp(f)
    custom.defvjp(lambda *xs: (f(*xs), xs if len(xs) > 1 else xs[0]), bwd)
    report = certgrad.check(custom, signature, conformance=False)
    assert report.verdict == "refuted"
    return {a.name: a.cause for a in report.arguments}


def from_the_end(x):
    return jnp.flip(jnp.cumsum(jnp.flip(x)))


def clipped(x):
    """Huber's loss of threshold 1/2."""
    return jnp.sum(jnp.where(jnp.abs(x) <= 0.5, x * x / 2, 0.5 * jnp.abs(x) - 0.125))


SAID = {
    "from the other end": (
        lambda x: jnp.cumsum(x**2),
        lambda x, g: (2 * x * jnp.cumsum(g),),
        "n",
        "is to be the running sum of the cotangent of the output, from its end",
    ),
    "rows that are read and not added": (
        lambda x, index: x[index],
        lambda args, g: (g[jnp.arange(args[0].shape[0]) % args[1].shape[0]], None),
        "n d, m:int",
        "the cotangent of the output is to be added at index, in the place of the gather",
    ),
    "a magnitude": (
        lambda x: jnp.sum(jnp.log1p(jnp.abs(x)) * jnp.sign(x)),
        lambda x, g: (g / (1 + x),),
        "n",
        "takes x, and the magnitude",
    ),
    "two steps": (
        clipped,
        lambda x, g: (g * jnp.where(x <= 0.5, x, 0.5 * x),),
        "n",
        "and the sign of that is due there; the comparison",
    ),
    "a function as its operand": (
        lambda x, t: jax.nn.softmax(x / t),
        lambda args, g: (g / args[1], None),
        "n d, ()",
        "is differentiated as if it were its operand",
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_what_is_due_is_said(name):
    f, bwd, signature, said = SAID[name]
    found = causes(f, bwd, signature)
    assert any(said in cause for cause in found.values()), found


NOT_SAID = {
    "with_another_power": (lambda x: jnp.cumsum(x**2), lambda x, g: (2 * x**3 * from_the_end(g) * jnp.exp(x),), "n"),
    "three_steps": (clipped, lambda x, g: (g * jnp.where(x <= 2, x * x, x + jnp.cos(x)),), "n"),
}


@pytest.mark.parametrize("name", NOT_SAID)
def test_what_does_not_make_it_right_is_not_said(name):
    assert causes(*NOT_SAID[name]) == {"x": ""}
