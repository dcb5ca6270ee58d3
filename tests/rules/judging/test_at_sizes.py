"""Rules that are proved at numbers, where they are not proved for sizes left open."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certgrad
from certgrad.errors import UsageError
from certgrad.obligations.certificate import verdict_text
from certgrad.testing import assert_certified

pytestmark = pytest.mark.usefixtures("proofs_alone")


@jax.custom_vjp
def in_eights(x):
    """It asks Python for the number of rows, which must divide by 8."""
    assert int(x.shape[0]) % 8 == 0
    return jnp.sin(x.reshape(-1, 8)).sum(1)


in_eights.defvjp(
    lambda x: (in_eights(x), x),
    lambda x, g: ((g[:, None] * jnp.cos(x.reshape(-1, 8))).reshape(x.shape),),
)


@jax.custom_vjp
def wrong_in_eights(x):
    assert int(x.shape[0]) % 8 == 0
    return jnp.sin(x.reshape(-1, 8)).sum(1)


wrong_in_eights.defvjp(
    lambda x: (wrong_in_eights(x), x),
    lambda x, g: ((g[:, None] * jnp.sin(x.reshape(-1, 8))).reshape(x.shape),),
)


@jax.custom_vjp
def unrolled(x):
    """A loop of Python's over an axis."""
    total = jnp.zeros(x.shape[1])
    for k in range(int(x.shape[0])):
        total = total * x[k] + 1
    return total


def _unrolled_bwd(x, g):
    totals = [jnp.zeros(x.shape[1])]
    for k in range(int(x.shape[0])):
        totals.append(totals[-1] * x[k] + 1)
    rows = []
    for k in reversed(range(int(x.shape[0]))):
        rows.append(g * totals[k])
        g = g * x[k]
    return (jnp.stack(rows[::-1]),)


unrolled.defvjp(lambda x: (unrolled(x), x), _unrolled_bwd)


def _doubled_at(n):
    @jax.custom_vjp
    def square(x):
        return x * x

    square.defvjp(
        lambda x: (square(x), x),
        lambda x, g: ((2 if int(x.shape[0]) != n else 4) * x * g,),
    )
    return square


def test_small_sizes_are_tried_where_sizes_must_be_numbers():
    report = certgrad.check(unrolled, "n d -> d")
    assert report.verdict == "proved at sizes"
    assert not report.proved
    assert report.sizes == [{"n": 2, "d": 3}, {"n": 1, "d": 1}, {"n": 3, "d": 2}]
    assert verdict_text(report.certificate) == "proved at sizes d = 3, n = 2; d = 1, n = 1; d = 2, n = 3"
    claim = report.claims[0]
    assert claim.statement.startswith("at d = 3, n = 2; d = 1, n = 1; d = 2, n = 3, for all x")
    assert [c.signature for c in claim.cases] == ["2 3 -> 3", "1 1 -> 1", "3 2 -> 2"]
    assert [c.scope for c in claim.cases] == ["d = 3, n = 2", "d = 1, n = 1", "d = 2, n = 3"]
    assert {c.verdict for c in claim.cases} == {"proved at sizes"}
    assert "not proved for sizes left open: " in str(report)


def test_sizes_that_are_given_come_first():
    report = certgrad.check(in_eights, "n", sizes={"n": 24})
    assert report.verdict == "proved at sizes"
    assert report.sizes[0] == {"n": 24}
    assert len(report.sizes) >= 3
    assert all(one["n"] % 8 == 0 for one in report.sizes)


def test_a_refutation_at_numbers_is_one():
    report = certgrad.check(wrong_in_eights, "n")
    assert report.verdict == "refuted"
    assert report.sizes == [{"n": 16}]
    assert report.witness is not None
    assert len(report.witness.inputs["x"]) == 16


def test_a_size_that_the_code_names_is_looked_at():
    assert certgrad.check(_doubled_at(5), "n").verdict == "refuted"
    right = certgrad.check(_doubled_at(0), "n")
    assert right.verdict == "proved at sizes"


@pytest.mark.slow
def test_an_entry_that_the_code_names_is_there_in_a_longer_axis():
    def weighed(x):
        def step(total, row):
            k, entry = row
            return total + jnp.where(k == 11, 3 * entry, entry), None

        return jax.lax.scan(step, jnp.zeros(()), (jnp.arange(x.shape[0]), x))[0]

    f = jax.custom_vjp(weighed)
    f.defvjp(lambda x: (weighed(x), x), lambda x, g: (jnp.full_like(x, g),))
    assert certgrad.check(f, "n -> ", conformance=False).verdict == "refuted"


def test_nothing_is_tried_if_that_is_said():
    assert certgrad.check(unrolled, "n d", sizes=None).verdict == "unproved"


def test_what_is_proved_for_all_sizes_is_no_matter_of_numbers():
    @jax.custom_vjp
    def square(x):
        return x * x

    square.defvjp(lambda x: (square(x), x), lambda x, g: (2 * x * g,))
    report = certgrad.check(square, "n", sizes={"n": 24})
    assert report.verdict == "proved"
    assert report.sizes == []


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ({"m": 3}, "given for m; its signature names n, d"),
        ({"n": 3, "d": 0}, "no positive integers"),
        ([{"n": 3}], "given for n; its signature names n, d"),
        ({"n": 3, "d": True}, "no positive integers"),
    ],
)
def test_sizes_that_do_not_fit_the_signature(sizes, text):
    with pytest.raises(UsageError, match=text):
        certgrad.check(unrolled, "n d", sizes=sizes)


def test_a_given_size_that_is_not_proved_is_named():
    def refuses(n):
        @jax.custom_vjp
        def f(x):
            total = jnp.zeros(())
            for k in range(int(x.shape[0])):
                total = total + (jax.scipy.special.fresnel(x[k])[0] if n == int(x.shape[0]) else x[k])
            return total

        f.defvjp(lambda x: (f(x), x), lambda x, g: (g * jnp.ones_like(x) * (1 if int(x.shape[0]) != n else x),))
        return f

    report = certgrad.check(refuses(0), "n", sizes={"n": 6})
    assert report.verdict == "proved at sizes"
    assert report.left_out == ()


@pytest.mark.slow
def test_an_assertion_fails_unless_sizes_are_accepted():
    with pytest.raises(AssertionError, match="not certified for all sizes"):
        assert_certified(unrolled, "n d")
    assert assert_certified(unrolled, "n d", sizes={"n": 5, "d": 2}).sizes[0] == {"n": 5, "d": 2}


def test_a_rule_that_returns_another_shape_is_refuted_by_the_call():
    @jax.custom_vjp
    def shifted(x, y):
        return x + y.sum()

    shifted.defvjp(lambda x, y: (shifted(x, y), None), lambda _, g: (g, g.sum()))
    report = certgrad.check(shifted, "n d, m")
    assert report.verdict == "refuted"
    assert report.sizes == [{"n": 2, "d": 3, "m": 5}]
    assert "the function runs and its rule fails: ValueError" in report.claims[0].cases[0].reason
    with pytest.raises(ValueError, match="Custom VJP bwd rule"):
        _run(report.reproduction, shifted)


def test_a_rule_that_raises_at_one_size_is_refuted():
    @jax.custom_vjp
    def square(x):
        return x * x

    def bwd(x, g):
        if x.shape[0] == 4:
            raise ValueError("four")
        return (2 * x * g,)

    square.defvjp(lambda x: (square(x), x), bwd)
    report = certgrad.check(square, "n")
    assert report.verdict == "refuted"
    assert report.sizes == [{"n": 4}]
    with pytest.raises(ValueError, match="four"):
        _run(report.reproduction, square)


def test_a_rule_without_names_can_fail():
    @jax.custom_vjp
    def product(h, f):
        return h * f

    product.defvjp(lambda h, f: (product(h, f), None), lambda _, g: (g, g, g))
    report = certgrad.check(product, ", ")
    assert report.verdict == "refuted"
    with pytest.raises(TypeError, match="pytree"):
        _run(report.reproduction, product)


def test_a_rule_in_forward_mode_can_fail():
    @jax.custom_jvp
    def total(x):
        return x.sum()

    total.defjvp(lambda p, t: (total(*p), t[0]))
    report = certgrad.check(total, "n")
    assert report.verdict == "refuted"
    assert report.claims[0].kind == "jvp_is_derivative"
    with pytest.raises(TypeError, match="JVP"):
        _run(report.reproduction, total)


def test_where_the_function_does_not_run_nothing_is_said_of_its_rule():
    @jax.custom_vjp
    def never(x):
        raise NotImplementedError

    never.defvjp(lambda x: (x, None), lambda _, g: (g, g))
    assert certgrad.check(never, "n").verdict == "unproved"


def test_a_reproduction_runs_whatever_the_arguments_are_called():
    @jax.custom_vjp
    def product(h, f):
        return h * f

    product.defvjp(lambda h, f: (product(h, f), (h, f)), lambda r, g: (g * r[1], g))
    report = certgrad.check(product, "n, n")
    assert report.verdict == "refuted"
    found = _run(report.reproduction, product)
    assert found["expected"] != pytest.approx(found["returned"])


def _run(script, function):
    """Run a reproduction, with the function in the place of its import."""
    lines = script.splitlines()
    kept = [line for line in lines if not line.startswith("from ") and "function = " not in line]
    kept = [line for line in kept if "jax_enable_x64" not in line]
    names = {"function": function}
    exec("\n".join(kept), names)
    return names


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def log_of_sum(x, keepdims=False):
    return jnp.log(jnp.exp(x).sum(-1, keepdims=keepdims))


log_of_sum.defvjp(
    lambda x, keepdims: (log_of_sum(x, keepdims), x),
    lambda keepdims, x, g: (g[:, None] * jax.nn.softmax(x, -1),),
)


@pytest.mark.slow
def test_a_boolean_is_tried_at_both_values():
    report = certgrad.check(log_of_sum, "n d -> n")
    assert report.verdict == "refuted"
    assert report.claims[0].cases[0].statics == {"keepdims": "True"}
    assert certgrad.check(log_of_sum, "n d -> n", static={"keepdims": False}).verdict == "proved"


def test_values_that_are_proved_are_cases_of_the_claim():
    from typing import Literal

    @partial(jax.custom_vjp, nondiff_argnums=(1, 2))
    def scaled(x, twice=False, kind: Literal["sum", "mean", "max"] = "sum"):
        if kind == "max":
            raise NotImplementedError
        return (x.sum() if kind == "sum" else x.mean()) * (2 if twice else 1)

    def bwd(twice, kind, x, g):
        factor = (2 if twice else 1) / (1 if kind == "sum" else x.size)
        return (g * factor * jnp.ones_like(x),)

    scaled.defvjp(lambda x, twice, kind: (scaled(x, twice, kind), x), bwd)
    report = certgrad.check(scaled, "n -> ")
    assert report.verdict == "proved"
    assert report.left_out == ()
    found = [c.statics for c in report.claims[0].cases]
    assert found == [
        {"twice": "False", "kind": "sum"},
        {"twice": "True", "kind": "sum"},
        {"kind": "mean", "twice": "False"},
    ]


@pytest.mark.slow
def test_a_value_at_which_nothing_is_proved_is_left_out_of_the_claim():
    @partial(jax.custom_vjp, nondiff_argnums=(1,))
    def transformed(x, exotic=False):
        return jnp.asarray(np.sin(np.asarray(x))) if exotic else x * x

    transformed.defvjp(lambda x, exotic: (transformed(x, exotic), x), lambda exotic, x, g: (2 * x * g,))
    report = certgrad.check(transformed, "n")
    assert report.verdict == "proved"
    assert len(report.left_out) == 1
    assert report.left_out[0].startswith("exotic = True: unproved: ")
    assert "no claim at exotic = True" in str(report)


@pytest.mark.parametrize("signature", ["2 -> 3", "n -> n+1"])
def test_an_entry_that_is_never_a_number_is_no_hypothesis(signature):
    """No input satisfies "0 ≠ 0 at the last entry": a proof under that would be one of nothing."""

    def forward(x):
        return jnp.concatenate([x, jnp.full(1, jnp.nan)])

    f = jax.custom_vjp(forward)
    f.defvjp(lambda x: (forward(x), None), lambda _, g: (g[:-1],))
    found = certgrad.check(f, signature)
    assert found.verdict == "unproved"
    assert "an entry is undefined whatever the input is" in found.reason


@pytest.mark.slow
def test_what_one_size_asks_is_not_said_of_the_others():
    """y ≤ d − 1 is y ≤ 2 at d = 3 and y ≤ 0 at d = 1."""

    @jax.custom_vjp
    def taken(x, y):
        return jnp.take_along_axis(x, y[:, None], 1)[:, 0]

    def bwd(saved, seed):
        x, y = saved  # as many rows as Python counts: at sizes left open it cannot
        return jnp.stack([jnp.zeros(x.shape[1]).at[y[k]].add(seed[k]) for k in range(x.shape[0])]), None

    taken.defvjp(lambda x, y: (taken(x, y), (x, y)), bwd)
    text = str(certgrad.check(taken, "n d, n:int -> n", sizes=[{"n": 2, "d": 3}], conformance=False))
    assert "y ≤ 0 at d = 1, n = 1" in text
    assert "y ≤ 2 at d = 3, n = 2" in text
