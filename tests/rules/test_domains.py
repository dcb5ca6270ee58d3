"""What hypotheses exclude of a declared domain is said, and `--strict` fails on it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad.report.audited import conditions
from certgrad.rules._by_name import examined
from certgrad.rules._find import Found

pytestmark = pytest.mark.usefixtures("proofs_alone")


def ramp(domain):
    made = jax.custom_vjp(lambda x: jnp.maximum(x, 0.0))
    made.defvjp(lambda x: (jnp.maximum(x, 0.0), x), lambda x, g: (jnp.where(x > 0, g, 0.0),))
    return certgrad.declare("n -> n", domain=domain)(made)


@pytest.mark.parametrize(
    ("domain", "said"),
    [
        ("x > -2", ["inside the declared domain, the claim holds only where x ≠ 0"]),
        ("x > 0", []),  # all of the domain is proved
        ("x != 0", []),
        (None, []),  # the author says nothing, and the hypothesis is what there is to say
    ],
)
def test_a_part_of_the_domain_that_is_excluded_is_a_remark(domain, said):
    result, _ = examined(Found("m:ramp", ramp(domain)), {}, conformance=False)
    assert [r.text for r in result.remarks if r.code == "CG204"] == said


def test_what_the_author_did_not_say_comes_first():
    result, _ = examined(Found("m:ramp", ramp("x > -2")), {}, conformance=False)
    assert conditions(result.certificate)[0] == "x ≠ 0"
