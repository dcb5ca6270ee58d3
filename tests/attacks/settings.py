"""State in what belongs to Python and to libraries: their modules, their settings, their registries."""

from __future__ import annotations

import abc
import copyreg
import decimal
import functools
import gc
import logging
import math
import operator
import sys
import warnings

import jax
import numpy as np

from .attack import Attack
from .example import custom
from .makers import LATE, ones, square

KIND = "D settings, late"
PUT = setattr


def relative(read, change):
    """How often something was changed since the rule was made."""

    def make():
        first = read()

        def count():
            change()
            return read() - first

        return count

    return make


def in_numpy():
    np._calls = 0

    def count():
        PUT(np, "_calls", np._calls + 1)
        return np._calls

    return count


def in_jax():
    vars(jax)["_calls"] = 0

    def count():
        operator.setitem(vars(jax), "_calls", vars(jax)["_calls"] + 1)
        return vars(jax)["_calls"]

    return count


def in_a_list_of_numpy():
    np._called = []

    def count():
        operator.iadd(np._called, [None])
        return len(np._called)

    return count


def in_a_part_of_numpy():
    np.linalg._calls = 0

    def count():
        PUT(np.linalg, "_calls", np.linalg._calls + 1)
        return np.linalg._calls

    return count


def in_math():
    math.calls = 0

    def count():
        PUT(math, "calls", math.calls + 1)
        return math.calls

    return count


def in_a_list_of_sys():
    sys.my_calls = []

    def count():
        operator.iadd(sys.my_calls, [None])
        return len(sys.my_calls)

    return count


def in_a_registry():
    Base = abc.ABCMeta("Base", (), {})
    kinds = [type(f"Kind{k}", (), {}) for k in range(2 * LATE)]

    def count():
        k = next(k for k, kind in enumerate(kinds) if not issubclass(kind, Base))
        Base.register(kinds[k])
        return k

    return count


def in_a_dispatch():
    @functools.singledispatch
    def which(x):
        return None

    kinds = [type(f"Kind{k}", (), {}) for k in range(2 * LATE)]

    def count():
        k = len(which.registry)
        which.register(kinds[k], len)
        return k

    return count


def in_the_names_of_a_class():
    class Kind:
        pass

    def count():
        setattr(Kind, f"n{len(vars(Kind))}", len)
        return len(vars(Kind)) - 4

    return count


def in_a_functions_code():
    def held():
        return 0

    def count():
        n = held() + 1
        held.__code__ = held.__code__.replace(co_consts=(None, n))
        return n

    return count


def in_a_cell():
    def holder():
        n = 0
        return lambda: n

    f = holder()

    def count():
        PUT(f.__closure__[0], "cell_contents", f() + 1)
        return f()

    return count


def in_a_logger():
    logger = logging.getLogger("calls")
    logger.setLevel(1)

    def count():
        logger.setLevel(logger.level + 1)
        return logger.level

    return count


def in_a_name():
    def held():
        return 0

    def count():
        held.__name__ += "x"
        return len(held.__name__)

    return count


def in_a_class_of_another_name(module, slots=()):
    """A class that says it is a library's."""

    def make():
        names = {"__module__": module, "n": 0} | ({"__slots__": slots} if slots else {})
        kind = type("Kind", (), {k: v for k, v in names.items() if k not in slots})
        held = kind()
        object.__setattr__(held, "n", 0)

        def count():
            object.__setattr__(held, "n", held.n + 1)
            return held.n

        return count

    return make


def in_annotations():
    def held():
        return 0

    def count():
        operator.setitem(held.__annotations__, f"a{len(held.__annotations__)}", int)
        return len(held.__annotations__)

    return count


MAKERS = {
    "recursion_limit": relative(sys.getrecursionlimit, lambda: sys.setrecursionlimit(sys.getrecursionlimit() + 1)),
    "threshold": relative(
        lambda: gc.get_threshold()[2], lambda: gc.set_threshold(*gc.get_threshold()[:2], gc.get_threshold()[2] + 1)
    ),
    "print_options": relative(
        lambda: np.get_printoptions()["edgeitems"],
        lambda: np.set_printoptions(edgeitems=np.get_printoptions()["edgeitems"] + 1),
    ),
    "decimals": relative(
        lambda: decimal.getcontext().prec, lambda: setattr(decimal.getcontext(), "prec", decimal.getcontext().prec + 1)
    ),
    "buffer_size": relative(np.getbufsize, lambda: np.setbufsize(np.getbufsize() + 16)),
    "warning_filters": relative(
        lambda: len(warnings.filters), lambda: warnings.filterwarnings("ignore", message=f"a{len(warnings.filters)}")
    ),
    "pickled_types": relative(lambda: len(copyreg.dispatch_table), lambda: copyreg.pickle(type("Kind", (), {}), str)),
    "of_jax": in_a_class_of_another_name("jax"),
    "of_numpy_in_slots": in_a_class_of_another_name("numpy", ("n",)),
    "of_threading_in_slots": in_a_class_of_another_name("threading", ("n",)),
    **{
        make.__name__: make
        for make in (
            in_numpy,
            in_a_list_of_numpy,
            in_a_part_of_numpy,
            in_jax,
            in_math,
            in_a_list_of_sys,
            in_a_registry,
            in_a_dispatch,
            in_the_names_of_a_class,
            in_a_functions_code,
            in_a_cell,
            in_a_logger,
            in_a_name,
            in_annotations,
        )
    },
}


def counted(make):
    def rule():
        count = make()
        return custom(square, lambda x: (x * x, x), lambda x, g: ((4 if count() > LATE else 2) * x * g,))

    return rule


ATTACKS = [Attack(f"setting_{name}", KIND, counted(make), square, "n -> n", ones(3)) for name, make in MAKERS.items()]
