"""Complex numbers as pairs of reals: what the pairs compute is what JAX computes, primitive by primitive."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax._src.lax import linalg

import certgrad
from certgrad.errors import SignatureError
from certgrad.jaxpr.complex_numbers import NoPairsError, has_complex, on_pairs

pytestmark = pytest.mark.usefixtures("proofs_alone")

REGIMES = {"ordinary": (1.0, 0.0), "large": (4.0, 1.0), "left half plane": (1.0, -3.0)}
"""The scale of the numbers, and where their real parts are."""


def complex_numbers(seed: int, shape: tuple[int, ...], scale: float = 1.0, shift: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return scale * (rng.normal(size=shape) + 1j * rng.normal(size=shape)) + shift


def parts(x: Any) -> list[Any]:
    return [part for y in jax.tree.leaves(x) for part in ((y.real, y.imag) if jnp.iscomplexobj(y) else (y,))]


def compared(f: Callable[..., Any], *args: np.ndarray) -> set[str]:
    """Hold the pairs' values against JAX's; the names of the primitives that the program on pairs runs."""
    with jax.enable_x64(True):
        split = parts(args)

        def of_reals(*xs: Any) -> list[Any]:
            rest = iter(xs)
            given = [lax.complex(next(rest), next(rest)) if np.iscomplexobj(a) else next(rest) for a in args]
            return parts(f(*given))

        program = jax.make_jaxpr(of_reals)(*split)
        function = on_pairs(program)
        assert function is not None
        made = jax.make_jaxpr(function)(*split)
        for found, wanted in zip(function(*split), of_reals(*split), strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12 * (1 + np.max(np.abs(wanted), initial=0)))
        assert "complex" not in str(made)
        return {eqn.primitive.name for eqn in made.jaxpr.eqns}


UNARY = {
    "abs": jnp.abs,
    "angle": jnp.angle,
    "conj": jnp.conj,
    "cos": jnp.cos,
    "cosh": jnp.cosh,
    "cube": lambda z: z**3,
    "exp": jnp.exp,
    "expm1": jnp.expm1,
    "imag": jnp.imag,
    "isfinite": jnp.isfinite,
    "log": jnp.log,
    "log1p": jnp.log1p,
    "logistic": lax.logistic,
    "negative": jnp.negative,
    "over its cube": lambda z: z**-3,
    "reciprocal": jnp.reciprocal,
    "rsqrt": lax.rsqrt,
    "sign": jnp.sign,
    "sin": jnp.sin,
    "sinh": jnp.sinh,
    "sqrt": jnp.sqrt,
    "square": jnp.square,
    "tan": jnp.tan,
    "tanh": jnp.tanh,
    "zeroth power": lambda z: lax.integer_pow(z, 0),
}


@pytest.mark.one_in(10)
@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("regime", REGIMES)
def test_functions_of_one(name: str, regime: str) -> None:
    compared(UNARY[name], complex_numbers(len(name), (3, 4), *REGIMES[regime]))


@pytest.mark.parametrize("f", [jnp.add, jnp.subtract, jnp.multiply, jnp.divide, jnp.equal, jnp.not_equal, lax.pow])
def test_functions_of_two(f: Callable[..., Any]) -> None:
    z, w = complex_numbers(1, (3, 4)), complex_numbers(2, (3, 4))
    compared(f, z, w)
    compared(f, z, z)


def test_a_sign_at_zero() -> None:
    compared(jnp.sign, np.array([0, 1j, -2]))


STRUCTURE = {
    "broadcast": lambda z: jnp.broadcast_to(z, (2, 3, 4)),
    "concatenate": lambda z: jnp.concatenate([z, 2 * z]),
    "cumsum": lambda z: jnp.cumsum(z, axis=1),
    "dynamic slice": lambda z: lax.dynamic_slice(z, (1, jnp.argmax(z.real[0])), (2, 2)),
    "dynamic update": lambda z: lax.dynamic_update_slice(z, z[:1, :2], (1, 1)),
    "gather": lambda z: z[jnp.array([2, 0, 0])],
    "iota": lambda z: z + lax.iota(z.dtype, 4),
    "mean": lambda z: jnp.mean(z, axis=0),
    "pad": lambda z: jnp.pad(z, ((1, 0), (0, 2)), constant_values=1j),
    "reshape": lambda z: z.reshape(2, 6),
    "reverse": lambda z: z[:, ::-1],
    "scatter": lambda z: z.at[jnp.array([1, 2])].set(z[:2]),
    "scatter add": lambda z: z.at[jnp.array([1, 1])].add(z[:2]),
    "select": lambda z: jnp.where(z.real > 0, z, 1j),
    "split": lambda z: lax.split(z, (1, 3), axis=1),
    "stop_gradient": lax.stop_gradient,
    "sum": lambda z: jnp.sum(z, axis=1),
    "tile": lambda z: jnp.tile(z, (2, 1)),
    "to narrow": lambda z: z.astype(jnp.complex64).astype(jnp.complex128),
    "to real": lambda z: lax.convert_element_type(z, jnp.float64),
    "transpose": lambda z: z.T,
    "window": lambda z: lax.reduce_window(z, 0j, lax.add, (2, 2), (1, 1), "SAME"),
}


@pytest.mark.one_in(7)
@pytest.mark.parametrize("name", STRUCTURE)
def test_structure(name: str) -> None:
    compared(STRUCTURE[name], complex_numbers(3, (3, 4)))


@pytest.mark.slow
def test_products() -> None:
    a, b = complex_numbers(4, (2, 3, 4)), complex_numbers(5, (2, 4, 5))
    compared(jnp.matmul, a, b)
    compared(lambda x, y: jnp.einsum("bij,bjk->ik", x, y), a, b)
    compared(lambda x: jnp.convolve(x[0, 0], x[1, 1]), a)


def test_a_real_operand_is_a_complex_one_without_imaginary_part() -> None:
    compared(lambda z, x: z @ x + x[0] * z, complex_numbers(6, (3, 3)), np.random.default_rng(7).normal(size=(3, 3)))


LOOPS = {
    "scan": lambda z: lax.scan(lambda c, x: (c * x + 1, c), 1j * jnp.ones(4), z),
    "scan in reverse": lambda z: lax.scan(lambda c, x: (c * x, c + x), jnp.ones(4) + 0j, z, reverse=True),
    "scan with constants": lambda z: lax.scan(lambda c, x: (c * z[0] + x, x), z[1], z),
    "fori_loop": lambda z: lax.fori_loop(0, 3, lambda k, c: c * z + k, z),
    "while": lambda z: lax.while_loop(lambda c: jnp.sum(jnp.abs(c)) < 100, lambda c: 2 * c, z),
    "cond": lambda z: lax.cond(z[0, 0].real > 0, lambda w: w**2, lambda w: 1j * w, z),
    "switch": lambda z: lax.switch(jnp.argmax(z.real[0]), [jnp.conj, lambda w: w, lambda w: 1j * w], z),
    "vmap": lambda z: jax.vmap(lambda x, y: x * jnp.vdot(y, x))(z, z[::-1]),
    "jit": jax.jit(lambda z: jnp.exp(1j * jnp.angle(z))),
    "checkpoint": jax.checkpoint(lambda z: jnp.sin(z) * z),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", LOOPS)
def test_programs_inside(name: str) -> None:
    compared(LOOPS[name], complex_numbers(8, (3, 4)))


@pytest.mark.one_in(9)
@pytest.mark.parametrize("n", [4, 1, 2, 5, 3, 8, 9])
def test_fourier_transforms_of_every_length(n: int) -> None:
    z, x = complex_numbers(n, (2, n)), np.random.default_rng(n).normal(size=(2, n))
    compared(jnp.fft.fft, z)
    compared(jnp.fft.ifft, z)
    compared(jnp.fft.rfft, x)
    compared(lambda w: jnp.fft.irfft(w, n=n), complex_numbers(n, (2, n // 2 + 1)))
    compared(lambda w: jnp.fft.irfft(jnp.fft.rfft(w), n=n), x)


@pytest.mark.slow
def test_fourier_transforms_of_several_axes() -> None:
    z, x = complex_numbers(9, (2, 3, 4)), np.random.default_rng(9).normal(size=(2, 3, 4))
    compared(jnp.fft.fft2, z)
    compared(jnp.fft.fftn, z)
    compared(lambda w: jnp.fft.ifftn(w, axes=(0, 2)), z)
    compared(jnp.fft.rfftn, x)
    compared(lambda w: jnp.fft.irfft2(w, s=(3, 4)), complex_numbers(10, (2, 3, 3)))


@pytest.mark.slow
def test_derivatives_of_complex_programs() -> None:
    def energy(z: Any) -> Any:
        return jnp.sum(jnp.abs(jnp.fft.fft(jnp.tanh(z) * jnp.conj(z))) ** 2)

    compared(jax.grad(energy), complex_numbers(11, (5,)))
    compared(lambda z: jax.jvp(jnp.sqrt, (z,), (1j * z,))[1], complex_numbers(12, (5,)))


def test_a_program_without_complex_numbers_is_left_alone() -> None:
    assert not has_complex(jax.make_jaxpr(jnp.sin)(1.0).jaxpr)


def test_what_has_no_reading_is_named() -> None:
    program = jax.make_jaxpr(lambda x: jnp.linalg.eigvals(x).real)(np.eye(2))
    function = on_pairs(program)
    assert function is not None
    with pytest.raises(NoPairsError, match="eig"):
        function(np.eye(2))


# --- linear systems ---

SYSTEMS: dict[str, Callable[..., Any]] = {
    "a vector": lambda a, b: jnp.linalg.solve(a, b[0]),
    "a stack of vectors": lambda a, b: jnp.linalg.solve(a, b.T),
    "an inverse": lambda a, b: jnp.linalg.inv(a),
    "of the conjugate transpose": lambda a, b: jnp.linalg.solve(a.conj().T, b[0]),
    "a real matrix": lambda a, b: jnp.linalg.solve(a.real, b[0]),
    "a real right-hand side": lambda a, b: jnp.linalg.solve(a, b[0].real),
    "log |det|": lambda a, b: jnp.linalg.slogdet(a)[1],
    "log |det| of several": lambda a, b: jnp.linalg.slogdet(jnp.stack([a, a.T + 1]))[1],
    "the gradient of a solution": lambda a, b: jax.grad(
        lambda a, b: squared(jnp.linalg.solve(a, b)).sum(), argnums=(0, 1)
    )(a, b[0]),
    "the gradient of log |det|": jax.grad(lambda a, b: jnp.linalg.slogdet(a)[1]),
}


@pytest.mark.one_in(9)
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_is_a_real_one_of_twice_the_size(name: str) -> None:
    compared(SYSTEMS[name], complex_numbers(20, (3, 3)), complex_numbers(21, (2, 3)))


def _with_pivots(a: Any) -> Any:
    """As JAX solves, but for what it takes for the permutation."""
    lu, pivots, _ = lax.linalg.lu(a)

    def solve(_: Any, b: Any) -> Any:
        return linalg.lu_solve(lu, pivots, b, trans=0)

    return lax.custom_linear_solve(lambda x: a @ x, a[0], solve, transpose_solve=solve)


UNREAD: dict[str, Callable[..., Any]] = {
    "the sign of a determinant": lambda a: jnp.linalg.slogdet(a)[0],
    "lu": lambda a: lax.linalg.lu(a)[0],
    "lu of a determinant": lambda a: jnp.linalg.det(jnp.kron(a, a)),
    "a stack of matrices": lambda a: jax.vmap(jnp.linalg.solve)(jnp.stack([a, a]), jnp.stack([a[0], a[1]])),
    "pivots for a permutation": lambda a: _with_pivots(a),
    "a solver of the user's own": lambda a: lax.custom_linear_solve(
        lambda x: a @ x, a[0], lambda _, b: jax.scipy.linalg.lu_solve((lax.linalg.lu(a)[0], jnp.arange(3)), b)
    ),
}
"""The factors of a complex matrix are not those of the real one of twice the size."""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", UNREAD)
def test_what_else_is_made_of_the_factors_has_no_reading(name: str) -> None:
    a = complex_numbers(22, (3, 3))
    program = jax.make_jaxpr(lambda re, im: parts(UNREAD[name](re + 1j * im)))(a.real, a.imag)
    function = on_pairs(program)
    assert function is not None
    with pytest.raises(NoPairsError, match=r"lu|sign of a determinant|custom_linear_solve|triangular_solve"):
        function(a.real, a.imag)


def test_factors_of_which_nothing_is_made_are_no_matter() -> None:
    compared(lambda a: (lax.linalg.lu(a), a + 1)[1], complex_numbers(23, (3, 3)))


# --- rules ---


def rule(f: Callable[..., Any], fwd: Callable[..., Any], bwd: Callable[..., Any]) -> Any:
    made = jax.custom_vjp(f)
    made.defvjp(fwd, bwd)
    return made


def squared(z: Any) -> Any:
    return z.real**2 + z.imag**2


def spectrum(x: Any) -> Any:
    return squared(jnp.fft.fft(x))


def recurrence(lam: Any, x: Any) -> Any:
    return lax.scan(lambda h, u: (lam * h + u,) * 2, jnp.zeros_like(x[0]), x)[1]


def recurrence_bwd(conjugated: bool) -> Callable[..., Any]:
    def bwd(saved: Any, g: Any) -> Any:
        lam, h = saved
        before = jnp.concatenate([jnp.zeros_like(h[:1]), h[:-1]])
        used = jnp.conj(lam) if conjugated else lam

        def step(c: Any, row: Any) -> Any:
            c = row[0] + used * c
            return c, (c, c * row[1])

        _, (dx, dlam) = lax.scan(step, jnp.zeros_like(g[0]), (g, before), reverse=True)
        return dlam.sum(), dx

    return bwd


def solved(a: Any, b: Any) -> Any:
    return jnp.linalg.solve(a, b)


def solved_bwd(conjugated: bool) -> Callable[..., Any]:
    """JAX's cotangents of a holomorphic function have no conjugate: A⁻ᵀ·g is that of the adjoint system's solution."""

    def bwd(saved: Any, g: Any) -> Any:
        a, x = saved
        y = jnp.linalg.solve(a.conj().T, jnp.conj(g) if conjugated else g)
        y = jnp.conj(y) if conjugated else y
        return -jnp.outer(y, x), y

    return bwd


def log_modulus(a: Any) -> Any:
    return jnp.linalg.slogdet(a)[1]


def log_modulus_bwd(used: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, g: (g * used(jnp.linalg.inv(a).T),)


RULES: dict[str, tuple[str, Any, Any]] = {
    "linear system": (
        "n n:complex, n:complex -> n:complex",
        rule(solved, lambda a, b: (solved(a, b), (a, solved(a, b))), solved_bwd(True)),
        rule(solved, lambda a, b: (solved(a, b), (a, solved(a, b))), solved_bwd(False)),
    ),
    "logarithm of a determinant": (
        "n n:complex -> ",
        rule(log_modulus, lambda a: (log_modulus(a), a), log_modulus_bwd(lambda w: w)),
        rule(log_modulus, lambda a: (log_modulus(a), a), log_modulus_bwd(jnp.conj)),
    ),
    "square of the modulus": (
        "*s:complex -> *s",
        rule(squared, lambda z: (squared(z), z), lambda z, g: (2 * g * jnp.conj(z),)),
        rule(squared, lambda z: (squared(z), z), lambda z, g: (2 * g * z,)),
    ),
    "product": (
        "*s:complex64, *s:complex64 -> *s:complex64",
        rule(lambda z, w: z * w, lambda z, w: (z * w, (z, w)), lambda r, g: (g * r[1], g * r[0])),
        rule(lambda z, w: z * w, lambda z, w: (z * w, (z, w)), lambda r, g: (g * r[1].conj(), g * r[0])),
    ),
    "matrix product": (
        "n d:complex, d m:complex -> n m:complex",
        rule(lambda a, b: a @ b, lambda a, b: (a @ b, (a, b)), lambda r, g: (g @ r[1].T, r[0].T @ g)),
        rule(lambda a, b: a @ b, lambda a, b: (a @ b, (a, b)), lambda r, g: (g @ r[1].conj().T, r[0].T @ g)),
    ),
    "logarithm": (
        "*s:complex -> *s:complex",
        rule(lambda z: jnp.log(z), lambda z: (jnp.log(z), z), lambda z, g: (g / z,)),
        rule(lambda z: jnp.log(z), lambda z: (jnp.log(z), z), lambda z, g: (g / jnp.abs(z),)),
    ),
    "power spectrum": (
        "n -> n",
        rule(
            spectrum,
            lambda x: (spectrum(x), jnp.fft.fft(x)),
            lambda w, g: (2 * jnp.fft.fft(g * jnp.conj(w)).real,),
        ),
        rule(spectrum, lambda x: (spectrum(x), jnp.fft.fft(x)), lambda w, g: (2 * jnp.fft.fft(g * w).real,)),
    ),
    "linear recurrence": (
        ":complex, t:complex -> t:complex",
        rule(recurrence, lambda a, x: (recurrence(a, x), (a, recurrence(a, x))), recurrence_bwd(False)),
        rule(recurrence, lambda a, x: (recurrence(a, x), (a, recurrence(a, x))), recurrence_bwd(True)),
    ),
}


LONG = ("matrix product", "linear recurrence", "linear system", "logarithm of a determinant")


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in LONG[2:])) for n in RULES])
def test_a_right_rule_is_proved(name: str) -> None:
    signature, right, _ = RULES[name]
    assert certgrad.check(right, signature).verdict in ("proved", "proved under hypotheses")


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in LONG)) for n in RULES])
def test_a_wrong_rule_is_refuted(name: str) -> None:
    signature, _, wrong = RULES[name]
    assert certgrad.check(wrong, signature).verdict == "refuted"


@pytest.mark.slow
def test_the_reproduction_of_a_complex_rule_runs(capsys: pytest.CaptureFixture[str]) -> None:
    signature, _, wrong = RULES["product"]
    script = certgrad.check(wrong, signature).reproduction
    assert "function(z_re + 1j * z_im, w_re + 1j * w_im)" in script
    wide = 'jax.config.update("jax_enable_x64", True)'
    assert wide in script
    with jax.enable_x64(True):  # for the script alone
        exec(re.sub(r"function = \.\.\..*", "", script.replace(wide, "")), {"function": wrong})
    expected, returned = map(float, re.findall(r"expected (\S+) returned (\S+)", capsys.readouterr().out)[0])
    assert abs(expected - returned) > 0.1


@pytest.mark.slow
def test_complex_arguments_are_for_rules_in_code() -> None:
    with pytest.raises(SignatureError, match="only rules in code take and return complex numbers"):
        certgrad.op("*s:complex -> *s")(lambda z: z)


def pulled(factor: float) -> Any:
    return rule(lambda z: z * z, lambda z: (z * z, z), lambda z, g: (factor * g * z,))


def pushed(factor: float) -> Any:
    made = jax.custom_jvp(lambda z: z * z)
    made.defjvp(lambda at, tangents: (at[0] * at[0], factor * at[0] * tangents[0]))
    return made


def with_complex_numbers_inside(factor: float) -> Any:
    """Complex numbers inside alone."""
    made = rule(lambda x: (jnp.exp(1j * x) * x).imag, lambda x: ((jnp.exp(1j * x) * x).imag, x), lambda x, g: (
        factor / 2 * g * (jnp.sin(x) + x * jnp.cos(x)),
    ))  # fmt: skip
    return lambda z: made(z.real) + z


def times_an_integer(factor: float) -> Any:
    made = rule(lambda z, k: z * z * k, lambda z, k: (z * z * k, (z, k)), lambda r, g: (factor * g * r[0] * r[1], None))
    return lambda z: made(z, jnp.arange(z.shape[0]))


IN: dict[str, Callable[[Any], Any]] = {
    "alone": lambda f: lambda x: jnp.sum(jnp.real((1 + 1j) * f(x + 2j * x))),
    "jit": lambda f: lambda x: jnp.sum(jnp.real((1 + 1j) * jax.jit(f)(x + 2j * x))),
    "scan": lambda f: lambda x: jnp.sum(jax.lax.scan(lambda c, _: (f(c + 1j * x).real, None), x, None, length=2)[0]),
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("inside", IN)
@pytest.mark.parametrize("of", [pulled, pushed, with_complex_numbers_inside, times_an_integer])
def test_a_rule_of_complex_numbers_is_a_node_of_a_graph(of: Callable[[float], Any], inside: str) -> None:
    right, wrong = (certgrad.certify(certgrad.trace(IN[inside](of(factor)), "x: n")) for factor in (2.0, 3.0))
    assert right.verdict.startswith("proved")
    assert wrong.verdict in ("refuted", "unproved")
