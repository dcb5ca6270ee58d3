"""Rules of `jax.custom_gradient` whose backward forgets arguments that calls may leave out."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from tests.rules.inference.test_known_functions import audit


@jax.custom_gradient
def forgets_its_name(x: Any, name: str | None = None) -> Any:
    return jnp.sin(x), lambda g: (g * jnp.cos(x),)


@jax.custom_gradient
def needs_numbers_for_sizes(x: Any, name: str | None = None) -> Any:
    weights = jnp.asarray([1.0 / (k + 1) for k in range(int(x.shape[-1]))])
    return jnp.sin(x) * weights, lambda g: (g * jnp.cos(x) * weights,)


@jax.custom_gradient
def of_one_argument(x: Any) -> Any:
    return jnp.sin(x), lambda g: (g * jnp.cos(x),)


@jax.custom_vjp
def passed_by_jax(x: Any, name: str | None = None) -> Any:
    return jnp.sin(x)


passed_by_jax.defvjp(lambda x, name=None: (jnp.sin(x), x), lambda x, g: (g * jnp.cos(x), None))


@pytest.mark.parametrize("rule", [forgets_its_name, needs_numbers_for_sizes])
def test_a_rule_that_fails_with_its_default_passed_says_so_first(rule: Any) -> None:
    with pytest.raises(TypeError, match="bwd rule must produce"):
        jax.grad(lambda x: rule(x, None).sum())(jnp.ones((2, 3)))
    result, report = audit(rule)
    assert report.verdict.startswith("proved")  # as it is called without it
    (remark,) = (r for r in result.remarks if r.wrong_at_other_shapes)
    assert remark.text.startswith("with name = None passed by place, its rule fails and the function runs: TypeError")


@pytest.mark.parametrize("rule", [of_one_argument, passed_by_jax])
def test_nothing_is_said_where_no_argument_is_left_out_of_a_call(rule: Any) -> None:
    result, report = audit(rule)
    assert report.verdict == "proved"
    assert not any("passed by place" in r.text for r in result.remarks)
