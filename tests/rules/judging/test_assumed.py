"""Bounds that nobody declares: taken where a rule is right inside, and never where they would hide a mistake."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import msgspec
import pytest

import certgrad
from certgrad.obligations.certificate import with_cases, with_claims
from certgrad.report.audited import conditions
from certgrad.rules.certificates.verify import verify_rule
from certgrad.rules.finding.find import FoundRule, find
from certgrad.rules.judging.by_name import examined
from certgrad.rules.subject.listed import listing
from certgrad.rules.subject.user_rule import UserRule


def rule(function, backward):
    """A custom_vjp whose backward takes the arguments and the cotangent."""
    found = jax.custom_vjp(function)
    found.defvjp(lambda *args: (function(*args), args), lambda args, g: backward(*args, g))
    return found


def _huber(x, delta):
    return jnp.where(jnp.abs(x) <= delta, 0.5 * x**2, delta * (jnp.abs(x) - 0.5 * delta))


def _clipped(x, delta, g):
    return g * jnp.clip(x, -delta, delta), None


def _look_up(table, ids):
    return table[ids]


def _one_hot(table, ids, g):
    return jax.nn.one_hot(ids, table.shape[0]).T @ g, None


def _cross_entropy(z, labels):
    return jax.nn.logsumexp(z, axis=1) - jnp.take_along_axis(z, labels[:, None], axis=1)[:, 0]


def _softmax_less_one_hot(z, labels, g):
    return g[:, None] * (jax.nn.softmax(z, axis=1) - jax.nn.one_hot(labels, z.shape[1])), None


def _but_the_second(z, labels):
    return jnp.where(labels == 1, 0.0, -jnp.take_along_axis(jax.nn.log_softmax(z), labels[:, None], axis=1)[:, 0])


def _none_for_the_second(z, labels, g):
    hit = jnp.arange(z.shape[1]) == labels[:, None]
    return (jax.nn.softmax(z) - hit) * jnp.where(labels == 1, 0.0, g)[:, None], None


def _quantile(u, tau):
    return jnp.abs(tau - (u < 0)) * u**2


def _clamped(table, ids):
    return table.at[ids].get(mode="clip")


def _filled(table, ids):
    return table.at[ids].get(mode="fill", fill_value=0)


def _added_in_range(table, ids, g):
    return jnp.zeros_like(table).at[ids].add(g, mode="clip"), None


def _added(table, ids, g):
    return jnp.zeros_like(table).at[ids].add(g), None


def _counts(ids):
    return jnp.maximum(jax.ops.segment_sum(jnp.ones(ids.shape), ids, 3), 1)[:, None]


RIGHT = {
    "means of segments, whose count is compared with 1": (
        rule(
            lambda x, ids: jax.ops.segment_sum(x, ids, 3) / _counts(ids),
            lambda x, ids, g: ((g / _counts(ids))[ids], None),
        ),
        "n d, n:int",
        ["ids >= 0"],
    ),
    "huber": (rule(_huber, _clipped), "n, ", ["delta > 0"]),
    "look-up, by one-hot": (rule(_look_up, _one_hot), "v d, n:int", ["ids >= 0"]),
    "cross entropy": (rule(_cross_entropy, _softmax_less_one_hot), "n d, n:int", ["labels >= 0"]),
    "cross entropy, a label ignored": (
        rule(_but_the_second, _none_for_the_second),
        "n d, n:int",
        ["labels >= 0", "labels < d"],
    ),
    "indices that are clamped": (rule(_clamped, _added), "v d, n:int", ["ids >= 0", "ids < v"]),
    "indices that are clamped where 0 is filled in": (
        rule(_filled, _added_in_range),
        "v d, n:int",
        ["ids >= 0", "ids < v"],
    ),
    "quantile": (
        rule(_quantile, lambda u, tau, g: (2 * g * u * jnp.where(u < 0, 1 - tau, tau), None)),
        "n, ",
        ["tau >= 0", "tau <= 1"],
    ),
    "leaky": (
        rule(lambda x, p: jnp.maximum(x, p * x), lambda x, p, g: (g * jnp.where(x > 0, 1.0, p), None)),
        "n, ",
        ["p < 1"],
    ),
    "look-up, by one-hot, an index ignored": (
        rule(lambda t, i: jnp.where(i[:, None] == -100, 0, t[i]), _one_hot),
        "v d, n:int",
        ["i >= 0 or i == -100"],
    ),
    "two arguments": (
        rule(
            lambda x, d, table, i: (_huber(x, d), table[i]),
            lambda x, d, table, i, g: (*_clipped(x, d, g[0]), *_one_hot(table, i, g[1])),
        ),
        "n, , v m, k:int",
        ["d > 0", "i >= 0"],
    ),
}
"""Rule, signature, and what is assumed."""


@pytest.mark.usefixtures("verdicts_alone")
@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", RIGHT)
def test_bounds_are_assumed(name):
    function, signature, assumed = RIGHT[name]
    report = certgrad.check(function, signature)
    assert (report.verdict, report.assumed) == ("proved under hypotheses", assumed)
    assert report.certificate.domain == []
    assert "(assumed: not declared)" in str(report)


@pytest.mark.usefixtures("verdicts_alone")
@pytest.mark.parametrize(("upper", "verdict"), [(1, "proved under hypotheses"), (2, "refuted")])
def test_a_number_that_jax_hands_on_is_bounded_as_an_argument_is(upper, verdict):
    huber = jax.custom_vjp(_huber, nondiff_argnums=(1,))
    huber.defvjp(lambda x, d: (_huber(x, d), x), lambda d, x, g: (g * jnp.clip(x, -d, upper * d),))
    _, report = examined(FoundRule("m:huber", huber), {}, conformance=False)
    assert report.verdict == verdict
    assert report.assumed == (["delta > 0"] if upper == 1 else [])


@pytest.mark.usefixtures("verdicts_alone")
def test_where_a_number_is_filled_in_indices_need_no_bounds():
    """What is gathered beyond an array is that number, and what is scattered there is dropped."""
    report = certgrad.check(rule(_filled, _added), "v d, n:int")
    assert (report.verdict, report.assumed) == ("proved", [])


@pytest.mark.usefixtures("verdicts_alone")
def test_nothing_is_assumed_of_an_argument_that_a_declared_domain_speaks_of():
    report = certgrad.check(rule(_huber, _clipped), "n, ", domain="delta > -1")
    assert (report.verdict, report.assumed) == ("refuted", [])


def _padding(table, ids, g):
    return jnp.zeros_like(table).at[ids].add(jnp.where(ids == 0, 0.0, 1.0)[:, None] * g), None


WRONG = {
    "huber, one width an entry: of data a sign may be half": (rule(_huber, _clipped), "n, n"),
    "a perceptron, labels forgotten": (
        rule(lambda s, y: jnp.maximum(-y * s, 0), lambda s, y, g: (jnp.where(s < 0, -y * g, 0), None)),
        "n, n",
    ),
    "integers as numbers, halved the other way": (
        rule(lambda w, k: w * (k >> 1), lambda w, k, g: (g * jax.lax.div(k, jnp.asarray(2, k.dtype)), None)),
        "n, n:int",
    ),
    "huber, slope": (rule(_huber, lambda x, d, g: (g * jnp.clip(x, -d, 2 * d), None)), "n, "),
    "huber, no quadratic part: right below 0": (rule(_huber, lambda x, d, g: (g * d * jnp.sign(x), None)), "n, "),
    "look-up, wrong at 0": (rule(_look_up, _padding), "v d, n:int"),
    "look-up by one-hot, wrong at 0": (
        rule(_look_up, lambda t, i, g: (jax.nn.one_hot(jnp.where(i == 0, -1, i), t.shape[0]).T @ g, None)),
        "v d, n:int",
    ),
    "look-up by one-hot, wrong at the last": (
        rule(_look_up, lambda t, i, g: (jax.nn.one_hot(i, t.shape[0] - 1).T @ g, None)),
        "v+1 d, n:int",
    ),
    "mask, wrong at 0": (rule(lambda x, m: x * m, lambda x, m, g: (g * jnp.where(m == 0, 1.0, m), None)), "n, n"),
    "mask, undefined at 0": (rule(lambda x, m: x * m, lambda x, m, g: (g * m**3 / m**2, None)), "n, n"),
    "mask, undefined at 0 and wrong below": (
        rule(lambda x, m: x * m, lambda x, m, g: (g * m**2 / jnp.sqrt(m * m), None)),
        "n, n",
    ),
    "mask of integers, wrong at 0": (
        rule(lambda x, m: x * m, lambda x, m, g: (g * jnp.maximum(m, 1), None)),
        "n, n:int",
    ),
    "mask of booleans": (rule(lambda x, m: jnp.where(m, x, 0), lambda x, m, g: (g, None)), "n, n:bool"),
    "indices below 0 are left out": (
        rule(lambda t, i: jnp.where(i[:, None] >= 0, t[i], 0), _added),
        "v d, n:int",
    ),
    "the backward leaves indices below 0 out": (
        rule(_look_up, lambda t, i, g: _added(t, i, jnp.where(i[:, None] < 0, 0, g))),
        "v d, n:int",
    ),
    "a scale that is clipped": (rule(lambda x, s: x * jnp.clip(s, 0, 1), lambda x, s, g: (g * s, None)), "n, n"),
    "a scale that is clipped, wrong inside": (
        rule(lambda x, s: x * jnp.clip(s, 0, 1), lambda x, s, g: (g * s**2, None)),
        "n, n",
    ),
    "quantile, wrong inside": (
        rule(_quantile, lambda u, tau, g: (2 * g * u * jnp.where(u < 0, tau, 1 - tau), None)),
        "n, ",
    ),
    "leaky, branches exchanged: right above 1": (
        rule(lambda x, p: jnp.maximum(x, p * x), lambda x, p, g: (g * jnp.where(x > 0, p, 1.0), None)),
        "n, ",
    ),
    "an absolute value": (rule(lambda x, w: x * jnp.abs(w), lambda x, w, g: (g * w, None)), "n, n"),
}
"""Rule and signature."""


@pytest.mark.usefixtures("verdicts_alone")
@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", WRONG)
def test_bounds_hide_no_mistake(name):
    function, signature = WRONG[name]
    report = certgrad.check(function, signature)
    assert report.verdict == "refuted"
    assert report.assumed == []


@pytest.mark.parametrize(
    ("function", "signature", "first"),
    [
        (rule(jnp.abs, lambda x, g: (g,)), "n", "right where x > 0: "),
        (rule(_huber, lambda x, d, g: (g * jnp.clip(x, -d, d), jnp.zeros_like(d))), "n, n", "the two sides differ"),
    ],
)
def test_of_an_argument_with_a_gradient_it_is_said_first(function, signature, first):
    report = certgrad.check(function, signature)
    assert (report.verdict, report.assumed) == ("refuted", [])
    reasons = [case.reason for claim in report.claims for case in claim.cases if case.verdict == "refuted"]
    assert reasons[0].startswith(first)
    assert str(report).splitlines()[1].startswith(first) == first.startswith("right")


def test_other_rules_assume_nothing():
    right = rule(lambda x, m: x * m, lambda x, m, g: (g * m, None))
    report = certgrad.check(right, "n, n")
    assert (report.verdict, report.hypotheses, report.assumed) == ("proved", [], [])


MODULE = """
import jax, jax.numpy as jnp

@jax.custom_vjp
def huber(x, delta):
    return jnp.where(jnp.abs(x) <= delta, 0.5 * x**2, delta * (jnp.abs(x) - 0.5 * delta))

huber.defvjp(lambda x, d: (huber(x, d), (x, d)), lambda r, g: (g * jnp.clip(r[0], -r[1], r[1]), None))
"""


@pytest.mark.usefixtures("verdicts_alone")
def test_every_door_lists_what_is_assumed(tmp_path, monkeypatch):
    (tmp_path / "bounded.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    (found,) = find("bounded").rules
    result, report = examined(found, {})
    certificate = report.certificate
    assert certificate.verdict == "proved under hypotheses"
    assert conditions(certificate) == ["delta > 0 (assumed: not declared)"]
    assert [r.text for r in result.remarks if r.code == "CG209"] == [
        'assumed: delta > 0; the rule is wrong elsewhere, and domain="delta > 0" declares it'
    ]
    texts = [h.text for claim in certificate.claims for h in claim.hypotheses]
    assert (texts, certificate.domain) == (["delta > 0"], [])
    assert verify_rule(certificate, found).outcome == "verified"
    bare = listing(certificate, UserRule(found.rule, "n d, "), lambda kind, own: [])
    assert verify_rule(_proved_without(bare), found).outcome == "failed"


def _proved_without(certificate):
    """The certificate as it would be if no hypothesis were needed."""
    change = msgspec.structs.replace
    claims = [
        with_cases(claim, (change(case, verdict="proved") for case in claim.cases)) for claim in certificate.claims
    ]
    return with_claims(certificate, claims)
