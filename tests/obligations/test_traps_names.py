"""A primitive of the user's own that carries the name of one of JAX's is not read as that one."""

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive

import certgrad


def test_a_primitive_with_the_name_of_another() -> None:
    impostor = Primitive("sin")
    impostor.def_impl(jnp.cos)
    impostor.def_abstract_eval(lambda x: x)

    @jax.custom_vjp
    def f(x):
        return impostor.bind(x)

    f.defvjp(lambda x: (f(x), x), lambda x, seed: (seed * jnp.cos(x),))
    found = certgrad.check(f, "n -> n")
    assert found.verdict == "unproved"
    assert "primitive sin, which is not JAX's own" in str(found)
