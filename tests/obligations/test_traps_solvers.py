"""Equations that do not say what a solver returns, solvers that do not solve theirs, and what may not be concluded."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import certgrad
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.tensor import argument
from certgrad.obligations.auditing.attempts import NO_SOLUTION
from certgrad.obligations.meaning.semantics import Context, UnprovedError, interpret
from certgrad.obligations.tracing.jax_internals import abstract, dim_poly, symbols, trace
from tests.obligations.test_solvers import jacobi, proof, rule

pytestmark = pytest.mark.usefixtures("proofs_alone")


def solver(residual, run):
    """A marked solver with a name of its own."""

    def root(*args):
        return run(*args)

    return certgrad.solves(residual)(root)


def square_root(sign=1.0, start=1.0):
    """z² = a, by Newton's method from a start of that sign."""

    def run(a):
        return lax.fori_loop(0, 40, lambda _, z: (z + a / z) / 2, sign * start * jnp.ones_like(a))

    return solver(lambda z, a: z * z - a, run)


def half_inverse(a, z, g):
    return (g / (2 * z),)


def made(run, backward, **more):
    def forward(a):
        return run(a)

    return rule(forward, lambda r, g: backward(*r, g), **more)


EMPTY = {
    "no unknown": (lambda z, a: a - a, "does not say what the solver returns"),
    "0 = 0": (lambda z, a: z - z, "does not say what the solver returns"),
    "the unknown cancels": (lambda z, a: (z + a) ** 2 - z**2 - 2 * a * z, "does not say what the solver returns"),
    "one equation for all": (lambda z, a: jnp.full_like(a, jnp.sum(z - a)), "no point was found"),
    "no first order": (lambda z, a: (z - a) ** 2, ""),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", EMPTY)
def test_an_equation_that_determines_nothing(name):
    residual, why = EMPTY[name]
    verdict, _, reasons = proof(made(solver(residual, lambda a: 1.0 * a), lambda a, z, g: (g,)), "n -> n")
    assert verdict == "unproved"
    assert why in reasons


OTHERS = {
    "another solution": (lambda z, a: z * z - a - 1, lambda z: z),
    "far from it": (lambda z, a: z * z - a, lambda z: 1.1 * z),
    "another sign": (lambda z, a: z * z + a, lambda z: z),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", OTHERS)
def test_a_solver_of_another_equation_proves_nothing(name):
    residual, change = OTHERS[name]
    run = square_root()
    verdict, _, reasons = proof(
        made(solver(residual, lambda a: change(run(a))), half_inverse), "n -> n", domain="a > 0"
    )
    assert verdict == "unproved"
    assert NO_SOLUTION in reasons or "no point was found" in reasons  # z² = −a has no solution at all


@pytest.mark.slow  # of linear ones that do not solve, quicker ones are below
def test_a_linear_solver_of_the_transposed_equation_proves_nothing():
    """Though it is right at n = 1 and for symmetric matrices."""
    wrong = solver(lambda x, a, b: a.T @ x - b, lambda a, b: jacobi(a, b))
    one = rule(lambda a, b: wrong(a, b), lambda r, g: (-jnp.outer(r[2], wrong(r[0].T, g)), wrong(r[0].T, g)))
    verdict, _, reasons = proof(one, "n n, n -> n")
    assert verdict == "unproved"
    assert NO_SOLUTION in reasons


def test_another_solution_of_the_same_equation_is_another_value():
    """fwd finds the negative root: the equation holds for both."""
    plus, minus = square_root(), square_root(-1.0)
    one = made(plus, half_inverse, fwd=lambda a: (minus(a), (a, minus(a))))
    assert proof(one, "n -> n", domain="a > 0")[0] == "refuted"


@pytest.mark.slow
def test_the_same_solver_from_another_start_is_another_value():
    near, far = square_root(), square_root(start=2.0)
    one = made(near, half_inverse, fwd=lambda a: (far(a), (a, near(a))))
    assert not proof(one, "n -> n", domain="a > 0")[0].startswith("proved")


def test_equal_calls_are_equal_values():
    run = square_root()
    verdict, found, _ = proof(made(run, lambda a, z, g: (g * z / (2 * a),)), "n -> n", domain="a > 0")
    assert verdict == "proved under hypotheses"
    assert (
        "root solves root[i]^2 = a[i], continuously" in found or "root solves a[i] = root[i]^2, continuously" in found
    )


def test_a_kink_in_the_equation_is_a_hypothesis():
    """z + max(z, 0) = a, whose solution has a kink at 0."""
    run = solver(lambda z, a: z + jnp.maximum(z, 0) - a, lambda a: jnp.where(a > 0, a / 2, a))
    verdict, found, _ = proof(made(run, lambda a, z, g: (jnp.where(z > 0, g / 2, g),)), "n -> n")
    assert verdict == "proved under hypotheses"
    assert "root ≠ 0" in found
    assert proof(made(run, lambda a, z, g: (g / 2,)), "n -> n")[0] == "refuted"


@pytest.mark.slow
def test_all_of_the_equation_is_asked_though_one_entry_is_used():
    def first(a, b):
        return jacobi(a, b)[0]

    def backward(r, g):
        a, b, _ = r
        back = jacobi(a.T, jnp.zeros_like(b).at[0].set(g))
        return -jnp.outer(back, jacobi(a, b)), back

    verdict, found, _ = proof(rule(first, backward), "n n, n -> ")
    assert verdict == "proved under hypotheses"
    assert "jacobi solves (Σ{j<n} a[i,j]·jacobi[j]) = b[i]" in found


@pytest.mark.slow
def test_a_stopped_argument_has_no_gradient():
    def forward(a, b):
        return jacobi(lax.stop_gradient(a), b)

    def backward(r, g):
        a, _, x = r
        back = jacobi(a.T, g)
        return -jnp.outer(back, x), back

    assert not proof(rule(forward, backward), "n n, n -> n")[0].startswith("proved")


def test_inside_a_loop_nothing_is_claimed():
    run = square_root()

    def forward(a):
        return lax.scan(lambda c, row: (c + run(row), None), jnp.zeros_like(a[0]), a)[0]

    n = symbols(["n"])["n"]
    program = trace(forward, [abstract((n, n), jnp.float32)])
    rows = argument("a", (dim_poly(n), dim_poly(n)), "float")
    with pytest.raises(UnprovedError, match="the solver root is called inside a loop"):
        interpret(Context(Facts()), program, [rows], [True])


@pytest.mark.slow
def test_unknowns_mixed_along_two_axes_are_refused():
    run = solver(lambda x, a: a @ x + x @ a - a, lambda a: 0.5 * jnp.eye(a.shape[0]))
    verdict, _, reasons = proof(made(run, lambda a, z, g: (0 * a,)), "n n -> n n")
    assert verdict == "unproved"
    assert "several axes" in reasons


def test_a_solver_called_like_an_argument_keeps_a_name_of_its_own():
    def a(b):
        return b / 2

    run = certgrad.solves(lambda z, b: 2 * z - b)(a)
    one = rule(lambda a: run(a), lambda r, g: (g / 2,))
    _, found, _ = proof(one, "n -> n")
    assert found == {"a′ solves a[i] = 2·a′[i]"}


@pytest.mark.slow
def test_a_solver_in_the_equation_of_a_solver_is_refused():
    """z + y = a, where y solves y³ + y = z."""
    inner = certgrad.solves(lambda y, z: y**3 + y - z)(lambda z: z)
    run = solver(lambda z, a: z + inner(z) - a, lambda a: a / 2)
    verdict, _, reasons = proof(made(run, lambda a, z, g: (g / 2,)), "n -> n")
    assert verdict == "unproved"
    assert "holds another solver of what it returns" in reasons


@pytest.mark.slow
def test_a_solver_of_what_another_returns():
    """The fourth root, by two square roots."""
    run = square_root()
    right = made(lambda a: run(run(a)), lambda a, z, g: (g / (4 * z**3),))
    assert proof(right, "n -> n", domain="a > 0")[0] == "proved under hypotheses"
    assert proof(made(lambda a: run(run(a)), lambda a, z, g: (g / (2 * z),)), "n -> n", domain="a > 0")[0] == "refuted"


def test_solvers_that_call_other_functions_are_other_solvers():
    """Their programs look alike: what they call back is told apart."""

    def host(sign):
        return lambda a: jax.pure_callback(
            lambda x: sign * np.sqrt(np.abs(x)), jax.ShapeDtypeStruct(a.shape, a.dtype), a, vmap_method="expand_dims"
        )

    plus, minus = (solver(lambda z, a: z * z - a, host(sign)) for sign in (1, -1))
    one = made(plus, half_inverse, fwd=lambda a: (minus(a), (a, minus(a))))
    assert not proof(one, "n -> n", domain="a > 0")[0].startswith("proved")


def test_a_rule_may_not_ask_for_a_root_of_the_seed():
    """u² = g has solutions for some seeds only, though u² is then g."""
    run = square_root()
    verdict, _, reasons = proof(made(lambda a: 3 * a, lambda a, z, g: (3 * run(g) ** 2,)), "n -> n")
    assert verdict == "unproved"
    assert "not linear in what solves it" in reasons


def test_a_seam_of_a_solution_is_a_hypothesis():
    @certgrad.solves(lambda z, a: z**3 + z - a)
    def inverse(a):
        return lax.fori_loop(0, 60, lambda _, z: z - (z**3 + z - a) / (3 * z**2 + 1), a / 2)

    def backward(a, y, g):
        z = inverse(a)
        return (g * jnp.sign(z) / (3 * z**2 + 1),)

    verdict, found, _ = proof(made(lambda a: jnp.abs(inverse(a)), backward), "n -> n")
    assert verdict == "proved under hypotheses"
    assert found == {"inverse solves a[i] = inverse[i] + inverse[i]^3, continuously", "inverse ≠ 0"}


def test_functions_outside_of_jax_are_told_apart():
    """Values of which nothing is known are equal only if the same function made them."""

    def host(function):
        return lambda a: jax.pure_callback(function, jax.ShapeDtypeStruct(a.shape, a.dtype), a)

    sine, cosine = host(np.sin), host(np.cos)
    for fwd, verdict in ((sine, "proved"), (cosine, "unproved")):
        one = made(sine, lambda a, z, g: (g * jnp.cos(a),), fwd=lambda a, fwd=fwd: (fwd(a), (a, a)))
        report = certgrad.check(one, "n -> n")
        (claim,) = (c for c in report.certificate.claims if c.kind == "rule_runs_forward")
        assert claim.verdict == verdict


def by_solver(solve):
    """The solution of a·x = b by `custom_linear_solve`, with JAX's derivative of it."""

    def solution(a, b):
        return lax.custom_linear_solve(lambda x: a @ x, b, lambda _, v: solve(a, v), lambda _, v: solve(a.T, v))

    given = jax.custom_vjp(solution)
    given.defvjp(lambda a, b: (solution(a, b), (a, b)), lambda saved, ct: jax.vjp(solution, *saved)[1](ct))
    return given


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "solve", [lambda a, v: v, lambda a, v: v / jnp.diag(a), lambda a, v: jnp.linalg.inv(2 * a) @ v]
)
def test_a_linear_solver_that_does_not_solve_proves_nothing(solve):
    """Also one that does not iterate: its hypothesis, that it solves, holds hardly anywhere."""
    report = certgrad.check(by_solver(solve), "2 2, 2 -> 2")
    assert report.verdict == "unproved"
    assert NO_SOLUTION in str(report).replace("\n           ", " ")


def _layer_with(adjoint):
    """A fixed point of tanh(w·z + x) whose backward takes the solution of u = g + wᵀ·(slope·u) from a solver."""

    @certgrad.solves(lambda z, w, x: z - jnp.tanh(w @ z + x))
    def equilibrium(w, x):
        return lax.fori_loop(0, 80, lambda _, z: jnp.tanh(w @ z + x), x)

    solved = certgrad.solves(lambda u, w, slope, g: u - w.T @ (slope * u) - g)(adjoint)

    def backward(w, x, z, g):
        u = solved(w, 1 - z**2, g) * (1 - z**2)
        return jnp.outer(u, z), u

    return rule(equilibrium, lambda r, g: backward(*r, g))


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("matrix", "verdict"),
    [
        (lambda w, slope: w * slope, "unproved"),
        (lambda w, slope: -w.T * slope, "unproved"),
        (lambda w, slope: slope[:, None] * w.T, "unproved"),
        (lambda w, slope: w.T * slope, "proved under hypotheses"),
    ],
    ids=["w for its transpose", "another sign", "rows for columns", "right"],
)
def test_a_solver_of_another_equation_solves_where_the_layer_is_saturated_and_proves_nothing(matrix, verdict):
    def adjoint(w, slope, g):
        return jnp.linalg.solve(jnp.eye(g.shape[0]) - matrix(w, slope), g)

    assert proof(_layer_with(adjoint), "n n, n -> n")[0] == verdict


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("steps", "verdict"), [(2, "unproved"), (60, "proved under hypotheses")])
def test_a_solver_of_too_few_steps_solves_where_a_matrix_is_nearly_diagonal_and_proves_nothing(steps, verdict):
    @certgrad.solves(lambda x, a, b: a @ x - b)
    def jacobi(a, b):
        diagonal = jnp.diagonal(a)
        return lax.fori_loop(0, steps, lambda _, x: x + (b - a @ x) / diagonal, b / diagonal)

    def backward(a, b, x, g):
        u = jacobi(a.T, g)
        return -jnp.outer(u, x), u

    assert proof(rule(jacobi, lambda r, g: backward(*r, g)), "n n, n -> n")[0] == verdict


def test_a_linear_solver_that_solves_is_believed_where_it_does():
    report = certgrad.check(by_solver(lambda a, v: jnp.linalg.inv(a) @ v), "2 2, 2 -> 2")
    assert report.verdict == "proved under hypotheses"
