"""Models that know nothing of certgrad: certified as they are, and swept as JAX does (all with `-m slow`)."""

import jax
import jax.numpy as jnp
import pytest

from certgrad.accel import compile_graph
from certgrad.graph import trace
from certgrad.graph.certifying.certify import certification
from examples.models import contrastive, convolutions, generative, perceptrons, recurrent, scientific, transformers

slow = pytest.mark.slow


@pytest.mark.one_in(8)
@pytest.mark.parametrize(
    "make, left",
    [
        (perceptrons.mlp, 1),
        pytest.param(convolutions.cnn, 4, marks=slow),
        pytest.param(convolutions.resnet_block, 2, marks=slow),
        pytest.param(convolutions.unet_block, 0, marks=slow),
        pytest.param(transformers.gpt2, 4, marks=slow),
        pytest.param(generative.vae, 0, marks=slow),
        pytest.param(generative.flow, 0, marks=slow),
        pytest.param(scientific.neural_ode, 0, marks=slow),
        pytest.param(scientific.gcn, 3, marks=slow),
        (transformers.attention_block, 0),
        (transformers.llama_block, 0),
        (recurrent.lstm, 0),
        (scientific.pinn, 0),
        (contrastive.simclr, 0),
    ],
    ids=lambda m: getattr(m, "__name__", ""),
)
def test_a_model(make, left: int) -> None:
    """`left` hypotheses are left to ask; the rest is discharged."""
    check(make, left)


def libraries():
    """The models of Equinox, Flax and optax, which stand in one module."""
    for name in ("equinox", "flax", "optax"):
        pytest.importorskip(name)
    from examples.models import libraries

    return libraries


@pytest.mark.slow
def test_a_step_of_an_optimizer() -> None:
    check(libraries().adam_step, 2)
    check(libraries().gru, 0)


@slow
def test_models_of_equinox_and_flax() -> None:
    check(libraries().classifier, 2)
    check(libraries().vit, 2)


def check(make, left: int) -> None:
    with jax.enable_x64(True):
        fn, args = make()
        args = jax.tree.map(lambda x: x.astype(jnp.float64) if _real(x) else x, args)
        done = certification(trace(fn, *args))
        assert done.certificate.findings == []
        assert len(done.certificate.hypotheses) == left
        _, gradients = compile_graph(done).value_and_grad(*args)
        leaves, tree = jax.tree.flatten(args)
        moving = [x for x in leaves if _real(x)]

        def loss(moving: list) -> jax.Array:
            given = iter(moving)
            return fn(*jax.tree.unflatten(tree, [next(given) if _real(x) else x for x in leaves]))

        for found, one in zip(jax.tree.leaves(gradients), jax.jit(jax.grad(loss))(moving), strict=True):
            assert float(jnp.max(jnp.abs(found - one))) < 1e-12


def _real(x: object) -> bool:
    return isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jnp.floating)


@pytest.mark.slow
def test_gpt2_has_as_many_lemmas_with_twelve_layers_as_with_two() -> None:
    def lemmas(layers: int) -> set[str]:
        make = transformers.Draw()
        params = transformers.gpt_parameters(make, 17, 6, 12, layers)
        found = certification(trace(lambda p, t: transformers.gpt(p, t, 3), params, make.integers(17, 7))).certificate
        assert found.verdict == "proved under hypotheses"
        assert {h.text.split()[0] for h in found.hypotheses} == {"gather"}
        return {one.digest for one in found.lemmas}

    assert lemmas(2) == lemmas(12)
