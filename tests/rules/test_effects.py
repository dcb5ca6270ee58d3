"""What a rule tells the host is left out of the proof; what the host answers is not."""

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.effects import Effect
from jax.experimental import io_callback

import certgrad

pytestmark = pytest.mark.usefixtures("verdicts_alone")


def _rule(forward, bwd):
    f = jax.custom_vjp(forward)
    f.defvjp(lambda x: (f(x), x), bwd)
    return f


def _in_print(factor):
    def forward(x):
        jax.debug.print("value {}", jnp.mean(x))
        return x**3

    def bwd(x, g):
        jax.debug.print("cotangent {}", g[0], ordered=True)
        return (factor * x * x * g,)

    return _rule(forward, bwd)


def _in_loop(factor):
    """Told in a loop, under `jit` and in a branch."""

    def forward(x):
        def step(carry, row):
            jax.debug.print("row {}", row)
            return carry + row, None

        return jax.lax.scan(step, 0.0, x)[0]

    @jax.jit
    def halves(x, g):
        jax.debug.print("jit {}", g)
        return jax.lax.cond(g > 0, lambda g: (jax.debug.print("positive"), g)[1], lambda g: g, g) * jnp.ones_like(x)

    return _rule(forward, lambda x, g: (factor * halves(x, g),))


def _in_jvp(factor):
    @jax.custom_jvp
    def f(x):
        return jnp.sin(x)

    @f.defjvp
    def f_jvp(primals, tangents):
        (x,), (dx,) = primals, tangents
        jax.debug.callback(lambda t: np.asarray(t) + 1, dx)
        return f(x), factor * jnp.cos(x) * dx

    return f


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("made", "right", "wrong"), [(_in_print, 3, 2), (_in_loop, 1, 2), (_in_jvp, 1, 2)])
def test_what_is_told_is_left_out_and_listed(made, right, wrong):
    found = certgrad.check(made(right), "n")
    assert found.verdict == "proved"
    told = {text for claim in found.claims for text in claim.idealisations}
    assert any("tells the host something and returns nothing" in text for text in told)
    assert certgrad.check(made(wrong), "n").verdict == "refuted"


# wrong rules that would be proved if more than what is told were left out


def answered(x, g):
    """The host answers with a constant that is right of the points at which it was written."""
    two = jax.pure_callback(lambda x: np.float64(2), jax.ShapeDtypeStruct((), x.dtype), x)
    return (two.astype(x.dtype) * x * g,)


def acted(x, g):
    """An effect that is no printing."""
    io_callback(lambda x: None, None, x)
    return (2 * x * g,)


def remembering():
    """What is told changes the factor of the next call."""
    seen = []

    def bwd(x, g):
        jax.debug.callback(seen.append, 1)
        return ((2 if len(seen) < 50 else 3) * x * g,)

    return bwd


def listening():
    """The code that listens is the rule's as well, and there it asks whether it is traced."""

    def factor(x):
        return 2.0 if isinstance(x, jax.core.Tracer) else 3.0

    def bwd(x, g):
        jax.debug.callback(factor, x)
        return (factor(x) * x * g,)

    return bwd


@pytest.mark.one_in(3)
@pytest.mark.parametrize("bwd", [answered, acted, remembering(), listening()])
def test_what_is_no_telling_takes_the_proof_away(bwd):
    found = certgrad.check(_rule(lambda x: x * x, bwd), "n")
    assert found.verdict in ("unproved", "refuted")


def test_a_primitive_of_another_package_with_the_name_is_not_left_out():
    from jax.extend.core import Primitive

    told = Primitive("debug_print")
    told.multiple_results = True
    told.def_effectful_abstract_eval(lambda x: ([], {_Effect()}))
    told.def_impl(lambda x: [])

    def bwd(x, g):
        told.bind(x)
        return (2 * x * g,)

    found = certgrad.check(_rule(lambda x: x * x, bwd), "n")
    assert found.verdict == "unproved"


class _Effect(Effect):
    """One that JAX does not know."""


def test_an_operand_of_what_is_told_needs_no_meaning():
    """The next float is told; the proof does not ask what that is."""

    def bwd(x, g):
        jax.debug.print("next float {}", jnp.nextafter(x, x + 1))
        return (2 * x * g,)

    assert certgrad.check(_rule(lambda x: x * x, bwd), "n").verdict == "proved"
