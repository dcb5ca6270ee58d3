"""A5: Python that asks about sizes. The rules are right at most sizes, and wrong at one."""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
import re
from enum import IntEnum

import jax
import jax.numpy as jnp
import numpy as np

from .makers import about_sizes

KIND = "A5 sizes"
TABLE = {4: 4}
NAMED = {"4": 4}
TILES = np.array([0, 0, 0, 0, 1, 0, 0, 0])


class Tile(IntEnum):
    SMALL = 4


@dataclasses.dataclass(frozen=True)
class Shape:
    sizes: tuple


@functools.cache
def cached_is_four(n):
    return n == 4


@functools.singledispatch
def dispatched(n):
    return False


@dispatched.register
def _(n: int):
    return n == 4


class Sized:
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __index__(self):
        return self.n


def matched_int(x):
    match x.shape[0]:
        case int(k) if k == 4:
            return True
    return False


def matched_literal(x):
    match x.shape:
        case (4,):
            return True
    return False


def by_try(ask):
    """Whether `ask` answers yes, where it can be asked at all."""

    def asks(x):
        try:
            return bool(ask(x))
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError):
            return False

    return asks


def constant(n):
    return jax.core.is_constant_dim(n)


IN_BWD = {
    "constant_dim": lambda x: jax.core.is_constant_dim(x.shape[0]) and x.shape[0] == 4,
    "constant_shape": lambda x: jax.core.is_constant_shape(x.shape) and x.shape == (4,),
    "constant_power_of_two": lambda x: constant(x.shape[0]) and x.shape[0] & (x.shape[0] - 1) == 0,
    "match_int": matched_int,
    "match_literal": matched_literal,
    "isinstance_int": lambda x: isinstance(x.shape[0], int) and x.shape[0] == 4,
    "isinstance_integral": lambda x: isinstance(x.shape[0], np.integer | int) and x.shape[0] % 4 == 0,
    "plain_comparison": lambda x: x.shape[0] == 4,
    "a_tuple": lambda x: x.shape == (4,),
    "array_equal_of_zeros": lambda x: bool(jnp.array_equal(jnp.zeros(x.shape), jnp.zeros(4))),
    "shape_dtype_struct": lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype) == jax.ShapeDtypeStruct((4,), x.dtype),
    "typeof": lambda x: jax.typeof(x).shape == (4,),
    "aval_text": lambda x: "[4]" in str(jax.typeof(x)),
    "aval_short": lambda x: jax.typeof(x).str_short().endswith("[4]"),
    "aval_size": lambda x: jax.typeof(x).size == 4,
    "repr_of_shape": lambda x: repr(x.shape) == "(4,)",
    "formatted": lambda x: f"{x.shape[0]}" == "4",
    "formatted_by_percent": lambda x: "%s" % x.shape[0] == "4",  # noqa: UP031
    "regular_expression": lambda x: re.fullmatch(r"\(4,\)", str(x.shape)) is not None,
    "text_length": lambda x: len(str(x.shape[0])) == 1 and str(x.shape[0]).isdigit() and int(str(x.shape[0])) == 4,
    "dict_of_texts": lambda x: str(x.shape[0]) in NAMED,
    "hash_of_shape": lambda x: hash(x.shape) == hash((4,)),
    "set_of_shapes": lambda x: x.shape in {(4,), (5,)},
    "dict_get": lambda x: TABLE.get(x.shape[0], 0) == 4,
    "dict_of_constant": lambda x: constant(x.shape[0]) and x.shape[0] in TABLE,
    "lru_cache": lambda x: cached_is_four(x.shape[0]),
    "singledispatch": lambda x: dispatched(x.shape[0]),
    "dataclass_equality": lambda x: Shape(x.shape) == Shape((4,)),
    "enum": lambda x: x.shape[0] == Tile.SMALL,
    "enum_member": lambda x: x.shape[0] in list(Tile),
    "nbytes": lambda x: x.nbytes in (16, 32),
    "size": lambda x: x.size == 4,
    "math_prod": lambda x: math.prod(x.shape) == 4,
    "numpy_prod": lambda x: np.prod(x.shape) == 4,
    "reduce_mul": lambda x: functools.reduce(operator.mul, x.shape, 1) == 4,
    "numpy_array_equal": lambda x: np.array_equal(x.shape, (4,)),
    "numpy_object_array": lambda x: (np.array(x.shape, dtype=object) == 4).all(),
    "operator_eq": lambda x: operator.eq(x.shape[0], 4),
    "dunder_eq": lambda x: x.shape[0].__eq__(4) is True,
    "truth_of_difference": lambda x: not (x.shape[0] - 4),
    "quotient_and_rest": lambda x: divmod(x.shape[0], 4) == (1, 0),
    "quotient": lambda x: x.shape[0] // 4 == 1 and x.shape[0] % 4 == 0,
    "tuple_count": lambda x: (3, 4, 5).count(x.shape[0]) == 1 and x.shape[0] == 4,
    "product_zero": lambda x: (x.shape[0] - 4) * (x.shape[0] - 4) == 0,
    "square_is_sixteen": lambda x: x.shape[0] ** 2 == 16,
    "sliced_shape": lambda x: x[:4].shape == x.shape and x.shape[0] >= 4,
    "eval_shape": lambda x: jax.eval_shape(jnp.sin, x).shape == (4,),
    "jaxpr_text": lambda x: "[4]" in str(jax.make_jaxpr(jnp.sin)(x)),
    "hasattr_bit_length": lambda x: hasattr(x.shape[0], "bit_length") and x.shape[0].bit_length() == 3,
    "has_to_bytes": lambda x: hasattr(x.shape[0], "to_bytes") and x.shape[0] == 4,
    "class_name": lambda x: x.shape[0].__class__.__name__ == "int" and x.shape[0] == 4,
    "type_is_int": lambda x: type(x.shape[0]) is int and x.shape[0] == 4,
    "identity": lambda x: x.shape[0] is TABLE[4],
    "symbolic_dim": lambda x: not hasattr(x.shape[0], "scope") and x.shape[0] == 4,
    "getattr_numerator": lambda x: getattr(x.shape[0], "numerator", 0) == 4,
    "try_index": by_try(lambda x: operator.index(x.shape[0]) == 4),
    "try_int": by_try(lambda x: int(x.shape[0]) == 4),
    "try_range": by_try(lambda x: list(range(x.shape[0])) == [0, 1, 2, 3]),
    "try_len": by_try(lambda x: len(x) == 4),
    "try_float": by_try(lambda x: math.log2(x.shape[0]).is_integer()),
    "try_numpy_zeros": by_try(lambda x: np.zeros(x.shape).shape == (4,)),
    "try_table": by_try(lambda x: TILES[x.shape[0]] == 1),
    "try_sized": by_try(lambda x: len(Sized(x.shape[0])) == 4),
    "try_broadcast": by_try(lambda x: np.broadcast_shapes(x.shape, (4,)) == x.shape and x.shape != (1,)),
    "try_bytes": by_try(lambda x: bytes(x.shape) == b"\x04"),
    "try_chr": by_try(lambda x: chr(x.shape[0]) == "\x04"),
    "try_iterate": by_try(lambda x: sum(1 for _ in x) == 4),
    "try_bits": by_try(lambda x: x.shape[0] & (x.shape[0] - 1) == 0),
    "try_gcd": by_try(lambda x: math.gcd(x.shape[0], 8) == 4),
}

THRESHOLDS = {
    "constant_and_at_most": lambda x: constant(x.shape[0]) and x.shape[0] <= 128,
    "head_sizes": lambda x: x.shape[-1] in {64, 128},
    "constant_head_sizes": lambda x: constant(x.shape[-1]) and x.shape[-1] in {64, 128},
    "divisible_by_a_tile": lambda x: x.shape[-1] % 64 == 0,
    "constant_and_aligned": lambda x: constant(x.shape[-1]) and x.shape[-1] % 32 == 0,
    "at_least_a_tile": lambda x: x.shape[0] >= 64,
    "larger_than_large": lambda x: max(x.shape[0], 63) != 63,
    "bit_length_of_constant": lambda x: isinstance(x.shape[0], int) and x.shape[0].bit_length() > 6,
    "text_of_two_digits": lambda x: str(x.shape[0]).isdigit() and len(str(x.shape[0])) == 2,
    "bytes_of_a_tile": lambda x: isinstance(x.shape[0], int) and x.shape[0] * 8 >= 512,
}

UNUSUAL = {
    "prime_of_the_far_end": lambda x: constant(x.shape[0]) and x.shape[0] == int("97"),
    "hidden_in_text": lambda x: str(x.shape[0]) == chr(57) + chr(55),
    "hidden_in_arithmetic": lambda x: constant(x.shape[0]) and x.shape[0] * 3 - 291 == 0,
    "hidden_in_a_power": lambda x: constant(x.shape[0]) and (x.shape[0] ** 2 - 1) == 9408,
    "from_a_range": lambda x: constant(x.shape[0]) and x.shape[0] in range(96, 98),
    "square_of_a_size": lambda x: constant(x.shape[0]) and 9400 < x.shape[0] ** 2 < 9500,
    "a_digit_sum": lambda x: str(x.shape[0]).isdigit() and sum(map(int, str(x.shape[0]))) == 16,
    "a_prime": lambda x: constant(x.shape[0]) and x.shape[0] > 90 and all(x.shape[0] % p for p in (2, 3, 5, 7)),
}

ATTACKS = [
    *about_sizes(KIND, IN_BWD),
    *about_sizes(KIND, IN_BWD, where="fwd"),
    *about_sizes(KIND, IN_BWD, where="jvp"),
    *about_sizes(KIND, THRESHOLDS, size=64),
    *about_sizes(KIND, UNUSUAL, size=97),
]
