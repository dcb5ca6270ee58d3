"""A literal that stands on a jump is not read as the number that it was rounded from."""

import jax
import jax.numpy as jnp
import pytest

import certgrad

pytestmark = pytest.mark.usefixtures("proofs_alone")

ROOT = 1.7320508075688772
"""√3, rounded down."""


def rule(slope):
    """The identity, with a backward that multiplies by a slope."""
    f = jax.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, x), lambda x, g: (g * slope(x),))
    return f


JUMPS = {
    "a comparison of a square": lambda x: jnp.where(jnp.square(jnp.full((), ROOT)) >= 3, 1.0, 5.0),
    "a floor": lambda x: jnp.floor(jnp.square(ROOT + 0 * x)) - 2,
    "a sign": lambda x: 1 - jnp.sign(jnp.square(ROOT + 0 * x) - 3),
    "an index": lambda x: jnp.array([4.0, 3.0, 2.0, 1.0])[jnp.square(ROOT + 0 * x).astype(int)],
    "a third": lambda x: jnp.where((0.3333333333333333 + 0 * x) * 3 >= 1, 1.0, 5.0),
    "what cancels": lambda x: 1 + 1e16 * (jnp.square(ROOT + 0 * x) - 3),
    "decimals that add up": lambda x: jnp.where(0.1 + (0.2 + 0 * x) <= 0.3, 1.0, 5.0),
    "√2, which 32 bits round down": lambda x: jnp.where(jnp.square(1.4142135623730951 + 0 * x) >= 2, 1.0, 5.0),
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("jump", JUMPS)
def test_a_rule_that_rests_on_a_rounded_jump_is_not_proved(jump):
    assert certgrad.check(rule(JUMPS[jump]), "n -> n").verdict == "unproved"


def test_the_reason_names_the_literal():
    (reason,) = [c.reason for c in _claims(rule(JUMPS["a comparison of a square"])) if c.reason]
    assert f"{ROOT} is not read as √3" in reason


def _claims(f):
    return [case for claim in certgrad.check(f, "n -> n").certificate.claims for case in claim.cases]


SMOOTH = {
    "a product": (lambda x: ROOT * (0.5773502691896258 + 0 * x), "proved up to rounding"),
    "a comparison with an argument": (lambda x: jnp.where(x > ROOT, 1.0, ROOT * (0.5773502691896258 + 0 * x)), None),
    "decimals at a kink": (lambda x: jnp.where(x > 0.1, 1.0, 0.5 + 0.1 * 5), "proved"),
}


@pytest.mark.parametrize("slope", SMOOTH)
def test_a_literal_elsewhere_is_read_as_ever(slope):
    made, verdict = SMOOTH[slope]
    assert certgrad.check(rule(made), "n -> n").verdict == (verdict or "proved up to rounding")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("jump", ["a comparison of a square", "a floor", "decimals that add up"])
def test_nor_is_a_node_of_a_graph(jump, wide):
    f = rule(JUMPS[jump])
    with jax.enable_x64(wide):
        certificate = certgrad.certify(certgrad.trace(lambda x: jnp.sum(f(x) ** 2), jnp.ones(3)))
    assert certificate.verdict in ("unproved", "refuted")


def test_nor_are_two_functions_equal():
    jump = JUMPS["a comparison of a square"]
    assert certgrad.equal(lambda x: x * jump(x), lambda x: x, "n").verdict == "unproved"
