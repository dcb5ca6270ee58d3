"""Ranks that are derived: where code blind to ranks acts on each entry, the highest rank stands for those between."""

import operator

import jax
import jax.numpy as jnp

import certgrad
from certgrad.obligations.auditing import audit as auditing
from certgrad.obligations.generality.traces import Traces
from certgrad.ops import registry


def ranks_asked(subject) -> list[int]:
    """The ranks at which the audit of a subject with one star group traced it."""
    traces = Traces(subject)
    auditing._audited(traces)
    asked = [traces._instances[spec.case][spec.instance] for spec in traces.asked]
    return sorted({len(next(iter(one.groups.values()))) for one in asked})


def test_an_op_that_acts_on_each_entry_is_traced_at_the_highest_rank():
    assert ranks_asked(registry.get("softplus")) == [0, 1, 4]


def test_a_sum_over_all_axes_is_traced_at_every_rank():
    assert ranks_asked(registry.get("mse")) == [0, 1, 2, 3, 4]


def doubled_where(at_the_rank):
    """The backward of a square that returns twice the cotangent where something about the rank says so."""

    @jax.custom_vjp
    def rule(x):
        return x * x

    rule.defvjp(lambda x: (x * x, x), lambda x, g: (4 * x * g if at_the_rank(x) else 2 * x * g,))
    return rule


AT_RANK_TWO = {
    "ndim": lambda x: x.ndim == 2,
    "len": lambda x: len(x.shape) == 2,
    "match": lambda x: [True for _ in x.shape] == [True, True],
    "function": lambda x: jnp.ndim(x) == 2,
    "text": lambda x: str(x.aval).count(",") == 1,
}
"""Rows of the corpus."""


AT_RANK_FIVE = {
    "operator": lambda x: operator.attrgetter("ndim")(x) == 5,
    "tree": lambda x: jax.tree.structure(x.shape).num_leaves == 5,
    "leaves": lambda x: list(map(bool, jax.tree.leaves(x.shape)))[4:] == [True],
}
"""Uses of a rank that the search of the source does not see."""


def test_a_claim_about_any_rank_says_which_were_traced() -> None:
    claim = certgrad.check(doubled_where(lambda x: False), "*s -> *s").claims[0]
    assert claim.cases[0].scope == "all shapes, any rank"
    assert "programs at ranks 0, 1, 2, 3, 4, 5, 6 of *s" in claim.measured


def has_eight_axes(x) -> bool:
    try:
        return x.shape[7] > 0
    except IndexError:
        return False


def test_a_rank_may_be_asked_for_by_an_error() -> None:
    scope = certgrad.check(doubled_where(has_eight_axes), "*s -> *s").claims[0].cases[0].scope
    reason = "has_eight_axes catches errors, and a rank or an axis may raise one"
    assert scope.startswith(f"all shapes, ranks 0, 1, 2, 3, 4, 5, 6 of *s ({reason})")
