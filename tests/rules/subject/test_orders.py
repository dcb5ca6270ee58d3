"""Sizes that tracing compares by order: a rule is proved where it is right at each outcome, and at no fewer."""

import jax
import jax.numpy as jnp
import pytest
from jax.lax.linalg import triangular_solve
from jax.scipy.linalg import solve_triangular

from certgrad import check, declare
from certgrad.obligations.certificate import PROOFS
from certgrad.rules.certificates.verify import verify_rule
from certgrad.rules.finding.find import FoundRule
from certgrad.rules.subject.orders import _order_asked, _outcomes


def rule(forward, backward):
    f = jax.custom_vjp(lambda *x: forward(*x))
    f.defvjp(lambda *x: (forward(*x), x), lambda res, g: backward(*res, g))
    return f


def own(forward, turned=lambda *cotangents: cotangents):
    """The rule by JAX's own derivative, which compares sizes; `turned` changes its cotangents."""
    return rule(forward, lambda *xs: turned(*jax.vjp(forward, *xs[:-1])[1](xs[-1])))


def lower(a, b):
    return solve_triangular(a, b, lower=True)


def from_the_right(a, b):
    return triangular_solve(a, b, left_side=False, lower=False, unit_diagonal=True)


RIGHT = {
    "lower, a matrix": (own(lower), "n n, n m"),
    "lower, a vector": (own(lower), "n n, n"),
    "transposed": (own(lambda a, b: solve_triangular(a, b, trans=1)), "n n, n m"),
    "from the right, a diagonal of ones": (own(from_the_right), "n n, m n"),
}
WRONG = {
    "the sign": (own(lower, lambda da, db: (-da, db)), "n n, n m"),
    "the triangle": (own(lower, lambda da, db: (da.T, db)), "n n, n m"),
    "the diagonal": (own(lower, lambda da, db: (jnp.tril(da, -1), db)), "n n, n"),
    "a factor": (own(from_the_right, lambda da, db: (da, 2 * db)), "n n, m n"),
}


@pytest.mark.usefixtures("proofs_alone")
@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", RIGHT)
def test_a_triangular_solve_is_proved_by_the_derivative_of_jax(name):
    found = check(*RIGHT[name])
    assert found.verdict in PROOFS, found.reason
    diagonal = [h.text for claim in found.claims for h in claim.hypotheses]
    assert set(diagonal) <= {"a[i,i] ≠ 0", "x_0[i,i] ≠ 0"}


@pytest.mark.usefixtures("proofs_alone")
@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_triangular_solve_is_refuted(name):
    assert check(*WRONG[name]).verdict == "refuted"


def factor_where(holds, factor=2):
    """The rule of x², with another factor where a comparison of its sizes holds."""
    return rule(lambda x: x * x, lambda x, g: ((factor if holds(*x.shape) else 2) * x * g,))


@pytest.mark.usefixtures("proofs_alone")
@pytest.mark.parametrize(
    ("holds", "signature"),
    [
        (lambda n, m: n > m, "n m"),
        (lambda n, m: n >= m, "n m"),
        (lambda n, m: m > n, "n m"),
        (lambda n: n > 2, "n"),
        (lambda n: n < 3, "n"),
    ],
)
def test_each_outcome_counts(holds, signature):
    assert check(factor_where(holds), signature).verdict == "proved"
    assert check(factor_where(holds, 3), signature).verdict == "refuted"


@pytest.mark.usefixtures("proofs_alone")
@pytest.mark.parametrize(
    ("wrong", "signature"),
    [
        (lambda n, m: n > m and m > 3, "n m"),
        (lambda n, m: not n > m and n == m, "n m"),
        (lambda n: not n > 3 and n == 2, "n"),
        (lambda n: n > 3 and n == 17, "n"),
    ],
)
def test_what_is_asked_inside_of_an_outcome_is_not_lost(wrong, signature):
    assert check(factor_where(wrong, 3), signature).verdict in ("refuted", "unproved", "proved at sizes")


def test_the_outcomes_are_all_sizes():
    sizes = [{"n": n, "m": m} for n in range(1, 8) for m in range(1, 8)]
    for order in (("n", "m"), ("n", 1), ("n", 4)):
        for at in sizes:
            reached = [
                one
                for one in _outcomes(order, ("n", "m"))
                if any(all(v.evaluate({**at, "more": k}) == at[n] for n, v in one.items()) for k in range(1, 8))
            ]
            assert len(reached) == 1, (order, at)


@pytest.mark.parametrize(
    ("failure", "asked"),
    [
        ("Symbolic dimension comparison 'n' > 'm' is inconclusive.", ("n", "m")),
        ("Symbolic dimension comparison 'n' >= '3' is inconclusive.", ("n", 3)),
        ("Symbolic dimension comparison '3' < 'n' is inconclusive.", ("n", 3)),
        ("Symbolic dimension comparison 'n' <= '128' is inconclusive.", None),
        ("Symbolic dimension comparison 'n + 2*m - 2' <= '3' is inconclusive.", None),
        ("Symbolic dimension comparison 'n' > 'k' is inconclusive.", None),
        ("another failure", None),
    ],
)
def test_which_order_is_asked_for(failure, asked):
    assert _order_asked(failure, ("n", "m")) == asked


def test_the_second_check_finds_the_cases():
    custom, signature = RIGHT["lower, a vector"]
    found = check(custom, signature, name="m:solve", conformance=False)
    there = FoundRule("m:solve", declare(signature)(custom))
    checked = verify_rule(found.certificate, there)
    assert checked.outcome == "verified", checked
