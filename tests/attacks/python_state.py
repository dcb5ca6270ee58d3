"""A5: Python with a state. Each way to count calls makes a rule that is wrong from the third call on, and one that is
right at the first 150 calls: no number of traces shows it."""

from __future__ import annotations

import itertools
from types import FunctionType

import jax
import numpy as np

from . import counters_iterators, counters_objects, counters_outside
from .attack import Attack
from .example import custom
from .makers import LATE, ones, square


def in_fwd(counter, late):
    """The forward rule keeps twice its residual, late."""

    def make():
        count = counter()
        return custom(square, lambda x: (x * x, x if count() < late else 2 * x), lambda x, g: (2 * x * g,))

    return make


def in_bwd(counter, late):
    """The backward rule takes another factor, late."""

    def make():
        count = counter()
        return custom(square, lambda x: (x * x, x), lambda x, g: ((2 if count() < late else 3) * x * g,))

    return make


def second_time():
    """What people write: a running scale that the backward rule divides by."""
    scale = {"value": 1.0}

    def bwd(x, g):
        out = 2 * x * g * scale["value"]
        scale.update(value=scale["value"] * 0.5)
        return (out,)

    return custom(square, lambda x: (x * x, x), bwd)


def stale_residual():
    """The forward rule remembers the last shape, and keeps another residual where it is the same again."""
    kept = {}

    def fwd(x):
        again = kept.get("shape") == x.shape
        kept["shape"] = x.shape
        return x * x, (2 * x if again else x)

    return custom(square, fwd, lambda x, g: (2 * x * g,))


def every_other_call():
    factors = itertools.cycle([2, 2, 2, 4])
    return custom(square, lambda x: (x * x, x), lambda x, g: (next(factors) * x * g,))


def by_callback():
    calls = itertools.count()

    def host(x):
        return np.asarray((2 if next(calls) < LATE else 3) * np.asarray(x), dtype=np.asarray(x).dtype)

    def bwd(x, g):
        return (jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x) * g,)

    return custom(square, lambda x: (x * x, x), bwd)


def layer_that_warms_up():
    """What people write: an object that counts its steps and scales the gradient down later."""

    class Layer:
        def __init__(self):
            self.step = 0
            self.rule = custom(square, lambda x: (x * x, x), self.bwd)

        def bwd(self, x, g):
            self.step += 1
            return (2 * x * g * (1.0 if self.step < LATE else 0.5),)

    return Layer().rule


COUNTERS = [
    value
    for module in (counters_iterators, counters_objects, counters_outside)
    for value in vars(module).values()
    if isinstance(value, FunctionType) and value.__module__ == module.__name__
]
WHOLE = [second_time, stale_residual, every_other_call, by_callback, layer_that_warms_up]

ATTACKS = [
    *(
        Attack(f"late_{c.__name__}_in_bwd", "A5 late state", in_bwd(c, LATE), square, "n -> n", ones(3))
        for c in COUNTERS
    ),
    *(
        Attack(f"late_{c.__name__}_in_fwd", "A5 late state", in_fwd(c, LATE), square, "n -> n", ones(3))
        for c in COUNTERS[::6]
    ),
    *(
        Attack(f"soon_{c.__name__}", "A5 state", in_bwd(c, 2), square, "n -> n", ones(3))
        for c in (counters_iterators.generator, counters_iterators.a_queue, counters_outside.lru_cache)
    ),
    *(Attack(c.__name__, "A5 late state", c, square, "n -> n", ones(3)) for c in WHOLE),
]
