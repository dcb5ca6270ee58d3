"""The last look at rules that stand in a graph."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import pytest

import certgrad
from certgrad.graph.certifying.certify import certification
from certgrad.graph.certifying.look import defects
from certgrad.signatures.sizes import integer_size


def _polynomial(x: Any) -> Any:
    return (x**3 + 5 * x) * 1e-7 + 0.4  # negative below −157


@jax.custom_vjp
def _piecewise(x: Any) -> Any:
    return jnp.where(_polynomial(x) > 0, x, x * x)


_piecewise.defvjp(lambda x: (_piecewise(x), x), lambda x, g: (jnp.where(_polynomial(x) > 0, g, 5 * g),))


@jax.custom_jvp
def _scaled(x: Any, y: Any) -> Any:
    return x * y


_scaled.defjvp(lambda p, t: (_scaled(*p), t[0] * p[1] + 2 * t[1] * p[0]))


def _in_a_loop(x: Any) -> Any:
    return jax.lax.scan(lambda c, a: (c + _piecewise(a), c), 0.0, x)[0]


def _forged(induction: Any) -> None:
    """As if the calculus had a hole: every lemma about a rule of the user's says `proved`."""
    for judgement in induction.judged.values():
        proof = judgement.instance.proof
        laws = [msgspec.structs.replace(o, verdict="proved") for o in proof.lemma.obligations]
        if "custom" in proof.lemma.name:
            proof.lemma = msgspec.structs.replace(
                proof.lemma, verdict="proved", obligations=laws, statements=[], hypotheses=[]
            )
    for inside in induction.inside.values():
        for one in inside:
            _forged(one)


GRAPHS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "a vector": (lambda x: jnp.sum(_piecewise(jnp.sin(x) * 3)), ("4",)),
    "two arguments, one constant": (lambda x: jnp.sum(_scaled(2.0, x)), ("3",)),
    "in a loop": (_in_a_loop, ("3",)),
    "under jit": (lambda x: jax.jit(_piecewise)(x) + 1, ("",)),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("function", "specs"), GRAPHS.values(), ids=GRAPHS)
def test_a_lemma_that_does_not_hold_is_found(function: Any, specs: tuple[str, ...]) -> None:
    done = certification(certgrad.trace(function, *specs), compare=False)
    assert done.certificate.verdict in ("refuted", "unproved")
    _forged(done.induction)
    (found,) = defects(done.induction, done.induction.traced, {}, True)
    assert "defect: its lemma was proved, and does not hold at " in found


def test_right_rules_stay_certified() -> None:
    rule = jax.custom_vjp(lambda x: x * x)
    rule.defvjp(lambda x: (x * x, x), lambda x, g: (2 * x * g,))
    for spec in ("n", "4", "n m"):
        traced = certgrad.trace(lambda x: jnp.sum(rule(x) * jax.nn.relu(x)), spec)
        assert certgrad.certify(traced).verdict == "proved under hypotheses"


def test_at_sizes_left_open_numbers_are_put_in() -> None:
    traced = certgrad.trace(lambda x: jnp.sum(_piecewise(jnp.sin(x) * 3)), "n")
    done = certification(traced, compare=False)
    _forged(done.induction)
    fixed = {"n": integer_size(3)}
    (found,) = defects(done.induction, traced.retraced(fixed), fixed, True)
    assert "does not hold at x = " in found


@jax.custom_vjp
def _divided(x: Any) -> Any:
    return jnp.prod(x)


_divided.defvjp(lambda x: (_divided(x), x), lambda x, g: (g * jnp.prod(x) / x,))


def test_a_rule_that_is_undefined_where_its_function_is_smooth_is_named_unless_the_graph_excludes_that():
    found = certgrad.certify(certgrad.trace(lambda x: _divided(x) ** 2, jnp.ones(3)))
    assert found.verdict == "unproved"
    assert "the rule alone needs x ≠ 0" in found.findings[0]
    assert found.findings[0].endswith("against nan)")
    assert certgrad.certify(certgrad.trace(lambda x: _divided(jnp.exp(x)), jnp.ones(3))).verdict == "proved"


def test_a_kink_of_a_function_is_its_hypothesis_in_a_graph():
    ramp = jax.custom_vjp(lambda x: jnp.maximum(x, 0.0))
    ramp.defvjp(lambda x: (ramp(x), x), lambda x, g: (jnp.where(x > 0, g, 0.0),))
    found = certgrad.certify(certgrad.trace(lambda x: jnp.sum(ramp(x)), jnp.ones(3)))
    assert (found.verdict, len(found.hypotheses)) == ("proved under hypotheses", 1)
