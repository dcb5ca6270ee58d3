"""Functions whose values are a special function's, with nothing declared: the rule is proved for that function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from certgrad import special
from certgrad.report.findings import OF_IDEAL
from certgrad.rules._by_name import examined
from certgrad.rules._find import Found
from certgrad.rules._known_functions import NAMES, known, known_beside
from certgrad.rules._user_rule import UserRule

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
    return examined(Found(name="m:f", where="m.py:1", rule=rule), {})


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


EXACT = {name: getattr(special, name) for names in NAMES for name in names}


@pytest.mark.parametrize("name", EXACT)
def test_each_function_is_known_by_its_values(name: str) -> None:
    shapes = "n d" if name in NAMES[0] else "n, n"
    assert known(UserRule(EXACT[name], shapes)) == f"certgrad.special:{name}"


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
    assert known(UserRule(function, "n d")) == ""


def test_functions_that_a_rule_calls_are_known_too() -> None:
    beside = known_beside(UserRule(RIGHT["j0"], "n"))
    assert [(f, d.approximates) for f, d in beside] == [(BESSEL_1, "certgrad.special:j1")]
