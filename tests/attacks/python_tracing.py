"""A5: Python that asks whether it is traced. The rules are right as they are traced, and wrong as they run eagerly."""

from __future__ import annotations

import copy
import inspect
import sys
import traceback

import jax
import jax.numpy as jnp
import numpy as np

from .attack import Attack
from .example import custom
from .makers import asked_in_bwd, asked_in_fwd, asked_in_jvp, ones, square
from .python_sizes import by_try

KIND = "A5 tracing"


def raises(ask):
    """Whether `ask` raises."""

    def asks(x):
        try:
            ask(x)
        except Exception:
            return True
        return False

    return asks


def matched_class(x):
    match x:
        case jax.core.Tracer():
            return False
    return True


def file_names():
    return {frame.filename.rsplit("/", 1)[-1] for frame in traceback.extract_stack()}


EAGER = {
    "isinstance_tracer": lambda x: not isinstance(x, jax.core.Tracer),
    "match_tracer": matched_class,
    "type_name": lambda x: "Tracer" not in type(x).__name__,
    "type_of": lambda x: type(x) is type(jnp.zeros(1)),
    "class_module": lambda x: "interpreters" not in x.__class__.__module__,
    "hasattr_trace": lambda x: not hasattr(x, "_trace"),
    "hasattr_buffer": lambda x: hasattr(x, "unsafe_buffer_pointer"),
    "repr_traced": lambda x: repr(x).startswith("Array("),
    "str_of_value": lambda x: str(x).startswith("["),
    "formatted_value": lambda x: f"{x}".startswith("["),
    "in_dir": lambda x: "_trace" not in dir(x),
    "mro": lambda x: len(type(x).__mro__) < 3 or "Tracer" not in str(type(x).__mro__),
    "in_vars": raises(lambda x: vars(x)),
    "slots": lambda x: not hasattr(type(x), "__slots__") or "_trace" not in type(x).__slots__,
    "is_concrete": lambda x: jax.core.is_concrete(x),
    "isinstance_numpy_or_array": lambda x: isinstance(np.shape(x)[0], int),
    "hash_fails": raises(hash),
    "try_numpy": by_try(lambda x: np.asarray(x).size > 0),
    "try_float": by_try(lambda x: float(x[0]) > 0.5),
    "try_item": by_try(lambda x: x[0].item() > 0.5),
    "try_tolist": by_try(lambda x: x.tolist() != []),
    "try_bool": by_try(lambda x: bool(x[0] > 0.5)),
    "try_bytes_of": by_try(lambda x: x.tobytes() != b""),
    "try_ready": by_try(lambda x: x.block_until_ready() is x and x.is_ready()),
    "try_devices": by_try(lambda x: len(x.devices()) == 1),
    "try_sharding": by_try(lambda x: x.sharding.num_devices == 1),
    "addressable": by_try(lambda x: x.is_fully_addressable),
    "deleted": by_try(lambda x: not x.is_deleted()),
    "try_copy": by_try(lambda x: type(copy.copy(x)) is type(jnp.zeros(1))),
    "numpy_function": by_try(lambda x: np.sum(np.square(x)) > 0.5),
    "buffer_protocol": by_try(lambda x: memoryview(x).nbytes > 0),
    "array_interface": lambda x: hasattr(x, "__cuda_array_interface__") or hasattr(x, "addressable_shards"),
    "dlpack": by_try(lambda x: np.from_dlpack(x).size > 0),
    "frames": lambda x: not any("pjit" in name or "partial_eval" in name for name in file_names()),
    "stack_depth": lambda x: len(inspect.stack(0)) < 45,
    "own_caller": lambda x: "certgrad" not in "".join(f.filename for f in traceback.extract_stack()),
    "frame_walk": lambda x: not walks_to("certgrad"),
    "size_of_object": lambda x: sys.getsizeof(x) != sys.getsizeof(jax.make_jaxpr) and "Tracer" not in str(type(x)),
    "string_of_shape": lambda x: str(x.shape[0]).isdigit(),
}


def walks_to(package):
    frame = sys._getframe()
    while frame is not None:
        if package in frame.f_globals.get("__name__", ""):
            return True
        frame = frame.f_back
    return False


def dispatching():
    """x², whose backward rule has another version for arrays that are there."""
    from functools import singledispatch

    @singledispatch
    def factor(x):
        return 2

    factor.register(type(jnp.zeros(1)), lambda x: 4)
    return custom(square, lambda x: (x * x, x), lambda x, g: (factor(x) * x * g,))


def by_numpy():
    """x², with a backward rule for numpy that forgets a factor, where numpy can do it."""

    def bwd(x, g):
        try:
            return (jnp.asarray(np.multiply(np.asarray(x), np.asarray(g))),)
        except jax.errors.TracerArrayConversionError:
            return (2 * x * g,)

    return custom(square, lambda x: (x * x, x), bwd)


def fast_where_all_positive():
    """x·|x|, that takes a fast path where it can look at the values."""

    def bwd(x, g):
        try:
            if (x > 0).all():
                return (x * g,)
        except jax.errors.ConcretizationTypeError:
            pass
        return (2 * jnp.abs(x) * g,)

    return custom(lambda x: x * jnp.abs(x), lambda x: (x * jnp.abs(x), x), bwd)


def identity_of_residuals():
    """x·y for the same array twice: the backward rule asks whether both are the same object."""

    def bwd(residuals, g):
        x, y = residuals
        return (g * y, (g * x if x is not y else 0 * x))

    return custom(lambda x, y: x * y, lambda x, y: (x * y, (x, y)), bwd)


ATTACKS = [
    *(Attack(f"traced_by_{n}_in_bwd", KIND, asked_in_bwd(q), square, "n -> n", ones(3)) for n, q in EAGER.items()),
    *(
        Attack(f"traced_by_{n}_in_fwd", KIND, asked_in_fwd(q), square, "n -> n", ones(3))
        for n, q in list(EAGER.items())[::5]
    ),
    *(
        Attack(f"traced_by_{n}_in_jvp", KIND, asked_in_jvp(q), square, "n -> n", ones(3))
        for n, q in list(EAGER.items())[2::6]
    ),
    Attack("traced_by_dispatch", KIND, dispatching, square, "n -> n", ones(3)),
    Attack("traced_by_numpy_arithmetic", KIND, by_numpy, square, "n -> n", ones(3)),
    Attack("traced_by_looking_at_values", KIND, fast_where_all_positive, lambda x: x * jnp.abs(x), "n -> n", ones(3)),
    Attack(
        "same_array_twice",
        KIND,
        identity_of_residuals,
        lambda x, y: x * y,
        "n, n -> n",
        lambda: (lambda v: (v, v))(jnp.array([1.0, 2.0])),
    ),
]
