"""Functions whose values are a special function's, with nothing declared: the rule is proved for that function."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
import pytest
import scipy.special

from certgrad import special
from certgrad.obligations.terms.budget import AUDIT_SECONDS, auditing
from certgrad.report.findings import OF_IDEAL
from certgrad.rules.declared.declaration import Declaration
from certgrad.rules.finding.find import FoundRule
from certgrad.rules.inference.known_functions import FAMILIES, known_beside, special_function
from certgrad.rules.judging import by_name, judged
from certgrad.rules.judging.by_name import examined
from certgrad.rules.subject.approximation import ideals_of
from certgrad.rules.subject.user_rule import UserRule
from examples.rules.solvers import kepler

pytestmark = pytest.mark.usefixtures("proofs_alone")


def chebyshev(
    function: Callable[[np.ndarray], np.ndarray], beyond: Callable[[Any], Any], degree: int = 60
) -> Callable[[Any], Any]:
    """A polynomial that is the function from −20.5 to 20.5, up to 1e-10, and an asymptotic expansion beyond."""
    series = np.polynomial.Chebyshev.interpolate(function, degree, domain=[-20.5, 20.5])

    def values(x: Any) -> Any:
        inside = jnp.abs(x) <= 20.5
        t = jnp.where(inside, x, 0) / 20.5
        above, above2 = jnp.zeros_like(t), jnp.zeros_like(t)
        for c in series.coef[:0:-1]:
            above, above2 = c + 2 * t * above - above2, above
        return jnp.where(inside, series.coef[0] + t * above - above2, beyond(jnp.where(inside, 25.0, x)))

    return values


def hankel(order: int) -> Callable[[Any], Any]:
    """Bessel's function of large arguments. DLMF 10.17.3."""
    a = [1.0]
    for k in range(1, 8):
        a.append(a[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))

    def values(x: Any) -> Any:
        size = jnp.abs(x)
        p = sum((-1) ** k * a[2 * k] / size ** (2 * k) for k in range(4))
        q = sum((-1) ** k * a[2 * k + 1] / size ** (2 * k + 1) for k in range(4))
        angle = size - order * jnp.pi / 2 - jnp.pi / 4
        found = jnp.sqrt(2 / (jnp.pi * size)) * (p * jnp.cos(angle) - q * jnp.sin(angle))
        return found * jnp.sign(x) if order % 2 else found

    return values


def _auxiliary(x: Any) -> tuple[Any, Any]:
    """f and g of the sine and cosine integrals, of large arguments. DLMF 6.12."""
    f = sum((-1) ** k * math.factorial(2 * k) / x ** (2 * k + 1) for k in range(6))
    g = sum((-1) ** k * math.factorial(2 * k + 1) / x ** (2 * k + 2) for k in range(6))
    return f, g


def si_beyond(x: Any) -> Any:
    f, g = _auxiliary(jnp.abs(x))
    return jnp.sign(x) * (jnp.pi / 2 - f * jnp.cos(x) - g * jnp.sin(jnp.abs(x)))


def ci_beyond(x: Any) -> Any:
    size = jnp.abs(x)
    f, g = _auxiliary(size)
    return f * jnp.sin(size) - g * jnp.cos(size) - jnp.log(size)


def newton(x: Any) -> Any:
    """Lambert's W by so many steps."""
    w = jnp.log1p(jnp.where(x > -0.3, x, jnp.nan))
    for _ in range(8):
        w = w - (w - x * jnp.exp(-w)) / (1 + w)
    return w


def _smooth_part_of_ci(x: np.ndarray) -> np.ndarray:
    away = np.maximum(np.abs(x), 1e-9)
    return np.asarray(scipy.special.sici(away)[1] - np.log(away))


J0, J1, SI, CI = (
    chebyshev(scipy.special.j0, hankel(0)),
    chebyshev(scipy.special.j1, hankel(1)),
    chebyshev(lambda x: scipy.special.sici(x)[0], si_beyond),
    chebyshev(_smooth_part_of_ci, ci_beyond),
)


def rule_of(function: Callable[[Any], Any], slope: Callable[[Any, Any], Any]) -> Any:
    """With a derivative that is a function of x and of the value."""
    rule = jax.custom_jvp(lambda x: function(x))
    rule.defjvp(lambda p, t: (rule(*p), slope(p[0], rule(*p)) * t[0]))
    return rule


BESSEL_1 = rule_of(J1, lambda x, y: y)

RIGHT = {
    "lambertw": rule_of(newton, lambda x, y: jnp.exp(-y) / (1 + y)),
    "j0": rule_of(J0, lambda x, y: -BESSEL_1(x)),
    "si": rule_of(SI, lambda x, y: jnp.where(x == 0, 1, jnp.sin(x) / jnp.where(x == 0, 1, x))),
    "ci": rule_of(lambda x: jnp.log(jnp.abs(x)) + CI(x), lambda x, y: jnp.cos(x) / x),
}
"""Of series of sixty terms an audit takes ten to twenty seconds: those are slow."""
WRONG = {
    "lambertw without a term": rule_of(newton, lambda x, y: jnp.exp(-y) / y),
    "j0 of the other sign": rule_of(J0, lambda x, y: BESSEL_1(x)),
    "j0 with another function": rule_of(J0, lambda x, y: -y),
    "si without a sign": rule_of(SI, lambda x, y: jnp.abs(jnp.sin(x)) / jnp.where(x == 0, 1, x)),
    "ci of the other sign": rule_of(lambda x: jnp.log(jnp.abs(x)) + CI(x), lambda x, y: -jnp.cos(x) / x),
    "lambertw of the other sign": rule_of(newton, lambda x, y: jnp.exp(y) / (1 + y)),
}


def audit(rule: Any) -> Any:
    return examined(FoundRule(name="m:f", where="m.py:1", rule=rule), {})


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_rule_is_proved_for_the_function_that_is_meant(name: str) -> None:
    result, report = audit(RIGHT[name])
    assert report is not None
    assert report.proved, str(report)
    (remark,) = (r.text for r in result.remarks if r.code == OF_IDEAL)
    assert f"the derivative is that of certgrad.special.{name}, which the function approximates" in remark
    assert "inferred from its values at 160 points between −200 and 200, as nothing declares it" in remark
    assert f'approximates="certgrad.special:{name}" does' in remark


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rule_of_one_is_refuted(name: str) -> None:
    assert audit(WRONG[name])[1].verdict == "refuted"


EXACT = {name: (getattr(special, name), family) for family in FAMILIES for name in family.names}


@pytest.mark.parametrize("name", EXACT)
def test_each_function_is_known_by_its_values(name: str) -> None:
    function, family = EXACT[name]
    found = special_function(UserRule(function, ", ".join(["n d"] * len(family.points))))
    assert found is not None
    assert found.name == f"certgrad.special:{name}"
    assert len(found.domain) == len(family.domain)


@pytest.mark.parametrize(
    "function",
    [
        jnp.tanh,
        lambda x: special.j0(x) + 1e-4,
        lambda x: special.j0(x * (1 + 1e-4)),
        lambda x: special.j0(x) * x.size,
        lambda x: jnp.where(x < 15, special.j0(x), 0),
        lambda x: jnp.where(jnp.abs(x) < 25, special.j0(x), x**30),
        lambda x: jnp.full_like(x, jnp.nan),
        lambda x: jnp.sum(special.j0(x)),
    ],
)
def test_others_are_not(function: Any) -> None:
    assert special_function(UserRule(function, "n d")) is None


def test_a_loop_that_may_end_nowhere_is_not_run_at_points_of_other_domains() -> None:
    assert special_function(UserRule(kepler, "n, n")) is None  # it ends for eccentricities below 1 alone


def test_a_helper_that_is_nan_where_the_function_has_a_value_is_not_read_as_it() -> None:
    def of_positive_numbers(x: Any) -> Any:
        return special.i1(x) * jnp.sqrt(x) / jnp.sqrt(x)

    rule = UserRule(of_positive_numbers, "n d")
    assert special_function(rule) is not None
    assert special_function(rule, everywhere=True) is None
    assert special_function(UserRule(special.i1, "n d"), everywhere=True) is not None


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: special.betaln(x, y) + 1e-4,
        lambda x, y: -special.log_gamma_difference(x, y),
        lambda x, y: special.log_gamma_difference(y, x),
        lambda x, y: special.gammaincinv(y, x),
        lambda x, y: special.kepler(x, y)[::-1],
        lambda x, y: special.kepler(x, y)[0],
        lambda x, y: jnp.where(x < 100, special.betaln(x, y), 0.0),
    ],
)
def test_others_of_two_arguments_are_not(function: Any) -> None:
    assert special_function(UserRule(function, "n, n")) is None


def test_functions_that_a_rule_calls_are_known_too() -> None:
    beside = known_beside(UserRule(RIGHT["j0"], "n"))
    assert [(f, d.approximates) for f, d in beside] == [(BESSEL_1, "certgrad.special:j1")]


# --- of two arguments, claimed where they are measured


def _correction(x: Any) -> Any:
    """What Stirling's formula lacks of the logarithm of Γ, for x ≥ 8. DLMF 5.11.1."""
    terms = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
    return sum(c / x ** (2 * k + 1) for k, c in enumerate(terms))


def gamma_difference(x: Any, y: Any) -> Any:
    """By Stirling's formula where y is large, without its large terms."""
    large = jnp.maximum(y, 8.0)
    by_stirling = x - x * jnp.log(large) - (x + large - 0.5) * jnp.log1p(x / large)
    by_stirling = by_stirling + _correction(large) - _correction(x + large)
    return jnp.where(y >= 8, by_stirling, jax.lax.lgamma(y) - jax.lax.lgamma(x + y))


def inverse_gamma(a: Any, y: Any) -> Any:
    def on_host(a: Any, y: Any) -> Any:
        return np.asarray(scipy.special.gammaincinv(a, y), dtype=y.dtype)

    a, y = jnp.broadcast_arrays(a, y)
    return jax.pure_callback(on_host, jax.ShapeDtypeStruct(y.shape, y.dtype), a, y, vmap_method="broadcast_all")


def anomaly(mean: Any, e: Any) -> Any:
    """By bisection."""
    low, high = mean - e, mean + e
    for _ in range(50):
        middle = 0.5 * (low + high)
        below = middle - e * jnp.sin(middle) < mean
        low, high = jnp.where(below, middle, low), jnp.where(below, high, middle)
    half = jnp.sqrt((1 + e) / (1 - e)) * jnp.tan(high / 2)
    return 2 * half / (1 + half**2), (1 - half**2) / (1 + half**2)


def of_two(function: Callable[..., Any], tangent: Callable[..., Any]) -> Any:
    rule = jax.custom_jvp(lambda a, b: function(a, b))
    rule.defjvp(lambda p, t: (rule(*p), tangent(*p, rule(*p), *t)))
    return rule


def _digammas(x: Any, y: Any, v: Any, dx: Any, dy: Any) -> Any:
    psi = jax.lax.digamma
    return -psi(x + y) * dx + (psi(y) - psi(x + y)) * dy


def _of_true_anomaly(mean: Any, e: Any, v: Any, dm: Any, de: Any) -> Any:
    sine, cosine = v
    moved = (1 + e * cosine) ** 2 / (1 - e * e) ** 1.5 * dm + (2 + e * cosine) * sine / (1 - e * e) * de
    return cosine * moved, -sine * moved


def _of_inverse(a: Any, y: Any, v: Any, da: Any, dy: Any) -> Any:
    density = jnp.exp((a - 1) * jnp.log(v) - v - jax.lax.lgamma(a))
    return (dy - jax.lax.igamma_grad_a(a, v) * da) / density


OF_TWO = {
    "log_gamma_difference": of_two(gamma_difference, _digammas),
    "gammaincinv": of_two(inverse_gamma, _of_inverse),
    "kepler": of_two(anomaly, _of_true_anomaly),
}
WRONG_OF_TWO = {
    "a difference of gammas, arguments swapped": of_two(gamma_difference, lambda x, y, *r: _digammas(y, x, *r)),
    "a difference of gammas of the other sign": of_two(gamma_difference, lambda *r: -_digammas(*r)),
    "a difference of gammas without a term": of_two(
        gamma_difference, lambda x, y, v, dx, dy: _digammas(x, y, v, dx, 0 * dy)
    ),
    "an inverse by the other slope": of_two(inverse_gamma, lambda a, y, v, da, dy: _of_inverse(a, y, v, -da, dy)),
    "an inverse by half its slope": of_two(inverse_gamma, lambda *r: _of_inverse(*r) / 2),
    "an inverse with its arguments swapped": of_two(
        inverse_gamma, lambda a, y, v, da, dy: _of_inverse(a, y, v, dy, da)
    ),
    "an anomaly of the other sign": of_two(anomaly, lambda *r: (_of_true_anomaly(*r)[0], -_of_true_anomaly(*r)[1])),
    "an anomaly whose eccentricity counts twice": of_two(
        anomaly, lambda m, e, v, dm, de: _of_true_anomaly(m, e, v, dm, 2 * de)
    ),
    "an anomaly, sine for cosine": of_two(anomaly, lambda m, e, v, *r: _of_true_anomaly(m, e, v[::-1], *r)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_TWO)
def test_a_right_rule_of_two_arguments_is_proved_where_they_are_measured(name: str) -> None:
    result, report = audit(OF_TWO[name])
    assert report is not None
    assert report.proved, str(report)
    (remark,) = (r.text for r in result.remarks if r.code == OF_IDEAL)
    domain = {"kepler": "b > 0 and b < 1", "gammaincinv": "a > 0 and b > 0 and b < 1"}.get(name, "a > 0 and b > 0")
    assert f"inferred from its values at 160 points with {domain}, as nothing declares it" in remark
    assert f'approximates="certgrad.special:{name}" and domain="{domain}" do' in remark


@pytest.mark.one_in(9)
@pytest.mark.parametrize("name", WRONG_OF_TWO)
def test_a_wrong_rule_of_two_arguments_is_not_proved(name: str) -> None:
    report = audit(WRONG_OF_TWO[name])[1]
    assert report is not None
    assert report.verdict in ("refuted", "unproved"), str(report)


# --- of complex values, and the parts of such


def _on_host(function: Callable[..., Any], *args: Any, dtype: Any = None) -> Any:
    arrays = jnp.broadcast_arrays(*args)
    out = jax.ShapeDtypeStruct(arrays[0].shape, dtype or arrays[0].dtype)
    return jax.pure_callback(
        lambda *xs: np.asarray(function(*xs), dtype=out.dtype), out, *arrays, vmap_method="broadcast_all"
    )


def faddeeva(factor: float) -> Any:
    """w(x) of real numbers, with w′(x) = 2i/√π − 2x·w(x), times a factor."""
    rule = jax.custom_jvp(lambda x: _on_host(scipy.special.wofz, x, dtype=jnp.result_type(x, jnp.complex64)))
    rule.defjvp(lambda p, t: (rule(*p), (2j / jnp.sqrt(jnp.pi) - factor * p[0] * rule(*p)) * t[0]))
    return rule


def voigt(sign: int) -> Any:
    """The line broadening function, whose slopes have its partner in them."""
    k = jax.custom_jvp(lambda x, a: _on_host(lambda x, a: scipy.special.wofz(x + 1j * a).real, x, a))
    partner = jax.custom_jvp(lambda x, a: _on_host(lambda x, a: scipy.special.wofz(x + 1j * a).imag, x, a))

    @partner.defjvp
    def partner_jvp(p: Any, t: Any) -> Any:
        (x, a), (dx, da), u, v = p, t, k(*p), partner(*p)
        return v, (2 / jnp.sqrt(jnp.pi) - 2 * (x * v + a * u)) * dx + 2 * (a * v - x * u) * da

    @k.defjvp
    def k_jvp(p: Any, t: Any) -> Any:
        (x, a), (dx, da), u, v = p, t, k(*p), partner(*p)
        return u, 2 * (a * v - x * u) * dx + (2 * (x * v + sign * a * u) - 2 / jnp.sqrt(jnp.pi)) * da

    return k


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "right", "wrong"), [("wofz", faddeeva(2), faddeeva(1)), ("voigt_k", voigt(1), voigt(-1))]
)
def test_the_faddeeva_function_and_its_parts_are_known(name: str, right: Any, wrong: Any) -> None:
    result, report = audit(right)
    assert report is not None
    assert report.verdict == "proved up to rounding", str(report)  # a float is read as π
    assert any(f"certgrad.special:{name}" in r.text for r in result.remarks if r.code == OF_IDEAL)
    report = audit(wrong)[1]
    assert report is not None
    assert report.verdict in ("refuted", "unproved"), str(report)


# --- helpers without a rule, and functions of an order


def right_is_slow(rules: Iterable[str]) -> list[Any]:
    """The names of rules; an audit of the right one takes most of its budget."""
    return [pytest.param(name, marks=[pytest.mark.slow] * (name == "right")) for name in rules]


def only_the_right_one_is_proved(name: str, backwards: Mapping[str, Callable], said: str) -> None:
    report = audit(rule_of(J1, backwards[name]))[1]
    assert report is not None
    if name == "right":
        assert report.proved, str(report)
        assert said in str(report)
    else:
        assert report.verdict in ("refuted", "unproved"), str(report)


QUOTIENT = chebyshev(lambda x: np.where(x == 0, 0.5, scipy.special.j1(x) / np.where(x == 0, 1, x)), lambda x: 0 * x)


def quotient_of_bessel(x: Any) -> Any:
    inside = jnp.abs(x) <= 20.5
    return jnp.where(inside, QUOTIENT(x), J1(jnp.where(inside, 25.0, x)) / jnp.where(inside, 25.0, x))


BESSEL_0 = rule_of(J0, lambda x, y: -BESSEL_1(x))
BY_HELPER = {
    "right": lambda x, y: BESSEL_0(x) - quotient_of_bessel(x),
    "of the other sign": lambda x, y: BESSEL_0(x) + quotient_of_bessel(x),
    "twice": lambda x, y: BESSEL_0(x) - 2 * quotient_of_bessel(x),
    "at another place": lambda x, y: BESSEL_0(x) - quotient_of_bessel(2 * x),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", right_is_slow(BY_HELPER))
def test_a_helper_without_a_rule_is_read_as_what_it_approximates(name: str) -> None:
    only_the_right_one_is_proved(
        name, BY_HELPER, "quotient_of_bessel is read as certgrad.special.jinc, which it approximates"
    )
    assert globals()["quotient_of_bessel"].__name__ == "quotient_of_bessel"
    assert not hasattr(quotient_of_bessel, "lower"), "the helper is not under jit any more"


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def of_order(*args: Any) -> Any:
    v, x = args

    def on_host(x: Any) -> Any:
        return np.asarray(scipy.special.jv(v, x), dtype=x.dtype)

    return jax.pure_callback(on_host, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="broadcast_all")


of_order.defjvp(lambda v, p, t: (of_order(v, *p), (of_order(v - 1, *p) - of_order(v + 1, *p)) / 2 * t[0]))
BY_ORDER = {
    "right": lambda x, y: (BESSEL_0(x) - of_order(2, x)) / 2,
    "of another order": lambda x, y: (BESSEL_0(x) - of_order(3, x)) / 2,
    "of the other sign": lambda x, y: (BESSEL_0(x) + of_order(2, x)) / 2,
    "without the half": lambda x, y: BESSEL_0(x) - of_order(2, x),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", right_is_slow(BY_ORDER))
def test_a_function_of_an_order_is_read_at_the_order_of_each_call(name: str) -> None:
    only_the_right_one_is_proved(name, BY_ORDER, "of_order at args_0 = 2 is read as jv, which it approximates")


# --- what is open for want of time


def test_what_is_open_of_the_function_that_is_meant_is_no_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    """With time, what runs is refuted: a series is not the integral of another one."""
    real = by_name.check
    monkeypatch.setattr(by_name, "SHORT", 1e-3)
    short = 1e-3 * AUDIT_SECONDS
    asked = []

    def check(rule: Any, signature: Any, **options: Any) -> Any:
        asked.append((options.get("approximates"), options["seconds"]))
        if options.get("approximates") or options["seconds"] < AUDIT_SECONDS:
            return real(rule, signature, **{**options, "seconds": short})
        return real(rule_of(jnp.sin, lambda x, y: -jnp.cos(x)), signature, name=options["name"])

    monkeypatch.setattr(by_name, "check", check)
    report = audit(RIGHT["j0"])[1]
    assert asked == [(None, short), ("certgrad.special:j0", AUDIT_SECONDS), (None, AUDIT_SECONDS)]
    assert report.verdict == "unproved"
    assert "budget: the audit took its share of the 20 s before" in report.reason
    assert "the derivative is that of certgrad.special.j0" in report.approximates


@pytest.mark.slow
def test_a_right_rule_without_time_for_the_function_that_is_meant_is_not_refuted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = by_name.check

    def check(rule: Any, signature: Any, **options: Any) -> Any:
        seconds = 0.02 if options.get("approximates") else options["seconds"]
        return real(rule, signature, **{**options, "seconds": seconds})

    monkeypatch.setattr(by_name, "SHORT", 1e-3)
    monkeypatch.setattr(by_name, "check", check)
    assert audit(RIGHT["j0"])[1].verdict == "unproved"


def test_a_value_is_not_refuted_where_its_reading_as_the_ideal_was_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    real = judged._certificate

    def certificate(rule: UserRule, look: Any = None) -> Any:
        if rule.ideals:
            with auditing(1e-6):
                return real(rule, look)
        return msgspec.structs.replace(real(rule, look), verdict="refuted")

    value = UserRule(rule_of(jnp.sin, lambda x, y: jnp.cos(x)), "n d")
    read = copy(value)
    read.ideals = ideals_of(read, [(jax.jit(jnp.tanh), Declaration("n d", approximates="jax.numpy:tanh"))])
    assert read.ideals
    monkeypatch.setattr(judged, "_certificate", certificate)
    found = judged._of_value(value, read)
    assert found.verdict == "unproved"
    assert any("budget: " in case.reason for claim in found.claims for case in claim.cases)
