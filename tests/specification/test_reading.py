"""What reading a program gives: definitions in order, conditions by form, and loops as recurrences."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import export

from benchmarks.pages.definitions import definition_lines
from benchmarks.pages.written import text
from certgrad.language.build import sum_over
from certgrad.language.definedness import defined
from certgrad.language.substitute import substitute
from certgrad.language.tree import Index, Integer
from certgrad.specification.program import Defined, Loop, Program
from certgrad.specification.reading import meaning
from certgrad.specification.rule import UnreadableError


def read(fn: Callable[..., Any], *shapes: str) -> Program:
    n, m = export.symbolic_shape("n, m")
    sizes = {"n": n, "m": m}
    specs = [jax.ShapeDtypeStruct(tuple(sizes[d] for d in s.split()), jnp.float32) for s in shapes]
    return meaning(jax.make_jaxpr(fn)(*specs))


def program_text(program: Program) -> str:
    """A line an equation."""
    return "\n".join(line for d in program.definitions for line in definition_lines(d))


def test_a_product_of_matrices() -> None:
    assert program_text(read(lambda x, y: x @ y, "n m", "m n")) == (
        "v1[i0, i1] = Σ_{k0<m} x0[i0, k0]·x1[k0, i1]\nout0[i0, i1] = v1[i0, i1]"
    )


def test_a_scan_is_a_recurrence() -> None:
    program = read(lambda x: jax.lax.scan(lambda c, y: (c * y, None), jnp.float32(1), x)[0], "n")
    (loop,) = (d for d in program.definitions if isinstance(d, Loop))
    assert program_text(program).splitlines() == [
        "for t1 = 0, 1, … below n",
        "  v1[0] = 1",
        "  v2[t1] = v1[t1]·x0[t1]",
        "  v1[t1 + 1] = v2[t1]",
        "out0 = v1[n]",
    ]
    assert [c.tensor.times for c in loop.carries] == [("t1",)]


def test_what_no_output_needs_is_left_out() -> None:
    assert len(read(lambda x: (jnp.log(x), x + 1)[1], "n").definitions) == 2


@pytest.mark.parametrize(
    "fn, where",
    [
        (lambda x: 1 / x, "x0[i0] is defined ∧ ¬(x0[i0] = 0)"),
        (jnp.log, "x0[i0] is defined ∧ 0 < x0[i0]"),
        (jnp.sqrt, "x0[i0] is defined ∧ 0 ≤ x0[i0]"),
        (lambda x: jnp.cumsum(x), "for all k0<i0 + 1: x0[k0] is defined"),
        (lambda x: x**-0.5, "x0[i0] is defined ∧ 0 < x0[i0]"),
    ],
)
def test_conditions_follow_from_the_form(fn: Callable[..., Any], where: str) -> None:
    one = next(d for d in read(fn, "n").definitions if isinstance(d, Defined) and d.primitive != "output")
    assert text(defined(one.entry)) == where


def test_a_bound_variable_is_not_captured() -> None:
    total = sum_over("k", Integer(3), Index("k") * Index("i"))
    assert text(substitute(total, {"i": Index("k")})) == "Σ_{k'<3} k'·k"


MODELS = {
    "perceptrons": ("mlp",),
    "convolutions": ("cnn", "resnet_block", "unet_block"),
    "transformers": ("attention_block", "gpt2", "llama_block"),
    "recurrent": ("lstm",),
    "generative": ("vae", "flow"),
    "scientific": ("neural_ode", "pinn", "gcn"),
    "contrastive": ("simclr",),
}


@pytest.mark.one_in(15)
@pytest.mark.parametrize("module, name", [(m, n) for m, names in MODELS.items() for n in names])
def test_a_model_with_its_gradient(module: str, name: str) -> None:
    """Every primitive that the model and its gradient use has a rule."""
    fn, args = getattr(importlib.import_module(f"examples.models.{module}"), name)()
    leaves, tree = jax.tree.flatten(args)
    real = [jnp.issubdtype(x.dtype, jnp.floating) for x in leaves]

    def loss(moving: list) -> Any:
        given = iter(moving)
        return jnp.sum(
            fn(*jax.tree.unflatten(tree, [next(given) if r else x for x, r in zip(leaves, real, strict=True)]))
        )

    moving = [x for x, r in zip(leaves, real, strict=True) if r]
    program = meaning(jax.make_jaxpr(jax.value_and_grad(loss))(moving))
    assert len(program.outputs) == 1 + len(moving)


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8", "uint32"])
@pytest.mark.parametrize(
    "computed", [lambda i: i + i, lambda i: i * i, lambda i: jnp.sum(i, dtype=i.dtype), lambda i: -i, jnp.cumsum]
)
def test_arithmetic_that_wraps_around_is_not_read(computed: Callable[..., Any], dtype: str) -> None:
    with pytest.raises(UnreadableError, match=f"of integers of dtype {dtype}, which wrap around"):
        read(lambda x: computed(x.astype(dtype)).astype(jnp.float32) * x, "n")


def test_narrow_integers_that_are_only_moved_or_compared_are_read() -> None:
    program = read(lambda x: jnp.where(jnp.flip(x.astype(jnp.uint8)) > 2, x, 0.0), "n")
    assert program.outputs[0].sort == "real"
