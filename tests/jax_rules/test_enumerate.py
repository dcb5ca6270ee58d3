"""What an audit of JAX names: every primitive with a rule, every custom rule, and nothing that is not there."""

from certgrad.jax_rules import names, subjects
from certgrad.jax_rules._enumerate import CUSTOM, NO_DERIVATIVE, PRIMITIVE, custom_rules
from certgrad.jax_rules.configurations import CONFIGURATIONS
from certgrad.obligations.meaning.semantics._registry import REFUSED
from certgrad.obligations.tracing.jax_internals import primitives_with_rules

OF_OTHER_VERSIONS = {"log2", "one_minus_square", "polynomial"}
"""Configured primitives that some versions of JAX do not have."""


def test_every_primitive_with_a_rule_is_named_or_has_no_derivative() -> None:
    listed = [s.name for s in subjects() if s.kind == PRIMITIVE]
    assert listed == primitives_with_rules()
    without = {s.name for s in subjects() if s.without}
    assert without <= {name for members in NO_DERIVATIVE.values() for name in members}
    assert set(listed) - without <= set(names())


def test_custom_rules_are_found_where_jax_has_them() -> None:
    found = custom_rules()
    assert {"jax.nn.relu", "jax.scipy.special.xlogy", "jax.lax.logaddexp"} <= set(found)
    assert found == sorted(set(found))


def test_what_is_named_is_configured_or_refused_with_a_reason() -> None:
    configured = {c.subject for c in CONFIGURATIONS}
    assert [n for n in names() if n not in configured and n not in REFUSED] == []
    assert configured - set(names()) <= OF_OTHER_VERSIONS


def test_configurations_of_a_rule_differ_in_what_they_say() -> None:
    texts = [(c.subject, str(c)) for c in CONFIGURATIONS]
    assert sorted({t for t in texts if texts.count(t) > 1}) == []


def test_custom_rules_are_all_listed_as_such() -> None:
    assert [s.name for s in subjects() if s.kind == CUSTOM] == custom_rules()
