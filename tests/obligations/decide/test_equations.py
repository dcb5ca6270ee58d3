"""On a set where a term is 0, a quotient that it is the numerator of is 0, whatever its degree."""

import jax.numpy as jnp

from certgrad import equal

DOMAIN = ["0 < r", "r < 1", "e > 0", "v >= 0", "w >= 0"]


def moment(g, v, w, r, e):
    """Adadelta's second moment: r·w + (1 − r)·g²·(w + e) / (r·v + (1 − r)·g² + e)."""
    step = jnp.sqrt(w + e) / jnp.sqrt(r * v + (1 - r) * g**2 + e) * g
    return r * w + (1 - r) * step**2


def test_a_quotient_is_its_own_size_where_it_is_not_negative():
    found = equal(moment, lambda *args: jnp.abs(moment(*args)), "n, n, n, ,  -> n", domain=DOMAIN)
    assert found.verdict in ("proved", "proved under hypotheses"), found


def test_what_differs_where_it_is_zero_is_not_proved():
    found = equal(
        moment, lambda *args: jnp.where(moment(*args) > 0, moment(*args), 1.0), "n, n, n, ,  -> n", domain=DOMAIN
    )
    assert found.verdict == "refuted"


def test_without_a_bound_it_may_be_negative():
    found = equal(
        moment, lambda *args: jnp.abs(moment(*args)), "n, n, n, ,  -> n", domain=["e > 0", "v >= 0", "w >= 0"]
    )
    assert found.verdict == "refuted"
