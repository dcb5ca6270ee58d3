"""Platforms, exits of loops, integers that overflow, and what a hypothesis excludes: wrong rules beside right ones."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from certgrad import check
from certgrad.graph import certify, trace

chosen = lax.platform_dependent
HOLDS = ("proved", "proved under hypotheses")


def custom(function, backward, forward=None):
    rule = jax.custom_vjp(function)
    rule.defvjp(forward or (lambda *args: (function(*args), args)), backward)
    return rule


def verdict(rule, signature, **options):
    return check(rule, signature, conformance=False, **options)


def of_graph(rule, *specs):
    given = [jax.ShapeDtypeStruct((), np.float32) if s == "" else s for s in specs]
    return certify(trace(lambda *xs: jnp.sum(rule(*xs)), *given)).verdict


def under(report):
    return {h.text: h.negligible for c in report.claims for h in c.hypotheses}


def rests_on(report):
    return {i for c in report.claims for i in c.idealisations}


# --- platforms


def sine_on_gpus(x):
    return chosen(x, cuda=jnp.sin, rocm=jnp.sin, default=jnp.cos)


def sine_on_cpu(x):
    return chosen(x, cpu=jnp.sin, default=jnp.cos)


def of_sine(x, g):
    return jnp.cos(x) * g


def of_cosine(x, g):
    return -jnp.sin(x) * g


PLATFORMS = {
    "another name": (sine_on_cpu, {"tpu": of_sine, "default": of_cosine}),
    "a name left out": (sine_on_cpu, {"default": of_cosine}),
    "one of two": (
        lambda x: chosen(x, cuda=jnp.sin, rocm=jnp.sin, default=jnp.cos),
        {"cuda": of_sine, "default": of_cosine},
    ),
    "swapped": (
        lambda x: chosen(x, cpu=jnp.sin, tpu=jnp.cos, default=jnp.exp),
        {"tpu": of_sine, "cpu": of_cosine, "default": lambda x, g: jnp.exp(x) * g},
    ),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", PLATFORMS)
def test_another_list_of_platforms_is_another_choice(name):
    function, slopes = PLATFORMS[name]
    rule = custom(function, lambda r, g: (chosen(r[0], g, **slopes),))
    assert verdict(rule, "n -> n").verdict not in HOLDS
    assert of_graph(rule, "n") not in HOLDS


@pytest.mark.parametrize(
    ("function", "slopes"),
    [
        (sine_on_cpu, {"cpu": of_sine, "default": of_cosine}),
        (sine_on_cpu, {"cuda": of_cosine, "cpu": of_sine, "default": of_cosine}),
        (lambda x: chosen(x, cpu=jnp.sin, tpu=jnp.cos), {"tpu": of_cosine, "cpu": of_sine}),
        (
            lambda x: chosen(x, cuda=jnp.sin, rocm=jnp.sin, default=jnp.cos),
            {"rocm": of_sine, "cuda": of_sine, "default": of_cosine},
        ),
    ],
    ids=["same list", "more names", "another order", "joined"],
)
def test_lists_of_platforms_that_choose_alike(function, slopes):
    report = verdict(custom(function, lambda r, g: (chosen(r[0], g, **slopes),)), "n -> n")
    assert report.verdict == "proved"


def test_a_factor_chosen_by_another_list():
    def scaled(x):
        return chosen(x, cpu=lambda x: 2 * x, default=lambda x: 3 * x)

    wrong = custom(scaled, lambda c, g: (c * g,), lambda x: (scaled(x), chosen(cuda=lambda: 2.0, default=lambda: 3.0)))
    right = custom(scaled, lambda c, g: (c * g,), lambda x: (scaled(x), chosen(cpu=lambda: 2.0, default=lambda: 3.0)))
    assert verdict(wrong, "n -> n").verdict not in HOLDS
    assert verdict(right, "n -> n").verdict == "proved"


def test_a_hypothesis_names_the_platform():
    rule = custom(
        lambda x: chosen(x, cuda=jnp.log, default=lambda x: x),
        lambda r, g: (chosen(r[0], g, cuda=lambda x, g: g / x, default=lambda x, g: g),),
    )
    assert any(text == "x[i] > 0 wherever the platform is cuda" for text in under(verdict(rule, "n -> n")))


# --- exits of loops


def rounded_steps(x):
    return lax.while_loop(lambda c: c < jnp.round(x), lambda c: c + 1, 0.0)


def times_steps(x):
    return x * rounded_steps(x)


def test_a_loop_that_ends_by_a_rounded_value_asks_for_its_seams_only():
    right = custom(times_steps, lambda r, g: (g * rounded_steps(r[0]),))
    report = verdict(right, " -> ")
    assert under(report) == {"x − 1/2 is not an integer": True}
    wrong = custom(lambda x: x**2 + times_steps(x), lambda r, g: (2 * r[0] * g,))
    assert verdict(wrong, " -> ").verdict not in HOLDS
    assert of_graph(wrong, "") not in HOLDS


@pytest.mark.parametrize("steps", [jnp.floor, jnp.ceil, jnp.sign, lambda x: 3 * jnp.sign(x) + jnp.floor(x)])
def test_locally_constant_exits(steps):
    def count(x):
        return lax.while_loop(lambda c: c < steps(x), lambda c: c + 1, 0.0)

    report = verdict(custom(lambda x: x * count(x), lambda r, g: (g * count(r[0]),)), " -> ")
    assert report.verdict == "proved under hypotheses"
    assert set(under(report)) <= {"x is not an integer", "x ≠ 0"}


def halvings(x):
    return lax.while_loop(lambda c: x * 0.5**c > 1, lambda c: c + 1, 0.0)


def test_a_step_is_named_as_such():
    report = verdict(custom(lambda x: x * halvings(x), lambda r, g: (g * halvings(r[0]),)), " -> ")
    assert under(report) == {"x ≠ exp(s·log(2)) at every step s while x > exp(s·log(2))": True}


def test_an_exit_that_is_always_on_its_boundary_proves_nothing():
    def left(x):
        return lax.while_loop(lambda c: c > 0, lambda c: jnp.maximum(c - 1, 0), jnp.abs(x))

    report = verdict(custom(lambda x: x + left(x), lambda r, g: (g,)), " -> ")
    assert report.verdict not in HOLDS


# --- integers


def doubled_off(mask):
    """x where the mask holds, else 2x, with a rule that takes it to hold at the first entry alone."""
    return custom(
        lambda x: jnp.where(mask(jnp.arange(x.shape[0], dtype=jnp.int32)), x, 2 * x),
        lambda r, g: (g * jnp.where(jnp.arange(r[0].shape[0]) == 0, 1.0, 2.0),),
    )


@pytest.mark.one_in(8)
@pytest.mark.parametrize(
    "mask",
    [
        lambda i: i * 2**30 * 4 == 0,
        lambda i: lax.shift_left(i, jnp.full_like(i, 30)) == 0,
        lambda i: i.astype(jnp.int8) == 0,
        lambda i: i.astype(jnp.uint8) == 0,
        lambda i: i.astype(jnp.uint32) - 1 == jnp.uint32(2**32 - 1),
        lambda i: i * 2**20 * 2**12 == 0,
        lambda i: i.astype(int) * 2**16 * 2**16 == 0,
        lambda i: i * jnp.cumprod(jnp.full_like(i, 2)) == 0,
    ],
    ids=["product", "shift", "int8", "uint8", "uint32", "two products", "64 bits", "powers"],
)
def test_integers_of_sizes_that_overflow(mask):
    assert verdict(doubled_off(mask), "n -> n").verdict not in HOLDS


def test_integers_of_sizes_that_overflow_in_a_graph():
    assert of_graph(doubled_off(lambda i: i * 2**30 * 4 == 0), "n") not in HOLDS


@pytest.mark.parametrize("mask", [lambda i: 2 * i == 0, lambda i: (i + 2**30) - 2**30 == 0, lambda i: -i >= 0])
def test_integers_of_sizes_that_fit_are_quiet(mask):
    report = verdict(doubled_off(mask), "n -> n")
    assert report.verdict == "proved"
    assert not rests_on(report)


def test_how_large_sizes_may_be_is_said():
    report = verdict(doubled_off(lambda i: (jnp.cumsum(i) * 0 + i) == 0), "n -> n")
    assert report.verdict == "proved under hypotheses"
    assert report.hypotheses == ["n ≤ 32768"]


IN_RANGE = "integer arithmetic stays in the range of its type"


@pytest.mark.parametrize(
    "mask",
    [lambda k: k + 1 > k, lambda k: (-k == k) == (k == 0), lambda k: jnp.where(k > 0, k + 2, k) >= k],
    ids=["next", "negated", "not from the end"],
)
def test_arithmetic_on_given_integers_is_said_to_fit(mask):
    rule = custom(lambda x, k: jnp.where(mask(k), x, 2 * x), lambda r, g: (g, None))
    report = verdict(rule, "n, n:int -> n")
    assert report.verdict == "proved"
    assert IN_RANGE in rests_on(report)


def test_an_index_from_the_end_fits():
    rule = custom(lambda x, k: x[k], lambda r, g: (jnp.zeros_like(r[0]).at[r[1]].add(g), None))
    report = verdict(rule, "n, m:int -> m")
    assert report.verdict == "proved under hypotheses"
    assert IN_RANGE not in rests_on(report)


def test_a_count_of_entries_fits():
    rule = custom(lambda x: x * jnp.sum(x > 0) / x.size, lambda r, g: (g * jnp.sum(r[0] > 0) / r[0].size,))
    assert not any("int" in text for text in rests_on(verdict(rule, "n d -> n d")))


# --- what is excluded


def test_what_fails_on_an_open_set_is_not_negligible():
    relu = jax.nn.relu
    step = custom(lambda x: jnp.abs(relu(x)), lambda r, g: (g * jnp.sign(relu(r[0])),))
    assert all(under(verdict(step, "n -> n")).values())
    graph = certify(trace(lambda x: jnp.sum(jnp.sign(relu(x)) * x), "n d"))
    assert [h.negligible for h in graph.hypotheses] == [True, False]


@pytest.mark.parametrize(
    "inside, negligible",
    [
        (lambda x, c: jnp.sum(x**2), True),
        (lambda x, c: jnp.sum(x**2) + c**2, True),
        (lambda x, c: jnp.sum(x**2) + c, False),
        (lambda x, c: jnp.sum(jnp.where(x > 0, x, 0) ** 2), False),
    ],
    ids=["squares", "and a square", "and a number", "of a relu"],
)
def test_what_is_never_negative_is_positive_but_for_its_zeros(inside, negligible):
    """√ is differentiable above 0 alone. Of squares that excludes a point, of others an open set."""

    def backward(residuals, g):
        x, c = residuals
        return tuple(g * d / (2 * jnp.sqrt(inside(x, c))) for d in jax.grad(inside, (0, 1))(x, c))

    report = verdict(custom(lambda x, c: jnp.sqrt(inside(x, c)), backward), "n, ()")
    (found,) = {text: rarely for text, rarely in under(report).items() if " > " in text}.values()
    assert found is negligible


def test_a_bias_of_its_own_makes_a_boundary_negligible():
    relu = jax.nn.relu
    graph = certify(trace(lambda x, w, b, v: jnp.sum(relu(relu(x @ w) @ v + b)), "n d", "d h", "k", "h k"))
    assert [h.negligible for h in graph.hypotheses] == [True, True]


def test_a_difference_that_can_be_of_one_entry_with_itself():
    graph = certify(trace(lambda x: jnp.sum(jax.nn.relu(x - jnp.mean(x))), "n"))
    assert [h.negligible for h in graph.hypotheses] == [False]
