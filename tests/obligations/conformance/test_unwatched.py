"""Questions that code asks where nobody seems to watch: in threads, in what JAX calls back, and of garbage."""

import gc
import math
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certgrad

SET: weakref.WeakSet = weakref.WeakSet()
WORKER = ThreadPoolExecutor(1)
LOCK = threading.Lock()


def asked(x):
    """At sizes that nothing names."""
    n = x.shape[0]
    return jax.core.is_constant_dim(n) and math.gcd(n, 30) == 1 and n % 30 > 20


def through_a_callback(x):
    found = []
    with jax.ensure_compile_time_eval():
        jax.pure_callback(lambda v: (found.append(asked(x)), v)[1], jax.ShapeDtypeStruct((), np.float32), np.float32(0))
    return found[0]


def through_a_host(x):
    """It is called where the rule runs, and not while it is traced."""
    found = [0]

    def host(v):
        found[0] = 1
        return v

    jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
    return found[0] * (x.shape[0] == 53)


def through_a_worker(x):
    return WORKER.submit(asked, x).result()


def by_garbage(x):
    return len(gc.get_objects()) < 0


def by_references(x):
    return sys.getrefcount(SET) > 1000


WAYS = [
    through_a_callback,
    through_a_host,
    through_a_worker,
    by_garbage,
    by_references,
]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("ask", WAYS)
def test_a_question_that_is_asked_elsewhere(ask):
    f = jax.custom_vjp(lambda x: x * x)
    f.defvjp(lambda x: (x * x, x), lambda x, g: ((2 + 2 * int(ask(x))) * x * g,))
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
