"""A verdict says at which ranks it holds, where these are not all."""

import jax

from certgrad import check
from certgrad.obligations.certificate import verdict_text


def doubled(more):
    @jax.custom_jvp
    def f(x):
        return 2 * x

    @f.defjvp
    def _(primals, tangents):
        (x,), (t,) = primals, tangents
        return f(x), t * (2.0 + more(x))

    return f


def test_a_rule_that_asks_for_ranks_is_proved_at_those_that_were_shown():
    found = check(doubled(lambda x: max(0, x.ndim - 6)), "*s -> *s", conformance=False)
    assert verdict_text(found.certificate) == "proved; at ranks 0, 1, 2, 3, 4, 5, 6 of *s"


def test_a_rule_that_calls_itself_and_asks_for_none_is_proved_at_all():
    found = check(doubled(lambda x: 0), "*s -> *s", conformance=False)
    assert verdict_text(found.certificate) == "proved"
