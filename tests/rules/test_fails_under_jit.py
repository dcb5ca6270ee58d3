"""A rule that fails under `jit`, where its function runs under it."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certgrad


def gated(x):
    return 2 * x


def rule_of(function, backward):
    f = jax.custom_vjp(function)
    f.defvjp(lambda x: (function(x), jnp.zeros_like(x)), backward)
    return f


def asks(gate, g):
    return (g * (2 + gate) if jnp.any(gate != 0) else 2 * g,)


def test_a_rule_that_asks_a_value_is_refuted_by_a_call_under_jit(tmp_path):
    report = certgrad.check(rule_of(gated, asks), "n -> n")
    assert report.verdict == "refuted"
    reasons = [case.reason for claim in report.claims for case in claim.cases]
    assert any("the function runs under jit and its rule fails: TracerBoolConversionError" in r for r in reasons)
    assert "jax.jit" in report.reproduction


@pytest.mark.slow
def test_the_reproduction_fails_in_the_rule(tmp_path):
    (tmp_path / "asking.py").write_text(
        "import jax, jax.numpy as jnp\n"
        "f = jax.custom_vjp(lambda x: 2 * x)\n"
        "f.defvjp(lambda x: (2 * x, x), lambda x, g: (2 * g if jnp.all(x < 99) else 2 * g,))\n"
    )
    code = "import certgrad, asking; print(certgrad.check(asking.f, 'n -> n', name='asking:f').reproduction)"
    script = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "the function returns" in done.stdout
    assert "TracerBoolConversionError" in done.stderr


@pytest.mark.slow
def test_a_function_that_does_not_run_under_jit_refutes_nothing():
    def concrete(x):
        return 2 * x if float(np.asarray(x).sum()) < 1e30 else x

    assert certgrad.check(rule_of(concrete, asks), "n -> n").verdict == "unproved"


def test_a_rule_that_runs_under_jit_is_proved():
    assert certgrad.check(rule_of(gated, lambda _, g: (2 * g,)), "n -> n").verdict == "proved"
