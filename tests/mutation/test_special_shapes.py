"""Rules that are wrong only at some shapes: a condition on sizes, axes or ranks in Python, decided while tracing."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import pytest

from certgrad.obligations import audit
from certgrad.ops import Op, registry

Condition = Callable[..., bool]


def exp_wrong_where(condition: Condition) -> Op:
    def jvp(x: Any, dx: Any) -> Any:
        return (2 if condition(dx) else 1) * dx * jnp.exp(x)

    return registry.get("exp").with_rules(jvp=jvp, fwd=None, vjp=lambda x, seed: seed * jnp.exp(x))


def add_wrong_where(condition: Condition) -> Op:
    def jvp(x: Any, y: Any, dx: Any, dy: Any) -> Any:
        return 2 * (dx + dy) if condition(dx, dy) else dx + dy

    return registry.get("add").with_rules(jvp=jvp)


def softmax_wrong_where(condition: Condition) -> Op:
    def jvp(y: Any, dx: Any, *, axis: int) -> Any:
        right = y * (dx - jnp.sum(y * dx, axis=axis, keepdims=True))
        return 2 * right if condition(dx, axis) else right

    return registry.get("softmax").with_rules(jvp=jvp)


def check(op: Op) -> None:
    claims = {claim.kind: claim for claim in audit(op).claims}
    assert claims["jvp_is_derivative"].verdict in ("refuted", "unproved")


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    "condition",
    [
        lambda x: x.ndim == 1 and x.shape[0] == 1,
        lambda x: x.ndim == 2 and x.shape[0] == 1,
        lambda x: x.ndim == 2 and x.shape[1] in (1, 2),
        lambda x: x.ndim == 2 and x.shape[0] == x.shape[1],
        lambda x: x.ndim == 3 and x.shape[0] == x.shape[2],
        lambda x: x.shape == (7,),
        lambda x: x.size == 7,
        lambda x: x.ndim == 1 and x.shape[0] % 2 == 1,
        lambda x: x.ndim == 1 and x.shape[0] % 3 == 2,
        lambda x: x.ndim == 1 and x.shape[0] // 2 == 3,
        lambda x: x.ndim == 2 and x.shape[0] + x.shape[1] == 5,
        lambda x: x.ndim == 1 and x.shape[0] * x.shape[0] == 9,
        lambda x: x.ndim == 2 and 2 * x.shape[0] == x.shape[1],
        lambda x: x.ndim == 1 and {1: True}.get(x.shape[0], False),
        lambda x: x.ndim == 2 and x.shape[1] in {1, 5},
        lambda x: x.ndim == 0,
        lambda x: x.ndim == 3,
    ],
)
def test_elementwise(condition: Condition) -> None:
    check(exp_wrong_where(condition))


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "condition",
    [
        lambda x, y: x.shape == y.shape == (1,),
        lambda x, y: x.ndim == y.ndim == 2 and x.shape[0] == y.shape[0] == 1,
        lambda x, y: x.ndim == 2 and y.ndim == 1 and x.shape[0] == x.shape[1],
        lambda x, y: x.ndim == 0 and y.ndim == 2,
        lambda x, y: x.ndim == y.ndim == 2,
    ],
)
def test_broadcast(condition: Condition) -> None:
    check(add_wrong_where(condition))


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "condition",
    [
        lambda x, axis: axis == 0 and x.ndim == 2,
        lambda x, axis: axis == 1 and x.ndim == 4,
        lambda x, axis: axis == 0 and x.ndim == 1,
        lambda x, axis: x.ndim == 2 and x.shape[0] == x.shape[1],
        lambda x, axis: x.ndim == 2 and axis == 1 and x.shape[0] == 1,
    ],
)
def test_along_an_axis(condition: Condition) -> None:
    check(softmax_wrong_where(condition))


@pytest.mark.parametrize(
    "op",
    [
        exp_wrong_where(lambda x: x.ndim == 5),
        add_wrong_where(lambda x, y: x.ndim == 3 and y.ndim == 1),
        add_wrong_where(lambda x, y: x.ndim == y.ndim == 4),
        softmax_wrong_where(lambda x, axis: axis == 2 and x.ndim == 6),
    ],
)
def test_a_rule_that_branches_on_its_rank_is_not_proved_at_any_rank(op: Op) -> None:
    claims = {claim.kind: claim for claim in audit(op).claims}
    assert all("any rank" not in case.scope for case in claims["jvp_is_derivative"].cases)
