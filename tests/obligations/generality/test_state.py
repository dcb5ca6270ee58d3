"""What a rule's code reads, compared from call to call: each of these values changes and is set back."""

import argparse
import functools
import threading
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any, ClassVar

import equinox
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad.obligations.generality.state import EVERY, FEW, MANY, ReadState
from certgrad.recording import Notes, noticed
from certgrad.recording._functions import Functions, certified
from tests.recording import settings

TABLE = {"k": 2.0}
NESTED: Any = {"of": [{"k": 2.0}]}
SPACE = SimpleNamespace(k=2.0)
OPTIONS = argparse.Namespace(k=2.0)
CONTEXT = ContextVar("CONTEXT", default=2.0)
LOCAL = threading.local()
LOCAL.k = 2.0
BUFFER = np.full(3, 2.0)
LARGE = np.full(100_000, 2.0)
FACTOR = 2.0


class OfClass:
    k: ClassVar[float] = 2.0


class Flags(dict):
    """A table of a class of its own, which nobody may ask anything of here."""

    def __getitem__(self, key):
        raise AssertionError("a method of the program's was called")

    __eq__ = __hash__ = __iter__ = __getitem__  # type: ignore[assignment]


class Layer:
    """It holds what its rule reads, and what that does not."""

    def __init__(self):
        self.k, self.steps, self.history = 2.0, 0, []

    @property
    def doubled(self):
        raise AssertionError("a property of the program's was called")

    @functools.cached_property
    def half(self):
        return self.k / 2

    def scaled(self, x):
        return self.k * x

    def __eq__(self, other):
        raise AssertionError("a method of the program's was called")

    __hash__ = None  # type: ignore[assignment]


LAYER, OUTER, FLAGS = Layer(), SimpleNamespace(layer=Layer()), Flags(k=2.0)


def by_helper():
    return TABLE["k"]


def helper():
    return FACTOR


def with_default(x, row=[2.0]):  # noqa: B006
    return row[0] * x


def square(x):
    return x * x


@functools.lru_cache
def cached(n):
    return n + 1


def rule_of(forward):
    """A rule that is written down for a forward, and reads what that does."""
    rule = jax.custom_vjp(forward)
    rule.defvjp(lambda x: (forward(x), x), lambda x, g: (g * forward(jnp.ones_like(x)),))
    return rule


CHANGES = {
    "a table that a helper reads": (lambda x: by_helper() * x, (TABLE, "k"), "TABLE['k'] (2.0, later 5.0)"),
    "in tables": (lambda x: NESTED["of"][0]["k"] * x, (NESTED["of"][0], "k"), "NESTED['of'][0]['k'] (2.0, later 5.0)"),
    "a derived table": (lambda x: dict.get(FLAGS, "k") * x, (FLAGS, "k"), "FLAGS['k'] (2.0, later 5.0)"),
    "another module": (lambda x: settings.SCALE * x, (settings, "SCALE"), "settings.SCALE (2.0, later 5.0)"),
    "a class": (lambda x: OfClass.k * x, (OfClass, "k"), "OfClass.k (2.0, later 5.0)"),
    "a namespace": (lambda x: SPACE.k * x, (SPACE, "k"), "SPACE.k (2.0, later 5.0)"),
    "options": (lambda x: OPTIONS.k * x, (OPTIONS, "k"), "OPTIONS.k (2.0, later 5.0)"),
    "an object": (lambda x: LAYER.k * x, (LAYER, "k"), "LAYER.k (2.0, later 5.0)"),
    "a method": (lambda x: LAYER.scaled(x), (LAYER, "k"), "LAYER.k (2.0, later 5.0)"),
    "an object in another": (
        lambda x: OUTER.layer.k * x,
        (OUTER.layer, "k"),
        "OUTER.layer.k (2.0, later 5.0)",
    ),
    "by any name": (lambda x: getattr(LAYER, "k") * x, (LAYER, "k"), "LAYER.k (2.0, later 5.0)"),  # noqa: B009
    "a thread's own": (lambda x: LOCAL.k * x, (LOCAL, "k"), "LOCAL.k (2.0, later 5.0)"),
    "a buffer": (lambda x: BUFFER[0] * x, (BUFFER, 0), "the values of BUFFER"),
    "a large buffer": (lambda x: LARGE[0] * x, (LARGE, slice(None)), "the values of LARGE"),
    "a default": (
        lambda x: with_default(x),
        (with_default.__defaults__[0], 0),
        "the default of row[0] (2.0, later 5.0)",
    ),
}


def put(place, value):
    """The value that stands there so far."""
    owner, key = place
    if isinstance(owner, dict):
        old = dict.get(owner, key)
        dict.__setitem__(owner, key, value)
    elif isinstance(owner, (list, np.ndarray)):
        old = np.copy(owner[key]) if isinstance(owner, np.ndarray) else owner[key]
        owner[key] = value
    else:
        old = getattr(owner, key)
        setattr(owner, key, value)
    return old


@pytest.fixture
def notes():
    made = Notes()
    with noticed(made.note):
        yield made


def changed(notes):
    (rule,) = notes.rules.values()
    (variant,) = rule.variants.values()
    variant.ended()
    return variant.changed


@pytest.mark.parametrize("kind", CHANGES)
def test_what_changed_between_two_calls_and_was_set_back_is_named(notes, kind):
    forward, place, text = CHANGES[kind]
    rule = rule_of(forward)
    rule(jnp.ones(3))
    old = put(place, 5.0)
    try:
        rule(jnp.ones(3))
    finally:
        put(place, old)
    rule(jnp.ones(3))
    assert changed(notes) == text
    assert not notes.lost


@pytest.mark.parametrize("kind", CHANGES)
def test_what_stays_is_no_change(notes, kind):
    rule = rule_of(CHANGES[kind][0])
    for _ in range(3):
        rule(jnp.ones(3))
    assert not changed(notes)
    assert not notes.lost


def test_a_context_a_helper_and_a_closed_over_variable(monkeypatch):
    def said(forward, change, back):
        notes = Notes()
        rule = rule_of(forward)
        with noticed(notes.note):
            rule(jnp.ones(3))
            held = change()
            rule(jnp.ones(3))
            back(held)
        return changed(notes)

    k = 2.0

    def assign(value):
        nonlocal k
        k = value

    def rebound(f):
        monkeypatch.setitem(globals(), "helper", f)

    original = helper
    by_context = said(lambda x: CONTEXT.get() * x, lambda: CONTEXT.set(5.0), CONTEXT.reset)
    assert by_context == "the value of CONTEXT (2.0, later 5.0)"
    by_name = said(lambda x: helper() * x, lambda: rebound(lambda: 5.0), lambda _: rebound(original))
    assert by_name == "helper"
    assert said(lambda x: k * x, lambda: assign(5.0), lambda _: assign(2.0)) == "k (2.0, later 5.0)"


def test_what_no_rule_reads_and_what_is_made_anew_alike_are_no_change(notes, monkeypatch):
    """A cache, attributes that the rule does not read, a counter of the program's own, and an equal table."""
    layer, calls = Layer(), []
    rule = rule_of(lambda x: cached(len(x.shape)) * layer.k * layer.half * TABLE["k"] * x)

    def counted(x):
        calls.append(x.shape)
        return rule(x)

    for n in range(1, 5):
        counted(jnp.ones((1,) * n))
        layer.steps += 1
        layer.history.append(n)
        monkeypatch.setitem(globals(), "TABLE", dict(TABLE))
    assert not changed(notes)
    TABLE["k"] = 5.0  # in the one that took its place
    counted(jnp.ones(3))
    assert changed(notes) == "TABLE['k'] (2.0, later 5.0)"


def test_what_was_empty_is_looked_at_too():
    empty, unset = {}, ContextVar("unset")
    state = ReadState(lambda: (empty, unset))
    unset.set(1)
    assert state.compare() == "the value of unset"
    state = ReadState(lambda: empty.get("k", 2.0))
    empty["k"] = 1
    assert state.compare() == "empty['k']"


def test_of_many_objects_the_first_calls_and_the_powers_of_two_are_compared():
    tables = [{"k": float(k)} for k in range(FEW + 4)]
    many = [{"k": float(k)} for k in range(MANY)]
    assert compared(lambda: many[0]["k"]) == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    assert compared(lambda: tables[0]["k"]) == [*range(1, EVERY + 1), 64, 128, 256]
    assert compared(lambda: TABLE["k"]) == [*range(1, 301)]


def compared(code):
    state = ReadState(code)
    return [k for k in range(1, 301) if state.called()]


def test_what_stays_is_walked_once():
    state = ReadState(rule_of(lambda x: (BUFFER, LARGE, TABLE["k"], LAYER.k, SPACE.k, OfClass.k)))
    assert all(state.called() for _ in range(5))
    assert state._taken == 1


def test_a_rule_of_equinox_that_is_defined_anew_has_changed():
    rule = equinox.filter_custom_vjp(lambda x: TABLE["k"] * x)
    rule.def_fwd(lambda perturbed, x: (x, None))
    rule.def_bwd(lambda residuals, g, perturbed, x: TABLE["k"] * g)
    state = ReadState(rule)
    assert not state.compare()
    rule.def_bwd(lambda residuals, g, perturbed, x: 2 * g)
    assert state.compare().startswith("its ")


def test_after_a_change_nothing_is_kept():
    state = ReadState(lambda: TABLE["k"])
    old = put((TABLE, "k"), 3.0)
    assert not state.called()
    put((TABLE, "k"), old)
    assert state.compare() == f"TABLE['k'] ({old}, later 3.0)"
    assert state._parts == []
    assert state._code is None


def test_rules_made_anew_are_compared_where_one_is_called_again(notes):
    def make():
        row = [2.0]
        return rule_of(lambda x: row[0] * x), row

    (first, _), (second, row) = make(), make()
    for rule in (first, second, second):
        rule(jnp.ones(3))
    assert not changed(notes)
    row[0] = 5.0
    second(jnp.ones(3))
    assert changed(notes) == "a value that it closes over"


class Net:
    train = False

    def __call__(self, x):
        return jnp.sum(jnp.sin(x)) * (2 if self.train else 1)


def test_what_is_differentiated_says_what_changed():
    """The object holds its flag itself once that was set: the first of its calls is as it was at the end."""
    net, functions = Net(), Functions()

    def differentiated():
        functions.note(net, False, (jnp.ones(3),), {})

    differentiated()
    net.train = True
    differentiated()
    net.train = False
    first, second = certified(functions, 60.0)
    assert (first.verdict, first.left) == ("proved", "")
    assert second.left.endswith(": Net.train (True, later False)")
