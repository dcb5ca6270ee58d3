"""Right rules agree, wrong ones differ, and what a result says of it."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.custom_derivatives import SymbolicZero

import certgrad
from certgrad import exact
from certgrad.errors import DomainError, SignatureError, UsageError
from certgrad.language.parse import parse


def _vjp(function: Callable, fwd: Callable, bwd: Callable) -> Any:
    rule = jax.custom_vjp(function)
    rule.defvjp(fwd, bwd)
    return rule


def _saving(function: Callable, bwd: Callable) -> Any:
    """A rule whose residuals are its arguments."""
    return _vjp(function, lambda *args: (function(*args), args), lambda args, g: bwd(g, *args))


def _softmax(x: Any) -> Any:
    return jax.nn.softmax(x)


def _logsumexp(x: Any) -> Any:
    return jax.nn.logsumexp(x)


def _softmax_bwd(g: Any, x: Any) -> tuple[Any]:
    y = jax.nn.softmax(x)
    return (y * (g - jnp.sum(y * g, -1, keepdims=True)),)


def _norm_bwd(g: Any, x: Any, w: Any) -> tuple[Any, Any]:
    r = 1 / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)
    gw = g * w
    return r * gw - x * r**3 * jnp.mean(gw * x, -1, keepdims=True), g * x * r


def _norm(x: Any, w: Any) -> Any:
    return x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * w


def _solve_bwd(g: Any, a: Any, b: Any) -> tuple[Any, Any]:
    x, u = jnp.linalg.solve(a, b), jnp.linalg.solve(a.T, g)
    return -u[:, None] * x[None, :], u


def _taken(x: Any, i: Any) -> Any:
    return x[i]


RIGHT: dict[str, tuple[Any, str]] = {
    "softmax": (_saving(_softmax, _softmax_bwd), "d -> d"),
    "rms norm": (_saving(_norm, _norm_bwd), "d, d -> d"),
    "log-sum-exp": (
        _vjp(
            _logsumexp,
            lambda x: (_logsumexp(x), (x, _logsumexp(x))),
            lambda saved, g: (g * jnp.exp(saved[0] - saved[1]),),
        ),
        "n -> ",
    ),
    "relu": (_saving(lambda x: jax.nn.relu(x), lambda g, x: (jnp.where(x > 0, g, 0.0),)), "*s -> *s"),
    "gelu": (lambda x: jax.nn.gelu(x, approximate=False), "n -> n"),
    "power": (_saving(lambda x, y: x**y, lambda g, x, y: (g * y * x ** (y - 1), g * x**y * jnp.log(x))), "n, n -> n"),
    "solve": (_saving(lambda a, b: jnp.linalg.solve(a, b), _solve_bwd), "n n, n -> n"),
    "rotation": (_saving(lambda x: jnp.sin(2 * x), lambda g, x: (2 * g * (1 - 2 * jnp.sin(x) ** 2),)), "n -> n"),
    "gather": (_saving(_taken, lambda g, x, i: (jnp.zeros_like(x).at[i].add(g), None)), "n, m:int -> m"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_rule_agrees(name: str) -> None:
    rule, signature = RIGHT[name]
    found = exact.check(rule, signature, domain="x > 0" if name == "power" else ())
    assert found.verdict == "agrees", found.reason
    assert found.difference is None
    assert found.bound <= -80
    assert found.up_to >= 2
    assert "exact at sizes ≤" in exact.level(found)


WRONG: dict[str, tuple[Any, str, str]] = {
    "a sum over all axes": (
        _saving(_softmax, lambda g, x: (jax.nn.softmax(x) * (g - jnp.sum(jax.nn.softmax(x) * g)),)),
        "n d -> n d",
        "vjp_is_adjoint",
    ),
    "another value": (
        _vjp(lambda x: jnp.sin(x), lambda x: (jnp.cos(x), x), lambda x, g: (g * jnp.cos(x),)),
        "n -> n",
        "rule_runs_forward",
    ),
    "a threshold": (
        _saving(lambda x: jax.nn.relu(x), lambda g, x: (jnp.where(x > 1, g, 0.0),)),
        "n -> n",
        "vjp_is_adjoint",
    ),
    "far out": (
        _saving(lambda x: jnp.tanh(x), lambda g, x: (jnp.where(x > 40, 0.5 * g, g * (1 - jnp.tanh(x) ** 2)),)),
        "n -> n",
        "vjp_is_adjoint",
    ),
    "indices that repeat": (
        _saving(_taken, lambda g, x, i: (jnp.zeros_like(x).at[i].set(g, mode="clip"), None)),
        "n, m:int -> m",
        "vjp_is_adjoint",
    ),
    "a factor at one size": (
        _saving(lambda x: jnp.sum(x), lambda g, x: (g * jnp.ones_like(x) * max(x.shape[0] - 2, 1),)),
        "n -> ",
        "vjp_is_adjoint",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rule_differs(name: str) -> None:
    rule, signature, claim = WRONG[name]
    found = exact.check(rule, signature)
    assert found.verdict == "differs", found.reason
    assert found.difference is not None
    assert found.difference.claim == claim
    assert exact.level(found) == ""


def test_a_difference_shows_its_point() -> None:
    rule, signature, _ = WRONG["another value"]
    one = exact.check(rule, signature).difference
    assert one is not None
    assert one.where == "output 0[0]"
    assert one.sizes == {"n": 1}
    (x,) = one.point["x"]
    assert one.left == pytest.approx(float(jnp.cos(x)), abs=1e-6)
    assert one.right == pytest.approx(float(jnp.sin(x)), abs=1e-6)


def test_a_rule_is_defined_where_its_function_is() -> None:
    rule = _saving(lambda x: jnp.prod(x), lambda g, x: (g * jnp.prod(x) / x,))
    found = exact.check(rule, "n -> ")
    assert found.verdict == "differs"
    assert found.reason == "not defined: a division by 0"
    assert exact.check(rule, "n -> ", hypotheses=[parse("x != 0", ("x",))]).verdict == "agrees"


def _huber(side: Callable) -> Any:
    return _saving(
        lambda x: jnp.where(jnp.abs(x) <= 2, x * x / 2, 2 * jnp.abs(x) - 2),
        lambda g, x: (g * jnp.where(side(jnp.abs(x)), x, jnp.where(jnp.abs(x) > 2, 2 * jnp.sign(x), 0.0)),),
    )


def _rotation(at_zero: float) -> Any:
    """x·sin(|x|)/|x|, smooth at 0, where the code has a value of its own."""

    def parts(x: Any, at_zero: float) -> tuple[Any, Any, Any]:
        square = jnp.sum(x * x)
        t = jnp.sqrt(jnp.where(square > 0, square, 1.0))
        return square, t, jnp.where(square > 0, jnp.sin(t) / t, at_zero)

    def bwd(g: Any, x: Any) -> tuple[Any]:
        square, t, b = parts(x, at_zero)
        slope = jnp.where(square > 0, (t * jnp.cos(t) - jnp.sin(t)) / t**3, 0.0)
        return (b * g + slope * jnp.sum(g * x) * x,)

    return _saving(lambda x: parts(x, 1.0)[2] * x, bwd)


def _greater(tie: float) -> Any:
    return _saving(
        lambda x, y: jnp.maximum(x, y),
        lambda g, x, y: (
            g * jnp.where(x > y, 1.0, jnp.where(x < y, 0.0, tie)),
            g * jnp.where(x > y, 0.0, jnp.where(x < y, 1.0, 1 - tie)),
        ),
    )


SEAMS: dict[str, tuple[Any, Any, str]] = {
    "a number of the code": (_huber(lambda a: a <= 2), _huber(lambda a: a < 2), "*s -> *s"),
    "zero": (_rotation(1.0), _rotation(0.5), "2 -> 2"),
    "equal arguments": (
        _saving(lambda x, y: jnp.where(x > y, 1.0, 2.0) * (x - y) ** 3, lambda g, x, y: (
            g * jnp.where(x > y, 3.0, 6.0) * (x - y) ** 2, -g * jnp.where(x > y, 3.0, 6.0) * (x - y) ** 2)),
        _saving(lambda x, y: jnp.where(x > y, 1.0, 2.0) * (x - y) ** 3, lambda g, x, y: (
            g * jnp.where(x > y, 3.0, 6.0) * (x - y) ** 2 + jnp.where(x == y, 1.0, 0.0),
            -g * jnp.where(x > y, 3.0, 6.0) * (x - y) ** 2)),
        "n, n -> n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SEAMS)
def test_at_seams_where_the_function_is_smooth(name: str) -> None:
    right, wrong, signature = SEAMS[name]
    assert exact.check(right, signature).verdict == "agrees"
    assert exact.check(wrong, signature).verdict == "differs"


@pytest.mark.parametrize("tie", [0.0, 0.3, 1.0])
def test_at_kinks_nothing_is_asked(tie: float) -> None:
    assert exact.check(_greater(tie), "n, n -> n").verdict == "agrees"
    assert exact.check(
        _saving(
            lambda x: jax.nn.relu(jnp.min(x)),
            lambda g, x: (g * jnp.where((x == jnp.min(x)) & (x >= 0), tie if x.ndim == 0 else 1.0, 0.0)
                          / jnp.sum(jnp.where(x == jnp.min(x), 1.0, 0.0)),),
        ),
        "3 -> ",
    ).verdict == "agrees"  # fmt: skip


PROPERTIES: list[tuple[str, str, str, Callable, Callable, Callable]] = [
    ("x is sorted", "n -> ", "the last", jnp.max, lambda x: jnp.zeros_like(x).at[-1].set(1.0),
     lambda x: jnp.zeros_like(x).at[0].set(1.0)),
    ("x is symmetric", "n n -> ", "a triangle", jnp.sum,
     lambda x: 2 * jnp.tril(jnp.ones_like(x)) - jnp.eye(x.shape[0]), lambda x: 2 * jnp.tril(jnp.ones_like(x))),
    ("x is symmetric and x > 0", "n n -> ", "signs", lambda x: jnp.sum(jnp.abs(x)), jnp.ones_like, jnp.zeros_like),
    ("x is unit norm", "n -> ", "along the sphere", lambda x: jnp.sum(x**2), lambda x: 5 * x, lambda x: x**2),
]  # fmt: skip


@pytest.mark.parametrize("domain, signature, name, function, slope, other", PROPERTIES, ids=[p[2] for p in PROPERTIES])
def test_arrays_with_a_property(
    domain: str, signature: str, name: str, function: Callable, slope: Callable, other: Callable
) -> None:
    right, wrong = (_saving(lambda x: function(x), lambda g, x, s=s: (g * s(x),)) for s in (slope, other))
    assert exact.check(right, signature, domain=domain).verdict == "agrees"
    assert exact.check(wrong, signature, domain=domain).verdict == "differs"


def test_a_property_that_is_not_known() -> None:
    with pytest.raises(DomainError, match="'x is round': the properties are symmetric"):
        exact.check(lambda x: x * x, "n -> n", domain="x is round")


def test_two_updates_of_one_entry_leave_a_scatter_undefined() -> None:
    rule = _saving(_taken, lambda g, x, i: (jnp.zeros_like(x).at[i].set(g), None))
    found = exact.check(rule, "n, m:int -> m")
    assert found.verdict == "differs"
    assert found.reason == "not defined: a condition that does not hold"


def test_a_rule_in_forward_mode() -> None:
    @jax.custom_jvp
    def f(x: Any) -> Any:
        return jnp.exp(-x * x)

    f.defjvp(lambda p, t: (f(*p), -2 * p[0] * f(*p) * t[0]))
    assert exact.check(f, "n -> n").verdict == "agrees"
    f.defjvp(lambda p, t: (f(*p), -p[0] * f(*p) * t[0]))
    found = exact.check(f, "n -> n").difference
    assert found is not None
    assert found.claim == "jvp_is_derivative"


def test_a_rule_that_sees_which_arguments_move() -> None:
    def made(forgotten: bool) -> Any:
        @jax.custom_jvp
        def f(x: Any, y: Any) -> Any:
            return x * y

        def rule(primals: Any, tangents: Any) -> tuple[Any, Any]:
            (x, y), (dx, dy) = primals, tangents
            still = isinstance(dx, SymbolicZero), isinstance(dy, SymbolicZero)
            first = 0 * x if still[0] else dx * y
            return x * y, first if still[1] or (forgotten and still[0]) else first + x * dy

        f.defjvp(rule, symbolic_zeros=True)
        return f

    assert exact.check(made(False), "n, n -> n").verdict == "agrees"
    assert exact.check(made(True), "n, n -> n").verdict == "differs"


def test_ops_of_the_library() -> None:
    for name in ("log", "softplus", "dot"):
        assert exact.check(certgrad.registry.get(name)).verdict == "agrees"


def _scaled(x: Any, c: float, power: int) -> Any:
    return c * x**power


SCALED = jax.custom_vjp(_scaled, nondiff_argnums=(1, 2))
SCALED.defvjp(lambda x, c, n: (_scaled(x, c, n), x), lambda c, n, x, g: (g * c * n * x ** (n - 1),))


def test_static_arguments() -> None:
    static = {"c": certgrad.real("c > 0"), "power": certgrad.each(2, 3)}
    assert exact.check(SCALED, "n -> n", static=static).verdict == "agrees"


def test_a_float_of_many_digits_is_said() -> None:
    rule = _saving(lambda x: x / jnp.sqrt(2.0), lambda g, x: (g * 0.7071067811865476,))
    found = exact.check(rule, "n -> n")
    assert found.verdict == "agrees"
    assert exact.level(found) == "exact at sizes ≤ 4, in 1 region, up to the rounding of literals"
    off = _saving(lambda x: x / jnp.sqrt(2.0), lambda g, x: (g * 0.7071067811865,))
    assert exact.check(off, "n -> n").verdict == "undecided"


def test_what_it_cannot_read_is_outside() -> None:
    found = exact.check(lambda x: jax.lax.reduce_precision(jnp.linalg.eigvals(x).real, 8, 7), "n n -> n")
    assert found.verdict == "outside"
    assert "the forward has no meaning here" in found.reason


def test_regions_are_counted() -> None:
    found = exact.check(RIGHT["relu"][0], "n -> n")
    assert found.regions > 1
    assert f"in {found.regions} regions" in exact.level(found)
    assert exact.check(lambda x: x * x, "n -> n").regions == 0


def test_what_is_exact_in_one_case_alone_is_exact_in_none() -> None:
    """Of exponents one of which is so fine a fraction of the other no bound is known."""

    def found(c: Any) -> exact.Result:
        return exact.check(lambda x, c: jnp.exp(x) + jnp.exp(c * x), "3 -> 3", static={"c": c})

    one, other, both = found(2.0), found(0.1234567), found(certgrad.each(2.0, 0.1234567))
    assert (exact.level(one), one.bound is None) == ("exact at its shapes", False)
    for result in (other, both):
        assert exact.level(result) == "at points: no bound on the error is known"
        assert (result.verdict, result.bound, result.sizes) == ("agrees", None, ())


def test_no_size_is_left_open() -> None:
    assert exact.level(exact.check(lambda x: x * x, "3 -> 3")) == "exact at its shapes"


def test_several_cases_are_all_looked_at() -> None:
    op = certgrad.registry.get("average")
    found = exact.check(op)
    assert found.verdict == "agrees"
    assert len(op.cases) > 1
    assert exact.check(op, seconds=0.0).verdict == "outside"


def test_arguments_that_do_not_fit() -> None:
    with pytest.raises(SignatureError, match="takes 2 array arguments, but the signature has 3"):
        exact.check(_norm, "n d, d, d -> n d")
    with pytest.raises(UsageError, match="no argument named 'scale'"):
        exact.check(_norm, "n d, d -> n d", static={"scale": 1})
    with pytest.raises(UsageError, match="'z' is no float argument of _norm; those are x, w"):
        exact.check(_norm, "n d, d -> n d", differentiable=["z"])


def test_the_same_each_time() -> None:
    one, other = (exact.check(RIGHT["softmax"][0], "d -> d", seconds=100) for _ in range(2))
    assert (one.sizes, one.points, one.regions, one.bound) == (other.sizes, other.points, other.regions, other.bound)


def test_programs_of_too_many_entries_end_the_check() -> None:
    op = certgrad.registry.get("softplus")
    (case, *_) = op.cases
    found = exact.Check(op, case, []).run(exact.Limits(at_point=5))
    assert (found.verdict, found.reason) == ("outside", "its programs have too many entries")
    found = exact.Check(op, case, []).run(exact.Limits(entries=100))
    assert found.verdict == "agrees"
    assert 1 <= len(found.sizes) < len(exact.check(op).sizes)
