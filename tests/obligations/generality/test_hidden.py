"""Every door looks at all code that can run: what asks whether it is traced is proved through none of them."""

from functools import partial, wraps

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad.accel import compile_graph
from certgrad.accel._compile import NotCertifiedError
from certgrad.graph import certify, trace
from certgrad.obligations import audit
from certgrad.obligations.generality.reach import reachable_from
from certgrad.training import SGD, certify_step
from tests.obligations.traps import declare

ASKED = "compares the type of a value"


def factor(x):
    n = x.shape[0]
    return 2.0 if type(n) is int and n == 4 else 1.0


def right(x):
    return 2.0 if x.ndim > 9 else 1.0


def sine(factor):
    """sin, with a rule that is wrong where the factor is."""
    rule = jax.custom_vjp(jnp.sin)
    rule.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (factor(x) * jnp.cos(x) * g,))
    return rule


def cosine_by(rule):
    return lambda x: jax.grad(lambda y: jnp.sum(rule(y)))(x)


def of_check(factor):
    report = certgrad.check(lambda x: 3 * sine(factor)(x), "n -> n")
    return report.verdict, report.claims[0].cases[0].reason


def of_an_op(factor):
    def jvp(x, dx):
        return factor(x) * dx

    one = declare("n -> n", lambda x: +x, jvp)
    certificate = audit(one)
    return certificate.verdict, certificate.claims[0].cases[0].reason


def of_equal(factor):
    found = certgrad.equal(cosine_by(sine(factor)), jnp.cos, "n -> n")
    return found.verdict, found.reason


def of_certify(factor):
    found = certify(trace(lambda x: jnp.sum(sine(factor)(x)), "n"))
    return found.verdict, "; ".join(found.findings)


def of_certify_in_a_loop(factor):
    def step(carry, _):
        return sine(factor)(carry), None

    found = certify(trace(lambda x: jnp.sum(jax.lax.scan(step, x, None, length=2)[0]), "n"))
    return found.verdict, "; ".join(found.findings)


def of_compile(factor):
    try:
        compile_graph(trace(lambda x: jnp.sum(sine(factor)(x)), "n"))
    except NotCertifiedError as error:
        return "unproved", str(error)
    return "proved", ""


def of_a_step(factor):
    def run(params, grads, state, hyper):
        return {n: p - hyper["lr"] * factor(p) * grads[n] for n, p in params.items()}, state

    found = certify_step(trace(lambda w: jnp.sum(w**2), "w: n"), SGD, ["w"], run=run)
    return found.verdict, "; ".join(found.findings)


DOORS = [of_check, of_an_op, of_equal, of_certify, of_certify_in_a_loop, of_compile, of_a_step]


@pytest.mark.parametrize("door", DOORS)
def test_a_rule_that_asks_for_a_number_is_proved_through_no_door(door):
    verdict, reason = door(factor)
    assert verdict == "unproved"
    assert ASKED in reason or (door is of_an_op and "branches on a dtype" in reason)


def one_array_twice(x):
    y = x + 0
    return 5.0 if x is y else 1.0


def two_arrays(x):
    y = x + 0
    return 1.0 if x is None or jnp.sin is y.shape else jnp.where(x == y, 1.0, 5.0)


@pytest.mark.parametrize("door", [of_check, of_an_op, of_equal, of_certify, of_a_step])
def test_code_that_asks_whether_two_arrays_are_one_object(door):
    verdict, reason = door(one_array_twice)
    assert verdict == "unproved"
    asked = "one_array_twice asks whether x and y are one object"
    assert asked in reason or (door is of_an_op and "branches on a dtype" in reason)


def test_other_comparisons_by_identity():
    assert of_check(two_arrays)[0] == "proved"


def compared_elsewhere(x, nested=False):
    """As code for nested structures has it, which is not run on an array."""
    if nested:
        return jax.tree.map(lambda y: 1.0 if y is x else 5.0, x)
    return 1.0


def compared_in_float32(x):
    y = x + 0
    if x.dtype == jnp.float32:
        return 5.0 if x is y else 1.0
    return 1.0


def compared_where_sizes_are_numbers(x):
    y = x + 0
    if isinstance(x.shape[0], int) and x.shape[0] > 2:
        return 5.0 if x is y else 1.0
    return 1.0


def compared_inside(x):
    y = x + 0

    def same(z):
        return z is y

    return 5.0 if same(x) else 1.0


def test_a_comparison_by_identity_that_no_trace_comes_to():
    assert of_check(compared_elsewhere)[0] == "proved"


@pytest.mark.parametrize("asking", [compared_in_float32, compared_where_sizes_are_numbers, compared_inside])
def test_a_comparison_by_identity_that_some_trace_comes_to(asking):
    assert of_check(asking)[0] == "unproved"


@pytest.mark.parametrize("door", DOORS)
def test_its_right_twin_is_proved(door):
    assert door(right)[0] == "proved"


def wrapped(f):
    @wraps(f)
    def around(*args):
        return factor(args[0]) * f(*args)

    return around


class Holder:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        return self.by_method(x)

    def by_method(self, x):
        return factor(x)


HOLDER = Holder(factor)
TABLE = {"a": [factor]}


def by_default(x, scale=factor):
    return scale(x)


def by_table(x):
    return TABLE["a"][0](x)


def by_object(x):
    return HOLDER.by_method(x)


REACHING = [by_default, by_table, by_object, HOLDER, wrapped(jnp.sin), partial(map, factor), jax.jit(factor)]


@pytest.mark.parametrize("value", [*REACHING, sine(factor), jax.jit(sine(factor)), jax.vmap(by_default)])
def test_what_code_reaches(value):
    assert any(f.__code__ in (factor.__code__,) for f in reachable_from([value]))


def test_a_function_that_chooses_between_rules_of_one_forward():
    """The program is the same at each size; the rules are not."""
    one, two = sine(right), sine(lambda x: 5.0)
    found = certify(trace(lambda x: jnp.sum((two if x.shape[0] == 5 else one)(x)), "n"))
    assert found.verdict == "refuted"
    assert any(text.startswith("the graph is refuted where n = 5: ") for text in found.findings)
