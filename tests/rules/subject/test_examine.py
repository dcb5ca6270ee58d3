"""The first look at a rule: arguments without a gradient, and which of them have none to lose."""

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad.rules.finding.find import FoundRule
from certgrad.rules.judging.by_name import examined
from certgrad.rules.subject.examine import examine
from certgrad.rules.subject.user_rule import UserRule

pytestmark = pytest.mark.usefixtures("verdicts_alone")


def of_two(value, slope):
    """No gradient is given for its second argument."""
    rule = jax.custom_vjp(value)
    rule.defvjp(lambda x, m: (value(x, m), m), lambda m, g: (slope(m) * g, None))
    return rule


masked = of_two(lambda x, m: jnp.where(m, x, 0.0), lambda m: jnp.where(m, 1.0, 0.0))
thresholded = of_two(lambda x, m: jnp.where(m > 0.5, x, 2 * x), lambda m: jnp.where(m > 0.5, 1.0, 2.0))
weighted = of_two(lambda x, m: x * m, lambda m: m)
both_ways = of_two(lambda x, m: jnp.where(m > 0, x, 0.0) + m, lambda m: jnp.where(m > 0, 1.0, 0.0))


@pytest.mark.parametrize(("rule", "lost"), [(masked, ()), (thresholded, ()), (weighted, ("m",)), (both_ways, ("m",))])
def test_what_is_only_compared_has_no_gradient_to_lose(rule, lost):
    report = certgrad.check(rule, "n, n")
    assert report.without_gradient == ("m",)
    assert report.lost_gradient == lost
    result, _ = examined(FoundRule("m:f", certgrad.declare("n, n")(rule)), {})
    assert [r.text for r in result.remarks] == [f"no gradient for {n}" for n in lost]


def test_what_does_not_trace_at_open_sizes_is_heard_at_numbers():
    @jax.custom_vjp
    def f(x, gamma):
        total = 0.0
        for k in range(x.shape[0]):  # a loop of Python's needs a number
            total = total + x[k] ** 2 * gamma
        return total

    f.defvjp(lambda x, gamma: (f(x, gamma), (x, gamma)), lambda r, g: (2 * g * r[0] * r[1], None))
    assert examine(UserRule(f, "n, ->")).without_gradient == ("gamma",)
