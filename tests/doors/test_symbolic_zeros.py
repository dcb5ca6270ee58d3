"""A rule that is wrong where a cotangent is a symbolic zero, or where an input is not perturbed, at every door."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad.obligations.certificate import PROOFS
from tests.doors import zeros
from tests.doors.doors import Example, named, verdict_through

Use = Callable[[Callable[..., Any]], Callable[..., Any]]


def first(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: jnp.square(rule(x)[0])


def second_in_a_comparison(rule: Callable[..., Any]) -> Callable[..., Any]:
    def run(x: Any) -> Any:
        a, b = rule(x)
        return jnp.where(b > 1, a, 2 * a)

    return run


def second_stopped(rule: Callable[..., Any]) -> Callable[..., Any]:
    def run(x: Any) -> Any:
        a, b = rule(x)
        return a * (1 + jnp.floor(jax.lax.stop_gradient(b) * 0))

    return run


def in_a_scan(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: jax.lax.scan(lambda c, _: (c + rule(c * x)[0], None), jnp.sum(x), None, length=2)[0]


def in_a_carry(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The second output is handed on, to no use: JAX may make its cotangent an array of zeros, or drop it."""
    return lambda x: jax.lax.scan(lambda c, _: (rule(c[0] * x), None), (jnp.sum(x), 0.0 * jnp.sum(x)), None, length=2)[
        0
    ][0]


def in_a_vmap(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: jnp.sum(jax.vmap(lambda row: rule(row)[0])(x))


def in_jit(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: jax.jit(rule)(x)[0]


def in_remat(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: jax.checkpoint(lambda y: rule(y)[0])(x)


def in_a_branch(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: jax.lax.cond(jnp.sum(x) > 0, lambda y: rule(y)[0], jnp.sum, x)


def w_held(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: jnp.sum(rule(x, jax.lax.stop_gradient(jnp.ones_like(x))))


def w_held_in_a_scan(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: jnp.sum(jax.lax.scan(lambda c, row: (rule(c, row), None), x, jnp.ones((2, *x.shape)))[0])


def both_move(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, w: jnp.sum(rule(x, w))


OF_TWO = "n -> , "
PRODUCT = "n, n -> n"
X, XW = ("x: n",), ("x: n", "w: n")
PLAIN = {"moments": zeros.both_moments, "spread": zeros.both_moments, "product": jnp.multiply, "pushed": jnp.multiply}
USES: dict[tuple[str, Use], tuple[str, ...]] = {
    ("moments", first): X,
    ("moments", second_in_a_comparison): X,
    ("moments", second_stopped): X,
    ("moments", in_a_scan): X,
    ("moments", in_a_carry): X,
    ("moments", in_a_vmap): ("x: m n",),
    ("moments", in_jit): X,
    ("moments", in_remat): X,
    ("moments", in_a_branch): X,
    ("spread", first): X,
    ("spread", in_remat): X,
    ("product", w_held): X,
    ("product", w_held_in_a_scan): X,
    ("product", both_move): XW,
    ("pushed", w_held): X,
    ("pushed", both_move): XW,
}


def example(rule: str, use: Use, prefix: str = "") -> Example:
    signature = OF_TWO if rule in ("moments", "spread") else PRODUCT
    return Example(zeros, prefix + rule, PLAIN[rule], signature, use, USES[rule, use])


SAYS = {"plugin": ("passed", "failed"), "compile_graph": ("runs", "not certified")}
OF_GRAPHS = ("run --graphs", "op", "composed", "certify_step", "equal", "compile_graph", "graph")


def agrees(door: str, right: str, wrong: str) -> None:
    """The door accepts the right example and refuses the wrong one."""
    accepted, refused = SAYS.get(door, (PROOFS, "refuted"))
    assert right in accepted
    assert wrong == refused


@pytest.mark.parametrize("rule", ["moments", "spread", "product", "pushed"])
@pytest.mark.parametrize("door", ["check", "audit", "plugin", "run"])
def test_doors_to_rules(door: str, rule: str) -> None:
    use = next(use for name, use in USES if name == rule)
    agrees(door, *(verdict_through(door, example(rule, use, prefix)) for prefix in ("", "wrong_")))


@pytest.mark.parametrize(("rule", "use"), USES, ids=lambda one: getattr(one, "__name__", one))
def test_certify(rule: str, use: Use) -> None:
    right, wrong = (verdict_through("certify", example(rule, use, prefix)) for prefix in ("", "wrong_"))
    if use is second_stopped:  # a stopped value that floor reads is not followed
        assert {right, wrong} == {"unproved"}
    else:
        agrees("certify", right, wrong)


@pytest.mark.parametrize("use", [("moments", first), ("moments", second_in_a_comparison), ("product", w_held)])
@pytest.mark.parametrize("door", OF_GRAPHS)
def test_doors_to_graphs(door: str, use: tuple[str, Use]) -> None:
    agrees(door, *(verdict_through(door, example(*use, prefix)) for prefix in ("", "wrong_")))


def test_a_pattern_that_nothing_of_the_graph_is_in_is_one_of_its_functions() -> None:
    """Both outputs are returned: `jax.grad` of the first alone is what goes wrong."""
    found = certgrad.certify(certgrad.trace(lambda x: zeros.wrong_moments(x), "x: n"))
    assert found.verdict == "refuted"
    assert "where only output 0 is used" in found.findings[-1]


@pytest.mark.parametrize(
    ("function", "signature"),
    [
        (lambda x: zeros.wrong_moments(x), OF_TWO),
        (jax.jit(zeros.wrong_moments), OF_TWO),
        (lambda x, w: zeros.wrong_product(x, w), PRODUCT),
        (lambda x, w: zeros.wrong_pushed(x, w), PRODUCT),
    ],
)
def test_check_of_a_function_that_calls_such_a_rule(function: Callable[..., Any], signature: str) -> None:
    assert certgrad.check(function, signature).verdict == "refuted"


@pytest.mark.parametrize(("count", "verdict"), [(2, "proved"), (5, "unproved")])
def test_patterns_beyond_those_that_are_looked_at(count: int, verdict: str) -> None:
    """Of a function that calls a rule which sees zeros; a rule of its own says that it is asked for too many."""
    rule = jax.custom_jvp(lambda *xs: sum(xs))
    rule.defjvp(lambda p, t: (sum(p), sum(map(zeros.array, t, p))), symbolic_zeros=True)
    signature = ", ".join(["n"] * count)
    assert certgrad.certify(certgrad.trace(rule, *["n"] * count)).verdict == verdict
    function = named(lambda *xs: rule(*xs), [f"x{k}" for k in range(count)])
    assert certgrad.check(function, f"{signature} -> n").verdict == verdict
