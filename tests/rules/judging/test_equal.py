"""`certgrad.equal`: two functions that return the same, for all shapes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certgrad
from certgrad.errors import SignatureError, UsageError
from certgrad.testing import assert_equal


def square(x, y):
    return (x + y) ** 2


def expanded(x, y):
    return x * x + 2 * x * y + y * y


def off_by_little(x, y):
    return x * x + 2 * x * y + y * y + 1e-9 * x


def test_equal_functions_are_proved_and_say_so() -> None:
    found = certgrad.equal(square, expanded, "n d, n d")
    assert found.proved
    assert str(found) == "square = expanded: proved\nscope: all shapes"
    assert found.claim.statement == "for all x, y: square(x, y) = expanded(x, y)"
    assert (found.hypotheses, found.witness, found.reason) == ([], None, "")


def test_a_small_difference_is_refuted_by_a_witness() -> None:
    found = certgrad.equal(square, off_by_little, "n d, n d")
    assert found.verdict == "refuted"
    assert found.witness is not None
    assert found.witness.inputs["x"] == [["1"]]
    assert "the two sides differ at the witness" in str(found)


def test_sums_and_products_of_matrices() -> None:
    assert certgrad.equal(lambda A, x: jnp.sum(A @ x), lambda A, x: A.sum(0) @ x, "n m, m").verdict == "proved"
    wrong = certgrad.equal(lambda A, x: A @ x, lambda A, x: x @ A, "n n, n")
    assert wrong.verdict == "refuted"


def test_where_one_side_is_undefined_is_a_hypothesis() -> None:
    found = certgrad.equal(lambda x: x * x / x, lambda x: x, "n")
    assert (found.verdict, found.hypotheses) == ("proved under hypotheses", ["x ≠ 0"])
    assert certgrad.equal(lambda x: jnp.sqrt(x * x), lambda x: x, "n").verdict == "refuted"
    under = certgrad.equal(lambda x: jnp.sqrt(x * x), lambda x: x, "n", domain="x >= 0")
    assert (under.verdict, under.hypotheses) == ("proved under hypotheses", ["x ≥ 0"])


def test_equality_at_some_sizes_is_no_equality() -> None:
    """The sizes at which Python takes another branch are looked at too."""

    def sum_of(x):
        return x[0] if x.shape[0] == 1 else jnp.sum(x)

    def three(x):
        return 2 * jnp.sum(x) if x.shape[0] == 3 else jnp.sum(x)

    def square(x):
        return x * 0 if x.shape[0] == x.shape[1] else x

    def even(x):
        return x * 0 if x.shape[0] % 2 == 0 else x

    assert certgrad.equal(sum_of, lambda x: jnp.sum(x), "n").verdict == "proved"
    assert certgrad.equal(square, lambda x: x, "n d").verdict == "refuted"
    assert not certgrad.equal(even, lambda x: x, "n d").proved
    assert certgrad.equal(three, lambda x: jnp.sum(x), "n").verdict == "refuted"


def test_structures_integers_and_scalars() -> None:
    def step(params, t, lr):
        return {"w": params["w"] - lr, "t": t + 1}

    def other(params, t, lr):
        return {"w": -(lr - params["w"]), "t": 1 + t}

    def forgets_to_count(params, t, lr):
        return {"w": params["w"] - lr, "t": t}

    signature = ({"w": "n"}, ":int", "")
    assert certgrad.equal(step, other, signature).verdict == "proved"
    assert certgrad.equal(step, forgets_to_count, signature).verdict == "refuted"


def test_each_function_has_its_own_defaults() -> None:
    def twice(x, k=2):
        return k * x

    def thrice(x, k=3):
        return k * x

    def double(x):
        return x + x

    assert certgrad.equal(twice, thrice, "n").verdict == "refuted"
    assert certgrad.equal(twice, thrice, "n", static={"k": certgrad.each(2, 5)}).verdict == "proved"
    assert certgrad.equal(twice, double, "n").verdict == "proved"
    assert certgrad.equal(double, thrice, "n").verdict == "refuted"


def test_in_a_test_suite() -> None:
    assert assert_equal(square, expanded, "n, n").verdict == "proved"
    with pytest.raises(AssertionError, match="not proved equal:\nsquare = off_by_little: refuted"):
        assert_equal(square, off_by_little, "n, n")

    def quotient(x):
        return x * x / x

    assert_equal(quotient, lambda x: x, "n", hypotheses=["x ≠ 0"])
    with pytest.raises(AssertionError, match="quotient and <lambda> are equal only under x ≠ 0"):
        assert_equal(quotient, lambda x: x, "n", hypotheses=[])


def test_what_contradicts_itself_proves_nothing() -> None:
    found = certgrad.equal(lambda x: x, lambda x: 2 * x, "n", domain=("x > 0", "x < 0"))
    assert not found.proved


def test_what_is_read_as_a_number_is_said() -> None:
    rounded = certgrad.equal(lambda x: x.astype(jnp.bfloat16).astype(x.dtype), lambda x: x, "n")
    assert rounded.rests_on == ["the cast to bfloat16 is read as exact"]
    assert str(rounded).endswith("this rests on: the cast to bfloat16 is read as exact")
    larger = certgrad.equal(lambda k: k + 1 > k, lambda k: k == k, "n:int")
    assert larger.rests_on == ["integer arithmetic stays in the range of its type"]
    positive = certgrad.equal(lambda x: jnp.log(jnp.exp(x)), lambda x: x, "n")
    assert positive.rests_on == ["exp(z) > 0 (in floats it underflows to 0)"]


def test_solvers_with_a_declared_equation() -> None:
    @certgrad.solves(lambda z, x: z + z / 2 - x)
    def solver(x):
        return jax.lax.fori_loop(0, 60, lambda _, z: x - z / 2, jnp.zeros_like(x))

    found = certgrad.equal(solver, lambda x: 2 * x / 3, "n")
    assert found.verdict == "proved under hypotheses", found
    assert certgrad.equal(solver, lambda x: x / 3, "n").verdict != "proved under hypotheses"


def test_a_primal_is_compared_not_its_rule() -> None:
    @jax.custom_vjp
    def double(x):
        return 2 * x

    double.defvjp(lambda x: (2 * x, None), lambda _, seed: (7 * seed,))
    assert certgrad.equal(double, lambda x: x + x, "n").verdict == "proved"


def test_what_cannot_be_compared_is_said() -> None:
    shapes = certgrad.equal(lambda x: x, lambda x: jnp.sum(x), "n d")
    assert (shapes.verdict, shapes.witness) == ("unproved", None)
    assert shapes.reason == "Output 0 of <lambda> has shape (n, d), and that of <lambda> ()."
    nested = certgrad.equal(lambda x: (x, x), lambda x: [x, x], "n d")
    assert nested.verdict == "unproved"
    assert "Return values that are nested alike" in nested.reason
    opaque = certgrad.equal(lambda x: x[: int(x.sum())], lambda x: x, "n")
    assert opaque.verdict == "unproved"
    assert "could not trace" in opaque.reason
    assert certgrad.equal(lambda x: x + 0j, lambda x: x, "n").verdict == "unproved"


def test_an_unknown_value_proves_nothing() -> None:
    def noisy(x):
        return x + jax.random.normal(jax.random.key(0), x.shape)

    assert certgrad.equal(noisy, lambda x: x, "n").verdict != "proved"


def test_what_a_trace_does_not_show_is_searched_for() -> None:
    def only_traced(x):
        return x if isinstance(x, jax.core.Tracer) else 2 * x

    calls: list[int] = []

    def counted(x):
        calls.append(1)
        return x

    for function in (only_traced, counted):
        for pair in ((function, lambda x: x), (lambda x: x, function)):
            assert certgrad.equal(*pair, "n").verdict == "unproved"


def test_declarations_that_do_not_fit() -> None:
    with pytest.raises(SignatureError, match="takes 2 array arguments"):
        certgrad.equal(square, expanded, "n")
    with pytest.raises(SignatureError, match="takes 1 array arguments"):
        certgrad.equal(square, lambda x: x, "n, n")
    with pytest.raises(UsageError, match='give it the shape ""'):
        certgrad.equal(square, expanded, "n", static={"y": certgrad.real()})
    with pytest.raises(UsageError, match="is no function"):
        certgrad.equal(square, 3, "n, n")  # type: ignore[arg-type]


def test_a_value_that_is_never_negative_is_its_absolute_value() -> None:
    """On the boundary of the predicate its own argument is 0, also where that determines no entry."""

    def square(x, y):
        return x**2 + 3 * y**2

    found = certgrad.equal(lambda x, y: jnp.abs(square(x, y)), square, "n, n")
    assert found.verdict == "proved"
    apart = certgrad.equal(lambda x, y: jnp.abs(square(x, y) - 1), lambda x, y: square(x, y) - 1, "n, n")
    assert apart.verdict == "refuted"


def test_a_domain_decides_conditions_inside_conditions() -> None:
    """A counter that stops at its largest value: below it, the condition is that of the plain counter."""

    def counted(x, t):
        return 1 / (x ** jnp.where(t < 100, t + 1, 100) - 1)

    found = certgrad.equal(counted, lambda x, t: 1 / (x ** (t + 1) - 1), ", :int", domain=("t < 100", "0 < x", "x < 1"))
    assert found.verdict == "proved under hypotheses"
    assert not any("100 ≥ 0]" in h for h in found.hypotheses), found.hypotheses
    assert certgrad.equal(counted, lambda x, t: 1 / (x ** (t + 1) - 1), ", :int", domain="x > 1").verdict != "proved"


def test_a_point_where_one_side_is_undefined_is_no_witness() -> None:
    found = certgrad.equal(lambda x: jnp.exp(jnp.sum(jnp.log(x))), jnp.prod, "n")
    assert found.verdict != "refuted"
    halved = certgrad.equal(lambda x: jnp.exp(jnp.sum(jnp.log(x))), lambda x: jnp.prod(x) / 2, "n")
    assert halved.verdict == "refuted"


TURN = 2 * np.pi


@pytest.mark.parametrize(
    ("turned", "verdict"),
    [
        (lambda x: jnp.sin(x - TURN * jnp.floor(x / TURN)), "proved up to rounding"),
        (lambda x: jnp.sin(x - TURN * jnp.round(x) ** 2), "proved up to rounding"),
        (lambda x: jnp.sin(x - np.pi * jnp.floor(x)), "refuted"),
        (lambda x: jnp.sin(x - TURN * jnp.floor(x) / 2), "refuted"),
        (lambda x: jnp.sin(x - TURN * x), "refuted"),
    ],
    ids=["reduced", "by a square", "half a turn", "halves", "no whole number"],
)
def test_whole_turns(turned, verdict):
    assert certgrad.equal(turned, jnp.sin, "n").verdict == verdict


def test_a_function_may_return_a_size() -> None:
    assert certgrad.equal(lambda x: x.shape[0], lambda x: jnp.sum(jnp.ones_like(x)), "n").verdict == "proved"
    assert certgrad.equal(lambda x: x.shape[0] + 1, lambda x: jnp.sum(jnp.ones_like(x)), "n").verdict == "refuted"


@pytest.mark.slow
def test_functions_of_random_keys() -> None:
    assert certgrad.equal(lambda k: jax.random.uniform(k, (3,)), lambda k: jax.random.uniform(k, (3,)), ":key").proved
