"""What the layers, losses and optimisers of libraries are made of: each was met there, and is a law of its own."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from certgrad import certify, trace


def certified(function, *specs):
    return certify(trace(function, *specs))


def test_a_power_whose_base_is_a_number_of_pythons() -> None:
    """The bias correction of Adam: JAX's literal is a float of Python's that has a dtype."""
    found = certified(lambda m, count: m / (1 - 0.9**count), "n", ":int32")
    assert found.verdict == "proved under hypotheses"


def test_a_scalar_beside_an_array_of_one_entry() -> None:
    """Their hypotheses are told apart where the graph is looked at once more, at n = 1."""

    def safe_norm(x):
        norm = jnp.linalg.norm(x, keepdims=True)
        safe = jnp.where(norm <= 0, jnp.ones_like(x), x)
        return jnp.where(jnp.squeeze(norm) <= 0, 0.0, jnp.linalg.norm(safe))

    assert certified(safe_norm, "n").verdict == "proved under hypotheses"


def test_a_bound_that_is_infinite() -> None:
    assert certified(lambda x: jax.lax.clamp(0.0, x, jnp.inf), "n").verdict == "proved under hypotheses"


def test_a_conversion_of_a_bound() -> None:
    assert certified(lambda x: jnp.clip(x, 1e-6, 50.0), "n").verdict == "proved under hypotheses"


def test_an_infinity_times_a_number_in_a_branch_not_taken() -> None:
    found = certified(lambda x, y: jnp.where(jnp.isfinite(x), x * y, jnp.inf * (y > 0)), "n", "n")
    assert found.verdict == "proved under hypotheses"
    assert [h.text.partition(": ")[2] for h in found.hypotheses] == ["every element of `y` ≠ 0"]


def test_labels_that_are_constants_and_in_range() -> None:
    labels = jnp.array([0, 1, 2])
    found = certified(lambda x: jnp.where((labels < 0) | (labels > 2), -jnp.inf, x * x), jnp.ones(3))
    assert found.verdict == "proved"
    found = certified(lambda x: jnp.where(labels > 1, -jnp.inf, x * x), jnp.ones(3))
    assert found.verdict == "unproved"


def test_floats_of_eight_bits_are_read_as_exact() -> None:
    found = certified(lambda x: x.astype(jnp.float8_e4m3fn).astype(jnp.float32) * 2, "n")
    assert found.verdict == "proved"


def test_a_text_beside_arrays_of_a_module_is_its_own() -> None:
    @jax.tree_util.register_pytree_with_keys_class
    class Layer:
        def __init__(self, weight, axis_name):
            self.weight, self.axis_name = weight, axis_name

        def tree_flatten_with_keys(self):
            key = jax.tree_util.GetAttrKey
            return ((key("weight"), self.weight), (key("axis_name"), self.axis_name)), None

        @classmethod
        def tree_unflatten(cls, _, children):
            return cls(*children)

    def run(layer, x):
        assert layer.axis_name == "batch"
        return layer.weight * x

    assert certified(run, Layer(jnp.ones(3), "batch"), "3").verdict == "proved"


def product(alone=lambda x: 1.0):
    """A rule that is told which of its arguments move, with a factor of its own where only y does."""

    @jax.custom_jvp
    def times(x, y):
        return x * y

    def jvp(primals, tangents):
        (x, y), (dx, dy) = primals, tangents
        zero = [isinstance(t, jax.custom_derivatives.SymbolicZero) for t in tangents]
        if all(zero):
            return x * y, jnp.zeros_like(x)
        if zero[0]:
            return x * y, alone(x) * x * dy
        return x * y, y * dx if zero[1] else y * dx + x * dy

    times.defjvp(jvp, symbolic_zeros=True)
    return times


def refuses(x):
    raise ValueError("y alone")


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("alone", "verdict", "said"),
    [
        (lambda x: 1.0, "proved", ""),
        (lambda x: 2.0, "refuted", "where only y moves"),
        (refuses, "unproved", "where only y moves: JAX could not trace"),
        (lambda x: 2.0 if x.shape[0] == 4 else 1.0, "refuted", "where n = 4"),
    ],
)
def test_a_rule_that_sees_which_arguments_move_is_proved_for_each_choice(alone, verdict, said) -> None:
    """Both move in the graph, but JAX may know that a tangent is 0."""
    found = certified(lambda x, y: product(alone)(x, y), "n", "n")
    assert found.verdict == verdict
    assert said in "".join([*found.findings, *found.dimensions])


def test_the_arrays_that_are_given_are_a_point_that_is_looked_at() -> None:
    """No kind of array that is drawn satisfies what these do; integers are drawn in their own dtype."""

    def loss(x, key):
        k = jax.random.randint(key, (), 0, 3)
        return jnp.sum(jnp.log(x - 1000.5)) * jnp.arange(3.0)[k]

    found = certify(trace(loss, jnp.full(3, 1001.0), jax.random.key(0)))
    assert found.verdict == "proved under hypotheses", found.findings
    named = certify(trace(loss, "x: 3", ":key"))
    assert named.verdict == "unproved"
