"""Models of libraries, in their own dtypes: what is certified of each is swept as `jax.grad` does, up to rounding."""

from __future__ import annotations

import importlib

import jax.numpy as jnp
import pytest

from benchmarks.corpus.entries import Entry, entries
from benchmarks.corpus.run import can_run
from benchmarks.library_models._model import MODELS
from benchmarks.models import difference
from certgrad import trace
from certgrad.accel import compile_graph
from certgrad.graph.certifying.certify import certification

UNITS = 64
"""How many units in the last place of the coarsest dtype two orders of the same sums may be apart."""
PROVED = [
    e for e in entries().values() if e.source == "library_models" and e.id != "library_models/numpyro_eight_schools"
]


@pytest.mark.slow
@pytest.mark.parametrize("one", PROVED, ids=lambda one: one.id)
def test_its_sweep_is_that_of_jax(one: Entry) -> None:
    if not can_run(one):
        pytest.skip(f"{one.needs} is not installed")
    module, _, name = one.where.partition(":")
    importlib.import_module(module)
    fn, args = MODELS[name].make()
    done = certification(trace(fn, *args, name=name))
    assert done.certificate.verdict.startswith("proved")
    sweep = compile_graph(done).value_and_grad(*args)
    words = done.certificate.traced_in.split(",")[0].replace(" and ", " ").split()
    coarsest = max(float(jnp.finfo(word).eps) for word in words if word.startswith(("float", "bfloat")))
    assert difference(sweep, fn, args) < UNITS * coarsest
