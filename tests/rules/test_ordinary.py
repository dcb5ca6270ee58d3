"""`certgrad audit examples/ordinary`: every rule is right, and proved."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from certgrad.obligations.certificate import Certificate
from certgrad.report.audited import listed

ROOT = Path(__file__).parents[2]
UNDER = {
    "activations:hard_tanh": ["x ≠ 1", "x ≠ −1"],
    "activations:leaky_relu": ["x ≠ 0 or alpha = 1"],
    "indexing:picked": ["i ≤ d − 1", "i ≥ 0"],
    "indexing:rows": ["i ≤ v − 1", "i ≥ 0"],
    "losses:cross_entropy": ["y ≤ d − 1", "y ≥ 0"],
    "losses:gaussian": ["variance > 0"],
    "losses:hinge": ["y·z ≠ 1"],
    "reductions:geometric_mean": ["x > 0"],
}


@pytest.mark.slow
def test_every_rule_is_proved() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "certgrad", "audit", "examples/ordinary", "--format", "json"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not {"CG201", "CG202", "CG206"} & set(done.stderr.split())
    certificates = {c["op"].removeprefix("ordinary."): c for c in json.loads(done.stdout)["certificates"]}
    assert len(certificates) >= 50
    verdicts = {name: c["verdict"] for name, c in certificates.items()}
    assert verdicts == {name: "proved under hypotheses" if name in UNDER else "proved" for name in verdicts}
    found = {name: listed(msgspec.convert(certificates[name], Certificate)) for name in UNDER}
    assert found == UNDER
