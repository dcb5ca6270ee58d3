"""Values that an equation defines: linear systems and inverses, for all shapes, with right and wrong twins."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.scipy.sparse.linalg import cg

import certgrad
from certgrad.obligations import audit
from tests.obligations.traps import Trap, check, declare, hypotheses, named

solve = jnp.linalg.solve
A = np.array([[2.0, 1.0], [1.0, 3.0]]) + np.array([[0.0, 0.5], [-0.5, 0.0]])
B = np.array([[1.0, 2.0], [0.0, -1.0]])
INVERTIBLE = {"determinant(a) ≠ 0"}


def own_jvp(f):
    """JAX's rule for the function."""

    def jvp(*xs):
        count = len(xs) // 2
        return jax.jvp(f, xs[:count], xs[count:])[1]

    return jvp


def own_vjp(f, several=True):
    return lambda *xs: jax.vjp(f, *xs[:-1])[1](xs[-1]) if several else jax.vjp(f, *xs[:-1])[1](xs[-1])[0]


def solve_jvp(a, b, da, db):
    return solve(a, db - da @ solve(a, b))


def solve_vjp(a, b, g):
    back = solve(a.T, g)
    return -back @ solve(a, b).T, back


def system(jvp=solve_jvp, vjp=solve_vjp, signature="n n, n m -> n m"):
    return declare(signature, lambda a, b: solve(a, b), jvp, vjp)


RIGHT = system()
SOLVES = [
    Trap("the sign of dA forgotten", system(jvp=lambda a, b, da, db: solve(a, db + da @ solve(a, b)))),
    Trap("dA left out", system(jvp=lambda a, b, da, db: solve(a, db))),
    Trap("the tangent solved with the transpose", system(jvp=lambda a, b, da, db: solve(a.T, db - da @ solve(a, b)))),
    Trap("dA transposed", system(jvp=lambda a, b, da, db: solve(a, db - da.T @ solve(a, b)))),
    Trap("the cotangent solved with A", system(vjp=lambda a, b, g: (-solve(a, g) @ solve(a, b).T, solve(a, g)))),
    Trap("the sign of A's cotangent", system(vjp=lambda a, b, g: (solve(a.T, g) @ solve(a, b).T, solve(a.T, g)))),
    Trap("A's cotangent transposed", system(vjp=lambda a, b, g: (-solve(a, b) @ solve(a.T, g).T, solve(a.T, g)))),
    Trap("g in place of its solution", system(vjp=lambda a, b, g: (-g @ solve(a, b).T, solve(a.T, g)))),
]


@pytest.mark.one_in(8)
@pytest.mark.parametrize("trap", named([Trap(t.name, t.wrong, at=(A, B)) for t in SOLVES]))
def test_solve_wrong(trap):
    check(trap)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("signature", ["n n, n m -> n m", "n n, n -> n", "b n n, b n m -> b n m", "n n, n n -> n n"])
def test_solve_is_proved_for_all_shapes_with_jaxs_own_rules(signature):
    one = system(own_jvp(solve), own_vjp(solve), signature)
    certificate = audit(one)
    assert certificate.verdict == "proved under hypotheses", [c.cases for c in certificate.claims]
    assert {h.split("(")[0] for h in hypotheses(certificate)} == {"determinant"}
    assert all(case.scope == "all shapes" for claim in certificate.claims for case in claim.cases)


def test_solve_by_hand_is_proved_where_a_is_invertible():
    certificate = audit(RIGHT)
    assert certificate.verdict == "proved under hypotheses"
    assert hypotheses(certificate) == INVERTIBLE
    (one,) = {h.negligible for claim in certificate.claims for h in claim.hypotheses}
    assert one


def test_the_solution_satisfies_its_equation():
    residual = declare(
        "n n, n m -> n m", lambda a, b: a @ solve(a, b) - b, lambda a, b, da, db: 0 * db, lambda a, b, g: (0 * a, 0 * b)
    )
    assert audit(residual).verdict == "proved under hypotheses"
    wrong = declare(
        "n n, n m -> n m",
        lambda a, b: a.T @ solve(a, b) - b,
        lambda a, b, da, db: 0 * db,
        lambda a, b, g: (0 * a, 0 * b),
    )
    assert audit(wrong).verdict == "refuted"


def test_a_quadratic_form():
    """bᵀ·(A + Aᵀ)⁻¹·b, whose adjoint needs that the inverse of a symmetric matrix is symmetric."""

    def forward(a, b):
        return b @ solve(a + a.T, b)

    def jvp(a, b, da, db):
        x = solve(a + a.T, b)
        return 2 * x @ db - x @ (da + da.T) @ x

    def vjp(a, b, g):
        x = solve(a + a.T, b)
        return -2 * g * x[:, None] * x[None, :], 2 * g * x

    assert audit(declare("n n, n -> ", forward, jvp, vjp)).verdict == "proved under hypotheses"
    halved = lambda a, b, g: (vjp(a, b, g)[0] / 2, vjp(a, b, g)[1])
    assert audit(declare("n n, n -> ", forward, jvp, halved)).verdict == "refuted"


def test_a_matrix_that_is_never_invertible_proves_nothing():
    """The hypothesis is kept, and no point satisfies it."""
    singular = declare("n -> n", lambda x: solve(0 * x[:, None] * x[None, :], x), lambda x, dx: dx, lambda x, g: g)
    assert audit(singular).verdict == "unproved"


def test_a_kink_inside_the_matrix_is_a_hypothesis():
    def forward(a, b):
        return solve(jnp.maximum(a, 0), b)

    def jvp(a, b, da, db):
        return solve(jnp.maximum(a, 0), db - jnp.where(a > 0, da, 0) @ forward(a, b))

    def vjp(a, b, g):
        back = solve(jnp.maximum(a, 0).T, g)
        return jnp.where(a > 0, -back[:, None] * forward(a, b)[None, :], 0), back

    certificate = audit(declare("n n, n -> n", forward, jvp, vjp))
    assert certificate.verdict == "proved under hypotheses"
    assert "a[i,j] ≠ 0" in hypotheses(certificate) or "a ≠ 0" in hypotheses(certificate)


@pytest.mark.slow
def test_a_users_own_solver_is_not_taken_for_jaxs():
    """It may return anything."""

    def forward(a, b):
        return lax.custom_linear_solve(
            lambda x: a @ x, b, lambda _, y: y / jnp.diagonal(a), lambda _, y: y / jnp.diagonal(a)
        )

    def jvp(a, b, da, db):
        return solve(a, db - da @ solve(a, b))

    def vjp(a, b, g):
        back = solve(a.T, g)
        return -back[:, None] * solve(a, b)[None, :], back

    assert not audit(declare("n n, n -> n", forward, jvp, vjp)).verdict.startswith("proved")


def test_a_solver_with_the_factors_of_another_matrix_is_not_taken_for_jaxs():
    def forward(a, b):
        factors, _, permutation = lax.linalg.lu(lax.stop_gradient(2 * a))

        def found(_, y):
            return jax.scipy.linalg.lu_solve((factors, permutation), y)

        return lax.custom_linear_solve(lambda x: a @ x, b, found, found)

    one = declare(
        "n n, n -> n", forward, solve_jvp, lambda a, b, g: (-jnp.outer(solve(a.T, g), solve(a, b)), solve(a.T, g))
    )
    assert not audit(one).verdict.startswith("proved")


def conjugate_gradients(matvec, b):
    def step(state):
        x, r, p = state
        image = matvec(p)
        size = (r @ r) / (p @ image)
        left = r - size * image
        return x + size * p, left, left + (left @ left) / (r @ r) * p

    return lax.while_loop(lambda state: state[1] @ state[1] > 1e-20, step, (jnp.zeros_like(b), b, b))[0]


def ridge(a, b):
    return lax.custom_linear_solve(lambda x: a.T @ (a @ x) + x, b, conjugate_gradients, symmetric=True)


@pytest.mark.slow
def test_a_users_iterative_solver_is_trusted_under_a_hypothesis():
    """With JAX's derivative of the solve, and with one by hand."""
    certificate = audit(declare("n n, n -> n", ridge, own_jvp(ridge), own_vjp(ridge)))
    assert certificate.verdict == "proved under hypotheses"
    assert any(h.startswith("linear_solve solves ") for h in hypotheses(certificate))

    def vjp(a, b, g, sign=-1):
        x, back = ridge(a, b), ridge(a, g)
        return sign * a @ (jnp.outer(back, x) + jnp.outer(x, back)), back

    assert audit(declare("n n, n -> n", ridge, own_jvp(ridge), vjp)).verdict == "proved under hypotheses"
    wrong = declare("n n, n -> n", ridge, own_jvp(ridge), lambda a, b, g: vjp(a, b, g, 1))
    assert audit(wrong).verdict == "refuted"


@pytest.mark.slow
def test_factors_that_a_proof_compares():
    """The determinant by the diagonal of the factors."""

    def f(a):
        return jnp.sum(jnp.log(jnp.abs(jnp.diagonal(lax.linalg.lu(a)[0]))))

    rule = jax.custom_vjp(lambda a: f(a))
    rule.defvjp(lambda a: (f(a), a), lambda a, g: (g * jnp.linalg.inv(a).T,))
    assert certgrad.check(rule, "n n -> ").verdict == "proved under hypotheses"


def test_a_solver_of_another_equation_is_not_taken_for_lu():
    """Conjugate gradients on AᵀA + I: three operands, of which the first is no square matrix."""

    def f(a, b):
        return cg(lambda v: a.T @ (a @ v) + v, b)[0]

    def bwd(saved, g):
        a, b = saved
        x, z = f(a, b), f(a, g)
        return -jnp.outer(a @ z, x) - jnp.outer(a @ x, z), z

    rule = jax.custom_vjp(lambda a, b: f(a, b))
    rule.defvjp(lambda a, b: (f(a, b), (a, b)), bwd)
    assert certgrad.check(rule, "m n, n -> n").verdict == "proved under hypotheses"


# --- equations of matrices: A·X + X·B = C is one for the entries of X in a row


def kronecker(a, b, sign=1.0):
    return jnp.kron(a, jnp.eye(b.shape[0])) + sign * jnp.kron(jnp.eye(a.shape[0]), b.T)


def sylvester(a, b, c):
    return solve(kronecker(a, b), c.ravel()).reshape(c.shape)


def sylvester_rule(of_b, solved=sylvester, forward=sylvester):
    rule = jax.custom_vjp(lambda a, b, c: forward(a, b, c))

    def bwd(saved, g):
        a, b, x = saved
        y = solved(a.T, b.T, g)
        return -y @ x.T, of_b(x, y), y

    rule.defvjp(lambda a, b, c: (forward(a, b, c), (a, b, forward(a, b, c))), bwd)
    return rule


SYLVESTER = "n n, m m, n m -> n m"


OF_SYLVESTER = {
    "right": sylvester_rule(lambda x, y: -x.T @ y),
    "the sign": sylvester_rule(lambda x, y: x.T @ y),
    "turned": sylvester_rule(lambda x, y: -y.T @ x),
    "not transposed": sylvester_rule(lambda x, y: -x.T @ y, lambda a, b, g: sylvester(a.T, b.T, g)),
}
"""Rows of the corpus; all but the first are wrong."""


@pytest.mark.slow
def test_the_factors_are_those_of_the_very_map():
    """The solver holds the factors of A⊗I − I⊗Bᵀ, and the map whose derivative JAX takes is A·X + X·B."""

    def forward(a, b, c):
        factors, _, permutation = lax.linalg.lu(lax.stop_gradient(kronecker(a, b, -1.0)))

        def found(_, y):
            return jax.scipy.linalg.lu_solve((factors, permutation), y)

        x = lax.custom_linear_solve(lambda v: kronecker(a, b) @ v, c.ravel(), found, found)
        return x.reshape(c.shape)

    def plain(a, b, c):
        return solve(kronecker(a, b), c.ravel()).reshape(c.shape)

    assert not certgrad.check(sylvester_rule(lambda x, y: -x.T @ y, plain, forward), SYLVESTER).verdict.startswith(
        "proved"
    )
