"""Calls are as they were, whatever notices them."""

import pickle
import subprocess
import sys
import traceback
from functools import partial, wraps

import jax
import jax.numpy as jnp
import pytest

from certgrad.recording import noticed
from tests.recording import rules


def test_calls_are_told_and_the_classes_are_restored():
    before = jax.custom_vjp.__call__, jax.custom_jvp.__call__
    seen = []
    with noticed(lambda custom, args, kwargs: seen.append((custom, args, kwargs))):
        assert jax.custom_jvp.__call__ is not before[1]
        rules.square(2.0)
        rules.affine(x=jnp.ones((2, 3)), p={"w": jnp.ones((3, 4)), "b": jnp.ones(4)})
    assert [c for c, _, _ in seen] == [rules.square, rules.affine]
    assert seen[1][1] == ()
    assert set(seen[1][2]) == {"p", "x"}
    assert (jax.custom_vjp.__call__, jax.custom_jvp.__call__) == before


def called(x):
    return rules.square(x)


def test_rules_behind_wrappers_are_noticed():
    @wraps(rules.square)
    def wrapped(*args):
        return rules.square(*args)

    seen = []
    with noticed(lambda custom, *_: seen.append(custom)):
        assert pickle.loads(pickle.dumps(called)) is called
        again = wrapped(3.0), partial(rules.square, 3.0)(), jax.jit(rules.square)(3.0), called(3.0)
    assert seen == [rules.square] * 4
    assert [float(y) for y in again] == [9.0] * 4


def test_what_goes_wrong_in_the_telling_does_not_reach_the_program():
    def told(custom, args, kwargs):
        raise RuntimeError("a defect")

    x = jnp.arange(3.0)
    with noticed(told):
        found = jax.grad(lambda x: rules.square(x).sum())(x)
    assert (found == jax.grad(lambda x: rules.square(x).sum())(x)).all()


def test_errors_are_shown_as_without():
    def shown():
        try:
            rules.square("text")
        except TypeError as error:
            return "".join(traceback.format_exception(error))

    plain = shown()
    with noticed(lambda *_: None):
        assert shown() == plain


@pytest.mark.slow
def test_the_program_decides_when_and_how_jax_is_imported():
    code = """
import sys
from certgrad.recording import noticed
seen = []
with noticed(lambda *told: seen.append(told)):
    assert "jax" not in sys.modules
    import os
    os.environ["JAX_ENABLE_X64"] = "1"
    import jax
    assert jax.numpy.ones(1).dtype == "float64"
    assert jax._src.custom_derivatives.__loader__.__class__.__name__ == "SourceFileLoader"
    assert "exec_module" not in vars(jax._src.custom_derivatives.__loader__)
    jax.nn.relu(1.0)
assert len(seen) == 1, seen
assert not any("recording" in type(f).__module__ for f in sys.meta_path)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("kind", ["custom_vjp", "custom_jvp"])
def test_an_incomplete_rule_fails_as_ever(kind):
    made = getattr(jax, kind)(lambda x: x)
    with noticed(lambda *_: None), pytest.raises(AttributeError, match=r"No \w+ defined"):
        made(1.0)
