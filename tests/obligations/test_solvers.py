"""Solvers of a user's own with a declared equation: right rules, wrong twins, and equations that say too little."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import certgrad
from certgrad.obligations import audit
from certgrad.ops import Registry
from certgrad.rules.subject.examine import apply_examination, examine
from certgrad.rules.subject.user_rule import UserRule


def rule(forward, backward, fwd=None):
    """A custom rule whose residuals are the arguments and the value."""
    made = jax.custom_vjp(forward)
    made.defvjp(fwd or (lambda *xs: (lambda z: (z, (*xs, z)))(forward(*xs))), backward)
    return made


def proof(made, signature, **more):
    """The verdict, the hypotheses and the reasons; without the search for what caused a wrong cotangent."""
    one = UserRule(made, signature, **more)
    apply_examination(one, examine(one))
    certificate = audit(one)
    reasons = " | ".join(case.reason for claim in certificate.claims for case in claim.cases)
    return certificate.verdict, {h.text for c in certificate.claims for h in c.hypotheses}, reasons


# --- Kepler's equation: elementwise, linear in M ---


@certgrad.solves(lambda big_e, e, m: big_e - e * jnp.sin(big_e) - m)
@jax.jit
def kepler(e, m):
    def step(_, z):
        return z - (z - e * jnp.sin(z) - m) / (1 - e * jnp.cos(z))

    return lax.fori_loop(0, 20, step, m + e * jnp.sin(m))


def kepler_bwd(r, g):
    e, _, z = r
    scaled = g / (1 - e * jnp.cos(z))
    return scaled * jnp.sin(z), scaled


@pytest.mark.one_in(3)
@pytest.mark.parametrize("signature", ["n, n -> n", "b n, b n -> b n", ", -> "])
def test_an_elementwise_equation(signature):
    verdict, found, _ = proof(rule(kepler, kepler_bwd), signature)
    assert verdict == "proved under hypotheses"
    assert any("kepler solves" in h and h.endswith(", continuously") for h in found)
    assert any("cos(kepler" in h and "≠" in h for h in found)
    assert len(found) == 2


@certgrad.solves(lambda z, a: z**3 + z - a)
def cube(a):
    return lax.fori_loop(0, 20, lambda _, z: z - (z**3 + z - a) / (3 * z**2 + 1), jnp.zeros_like(a))


@pytest.mark.slow
def test_an_elementwise_equation_at_any_rank():
    right = rule(cube, lambda r, g: (g / (3 * r[1] ** 2 + 1),))
    verdict, found, reasons = proof(right, "*s -> *s")
    assert (verdict, reasons.strip(" |")) == ("proved under hypotheses", "")
    assert all(h.startswith("cube solves") for h in found)
    assert proof(rule(cube, lambda r, g: (g / (3 * r[1] ** 2 + 2),)), "*s -> *s")[0] == "refuted"


@pytest.mark.slow
def test_a_solver_under_vmap_is_one_solver_of_a_batch():
    batched = rule(lambda e, m: jax.vmap(kepler)(e, m), kepler_bwd)
    assert proof(batched, "b n, b n -> b n")[0] == "proved under hypotheses"


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "wrong",
    [
        lambda e, m, z, g: (g * jnp.cos(z) / (1 - e * jnp.cos(z)), g / (1 - e * jnp.cos(z))),
        lambda e, m, z, g: (g * jnp.sin(m) / (1 - e * jnp.cos(m)), g / (1 - e * jnp.cos(m))),
    ],
    ids=["cosine for sine", "stale z"],
)
def test_wrong_twins_of_an_elementwise_equation(wrong):
    assert proof(rule(kepler, lambda r, g: wrong(*r, g)), "n, n -> n")[0] == "refuted"


# --- the equation is used ---


@certgrad.solves(lambda w, x: w * jnp.exp(w) - x)
@jax.jit
def lambert(x):
    return lax.fori_loop(0, 30, lambda _, w: w - (w - x * jnp.exp(-w)) / (1 + w), jnp.log1p(x))


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("derivative", "verdict"),
    [
        (lambda x, w: w / (x * (1 + w)), "proved under hypotheses"),
        (lambda x, w: 1 / (jnp.exp(w) * (1 + w)), "proved under hypotheses"),
        (lambda x, w: 1 / (x + jnp.exp(w)), "proved under hypotheses"),
        (lambda x, w: w / (x * (2 + w)), "refuted"),
    ],
)
def test_one_derivative_in_three_forms(derivative, verdict):
    made = rule(lambert, lambda r, g: (g * derivative(*r),))
    assert proof(made, "n -> n", domain="x > 0")[0] == verdict


def test_division_in_the_rule_is_a_hypothesis():
    made = rule(lambert, lambda r, g: (g * r[1] / (r[0] * (1 + r[1])),))
    _, found, _ = proof(made, "n -> n")
    assert "x ≠ 0" in found


# --- linear systems ---


@certgrad.solves(lambda x, a, b: a @ x - b)
@jax.jit
def jacobi(a, b):
    d = jnp.diagonal(a)
    return lax.fori_loop(0, 300, lambda _, x: (b - (a @ x - d * x)) / d, jnp.zeros_like(b))


def jacobi_bwd(a, b, x, g):
    back = jacobi(a.T, g)
    return -jnp.outer(back, x), back


LINEAR_TWINS = {
    "A for its transpose": lambda a, b, x, g: (-jnp.outer(jacobi(a, g), x), jacobi(a, g)),
    "sign": lambda a, b, x, g: (jnp.outer(jacobi(a.T, g), x), jacobi(a.T, g)),
    "b for its solution": lambda a, b, x, g: (-jnp.outer(jacobi(a.T, g), b), jacobi(a.T, g)),
}


@pytest.mark.slow
def test_a_linear_system():
    verdict, found, _ = proof(rule(jacobi, lambda r, g: jacobi_bwd(*r, g)), "n n, n -> n")
    assert verdict == "proved under hypotheses"
    assert found == {
        "determinant(a) ≠ 0",
        "jacobi solves (Σ{j<n} a[i,j]·jacobi[j]) = b[i]",
        "jacobi′ solves (Σ{j<n} a[j,i]·jacobi′[j]) = seed[i]",
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", LINEAR_TWINS)
def test_wrong_twins_of_a_linear_system(name):
    assert proof(rule(jacobi, lambda r, g: LINEAR_TWINS[name](*r, g)), "n n, n -> n")[0] == "refuted"


@pytest.mark.slow
def test_a_solution_of_a_linear_system_is_what_jax_solves():
    made = rule(jacobi, lambda r, g: (-jnp.outer(jnp.linalg.solve(r[0].T, g), r[2]), jnp.linalg.solve(r[0].T, g)))
    assert proof(made, "n n, n -> n")[0] == "proved under hypotheses"


def test_a_solver_outside_of_jax():
    """Its program is a callback, which the proof need not follow."""

    @certgrad.solves(lambda x, a, b: a @ x - b)
    def host(a, b):
        return jax.pure_callback(np.linalg.solve, jax.ShapeDtypeStruct(b.shape, b.dtype), a, b)

    made = rule(host, lambda r, g: (-jnp.outer(host(r[0].T, g), r[2]), host(r[0].T, g)))
    assert proof(made, "n n, n -> n")[0] == "proved under hypotheses"


def sparse(of_rows, of_columns):
    """A system whose matrix is given by its entries, which are written where they stand: a scatter, not a product."""

    def residual(x, a, b):
        return jnp.zeros_like(b).at[of_rows].add(a * x[of_columns]) - b

    return residual


@pytest.mark.slow
def test_a_system_given_by_its_entries():
    """The solver raises at a singular matrix: there it solves nothing, and no law is asked."""
    rows, columns = np.array([0, 1, 2, 0]), np.array([0, 1, 2, 1])

    def host(a, b, of_rows, of_columns):
        def solve(entries, right):
            matrix = np.zeros((3, 3))
            np.add.at(matrix, (of_rows, of_columns), entries)
            return np.linalg.solve(matrix, right).astype(b.dtype)

        return jax.pure_callback(solve, jax.ShapeDtypeStruct(b.shape, b.dtype), a, b)

    direct = certgrad.solves(sparse(rows, columns))(lambda a, b: host(a, b, rows, columns))
    adjoint = certgrad.solves(sparse(columns, rows))(lambda a, b: host(a, b, columns, rows))

    def backward(factor):
        def bwd(saved, g):
            a, _, x = saved
            u = adjoint(a, g)
            return -factor * u[rows] * x[columns], u

        return bwd

    for factor, expected in ((1, "proved under hypotheses"), (2, "refuted")):
        made = jax.custom_vjp(direct)
        made.defvjp(lambda a, b: ((x := direct(a, b)), (a, b, x)), backward(factor))
        assert proof(made, "4, 3 -> 3")[0] == expected


# --- fixed points ---


def layer(z, w, x):
    return jnp.tanh(w @ z + x)


@certgrad.solves(lambda z, w, x: z - layer(z, w, x))
@jax.jit
def fixed_point(w, x):
    return lax.fori_loop(0, 200, lambda _, z: layer(z, w, x), jnp.zeros_like(x))


def by_transposition(w, x, z, g):
    _, back = jax.vjp(layer, z, w, x)
    adjoint = certgrad.solves(lambda u: u - g - back(u)[0])(
        lambda: lax.fori_loop(0, 200, lambda _, u: g + back(u)[0], jnp.zeros_like(g))
    )
    return back(adjoint())[1:]


def by_the_value(w, x, z, g, matrix=lambda w: w.T, slope=lambda z: 1 - z**2):
    """The derivative of tanh from its value, which is z itself."""

    @certgrad.solves(lambda u, w, z, g: u - g - matrix(w) @ (slope(z) * u))
    def adjoint(w, z, g):
        return lax.fori_loop(0, 200, lambda _, u: g + matrix(w) @ (slope(z) * u), g)

    u = adjoint(w, z, g) * slope(z)
    return jnp.outer(u, z), u


@pytest.mark.slow
@pytest.mark.parametrize("backward", [by_transposition, by_the_value])
def test_a_fixed_point_layer(backward):
    verdict, found, _ = proof(rule(fixed_point, lambda r, g: backward(*r, g)), "n n, n -> n")
    assert verdict == "proved under hypotheses"
    assert sum("determinant" in h for h in found) == 1
    assert sum(" solves " in h for h in found) == 2
    assert sum(h.endswith(", continuously") for h in found) == 1


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "wrong",
    [
        lambda w, x, z, g: by_the_value(w, x, z, g, matrix=lambda w: w),
        lambda w, x, z, g: (jnp.outer(g * (1 - z**2), z), g * (1 - z**2)),
    ],
    ids=["W for its transpose", "one step"],
)
def test_wrong_twins_of_a_fixed_point_layer(wrong):
    assert proof(rule(fixed_point, lambda r, g: wrong(*r, g)), "n n, n -> n")[0] == "refuted"


# --- both modes ---


def test_a_rule_in_forward_mode():
    made = jax.custom_jvp(kepler)

    @made.defjvp
    def _(primals, tangents):
        (e, m), (de, dm) = primals, tangents
        z = kepler(e, m)
        return z, (de * jnp.sin(z) + dm) / (1 - e * jnp.cos(z))

    assert proof(made, "n, n -> n")[0] == "proved under hypotheses"


def test_an_op_with_a_solver_is_proved_and_not_verified():
    @certgrad.op("n n, n -> n", registry=Registry())
    def system(a, b):
        """x with a·x = b."""
        return jacobi(a, b)

    @system.jvp
    def _(a, b, da, db):
        return jacobi(a, db - da @ jacobi(a, b))

    @system.vjp
    def _(a, b, seed):
        back = jacobi(a.T, seed)
        return -jnp.outer(back, jacobi(a, b)), back

    certificate = audit(system)
    assert certificate.verdict == "proved under hypotheses"
    found = certgrad.verify(certificate, system)
    assert found.outcome == "not checked"
    assert "hypothesis" in found.problems[0]
