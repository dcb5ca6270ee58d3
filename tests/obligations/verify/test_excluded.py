"""Points that only the rule excludes: nan, or another value than the derivative, refutes it there."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import jax
import jax.numpy as jnp
import pytest
from msgspec.structs import replace

import certgrad
from certgrad import special
from certgrad.language.parse import parse
from certgrad.language.tree import UNKNOWN, ZERO, Compare, Words
from certgrad.obligations import verify
from certgrad.obligations.certificate import Hypothesis
from certgrad.obligations.verify._excluded import bounds_no_gradient
from certgrad.rules.finding.find import find


def rule(forward, backward):
    """A custom_vjp whose residuals are its arguments."""
    function = jax.custom_vjp(forward)
    function.defvjp(lambda *args: (forward(*args), args), lambda args, g: backward(g, *args))
    return function


def scaled(x):
    """x·|x|, which is smooth."""
    return x * jnp.abs(x)


def adjugate(a):
    return jnp.stack([jnp.stack([a[1, 1], -a[1, 0]]), jnp.stack([-a[0, 1], a[0, 0]])])


def determinant(a):
    return a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]


def kept(x):
    return jnp.where(x > 0, jnp.sqrt(x), 0.0)


def mean_of_kept(x, m):
    return jnp.sum(jnp.where(m, x, 0.0)) / jnp.maximum(jnp.sum(m), 1)


def log_of_mixture(x, w):
    return jnp.log(jnp.sum(w * jnp.exp(x), -1))


CASES = {
    "a product divided by its factor": (
        "*s, *s -> *s", lambda x, y: x * y,
        lambda g, x, y: (g * (x * y) / x, g * x), lambda g, x, y: (g * y, g * x), "x ≠ 0"),
    "x·|x| divided by |x|": (
        "*s -> *s", scaled, lambda g, x: (2 * g * x * x / jnp.abs(x),), lambda g, x: (2 * g * jnp.abs(x),), "x ≠ 0"),
    "a square by a logarithm": (
        "*s -> *s", lambda x: x * x,
        lambda g, x: (2 * g * jnp.exp(2 * jnp.log(jnp.abs(x))) / x,), lambda g, x: (2 * g * x,), "x ≠ 0"),
    "a squared norm by the unit vector": (
        "n -> ", lambda x: jnp.sum(x * x),
        lambda g, x: (2 * g * jnp.sum(x * x) * (x / jnp.sum(x * x)),), lambda g, x: (2 * g * x,), "(Σi x[i]^2) ≠ 0"),
    "a determinant by the inverse": (
        "2 2 -> ", determinant,
        lambda g, a: (g * determinant(a) * (adjugate(a) / determinant(a)),), lambda g, a: (g * adjugate(a),), None),
    "a square root that is not selected": (
        "*s -> *s", kept,
        lambda g, x: (jnp.where(x > 0, g, 0.0) * 0.5 / jnp.sqrt(x),),
        lambda g, x: (jnp.where(x > 0, g * 0.5 / jnp.sqrt(jnp.where(x > 0, x, 1.0)), 0.0),), "x > 0"),
    "a mean of what is kept, where nothing is": (
        "n, n:bool -> ", mean_of_kept,
        lambda g, x, m: (g * m / jnp.sum(m), None), lambda g, x, m: (g * m / jnp.maximum(jnp.sum(m), 1), None), None),
    "Lambert's W by the textbook": (
        "*s -> *s", special.lambertw,
        lambda g, x: (g * special.lambertw(x) / (x * (1 + special.lambertw(x))),),
        lambda g, x: (g / ((1 + special.lambertw(x)) * jnp.exp(special.lambertw(x))),), "x ≠ 0"),
    "nan at one number": (
        "*s -> *s", jnp.sin,
        lambda g, x: (jnp.where(x == 0.5, jnp.nan, g * jnp.cos(x)),),
        lambda g, x: (jnp.where(x == 0.5, g * jnp.cos(0.5), g * jnp.cos(x)),), "2·x ≠ 1"),
    "nan near a number": (
        "*s -> *s", jnp.sin,
        lambda g, x: (jnp.where(jnp.isclose(x, 0.5), jnp.nan, g * jnp.cos(x)),),
        lambda g, x: (jnp.where(jnp.isclose(x, 0.5), g, g) * jnp.cos(x),), None),
    "nan where one of two tests is met": (
        "*s -> *s", jnp.sin,
        lambda g, x: (jnp.where((x == 0.5) | (x > 3), jnp.nan, g * jnp.cos(x)),),
        lambda g, x: (jnp.where((x == 0.5) | (x > 3), g, g) * jnp.cos(x),), None),
}  # fmt: skip

LOOKS_OUTSIDE = True


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("signature", "forward", "wrong", "right", "needed"), CASES.values(), ids=CASES)
def test_the_rule_is_refuted_where_it_alone_has_no_value(signature, forward, wrong, right, needed):
    report = certgrad.check(rule(forward, wrong), signature)
    assert report.verdict == "refuted"
    refuted = [c for claim in report.claims for c in claim.cases if c.verdict == "refuted"]
    case = next(
        (c for c in refuted if c.needless), refuted[0]
    )  # the search may meet the point as well: none is needless
    assert needed is None or case.needless[0].text == needed
    assert not case.needless or "the rule alone needs" in case.reason
    assert case.witness is not None
    assert case.witness.rhs.midpoint in ("nan", "inf", "-inf")
    assert certgrad.check(rule(forward, right), signature).verdict in ("proved", "proved under hypotheses")


MODULE = """
import jax, jax.numpy as jnp

@jax.custom_vjp
def total(x):
    return jnp.prod(x)

total.defvjp(lambda x: (total(x), x), lambda x, g: (g * total(x) / x,))
"""


def test_the_script_shows_what_the_rule_returns_there(tmp_path, monkeypatch):
    (tmp_path / "divided.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    (found,) = find("divided").rules
    script = certgrad.check(found.rule, "n -> ").reproduction
    assert "x = np.array([0.0" in script
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.endswith("returned nan\n"), done.stderr


def test_another_value_than_the_derivative_is_wrong_as_well():
    def slope_at_zero(value):
        return lambda g, x: (jnp.where(x == 0, value * g, 2 * g * x * x / jnp.where(x == 0, 1.0, x)),)

    report = certgrad.check(rule(lambda x: x * x, slope_at_zero(1.0)), "*s -> *s")
    assert report.verdict == "refuted"
    assert certgrad.check(rule(lambda x: x * x, slope_at_zero(0.0)), "*s -> *s").verdict.startswith("proved")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda g, x: jnp.where(x == 0.5, jnp.nan, 2 * g * jnp.cos(x)),
        lambda g, x: jnp.where(x == 0.5, g * jnp.cos(x), jnp.nan),
        lambda g, x: jnp.where(jnp.isclose(x, 0.5), jnp.nan, -g * jnp.cos(x)),
        lambda g, x: jnp.where((x == 0.5) | (x > 3), g * jnp.cos(x), g),
    ],
)
def test_a_rule_that_is_wrong_where_it_has_a_value_is_not_proved(wrong):
    assert certgrad.check(rule(jnp.sin, lambda g, x: (wrong(g, x),)), "*s -> *s").verdict == "refuted"


@pytest.mark.parametrize("name", ["mixture", "log_density", "f"])
def test_where_a_rule_is_wrong_is_found_whatever_its_name(name):
    """Which points are drawn depends on it: an entry of a vector that must not vanish is met without luck."""

    def backward(g, x, w):
        share = w * jnp.exp(x - log_of_mixture(x, w)[:, None])
        return g[:, None] * share, jnp.sum(g[:, None] * share / w, 0)

    report = certgrad.check(rule(log_of_mixture, backward), "n k, k -> n", domain="w >= 0", name=name)
    assert report.verdict == "refuted"


@pytest.mark.parametrize("entries", [3, 6])
@pytest.mark.parametrize(
    "wrong",
    [lambda y: 2 * jnp.exp(jnp.log(y)), lambda y: 2 * jnp.exp(jnp.log(y + 2)) - 4],
    ids=["negative", "below -2"],
)
def test_a_rule_is_wrong_where_one_of_several_hypotheses_fails(wrong, entries):
    """The function needs x > 0 and nothing of y; of a drawn point most often x > 0 fails too."""

    def forward(x, y):
        return jnp.sum(jnp.log(x)) + y * y

    backward = rule(forward, lambda g, x, y: (jnp.sum(g) / x, g * wrong(y)))
    report = certgrad.check(backward, f"{entries}, n -> n")
    assert report.verdict == "refuted"
    assert any("the rule alone needs y" in c.reason for claim in report.claims for c in claim.cases)
    right = rule(forward, lambda g, x, y: (jnp.sum(g) / x, g * 2 * y))
    assert certgrad.check(right, f"{entries}, n -> n").verdict == "proved under hypotheses"


@pytest.mark.parametrize("hypothesis", [Words("something is finite"), Compare("!=", UNKNOWN, ZERO)])
def test_a_hypothesis_that_is_not_evaluated_ends_no_look(hypothesis, monkeypatch):
    look = verify.excluded_look

    def looked_at(subject, certificate, index, places):
        def added(case):
            more = Hypothesis("", "", "", source="inferred", negligible=True, tree=hypothesis)
            return replace(case, hypotheses=[*case.hypotheses, more])

        claims = [replace(claim, cases=[*map(added, claim.cases)]) for claim in certificate.claims]
        return look(subject, replace(certificate, claims=claims), index, places)

    monkeypatch.setattr(verify, "excluded_look", looked_at)
    signature, forward, wrong, right, _ = CASES["a product divided by its factor"]
    assert certgrad.check(rule(forward, wrong), signature).verdict == "refuted"
    assert certgrad.check(rule(forward, right), signature).verdict.startswith("proved")


def test_what_the_forward_divides_by_as_well_is_left_out():
    """A mean whose author has no value for nothing, though a selection takes none of it."""

    def forward(x, m):
        return jnp.sum(jnp.where(m, x / jnp.sum(m), 0.0))

    report = certgrad.check(rule(forward, lambda g, x, m: (g * m / jnp.sum(m), None)), "n, n:bool -> ")
    assert report.verdict == "proved under hypotheses"


@pytest.mark.parametrize(
    ("forward", "slope"),
    [
        (jnp.abs, jnp.sign),
        (lambda x: jnp.maximum(x, 0.0), lambda x: jnp.where(x > 0, 1.0, 0.0)),
        (jnp.cbrt, lambda x: 1 / (3 * jnp.cbrt(x) ** 2)),
    ],
)
def test_a_kink_of_the_function_is_excluded_as_ever(forward, slope):
    report = certgrad.check(rule(forward, lambda g, x: (g * slope(x),)), "*s -> *s")
    assert (report.verdict, report.hypotheses) == ("proved under hypotheses", ["x ≠ 0"])


def test_what_the_author_excludes_is_not_looked_at():
    divided = rule(lambda x, y: x * y, lambda g, x, y: (g * (x * y) / x, g * x))
    assert certgrad.check(divided, "*s, *s -> *s", domain="x != 0").verdict == "proved under hypotheses"


@pytest.mark.parametrize(
    ("statement", "bounds"),
    [
        ("k >= 0", True),
        ("k < 5", True),
        ("k != 0", False),  # a single value, at which the forward may be defined
        ("x >= 0", False),
        ("x != 0", False),
        ("k < x", False),
    ],
)
def test_a_bound_of_an_argument_without_a_gradient_is_no_exclusion(statement, bounds):
    assert bounds_no_gradient(parse(statement, ("k", "x")), {"k": "int", "x": "float"}) is bounds


def test_the_witness_of_a_limit_is_the_limit():
    """The forward is smooth at 0 through a branch; the rule's coefficient there is 0 for 1."""

    def forward(x):
        return jnp.where(x == 0, 1.0, jnp.sin(x) / jnp.where(x == 0, 1.0, x)) * x

    def backward(g, x):
        return (jnp.where(x == 0, 0.0, g * jnp.cos(x)),)

    report = certgrad.check(rule(forward, backward), " -> ")
    assert report.verdict == "refuted"
    witness = next(c.witness for claim in report.claims for c in claim.cases if c.needless)
    assert [Fraction(s.midpoint).limit_denominator(10**6) for s in (witness.lhs, witness.rhs)] == [1, 0]
