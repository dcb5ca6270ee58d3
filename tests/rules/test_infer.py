"""Shapes of a rule whose author says nothing: what was tried is told where nothing traces."""

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad.rules._by_name import AT_INFERRED, examined
from certgrad.rules._find import Found
from certgrad.rules._infer import inferred

pytestmark = pytest.mark.usefixtures("verdicts_alone")


def rule(value):
    made = jax.custom_vjp(value)
    made.defvjp(lambda *args: (value(*args), args), lambda args, g: tuple(g * jnp.ones_like(x) for x in args))
    return made


def of_four_axes(x):
    _, _, _, _ = x.shape
    return x.sum((2, 3))


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("function", "said"),
    [
        (of_four_axes, 'none of the 9 that were tried traces ("n d": ValueError: not enough values to unpack'),
        (lambda x, table: x * table["scale"], '"n d, n d": TypeError: JAX does not support string indexing'),
        (lambda a, b, c, d, e: a, "shapes are tried for at most 4 arguments, and it takes a, b, c, d, e"),
        (lambda k=3: jnp.ones(k), "it takes no argument without a default, of which a shape could be tried"),
    ],
)
def test_what_was_tried_and_how_it_failed(function, said):
    tried = inferred(rule(function))
    assert tried.found == []
    assert said in tried.why_none


def test_reasons_are_told_once_and_in_short():
    def long(x):
        raise ValueError("so " * 200 + f"{x.ndim}")

    why = inferred(rule(long)).why_none
    assert why.count("ValueError") == 1
    assert len(why) < 300


def test_shapes_that_trace_are_found():
    assert [d.signature for d in inferred(rule(lambda x, w: x * w)).found] == ["n d, n d", "m d, m d"]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("function", "found"),
    [
        (lambda a, b: jnp.trace(a @ a) * b, "n n, n d"),
        (lambda a, b: jnp.linalg.inv(a) @ b[:, None], "n n, n"),
        (lambda x: jnp.multiply(*jnp.split(x, 2, axis=-1)), "n 2*d"),
        (lambda x, y: x[..., ::2] * x[..., 1::2] + y.reshape(*y.shape[:-1], y.shape[-1]), "n 2*d, n d"),
    ],
)
def test_square_matrices_and_halves(function, found):
    made = jax.custom_vjp(function)
    made.defvjp(lambda *args: (function(*args), args), lambda args, g: jax.vjp(function, *args)[1](g))
    assert found in [str(d.signature) for d in inferred(made).found]


@pytest.mark.slow
def test_an_argument_with_a_gradient_is_not_taken_for_integers():
    made = jax.custom_vjp(lambda c, x: c[0] + x * c[1])
    made.defvjp(
        lambda c, x: (c[0] + x * c[1], (c, x)), lambda r, g: (jnp.stack([jnp.sum(g), 0 * jnp.sum(g)]), g * r[0][1])
    )
    tried = inferred(made)
    assert tried.found == []
    assert "it returns a gradient for c, which is not of integers then" in tried.failures
    rows = jax.custom_vjp(lambda x, ids: x[ids])
    rows.defvjp(lambda x, ids: (x[ids], (x, ids)), lambda r, g: (jnp.zeros_like(r[0]).at[r[1]].add(g), None))
    assert "n d, n:int" in [str(d.signature) for d in inferred(rows).found]


def test_a_refutation_at_inferred_shapes_says_so():
    wrong = jax.custom_vjp(lambda x: x**2)
    wrong.defvjp(lambda x: (x**2, x), lambda x, g: (3 * x * g,))
    _, found = examined(Found("m:square", wrong), {}, conformance=False)
    assert (found.verdict, AT_INFERRED in " ".join(str(found).split())) == ("refuted", True)
    declared = certgrad.declare("n")(wrong)
    _, found = examined(Found("m:square", declared), {}, conformance=False)
    assert (found.verdict, AT_INFERRED in " ".join(str(found).split())) == ("refuted", False)


def refused(backward):
    made = jax.custom_vjp(lambda x, y: jnp.sin(x) * y)
    made.defvjp(lambda x, y: (jnp.sin(x) * y, (x, y)), backward)
    return made


def raises_two_lines(residuals, g):
    raise ValueError("the first line\nand what to do about it")


REFUSED = {
    "a cotangent too few": (lambda r, g: (g * r[1] * jnp.cos(r[0]),), "must produce a tuple of length equal to"),
    "no such function": (lambda r, g: (g * jnp.cosine(r[0]), g), "module 'jax.numpy' has no attribute 'cosine'"),
    "another shape": (lambda r, g: (g[..., None], g), "so the shapes do not match"),
    "not a tuple": (lambda r, g: g, "Custom VJP bwd rule"),
    "all of the message": (raises_two_lines, "ValueError: the first line\nand what to do about it"),
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("case", REFUSED)
def test_a_rule_that_is_refused_wherever_its_function_runs_is_refuted(case):
    backward, said = REFUSED[case]
    found, _ = examined(Found("m:f", refused(backward)), {})
    assert found.certificate.verdict == "refuted"
    (reason,) = {c.reason for claim in found.certificate.claims for c in claim.cases if c.verdict == "refuted"}
    assert reason.startswith("the function runs and its rule fails: ")
    assert said in reason


def test_a_rule_that_runs_somewhere_is_not_refuted_elsewhere():
    def of_vectors(residuals, g):
        (x,) = residuals
        if x.ndim != 1:
            raise ValueError("a vector is wanted")
        return (jnp.stack([jnp.sum(g[k:]) for k in range(x.shape[0])]),)

    made = jax.custom_vjp(lambda x: jnp.cumsum(x, axis=0))
    made.defvjp(lambda x: (jnp.cumsum(x, axis=0), (x,)), of_vectors)
    found, _ = examined(Found("m:f", made), {})
    assert found.certificate is None
    assert "a vector is wanted" in found.remarks[0].text


def test_a_rule_for_arrays_of_four_axes_is_tried_there():
    def of_images(x, g):
        _, _, _, _ = x.shape
        return (2 * x * g,)

    made = jax.custom_vjp(lambda x: x * x)
    made.defvjp(lambda x: (x * x, x), of_images)
    assert [d.signature for d in inferred(made).found] == ["n m d k"]
