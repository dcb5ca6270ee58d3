"""`certgrad.solves` where it runs: the solver's own value and derivatives, under JAX's transformations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import certgrad
from certgrad.errors import UsageError


def heron(a, steps=20):
    return lax.fori_loop(0, steps, lambda _, z: (z + a / z) / 2, a)


marked = certgrad.solves(lambda z, a, steps=20: z * z - a)(heron)
A = jnp.array([1.0, 2.0, 5.0])


def test_it_is_the_solver():
    for run in (marked, jax.jit(marked), jax.vmap(marked), jax.jit(jax.vmap(marked))):
        np.testing.assert_array_equal(run(A), heron(A))
    np.testing.assert_array_equal(marked(A, steps=2), heron(A, steps=2))
    assert marked.__name__ == "heron"


def test_its_derivatives_are_those_of_its_program():
    for transform in (jax.grad, jax.hessian, lambda f: jax.jit(jax.grad(f))):
        np.testing.assert_array_equal(transform(marked)(2.0), transform(heron)(2.0))
    np.testing.assert_array_equal(jax.jvp(marked, (A,), (A,))[1], jax.jvp(heron, (A,), (A,))[1])


def test_batches_of_some_arguments_and_of_captured_values():
    solve = certgrad.solves(lambda x, m, b: m @ x - b)(jnp.linalg.solve)
    m, b = jnp.array([[2.0, 1.0], [0.0, 3.0]]), jnp.arange(6.0).reshape(3, 2)
    expected = jax.vmap(lambda row: jnp.linalg.solve(m, row))(b)
    np.testing.assert_allclose(jax.vmap(solve, (None, 0))(m, b), expected, rtol=1e-6)

    def captured(row):
        return certgrad.solves(lambda x: m @ x - row)(lambda: jnp.linalg.solve(m, row))()

    np.testing.assert_allclose(jax.jit(jax.vmap(captured))(b), expected, rtol=1e-6)


def test_both_programs_stand_in_the_trace():
    (equation,) = jax.make_jaxpr(marked)(A).eqns
    assert equation.primitive.name == "certgrad_solution"
    assert "while" in str(equation.params["solver"]) or "scan" in str(equation.params["solver"])
    assert "mul" in str(equation.params["residual"])


def test_the_residual_never_runs():
    def residual(z, a):
        jax.debug.callback(lambda: pytest.fail("it ran"))
        return z * z - a

    np.testing.assert_array_equal(jax.jit(certgrad.solves(residual)(heron))(A), heron(A))


def test_a_solver_that_looks_at_values_runs_where_they_are_known():
    def bisection(a):
        low, high = 0.0, float(a) + 1
        while high - low > 1e-6:
            middle = (low + high) / 2
            low, high = (middle, high) if middle * middle < a else (low, middle)
        return jnp.asarray(low)

    found = certgrad.solves(lambda z, a: z * z - a)(bisection)
    assert abs(found(2.0) - 2**0.5) < 1e-5
    with pytest.raises(jax.errors.ConcretizationTypeError):
        jax.jit(found)(2.0)


@pytest.mark.parametrize(
    ("solver", "residual", "message"),
    [
        (lambda a: (a, a), lambda z, a: z - a, "returns 2 arrays, but it must return one float array"),
        (lambda a: a > 0, lambda z, a: z, "returns an array of bool, but it must return one float array"),
        (lambda a: a, lambda z, a: jnp.sum(z - a), r"has shape \(\), but what it returns has shape \(3\)"),
        (lambda a: a, lambda z, a: (z, a), "The residual of the solver returns 2 arrays"),
    ],
)
def test_what_is_no_equation_for_one_array_is_refused(solver, residual, message):
    with pytest.raises(UsageError, match=message):
        jax.make_jaxpr(certgrad.solves(residual)(solver))(A)
