"""What two programs compute alike, put as any number: proofs of rules whose code the calculus cannot follow."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certgrad
from certgrad.obligations.certificate import PROVED_AS_WRITTEN
from certgrad.obligations.generality.alike import FINITE
from certgrad.obligations.tracing.jax_internals import symbols, trace
from certgrad.obligations.tracing.jax_internals._numbering import Numbering, Value, reached_values, rebuilt


def hard(x):
    """Nothing that the calculus follows: an arg-maximum of booleans decides."""
    places = jnp.argmax(jnp.stack([x > 1, x > 2, x > 3], -1), -1)
    return jnp.where(places == 1, jnp.sin(x), jnp.cos(x)) * jax.lax.bitcast_convert_type(
        2 * x, jnp.int64 if wide(x) else jnp.int32
    )


def wide(x):
    return x.dtype == jnp.float64


def rule_of(tangent, primal=hard):
    rule = jax.custom_jvp(hard)
    rule.defjvp(lambda p, t: (primal(*p), tangent(*p, *t)))
    return rule


def claims(rule, signature="n -> n"):
    report = certgrad.check(rule, signature, surrogate="only what compares programs is of interest here")
    return {c.kind: c for c in report.claims}


def test_a_value_and_a_transpose_are_compared_without_meaning():
    found = claims(rule_of(lambda x, dx: jnp.exp(hard(x)) * dx + hard(x) * dx))
    for kind in ("vjp_is_adjoint", "rule_runs_forward"):
        assert found[kind].verdict == "proved under hypotheses"
        assert FINITE in found[kind].hypotheses
    assert found["jvp_is_derivative"].verdict == "surrogate"


@pytest.mark.parametrize(
    "primal",
    [lambda x: hard(x) + 1, lambda x: hard(1 * x), lambda x: 2 * hard(x), lambda x: hard(jnp.flip(x))],
)
@pytest.mark.one_in(2)
def test_another_value_is_not_proved(primal):
    found = claims(rule_of(lambda x, dx: hard(x) * dx, primal))
    assert found["rule_runs_forward"].verdict not in PROVED_AS_WRITTEN
    assert found["vjp_is_adjoint"].verdict in PROVED_AS_WRITTEN


def hand_written(vjp):
    """A rule in both modes of its own, whose transpose JAX does not make."""

    def transposed(x, dx):
        return jax.custom_derivatives.linear_call(lambda c, t: c * t, lambda c, g: vjp(c, g), hard(x), dx)

    return rule_of(transposed)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("vjp", "holds"),
    [
        (lambda c, g: c * g, True),
        (lambda c, g: 2 * c * g, False),
        (lambda c, g: c * jnp.flip(g), False),
        (lambda c, g: c, False),
        (lambda c, g: jnp.where(c > 0, c * g, 0), False),
    ],
)
def test_another_transpose_is_not_proved(vjp, holds):
    assert (claims(hand_written(vjp))["vjp_is_adjoint"].verdict in PROVED_AS_WRITTEN) == holds


def test_a_value_that_is_nowhere_finite_proves_nothing():
    def never(x):
        return hard(x) + jnp.log(-1 - x**2)

    rule = jax.custom_jvp(never)
    rule.defjvp(lambda p, t: (never(*p), t[0]))
    found = claims(rule)
    assert found["rule_runs_forward"].verdict == "unproved"
    assert "no point was found" in found["rule_runs_forward"].cases[0].reason


def test_a_condition_on_a_shared_value_is_not_forgotten():
    """1 / hard(x) is shared; g / hard(x) divides by a shared value: that this is not 0 would have to be said."""
    found = claims(rule_of(lambda x, dx: dx / hard(x)))
    assert found["vjp_is_adjoint"].verdict not in PROVED_AS_WRITTEN


# value numbering


def numbered(*functions, inputs=2):
    table = symbols(["n"])
    x = jax.ShapeDtypeStruct((table["n"],), "float32")
    numbering = Numbering()
    values = [Value(x, moves=True) for _ in range(inputs)]
    return [numbering.outputs(trace(f, [x] * inputs), values) for f in functions], values


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (lambda x, y: [x + y], lambda x, y: [x + y], True),
        (lambda x, y: [x + y], lambda x, y: [y + x], False),  # nothing is simplified
        (lambda x, y: [x * x], lambda x, y: [x * y], False),
        (lambda x, y: [2.0 * x], lambda x, y: [2.5 * x], False),
        (lambda x, y: [jax.jit(jnp.sin)(x)], lambda x, y: [jnp.sin(jax.lax.stop_gradient(x))], True),
        (lambda x, y: [jnp.sum(x)], lambda x, y: [jnp.max(x)], False),
        (lambda x, y: [x * jnp.arange(3.0)[1]], lambda x, y: [x * jnp.arange(4.0)[1]], False),
        (
            lambda x, y: list(jax.lax.sort((x, y), num_keys=1)),
            lambda x, y: list(jax.lax.sort((x, y), num_keys=2)),
            False,
        ),
        (
            lambda x, y: [jax.lax.fori_loop(0, 3, lambda i, c: c * y, x)],
            lambda x, y: [jax.lax.fori_loop(0, 3, lambda i, c: c + y, x)],
            False,
        ),
        (
            lambda x, y: [jax.lax.while_loop(lambda c: jnp.sum(c) < 9, lambda c: c + c, x)],
            lambda x, y: [jax.lax.while_loop(lambda c: jnp.sum(c) < 9, lambda c: c + c, x)],
            True,
        ),
        (
            lambda x, y: [jax.random.normal(jax.random.key(0)) * x],
            lambda x, y: [jax.random.normal(jax.random.key(1)) * x],
            False,
        ),
    ],
)
def test_equal_operations_of_equal_operands_are_one_value(one, other, same):
    (left, right), _ = numbered(one, other)
    assert (left == right) == same


def test_outputs_in_another_order_are_other_outputs():
    (left, right), _ = numbered(lambda x, y: [x + y, x * y], lambda x, y: [x * y, x + y])
    assert left != right
    assert left == right[::-1]


def test_what_has_effects_is_never_the_same():
    def ordered(x, y):
        return [jax.experimental.io_callback(lambda v: v, x, x) + y]

    (left, right), _ = numbered(ordered, ordered)
    assert left != right
    assert not any(v.pure for v in left)


def test_a_program_is_rebuilt_from_its_values():
    (left,), values = numbered(lambda x, y: [jnp.sin(x * y) + x * y, x * y])
    product = left[1]
    again = rebuilt(left, [*values, product])
    assert product not in {v for e in again.jaxpr.eqns for v in e.outvars}
    assert [e.primitive.name for e in again.jaxpr.eqns] == ["sin", "add"]
    assert reached_values(left, {product})
    assert np.asarray(again.consts).size == 0
