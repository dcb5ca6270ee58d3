"""`approximates=ideal`: the derivative is claimed of the ideal function, the value of the one that runs."""

import functools
import math
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

import certgrad
from certgrad import special
from certgrad.errors import CertgradError
from certgrad.rules.declared.declaration import Declaration
from certgrad.rules.finding.find import FoundRule
from certgrad.rules.judging.by_name import examined
from certgrad.testing import assert_certified
from tests.rules.judging.test_check import custom_vjp

pytestmark = pytest.mark.usefixtures("proofs_alone")


def pade(x):
    """exp near 0."""
    return (12 + 6 * x + x**2) / (12 - 6 * x + x**2)


def custom_jvp(tangent, primal=pade):
    rule = jax.custom_jvp(pade)
    rule.defjvp(lambda p, t: (primal(p[0]), tangent(p[0], t[0])))
    return rule


def right():
    return custom_jvp(lambda x, dx: jnp.exp(x) * dx)


NEAR_0 = ["x > -1", "x < 1"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "rule",
    [right(), custom_vjp(pade, lambda x: (pade(x), x), lambda x, g: (g * jnp.exp(x),))],
    ids=["custom_jvp", "custom_vjp"],
)
def test_the_rule_is_proved_for_the_ideal_function(rule):
    assert certgrad.check(rule, "*s -> *s").verdict == "refuted"
    report = certgrad.check(rule, "*s -> *s", domain=NEAR_0, approximates=jnp.exp)
    assert report.proved
    about, *_, value = report.claims
    assert "d/dt jax.numpy.exp(x + t·dx)" in about.statement
    assert about.idealisations == [report.approximates]
    assert value.statement.endswith("the rule's primal output is pade(x)")
    assert value.idealisations == []
    assert report.approximates in str(report)


@pytest.mark.slow
def test_the_distance_is_measured_in_the_domain():
    report = certgrad.check(right(), "*s -> *s", domain=NEAR_0, approximates=jnp.exp)
    assert "which the function approximates; at 300 drawn values they differ by at most 0.00" in report.approximates
    assert report.approximates.endswith("(measured, not proved)")
    wider = certgrad.check(right(), "*s -> *s", approximates=jnp.exp)
    assert "differ by at most 7.31e+43" in wider.approximates


def test_code_that_looks_at_bits_is_measured_in_floats():
    def fast(x):
        """x², with x's own bits taken and put back."""
        kind = jnp.int64 if x.dtype == jnp.float64 else jnp.int32
        again = jax.lax.bitcast_convert_type(jax.lax.bitcast_convert_type(x, kind), x.dtype)
        return x * again + 0.25

    rule = jax.custom_jvp(fast)
    rule.defjvp(lambda p, t: (fast(p[0]), 2 * p[0] * t[0]))
    report = certgrad.check(rule, "n -> n", approximates=lambda x: x**2)
    assert report.proved
    assert "the derivative is that of ideal, which the function approximates" in report.approximates
    assert "differ by at most 0.250 " in report.approximates
    assert report.approximates.endswith("(measured in float64, not proved)")


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("rule", "ideal"),
    [
        (right(), jnp.sin),
        (right(), lambda x: jnp.exp(x) + 1e-9 * x),
        (custom_jvp(lambda x, dx: pade(x) * dx), jnp.exp),  # by a gap as small as the approximation is good
        (custom_vjp(pade, lambda x: (pade(x), x), lambda x, g: (jnp.exp(x),)), jnp.exp),
    ],
    ids=["another function", "by a little", "the approximation's value", "not linear"],
)
def test_a_rule_that_is_not_its_derivative_is_refuted(rule, ideal):
    report = certgrad.check(rule, "n -> n", domain=NEAR_0, approximates=ideal)
    wrong, *_, value = report.claims
    assert (wrong.verdict, value.verdict, report.verdict) == ("refuted", "proved under hypotheses", "refuted")
    assert report.witness is not None


def test_the_primal_must_still_be_the_function_that_runs():
    """Returning the ideal's value under differentiation is another value than without."""
    report = certgrad.check(custom_jvp(lambda x, dx: jnp.exp(x) * dx, primal=jnp.exp), "n", approximates=jnp.exp)
    assert {c.kind: c.verdict for c in report.claims} == {
        "jvp_is_derivative": "proved",
        "vjp_is_adjoint": "proved",
        "rule_runs_forward": "refuted",
    }


def test_hypotheses_of_the_ideal_function_belong_to_the_claim():
    rule = custom_vjp(lambda x: x - x**2 / 2, lambda x: (x - x**2 / 2, x), lambda x, g: (g / (1 + x),))
    report = certgrad.check(rule, "n -> n", approximates=jnp.log1p)
    assert report.hypotheses == ["x > −1"]


def test_arguments_that_the_ideal_function_takes_too():
    """Arrays in order; of the others, those that it names."""
    rule = custom_vjp(
        lambda x, y, k, terms: k * (x * y + 1e-6 * x),
        lambda x, y, k, terms: (k * (x * y + 1e-6 * x), (x, y)),
        lambda k, terms, r, g: (k * g * r[1], k * g * r[0]),
        nondiff_argnums=(2, 3),
    )
    static = {"k": certgrad.real(), "terms": 3}
    report = certgrad.check(rule, "n, n -> n", static=static, approximates=lambda a, b, *, k: k * a * b)
    assert report.verdict == "proved"
    wrong = certgrad.check(rule, "n, n -> n", static=static, approximates=lambda a, b, *, k: a * b)
    assert wrong.verdict == "refuted"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"approximates": 3}, "pade .* approximates is no function, but 3"),
        ({"approximates": "jax.numpy:expp"}, "'jax.numpy:expp' names no function such as"),
        ({"approximates": jnp.exp, "surrogate": "no"}, "say one"),
        ({"approximates": jnp.add}, "jax.numpy.add, which pade .* approximates, cannot be called as that is"),
        ({"approximates": lambda x: jnp.sum(x)}, r"returns float32 \(\), and not float32 \(n\) as that does"),
    ],
)
def test_a_declaration_that_does_not_fit(options, said):
    with pytest.raises(CertgradError, match=said):
        certgrad.check(right(), "n -> n", **options)


@pytest.mark.slow
def test_it_is_a_remark_of_an_audit():
    declared = Declaration("n -> n", domain=NEAR_0, approximates="jax.numpy:exp")
    result, report = examined(FoundRule("mypkg:pade", right()), {"mypkg:pade": (declared,)})
    (remark,) = (one for one in result.remarks if one.code == "CG207")
    assert remark.text == report.approximates
    assert assert_certified(right(), "n -> n", domain=NEAR_0, approximates=jnp.exp).proved


@pytest.mark.slow
def test_the_reproduction_differentiates_the_ideal_function(tmp_path):
    report = certgrad.check(right(), "n -> n", approximates=jnp.sin)
    lines = report.reproduction.replace("from tests.rules.subject.test_approximation import pade", "")
    script = lines.replace(
        "function = pade", "from tests.rules.subject.test_approximation import right\nfunction = right()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    _, expected, _, returned = done.stdout.split()
    assert float(expected) == pytest.approx(0.5403, abs=1e-3)
    assert float(returned) == pytest.approx(2.71828, abs=1e-3)


def _horner(coefficients, x):
    y = jnp.zeros_like(x)
    for c in coefficients:
        y = y * x + c
    return y


I0 = [0.0045813, 0.0360768, 0.2659732, 1.2067492, 3.0899424, 3.5156229, 1.0]
I1 = [0.00032411, 0.00301532, 0.02658733, 0.15084934, 0.51498869, 0.87890594, 0.5]


def bessel(of_0=lambda x, f, g: g(x), declared=True):
    """I₀ and I₁ as Abramowitz and Stegun approximate them (9.8.1, 9.8.3), each the derivative's part of the other."""

    @jax.jit
    @jax.custom_jvp
    def i0(x):
        return _horner(I0, (x / 3.75) ** 2)

    @jax.custom_jvp
    def i1(x):
        return x * _horner(I1, (x / 3.75) ** 2)

    i0.__wrapped__.defjvp(lambda p, t: (i0(*p), of_0(p[0], i0, i1) * t[0]))
    i1.defjvp(lambda p, t: (i1(*p), (i0(p[0]) - i1(p[0]) / p[0]) * t[0]))
    if declared:
        certgrad.declare("*s -> *s", approximates=lambda x: special.iv(1, x))(i1)
    return i0


def first_kind(x):
    return special.iv(0, x)


@pytest.mark.slow
def test_functions_that_a_rule_calls_are_read_as_what_they_are_declared_to_approximate():
    report = certgrad.check(bessel(), "*s -> *s", approximates=first_kind)
    assert report.verdict == "proved"
    (about,) = [c for c in report.claims if c.kind == "jvp_is_derivative"]
    assert report.approximates in about.idealisations
    assert "i1 is read as ideal, which it approximates" in about.idealisations
    assert certgrad.check(bessel(declared=False), "n -> n", approximates=first_kind).verdict == "refuted"


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "wrong",
    [lambda x, f, g: -g(x), lambda x, f, g: f(x), lambda x, f, g: g(x) + 1e-7 * f(x), lambda x, f, g: g(2 * x) / 2],
    ids=["sign", "order", "by a little", "argument"],
)
def test_a_rule_of_approximations_with_an_error_is_refuted(wrong):
    assert certgrad.check(bessel(wrong), "n -> n", approximates=first_kind).verdict == "refuted"


@pytest.mark.slow
def test_the_other_function_may_approximate_another_one_than_the_rule_needs():
    """What is said of it decides, however near it is to the right one."""
    rule = bessel(declared=False)
    (i1,) = [c.cell_contents for c in rule.__wrapped__.jvp.__closure__ if type(c.cell_contents) is jax.custom_jvp]
    certgrad.declare("*s -> *s", approximates=lambda x: special.iv(1, x) + 1e-9 * x)(i1)
    assert certgrad.check(rule, "n -> n", approximates=first_kind).verdict == "refuted"


@pytest.mark.slow
def test_orders_beside_the_declared_one_are_read_as_well():
    @functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
    def kn(n, x):
        return jnp.exp(-x) * jnp.sqrt(jnp.pi / (2 * x)) * (1 + (4 * n * n - 1) / (8 * x))

    kn.defjvp(lambda n, p, t: (kn(n, *p), -(kn(n - 1, *p) + kn(n + 1, *p)) / 2 * t[0]))
    options = {"static": {"n": 2}, "domain": "x > 0"}
    report = certgrad.check(kn, "m -> m", approximates=lambda x, n: special.kv(n, x), **options)
    assert report.proved, report
    assert {"kn at n = 1", "kn at n = 3"} < {i.partition(" is read")[0] for c in report.claims for i in c.idealisations}


def kn_under_jit(below):
    """The order is an operand of the jitted rule, and one less is computed there."""

    @jax.jit
    def value(n, x):
        return jnp.exp(-x) * jnp.sqrt(jnp.pi / (2 * x)) * (1 + (4 * n * n - 1) / (8 * x))

    kn = functools.partial(jax.custom_jvp, nondiff_argnums=(0,))(lambda n, x: value(n, x))
    kn.defjvp(jax.jit(lambda n, p, t: (kn(n, *p), -(kn(n - below, *p) + kn(n + 1, *p)) / 2 * t[0])))
    return kn


@pytest.mark.slow
def test_orders_that_a_jitted_rule_computes_are_read_as_well():
    options = {"static": {"n": 2}, "domain": "x > 0", "approximates": lambda x, n: special.kv(n, x)}
    report = certgrad.check(kn_under_jit(1), "m -> m", **options)
    assert report.proved, report
    assert certgrad.check(kn_under_jit(2), "m -> m", **options).verdict == "refuted"


@pytest.mark.slow
def test_a_rule_does_not_fail_because_an_ideal_function_does():
    @jax.custom_jvp
    def cosine(x):
        return 1 - x**2 / 2

    cosine.defjvp(lambda p, t: (cosine(*p), -p[0] * t[0]))

    def refusing(x):
        raise ValueError("not today")

    certgrad.declare("*s -> *s", approximates=refusing)(cosine)

    @jax.custom_jvp
    def sine(x):
        return x - x**3 / 6

    sine.defjvp(lambda p, t: (sine(*p), cosine(*p) * t[0]))
    report = certgrad.check(sine, "n -> n", approximates=jnp.sin)
    assert "its rule fails" not in str(report), report


@pytest.mark.slow
def test_a_value_that_the_rule_computes_otherwise_is_read_as_ideal_too():
    """Of J₀ and J₁ at once, where the rule takes the values from a call that gives one more."""

    @functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
    def jn(n, x):
        nodes = 2 * np.pi * np.arange(80 + 4 * n) / (80 + 4 * n)  # Bessel's integral by the trapezoidal rule
        angles = np.arange(n + 1)[:, None, None] * nodes[:, None]
        return jnp.cos(angles - x * np.sin(nodes)[:, None]).mean(1)

    def tangent(n, p, t):
        values = jn(n + 1, *p)
        below = jnp.concatenate([-values[1:2], values[:n]])
        return values[: n + 1], (below - values[1:]) / 2 * t[0]

    jn.defjvp(tangent)

    def ideal(x, n):
        return jnp.stack([special.jv(k, x) for k in range(n + 1)])

    report = certgrad.check(jn, "m -> 2 m", static={"n": 1}, domain=["x > 0", "x < 8"], approximates=ideal)
    assert report.proved, report
    (value,) = [c for c in report.claims if c.kind == "rule_runs_forward"]
    assert any("the rule computes its value otherwise than the function" in text for text in value.idealisations)


@pytest.mark.slow
def test_a_function_that_calls_out_is_proved_of_what_it_computes():
    j0 = jax.custom_jvp(lambda x: jax.pure_callback(scipy.special.j0, x, x, vmap_method="expand_dims"))
    j1 = jax.custom_jvp(lambda x: jax.pure_callback(scipy.special.j1, x, x, vmap_method="expand_dims"))
    j0.defjvp(lambda p, t: (j0(*p), -j1(*p) * t[0]))
    j1.defjvp(lambda p, t: (j1(*p), t[0]))
    certgrad.declare("n -> n", approximates=lambda x: special.jv(1, x))(j1)
    report = certgrad.check(j0, "n -> n", approximates=lambda x: special.jv(0, x))
    assert report.verdict == "proved under hypotheses"
    assert certgrad.check(j0, "n -> n", approximates=lambda x: special.jv(0, x) + x).verdict == "refuted"


def cosine_for_small_angles(**declared):
    series = jax.custom_jvp(lambda x: 1 - x**2 / 2 + x**4 / 24)
    series.defjvp(lambda p, t: (series(*p), -jnp.sin(p[0]) * t[0]))
    return certgrad.declare("n -> n", approximates=jnp.cos, **declared)(series)


def sine_by(cosine):
    sine = jax.custom_vjp(jnp.sin)
    sine.defvjp(lambda x: (sine(x), x), lambda x, g: (g * cosine(x),))
    return sine


def test_an_approximation_is_read_as_ideal_inside_its_own_domain_alone():
    sine = sine_by(cosine_for_small_angles(domain=["x >= -1", "2 * x**2 < 3"]))
    report = certgrad.check(sine, "n -> n", approximates=jnp.sin)
    assert report.verdict == "proved under hypotheses", report
    assert set(map(str, report.hypotheses)) == {"x ≥ −1", "2·x^2 < 3"}
    everywhere = certgrad.check(sine_by(cosine_for_small_angles()), "n -> n", approximates=jnp.sin)
    assert everywhere.verdict == "proved", everywhere


def test_what_a_domain_says_that_no_program_can_is_not_read_as_ideal():
    sine = sine_by(cosine_for_small_angles(domain="x < 1 or x > 6"))
    report = certgrad.check(sine, "n -> n", approximates=jnp.sin)
    assert not report.proved, report


@pytest.mark.slow
def test_an_order_beside_the_declared_one_is_not_read_where_the_function_is_nowhere_near_it():
    @functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
    def jn(n, x):
        k = 3 if n == 1 else n  # the table of order 1 is that of order 3
        return sum((-1) ** m * (x / 2) ** (2 * m + k) / (math.factorial(m) * math.factorial(m + k)) for m in range(12))

    jn.defjvp(lambda n, p, t: (jn(n, *p), (jn(n - 1, *p) - n / p[0] * jn(n, *p)) * t[0]))
    options = {"static": {"n": 2}, "domain": ["x > 0", "x < 4"]}
    report = certgrad.check(jn, "m -> m", approximates=lambda x, n: special.jv(n, x), **options)
    assert not report.proved, report


def host_power(slope):
    """A power that the host computes, with its order as it is; nothing in JAX says what it is."""

    @functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
    def power(k, x):
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(lambda a: np.asarray(a) ** k, shape, x, vmap_method="broadcast_all")

    power.defjvp(lambda k, xs, dxs: (power(k, *xs), slope(power, k, *xs) * dxs[0]))
    return power


@pytest.mark.slow
def test_another_order_is_measured_where_the_host_computes_it():
    def verdict(slope):
        said = {"static": {"k": 3}, "approximates": lambda x, k: x**k}
        return certgrad.check(host_power(slope), "n -> n", **said).verdict

    assert verdict(lambda power, k, x: k * power(k - 1, x)) == "proved under hypotheses"
    assert verdict(lambda power, k, x: (k - 1) * power(k - 1, x)) == "refuted"
    assert verdict(lambda power, k, x: k * power(k + 1, x)) == "refuted"


def test_what_is_nowhere_near_is_not_read_as_the_ideal():
    """A sine that is said to approximate exp: the rule's own call of it is no exponential."""
    sine = jax.custom_jvp(lambda x: jnp.sin(x))
    sine.defjvp(lambda x, dx: (sine(*x), sine(*x) * dx[0]))
    assert certgrad.check(sine, "n -> n", approximates=jnp.exp).verdict in ("refuted", "unproved")
