"""Callbacks that each call makes anew, which are of one code and hold what says that it is equal, and is not."""

from __future__ import annotations

import dataclasses
import functools
import types
from collections import namedtuple
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from .attack import Attack
from .makers import saved

KIND = "B callbacks made anew"
X3, P3 = np.array([1.0, 2.0, 3.0]), np.array([0, 1, 2], dtype=np.int32)


def floats(p):
    return np.asarray(p, jnp.result_type(float))


def host(function):
    def called(p):
        return jax.pure_callback(function, jax.ShapeDtypeStruct(p.shape, jnp.result_type(float)), p)

    return called


def anew(name, make, right=2.0, wrong=3.0):
    """x·host(p), whose rule multiplies by what another host, made in the same way, returns."""

    def value(x, p):
        return x * host(make(right))(p)

    def bwd(args, g):
        return g * host(make(wrong))(args[1]), None

    return Attack(
        f"anew_{name}",
        KIND,
        saved(value, bwd),
        lambda x, p: x * right * p,
        "n, n:int -> n",
        lambda: (X3, P3),
    )


def named(by):
    def tag():
        return None

    tag.__name__ = str(by)
    return lambda p: floats(p) * float(tag.__name__)


def qualified(by):
    def tag():
        return None

    tag.__qualname__ = str(by)
    return lambda p: floats(p) * float(tag.__qualname__)


def documented(by):
    def tag():
        return None

    tag.__doc__ = str(by)
    return lambda p: floats(p) * float(tag.__doc__)


def annotated(by):
    def tag():
        return None

    tag.__annotations__ = {"return": by}
    return lambda p: floats(p) * tag.__annotations__["return"]


def of_a_module(by):
    def tag():
        return None

    tag.__module__ = str(by)
    return lambda p: floats(p) * float(tag.__module__)


def by_wraps(by):
    """A decorator that hands on the name."""

    def named_after():
        return None

    named_after.__name__ = f"times {by}"

    @functools.wraps(named_after, updated=(), assigned=("__name__",))
    def tag():
        return None

    del tag.__wrapped__
    return lambda p: floats(p) * float(tag.__name__.removeprefix("times "))


def with_metadata(by):
    """Two dtypes are equal, whatever they are told beside."""
    kind = np.dtype(np.float64, metadata={"by": by})
    return lambda p: floats(p) * kind.metadata["by"]


class Told(jax.ShapeDtypeStruct):
    """A shape with more to it."""

    def __init__(self, by):
        super().__init__((), np.float32)
        object.__setattr__(self, "by", by) if hasattr(type(self), "__dict__") else None

    def __eq__(self, other):
        return isinstance(other, Told)

    def __hash__(self):
        return 7


def of_a_shape(by):
    shape = Told(by)
    return lambda p: floats(p) * shape.by


def of_signed_zero(by):
    """0 and −0 are equal."""
    zero = np.copysign(0.0, by - 2.5)
    return lambda p: floats(p) * (2.0 if np.signbit(zero) else 3.0)


def of_a_python_zero(by):
    zero = -0.0 if by < 2.5 else 0.0
    return lambda p: floats(p) * (2.0 if np.signbit(zero) else 3.0)


def of_zeros_in_a_tuple(by):
    zero = (-0.0 if by < 2.5 else 0.0, 1)
    return lambda p: floats(p) * (2.0 if np.signbit(zero[0]) else 3.0)


def of_a_complex_zero(by):
    zero = complex(0.0, -0.0 if by < 2.5 else 0.0)
    return lambda p: floats(p) * (2.0 if np.signbit(zero.imag) else 3.0)


def true_or_one(by):
    """True and 1 are equal."""
    one = True if by < 2.5 else 1
    return lambda p: floats(p) * (2.0 if one is True else 3.0)


def one_or_real_one(by):
    one = 1 if by < 2.5 else 1.0
    return lambda p: floats(p) * (2.0 if isinstance(one, int) else 3.0)


def in_a_tuple_of_ones(by):
    one = (1, "a") if by < 2.5 else (True, "a")
    return lambda p: floats(p) * (3.0 if one[0] is True else 2.0)


def frozen_sets(by):
    ones = frozenset([1]) if by < 2.5 else frozenset([True])
    return lambda p: floats(p) * (3.0 if next(iter(ones)) is True else 2.0)


def fractions(by):
    one = Fraction(1) if by < 2.5 else 1
    return lambda p: floats(p) * (2.0 if isinstance(one, Fraction) else 3.0)


Pair = namedtuple("Pair", "a b")


def named_tuples(by):
    pair = Pair(by, 1)
    return lambda p: floats(p) * pair.a


def tuples_by_class(by):
    pair = Pair(2.0, 3.0) if by < 2.5 else (2.0, 3.0)
    return lambda p: floats(p) * (2.0 if hasattr(pair, "a") else 3.0)


@dataclasses.dataclass(frozen=True)
class Choice:
    name: str = "same"
    by: float = dataclasses.field(default=0.0, compare=False)


def frozen_data(by):
    choice = Choice(by=by)
    return lambda p: floats(p) * choice.by


def frozen_data_in_a_tuple(by):
    choice = (Choice(by=by), 1)
    return lambda p: floats(p) * choice[0].by


class Caller:
    """Objects that are equal, with a method and a call."""

    def __init__(self, by):
        self.by = by

    def __eq__(self, other):
        return isinstance(other, Caller)

    def __hash__(self):
        return 7

    def __call__(self, p):
        return floats(p) * self.by

    def method(self, p):
        return floats(p) * self.by


def in_a_partial(by):
    return functools.partial(lambda p, c: floats(p) * c.by, c=Caller(by))


def partial_of_an_object(by):
    return functools.partial(Caller(by))


def partial_of_a_method(by):
    return functools.partial(Caller(by).method)


def of_a_partial_method(by):
    class Here:
        times = functools.partialmethod(lambda self, by, p: floats(p) * by, by)

    return Here().times


def keyword_only(by):
    def called(p, *, by=by):
        return floats(p) * by

    return called


def keyword_only_object(by):
    def called(p, *, c=Caller(by)):  # noqa: B008
        return floats(p) * c.by

    return called


def default_object(by):
    def called(p, c=Caller(by)):  # noqa: B008
        return floats(p) * c.by

    return called


def of_an_attribute(by):
    def inner(p):
        return floats(p) * inner_of[0].by

    inner_of = (types.SimpleNamespace(by=by),)
    return lambda p: inner(p)


def function_with_an_attribute(by):
    def tag():
        return None

    tag.by = by
    return lambda p: floats(p) * tag.by


def function_with_an_object(by):
    def tag():
        return None

    tag.of = Caller(by)
    return lambda p: floats(p) * tag.of.by


def of_other_defaults(by):
    def inner(p, by=by):
        return floats(p) * by

    return lambda p: inner(p)


def of_other_code(by):
    """The same text and names, another constant."""
    space = {"floats": floats}
    exec(f"def called(p):\n    return floats(p) * {by}", space)
    return space["called"]


SPACE = {"floats": floats}


def of_other_code_in_one_place(by):
    exec(f"def called(p):\n    return floats(p) * {by}", SPACE)
    return SPACE["called"]


def of_its_globals(by):
    def called(p):
        return floats(p) * BY  # noqa: F821

    return types.FunctionType(called.__code__, {"floats": floats, "BY": by})


def of_other_builtins(by):
    """What `len` is, in a namespace of its own."""

    def called(p):
        return FLOATS(p) * len(p)  # noqa: F821

    spaces = {"FLOATS": floats, "__builtins__": {"len": lambda p: by}}
    return types.FunctionType(called.__code__, spaces)


def in_a_closed_cell(by):
    def called(p):
        return floats(p) * cell

    cell = by
    return called


def in_nested_closures(by):
    def outer():
        def inner():
            return by

        return inner

    get = outer()
    return lambda p: floats(p) * get()


def of_an_iterator(by):
    import itertools

    numbers = itertools.repeat(by)
    return lambda p: floats(p) * next(numbers)


def of_a_class(by):
    class Here:
        value = by

    return lambda p: floats(p) * Here.value


def of_a_memory(by):
    view = memoryview(np.array([by]))
    return lambda p: floats(p) * view[0]


def of_an_array(by):
    kept = jnp.array([by])
    return lambda p: floats(p) * float(kept[0])


def of_numpy_numbers(by):
    number = np.float64(by)
    return lambda p: floats(p) * number


MAKERS = [
    named,
    qualified,
    documented,
    annotated,
    of_a_module,
    by_wraps,
    with_metadata,
    of_a_shape,
    of_signed_zero,
    of_a_python_zero,
    of_zeros_in_a_tuple,
    of_a_complex_zero,
    true_or_one,
    one_or_real_one,
    in_a_tuple_of_ones,
    frozen_sets,
    fractions,
    named_tuples,
    tuples_by_class,
    frozen_data,
    frozen_data_in_a_tuple,
    Caller,
    in_a_partial,
    partial_of_an_object,
    partial_of_a_method,
    of_a_partial_method,
    keyword_only,
    keyword_only_object,
    default_object,
    of_an_attribute,
    function_with_an_attribute,
    function_with_an_object,
    of_other_defaults,
    of_other_code,
    of_other_code_in_one_place,
    of_its_globals,
    of_other_builtins,
    in_a_closed_cell,
    in_nested_closures,
    of_an_iterator,
    of_a_class,
    of_a_memory,
    of_an_array,
    of_numpy_numbers,
]
ATTACKS = [anew(make.__name__.lower(), make) for make in MAKERS]


@jax.tree_util.register_pytree_node_class
class Node:
    """Integers, with an object that goes beside them."""

    def __init__(self, p, beside):
        self.p, self.beside = p, beside

    def tree_flatten(self):
        return (self.p,), self.beside

    @classmethod
    def tree_unflatten(cls, beside, children):
        return cls(children[0], beside)


def of_a_node(node):
    return floats(node.p) * node.beside.by


def in_a_node(by):
    """One host, of which the argument is told something beside."""

    def called(p):
        shape = jax.ShapeDtypeStruct(p.shape, jnp.result_type(float))
        return jax.pure_callback(of_a_node, shape, Node(p, Caller(by)))

    return called


ATTACKS.append(
    Attack(
        "anew_in_a_node",
        KIND,
        saved(lambda x, p: x * in_a_node(2.0)(p), lambda args, g: (g * in_a_node(3.0)(args[1]), None)),
        lambda x, p: 2 * x * p,
        "n, n:int -> n",
        lambda: (X3, P3),
    )
)
