"""Where branches meet: the derivative is what both sides give, and there is none where they do not agree."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import i0

from certgrad import check
from certgrad.obligations.balls._errors import NotDifferentiable, Undecided
from certgrad.obligations.balls._gaps import Point, derivative
from certgrad.obligations.balls._rule import Dims, Input, Programs, Rule


def slope(f, at, direction):
    """The derivative of a function of scalars at a point, along a direction."""
    names = "xyz"[: len(at)]
    programs = Programs(Rule(lambda xs: [f(*xs)]), [Input(name) for name in names], Dims())
    entries = [[np.array(v, dtype=object) for v in values] for values in (at, direction)]
    (out,), _ = derivative(programs, Point(*entries, seeds=[]))
    return out[()]


SMOOTH = {
    "two pieces of one slope": (lambda x: jnp.where(abs(x) < 1, x * x / 2, abs(x) - 0.5), [1], 1),
    "a square by its sign": (lambda x: x * abs(x), [0], 0),
    "a cube of a ramp": (lambda x: jax.nn.relu(x - 2) ** 3, [2], 0),
    "of two variables": (lambda x, y: jnp.where(x > y, (x - y) ** 2, 0.0) + x, [3, 3], 1),
    "the modified Bessel function": (i0, [0], 0),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_both_sides_agree(name):
    f, at, expected = SMOOTH[name]
    assert abs(float(slope(f, at, [1] + [0] * (len(at) - 1))) - expected) < 1e-9


OPEN = {
    "a corner": (abs, [0], [1]),
    "a jump": (lambda x: jnp.where(x > 0, x + 1, x), [0], [1]),
    "a point of another value": (lambda x: jnp.where(x == 0, 1.0, x), [0], [1]),
    "a maximum along its tie": (jnp.maximum, [2, 2], [1, 1]),
    "a distance along its tie": (lambda x, y: abs(x - y), [2, 2], [1, 1]),
    "level along both axes": (lambda x, y: jnp.minimum(abs(x), abs(y)), [0, 0], [1, 0]),
    "not linear": (
        lambda x, y: jnp.where(x * y > 0, x, 0.0) - jnp.where(x * y > 0, x, 0.0) + abs(x + y),
        [1, -1],
        [1, -1],
    ),
    "what moves alike at first": (lambda x: jnp.maximum(x * x, 0.0), [0], [1]),
    "a root": (lambda x: jnp.sqrt(abs(x)), [0], [1]),
}


@pytest.mark.parametrize("name", OPEN)
def test_they_do_not_agree(name):
    f, at, direction = OPEN[name]
    with pytest.raises((NotDifferentiable, Undecided)):
        slope(f, at, direction)


def rule(forward, backward):
    f = jax.custom_vjp(forward)
    f.defvjp(lambda *x: (forward(*x), x), backward)
    return f


def smooth_step(x):
    return jnp.where(x > 1, 2 * x - 1, x * x)


def test_a_rule_that_is_wrong_where_two_smooth_pieces_meet():
    right = rule(smooth_step, lambda r, g: (g * jnp.where(r[0] > 1, 2.0, 2 * r[0]),))
    wrong = rule(smooth_step, lambda r, g: (g * jnp.where(r[0] > 1, 2.0, jnp.where(r[0] < 1, 2 * r[0], 0.0)),))
    assert check(right, "*s -> *s").verdict == "proved"
    found = check(wrong, "*s -> *s")
    assert found.verdict == "refuted"


@pytest.mark.parametrize("at_tie", [0.0, 0.5, 1.0])
def test_what_a_rule_returns_at_a_tie_is_its_own(at_tie):
    def backward(saved, g):
        x, y = saved
        first = jnp.where(x > y, 1.0, jnp.where(x < y, 0.0, at_tie))
        return g * first, g * jnp.where(x > y, 0.0, jnp.where(x < y, 1.0, at_tie))

    assert check(rule(jnp.maximum, backward), "*s, *s -> *s").verdict == "proved under hypotheses"
