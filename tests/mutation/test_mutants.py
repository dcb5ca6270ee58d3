"""No broken rule is proved."""

import pytest

from certgrad.obligations import audit
from certgrad.ops import Composed, Op, registry
from tests.mutation._changes import Mutation
from tests.mutation._sample import run
from tests.mutation._subjects import INDEX_RULES, SUBJECTS
from tests.mutation._verdicts import PROVED, Judged, mutated
from tests.ops.sampling import label


def wrongly_proved(judged: list[Judged]) -> list[str]:
    return [f"{j.mutation}: {j.detail}" for j in judged if j.failed]


LONG = ("cummin", "dynamic_update_slice")  # a minute each
OPS = [op for op in registry if not isinstance(op, Composed)]
"""Those with rules of their own; a composed op is broken where its parts are."""
SOME = [
    pytest.param(op, marks=() if k % 10 == 0 and op.name not in LONG else pytest.mark.slow, id=label(op))
    for k, op in enumerate(OPS)
]


@pytest.mark.one_in(48)
@pytest.mark.parametrize("op", SOME)
def test_two_broken_rules_of_each_op(op: Op) -> None:
    assert wrongly_proved(list(run(op, 2, refute=False))) == []


@pytest.mark.one_in(30)
@pytest.mark.parametrize("op", INDEX_RULES, ids=label)
def test_an_index_rule_is_proved_and_three_broken_ones_are_not(op: Op) -> None:
    assert audit(op).verdict in PROVED
    assert wrongly_proved(list(run(op, 3, refute=False))) == []


@pytest.mark.slow
@pytest.mark.parametrize("op", OPS, ids=label)
def test_broken_rules_of_each_op(op: Op) -> None:
    judged = list(run(op, 30, public=12))
    assert wrongly_proved(judged) == []
    assert sum(j.differs for j in judged) >= 8


@pytest.mark.usefixtures("uncompared")
def test_the_conditions_of_the_matrix_that_a_linear_solve_factors_are_listed():
    mutation = Mutation("fwd", ("stop_gradient", 0), "plus 0 times a logarithm", (0,))
    certificate = audit(mutated(SUBJECTS["inverse"], mutation))
    for claim in certificate.claims:
        assert {"a > 0", "determinant(a[i]) ≠ 0"} <= {h.text for h in claim.hypotheses}
