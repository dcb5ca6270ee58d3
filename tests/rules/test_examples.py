"""`certgrad audit examples/rules`: a witness and a cause for every wrong rule.

Verdicts and hypotheses are rows of the corpus (`corpus/entries/examples.jsonl`), which has one for each rule.
"""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from certgrad.cli import app
from certgrad.obligations.tracing.jax_internals import unremembered

FOLDER = Path(__file__).parents[2] / "examples/rules"
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
    "pointwise:wrong_abs": "the derivative of the magnitude",
    "pointwise:wrong_primal": "does not return the function's value",
    "pointwise:wrong_swish": "is treated as a constant",
    "solvers:wrong_kepler": "the cotangent is passed through unchanged",
    "solvers:wrong_ridge": "the cotangent of a: the sign is wrong",
}


def cases(name):
    """Those of the certificate that the command makes of a rule."""
    file, _, rule = name.partition(":")
    target = f"{FOLDER / file}.py:{rule}"
    with unremembered():
        done = CliRunner().invoke(app, ["audit", target, "--format", "json", "--jobs", "1", "--no-cache"])
    (certificate,) = json.loads(done.stdout)["certificates"]
    return [case for claim in certificate["claims"] for case in claim["cases"]]


FORMULAS = {
    "intended:wrong_undeclared_reversal": None,  # meant: nothing is to be added
    "linear:wrong_bias": "add to the cotangent of b[i]: (Σj seed[j,i])",
    "linear:wrong_matmul": "add to the cotangent of a[i,j]: (Σk b[j,k]·seed[i,k]) − (Σk b[i,k]·seed[j,k])",
    "norms:wrong_layer_norm": "add to the cotangent of x[i,j]: −(Σk seed[i,k])/sqrt(",
    "pointwise:wrong_swish": "add to the transpose, the cotangent of x[i]: ",
}


@pytest.mark.one_in(15)
@pytest.mark.parametrize("name", WRONG)
def test_every_wrong_rule_has_a_witness_and_a_cause(name):
    """And what is missing is said where it is short."""
    every = cases(name)
    refuted = [case for case in every if case["verdict"] == "refuted"]
    assert all(case["witness"] for case in refuted)
    assert any(WRONG[name] in case["reason"] for case in refuted)
    if name in FORMULAS:
        told = [case["reason"] for case in every if "add to" in case["reason"]]
        assert (FORMULAS[name] in told[0]) if FORMULAS[name] else not told


def test_every_wrong_rule_is_here():
    made = {
        f"{file.stem}:{name}"
        for file in FOLDER.glob("*.py")
        for name in re.findall(r"^def (wrong_\w+)", file.read_text(), re.M)
    }
    assert made == {*WRONG}
