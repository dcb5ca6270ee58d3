"""What is kept of calls."""

import os
import threading
import warnings
from collections import OrderedDict
from fractions import Fraction
from functools import reduce
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad.obligations.generality.likeness import Likeness
from certgrad.recording import Notes, noticed
from certgrad.recording._notes import MAX_CALLS, MAX_VARIANTS, Bare, Given, Static, _of_tree
from tests.recording import rules


@pytest.fixture
def notes():
    made = Notes()
    with noticed(made.note):
        yield made


def only(notes):
    (rule,) = notes.rules.values()
    return rule


def calls(rule):
    return [c for v in rule.variants.values() for c in v.calls.values()]


def test_shapes_under_transformations(notes):
    x = jnp.ones((4, 3))
    jax.vmap(rules.square)(x)
    jax.jit(jax.grad(lambda x: rules.square(x).sum()))(x)
    jax.lax.scan(lambda c, y: (c, rules.square(y)), 0.0, jnp.ones((5, 3), jnp.bfloat16))
    found = {(a.leaves[0].shape, a.leaves[0].dtype) for c in calls(only(notes)) for _, a in c.arguments}
    assert found == {((3,), "float32"), ((4, 3), "float32"), ((3,), "bfloat16")}


def test_one_call_many_times_is_kept_once(notes):
    for value in range(20):
        rules.square(jnp.full(3, value))
        rules.square(0.5 * value)
    first, second = calls(only(notes))
    assert (first.count, second.count) == (20, 20)
    assert only(notes).count == 40


def test_static_values_are_kept_also_where_they_do_not_hash(notes):
    options = {"c": 2.0}
    rules.weighted(options, jnp.ones(3))
    options["c"] = 3.0
    rules.weighted(options, jnp.ones(3))
    first, second = (dict(c.arguments) for c in calls(only(notes)))
    assert isinstance(first["options"], Static)
    assert (first["options"].value, second["options"].value) == ({"c": 2.0}, {"c": 3.0})


def test_a_static_value_that_is_traced_is_not_kept(notes):
    jax.jit(lambda x, k: rules.power(x, k))(jnp.ones(3), 2.0)
    (call,) = calls(only(notes))
    assert dict(call.arguments)["k"].traced == "float32[]"
    assert dict(call.arguments)["k"].value is None


def test_rules_made_anew_are_one_with_several_calls(notes):
    for n in range(2, 6):
        rules.make(0)(jnp.ones((n, 3)))
    rules.make(1)(jnp.ones((2, 3)))
    rule = only(notes)
    assert [len(v.calls) for v in rule.variants.values()] == [4, 1]


class Named(NamedTuple):
    factor: float


class Slotted:
    __slots__ = ("factor",)

    def __init__(self, factor):
        self.factor = factor


class Derived(dict):
    """A table of a class of its own."""


def with_attribute(factor):
    def hold():
        return hold.factor

    hold.factor = factor
    return hold


def of_class_made_here(factor):
    class Made:
        value = factor

    return Made


HOLDERS = {
    "a number of numpy's": np.float64,
    "an array": lambda f: np.full(2, f),
    "an array of JAX's": lambda f: jnp.full(2, f),
    "a large array": lambda f: np.full(100_000, f),
    "a named tuple": Named,
    "slots": Slotted,
    "a table": lambda f: {"factor": f},
    "a table of its own class": lambda f: Derived(factor=f),
    "an ordered table": lambda f: OrderedDict(factor=f),
    "a fraction": Fraction,
    "a range": lambda f: range(int(10 * f)),
    "a slice": lambda f: slice(int(10 * f)),
    "an attribute of a function": with_attribute,
    "a class": of_class_made_here,
    "an object of such a class": lambda f: of_class_made_here(f)(),
    "deep": lambda f: reduce(lambda held, _: [held], range(30), f),
    "far": lambda f: [0] * 3000 + [f],
}


@pytest.mark.parametrize("held", HOLDERS)
def test_two_values_are_two_rules_and_equal_ones_are_one(held):
    first, second, again = HOLDERS[held](2.0), HOLDERS[held](2.5), HOLDERS[held](2.0)
    assert Likeness(first).key == Likeness(first).key
    assert Likeness(first).key != Likeness(second).key
    if held not in (
        "a class",
        "an object of such a class",
        "deep",
        "far, among parts",
    ):  # these are told apart by identity
        assert Likeness(first).key == Likeness(again).key


def test_beyond_what_is_looked_at_no_value_takes_the_identity_of_another():
    """Pairs of a table are made to be read, and gone after: what stands for one holds it."""
    first, second = ({k: (k,) for k in range(3000)} | {3000: (factor,)} for factor in (2.0, 2.5))
    assert Likeness(first).key != Likeness(second).key


def test_trees_that_hold_true_and_one_are_two():
    first, second, again = (jax.tree.structure(Flagged(flag)) for flag in (True, 1, True))
    assert first == second, "for JAX they are equal"
    assert _of_tree(first) != _of_tree(second)
    assert _of_tree(first) == _of_tree(again)


@jax.tree_util.register_pytree_node_class
class Flagged:
    """A node with a flag beside its children."""

    def __init__(self, flag):
        self.flag = flag

    def tree_flatten(self):
        return (), self.flag

    @classmethod
    def tree_unflatten(cls, flag, _):
        return cls(flag)


def test_what_is_kept_is_bounded(notes):
    for n in range(1, MAX_CALLS + 5):
        rules.square(np.ones(n))
    for k in range(MAX_VARIANTS + 3):
        rules.make(0, float(k))(jnp.ones((2, 3)))
    square, made = notes.rules.values()
    assert len(calls(square)) == MAX_CALLS
    assert square.count == MAX_CALLS + 4
    assert len(made.variants) == MAX_VARIANTS
    assert made.count == MAX_VARIANTS + 3


def test_no_tracer_is_kept():
    def outer(x, c):
        made = jax.custom_jvp(lambda x: x * c)
        made.defjvp(lambda p, t: (p[0] * c, t[0] * c))
        return made(x)

    notes = Notes()
    with noticed(notes.note):
        jax.jit(outer)(jnp.ones(3), 2.0)
    (variant,) = only(notes).variants.values()
    assert variant.problem == "it closes over a traced value (float32[]): pass it as an argument"
    assert isinstance(variant.custom, Bare)
    assert not variant.calls


def test_arguments_are_kept_without_their_arrays(notes):
    rules.affine({"w": jnp.ones((3, 4)), "b": jnp.ones(4)}, x=jnp.ones((2, 3)))
    (call,) = calls(only(notes))
    assert [name for name, _ in call.arguments] == ["p", "x"]
    assert all(isinstance(a, Given) for _, a in call.arguments)
    assert not any(
        isinstance(x, jax.Array) for _, a in call.arguments for leaf in a.leaves for x in vars(leaf).values()
    )


def test_rules_of_jax_itself_are_counted(notes):
    jax.nn.relu(jnp.ones(3))
    assert not notes.rules
    assert notes.remarks() == ["1 rule of jax itself, called too, is for `certgrad audit --jax`"]


def test_a_users_rule_for_a_function_of_jax_is_the_users(notes):
    by_vjp, by_jvps = jax.custom_vjp(jnp.sinc), jax.custom_jvp(jax.lax.sin)
    by_vjp.defvjp(lambda x: (jnp.sinc(x), x), lambda x, g: (0 * g,))
    by_jvps.defjvps(lambda t, ans, x: t)
    for rule in (by_vjp, by_jvps):
        jax.grad(lambda x, rule=rule: jnp.sum(rule(x)))(jnp.ones(2))
    assert {name.partition(":")[0] for _, name, _ in notes.rules} == {__name__}


def test_calls_in_threads_are_noted_and_those_of_forked_processes_are_not(notes):
    threads = [threading.Thread(target=lambda n=n: rules.square(np.ones(n))) for n in (2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert only(notes).count == 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        notes.note(rules.square, (np.ones(7),), {})
        os._exit(only(notes).count)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2


def test_calls_at_symbolic_shapes_are_none_of_a_run(notes):
    (n,) = jax.export.symbolic_shape("n")
    jax.eval_shape(rules.square, jax.ShapeDtypeStruct((n,), "float32"))
    assert not calls(only(notes))
