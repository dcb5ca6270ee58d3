"""Loops and branches: certified inside, by induction over steps; the sweep against JAX's own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad.accel import compile_graph
from certgrad.graph import trace
from certgrad.graph.certifying.certify import Certification, certification
from tests.graph.models import wrong_jvp

pytestmark = pytest.mark.usefixtures("proofs_alone")


def rnn(W, U, b, h, xs):
    """An Elman cell over any number of rows, with an output at each step."""

    def step(h, x):
        h = jnp.tanh(h @ W + x @ U + b)
        return h, h.sum()

    h, ys = jax.lax.scan(step, h, xs)
    return jnp.sum(ys**2) + jnp.sum(h)


def backwards(W, xs):
    def step(h, x):
        return jax.nn.relu(h @ W + x), None

    return jnp.sum(jax.lax.scan(step, jnp.zeros(W.shape[0]), xs, reverse=True)[0])


def nested(x, W):
    def outer(c, row):
        inner = jax.lax.fori_loop(0, 3, lambda i, v: jnp.sin(v @ W) * i, c)
        return inner + row, inner

    a, b = jax.lax.scan(outer, jnp.ones(W.shape[0]), x)
    return jnp.sum(a) + jnp.sum(b * b)


def branches(x, y):
    return jax.lax.cond(x[0] > y[0], lambda a: jnp.sum(jnp.sqrt(a * a + 1)), lambda a: jnp.sum(jnp.log(a)), x)


SHAPES = {
    rnn: [(4, 4), (3, 4), (4,), (4,), (6, 3)],
    backwards: [(3, 3), (5, 3)],
    nested: [(4, 3), (3, 3)],
    branches: [(3,), (3,)],
}


def certified(fn) -> tuple[Certification, list]:
    random = np.random.default_rng(4)
    args = [jnp.asarray(random.uniform(0.5, 1.5, size=s)) for s in SHAPES[fn]]
    return certification(trace(fn, *args)), args


@pytest.mark.slow
@pytest.mark.parametrize("fn", list(SHAPES), ids=lambda f: f.__name__)
def test_the_sweep_is_jax_s(fn) -> None:
    with jax.enable_x64(True):
        done, args = certified(fn)
        assert done.certificate.verdict.startswith("proved")
        value, gradients = compile_graph(done).value_and_grad(*args)
        expected, wanted = jax.value_and_grad(fn, argnums=tuple(range(len(args))))(*args)
        np.testing.assert_allclose(value, expected, rtol=1e-14)
        for found, one in zip(gradients, wanted, strict=True):
            np.testing.assert_allclose(found, one, rtol=1e-13, atol=1e-15)


def test_a_loop_over_rows_of_any_number() -> None:
    done = certification(trace(rnn, "d d", "m d", "d", "d", "n m"))
    assert done.certificate.verdict == "proved"
    assert {t.name: t.verdict for t in done.certificate.theorems} == {
        "appending a node": "proved",
        "one more step of a loop": "proved",
    }
    (step,) = [s for s in done.certificate.steps if s.operation == "scan"]
    assert step.inside[0].moving == ["const0", "const1", "const2", "carry0", "row0"]


def test_what_the_body_needs_is_asked_at_every_step() -> None:
    done, _ = certified(backwards)
    (one,) = done.certificate.hypotheses
    assert one.text.endswith("≠ 0, at every step of the scan")
    assert "row of xs" in one.text


def test_what_a_branch_needs_is_asked_where_it_is_taken() -> None:
    done, _ = certified(branches)
    texts = [h.text for h in done.certificate.hypotheses]
    assert any(t.startswith("gt at ") for t in texts)
    assert any(
        t.startswith("log at ") and t.endswith("every element of `x` > 0, where branch 0 is taken") for t in texts
    )


def test_hypotheses_inside_a_loop_that_nothing_satisfies() -> None:
    def f(xs):
        return jax.lax.scan(lambda c, x: (c + jnp.log(-jnp.exp(x)), None), 0.0, xs)[0]

    found = certification(trace(f, "n")).certificate
    assert found.verdict == "unproved"
    assert found.findings[-1].endswith("nothing shows that they can hold together")


def test_a_wrong_rule_in_a_body_is_named_with_its_line() -> None:
    def f(xs):
        return jax.lax.scan(lambda c, x: (c + wrong_jvp(x), None), 0.0, xs)[0]

    found = certification(trace(f, "n")).certificate
    assert found.verdict == "refuted"
    assert "scan" in found.findings[0]
    assert "inside, custom_jvp wrong_jvp(x) at test_inner_graphs.py:" in found.findings[0]


def test_while_has_no_reverse_mode() -> None:
    def moving(x):
        return jax.lax.while_loop(lambda s: jnp.sum(s) < 5, lambda s: s * 2, x)

    found = certification(trace(moving, "n")).certificate
    assert found.verdict == "unproved"
    assert "no reverse mode for while_loop" in found.findings[0]

    def still(x):
        return x * jax.lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] * 2.0), (0, 1.0))[1]

    assert certification(trace(still, "n")).certificate.verdict == "proved"
