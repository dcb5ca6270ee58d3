"""What a certified training step costs beside JAX's own: counted by XLA, which no load of the machine changes."""

import pytest

from benchmarks.counted import counted
from benchmarks.train_vs_jax import LIMITS, MODELS, programs

QUICK = [("mlp", "small"), ("lstm", "small")]
CASES = [
    pytest.param(model, size, id=f"{model}, {size}", marks=[] if (model, size) in QUICK else [pytest.mark.slow])
    for model in MODELS
    for size in ("small", "large")
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("model, size", CASES)
def test_the_compiled_step_does_no_more_than_jax_s(model: str, size: str) -> None:
    found = counted(*programs(model, MODELS[model][1][size]))
    above = {what: ratio for what, ratio in found.ratios.items() if ratio > LIMITS[what]}
    assert not above, found
    assert all(a > 0 and b > 0 for a, b in (found.memory, found.operations, found.accessed))
