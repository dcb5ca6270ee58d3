"""Lemmas: shared between nodes, told apart where the operation differs, proved also at sizes that rules treat apart."""

import jax.numpy as jnp

from certgrad.graph import certify, trace
from certgrad.graph.certifying.certify import certification


def test_names_of_dimensions_do_not_matter() -> None:
    first = certify(trace(lambda x: jnp.exp(x), "x: n d"))
    second = certify(trace(lambda x: jnp.exp(x), "x: rows columns"))
    assert [one.digest for one in first.lemmas] == [one.digest for one in second.lemmas]


def test_a_value_read_twice_is_another_lemma_equal_dimensions_are_not() -> None:
    found = certify(trace(lambda x, y: x @ x + x @ y, "x: n n", "y: n n"))
    assert {one.signature for one in found.lemmas if one.name.startswith("dot")} == {
        "x [n, n] -> [n, n]",
        "x [n, m], y [m, k] -> [n, k]",
    }


def test_literals_and_parameters_are_part_of_a_lemma() -> None:
    found = certify(trace(lambda x: jnp.maximum(x, 0) + jnp.maximum(x, 1) + x**2 + x**3, "x: n"))
    names = {one.name for one in found.lemmas}
    assert {"max(x, 0.0)", "max(x, 1.0)", "integer_pow[y=3](x)"} <= names


def test_an_argument_that_does_not_move_needs_no_derivative() -> None:
    """x ** p needs x > 0 only where p moves, or is no integer."""
    found = certify(trace(lambda x: x / jnp.sum(jnp.ones(3)), "x: n"))
    (lemma,) = [one for one in found.lemmas if one.name.startswith("div")]
    assert "y [] constant" in lemma.signature


def test_the_programs_behind_a_lemma_are_kept() -> None:
    done = certification(trace(lambda x: jnp.exp(x), "x: n"))
    programs = done.induction.judged[1].instance.proof.programs
    assert programs is not None
    assert set(programs.all()) == {"forward", "jvp", "vjp", "primal"}
    assert done.induction.moving == {(0, 0), (1, 0)}


def test_broadcasting_asks_nothing_of_the_sizes() -> None:
    """JAX's rule for add treats size 1 apart: that case is proved as well."""
    assert certify(trace(lambda x, b: x + b, "x: n d", "b: d")).dimensions == []
