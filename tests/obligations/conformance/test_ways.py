"""Two questions, of which one hides the other: about sizes, dtypes, the platform, devices and settings of JAX."""

import importlib
import shutil

import jax
import jax.extend.backend
import jax.numpy as jnp
import pytest

import certgrad

FLOAT32 = jax.ShapeDtypeStruct((17,), jnp.float32)
QUESTIONS = {
    "a size in one dtype": lambda x: x.dtype == jnp.float32 and x.shape[0] == 17,
    "a dtype at one size": lambda x: x.shape[0] == 17 and x.dtype == jnp.float32,
    "a type": lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype) == FLOAT32,
    "a size without 64 bits": lambda x: not jax.config.jax_enable_x64 and x.shape[0] == 17,
    "a size where numbers are of 32 bits": lambda x: x.shape[0] == 17 and jnp.zeros(3).dtype == jnp.float32,
    "a size on a platform": lambda x: jax.default_backend() == "gpu" and x.shape[0] == 17,
    "a platform at one size": lambda x: x.shape[0] == 17 and jax.default_backend() == "gpu",
    "a platform at a size that is worked out": lambda x: x.shape[0] ** 2 == 289 and jax.default_backend() == "gpu",
    "a platform in one dtype": lambda x: x.dtype == jnp.float32 and jax.default_backend() == "gpu",
    "a setting at one size": lambda x: x.shape[0] == 17 and jax.config.jax_debug_nans,
    "a size in a setting": lambda x: jax.config.jax_debug_nans and x.shape[0] == 17,
    "a setting on a platform": lambda x: jax.config.jax_debug_nans and jax.default_backend() == "gpu",
    "how many devices": lambda x: jax.device_count() > 1,
    "that there are eight": lambda x: jax.device_count() == 8 and x.shape[0] % 8 == 0,
    "that eight are listed": lambda x: len(jax.devices()) == 8,
    "all devices": lambda x: sum(d.id for d in jax.local_devices()) == 28,
    "the devices of this process": lambda x: jax.local_devices()[0].platform == "gpu",
    "the kind of a device": lambda x: "H100" in jax.devices()[0].device_kind,
    "how many processes": lambda x: jax.process_count() > 1,
    "which process": lambda x: jax.process_index() > 0,
    "the backend itself": lambda x: jax.extend.backend.get_backend().platform == "gpu",
}
"""Rows of the corpus."""


def squares(holds):
    """A sum of squares whose slope is 5 in place of 2 where the condition holds."""
    rule = jax.custom_vjp(lambda x: jnp.sum(x**2))
    rule.defvjp(lambda x: (jnp.sum(x**2), x), lambda x, g: ((5 if holds(x) else 2) * x * g,))
    return rule


def test_sizes_at_which_it_is_wrong_may_be_left_out():
    asks = QUESTIONS["a platform at a size that is worked out"]
    assert certgrad.check(squares(asks), "n -> ").verdict in ("refuted", "unproved", "proved at sizes")


def test_of_rules_with_rules_of_their_own_for_vmap_calls_without_it_are_claimed():
    @jax.custom_batching.custom_vmap
    def doubled(x, g):
        return 2 * x * g

    doubled.def_vmap(lambda size, batched, x, g: (3 * x * g[:, None] if batched == [False, True] else 2 * x * g, True))
    rule = jax.custom_vjp(lambda x: jnp.sum(x**2))
    rule.defvjp(lambda x: (jnp.sum(x**2), x), lambda x, g: (doubled(x, g),))
    report = certgrad.check(rule, "n -> ")
    assert (
        report.verdict != "proved" or "calls that no vmap batches, as it has rules of its own for that" in report.limits
    )


def test_more_questions_than_are_looked_at_leave_it_unproved():
    names = ("jax_debug_nans", "jax_debug_infs", "jax_log_compiles", "jax_disable_jit", "jax_check_tracer_leaks")

    def holds(x):
        asked = [getattr(jax.config, name) for name in names]
        return all(asked) and jax.default_backend() == "tpu"

    report = certgrad.check(squares(holds), "n -> ", sizes=None)
    assert report.verdict == "unproved"
    assert "more than 24 ways" in report.claims[0].cases[0].reason


@pytest.mark.parametrize(
    "holds", [lambda x: x.ndim == 3 and x.dtype == jnp.float32, lambda x: x.ndim == 3 and not jax.config.jax_enable_x64]
)
def test_a_rank_in_one_dtype(holds):
    assert certgrad.check(squares(holds), "*s -> ").verdict == "refuted"


def test_what_is_wrong_in_one_dtype_at_one_size_has_a_witness():
    report = certgrad.check(squares(QUESTIONS["a dtype at one size"]), "n -> ")
    assert report.verdict == "refuted"
    assert len(report.witness.inputs["x"]) == 17


@pytest.mark.parametrize(
    "same",
    [
        lambda x: 2 if jax.default_backend() == "gpu" and x.shape[0] % 128 == 0 else 2.0,
        lambda x: 1 + 1 if x.dtype == jnp.float32 and x.shape[0] == 17 else 2,
    ],
)
def test_another_formula_of_the_same_value_stays_proved(same):
    rule = jax.custom_vjp(lambda x: jnp.sum(x**2))
    rule.defvjp(lambda x: (jnp.sum(x**2), x), lambda x, g: (same(x) * x * g,))
    report = certgrad.check(rule, "n -> ")
    assert report.verdict == "proved", report


def test_equal_functions_are_equal_in_every_dtype_at_every_size():
    assert certgrad.equal(lambda x: 2 * x, lambda x: 2 * x, "n").verdict == "proved"
    other = certgrad.equal(lambda x: (5 if QUESTIONS["a dtype at one size"](x) else 2) * x, lambda x: 2 * x, "n")
    assert other.verdict == "refuted"


def test_a_function_that_asks_for_the_platform_at_one_size_is_not_certified():
    def loss(x):
        return jnp.sum((5 if QUESTIONS["a platform at one size"](x) else 2) * x)

    assert certgrad.certify(certgrad.trace(loss, "n")).verdict == "unproved"


def test_what_a_module_reads_when_it_is_imported_is_no_question_of_the_rule(tmp_path, monkeypatch):
    (tmp_path / "reads_at_import.py").write_text("import os\nHOME = os.environ.get('HOME')\n")
    monkeypatch.syspath_prepend(tmp_path)

    def forward(x):
        importlib.import_module("reads_at_import")
        return jnp.sum(x**2)

    rule = jax.custom_vjp(forward)
    rule.defvjp(lambda x: (forward(x), x), lambda x, g: (2 * x * g,))
    assert "environment" not in str(certgrad.check(rule, "n -> "))


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "holds",
    [lambda x, y: x.dtype != y.dtype, lambda x, y: jnp.result_type(x, y) != y.dtype, lambda x, y: x.dtype < y.dtype],
)
def test_arrays_of_two_dtypes(holds):
    """In the dtypes that the claim names, of which one array may have the one and another the other."""
    rule = jax.custom_vjp(lambda x, y: jnp.sum(x * y))

    def backward(r, g):
        x, y = r
        factor = 5 if holds(x, y) else 1
        return (factor * y * g).astype(x.dtype), (factor * x * g).astype(y.dtype)

    rule.defvjp(lambda x, y: (jnp.sum(x * y), (x, y)), backward)
    assert certgrad.check(rule, "n, n -> ").verdict == "unproved"


def test_a_rule_that_casts_stays_proved():
    rule = jax.custom_vjp(lambda x, y: jnp.sum(x * y))
    rule.defvjp(
        lambda x, y: (jnp.sum(x * y), (x, y)),
        lambda r, g: ((r[1] * g).astype(r[0].dtype), (r[0] * g).astype(r[1].dtype)),
    )
    assert certgrad.check(rule, "n, n -> ").proved


def test_what_a_rule_has_the_standard_library_read_is_its_own_question():
    report = certgrad.check(squares(lambda x: shutil.which("certgrad-is-no-such-program") is not None), "n -> ")
    assert report.verdict == "unproved"
    assert "it reads the environment (PATH)" in str(report).replace("\n", " ")
