"""Comparisons with infinities, decided, are what JAX computes at numbers; and what is not a number stays undecided."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad.language import tree as e
from certgrad.language.definedness import defined
from certgrad.language.finite import decide_infinite_comparisons
from certgrad.specification import program as p
from certgrad.specification.reading import meaning
from tests.specification.numerics import at_arrays, compared, run

NUMBERS = np.array([-1e300, -3.0, 0.0, 0.5, 1e300])
PROGRAMS = [
    lambda x: x < jnp.inf,
    lambda x: x < -jnp.inf,
    lambda x: x <= -jnp.inf,
    lambda x: jnp.inf < x,
    lambda x: -jnp.inf <= x,
    lambda x: x == jnp.inf,
    lambda x: -jnp.inf == x,
    lambda x: x != jnp.inf,
    lambda x: x > jnp.inf,
    lambda x: x >= -jnp.inf,
    lambda x: jnp.maximum(x, -jnp.inf),
    lambda x: jnp.minimum(jnp.inf, x),
    lambda x: jnp.where(x == -jnp.inf, 7.0, 2 * x),
    lambda x: jnp.where((x > 0) & (x < jnp.inf), x, -x),
    lambda x: jax.nn.softmax(x[None], axis=1)[0],
]


def holds_infinity(x: e.Node) -> bool:
    return any(isinstance(n, e.Infinity) for n in e.walk(x))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_decided_is_what_jax_computes(program) -> None:
    with jax.enable_x64(True):
        read = meaning(jax.make_jaxpr(program)(NUMBERS), ["x"])
    entries = [d.entry for d in read.definitions if isinstance(d, p.Defined)]
    assert any(map(holds_infinity, entries))
    definitions = tuple(
        replace(d, entry=decide_infinite_comparisons(d.entry)) if isinstance(d, p.Defined) else d
        for d in read.definitions
    )
    assert not any(holds_infinity(d.entry) for d in definitions if isinstance(d, p.Defined))
    assert compared(at_arrays(replace(read, definitions=definitions), [NUMBERS]), run(program, [NUMBERS]), False)


X, ZERO = e.SortedEntry("x", (), "real"), e.ZERO


@pytest.mark.parametrize(
    "expression",
    [
        e.Compare("=", e.Infinity(True), e.Negate(e.Infinity(False))),
        e.Compare("<", e.Infinity(False), e.If(e.Compare("<", X, ZERO), X, e.Infinity(False))),
        e.Infinity(True),
        X + e.Infinity(True),
    ],
)
def test_what_may_be_infinite_itself_stays_as_it_is(expression) -> None:
    assert decide_infinite_comparisons(expression) == expression


def test_it_is_defined_where_it_was() -> None:
    comparison = e.Compare("<", e.Infinity(False), e.Divide(ZERO, X))
    assert decide_infinite_comparisons(comparison) == e.Given(defined(comparison), e.TRUE)
    chosen = decide_infinite_comparisons(e.If(comparison, X, e.Infinity(False)))
    assert chosen == e.Given(defined(comparison), X)
