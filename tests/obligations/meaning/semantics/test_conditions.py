"""What an operand needs to be defined is needed of what is made of it, also where its term drops out: x^((2·k)/k)."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from certgrad.obligations.assume.conditions import Atomic, Clause, polys
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.signs import POS
from certgrad.obligations.assume.tensor import Tensor, argument
from certgrad.obligations.meaning.semantics import Context, UnprovedError, interpret
from certgrad.obligations.terms.atoms import Access, access
from certgrad.obligations.terms.polynomials import number
from certgrad.obligations.terms.session import clear_caches
from certgrad.obligations.terms.walk import deep_atoms
from certgrad.obligations.tracing.jax_internals import shape_polys
from tests.obligations.meaning.semantics.example import Example, example, real, whole
from tests.obligations.meaning.semantics.numerics import traced
from tests.obligations.meaning.semantics.table import EXAMPLES

SEVERAL = {"tie", "split"}
"""Their outputs are not all made of all operands."""


def needs(x: Tensor) -> bool:
    atoms = (a for clause in x.defined for p in polys(clause) for a in deep_atoms(p))
    return any(isinstance(a, Access) and a.tensor == "needed" for a in atoms)


@pytest.mark.one_in(18)
@pytest.mark.parametrize("example", [pytest.param(e, id=e.id) for e in EXAMPLES if e.primitive not in SEVERAL])
def test_what_an_operand_needs(example: Example) -> None:
    check(example)


def test_the_number_of_steps_of_a_loop_needs_what_it_is_made_of() -> None:
    def turns(x: jax.Array, k: jax.Array) -> jax.Array:
        return lax.fori_loop(0, k, lambda i, c: c * x, jnp.ones_like(x))

    check(example("while", turns, real("x", "n"), whole("k", "")))


def check(example: Example) -> None:
    program, specs = traced(example, example.first())
    for k, operand in enumerate(example.arguments):
        for constant in (False, True):
            clear_caches()
            needed = (Clause((Atomic("!= 0", access("needed", ())),)),)
            inputs = [argument(a.name, shape_polys(s), a.kind) for a, s in zip(example.arguments, specs, strict=True)]
            inputs[k] = replace(inputs[k], defined=needed)
            if constant:
                inputs[k] = replace(inputs[k], body=number(1 if operand.kind == "bool" else 2), signs=POS)
            try:
                outputs = interpret(Context(Facts()), program, inputs, [True] * len(program.jaxpr.outvars))
            except UnprovedError:
                continue
            assert all(needs(x) for x in outputs if x is not None), f"{operand.name}, constant: {constant}"
