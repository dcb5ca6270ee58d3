"""A traced function beside what happens where it is called, and what is traced again for what its code asks."""

import os
from functools import lru_cache

import jax
import jax.numpy as jnp
import pytest

from certgrad import certify, trace
from certgrad.graph.tracing import calls as _calls
from certgrad.graph.tracing.cases import other_programs


@lru_cache
def on_a_gpu() -> bool:
    return jax.default_backend() == "gpu"


@jax.jit
def under_jit(x: jax.Array) -> jax.Array:
    return x * (3.0 if jax.default_backend() == "gpu" else 1.0)


class Lazy:
    """It keeps what it made in its first call, and is the same function in each."""

    factor = None

    def __call__(self, x: jax.Array) -> jax.Array:
        self.factor = self.factor or 3.0
        return jnp.sum(x) * self.factor


class Counter:
    """It is another function each time."""

    calls = 0

    def __call__(self, x: jax.Array) -> jax.Array:
        self.calls += 1
        return jnp.sum(x) * self.calls


def by(answer):
    """A function that is another one where the answer to a question of it is yes."""
    return lambda x: jnp.sum(x) * (3.0 if answer(x) else 1.0)


ASKS = {
    "a size, which is a case of its own": (by(lambda x: x.shape[0] == 3), "proved", "(n, d) = (4, 3)"),
    "whether a size is odd": (by(lambda x: x.shape[0] % 2), "proved", "(n, d) = (3, 2)"),
    "a number that is 9": (
        by(lambda x: jax.core.is_constant_dim(x.shape[0]) and x.shape[0] == 9),
        "unproved",
        "at (n, d) = (9, ",
    ),
    "a rank": (by(lambda x: x.ndim == 2), "proved", "(n, d) = (3, 2)"),
    "the platform": (by(lambda x: jax.default_backend() == "gpu"), "unproved", "it asks for the platform"),
    "the platform, as it remembers it": (by(lambda x: on_a_gpu()), "unproved", "it asks for the platform"),
    "the platform at one size": (
        by(lambda x: x.shape[0] == 128 and jax.default_backend() == "gpu"),
        "unproved",
        "it asks for the platform",
    ),
    "a setting": (by(lambda x: jax.config.jax_debug_nans), "unproved", "it asks for a setting of JAX (jax_debug_nans)"),
    "the environment": (by(lambda x: os.environ.get("FAST")), "unproved", "it reads the environment (FAST)"),
    "how many devices there are": (by(lambda x: len(jax.devices()) > 8), "unproved", "it asks how many there are"),
    "what it made in its first call": (Lazy(), "proved", "(n, d) = (3, 2)"),
    "how often it was called": (Counter(), "unproved", "it returns something else"),
}


@pytest.mark.parametrize("name", ASKS)
def test_what_a_function_asks(name: str) -> None:
    function, verdict, said = ASKS[name]
    on_a_gpu()
    found = certify(trace(function, "n d"))
    assert found.verdict == verdict
    assert any(said in text for text in (*found.measured, *found.findings))


@pytest.mark.parametrize(
    "answer", [lambda x: x.dtype == jnp.float32, lambda x: jax.config.jax_enable_x64], ids=["dtype", "setting"]
)
def test_each_dtype_of_the_claim_is_called(answer) -> None:
    with jax.enable_x64(True):
        found = certify(trace(by(answer), "n d"))
        assert found.verdict == "unproved"
        assert "in float32 it returns something else" in found.findings[0]
        assert certify(trace(by(lambda x: True), "n d")).measured == [
            "one call in float64 and float32 at (n, d) = (3, 2)"
        ]


def test_a_long_function_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, why in (("EQUATIONS", "operations on arrays"), ("OPERATIONS", "operations on numbers")):
        with monkeypatch.context() as patched:
            patched.setattr(_calls, limit, 2)
            found = certify(trace(lambda x: jnp.sum(jnp.tanh(jnp.sin(x))), "4"))
        assert found.verdict == "proved"
        assert found.measured[0].startswith("not compared with calls: a call takes")
        assert why in found.measured[0]


@pytest.mark.parametrize("spec", ["n d", "4 3"])
def test_what_jax_remembers_of_a_function_under_jit_hides_no_question(spec: str) -> None:
    under_jit(jnp.ones((4, 3)))
    found = certify(trace(lambda x: jnp.sum(under_jit(x)), spec))
    assert found.verdict == "unproved"
    assert "it asks for the platform" in found.findings[0]


@pytest.mark.parametrize("kind, verdict", [(Counter, "unproved"), (Lazy, "proved")])
def test_a_long_function_that_changes_its_object_is_traced_again(
    monkeypatch: pytest.MonkeyPatch, kind: type, verdict: str
) -> None:
    monkeypatch.setattr(_calls, "EQUATIONS", 1)
    assert certify(trace(kind(), "n d")).verdict == verdict


@pytest.mark.parametrize(
    "function, specs, cases",
    [
        (lambda x: jnp.sum(jnp.tanh(x)), ("n d",), []),  # nothing was asked
        (lambda x, y: jnp.sum(x + y), ("n d", "d"), ["d = 1"]),  # every broadcast asks for 1
        (lambda x: jnp.sum(x) * (2.0 if x.shape[0] == x.shape[1] else 1.0), ("n d",), ["n = d", "d = n", "d = 1"]),
    ],
    ids=["nothing", "a broadcast", "two sizes"],
)
def test_only_what_was_asked_is_traced_again(monkeypatch: pytest.MonkeyPatch, function, specs, cases) -> None:
    traced = trace(function, *specs)
    again: list[str] = []
    own = type(traced).retraced
    monkeypatch.setattr(
        type(traced),
        "retraced",
        lambda self, fixed: again.append(" and ".join(f"{k} = {v}" for k, v in fixed.items())) or own(self, fixed),
    )
    list(other_programs(traced))
    assert all(any(one in text for one in cases) for text in again)
    assert bool(again) == bool(cases)
