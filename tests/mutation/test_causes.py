"""What is said of broken rules in code is true: with the likely cause mended, the rule is proved."""

from itertools import islice

import pytest

from tests.mutation.code_rules import Told, examples, refutations

SAMPLE = ("gelu", "layer_norm", "project", "rms_norm")
WANTED = 200


def untrue(found: list[Told]) -> list[str]:
    return [f"{one.rule}, {one.mutation}: {one.argument}: {one.cause}: {one.said}" for one in found if not one.true]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", SAMPLE)
def test_the_cause_of_a_broken_rule_is_true(name: str) -> None:
    rules = [rule for rule in examples() if rule.name == name]
    (refutation,) = islice(refutations(rules), 1)
    assert untrue(refutation.told) == []
    assert refutation.told


@pytest.mark.slow
def test_the_causes_of_200_broken_rules_are_true_and_half_of_them_have_one() -> None:
    found = list(islice(refutations([rule for rule in examples() if not rule.declared.surrogate]), WANTED))
    assert len(found) == WANTED
    assert untrue([one for refutation in found for one in refutation.told]) == []
    assert sum(bool(refutation.told) for refutation in found) >= WANTED / 2
