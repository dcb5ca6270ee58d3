"""Values that an equation with a structure defines: triangular systems, Cholesky factors, determinants."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from certgrad.obligations import audit
from tests.obligations.test_linear_solves import own_jvp, own_vjp
from tests.obligations.traps import Trap, check, declare, hypotheses, named

pytestmark = pytest.mark.usefixtures("proofs_alone")

cholesky, inverse, solve = jnp.linalg.cholesky, jnp.linalg.inv, jnp.linalg.solve
POSITIVE = "the matrix a[i,j] + a[j,i] in row i and column j is positive definite"
A = np.array([[2.0, 1.0], [0.5, 3.0]])
B = np.array([[1.0, 2.0], [0.0, -1.0]])


def triangular(**options):
    return lambda a, b: lax.linalg.triangular_solve(a, b, **options)


FORMS = [
    {"left_side": left, "lower": lower, "transpose_a": turned, "unit_diagonal": unit}
    for left in (True, False)
    for lower in (True, False)
    for turned in (True, False)
    for unit in (True, False)
]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("options", FORMS, ids=lambda o: " ".join(k for k, v in o.items() if v) or "none")
def test_triangular_solve_is_proved_with_jaxs_own_rules(options):
    f = triangular(**options)
    certificate = audit(declare("n n, n n -> n n", lambda a, b: f(a, b), own_jvp(f), own_vjp(f)))
    if options["unit_diagonal"]:
        assert certificate.verdict == "proved"
    else:
        assert certificate.verdict == "proved under hypotheses"
        assert "a[i,i] ≠ 0" in hypotheses(certificate)


lower = triangular(left_side=True, lower=True)
upper = triangular(left_side=True, lower=True, transpose_a=True)


def lower_jvp(a, b, da, db):
    return lower(a, db - jnp.tril(da) @ lower(a, b))


def lower_vjp(a, b, g):
    back = upper(a, g)
    return -jnp.tril(back @ lower(a, b).T), back


def system(jvp=lower_jvp, vjp=lower_vjp):
    return declare("n n, n m -> n m", lambda a, b: lower(a, b), jvp, vjp)


def product(a, b, g, solved=upper):
    """The cotangent of a full matrix in place of the triangle, but for its sign."""
    return solved(a, g) @ lower(a, b).T


TRIANGULAR = [
    Trap("the unread triangle counted", system(jvp=lambda a, b, da, db: lower(a, db - da @ lower(a, b)))),
    Trap("the wrong triangle", system(jvp=lambda a, b, da, db: lower(a, db - jnp.triu(da) @ lower(a, b)))),
    Trap("the strict triangle", system(jvp=lambda a, b, da, db: lower(a, db - jnp.tril(da, -1) @ lower(a, b)))),
    Trap("a cotangent outside the triangle", system(vjp=lambda a, b, g: (-product(a, b, g), upper(a, g)))),
    Trap("the other triangle's cotangent", system(vjp=lambda a, b, g: (-jnp.triu(product(a, b, g)), upper(a, g)))),
    Trap("the cotangent not turned", system(vjp=lambda a, b, g: (-jnp.tril(product(a, b, g, lower)), lower(a, g)))),
    Trap("the sign forgotten", system(vjp=lambda a, b, g: (jnp.tril(product(a, b, g)), upper(a, g)))),
]  # fmt: skip


@pytest.mark.one_in(8)
@pytest.mark.parametrize("trap", named([Trap(t.name, t.wrong, at=(A, B)) for t in TRIANGULAR]))
def test_triangular_wrong(trap):
    check(trap)


def test_triangular_by_hand():
    certificate = audit(system())
    assert certificate.verdict == "proved under hypotheses", [c.cases for c in certificate.claims]
    assert "a[i,i] ≠ 0" in hypotheses(certificate)


def halved(x):
    """What is below the diagonal, and half of the diagonal."""
    return jnp.tril(x, -1) + 0.5 * x * jnp.eye(x.shape[0])


def symmetric(x):
    return (x + x.T) / 2


def factor_jvp(kept=halved, sym=symmetric, turn=jnp.transpose):
    def jvp(a, da):
        low = inverse(cholesky(a))
        return cholesky(a) @ kept(low @ sym(da) @ turn(low))

    return jvp


def factor_vjp(kept=halved, sym=symmetric, turn=jnp.transpose):
    def vjp(a, g):
        low = inverse(cholesky(a))
        return sym(low.T @ kept(turn(cholesky(a)) @ g) @ low)

    return vjp


def factor(jvp=None, vjp=None):
    return declare("n n -> n n", lambda a: cholesky(a), jvp or factor_jvp(), vjp or factor_vjp())


CHOLESKY = [
    Trap("the whole diagonal kept", factor(factor_jvp(jnp.tril), factor_vjp(jnp.tril))),
    Trap("no diagonal kept", factor(factor_jvp(lambda x: jnp.tril(x, -1)))),
    Trap("the upper triangle kept", factor(factor_jvp(lambda x: halved(x.T).T))),
    Trap("the tangent not symmetrised", factor(factor_jvp(sym=lambda x: x))),
    Trap("the cotangent not symmetrised", factor(vjp=factor_vjp(sym=lambda x: x))),
    Trap("the cotangent symmetrised twice over", factor(vjp=factor_vjp(sym=lambda x: x + x.T))),
    Trap("L in place of its transpose", factor(vjp=factor_vjp(turn=lambda x: x))),
    Trap("the last transpose forgotten", factor(factor_jvp(turn=lambda x: x))),
]  # fmt: skip


@pytest.mark.one_in(8)
@pytest.mark.parametrize("trap", named([Trap(t.name, t.wrong, at=(A,)) for t in CHOLESKY]))
def test_cholesky_wrong(trap):
    check(trap)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("signature", ["n n -> n n", "b n n -> b n n"])
def test_cholesky_is_proved_for_all_shapes_with_jaxs_own_rules(signature):
    one = declare(signature, lambda a: cholesky(a), own_jvp(cholesky), own_vjp(cholesky, several=False))
    certificate = audit(one)
    assert certificate.verdict == "proved under hypotheses", [c.cases for c in certificate.claims]
    assert all("positive definite" in h for h in hypotheses(certificate))
    assert all(case.scope == "all shapes" for claim in certificate.claims for case in claim.cases)


def test_cholesky_by_hand():
    certificate = audit(factor())
    assert certificate.verdict == "proved under hypotheses", [c.cases for c in certificate.claims]
    assert POSITIVE in hypotheses(certificate)
    assert not any(h.negligible for claim in certificate.claims for h in claim.hypotheses)


@pytest.mark.slow
def test_cholesky_of_a_matrix_that_is_not_symmetrised():
    """Only the lower triangle is read then. (JAX 0.10's own rule takes the whole tangent; 0.11's is right.)"""

    def raw(a):
        return lax.linalg.cholesky(a, symmetrize_input=False)

    def read(a):
        return jnp.tril(a) + jnp.tril(a, -1).T

    def jvp(a, da, seen=read):
        low = inverse(raw(a))
        return raw(a) @ halved(low @ seen(da) @ low.T)

    def vjp(a, g):
        low = inverse(raw(a))
        whole = low.T @ halved(raw(a).T @ g) @ low
        return jnp.tril(whole) + jnp.triu(whole, 1).T

    assert audit(declare("n n -> n n", lambda a: raw(a), jvp, vjp)).verdict == "proved under hypotheses"
    wrong = audit(declare("n n -> n n", lambda a: raw(a), lambda a, da: jvp(a, da, lambda x: x), vjp))
    assert {claim.kind: claim.verdict for claim in wrong.claims}["jvp_is_derivative"] == "refuted"


@pytest.mark.slow
def test_the_factor_solves_its_equation():
    right = declare(
        "n n -> n n", lambda a: cholesky(a) @ cholesky(a).T, lambda a, da: symmetric(da), lambda a, g: symmetric(g)
    )
    assert audit(right).verdict == "proved under hypotheses"
    wrong = declare(
        "n n -> n n", lambda a: cholesky(a).T @ cholesky(a), lambda a, da: symmetric(da), lambda a, g: symmetric(g)
    )
    assert not audit(wrong).verdict.startswith("proved")


@pytest.mark.slow
def test_solving_with_the_factor_is_solving():
    def forward(a, b):
        return jax.scipy.linalg.cho_solve((cholesky(a), True), b)

    def jvp(a, b, da, db):
        return solve(symmetric(a), db - symmetric(da) @ solve(symmetric(a), b))

    def vjp(a, b, g):
        back = solve(symmetric(a), g)
        return -symmetric(back @ solve(symmetric(a), b).T), back

    one = declare("n n, n m -> n m", forward, jvp, vjp)
    assert audit(one).verdict == "proved under hypotheses"
    unsymmetric = lambda a, b, g: (-solve(symmetric(a), g) @ solve(symmetric(a), b).T, solve(symmetric(a), g))
    assert audit(declare("n n, n m -> n m", forward, jvp, unsymmetric)).verdict == "refuted"


def log_modulus(a):
    return jnp.linalg.slogdet(a)[1]


def determinant(jvp, vjp, forward=log_modulus):
    return declare("n n -> ", lambda a: forward(a), jvp, vjp)


def own_form(a, da):
    return jnp.trace(inverse(a) @ da)


def inverted(a, g):
    return g * inverse(a).T


DETERMINANTS = [
    Trap("the transpose forgotten", determinant(own_form, lambda a, g: g * inverse(a))),
    Trap("a transpose too many", determinant(lambda a, da: jnp.trace(inverse(a).T @ da), inverted)),
    Trap("the sum in place of the trace", determinant(lambda a, da: jnp.sum(inverse(a) @ da), inverted)),
    Trap("det without det", determinant(own_form, inverted, jnp.linalg.det)),
]  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize("trap", named([Trap(t.name, t.wrong, at=(A,)) for t in DETERMINANTS]))
def test_determinants_wrong(trap):
    check(trap)


@pytest.mark.slow
def test_determinants():
    by_hand = determinant(own_form, inverted)
    assert audit(by_hand).verdict == "proved under hypotheses"
    own = determinant(own_jvp(log_modulus), own_vjp(log_modulus, several=False))
    assert audit(own).verdict == "proved under hypotheses"
    det = jnp.linalg.det
    value = determinant(
        lambda a, da: det(a) * jnp.trace(inverse(a) @ da), lambda a, g: g * det(a) * inverse(a).T, jnp.linalg.det
    )
    certificate = audit(value)
    assert certificate.verdict == "proved under hypotheses", [c.cases for c in certificate.claims]
    assert "determinant(a) ≠ 0" in hypotheses(certificate)


def test_the_sign_of_a_determinant_is_locally_constant():
    sign = lambda a: jnp.linalg.slogdet(a)[0]
    right = determinant(lambda a, da: 0 * jnp.sum(da), lambda a, g: 0 * a * g, sign)
    certificate = audit(right)
    assert certificate.verdict == "proved under hypotheses"
    assert any("determinant(a) ≠ 0" in h for h in hypotheses(certificate))


def log_determinant(a):
    return 2 * jnp.sum(jnp.log(jnp.diagonal(cholesky(a))))


def test_the_logarithm_of_a_determinant_from_the_factor():
    one = declare(
        "n n -> ",
        lambda a: log_determinant(a),
        lambda a, da: jnp.trace(solve(symmetric(a), symmetric(da))),
        lambda a, g: g * inverse(symmetric(a)),
    )
    certificate = audit(one)
    assert certificate.verdict == "proved under hypotheses"
    # That the determinant is not 0 follows, and is not listed beside it.
    assert [h.text for h in certificate.claims[0].hypotheses] == [POSITIVE]


def test_regression_with_a_penalty():
    """(XᵀX + 2·I)⁻¹·Xᵀ·y: a matrix that is itself a sum of products, and a multiple of the identity."""

    def forward(x, y):
        return solve(x.T @ x + 2 * jnp.eye(x.shape[1]), x.T @ y)

    certificate = audit(declare("m n, m -> n", lambda x, y: forward(x, y), own_jvp(forward), own_vjp(forward)))
    assert certificate.verdict == "proved under hypotheses", [c.cases for c in certificate.claims]


def test_the_inverse_of_the_inverse():
    twice = declare("n n -> n n", lambda a: inverse(inverse(a)), lambda a, da: da, lambda a, g: g)
    assert audit(twice).verdict == "proved under hypotheses"
    wrong = declare("n n -> n n", lambda a: inverse(inverse(a.T)), lambda a, da: da, lambda a, g: g)
    assert audit(wrong).verdict == "refuted"


@pytest.mark.parametrize("function", [lambda a: jnp.linalg.eigvalsh(a), lambda a: jnp.linalg.qr(a)[1]])
def test_what_has_no_semantics_is_unproved(function):
    certificate = audit(declare("n n -> n n", lambda a: a * jnp.sum(function(a)), lambda a, da: da, lambda a, g: g))
    assert not certificate.verdict.startswith("proved")
