"""`certgrad.check` on rules as people write them."""

from functools import partial

import jax
import jax.numpy as jnp
import pytest

import certgrad
from certgrad.errors import SignatureError, UsageError


def custom_vjp(f, fwd, bwd, symbolic_zeros=False, **options):
    rule = jax.custom_vjp(f, **options)
    rule.defvjp(fwd, bwd, symbolic_zeros=symbolic_zeros)
    return rule


def energy(x, w):
    return jnp.sum(x * w, axis=-1) ** 2


def energy_fwd(x, w):
    s = jnp.sum(x * w, axis=-1)
    return s**2, (x, w, s)


def energy_bwd(residuals, g):
    x, w, s = residuals
    return 2 * (g * s)[:, None] * w, jnp.sum(2 * (g * s)[:, None] * x, axis=0)


def without_factor(residuals, g):
    x, w, s = residuals
    return (g * s)[:, None] * w, jnp.sum(2 * (g * s)[:, None] * x, axis=0)


def clip(x, c):
    return x


clip_rule = partial(jax.custom_vjp, nondiff_argnums=(1,))(clip)
clip_rule.defvjp(lambda x, c: (x, None), lambda c, _, g: (jnp.clip(g, -c, c),))


def test_a_right_rule_is_proved():
    report = certgrad.check(custom_vjp(energy, energy_fwd, energy_bwd), "n d, d -> n")
    assert report.verdict == "proved"
    assert [c.kind for c in report.claims] == ["vjp_is_adjoint", "rule_runs_forward"]
    assert report.hypotheses == []


def test_a_wrong_rule_is_refuted_with_a_witness_and_a_residual():
    report = certgrad.check(custom_vjp(energy, energy_fwd, without_factor), "n d, d -> n")
    assert report.verdict == "refuted"
    assert report.witness is not None
    assert report.residual
    assert "refuted" in str(report)


def test_the_claim_is_about_the_arguments_that_are_asked_for():
    rule = custom_vjp(energy, energy_fwd, without_factor)
    report = certgrad.check(rule, "n d, d -> n", differentiable=["w"])
    assert report.verdict == "proved"
    assert report.undifferentiated == ("x",)
    assert certgrad.check(rule, "n d, d -> n", differentiable=["x"]).verdict == "refuted"


def test_a_fwd_that_returns_another_value_is_refuted():
    rule = custom_vjp(energy, lambda x, w: (2 * energy_fwd(x, w)[0], energy_fwd(x, w)[1]), energy_bwd)
    report = certgrad.check(rule, "n d, d -> n")
    assert {c.kind: c.verdict for c in report.claims} == {"vjp_is_adjoint": "proved", "rule_runs_forward": "refuted"}


def test_hypotheses_of_the_derivative_belong_to_the_claim():
    relu = custom_vjp(
        lambda x: jnp.maximum(x, 0), lambda x: (jnp.maximum(x, 0), x > 0), lambda m, g: (jnp.where(m, g, 0.0),)
    )
    report = certgrad.check(relu, "*s -> *s")
    assert report.verdict == "proved under hypotheses"
    assert report.hypotheses == ["x ≠ 0"]


@pytest.mark.slow
def test_jax_is_no_oracle_at_a_kink_that_is_none():
    """max(a, b) + log1p(exp(−|a − b|)) is smooth; JAX's derivative of it at a = b is wrong, the rule's is right."""

    def value(a, b):
        return jnp.maximum(a, b) + jnp.log1p(jnp.exp(-jnp.abs(a - b)))

    rule = custom_vjp(
        value, lambda a, b: (value(a, b), a - b), lambda d, g: (g * jax.nn.sigmoid(d), g * jax.nn.sigmoid(-d))
    )
    report = certgrad.check(rule, "*s, *s -> *s")
    assert report.proved
    assert report.hypotheses == []


def test_a_static_argument_and_an_intended_surrogate():
    refuted = certgrad.check(clip_rule, "*s -> *s", static={"c": 1.0})
    assert refuted.verdict == "refuted"
    report = certgrad.check(clip_rule, "*s -> *s", static={"c": 1.0}, surrogate="clips the gradient")
    assert report.verdict == "surrogate"
    assert "clips the gradient" in str(report)


@pytest.mark.slow
def test_a_custom_jvp_under_jit():
    @jax.custom_jvp
    def softplus(x):
        return jnp.logaddexp(x, 0.0)

    softplus.defjvp(lambda p, t: (softplus(*p), jax.nn.sigmoid(p[0]) * t[0]))
    report = certgrad.check(jax.jit(softplus), "*s -> *s")
    assert report.proved
    assert len(report.claims) == 3

    @jax.custom_jvp
    def wrong(x):
        return jnp.logaddexp(x, 0.0)

    wrong.defjvp(lambda p, t: (wrong(*p), jax.nn.sigmoid(p[0]) * t[0] + 1.0))
    assert certgrad.check(wrong, "*s -> *s").verdict == "refuted"


@pytest.mark.slow
def test_labels_below_zero_tell_a_gather_from_a_one_hot():
    """The forward counts label −1 from the end; the rule's one-hot drops it."""

    def pick(z, y):
        return jnp.take_along_axis(z, y[:, None], axis=1)[:, 0]

    rule = custom_vjp(
        pick, lambda z, y: (pick(z, y), (z, y)), lambda r, g: (jax.nn.one_hot(r[1], r[0].shape[1]) * g[:, None], None)
    )
    assert certgrad.check(rule, "n d, n:int -> n").verdict == "refuted"
    report = certgrad.check(rule, "n d, n:int -> n", domain="y >= 0")
    assert report.verdict == "proved under hypotheses"
    assert report.hypotheses == ["y ≤ d − 1", "y ≥ 0"]


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"signature": "n d -> n"}, SignatureError, "takes 2 array arguments"),
        ({"signature": "n d, d -> n", "static": {"z": 1}}, UsageError, "no argument named 'z'"),
        ({"signature": "n d, d -> n", "differentiable": ["z"]}, UsageError, "no float argument"),
    ],
)
def test_a_declaration_that_does_not_fit(options, error, said):
    with pytest.raises(error, match=said):
        certgrad.check(custom_vjp(energy, energy_fwd, energy_bwd), **options)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("certgrad.obligations.prove.prove._attempt", "budget: the proof exceeded the memory that there is"),
        ("certgrad.rules.judging.check.judged", "memory: what is evaluated at numbers does not fit into it"),
    ],
)
def test_what_does_not_fit_into_memory_is_unproved(place: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(place, full)
    report = certgrad.check(custom_vjp(energy, energy_fwd, energy_bwd), "n d, d -> n")
    assert (report.verdict, said in report.reason) == ("unproved", True)
