"""Wrong rules get a witness, right rules get none, and the witness is small, inside the domain and reproducible."""

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb

import certgrad
from certgrad.obligations.balls import (
    Criterion,
    Dims,
    Input,
    MalformedRule,
    Programs,
    Rule,
    Scope,
    SearchLimits,
    WitnessPoint,
    find_witness,
    seeded,
)
from certgrad.obligations.balls._draw import TRIES, draw_inputs
from certgrad.signatures.sizes import parse_axis

JVP, VJP, FORWARD = "jvp_is_derivative", "vjp_is_adjoint", "rule_runs_forward"


def argument(name: str, axes: str) -> Input:
    return Input(name, tuple(map(parse_axis, axes.split())))


X = [argument("x", "*s")]
ROWS = [argument("x", "n d")]


def rule_of(function: Callable[..., Any], jvp: Any = None, vjp: Any = None, **more: Any) -> Rule:
    """A rule of one output, with JAX's own derivatives where none are given."""

    def default_jvp(xs: list[Any], dxs: list[Any]) -> list[Any]:
        return [jax.jvp(function, tuple(xs), tuple(dxs))[1]]

    def default_vjp(xs: list[Any], seeds: list[Any]) -> list[Any]:
        return list(jax.vjp(function, *xs)[1](seeds[0]))

    return Rule(
        forward=lambda xs: [function(*xs)],
        jvp=default_jvp if jvp is None else lambda xs, dxs: [jvp(*xs, *dxs)],
        vjp=default_vjp if vjp is None else lambda xs, seeds: list(vjp(*xs, *seeds)),
        **more,
    )


def softmax(x: Any) -> Any:
    return jax.nn.softmax(x, axis=-1)


def layer_norm(x: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)


def layer_norm_vjp(x: Any, g: Any, *, mean_term: bool) -> tuple[Any]:
    y = layer_norm(x)
    var = ((x - x.mean(-1, keepdims=True)) ** 2).mean(-1, keepdims=True)
    inner = g - (g.mean(-1, keepdims=True) if mean_term else 0) - y * (g * y).mean(-1, keepdims=True)
    return (inner / jnp.sqrt(var + 1e-5),)


def gelu(x: Any, coefficient: float = 0.044715) -> Any:
    return x * jax.nn.sigmoid(1.5957691216057308 * (x + coefficient * x * x * x))


def attention(q: Any, k: Any, v: Any) -> Any:
    return softmax(q @ k.T / jnp.sqrt(q.shape[-1])) @ v


def matmul(x: Any, y: Any) -> Any:
    return x @ y


QKV = [argument("q", "n d"), argument("k", "m d"), argument("v", "m e")]
XY = [argument("x", "n d"), argument("y", "d m")]


def positive(point: Any) -> bool:
    return all(x > 0 for x in np.ravel(np.array(point["x"], dtype=object)))


WRONG: dict[str, tuple[str, Rule, list[Input], Any]] = {
    "relu with its mask reversed": (JVP, rule_of(jax.nn.relu, lambda x, dx: jnp.where(x > 0, 0, dx)), X, None),
    "shared wrong mask, jvp": (JVP, rule_of(jax.nn.relu, lambda x, dx: jnp.where(x > -1, dx, 0)), X, None),
    "softmax without its mean term": (
        VJP,
        rule_of(softmax, vjp=lambda x, g: (softmax(x) * g,)),
        ROWS,
        None,
    ),
    "softmax's jvp without its mean term": (JVP, rule_of(softmax, lambda x, dx: softmax(x) * dx), ROWS, None),
    "layer_norm without a mean": (
        VJP,
        rule_of(layer_norm, vjp=lambda x, g: layer_norm_vjp(x, g, mean_term=False)),
        ROWS,
        None,
    ),
    "gelu off by 1e-6": (
        JVP,
        rule_of(gelu, lambda x, dx: jax.jvp(lambda y: gelu(y, 0.044716), (x,), (dx,))[1]),
        X,
        None,
    ),
    "matmul's cotangents swapped": (
        VJP,
        rule_of(matmul, vjp=lambda x, y, g: (g @ y.T, g.T @ x if x.shape[0] == 99 else (x.T @ g) * 2)),
        XY,
        None,
    ),
    "attention's scale forgotten": (
        VJP,
        rule_of(attention, vjp=lambda q, k, v, g: jax.vjp(lambda *a: softmax(a[0] @ a[1].T) @ a[2], q, k, v)[1](g)),
        QKV,
        None,
    ),
    "log's rule is 1 / x^2": (JVP, rule_of(jnp.log, lambda x, dx: dx / x**2), X, positive),
    "affine in the tangent": (JVP, rule_of(jnp.sin, lambda x, dx: jnp.cos(x) * dx + 1), X, None),
    "wrong past a threshold": (
        JVP,
        rule_of(jnp.sin, lambda x, dx: jnp.cos(x) * jnp.where(x > 18, 0, dx)),
        X,
        None,
    ),
    "wrong only when n == d": (
        JVP,
        rule_of(matmul, lambda x, y, dx, dy: dx @ y + x @ dy + (jnp.sum(dx) if x.shape[0] == x.shape[1] == 3 else 0)),
        XY,
        None,
    ),
    "zero cotangent": (VJP, rule_of(matmul, vjp=lambda x, y, g: (g @ y.T, jnp.zeros_like(y))), XY, None),
    "stale primal": (FORWARD, rule_of(jnp.tanh, primal=lambda xs: [jnp.sin(xs[0])]), X, None),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", WRONG)
def test_wrong_rules_are_refuted(name: str) -> None:
    kind, rule, inputs, domain = WRONG[name]
    found = find_witness(kind, rule, inputs, name=name, scope=Scope(domain))
    assert found is not None
    assert not found.undefined
    assert not arb(found.lhs).overlaps(arb(found.rhs))
    assert float(arb(found.relative_gap)) > 1e-9
    again = find_witness(kind, rule, inputs, name=name, scope=Scope(domain))
    assert again is not None
    assert (again.inputs, again.tangents, again.seeds) == (found.inputs, found.tangents, found.seeds)


RIGHT: dict[str, tuple[Rule, list[Input], Any]] = {
    "relu": (rule_of(jax.nn.relu, lambda x, dx: jnp.where(x > 0, dx, 0)), X, None),
    "relu with another convention": (
        rule_of(jax.nn.relu, lambda x, dx: jnp.where(x >= 0, dx, 0), lambda x, g: (jnp.where(x >= 0, g, 0),)),
        X,
        None,
    ),
    "softmax": (rule_of(softmax), ROWS, None),
    "layer_norm": (rule_of(layer_norm, vjp=lambda x, g: layer_norm_vjp(x, g, mean_term=True)), ROWS, None),
    "gelu": (rule_of(gelu), X, None),
    "matmul": (rule_of(matmul, vjp=lambda x, y, g: (g @ y.T, x.T @ g)), XY, None),
    "attention": (rule_of(attention), QKV, None),
    "log": (rule_of(jnp.log), X, positive),
    "max": (rule_of(lambda x: x.max(1)), ROWS, None),
    "masked softmax": (
        rule_of(lambda x: softmax(jnp.where(jnp.tril(jnp.ones(x.shape, bool)), x, -jnp.inf))),
        ROWS,
        None,
    ),
}


@pytest.mark.one_in(12)
@pytest.mark.parametrize("kind", [JVP, VJP])
@pytest.mark.parametrize("name", RIGHT)
def test_right_rules_are_not_refuted(name: str, kind: str) -> None:
    rule, inputs, domain = RIGHT[name]
    assert find_witness(kind, rule, inputs, name=name, scope=Scope(domain)) is None


def test_custom_vjp_without_jvp_is_compared_with_the_derivative() -> None:
    right = Rule(lambda xs: [jnp.sin(xs[0])], vjp=lambda xs, g: [jnp.cos(xs[0]) * g[0]])
    wrong = Rule(lambda xs: [jnp.sin(xs[0])], vjp=lambda xs, g: [-jnp.cos(xs[0]) * g[0]])
    assert find_witness(VJP, right, X) is None
    assert find_witness(VJP, wrong, X) is not None


def test_witness_is_small() -> None:
    kind, rule, inputs, _ = WRONG["matmul's cotangents swapped"]
    found = find_witness(kind, rule, inputs)
    assert found is not None
    assert found.dims == Dims({"n": 1, "d": 1, "m": 1}, {})
    assert (found.inputs, found.tangents, found.seeds) == (
        {"x": [[Fraction(1)]], "y": [[Fraction(1)]]},
        {"x": [[Fraction(0)]], "y": [[Fraction(1)]]},
        {"0": [[Fraction(1)]]},
    )
    assert (str(found.lhs), str(found.rhs)) == ("1", "2")
    assert found.texts() == (("1.00000000000000", "0"), ("2.00000000000000", "0"))


def test_printed_balls_stay_apart() -> None:
    tiny = rule_of(jnp.exp, lambda x, dx: jnp.exp(x) * dx * 1.00000000000000022)
    found = find_witness(JVP, tiny, X)
    assert found is not None
    (left, _), (right, _) = found.texts()
    assert left != right
    assert found.relative_gap.startswith("2.00e-16")


def test_gaps_of_a_rounded_literal_can_be_passed_over() -> None:
    tiny = rule_of(jnp.exp, lambda x, dx: jnp.exp(x) * dx * 1.00000000000000022)
    assert find_witness(JVP, tiny, X, criterion=Criterion(at_least=Fraction(1, 2**40))) is None
    assert find_witness(JVP, tiny, X, criterion=Criterion(at_least=Fraction(1, 2**60))) is not None


def test_undefined_rule_is_a_witness_of_its_own_kind() -> None:
    rule = rule_of(
        lambda x: jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1)), 0),
        lambda x, dx: jnp.where(x > 0, 1, 0) * dx / (2 * jnp.sqrt(x)),
    )
    found = find_witness(JVP, rule, X)
    assert found is not None
    assert found.undefined
    assert found.relative_gap == ""
    assert "nan" in (str(found.lhs), str(found.rhs))
    assert find_witness(JVP, rule, X, criterion=Criterion(undefined=False)) is None


def test_undefined_where_the_forward_is_too_is_none() -> None:
    rule = rule_of(lambda x: x * jnp.sqrt(x), lambda x, dx: 1.5 * jnp.sqrt(x) * dx)
    assert find_witness(JVP, rule, X) is None
    rule = rule_of(jnp.abs, lambda x, dx: x / jnp.abs(x) * dx)
    assert find_witness(JVP, rule, X) is None


def test_domain_is_respected() -> None:
    rule = rule_of(jnp.abs, lambda x, dx: dx)
    assert find_witness(JVP, rule, X, scope=Scope(positive)) is None
    found = find_witness(JVP, rule, X, scope=Scope(lambda p: not positive(p)))
    assert found is not None


def test_fits_is_respected() -> None:
    rule = rule_of(matmul, lambda x, y, dx, dy: dx @ y + x @ dy if x.shape[0] > 1 else dx @ y)
    assert find_witness(JVP, rule, XY, scope=Scope(fits=lambda dims: dims.sizes["n"] >= 2)) is None
    assert find_witness(JVP, rule, XY) is not None


def test_params_and_integers_have_no_tangent() -> None:
    inputs = [argument("x", "*s"), Input("alpha", (), differentiable=False), Input("k", (), "int")]
    rule = Rule(
        forward=lambda xs: [xs[1] * xs[0] ** 2 + xs[2]],
        jvp=lambda xs, dxs: [2 * xs[1] * xs[0] * dxs[0]],
        vjp=lambda xs, seeds: [2 * xs[1] * xs[0] * seeds[0]],
    )
    assert find_witness(JVP, rule, inputs) is None
    assert find_witness(VJP, rule, inputs) is None


def test_rule_may_depend_on_dims() -> None:
    inputs = [argument("x", "*a n *c")]

    def at(dims: Dims) -> Programs:
        axis = len(dims.stars["a"])
        return Programs(rule_of(lambda x: x.sum(axis), lambda x, dx: dx.sum(axis) * 1.5), inputs, dims)

    found = find_witness(JVP, at, inputs)
    assert found is not None
    assert found.dims.shape([*map(parse_axis, ("*a", "n", "*c"))]) == (1,)


def test_malformed_rules_say_what_is_wrong() -> None:
    rule = rule_of(matmul, vjp=lambda x, y, g: (g @ y.T, (x.T @ g).T))
    scope = Scope(fits=lambda dims: dims.sizes["n"] == 2 and dims.sizes["m"] == 4)
    with pytest.raises(MalformedRule, match=r"vjp returns shapes \[\(2, 3\), \(4, 3\)\], expected"):
        find_witness(VJP, rule, XY, scope=scope, limits=SearchLimits(shapes=1))
    rule = rule_of(jnp.sin, lambda x, dx: jnp.undefined(x))
    with pytest.raises(MalformedRule, match="jvp does not trace"):
        find_witness(JVP, rule, X)


def test_dims_as_written() -> None:
    dims = Dims({"n": 2, "m": 3}, {"s": (4, 5)})
    axes = [*map(parse_axis, ("*s", "2*m", "n+1", "1", "n"))]
    assert dims.shape(axes) == (4, 5, 6, 3, 1, 2)


@pytest.mark.slow
def test_search_is_quick() -> None:
    rule, inputs, _ = RIGHT["attention"]
    find_witness(JVP, rule, inputs)
    start = time.perf_counter()
    find_witness(VJP, rule, inputs)
    assert time.perf_counter() - start < 5


def test_configuration_of_the_user_is_left_alone() -> None:
    before = jax.config.jax_enable_x64
    assert isinstance(find_witness(JVP, WRONG["affine in the tangent"][1], X), WitnessPoint)
    assert jax.config.jax_enable_x64 == before


def test_draws_of_a_point_in_a_domain_keep_their_time() -> None:
    asked = []

    def outside(values: object) -> bool:
        asked.append(values)
        return False

    inputs, rng = [Input("x")], seeded("time")
    assert draw_inputs(inputs, [()], 0, rng, outside, until=time.thread_time()) is None
    assert not asked
    assert draw_inputs(inputs, [()], 0, rng, outside) is None
    assert len(asked) == TRIES


@pytest.mark.parametrize(("factor", "verdict"), [(1, "unproved"), (2, "refuted")])
def test_equal_first_keys_are_a_tie_whatever_the_second_keys_are(factor: int, verdict: str) -> None:
    """Where entries that move are equal the sort has a kink, and a rule is not wrong there."""

    def by_two(x: Any, m: Any) -> Any:
        return jax.lax.sort((x, m), num_keys=2)[0]

    rule = jax.custom_vjp(by_two)
    rule.defvjp(
        lambda x, m: (by_two(x, m), x), lambda x, g: (factor * jnp.zeros_like(x).at[jnp.argsort(x)].set(g), None)
    )
    assert certgrad.check(rule, "n, n:int -> n", conformance=False).verdict == verdict
