"""Operations certified together: stopped values and infinities whose effect cancels."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad.accel.verify import verify_graph
from certgrad.graph import certify, trace

pytestmark = pytest.mark.usefixtures("proofs_alone")


def masked(x):
    return jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((5, 5), bool)), x, -jnp.inf))


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "fn, spec",
    [
        (jax.nn.softmax, "n m"),
        (jax.nn.log_softmax, "3 5"),
        (jax.nn.logsumexp, "3 5"),
        (masked, "5 5"),
        (lambda x: jnp.var(x, axis=1), "3 5"),
        (lambda x: jax.nn.softmax(x) + jax.nn.softmax(x, axis=0), "3 4"),
    ],
    ids=["softmax", "log_softmax", "logsumexp", "masked", "variance", "two"],
)
def test_what_cancels_asks_nothing(fn, spec: str) -> None:
    found = certify(trace(fn, spec))
    assert (found.verdict, found.findings) == ("proved", [])


def test_a_region_shows_what_it_is_made_of() -> None:
    found = certify(trace(lambda x: jnp.sum(jax.nn.softmax(x)), "3 5"))
    (node,) = [n for n in found.graph.nodes if n.kind == "region"]
    assert node.params["operations"].startswith("reduce_max, max, broadcast_in_dim, stop_gradient, sub, exp")
    assert node.source.startswith("test_regions.py:")


def test_what_does_not_cancel_is_a_surrogate() -> None:
    found = certify(trace(lambda x: x + jax.lax.stop_gradient(jnp.round(x) - x), "n"))
    assert found.verdict == "surrogate"
    assert "stop_gradient at test_regions.py:" in found.findings[0]


def test_an_infinity_that_reaches_the_result_must_not_be_selected() -> None:
    found = certify(trace(lambda x: jnp.where(x > 0, x, -jnp.inf), "n"))
    assert found.verdict == "proved under hypotheses"
    assert any(h.text.endswith("every element of `x > 0` > 0") for h in found.hypotheses)
    assert certify(trace(lambda x: x - jnp.inf, "n")).verdict == "unproved"


@pytest.mark.one_in(4)
@pytest.mark.parametrize("shape", ["3 5", "n m"])
@pytest.mark.parametrize(
    "softmax",
    [
        lambda scores, keep: jax.nn.softmax(jnp.where(keep, scores, -jnp.inf)),
        lambda scores, keep: jax.nn.softmax(scores, where=keep),
    ],
    ids=["minus infinity", "where"],
)
def test_a_padding_mask_must_keep_an_entry_of_each_row(softmax, shape) -> None:
    found = certify(trace(softmax, shape, f"{shape}:bool"))
    assert found.verdict == "proved under hypotheses"
    asked = [h.formula for h in found.hypotheses]
    assert "(Σj [x[i,j] > 0]) > 0" in asked
    assert not any(text == "x > 0" for text in asked), "that every entry is kept"
    assert not any("= 1" in text for text in found.dimensions)


def test_a_mask_of_numbers_is_looked_at() -> None:
    def attention(mask):
        return lambda scores: jax.nn.softmax(jnp.where(mask, scores, -jnp.inf))

    assert certify(trace(attention(np.tri(4, 4, dtype=bool)), "4 4")).verdict == "proved"
    empty = np.tri(4, 4, -1, dtype=bool)
    found = certify(trace(attention(empty), "4 4"))
    assert found.verdict == "unproved", "its first row keeps nothing"


@pytest.mark.slow
@pytest.mark.parametrize(
    "fn, specs, asked",
    [
        (lambda a: jnp.sum(jnp.linalg.inv(a)), ["n n"], "determinant(x) ≠ 0"),
        (lambda a: jnp.sum(jnp.linalg.inv(a)), ["3 3"], "determinant(x) ≠ 0"),
        (lambda a, b: jnp.sum(jnp.linalg.solve(a @ a, b)), ["k n n", "k n m"], "determinant(x[i]) ≠ 0"),
        (lambda a: jnp.sum(jnp.linalg.cholesky(a @ a.T)), ["n m"], "positive definite"),
    ],
    ids=["inverses", "inverses of 3 by 3", "solutions", "factors"],
)
def test_linear_algebra_is_certified_with_its_factors(fn, specs, asked) -> None:
    found = certify(trace(fn, *specs))
    assert found.verdict == "proved under hypotheses"
    assert len(found.hypotheses) == 1
    assert asked in found.hypotheses[0].formula


@pytest.mark.slow
def test_a_primitive_is_not_refuted_where_the_function_does_not_take_it() -> None:
    """A Cholesky factor of a matrix that nothing made symmetric, at a matrix that is not."""
    found = certify(trace(lambda a: jnp.sum(jax.lax.linalg.cholesky(jnp.exp(a), symmetrize_input=False)), "n n"))
    assert found.verdict == "unproved"
    assert "which the function need not give it" in found.findings[0]


_SYMMETRIC = "the matrix x[i,j]/2 + x[j,i]/2 in row i and column j has no repeated eigenvalue"


@pytest.mark.slow
@pytest.mark.parametrize("size", ["3 3", "n n"])
def test_eigenvalues_are_certified_where_the_matrix_was_made_symmetric(size) -> None:
    found = certify(trace(lambda a: jnp.sum(jnp.tanh(jnp.linalg.eigvalsh(a))), size))
    assert found.verdict == "proved under hypotheses", found.findings
    assert [h.formula.removesuffix(" for every index") for h in found.hypotheses] == [_SYMMETRIC]


def test_eigenvalues_that_are_only_compared_are_certified() -> None:
    found = certify(trace(lambda a: jnp.where(jnp.linalg.eigvalsh(a)[0] > 0, jnp.sum(a * a), 0.0), "2 2"))
    assert found.verdict == "proved under hypotheses", found.findings


@pytest.mark.slow
def test_eigenvalues_of_what_nothing_made_symmetric_are_not_certified() -> None:
    """JAX reads the lower triangle, and its rule the whole tangent; and a difference is not a symmetric part."""

    def lower(a):
        return jnp.sum(jnp.tanh(jax.lax.linalg.eigh(jnp.sinh(a), symmetrize_input=False)[1]))

    def skew(a):
        return jnp.sum(jnp.tanh(jax.lax.linalg.eigh((a - a.T) / 2, symmetrize_input=False)[1]))

    def weighted(a):
        return jnp.sum(jnp.tanh(jax.lax.linalg.eigh((a + 2 * a.T) / 3, symmetrize_input=False)[1]))

    for fn in (lower, skew, weighted):
        assert certify(trace(fn, "2 2")).verdict in ("unproved", "refuted"), fn


def test_a_rounded_number_that_is_cast_asks_what_rounding_asks() -> None:
    def read(table, x):
        k = jnp.floor(x)
        return table[k.astype(int)] * (x - k)

    found = certify(trace(read, "table: m", "x: n"))
    assert found.verdict == "proved under hypotheses"
    formulas = {h.formula for h in found.hypotheses}
    assert formulas == {"x is not an integer", "y ≤ n − 1", "y ≥ 0"}
    assert verify_graph(found, read, "table: m", "x: n").outcome == "verified"


def test_what_is_no_rounded_number_asks_the_cast_itself() -> None:
    found = certify(trace(lambda table, x: table[x.astype(int)], "table: m", "x: n"))
    assert "x is not an integer or x = 0" in {h.formula for h in found.hypotheses}


def test_a_stopped_value_that_is_selected_on_a_boundary_alone() -> None:
    """As densities are corrected at the ends of an interval."""

    def density(x, a):
        end = (x == 0) | (x == 1)
        inside = a * jnp.log(jnp.where(end, 0.5, x))
        return jnp.where(end, jax.lax.stop_gradient(jnp.sin(x) * a), inside)

    found = certify(trace(density, "x: n", "a: n"))
    assert found.verdict == "proved under hypotheses"
    assert {"every element of `x` ≠ 0", "every element of `x` ≠ 1"} <= {
        h.text.partition(": ")[2] for h in found.hypotheses
    }


@pytest.mark.parametrize(
    "chosen",
    [lambda x: x >= 0, lambda x: x != 0, lambda x: x == x],
    ids=["on one side", "off the boundary", "everywhere"],
)
def test_a_stopped_value_that_is_selected_on_an_open_set_is_a_surrogate(chosen) -> None:
    found = certify(trace(lambda x, a: jnp.where(chosen(x), jax.lax.stop_gradient(a * x), a), "x: n", "a: n"))
    assert found.verdict == "surrogate"


@pytest.mark.slow
def test_the_logarithm_of_a_difference_of_exponentials() -> None:
    """As `logsumexp` has it of weights of both signs: NaN where the sum is negative."""

    def difference(x, y):
        return jax.scipy.special.logsumexp(jnp.stack([x, y]), b=jnp.array([[1.0], [-1.0]]), axis=0)

    assert certify(trace(difference, "x: n", "y: n")).verdict == "proved under hypotheses"

    @jax.custom_vjp
    def minus(x, y):
        return jnp.where(jnp.exp(x) < jnp.exp(y), jnp.nan, jnp.log(jnp.abs(jnp.exp(x) - jnp.exp(y))))

    def backward(residuals, g, sign):
        x, y = residuals
        return g / (1 - jnp.exp(y - x)), sign * g / (jnp.exp(x - y) - 1)

    minus.defvjp(lambda x, y: (minus(x, y), (x, y)), lambda r, g: backward(r, g, -1))
    assert certify(trace(lambda x, y: minus(x, y), "x: n", "y: n")).verdict == "proved under hypotheses"
    minus.defvjp(lambda x, y: (minus(x, y), (x, y)), lambda r, g: backward(r, g, 1))
    assert certify(trace(lambda x, y: minus(x, y), "x: n", "y: n")).verdict in ("refuted", "unproved")


@pytest.mark.slow
def test_a_choice_among_several_must_leave_an_infinity_out() -> None:
    found = certify(trace(lambda x: jnp.select([x >= 1, x <= 0], [0 * x, -jnp.inf], x * x), "x: n"))
    assert found.verdict == "proved under hypotheses"
    always = certify(trace(lambda x: jnp.select([x >= 1, x < 1], [-jnp.inf, -jnp.inf], x * x), "x: n"))
    assert always.verdict == "unproved"


def test_a_point_is_looked_for_near_the_best_one() -> None:
    """Few points that are drawn anew lie between two others at every index."""

    def between(x, a, b):
        value = jnp.where(jnp.all(a < x), jnp.sum(x**3), -jnp.inf)
        return jnp.where(jnp.all(x < b), value, -jnp.inf)

    assert certify(trace(between, "x: 5", "a: 5", "b: 5")).verdict == "proved under hypotheses"
    assert certify(trace(lambda x, a: between(x, a, a), "x: 5", "a: 5")).verdict == "unproved"
