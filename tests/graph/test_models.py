"""Models that know nothing of certgrad: certified as they are, and swept as JAX does (all: `benchmarks/models.py`)."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from certgrad.accel import compile_graph
from certgrad.graph import trace
from certgrad.graph._certify import certification
from examples.models import recurrent, scientific, training, transformers


@pytest.mark.parametrize(
    "make, left",
    [
        (transformers.attention_block, 0),
        (transformers.llama_block, 0),
        (recurrent.lstm, 0),
        (scientific.pinn, 0),
        (training.simclr, 0),
        (training.adam_step, 2),
    ],
    ids=lambda m: getattr(m, "__name__", ""),
)
def test_a_model(make, left: int) -> None:
    """`left` hypotheses are left to ask; the rest is discharged."""
    with jax.enable_x64(True):
        fn, args = make()
        args = jax.tree.map(lambda x: x.astype(jnp.float64) if eqx.is_inexact_array(x) else x, args)
        done = certification(trace(fn, *args))
        assert done.certificate.findings == []
        assert len(done.certificate.hypotheses) == left
        _, gradients = compile_graph(done).value_and_grad(*args)
        moving, held = eqx.partition(args, eqx.is_inexact_array)
        wanted = jax.jit(jax.grad(lambda part: fn(*eqx.combine(part, held))))(moving)
        for found, one in zip(jax.tree.leaves(gradients), jax.tree.leaves(wanted), strict=True):
            assert float(jnp.max(jnp.abs(found - one))) < 1e-12


def test_gpt2_has_as_many_lemmas_with_twelve_layers_as_with_two() -> None:
    def lemmas(layers: int) -> set[str]:
        make = transformers.Draw()
        params = transformers.gpt_parameters(make, 17, 6, 12, layers)
        found = certification(trace(lambda p, t: transformers.gpt(p, t, 3), params, make.integers(17, 7))).certificate
        assert found.verdict == "proved under hypotheses"
        assert {h.text.split()[0] for h in found.hypotheses} == {"gather"}
        return {one.digest for one in found.lemmas}

    assert lemmas(2) == lemmas(12)
