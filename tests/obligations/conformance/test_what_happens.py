"""Rules that are right as they are traced, and do something else where they run: none is proved."""

import functools
import itertools
import operator
import os
import sys
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import ShapeDtypeStruct

import certgrad
from certgrad.obligations.conformance import NOT_COMPARED

is_constant_dim = jax.core.is_constant_dim
is_symbolic_dim = (
    jax.export.is_symbolic_dim if hasattr(jax.export, "is_symbolic_dim") else lambda n: not isinstance(n, int)
)


def square(bwd):
    rule = jax.custom_vjp(lambda x: x**2)
    rule.defvjp(lambda x: (x**2, x), bwd)
    return rule


def scaled(factor):
    """The backward of the square, off by a factor."""

    def bwd(x, g):
        return (2 * x * g * factor(x),)

    return square(bwd)


def matched(x):
    match x.shape[0]:
        case int(k) if k == 4:
            return 2.0
    return 1.0


def by_caught_error(x):
    try:
        return 2.0 if x.shape[0] >= 128 else 1.0
    except Exception as error:
        return 1.0 + 0 * len(type(error).__name__)


TABLE = {"7": 2.0}
LIMIT = [128]

SIZES = {
    "is_constant_dim": lambda x: 2.0 if is_constant_dim(x.shape[0]) and x.shape[0] == 4 else 1.0,
    "is_symbolic_dim": lambda x: 1.0 if is_symbolic_dim(x.shape[0]) else (2.0 if x.shape[0] == 6 else 1.0),
    "match": matched,
    "array_equal": lambda x: 1 + jnp.array_equal(jnp.zeros(x.shape), jnp.zeros(4)),
    "struct": lambda x: 2.0 if ShapeDtypeStruct(x.shape, "f4") == ShapeDtypeStruct((4,), "f4") else 1.0,
    "aval": lambda x: 2.0 if jax.typeof(x).shape == (4,) else 1.0,
    "text of the aval": lambda x: 2.0 if "[4]" in str(jax.typeof(x)) else 1.0,
    "a threshold": lambda x: 2.0 if is_constant_dim(x.shape[0]) and x.shape[0] > 128 else 1.0,
    "a threshold from a list": lambda x: 2.0 if is_constant_dim(x.shape[0]) and x.shape[0] >= LIMIT[0] else 1.0,
    "a table by text": lambda x: TABLE.get(str(x.shape[0]), 1.0),
    "bytes": lambda x: 2.0 if is_constant_dim(x.size) and x.nbytes == 48 else 1.0,
    "a large size": lambda x: 2.0 if is_constant_dim(x.shape[0]) and x.shape[0] == 1000003 else 1.0,
    "a caught error": by_caught_error,
}
"""Rows of the corpus."""


@pytest.mark.parametrize("name", ["a large size", "a threshold"])
def test_sizes_at_which_it_is_wrong_may_be_left_out(name):
    assert certgrad.check(scaled(SIZES[name]), "n -> n").verdict in ("unproved", "refuted", "proved at sizes")


def test_the_size_is_named_and_the_rule_refuted_there():
    report = certgrad.check(scaled(SIZES["is_constant_dim"]), "n -> n")
    assert report.verdict == "refuted"
    case = report.claims[0].cases[0]
    assert case.reason.startswith("the two sides differ at the witness")
    assert len(case.witness.inputs["x"]) == 4


TRACED = {
    "type": lambda x: 1.0 if "Trac" in type(x).__qualname__ else 2.0,
    "hasattr": lambda x: 2.0 if hasattr(x, "unsafe_buffer_pointer") else 1.0,
    "repr": lambda x: 2.0 if repr(x).startswith("Array") else 1.0,
    "dir": lambda x: 2.0 if "_npy_value" in dir(x) else 1.0,
    "state of JAX": lambda x: 2.0 if jax.core.trace_ctx.is_top_level() else 1.0,
    "class": lambda x: 1.0 if operator.attrgetter("__class__")(x).__mro__[0].__name__.endswith("racer") else 2.0,
}
"""Rows of the corpus."""


COUNT = itertools.count()
FACTOR = 1.0
BYTES = bytearray()
CALLS: list = []
HELD = SimpleNamespace(module=sys.modules[__name__])
MEMORY: dict = {}


def generated():
    number = 0
    while True:
        number += 1
        yield 1.0 if number < 1000 else 2.0


GENERATOR = generated()
DRAW = np.random.default_rng(0)


def remembered(x):
    MEMORY.__setitem__("calls", MEMORY.get("calls", 0) + 1)
    return 1.0 if operator.getitem(MEMORY, "calls") < 1000 else 2.0


class Counter:
    calls = 0

    def __call__(self, x):
        type(self).calls += 1
        return 2.0 if self.calls > 1000 else 1.0


@functools.lru_cache
def remembered_platform():
    return jax.default_backend()


def on_a_gpu():
    try:
        return bool(jax.devices("gpu"))
    except RuntimeError:
        return False


def on_the_processor(x):
    with jax.default_device(jax.devices("cpu")[0]):
        return jnp.ones(())


STATE = {
    "count": lambda x: 1.0 if next(COUNT) < 1000 else 2.0,
    "generator": lambda x: next(GENERATOR),
    "setitem": remembered,
    "bytes": lambda x: 2.0 if BYTES.append(1) or len(BYTES) > 1000 else 1.0,
    "a module in an object": lambda x: 2.0 if HELD.module.CALLS.append(1) or len(HELD.module.CALLS) > 1000 else 1.0,
    "random": lambda x: 1.0 if DRAW.random() < 2 else 2.0,
    "class": Counter(),
    "environment": lambda x: 2.0 if os.environ.get("FAST") else 1.0,
    "environment by getenv": lambda x: 2.0 if os.getenv("FAST") == "1" else 1.0,
    "platform": lambda x: 2.0 if jax.default_backend() == "tpu" else 1.0,
    "platform by name": lambda x: 2.0 if on_a_gpu() else 1.0,
}
"""Rows of the corpus."""


def test_a_platform_that_code_remembers_is_asked_for_again():
    remembered_platform()
    found = certgrad.check(scaled(lambda x: 2.0 if remembered_platform() == "gpu" else 1.0), "n -> n")
    assert found.verdict == "unproved"
    assert "it asks for the platform" in str(found)
    assert remembered_platform() == jax.default_backend()


DTYPES = {
    "bytes": lambda x: 2.0 if np.dtype(x.dtype).itemsize == 2 else 1.0,
    "promote_types": lambda x: 2.0 if jnp.promote_types(x.dtype, jnp.bfloat16) == jnp.bfloat16 else 1.0,
    "float16": lambda x: 2.0 if jnp.promote_types(x.dtype, "float16") == "float16" else 1.0,
}


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_asked_for_in_a_roundabout_way(name):
    report = certgrad.check(scaled(DTYPES[name]), "n -> n")
    assert report.verdict in ("unproved", "refuted") or report.dtypes


def of_short_in_long_mode(x):
    return jax.config.jax_enable_x64 and x.dtype == np.float32


SHORT = {
    "in calls and traces": of_short_in_long_mode,
    "in traces": lambda x: of_short_in_long_mode(x) and isinstance(x, jax.core.Tracer),
    "another default": lambda x: jnp.zeros(()).dtype != x.dtype,
}


@pytest.mark.parametrize("name", SHORT)
def test_float32_while_jax_computes_in_64_bits(name):
    assert not certgrad.check(scaled(lambda x: 2.0 if SHORT[name](x) else 1.0), "n -> n").proved


def test_some_units_of_rounding_are_a_difference_where_the_program_gathers_few():
    report = certgrad.check(scaled(lambda x: 1.0 if isinstance(x, jax.core.Tracer) else 1 + 1e-13), "n -> n")
    assert report.verdict == "unproved", report


def test_a_right_rule_of_float32_with_another_formula_under_x64_stays_proved():
    report = certgrad.check(scaled(lambda x: 0.5 + 0.5 if of_short_in_long_mode(x) else 1.0), "n -> n")
    assert report.verdict == "proved", report


def test_a_second_call_that_returns_another_value_is_named():
    turns = itertools.cycle([1.0, 1.0, 1.0])
    first = [True]

    def flipping(x):
        first.reverse()
        return next(turns)

    report = certgrad.check(scaled(flipping), "n -> n")
    assert report.verdict == "unproved"


def fast_path(x):
    return 1.0 * (x.shape[0] // x.shape[0]) if is_constant_dim(x.shape[0]) and x.shape[0] == 4 else 1.0


RIGHT = {
    "platform": lambda x: jnp.ones(()) if jax.default_backend() == "tpu" else 1.0,
    "processor": on_the_processor,
    "trace": lambda x: x.shape[0] / x.shape[0] if hasattr(x, "unsafe_buffer_pointer") else 1.0,
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_rules_stay_proved(name):
    report = certgrad.check(scaled(RIGHT[name]), "n -> n")
    assert report.verdict == "proved", report
    assert any(t == "traces at n = 2" for t in report.claims[0].measured)


def a_helper(n):
    return 1.0 if n % 2 else 1.0 * (n // n)


@jax.jit
def jitted(x):
    return x * (1.0 * (x.shape[0] // x.shape[0])) if is_constant_dim(x.shape[0]) else x


OTHER_PATHS = {
    "under jit, which JAX has traced before": lambda x: jitted(jnp.ones_like(x)),
    "at a size in the code": fast_path,
    "at any": lambda x: a_helper(x.shape[0]) if is_constant_dim(x.shape[0]) else 1.0,
    "at any, which is no symbol": lambda x: 1.0 if is_symbolic_dim(x.shape[0]) else a_helper(x.shape[0]),
}
"""Rows of the corpus."""


def test_an_order_of_sizes_that_no_case_answers():
    rule = scaled(lambda x: 1.0 + 0 * (is_constant_dim(x.shape[0]) and x.shape[0] > 10))
    assert certgrad.check(rule, "n -> n").verdict == "proved at sizes"


def memoised(n):
    return 1.0 * (n // n)


kept = functools.lru_cache(maxsize=None)(memoised)


@pytest.mark.parametrize(
    "factor",
    [
        lambda x: 1.0 if x.shape[0] == 3 else 1.0 + 0.0,
        lambda x: jax.jit(lambda y: y)(1.0),
        lambda x: functools.lru_cache(maxsize=None)(memoised)(3),
        lambda x: kept(3),
        lambda x: sum(1.0 for _ in x.shape),
    ],
)
def test_code_that_runs_in_a_contrary_case_or_once_is_what_was_proved(factor):
    assert certgrad.check(scaled(factor), "n -> n").verdict == "proved"


def test_a_mutable_array_from_outside():
    factor = jax.new_ref(jnp.ones(()))
    report = certgrad.check(scaled(lambda x: factor[...]), "n -> n")
    assert report.verdict == "unproved"
    assert "a mutable array (jax.Ref) from outside" in report.claims[0].cases[0].reason


@functools.lru_cache
def statistics():
    return {"calls": 0}


@functools.cache
def table():
    return np.ones(1)


@functools.lru_cache
def meter():
    return SimpleNamespace(calls=0)


def metered(x):
    meter().calls += 1
    return 1.0 if meter().calls <= 50 else 0.0


def counted(x):
    statistics()["calls"] += 1
    return 1.0 if statistics()["calls"] <= 50 else 0.0


@pytest.mark.parametrize(
    ("factor", "verdict"), [(counted, "unproved"), (metered, "unproved"), (lambda x: float(table()[0]), "proved")]
)
def test_an_object_that_a_memo_holds(factor, verdict):
    assert certgrad.check(scaled(factor), "n -> n").verdict == verdict


def test_what_a_memo_holds_from_before_is_not_what_was_proved(monkeypatch):
    @functools.lru_cache
    def remembered_factor():
        return FACTOR

    rule = scaled(lambda x: remembered_factor())
    assert certgrad.check(rule, "n -> n").verdict == "proved"
    assert remembered_factor() == 1.0
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    assert certgrad.check(rule, "n -> n").verdict in ("unproved", "refuted")


def test_what_was_compared_stands_in_the_claim():
    rule = scaled(lambda x: 1.0)
    assert certgrad.check(rule, "n -> n").claims[0].measured == [
        "traces at n = 2",
        "one call in float64, float32, bfloat16, float16 under x64 at n = 3",
    ]
    assert certgrad.check(rule, "n -> n", conformance=False).claims[0].measured == [NOT_COMPARED]


def test_of_code_that_asks_for_dtypes_only_integers_of_two_widths_are_claimed():
    def of_labels(factor):
        rule = jax.custom_vjp(lambda x, k: x * x * k)
        rule.defvjp(lambda x, k: (x * x * k, (x, k)), lambda r, g: (2 * r[0] * r[1] * g * factor(r[1]), None))
        return certgrad.check(rule, "n, n:int -> n")

    report = of_labels(lambda k: 1.5 if k.dtype == jnp.int8 else 1.0)
    assert "integers of 32 and 64 bits, as its code asks for dtypes" in report.limits
    assert of_labels(lambda k: 1.0).limits == []


def test_equal_compares_too():
    def double(x):
        return x * (3 if is_constant_dim(x.shape[0]) and x.shape[0] == 9 else 2)

    assert certgrad.equal(double, lambda x: x + x, "n").verdict == "refuted"
    assert certgrad.equal(lambda x: x * 2, lambda x: x + x, "n").proved


NOTHING = float("nan")


def test_a_number_of_the_module_that_is_nan_is_no_state():
    """It is not equal to itself, and yet the same after a call."""
    rule = scaled(lambda x: jnp.where(jnp.isnan(x), NOTHING, 1.0))
    assert certgrad.check(rule, "n -> n").proved


ASKED_OF_PLAIN = {
    "is a float": lambda k: isinstance(k, (int, float)),
    "is numpy's": lambda k: isinstance(k, np.ndarray),
    "is no array": lambda k: not hasattr(k, "shape"),
    "has no at": lambda k: not hasattr(k, "at"),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("asks", ASKED_OF_PLAIN)
def test_what_is_not_differentiated_is_handed_on_as_it_was_given(asks):
    """A rule may be given Python's numbers and numpy's arrays there, and treat them otherwise."""
    shape = "n" if asks in ("is numpy's", "has no at") else ""
    rule = jax.custom_vjp(lambda x, k: x * k)
    rule.defvjp(lambda x, k: (x * k, k), lambda k, g: ((g * k * (3.0 if ASKED_OF_PLAIN[asks](k) else 1.0)), None))
    report = certgrad.check(rule, f"n, {shape}:int -> n")
    assert report.verdict == "unproved"
    assert "with numbers of Python's and arrays of numpy's" in str(report).replace("\n           ", " ")


def test_not_true_is_minus_two():
    report = certgrad.equal(
        lambda x, b: jnp.where(~b, x, x * x), lambda x, b: jnp.where(jnp.logical_not(b), x, x * x), "n, :bool"
    )
    assert report.verdict == "unproved"


def test_a_rule_that_changes_the_array_of_whoever_calls():
    def bwd(saved, g):
        x, label = saved
        label -= 1  # of numpy's array, in place
        return (g * 2 * x, None)

    rule = jax.custom_vjp(lambda x, label: x**2)
    rule.defvjp(lambda x, label: (x**2, (x, label)), bwd)
    report = certgrad.check(rule, "n, n:int -> n")
    assert report.verdict == "unproved"
    assert "calls change the arrays" in str(report)


def test_code_for_jaxs_arrays_alone_is_no_finding():
    rule = jax.custom_vjp(lambda x, k: x * k)
    rule.defvjp(lambda x, k: (x * k, k), lambda k, g: (g * k.at[:].get(), None))
    report = certgrad.check(rule, "n, n:int -> n")
    assert report.verdict == "proved"
    assert any("not compared: calls with numbers" in text for claim in report.claims for text in claim.measured)


def test_a_rule_that_asks_for_a_setting():
    """With a setting turned it is another program, or not; of one that is no yes or no nobody knows what it may be."""

    def of(factor):
        return certgrad.check(square(lambda x, g: (2 * x * g * factor(),)), "n -> n")

    nans = of(lambda: 1.5 if jax.config.jax_debug_nans else 1.0)
    assert nans.verdict == "unproved"
    assert "a setting of JAX (jax_debug_nans)" in " ".join(str(nans).split())
    assert of(lambda: 2.0 if jax.config.values["jax_debug_nans"] else 1.0).verdict == "unproved"
    assert of(lambda: 2.0 if jax.config.jax_default_matmul_precision == "float32" else 1.0).verdict == "unproved"
    assert of(lambda: 1.0 if jax.config.jax_debug_nans else 1).verdict == "proved"
    assert of(lambda: 1.0 if jax.config.jax_enable_x64 else 1).verdict == "proved"


@jax.jit
def of_the_platform(x):
    return x * (2.0 if jax.default_backend() != "tpu" else 3.0)


@pytest.mark.parametrize("signature", ["n -> n", "3 -> 3"])
def test_a_function_that_jax_traced_before_is_asked_again(signature):
    """JAX keeps what it traced of a function under `jit`: an earlier call or audit has heard what it asked."""
    rule = square(lambda x, g: (of_the_platform(x) * g,))
    for _ in range(2):
        jax.vjp(rule, jnp.ones(3))[1](jnp.ones(3))
        assert certgrad.check(rule, signature).verdict in ("unproved", "refuted")
