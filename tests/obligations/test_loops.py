"""Loops of other forms: what they carry, in which direction, and how often; each with a wrong twin."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import certgrad
from certgrad.obligations import audit
from tests.obligations.traps import declare, hypotheses


def verdicts(one):
    certificate = audit(one)
    return [c.verdict for c in certificate.claims], certificate


def jvp_of(f, count):
    return lambda *a: jax.jvp(f, a[:count], a[count:])[1]


def vjp_of(f, count):
    return lambda *a: jax.vjp(f, *a[:count])[1](a[count] if len(a) == count + 1 else a[count:])


def lstm(x, h0, c0, W, V):
    def step(carry, row):
        h, c = carry
        gate = jax.nn.sigmoid(W @ h + row)
        c = jnp.tanh(V @ h) * c + gate * row
        return (gate * c, c), gate * c

    return lax.scan(step, (h0, c0), x)[1]


def two_layers(x, a, b):
    rows = lax.scan(lambda h, r: (a * h + r * r, a * h + r * r), jnp.zeros(()), x)[1]
    return lax.scan(lambda h, r: (b * h + r, h * h), jnp.zeros(()), rows)[1]


def backwards(x, a):
    return lax.scan(lambda c, r: (a * c + r, c * r), jnp.ones(()), x, reverse=True)


def running_sum(x):
    return lax.scan(lambda c, r: (c + r, c + r), jnp.zeros(()), x)[1]


def delayed(x):
    """A carry that is only the row before."""
    return lax.scan(lambda c, r: ((r, c[0]), c[0] * r + c[1]), (jnp.zeros(()), jnp.ones(())), x)[1]


def counted(x):
    return lax.scan(lambda c, r: ((c[0] + 1, c[1] + r * c[0]), None), (0, jnp.zeros(())), x)[0][1]


def seven_steps(h, a):
    return lax.scan(lambda h, _: (jnp.sin(a * h), None), h, None, length=7)[0]


def batched(x, h0, W):
    return lax.scan(lambda h, row: (jnp.tanh(h @ W + row), None), h0, x)[0]


def switching(x, h):
    """A branch by the number of the step: the residuals of the other branch are never used."""

    def step(carry, r):
        i, h = carry
        return (i + 1, lax.switch(i, [lambda h: h * r, lambda h: h + r], h)), None

    return lax.scan(step, (0, h), x)[0][1]


RIGHT = [
    (switching, "n, -> ", 2),
    pytest.param(lstm, "n m, m, m, m m, m m -> n m", 5, marks=pytest.mark.slow),
    (two_layers, "n, , -> n", 3),
    (backwards, "n, -> , n", 2),
    (running_sum, "n -> n", 1),
    (delayed, "n -> n", 1),
    (counted, "n -> ", 1),
    (seven_steps, ", -> ", 2),
    (batched, "n b m, b m, m m -> b m", 3),
    (lambda x: lax.map(lambda r: jnp.exp(r) * jnp.sum(r * r), x), "n d -> n d", 1),
]


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("f", "signature", "count"), RIGHT, ids=range(len(RIGHT)))
def test_jaxs_own_rules(f, signature, count):
    found, certificate = verdicts(declare(signature, f, jvp_of(f, count), vjp_of(f, count)))
    assert found == ["proved"] * 3, [(c.kind, c.cases) for c in certificate.claims]


def flipped(x, g):
    return lax.scan(lambda c, r: (c + r, c + r), jnp.zeros(()), g)[1]


def exclusive(x, g):
    return lax.scan(lambda c, r: (c + r, c), jnp.zeros(()), g, reverse=True)[1]


def test_an_accumulator_is_a_sum():
    rule = declare(
        "n -> n", running_sum, jvp_of(running_sum, 1), lambda x, g: lax.rev(jnp.cumsum(lax.rev(g, (0,))), (0,))
    )
    found, certificate = verdicts(rule)
    assert found == ["proved"] * 3, certificate.claims
    wrong = declare("n -> n", running_sum, jvp_of(running_sum, 1), lambda x, g: jnp.cumsum(g))
    assert verdicts(wrong)[0] == ["proved", "refuted", "proved"]


WRONG = [
    (running_sum, "n -> n", flipped),
    (running_sum, "n -> n", exclusive),
    (running_sum, "n -> n", lambda x, g: 1.0 * g),  # right at n = 1
    (counted, "n -> ", lambda x, g: g * (1 + lax.iota(x.dtype, x.shape[0]))),
    (delayed, "n -> n", lambda x, g: jax.vjp(delayed, lax.rev(x, (0,)))[1](g)[0]),
    (seven_steps, ", -> ", lambda h, a, g: vjp_of(lambda h, a: seven_steps(jnp.sin(a * h), a), 2)(h, a, g)),
]


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("f", "signature", "rule"), WRONG)
def test_wrong_adjoints(f, signature, rule):
    count = signature.split("->")[0].count(",") + 1
    found, _ = verdicts(declare(signature, f, jvp_of(f, count), rule))
    assert found == ["proved", "refuted", "proved"]


def relu_network(x, h0, W):
    return lax.scan(lambda h, row: ((y := jax.nn.relu(W @ h + row)), y), h0, x)[1]


def test_boundaries_inside_a_step_are_excluded_at_every_step():
    rule = declare("n m, m, m m -> n m", relu_network, jvp_of(relu_network, 3), vjp_of(relu_network, 3))
    found, certificate = verdicts(rule)
    assert found == ["proved under hypotheses", "proved", "proved"]
    (text,) = hypotheses(certificate)
    assert text.startswith("x[j,i] + (Σk W[i,k]·c[j,k]) ≠ 0 where c[0,l] = h0[l], c[s+1,l] =")


def branching(x):
    return lax.scan(lambda c, r: (lax.cond(r > 0, lambda c: c * r, lambda c: c + r, c), None), jnp.ones(()), x)[0]


def test_a_branch_inside_a_step():
    found, certificate = verdicts(declare("n -> ", branching, jvp_of(branching, 1), vjp_of(branching, 1)))
    assert found == ["proved under hypotheses", "proved", "proved"]
    assert hypotheses(certificate) == {"x ≠ 0"}


def stopped(x):
    return lax.scan(lambda c, r: (lax.stop_gradient(c) * r + c, None), jnp.ones(()), x)[0]


def test_stop_gradient_inside_a_step():
    found, _ = verdicts(declare("n -> ", stopped, jvp_of(stopped, 1), vjp_of(stopped, 1)))
    assert not found[0].startswith("proved")


def test_associative_scan_at_a_fixed_size():
    def sums(x):
        return lax.associative_scan(jnp.add, x)

    found, _ = verdicts(declare("4 -> 4", sums, jvp_of(sums, 1), vjp_of(sums, 1)))
    assert found == ["proved"] * 3


def test_conditions_inside_a_step_are_asked_at_every_step():
    def rooted(x, h):
        return lax.scan(lambda h, r: (jnp.sqrt(h) + r, None), h, x)[0]

    certificate = audit(declare("n, -> ", rooted, jvp_of(rooted, 2), vjp_of(rooted, 2)))
    assert certificate.verdict in ("proved under hypotheses", "unproved")
    if certificate.verdict == "proved under hypotheses":
        assert any("c[" in h and "> 0" in h for h in hypotheses(certificate))


def test_a_step_that_is_not_linear_in_the_tangent():
    def jvp(x, dx):
        return lax.scan(lambda c, r: (c + r, c * c), jnp.zeros(()), dx)[1]

    found, _ = verdicts(declare("n -> n", running_sum, jvp, vjp_of(running_sum, 1)))
    assert found[0] == "refuted"
    assert found[1] != "proved"


def power(x, a):
    return lax.fori_loop(0, x.shape[0], lambda i, c: jnp.sin(c) + x[i] * c, a)


def test_fori_loop_over_a_size():
    found, _ = verdicts(declare("n, -> ", power, jvp_of(power, 2), lambda x, a, g: (0 * x, g)))
    assert found == ["proved", "refuted", "proved"]


def squares(x):
    return lax.while_loop(lambda c: c < 10.0, lambda c: c * c + 1, x)


def squares_jvp(x, dx, bound=10.0, extra=0.0):
    def step(c):
        return c[0] * c[0] + 1, 2 * c[0] * c[1] + extra

    return lax.while_loop(lambda c: c[0] < bound, step, (x, dx))[1]


def test_while_in_forward_mode():
    found, certificate = verdicts(declare(" -> ", squares, squares_jvp, lambda x, g: g))
    assert found[0] == "proved under hypotheses"
    assert hypotheses(certificate) == {"c[s] ≠ 10 at every step s while c[s] < 10 where c[0] = x, c[s+1] = 1 + c[s]^2"}
    assert "each while loop ends" in certificate.claims[0].idealisations


@pytest.mark.parametrize("change", [{"bound": 20.0}, {"extra": 1.0}])
def test_wrong_forward_mode_of_a_while(change):
    found, _ = verdicts(declare(" -> ", squares, lambda x, dx: squares_jvp(x, dx, **change), lambda x, g: g))
    assert found[0] in ("refuted", "unproved")


def raised(x, k):
    return lax.fori_loop(0, k, lambda i, c: c * x, jnp.ones(()))


@pytest.mark.slow
def test_as_many_steps_as_an_integer_says():
    def jvp(x, k, dx, steps=0):
        def step(i, c):
            return c[0] * x, c[1] * x + c[0] * dx

        return lax.fori_loop(0, k + steps, step, (jnp.ones(()), jnp.zeros(())))[1]

    found, _ = verdicts(declare(", :int -> ", raised, jvp, lambda x, k, g: g))
    assert found[0] == "proved"
    found, _ = verdicts(declare(", :int -> ", raised, lambda *a: jvp(*a, steps=1), lambda x, k, g: g))
    assert found[0] in ("refuted", "unproved")


def test_a_loop_that_indexes_by_what_it_carries():
    def jump(x):
        return lax.scan(lambda i, _: ((3 * i + 1) % x.shape[0], x[i]), 0, x)[1]

    certificate = audit(declare("n -> n", jump, lambda x, dx: dx, lambda x, g: g))
    assert not certificate.verdict.startswith("proved")


# --- two carries that turn into each other, as the parts of a complex number do ---


def rotated(a, b, x, y):
    def step(h, u):
        h = (a * h[0] - b * h[1] + u[0], b * h[0] + a * h[1] + u[1])
        return h, h

    return lax.scan(step, (jnp.zeros(()),) * 2, (x, y))[1]


def rotated_back(saved, g, sign, begin=0.0, factor=1.0):
    """Carries the transposed state, its second part with a sign that is taken away again at the end."""
    a, b = saved

    def step(c, row):
        p = row[0] + a * c[0] + sign * b * c[1]
        q = sign * factor * row[1] + a * c[1] - sign * b * c[0]
        return (p, q), (p, q)

    _, (dx, dy) = lax.scan(step, (jnp.zeros(()), begin * jnp.ones(())), g, reverse=True)
    return jnp.zeros(()), jnp.zeros(()), dx, sign * dy


def rule_of_rotations(**how):
    f = jax.custom_vjp(lambda a, b, x, y: rotated(a, b, x, y))
    f.defvjp(lambda a, b, x, y: (rotated(a, b, x, y), (a, b)), lambda r, g: rotated_back(r, g, **how))
    return certgrad.check(f, ", , t, t -> t, t", differentiable=["x", "y"])


@pytest.mark.parametrize("sign", [1, -1])
def test_carries_that_turn_into_each_other(sign):
    assert rule_of_rotations(sign=sign).verdict == "proved"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("how", [{"sign": -1, "factor": -1.0}, {"sign": 1, "factor": 2.0}, {"sign": -1, "begin": 1.0}])
def test_carries_of_the_wrong_sign_are_not_taken_for_each_other(how):
    assert rule_of_rotations(**how).verdict == "refuted"


def test_a_loop_that_is_looked_at_after_each_step_may_change_from_step_to_step():
    """The second form of the transpose is for steps that are alike: another form of these is another function."""

    def forward(w, x):
        return lax.scan(lambda h, r: (r[0] * h + r[1],) * 2, jnp.zeros(()), (w, x))[1]

    def backward(w, g):  # the coefficient of the wrong step
        return jnp.zeros_like(w), lax.scan(lambda c, r: (r[1] + r[0] * c,) * 2, jnp.zeros(()), (w, g), reverse=True)[1]

    f = jax.custom_vjp(lambda w, x: forward(w, x))
    f.defvjp(lambda w, x: (forward(w, x), w), backward)
    assert certgrad.check(f, "t, t -> t", differentiable=["x"]).verdict == "refuted"
