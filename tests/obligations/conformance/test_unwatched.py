"""Questions about garbage, functions that a program calls on the host, and what objects hold."""

import gc
import math
import sys
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certgrad


def by_garbage(x):
    return len(gc.get_objects()) < 0


def test_a_question_about_garbage():
    f = jax.custom_vjp(lambda x: x * x)
    f.defvjp(lambda x: (x * x, x), lambda x, g: ((2 + 2 * int(by_garbage(x))) * x * g,))
    assert certgrad.check(f, "n -> n").verdict in ("unproved", "refuted", "proved at sizes")


def test_a_host_that_leaves_no_notes():
    """What it computes is its own."""

    def value(x):
        def host(v):
            total = np.zeros_like(v)
            total[...] = np.add(v, 1)
            return total

        return jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="broadcast_all")

    f = jax.custom_vjp(lambda x, y: y * value(x))
    f.defvjp(lambda x, y: (y * value(x), x), lambda x, g: (None, g * value(x)))
    report = certgrad.check(f, "n, n -> n", differentiable=["y"])
    assert report.verdict.startswith("proved"), report


def test_a_sine_that_a_callback_stands_beside():
    def told(x):
        jax.debug.callback(lambda v: None, x)
        return jnp.sin(x)

    f = jax.custom_vjp(told)
    f.defvjp(lambda x: (told(x), x), lambda x, g: (g * jnp.cos(x),))
    assert certgrad.check(f, "n -> n").verdict == "proved"


class Holder:
    """An object that is not called."""

    def __init__(self, **own):
        self.__dict__.update(own)


def held(**own):
    """x², by a rule that reads what an object holds."""
    holder = Holder(**own)

    @jax.custom_vjp
    def f(x):
        return x * x

    f.defvjp(lambda x: (x * x, x), lambda x, g: (2 * x * g + 0 * len(holder.table),))
    return f


@pytest.mark.parametrize("table", [weakref.WeakSet(), {}, [0] * 1000, np.array([[1], [2]], dtype=object)], ids=str)
def test_what_an_object_holds_and_nobody_changes(table):
    assert certgrad.check(held(table=table), "n -> n").verdict == "proved"


def test_modules_that_are_named_and_not_changed():
    @jax.custom_vjp
    def f(x):
        return x * x

    def bwd(x, g):
        return (2 * x * g * (1 if sys.getrecursionlimit() > 1 and np.get_printoptions() and math.pi > 3 else 2),)

    f.defvjp(lambda x: (x * x, x), bwd)
    assert certgrad.check(f, "n -> n").verdict == "proved"


def test_an_object_of_slots_that_counts_calls():
    kind = type("Kind", (), {"__module__": __name__, "__slots__": ("n",)})
    held = kind()
    object.__setattr__(held, "n", 0)

    @jax.custom_vjp
    def f(x):
        return x * x

    def bwd(x, g):
        object.__setattr__(held, "n", held.n + 1)
        return ((4 if held.n > 1000 else 2) * x * g,)

    f.defvjp(lambda x: (x * x, x), bwd)
    assert certgrad.check(f, "n -> n").verdict == "unproved"
