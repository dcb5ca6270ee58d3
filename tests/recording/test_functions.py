"""What was differentiated, in the types of its calls."""

import jax
import jax.numpy as jnp

from certgrad.recording._functions import Functions, certified


def test_a_number_of_pythons_gives_way_to_the_dtype_that_it_meets() -> None:
    """A carry of bfloat16 stays one: as a float32, the number would make another program, which does not trace."""

    def decayed(x: jax.Array, rate: float) -> jax.Array:
        return jnp.sum(jax.lax.scan(lambda c, _: (c * rate, None), x, None, length=3)[0])

    def told(rate: object) -> str:
        functions = Functions()
        functions.note(decayed, False, (jnp.ones(4, "bfloat16"), rate), {})
        (found,) = certified(functions, 60.0)
        return found.verdict

    assert told(0.5) == "proved"
    assert told(jnp.float32(0.5)) == "not certified", "a float32 is one, and JAX refuses the carry"
