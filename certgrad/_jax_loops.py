"""How the parameters of a loop say what its operands are, in each version of JAX."""

from collections.abc import Mapping
from typing import Any


def scan_counts(params: Mapping[str, Any]) -> tuple[int, int]:
    """How many operands of a `scan` are constants, and how many are carried; the others are gone through."""
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    consts, carries, *_ = params["ft_in"].unpack()  # from JAX 0.11 on, they are counted by trees
    return len(consts), len(carries)
