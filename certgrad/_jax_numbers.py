"""Values that are no numbers, where a program says of none."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp


def no_number(shape: Sequence[int], dtype: Any) -> Any:
    """An array whose entries are undefined: what memory holds that nothing was written to, a choice nobody made."""
    nothing = jnp.full(tuple(shape), jnp.nan, jnp.result_type(float))
    return nothing > 0 if jnp.issubdtype(dtype, jnp.bool_) else nothing.astype(dtype)
