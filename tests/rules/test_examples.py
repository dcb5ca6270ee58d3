"""`certgrad audit examples/rules`: the expected verdict of every rule, a witness and a cause for every wrong one."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import msgspec
import pytest

from certgrad.obligations.certificate import Certificate
from certgrad.report.audited import listed

ROOT = Path(__file__).parents[2]
PROVED = """
    intended:frozen_scale linear:attention linear:causal_softmax linear:dense linear:project linear:recomputed
    linear:rotary losses:huber losses:kl_divergence losses:mean_squared_error losses:soft_cross_entropy
    norms:cumulative_sum norms:layer_norm norms:logsumexp norms:rms_norm pointwise:dropout pointwise:gelu
    pointwise:square pointwise:swish
""".split()
UNDER = {
    "linear:embedding": ["i ≤ v − 1", "i ≥ 0"],
    "losses:cosine_similarity": ["(Σj x[i,j]^2) > 0", "(Σj y[i,j]^2) > 0"],
    "losses:softmax_cross_entropy": ["y ≤ d − 1", "y ≥ 0"],
    "norms:safe_norm": ["(Σj x[i,j]^2) ≠ 0"],
    "pointwise:safe_log": ["1000000000000000000000000000000·x ≠ 1", "x > 0"],
    "pointwise:safe_sqrt": ["x ≠ 0"],
    "solvers:kepler": [
        "e < 1",
        "e > 0",
        "e[i]·cos(newton[i]) ≠ 1 for i<n",
        "newton solves m[i] + e[i]·sin(newton[i]) = newton[i], continuously",
    ],
    "solvers:ridge": [
        "conjugate_gradients solves (Σ{j, k<n} a[j,i]·a[j,k]·conjugate_gradients[k]) = b[i] − conjugate_gradients[i]",
        "conjugate_gradients′ solves (Σ{j, k<n} a[j,i]·a[j,k]·conjugate_gradients′[k]) = seed[i] − conjugate_gradients′[i]",  # noqa: E501
        "determinant([i-j = 0] + (Σk a[k,i]·a[k,j]) in row i and column j) ≠ 0",
    ],
    "solvers:equilibrium": [
        "adjoint solves (Σ{j<d} iterated[j]^2·adjoint[j]·w[j,i]) = seed[i] + (Σ{j<d} adjoint[j]·w[j,i]) − adjoint[i]",
        "determinant([i-j = 0] + iterated[i]^2·w[i,j] − w[i,j] in row i and column j, i<d, j) ≠ 0",
        "iterated solves tanh(x[i] + (Σ{j<d} iterated[j]·w[i,j])) = iterated[i], continuously",
    ],
}
SURROGATES = ["intended:clipped_gradient", "intended:reversed_gradient", "intended:rounded"]
WRONG = {
    "intended:wrong_undeclared_reversal": "the cotangent is reversed; if that is intended, declare it",
    "intended:wrong_undeclared_sign": "straight-through",
    "linear:wrong_attention": "`total = jnp.sum(e, axis=-1, keepdims=True)`) is treated as a constant",
    "linear:wrong_broadcast": "a sum over the axis n is missing",
    "linear:wrong_bias": "the cotangent of b: zeros are returned",
    "linear:wrong_matmul": "the cotangent of a: transposed",
    "linear:wrong_order": "the cotangent of x is what is returned for w",
    "losses:wrong_mean_squared_error": "a division by n · d is missing",
    "losses:wrong_soft_cross_entropy": "right where t sums to 1",
    "losses:wrong_squared_distance": "the cotangent of y: the sign is wrong",
    "norms:wrong_layer_norm": "`mean = jnp.mean(x, axis=-1, keepdims=True)`) is treated as a constant",
    "norms:wrong_logsumexp": "it is treated as 1",
    "norms:wrong_rms_scale": "divided by n once too often",
    "pointwise:wrong_abs": "right where x > 0",
    "pointwise:wrong_primal": "does not return the function's value",
    "pointwise:wrong_swish": "is treated as a constant",
    "solvers:wrong_kepler": "the cotangent is passed through unchanged",
    "solvers:wrong_ridge": "the cotangent of a: the sign is wrong",
}


QUICK, OTHERS = ("intended", "pointwise"), ("linear", "losses", "norms", "solvers")
"""The files that are audited by default, and those that take longer."""


def marked(names):
    return [pytest.param(n, marks=[pytest.mark.slow] * (n.partition(":")[0] in OTHERS)) for n in names]


@cache
def audited(files):
    """The certificates of the rules of some files, by name."""
    targets = [f"examples/rules/{name}.py" for name in files]
    done = subprocess.run(
        [sys.executable, "-m", "certgrad", "audit", *targets, "--format", "json"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "CG201" not in done.stderr
    found = json.loads(done.stdout)
    rows = found if isinstance(found, list) else found.get("certificates") or found["ops"]
    return {c["op"].removeprefix("rules."): c for c in rows}


def certificate(name):
    return audited(next(files for files in (QUICK, OTHERS) if name.partition(":")[0] in files))[name]


@pytest.mark.slow
@pytest.mark.parametrize("files", [QUICK, pytest.param(OTHERS, marks=pytest.mark.slow)], ids=["quick", "others"])
def test_every_rule_has_the_expected_verdict(files):
    expected = {
        **dict.fromkeys(PROVED, "proved"),
        **dict.fromkeys(UNDER, "proved under hypotheses"),
        **dict.fromkeys(SURROGATES, "surrogate"),
        **dict.fromkeys(WRONG, "refuted"),
    }
    here = {name: verdict for name, verdict in expected.items() if name.partition(":")[0] in files}
    assert {name: c["verdict"] for name, c in audited(files).items()} == here
    assert len(expected) >= 25
    assert {*QUICK, *OTHERS} == {f.stem for f in (ROOT / "examples/rules").glob("*.py")} - {"__init__"}


@pytest.mark.parametrize("name", marked(UNDER))
def test_hypotheses(name):
    assert listed(msgspec.convert(certificate(name), Certificate)) == UNDER[name]


FORMULAS = {
    "intended:wrong_undeclared_reversal": None,  # meant: nothing is to be added
    "linear:wrong_bias": "add to the cotangent of b[i]: (Σj seed[j,i])",
    "linear:wrong_matmul": "add to the cotangent of a[i,j]: (Σk b[j,k]·seed[i,k]) − (Σk b[i,k]·seed[j,k])",
    "norms:wrong_layer_norm": "add to the cotangent of x[i,j]: −(Σk seed[i,k])/sqrt(",
    "pointwise:wrong_swish": "add to the transpose, the cotangent of x[i]: ",
}


@pytest.mark.parametrize("name", marked(FORMULAS))
def test_what_is_missing_is_said_where_it_is_short(name):
    reasons = [case["reason"] for claim in certificate(name)["claims"] for case in claim["cases"]]
    expected = FORMULAS[name]
    assert any("add to" in r for r in reasons) == (expected is not None)
    assert expected is None or any(expected in r for r in reasons)


@pytest.mark.parametrize("name", marked(WRONG))
def test_every_wrong_rule_has_a_witness_and_a_cause(name):
    cases = [case for claim in certificate(name)["claims"] for case in claim["cases"] if case["verdict"] == "refuted"]
    assert all(case["witness"] for case in cases)
    assert any(WRONG[name] in case["reason"] for case in cases)
