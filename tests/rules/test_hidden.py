"""Rules that need not do what their traces say."""

import contextlib
import operator
import random
from time import time as now

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy
from jax import lax

import certgrad
from certgrad.obligations.generality.hidden import unlike_its_traces
from certgrad.obligations.tracing.jax_dimensions import sizes_as_integers
from certgrad.rules.subject.user_rule import UserRule

from .judging.test_check import custom_vjp

pytestmark = pytest.mark.usefixtures("verdicts_alone")

CALLS = [0]
SEEN: dict = {}
TOTAL = 0


def counted(x, g):
    CALLS[0] += 1
    return ((3 if CALLS[0] > 1000 else 2) * x * g,)


def asking(x, g):
    return ((2 if isinstance(x, jax.core.Tracer) else 3) * x * g,)


def catching(x, g):
    try:
        return ((3 if x[0] > 0 else 2) * x * g,)
    except jax.errors.TracerBoolConversionError:
        return (2 * x * g,)


def remembering(x, g):
    SEEN.setdefault(x.dtype, len(SEEN))
    return (2 * x * g,)


TABLE = np.zeros(40)


def indexing_a_table(x, g):
    """What numpy says of a symbol names no symbol, and a number has a place in the table."""
    try:
        factor = 2 + TABLE[x.shape[0]]
    except IndexError:
        factor = 2
    return (factor * x * g,)


def catching_anything(x, g):
    try:
        return ((3 if x[0] > 0 else 2) * x * g,)
    except Exception:
        return (2 * x * g,)


def suppressing(x, g):
    factor = 2
    with contextlib.suppress(TypeError):
        factor = 3 if operator.index(x.shape[0]) == 7 else 2
    return (factor * x * g,)


def by_the_type(x, g):
    return ((3 if type(x.shape[0]) is int and x.shape[0] == 7 else 2) * x * g,)


def drawing(x, g):
    return ((3 if random.random() < 1e-9 else 2) * x * g,)


def drawing_with_numpy(x, g):
    return ((3 if np.random.rand() < 1e-9 else 2) * x * g,)


def timed(x, g):
    return ((3 if now() > 4e9 else 2) * x * g,)


def summing(x, g):
    global TOTAL
    TOTAL = TOTAL + 1
    return (2 * x * g,)


def helped(x, g):
    return counted(x, g)


def closing():
    calls = 0

    def bwd(x, g):
        nonlocal calls
        calls += 1
        return ((3 if calls > 1000 else 2) * x * g,)

    return bwd


def square(bwd):
    return custom_vjp(lambda x: x**2, lambda x: (x**2, x), bwd)


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    ("bwd", "said"),
    [
        (counted, "counted changes CALLS, which outlives the call"),
        (asking, "asking asks whether a value is traced (Tracer)"),
        (catching, "catching asks whether a value is traced (TracerBoolConversionError)"),
        (remembering, "remembering changes SEEN"),
        (summing, "summing changes TOTAL"),
        (helped, "counted changes CALLS"),
        (catching_anything, "catching_anything catches TracerBoolConversionError"),
        (indexing_a_table, "indexing_a_table catches IndexError"),
        (by_the_type, "by_the_type compares the type of a value"),
        (drawing, "drawing calls random"),
        (drawing_with_numpy, "drawing_with_numpy calls np.random"),
        (timed, "timed calls now"),
        (closing(), "bwd changes calls"),
    ],
)
def test_what_a_trace_does_not_show_is_not_proved(bwd, said):
    """The rules are right as they are traced, and most are wrong when they run."""
    report = certgrad.check(square(bwd), "n -> n")
    assert report.verdict == "unproved"
    assert said in report.claims[0].cases[0].reason


def test_a_size_that_the_code_names_is_looked_at_where_nothing_is_proved_for_all():
    report = certgrad.check(square(suppressing), "n -> n")
    assert report.verdict == "refuted"
    assert report.sizes == [{"n": 7}]


def innocent(x, g):
    parts, table = [], {}
    parts.append(x)
    table["x"] = parts[0]
    table.update(g=g)
    return (2 * table["x"] * jnp.add(table["g"], 0),)


def test_variables_of_the_call_may_change():
    rule = square(innocent)
    assert unlike_its_traces(UserRule(rule, "n -> n"), []) is None
    assert certgrad.check(rule, "n -> n").verdict == "proved"


def recovering(x, g):
    """What it catches is the same error where it runs."""
    try:
        axes = tuple(range(-1, 0))
        {}["x"]
    except KeyError:
        axes = (0,)
    return (2 * x * jnp.flip(jnp.flip(g, axes), axes),)


def test_errors_that_are_the_same_where_the_rule_runs_may_be_caught():
    assert certgrad.check(square(recovering), "n -> n").verdict == "proved"


def drawn(x):
    return lax.rng_uniform(0.0, 1.0, x.shape) + 0.0 * x


def test_two_draws_from_the_generator_of_the_machine_are_two_values():
    """JAX counts the primitive as free of effects."""
    rule = custom_vjp(drawn, lambda x: (drawn(x), x), lambda x, g: (0.0 * g,))
    assert certgrad.check(rule, "n -> n").verdict == "unproved"


Tracer = jax.core.Tracer


def number_of(value):
    """What libraries do with shapes and settings: a number where one is known."""
    if isinstance(value, (Tracer, jax.core.AbstractValue)):
        return None
    return np.asarray(value)


def with_its_number(x, g):
    return (number_of(2.0) * x * g,)


def with_the_number_of_a_size(x, g):
    factor = number_of(x.shape)
    return ((2.0 if factor is not None else 3.0) * x * g,)


@pytest.mark.parametrize("bwd", [with_its_number, with_the_number_of_a_size])
def test_a_question_about_values_that_no_trace_has_is_answered_alike_where_the_rule_runs(bwd):
    assert certgrad.check(square(bwd), "n -> n").verdict == "proved"


def asking_of_a_sum(x, g):
    return ((2 if isinstance(x + 0, Tracer) else 3) * x * g,)


def asking_of_parts(x, g):
    return ((2 if all(isinstance(v, Tracer | int) for v in (2, x)) else 3) * x * g,)


def asking_in_another(x, g):
    return ((2 if number_of(x) is None else 3) * x * g,)


def asking_by_a_pattern(x, g):
    match x:
        case jax.core.Tracer():
            return (2 * x * g,)
    return (3 * x * g,)


def asking_by_the_type(x, g):
    return ((2 if issubclass(type(x), Tracer) else 3) * x * g,)


def asking_by_another_name(x, g, ask=isinstance):
    return ((2 if ask(x, Tracer) else 3) * x * g,)


def asking_an_instance(x, g, isinstance=isinstance):
    return ((2 if isinstance(x, Tracer) else 3) * x * g,)


def asking_at_one_size(x, g):
    return ((2 if x.shape[0] != 7 or isinstance(g, Tracer) else 3) * x * g,)


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "bwd",
    [
        asking_of_a_sum,
        asking_of_parts,
        asking_in_another,
        asking_by_a_pattern,
        asking_by_the_type,
        asking_by_another_name,
        asking_an_instance,
        asking_at_one_size,
    ],
)
def test_what_asks_whether_an_argument_is_traced_is_not_proved(bwd):
    """Each is 2·x·g in every trace, and some are 3·x·g on arrays."""
    report = certgrad.check(square(bwd), "n -> n")
    assert report.verdict not in ("proved", "proved under hypotheses")


def asking_in_a_loop(x, g):
    return (lax.fori_loop(0, 1, lambda _, c: (2 if isinstance(c, Tracer) else 3) * c, x * g),)


def asking_in_a_branch(x, g):
    double = lambda y: (2 if isinstance(y, Tracer) else 3) * y
    return (lax.cond(x[0] > 0, double, double, x * g),)


@pytest.mark.parametrize("bwd", [asking_in_a_loop, asking_in_a_branch])
def test_in_the_body_of_a_loop_or_a_branch_a_value_is_traced_wherever_the_rule_runs(bwd):
    x, g = jnp.array([3.0]), jnp.array([5.0])
    assert bwd(x, g)[0] == 2 * x * g
    assert certgrad.check(square(bwd), "n -> n").proved


def asking_in_a_loop_of_what_is_outside(x, g):
    return (lax.fori_loop(0, 1, lambda _, c: (2 if isinstance(x, Tracer) else 3) * c, x * g),)


@jax.custom_jvp
def asking_custom_function(y):
    return (2 if isinstance(y, Tracer) else 3) * y


asking_custom_function.defjvp(lambda y, dy: (asking_custom_function(*y), 2 * dy[0]))


def asking_in_a_custom_function(x, g):
    return (asking_custom_function(x * g),)


@pytest.mark.parametrize("bwd", [asking_in_a_loop_of_what_is_outside, asking_in_a_custom_function])
def test_of_a_value_from_outside_and_in_a_custom_function_the_answer_is_another_one(bwd):
    x, g = jnp.array([3.0]), jnp.array([5.0])
    assert bwd(x, g)[0] == 3 * x * g
    assert certgrad.check(square(bwd), "n -> n").verdict == "unproved"


def test_constants_that_sympy_computes_are_numbers():
    def with_constant(number):
        return lambda x, g: (float(sympy.N(number)) * x * g,)

    assert certgrad.check(square(with_constant(sympy.sqrt(4))), "n -> n").verdict == "proved"
    assert certgrad.check(square(with_constant(sympy.sqrt(5))), "n -> n").verdict == "refuted"


def asking_sympy(x, g):
    try:
        sympy.sympify(x.sum(), strict=True)
    except (TypeError, sympy.SympifyError):
        return (2 * x * g,)
    return (3 * x * g,)


def asking_sympy_for_an_integer(x, g):
    try:
        sympy.Integer(x.sum())
    except TypeError:
        return (2 * x * g,)
    return (3 * x * g,)


@pytest.mark.parametrize("bwd", [asking_sympy, asking_sympy_for_an_integer])
def test_what_sympy_refuses_of_a_traced_value_is_seen(bwd):
    x, g = jnp.array([3.0]), jnp.array([5.0])
    assert bwd(x, g)[0] == 3 * x * g
    assert not certgrad.check(square(bwd), "n -> n").proved


def drawing_by_sympy(x, g):
    return ((2 if sympy.core.random.random() < 2 else 3) * x * g,)


def of_no_module(x, g):
    return ((2 if NO_MODULE.calls < 2 else 3) * x * g,)


NO_MODULE = sympy.Function("no_module")
NO_MODULE.calls = 0


def test_what_sympy_draws_is_state():
    assert certgrad.check(square(drawing_by_sympy), "n -> n").verdict == "unproved"


def test_a_class_without_a_module_is_looked_at():
    assert NO_MODULE.__module__ is None
    assert certgrad.check(square(of_no_module), "n -> n").proved


def test_a_question_is_heard_inside_another_block():
    with sizes_as_integers([asking]) as outer, sizes_as_integers([asking]) as inner:
        jax.make_jaxpr(asking)(1.0, 1.0)
    assert inner.told == {asking.__code__}
    assert outer.told == set()
    assert "isinstance" not in globals()


def _caught(n):
    try:
        return n.bit_length() == 3
    except AttributeError:
        return False


@pytest.mark.parametrize(
    "asks",
    [
        lambda n: hasattr(n, "bit_length") and n.bit_length() == 3,
        lambda n: hasattr(n, "to_bytes") and n == 5,
        lambda n: not hasattr(n, "scope") and n == 5,
        _caught,
    ],
)
def test_a_size_has_the_attributes_of_a_number(asks):
    def fwd(x):
        return x * x, (2 * x if asks(x.shape[0]) else x)

    rule = jax.custom_vjp(lambda x: x * x)
    rule.defvjp(fwd, lambda x, g: (2 * x * g,))
    report = certgrad.check(rule, "n -> n")
    assert report.verdict in ("refuted", "unproved", "proved at sizes")
    rule.defvjp(lambda x: (x * x, (x if hasattr(x.shape[0], "bit_length") else 2 * x)), lambda x, g: (2 * x * g,))
    assert certgrad.check(rule, "n -> n").verdict == "proved"
