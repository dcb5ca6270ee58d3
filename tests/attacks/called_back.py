"""Questions and state that hide where nobody watches: what JAX calls back, other threads, what garbage collection
would take away and has not yet."""

from __future__ import annotations

import concurrent.futures
import functools
import gc
import math
import queue
import threading
import weakref

import jax
import numpy as np

from .attack import Attack
from .example import custom
from .makers import LATE, ones, square

UNWATCHED = "A5 code that is not watched"
CYCLES = "A4 state in garbage, late"
SIZE = 23  # which stands in no code that is asked for its numbers, as it is made of others


def odd_one(n):
    """True at 23, 53, 83 … and at no size that is a power of two, small, or written in code."""
    return math.gcd(n, 30) == 1 and n % 30 == len("seven hundred and thirty") - 1


def is_known(n):
    return jax.core.is_constant_dim(n)


def through_a_callback(ask):
    """The answer of a question that is asked where JAX calls the host, while a trace is made."""

    def asks(x):
        found = []

        def host(v):
            found.append(int(bool(ask(x))))
            return v

        with jax.ensure_compile_time_eval():
            jax.block_until_ready(jax.pure_callback(host, jax.ShapeDtypeStruct((), np.float32), np.float32(0)))
        return found[0]

    return asks


def through_a_thread(ask):
    def asks(x):
        found = []
        thread = threading.Thread(target=lambda: found.append(int(bool(ask(x)))))
        thread.start()
        thread.join()
        return found[0]

    return asks


def through_a_pool(ask):
    def asks(x):
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            return int(bool(pool.submit(ask, x).result()))

    return asks


def through_a_timer(ask):
    def asks(x):
        answers = queue.Queue()
        threading.Timer(0, lambda: answers.put(int(bool(ask(x))))).start()
        return answers.get()

    return asks


def through_a_finalizer(ask):
    """Asked when an object goes."""

    def asks(x):
        class Gone:
            pass

        found, thing = [], Gone()
        weakref.finalize(thing, lambda: found.append(int(bool(ask(x)))))
        del thing
        gc.collect()
        return found[0]

    return asks


def through_del(ask):
    def asks(x):
        found = []

        class Gone:
            def __del__(self):
                found.append(int(bool(ask(x))))

        del Gone
        return found[0] if found else 0

    return asks


def through_a_monitor(ask):
    """Asked by a listener of JAX's own events."""

    def asks(x):
        found = []

        def heard(event, **_):
            found.append(int(bool(ask(x))))

        jax.monitoring.register_event_listener(heard)
        try:
            jax.monitoring.record_event("/rule/asked")
        finally:
            jax._src.monitoring.unregister_event_listener(heard)
        return found[0]

    return asks


def arithmetic(ask):
    """x², whose gradient is doubled where the answer, a number, is 1; no instruction depends on it."""

    def bwd(x, g):
        return ((2 + 2 * ask(x)) * x * g,)

    return lambda: custom(square, lambda x: (x * x, x), bwd)


def hidden(x):
    n = x.shape[0]
    return is_known(n) and odd_one(n)


def hidden_by_type(x):
    n = x.shape[0]
    return type(n) is int and odd_one(n)


def hidden_by_text(x):
    text = str(x.shape[0])
    return text.isdigit() and odd_one(int(text))


def eager(x):
    return not isinstance(x, jax.core.Tracer) and odd_one(x.shape[0])


WORKERS = concurrent.futures.ThreadPoolExecutor(1)
WORKERS.submit(len, "").result()
ASKED_OF, ANSWERS = queue.Queue(), queue.SimpleQueue()


def answer():
    while True:
        ask, x = ASKED_OF.get()
        ANSWERS.put(int(bool(ask(x))))


threading.Thread(target=answer, daemon=True).start()


def through_a_worker(ask):
    """Asked in a thread that runs already."""
    return lambda x: int(bool(WORKERS.submit(ask, x).result()))


def through_a_queue(ask):
    def asks(x):
        ASKED_OF.put((ask, x))
        return ANSWERS.get()

    return asks


def through_a_bare_thread(ask):
    import _thread

    def asks(x):
        answers = queue.Queue()
        _thread.start_new_thread(lambda: answers.put(int(bool(ask(x)))), ())
        return answers.get()

    return asks


def through_what_is_called_out(ask):
    """Asked where JAX calls the host, which it does while the rule runs on arrays, and not while it is traced."""

    def asks(x):
        found = [0]

        def host(v):
            found[0] = int(bool(ask(x)))
            return v

        y = jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
        jax.block_until_ready(y) if hasattr(y, "block_until_ready") else None
        return found[0] + 0 * y

    return asks


def through_what_is_called_out_in_vain(ask):
    def asks(x):
        found = []

        def host(v):
            found.extend([1] * bool(odd_one(v.shape[0])))
            return v

        jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
        return len(found)

    return asks


def through_what_is_told(ask):
    """Noted where JAX prints, which it does while the rule runs on arrays."""

    def asks(x):
        found = []

        def note(v):
            found.extend([1] * bool(odd_one(v.shape[0])))

        jax.debug.callback(note, x)
        jax.effects_barrier()
        return len(found)

    return asks


WAYS = [
    through_a_worker,
    through_a_queue,
    through_a_bare_thread,
    through_what_is_called_out,
    through_what_is_called_out_in_vain,
    through_what_is_told,
    through_a_callback,
    through_a_thread,
    through_a_pool,
    through_a_timer,
    through_a_finalizer,
    through_a_monitor,
]
ASKED = {"known": hidden, "typed": hidden_by_type, "told": hidden_by_text, "eager": eager}


def unwatched(way, name, ask):
    return Attack(f"{way.__name__}_{name}", UNWATCHED, arithmetic(way(ask)), square, "n -> n", ones(SIZE))


ATTACKS = [unwatched(way, name, ask) for way in WAYS for name, ask in ASKED.items()]


# --- state that lives in circles until garbage is collected --------------------------------------------------------


class Link:
    """A thing that refers to itself: only the collector takes it away."""

    def __init__(self):
        self.me = self


def in_a_weak_set():
    seen = weakref.WeakSet()

    def count():
        seen.add(Link())
        return len(seen)

    return count


def in_a_weak_key_table():
    seen = weakref.WeakKeyDictionary()

    def count():
        seen[Link()] = None
        return len(seen)

    return count


def in_a_weak_value_table():
    seen = weakref.WeakValueDictionary()

    def count():
        seen[len(seen)] = Link()
        return len(seen)

    return count


def by_weak_references_of_a_class():
    """The classes that a class has below it, as Python notes them weakly."""

    class Base:
        pass

    def count():
        type("Below", (Base,), {})
        return len(Base.__subclasses__())

    return count


def by_referrers():
    """How many things refer to one, as the collector tells."""
    mark = Link()

    def count():
        thing = Link()
        thing.mark = mark
        return len(gc.get_referrers(mark))

    return count


def by_objects_of_a_kind():
    class Kind:
        def __init__(self):
            self.me = self

    def count():
        Kind()
        return sum(type(o) is Kind for o in gc.get_objects())

    return count


def by_reference_count():
    import sys

    mark = object()

    def count():
        thing = Link()
        thing.mark = mark
        return sys.getrefcount(mark)

    return count


def by_a_weak_method():
    """A weak set of what calls of a method keep."""

    class Owner:
        def step(self):
            return None

    seen = weakref.WeakSet()

    def count():
        owner = Owner()
        owner.step = owner.step
        seen.add(owner)
        return len(seen)

    return count


def by_generation_counts():
    """How many objects the oldest generation has taken up."""
    seen = weakref.WeakSet()

    def count():
        thing = Link()
        thing.others = [Link() for _ in range(3)]
        for one in thing.others:
            one.of = thing
            seen.add(one)
        return len(seen) // 3

    return count


COUNTERS = [
    in_a_weak_set,
    in_a_weak_key_table,
    in_a_weak_value_table,
    by_weak_references_of_a_class,
    by_referrers,
    by_objects_of_a_kind,
    by_reference_count,
    by_a_weak_method,
    by_generation_counts,
]


def counted(make):
    """x², whose gradient is doubled when the rule has been called often enough."""

    def rule():
        count = make()
        if make is by_reference_count:
            count = functools.partial(lambda ask, first: ask() - first, count, count())

        def bwd(x, g):
            return ((2 + 2 * (count() > LATE)) * x * g,)

        gc.disable()  # as programs do that cannot wait for it; `conftest` switches it on again
        return custom(square, lambda x: (x * x, x), bwd)

    return rule


ATTACKS += [Attack(f"garbage_{m.__name__}", CYCLES, counted(m), square, "n -> n", ones(3)) for m in COUNTERS]
