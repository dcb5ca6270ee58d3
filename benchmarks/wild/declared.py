"""What is declared of the rules that the survey audits, as their authors could have written it beside them.

Shapes and static arguments follow each function's docstring and its callers. A rule that is not listed is audited at
the shapes that certgrad infers. `surrogate` quotes the intent that the package itself states.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special

import certgrad
from certgrad import special
from certgrad.rules.declared.declaration import Declaration

DECLARED: dict[str, Declaration | Callable[[], Declaration]] = {}
"""By the name that the audit gives a rule; a function where a value comes from the package itself."""


def _say(name: str, signature: Any, **options: Any) -> None:
    DECLARED[name] = Declaration(signature, origin="declared for it", **options)


def _later(name: str) -> Callable[[Callable[[], Declaration]], Callable[[], Declaration]]:
    def keep(make: Callable[[], Declaration]) -> Callable[[], Declaration]:
        DECLARED[name] = make
        return make

    return keep


# optax, jaxopt, lineax, optimistix, equinox

_say("optax.projections._projections:_projection_unit_simplex", "n -> n")
_say("jaxopt._src.projection:_projection_unit_simplex", "n -> n")
_say("jaxopt._src.projection:_projection_unit_sparse_simplex", "5 -> 5", static={"max_nz": 2})
for _rule in ("argmax", "max", "fun"):
    _say(
        f"jaxopt._src.perturbations:make_perturbed_{_rule}.<locals>.forward_pert",
        "3, 2:uint32",
        surrogate='"the Monte-Carlo estimate of the Jacobian"',
    )
_say("lineax._norm:_zero_grad_at_zero", "*s -> *s")
_say("equinox._ad:_nondifferentiable", "n d", static={"msg": "not differentiable"})
for _rule in ("nextafter", "prevbefore"):  # the float next to a number
    _say(f"equinox.internal._nextafter:{_rule}", "n -> n", approximates=lambda x: x)
_say("equinox.debug._backward_nan:_backward_nan", "n d", static={"name": None, "terminate": False})
_say("equinox.internal._loop.checkpointed:_stop_gradient_on_unperturbed", "n, n", static={"body_fun": None})


@_later("jaxopt._src.isotonic:_isotonic_l2_pav")
def _isotonic() -> Declaration:
    from jaxopt._src import isotonic

    # Compiled by numba it refuses the arrays that this JAX gives a callback, which are read-only.
    isotonic._isotonic_l2_pav_numba = getattr(
        isotonic._isotonic_l2_pav_numba, "py_func", isotonic._isotonic_l2_pav_numba
    )
    return Declaration("3 -> 3", approximates=_decreasing, origin="declared for it")


def _decreasing(y: Any) -> Any:
    """The nearest decreasing sequence: at i the least over j ≤ i of the largest mean of j to k ≥ i."""
    n = len(y)
    means = {(j, k): jnp.mean(y[j : k + 1]) for j in range(n) for k in range(j, n)}
    largest = [
        [functools.reduce(jnp.maximum, [means[j, k] for k in range(i, n)]) for j in range(i + 1)] for i in range(n)
    ]
    return jnp.stack([functools.reduce(jnp.minimum, row) for row in largest])


@_later("lineax._misc:_asarray")
def _lineax_asarray() -> Declaration:
    import jax.numpy as jnp

    return Declaration("*s -> *s", {"dtype": jnp.float32}, origin="declared for it")


@_later("optimistix._misc:_asarray")
def _optimistix_asarray() -> Declaration:
    import jax.numpy as jnp

    return Declaration("*s -> *s", {"dtype": jnp.float32}, origin="declared for it")


# flax: quantisation in 8 bits, whose "cotangents" of scale and history are their new values


_FP8 = '"We don\'t compute gradients for inp, scale and amax_history, but we pass through scale and history"'


def _fp8(signature: str, **static: Any) -> Callable[[], Declaration]:
    def make() -> Declaration:
        import jax.numpy as jnp

        types = {"compute_dtype": jnp.float32, "q_dtype": jnp.float8_e4m3fn, "dq_type": jnp.float32}
        given = {name: types.get(name) if value is None else value for name, value in static.items()}
        return Declaration(signature, given, surrogate=_FP8, origin="declared for it")

    return make


DECLARED["flax.linen.fp8_ops:in_qdq"] = _fp8("n d, 1, h -> n d", compute_dtype=None, q_dtype=None)
DECLARED["flax.linen.fp8_ops:out_qdq"] = _fp8("n d, 1, h -> n d", compute_dtype=None, q_dtype=None)
DECLARED["flax.linen.fp8_ops:in_q"] = _fp8("n d, 1, h", compute_dtype=None, q_dtype=None)
DECLARED["flax.linen.fp8_ops:out_dq"] = _fp8("1, 1, n d -> n d", dq_type=None)
_CONTRACT = (((1,), (0,)), ((), ()))
DECLARED["flax.linen.fp8_ops:quantized_dot"] = _fp8(
    "n d, n d, 1, d m, d m, 1, 1, h -> n m", dimension_numbers=_CONTRACT, preferred_element_type=None
)
_say(
    "flax.linen.fp8_ops:dot_general_with_precision",
    "n d, d m -> n m",
    static={"dimension_numbers": _CONTRACT, "precision": None, "preferred_element_type": None},
)

# rlax, distrax, numpyro, kfac-jax, brax, aqt, netket

_say(
    "rlax._src.clipping:clip_gradient",
    "*s, , ",
    differentiable=["x"],
    surrogate='"Identity but the gradient in the backward pass is clipped."',
)
_BOUNDED = '"Computes a square root with a gradient clipped at `max_gradient`."'
_say("kfac_jax._src.utils.math:_sqrt_bound_derivative", "*s -> *s", static={"max_gradient": 1000.0}, surrogate=_BOUNDED)
_say("recurrentgemma.jax.layers:sqrt_bound_derivative", "*s -> *s", static={"max_gradient": 1000.0}, surrogate=_BOUNDED)
_say(
    "brax.math:safe_arccos",
    "*s -> *s",
    surrogate='"with safety clipping in grad"',
)
_say(
    "brax.math:safe_arcsin",
    "*s -> *s",
    surrogate='"with safety clipping in grad"',
)
_STE = '"with Straight-Through-Estimator gradient"'
_say("aqt.jax_legacy.jax.primitives:floor_with_gradient", "*s -> *s", surrogate=_STE)
_say("aqt.jax_legacy.jax.primitives:round_with_gradient", "*s -> *s", surrogate=_STE)
_say(
    "aqt.jax_legacy.jax.fp_cast:downcast_sat_ftz",
    "*s -> *s",
    static={"exp_min": -11, "exp_max": 4, "sig_bits": 3},
    surrogate='"implements the straight-through estimator"',
)
_say("distrax._src.utils.math:multiply_no_nan", "*s, *s -> *s")
_say("distrax._src.utils.math:power_no_nan", "*s, *s -> *s", domain="x > 0")


@_later("netket.jax._expect:_expect")
def _expectation() -> Declaration:
    import netket

    # Without it the statistics hold an entry that is NaN whatever the samples are.
    netket.config.update("netket_experimental_fft_autocorrelation", True)
    static = {
        "n_chains": 2,
        "chunk_size": None,
        "in_axes": None,
        "log_pdf": lambda w, s: 2 * s @ w,
        "expected_fun": lambda w, s: jnp.sum(s * w, axis=-1) ** 2,
    }
    reason = '"differentiating the first equation above, and then by approximating the expectation values again"'
    return Declaration("n, 8 n", static, surrogate=reason, origin="declared for it")


# ott

_say("ott.math.utils:softmin", "n d,  -> n", static={"axis": 1})
_say("ott.math.utils:logsumexp", "n d -> n", static={"axis": 1, "keepdims": False, "b": None, "return_sign": False})
_say("ott.math.utils:norm", "n -> ", static={"ord": None, "axis": None, "keepdims": False})
_say("ott.math.matrix_square_root:sqrtm", "n n")
_say("ott.math.matrix_square_root:sqrtm_only", "n n -> n n")
_say("ott.math.matrix_square_root:inv_sqrtm_only", "n n -> n n")

# jax_md, e3nn, probdiffeq, nifty, desc

_FRACTIONAL = (
    '"The derivative of the displacement function is defined so that derivatives live in X (as opposed to being '
    'backpropagated to U)"'
)
_NO_OP = '"acts as a no-op in the forward pass, but it transforms the gradients into fractional coordinates"'
_say("jax_md.space:transform", "d d, n d -> n d", surrogate=_FRACTIONAL)
_say(
    "jax_md._energy.electrostatics:transform_gradients",
    "d d, n d -> n d",
    surrogate=_NO_OP,
)
_say(
    "jax_md.mm_forcefields.nonbonded.electrostatics:transform_gradients",
    "d d, n d -> n d",
    surrogate=_NO_OP,
)
_say("jax_md.rigid_body:_quaternion_rotate", "4, 3 -> 3")
_say("jax_md._nn.uma.kernels:_segment_mm_2d", "n i, s o i, s:int -> n o")
_say(
    "jax_md._nn.uma.common.rotation:safe_acos",
    "*s -> *s",
    surrogate='"Backward pass: gradient uses clamped x to avoid NaN near ±1."',
)
_say(
    "jax_md._nn.uma.common.rotation:safe_atan2",
    "*s, *s -> *s",
    surrogate='"Backward: clamps denominator x^2+y^2 to avoid NaN at the origin."',
)
_say("jax_md.mm_forcefields.reaxff.reaxff_helper:safe_sqrt", "*s -> *s")
_say("probdiffeq.backend.linalg:qr_r", "n n -> n n", surrogate="\"Treat 'Q' as constant\"")
_say("nifty8.re.multi_grid.util:solve", "n n, n -> n")
_say("nifty8.re.multi_grid.util:sqrtm", "n n -> n n")

# tensorflow_probability: special functions are approximated, and differentiated by their exact identities

_TFP = "tensorflow_probability.substrates.jax"


def _ideal(name: str, signature: str, what: Callable[..., Any] | str, **options: Any) -> None:
    """The function computes an approximation of `what`, and its rule is the derivative of that."""
    _say(name, signature, approximates=what, **options)


def _approximates(name: str, signature: str, what: str, **options: Any) -> None:
    del what  # the package does not say that its gradient is not the derivative, so this is no surrogate
    _say(name, signature, **options)


# Inverse functions, by the equation that says which: what scipy computes is one solution of it.


def _inverse(name: str, equation: Callable[..., Any]) -> Callable[..., Any]:
    found = getattr(scipy.special, name)

    def solution(*args: Any) -> Any:
        args = jnp.broadcast_arrays(*args)
        out = jax.ShapeDtypeStruct(args[0].shape, args[0].dtype)

        def on_host(*arrays: Any) -> np.ndarray:
            return np.asarray(found(*map(np.asarray, arrays)), out.dtype)

        return jax.pure_callback(on_host, out, *args, vmap_method="broadcast_all")

    solution.__name__ = name
    return certgrad.solves(equation)(solution)


_PROBABILITY = ("a > 0", "p > 0", "p < 1")
_gammaincinv = _inverse("gammaincinv", lambda x, a, p: jax.scipy.special.gammainc(a, x) - p)
_gammainccinv = _inverse("gammainccinv", lambda x, a, p: jax.scipy.special.gammaincc(a, x) - p)
_betaincinv = _inverse("betaincinv", lambda x, a, b, y: jax.scipy.special.betainc(a, b, x) - y)


def _eccentric_anomaly(M: Any, e: Any) -> Any:
    E = M
    for _ in range(30):
        E = E - (E - e * jnp.sin(E) - M) / (1 - e * jnp.cos(E))
    return E


_kepler_equation = certgrad.solves(lambda E, M, e: E - e * jnp.sin(E) - M)(_eccentric_anomaly)


def _true_anomaly(M: Any, e: Any) -> tuple[Any, Any]:
    """Sine and cosine of it; Murray and Dermott, Solar System Dynamics, section 2.4."""
    E = _kepler_equation(M, e)
    r = 1 - e * jnp.cos(E)
    return jnp.sqrt(1 - e * e) * jnp.sin(E) / r, (jnp.cos(E) - e) / r


# Its code computes shapes as arrays of integers, which symbolic sizes are not: most are audited at scalars.
_ideal(
    f"{_TFP}.distributions.student_t:_stdtr_custom_gradient",
    ", ",
    lambda df, t: 1 - jax.scipy.special.betainc(df / 2, 0.5, 1 / (1 + t * t / df)) / 2,
    differentiable=["t"],
    domain=("df > 0", "t > 0", "t * t / df < 1000"),  # where that passes 1/ε, its density leaves 1 out of 1 + t²/df
)
_approximates(f"{_TFP}.distributions.student_t:_stdtrit_custom_gradient", ", ", "Student's quantile function")
_approximates(f"{_TFP}.distributions.noncentral_chi2:_nc2_cdf_naive", "3, 3, 3 -> 3", "the noncentral χ² distribution")
_approximates(
    f"{_TFP}.distributions.noncentral_chi2:_nc2_quantile_naive",
    "3, 3, 3 -> 3",
    "the noncentral χ² quantile",
    static={"tol": 1e-6},
)
_approximates(f"{_TFP}.distributions.von_mises:von_mises_cdf", "n, n", "von Mises' distribution function")
_MANUAL = f"{_TFP}.experimental.math.manual_special_functions"
for _rule, _what in {"_exp_pade_4_4_impl": "exp", "_expm1_pade_4_4_impl": "expm1"}.items():
    _approximates(f"{_MANUAL}:{_rule}", "n -> n", _what)  # these compute the derivative from the value itself
_say(f"{_MANUAL}:_log1p_pade_4_4_impl", "n -> n", domain="x > -1", approximates="jax.numpy:log1p")
_say(f"{_MANUAL}:_log_pade_4_4_impl", "n -> n", domain="x > 0", approximates="jax.numpy:log")
for _rule, _what in {
    "_bessel_iv_ratio_custom_gradient": lambda v, z: special.iv(v, z) / special.iv(v - 1, z),
    "_bessel_ive_custom_gradient": lambda v, z: special.iv(v, z) * jnp.exp(-jnp.abs(z)),
    "_log_bessel_ive_custom_gradient": lambda v, z: jnp.log(special.iv(v, z)) - jnp.abs(z),
}.items():
    _ideal(f"{_TFP}.math.bessel:{_rule}", ", ", _what, differentiable=["z"], domain=("v > 0", "z > 0"))
for _rule, _what in {  # which are even in the order
    "_bessel_kve_custom_gradient": lambda v, z: special.kv(v, z) * jnp.exp(z),
    "_log_bessel_kve_custom_gradient": lambda v, z: jnp.log(special.kv(v, z)) + z,
}.items():
    _ideal(f"{_TFP}.math.bessel:{_rule}", ", ", _what, differentiable=["z"], domain="z > 0")
_ideal(f"{_TFP}.math.special:_igammainv_custom_gradient", ", ", _gammaincinv, domain=_PROBABILITY)
_ideal(f"{_TFP}.math.special:_igammacinv_custom_gradient", ", ", _gammainccinv, domain=_PROBABILITY)
_ideal(
    f"{_TFP}.math.special:_betaincinv_custom_gradient",
    ", , ",
    _betaincinv,
    differentiable=["y"],
    domain=("a > 0", "b > 0", "y > 0", "y < 1"),
)
_ideal(f"{_TFP}.math.special:_dawsn_custom_gradient", "n -> n", special.dawsn)
_ideal(f"{_TFP}.math.special:_erfcx_custom_gradient", "n -> n", special.erfcx)
_ideal(f"{_TFP}.math.special:_lambert_custom_gradient", "n -> n", special.lambertw, domain="z > 0")
_ideal(f"{_TFP}.math.special:_owens_t_custom_gradient", ", ", special.owens_t)
_ideal(
    f"{_TFP}.math.special:_betainc_custom_gradient",
    ", , ",
    jax.scipy.special.betainc,
    differentiable=["x"],
    domain=("a > 0", "b > 0", "x > 0", "x < 1"),
)


@_later(f"{_TFP}.math.special:_lbeta_custom_gradient")
def _log_beta() -> Declaration:
    from jax.lax import lgamma

    def log_beta(x, y):  # type: ignore[no-untyped-def]
        return lgamma(x) + lgamma(y) - lgamma(x + y)

    domain = ("x > 0", "y > 0")
    return Declaration(", ", domain=domain, approximates=log_beta, origin="declared for it")


@_later(f"{_TFP}.math.special:_log_gamma_difference_custom_gradient")
def _log_gamma_difference() -> Declaration:
    from jax.lax import lgamma

    def log_gamma_difference(x, y):  # type: ignore[no-untyped-def]
        return lgamma(y) - lgamma(x + y)

    domain = ("x > 0", "y > 0")
    return Declaration(", ", domain=domain, approximates=log_gamma_difference, origin="declared for it")


_say(f"{_TFP}.math.generic:_log_cosh_custom_gradient", "*s -> *s")
_ideal(
    f"{_TFP}.math.hypergeometric:hyp2f1_small_argument",
    ", , , ",
    lambda a, b, c, z: special.hyp2f1(a, b, c, z),
    static={"name": None},
    differentiable=["z"],
    domain=("c > 0", "z < 1"),
)
_say(
    f"{_TFP}.math.psd_kernels.internal.util:sqrt_with_finite_grads",
    "*s",
    surrogate='"A sqrt function whose gradient at zero is very large but finite."',
)
_say(f"{_TFP}.internal.custom_gradient:_prevent_gradient_helper", ({"message": "n"},))
_say(f"{_TFP}.math.linalg:_hpsd_logdet_custom_gradient", "n n, n n -> ")
_say(f"{_TFP}.math.linalg:_hpsd_quadratic_form_solve_custom_gradient", "n n, n m, n n -> m m")
_say(f"{_TFP}.math.linalg:_hpsd_quadratic_form_solvevec_custom_gradient", "n n, n, n n -> ")
_say(f"{_TFP}.math.linalg:_hpsd_solve_custom_gradient", "n n, n m, n n -> n m")


def _sampler(name: str, signature: str, typed: bool = False, **static: Any) -> None:
    """A sampler at one shape and one seed, which has to be a typed key for some."""

    def make() -> Declaration:
        import jax

        made = {**static, "seed": jax.random.key(0) if typed else jax.random.PRNGKey(0)}
        reason = "implicit reparameterisation: the gradient of a sample's distribution, not of the sampling program"
        return Declaration(signature, made, surrogate=reason, origin="declared for it")

    DECLARED[name] = make


_sampler(f"{_TFP}.distributions.gamma:_random_gamma_gradient", "3, 3", shape=(3,), log_rate=None, log_space=False)
_sampler(f"{_TFP}.distributions.inverse_gaussian:_random_inverse_gaussian_gradient", "3, 3", shape=(3,))
_sampler(f"{_TFP}.distributions.two_piece_normal:_two_piece_normal_sample_with_gradient", "3", sample_shape=(3,))
_sampler(f"{_TFP}.distributions.von_mises:_von_mises_sample_with_gradient", "3", typed=True, shape=(3,))


@_later("distrax._src.distributions.von_mises:_von_mises_sample")
def _distrax_sample() -> Declaration:
    import jax
    import jax.numpy as jnp

    static = {"shape": (3,), "seed": jax.random.PRNGKey(0), "dtype": jnp.dtype("float32")}
    return Declaration(
        "3 -> 3",
        static,
        domain="concentration > 1e-3",  # below 1e-7 the rule samples at 1e-7
        surrogate="implicit reparameterisation",
        origin="declared for it",
    )


@_later("distrax._src.distributions.von_mises:_von_mises_cdf")
def _distrax_cdf() -> Declaration:
    import jax.numpy as jnp

    reason = "it computes an approximation of von Mises' distribution function, and its rule is by another method"
    return Declaration("n, n -> n", {"dtype": jnp.dtype("float32")}, surrogate=reason, origin="declared for it")


# jax

_JAX = "jax._src"
_say(f"{_JAX}.ad_checkpoint:primal_left_tangent_right", "n, n -> n")
_say(f"{_JAX}.lax.other:logaddexp", "*s, *s -> *s")
_say(f"{_JAX}.lax.other:logaddexp2", "*s, *s -> *s")
_say(f"{_JAX}.nn.functions:relu", "*s -> *s")
_say(f"{_JAX}.nn.functions:relu6", "*s -> *s")
_say(f"{_JAX}.nn.functions:log1mexp", "*s -> *s")
_say(f"{_JAX}.nn.functions:_softmax", "n d, n d:bool -> n d", static={"axis": -1})
_say(f"{_JAX}.numpy.lax_numpy:_i0", "*s -> *s")
_ideal(f"{_JAX}.numpy.linalg:_det", "2 2 -> ", f"{_JAX}.numpy.linalg:_det_2x2")  # its own formula is none where it is 0
_say(f"{_JAX}.numpy.linalg:_pinv", "n n -> n n")
_say(f"{_JAX}.numpy.linalg:_slogdet_lu", "n+2 n+2 -> , ")  # slogdet calls it for three rows and more
_say(f"{_JAX}.numpy.linalg:_slogdet_qr", "n n -> , ")
_say(f"{_JAX}.numpy.linalg:_slogdet_small", "2 2 -> , ")
_say(f"{_JAX}.numpy.ufuncs:_sinc_maclaurin", "n -> n", static={"k": 0})
_say(f"{_JAX}.scipy.special:_xlogx", "*s -> *s")
_say(f"{_JAX}.scipy.special:logit", "*s -> *s")
_say(f"{_JAX}.scipy.special:xlogy", "*s, *s -> *s")
_say(f"{_JAX}.scipy.special:xlog1py", "*s, *s -> *s")
for _rule, _signature, _what in (
    ("_dawsn", "n -> n", special.dawsn),
    ("_erfcx", "n -> n", special.erfcx),
    ("_owens_t_impl", "n, n -> n", special.owens_t),
    ("expi", "n -> n", special.expi),
    ("sici", "n -> n, n", special.sici),
):
    _ideal(f"{_JAX}.scipy.special:{_rule}", _signature, _what)
_ideal(f"{_JAX}.scipy.special:expn", "n -> n", lambda x, n: special.expn(n, x), static={"n": 2}, domain="x > 0")
_ideal(f"{_JAX}.scipy.special:hyp1f1", "n, n, n -> n", special.hyp1f1, differentiable=["x"], domain="b > 0")
_ideal(
    f"{_JAX}.scipy.special:hyp2f1",
    "n, n, n, n -> n",
    special.hyp2f1,
    differentiable=["x"],
    domain=("c > 0", "x < 1"),
)
_ideal(
    f"{_JAX}.scipy.special:poch",
    "n, n -> n",
    lambda z, m: jnp.exp(jax.lax.lgamma(z + m) - jax.lax.lgamma(z)),
    domain=("z > 0", "m > 0"),
)
_ideal(f"{_JAX}.scipy.special:zeta", "n, n -> n", jax.lax.zeta, differentiable=["q"], domain=("x > 1", "q > 0"))
_approximates(
    f"{_JAX}.scipy.special:log_ndtr", "n -> n", "log of the normal distribution function", static={"series_order": 3}
)
_ideal(f"{_JAX}.third_party.scipy.special:fresnel", "n -> n, n", special.fresnel)
_PALLAS = "jax.experimental.pallas.ops"
for _rule in ("layer_norm:layer_norm", "rms_norm:rms_norm"):
    _say(
        f"{_PALLAS}.gpu.{_rule}",
        "1 2 4, 4, 4 -> 1 2 4",
        static={"interpret": True, "backward_pass_impl": "triton"},
    )
_say(
    f"{_PALLAS}.tpu.flash_attention:_mha_reference",
    "b h q c, b h k c, b h k c, b h q k -> b h q c",
    static={"segment_ids": None, "causal": False, "mask_value": -1e9, "sm_scale": 1.0, "save_residuals": False},
)
_say(
    f"{_PALLAS}.tpu.splash_attention.splash_attention_kernel:_attention_reference_custom",
    "q k:bool, q d, k d, k d -> q d",
    static={
        "segment_ids": None,
        "sinks": None,
        "mask_value": -1e9,
        "save_residuals": False,
        "custom_type": "flash",
        "attn_logits_soft_cap": None,
    },
)

# exojax, e3nn, flash attention, bartz, tensorcircuit, fmmax, qpax, desc, netket, jraph

_say("exojax.special.faddeeva:rewofzx", ", ")
_approximates("exojax.opacity.lpf.lpf:hjert", ", ", "the Voigt–Hjerting function")
_say("exojax.postproc.spin_rotation:integrated_rotkernel_trans", "n, n -> n")
_say("exojax.postproc.spin_rotation:rotkernel_Gimenez", "n, n, n -> n")
_say("exojax.rt.chord:safe_sqrt", "*s -> *s")
_say(
    "e3nn_jax._src.spherical_harmonics:_custom_jvp_spherical_harmonics",
    "n 3",
    static={"ls": (0, 1, 2), "normalization": "component", "algorithm": ("recursive", "dense", "custom_jvp")},
)
_say("flash_attention_jax.flash_attention:flash_attention", "b h n d, b h m d, b h m e, b m:bool")
_say(
    "flash_attention_jax.cosine_sim_flash_attention:cosine_sim_flash_attention_after_l2norm",
    "n d, m d, m d, m:bool -> n d",  # of one head, where values are as wide as keys
)
_say("flash_attention_jax.causal_flash_attention:causal_flash_attention", "b h n d, b h n d, b h n e -> b h n e")
_say(
    "bartz._jaxext.random._poisson:poisson_from_normal",
    "n, n -> n",
    surrogate="implicit differentiation of a continuous relaxation of the sampler",
)
_say("tensorcircuit.backends.jax_ops:adaware_svd", "n n")
_say("tensorcircuit.backends.jax_ops:adaware_eigh", "n n")
_say("tensorcircuit.backends.jax_ops:adaware_qr", "n n")
_say("tensorcircuit.tnalg.krylov:_projected_exponential", "n n,  -> n")
_approximates(
    "tensorcircuit.backends.jax_ops:bessel_jv_jax_rescaled", "", "Bessel functions J", static={"k": 4, "M": 12}
)
_approximates(
    "tensorcircuit.backends.jax_ops:modified_bessel_ive_jax", "", "scaled Bessel functions I", static={"k": 4, "M": 12}
)
_say("varipeps.utils.svd:svd_wrapper", "n n")
_ideal("ott.math.utils:lambertw", "n -> n", special.lambertw, domain="z > 0")

# spiking neurons: the step function, with the derivative of something smoother

_SLAX = '"the Heaviside step function with forward-mode autodiff compatible surrogate derivative"'
for _rule in ("fast_sigmoid.<locals>.fs", "atan.<locals>.arctangent", "multi_gauss.<locals>.forward"):
    _say(f"slax.models.surrogates:{_rule}", "n -> n", surrogate=_SLAX)
_say(
    "spyx.axn:custom.<locals>.f",
    "n -> n",
    surrogate='"Function that computes the surrogate gradient g(x) used during the backward pass"',
)
_SNNAX = '"A function that returns the surrogate gradient of the heaviside function"'
for _rule in (
    "superspike_surrogate.<locals>.heaviside_with_superspike_surrogate",
    "sigmoid_surrogate.<locals>.heaviside_with_sigmoid_surrogate",
    "piecewise_surrogate.<locals>.heaviside_with_sigmoid_surrogate",
):
    _say(f"snnax.functional.surrogate:{_rule}", "n -> n", surrogate=_SNNAX)
_say(
    "jaxsnn.discrete.functional.threshold:superspike",
    "n -> n",
    static={"alpha": 80},
    surrogate="\"Surrogate gradient used in the 'Superspike' paper\"",
)
_say(
    "rockpool.nn.modules.jax.lif_jax:step_pwl",
    "n -> n",
    surrogate='"Heaviside step function with piece-wise linear derivative to use as spike-generation surrogate"',
)
_say(
    "run_eformer:rounded",
    "n -> n",
    surrogate='"The STE is a biased gradient estimator - it assumes the gradient of the quantization function is the '
    'identity"',
)

# special functions

_ideal(
    "jaxoplanet.core.kepler:_kepler",
    "n, n -> n, n",
    _true_anomaly,
    domain=("M > 0", "M < 3", "ecc > 0", "ecc < 1"),
)
_say("e3x.nn.functions.bernstein:_bernstein", "n -> n 4", static={"num": 4})
_ideal("spexial._src.dtype:ldexp_no_flush", "n -> n", lambda x, exponent: x * 2**exponent, static={"exponent": 3})
_say("e3x.nn.functions.switch:smooth_switch", "n -> n", static={"x0": 0.0, "x1": 1.0})
_say("e3x.ops.safe:norm", "n d -> n", static={"axis": -1, "keepdims": False})
_ideal("jaxbessel.bessel:j0", "n -> n", lambda x: special.jv(0, x))
_ideal("jaxbessel.bessel:j1", "n -> n", lambda x: special.jv(1, x))


@_later("jaxbessel.bessel:_j1_over_x")
@functools.cache
def _j1_over_x() -> Declaration:
    """Of a table without a rule of its own, which is called where J₁ is differentiated."""
    from jaxbessel import bessel

    bessel._j1_over_x = jax.jit(bessel._j1_over_x)  # so that a program shows its calls
    return Declaration("n -> n", domain="x != 0", approximates=lambda x: special.jv(1, x) / x, origin="declared for it")


_ideal(
    "jaxbessel.bessel:_bessel_jn",
    "n -> 4 n",
    lambda x, n: jnp.stack([special.jv(k, x) for k in range(n + 1)]),
    static={"n": 3},
    domain="x != 0",
)
_ideal(
    "jaxbessel.spherical:_spherical_bessel_jn",
    "n -> 3 n",
    lambda x, n: jnp.stack([jnp.sqrt(jnp.pi / (2 * x)) * special.jv(k + 0.5, x) for k in range(n + 1)]),
    static={"n": 2},
    domain="x > 0",
)
_ideal(
    "jaxbessel.fractional:_bessel_jv_over_xv",
    "n -> n",
    lambda x, nu: special.jv(nu, x) / x**nu,
    static={"nu": 0.5},
    domain="x > 0",
)
_LSQ = "lsqfitgp._special"
for _rule, _what in (("gammaincinv", _gammaincinv), ("gammainccinv", _gammainccinv)):
    _ideal(f"lsqfitgp.copula._gamma:{_rule}", "n, n -> n", _what, domain=("a > 0", "y > 0", "y < 1"))
_ideal(
    "lsqfitgp.copula._beta:betaincinv",
    "n -> n",
    lambda y, a, b: _betaincinv(a, b, y),
    static={"a": 2.0, "b": 3.0},
    domain=("y > 0", "y < 1"),
)
_ideal(f"{_LSQ}._bessel:j0", "n -> n", lambda x: special.jv(0, x))
_ideal(f"{_LSQ}._bessel:j1", "n -> n", lambda x: special.jv(1, x))


def _by_orders(f: Callable[..., Any], sign: int, whole: int) -> Callable[..., Any]:
    """The derivatives of a Bessel function in its argument; DLMF 10.6.1 and 10.29.1."""

    def derivative(z: Any, args_0: int, args_2: int) -> Any:
        if args_2 <= 0:
            return f(args_0, z)
        below, above = (derivative(z, args_0 + k, args_2 - 1) for k in (-1, 1))
        return whole * (below + sign * above) / 2

    return derivative


_ideal(  # which is another formula at 0
    f"{_LSQ}._bessel:jvmodx2",
    "n -> n",
    lambda x2, nu: (x2 / 4) ** (-nu / 2) * special.jv(nu, jnp.sqrt(x2)),
    static={"nu": 1.5},
    domain="x2 > 0",
)
for _rule, _sign, _whole, _where in (("jv", -1, 1, ()), ("iv", 1, 1, "args_1 > 0"), ("kv", 1, -1, "args_1 > 0")):
    _what = _by_orders(getattr(special, _rule), _sign, _whole)
    _function = lambda z, args_0, f=_what: f(z, args_0, 0)  # noqa: E731
    _ideal(f"{_LSQ}._bessel:{_rule}", "n -> n", _function, static={"args_0": 2}, domain=_where)
    _ideal(f"{_LSQ}._bessel:{_rule}p", "n -> n", _what, static={"args_0": 2, "args_2": 1}, domain=_where)
_ideal(f"{_LSQ}._expint:ci", "n -> n", lambda x: special.sici(x)[1], domain="x > 0")


def _expn_imag(x: Any, n: int) -> Any:
    """Eₙ(−ix) of a positive x; DLMF 6.5.5 and 8.19.12."""
    si, ci = special.sici(x)
    e = -ci + 1j * (jnp.pi / 2 - si)
    for k in range(1, n):
        e = (jnp.exp(1j * x) + 1j * x * e) / k
    return e


_ideal(
    f"{_LSQ}._expint:expn_imag",
    "n -> n:complex",
    _expn_imag,
    static={"n": certgrad.each(2, 3)},
    domain="x > 0",
)
_ideal(
    f"{_LSQ}._bessel:kvmodx2",
    "n -> n",
    lambda x2, nu, norm_offset: (
        2 / jnp.exp(jax.lax.lgamma(float(nu + norm_offset))) * (x2 / 4) ** (nu / 2) * special.kv(nu, jnp.sqrt(x2))
    ),
    static={"nu": 1.5, "norm_offset": 0},
    domain="x2 > 0",
)
_ideal("jaxsnn.event.solver.lif_analytical:_lambertwk0", " -> ", special.lambertw, domain="x > 0")
_KN: dict[str, Callable[..., Any]] = {
    "k0": lambda z: special.kv(0, z),
    "k1": lambda z: special.kv(1, z),
    "k2": lambda z: special.kv(2, z),
    "k0e": lambda z: special.kv(0, z) * jnp.exp(z),
    "k1e": lambda z: special.kv(1, z) * jnp.exp(z),
    "k2e": lambda z: special.kv(2, z) * jnp.exp(z),
    "_dk1": lambda z: -special.kv(0, z) - special.kv(1, z) / z,
    "_dk2": lambda z: -special.kv(1, z) - 2 * special.kv(2, z) / z,
    "_dk0e": lambda z: (special.kv(0, z) - special.kv(1, z)) * jnp.exp(z),
    "_dk1e": lambda z: (special.kv(1, z) - special.kv(0, z) - special.kv(1, z) / z) * jnp.exp(z),
    "_dk2e": lambda z: (special.kv(2, z) - special.kv(1, z) - 2 * special.kv(2, z) / z) * jnp.exp(z),
}
for _rule, _what in _KN.items():
    _ideal(f"spexial._src.kn:{_rule}", "n -> n", _what, domain="z > 0")
_ideal("spexial._src.gamma:gamma", "n -> n", lambda x: jnp.exp(jax.lax.lgamma(x)), domain="x > 0")
_ideal("spexial._src.spence:spence", "n -> n", special.spence, domain="z > 0")
_ideal("spexial._src.spence:_spence_gradient", "n -> n", lambda z: jnp.log(z) / (1 - z), domain=("z > 0", "z != 1"))
_ideal(
    "spexial._src.beta:incomplete_beta",
    ", , n -> n",
    lambda a, b, z: (
        jax.scipy.special.betainc(a, b, z) * jnp.exp(jax.lax.lgamma(a) + jax.lax.lgamma(b) - jax.lax.lgamma(a + b))
    ),
    differentiable=["z"],
    domain=("a > 0", "b > 0", "z > 0", "z < 1"),
)
_say("jaxoplanet.core.limb_dark:_p_integral", ", ", static={"order": 4, "l_max": 1, "include_s1": True})
_say("raytrax.math.bessel:jv_jax", "n -> n", static={"v": 1})  # which is no approximation of J for large z
_ideal("raytrax.math.bessel:kv_jax", "n -> n", lambda z, v: special.kv(v, z), static={"v": 1}, domain="z > 0")
_ideal(
    "raytrax.math.bessel:kve_jax",
    "n -> n",
    lambda z, v: special.kv(v, z) * jnp.exp(z),
    static={"v": 1},
    domain="z > 0",
)
_ideal(  # whose callers give it real numbers
    "raytrax.math.faddeeva:wofz_jax",
    "n -> n:complex",
    lambda z: jnp.exp(-z * z) + 2j / jnp.sqrt(jnp.pi) * special.dawsn(z),
)
_say("copulax._src.special:_log_kv_pos", ", ")
_say("copulax._src.special:stdtr", ", ")

# Zernike polynomials: the mode numbers are integers, those of a basis

_say(
    "zernipax.zernike:_jacobi",
    "n -> n",
    static={"n": certgrad.each(0, 1, 2, 3), "alpha": certgrad.each(0, 1, 2), "beta": 0, "dx": certgrad.each(0, 1)},
)
for _rule, _modes in {
    "zernike:zernike_radial_cpu": ([2, 3], [0, 1]),
    "zernike:zernike_radial_unique": ([2, 3], [0, 1]),
    "backend:custom_jvp_with_jit.<locals>.dummy": ([2], [0]),
}.items():
    _static = {"l": np.array(_modes[0]), "m": np.array(_modes[1]), "dr": 0}
    _say(f"zernipax.{_rule}", f"n -> n {len(_modes[0])}", static=_static)

# chemistry and molecules

_say("dftax.grid.becke:_cell_prod", "n k -> n", domain="s > 0")
_say("dftax.ks.terms:_metric_pinv", "n n -> n n")
_say("dftax.ks.implicit:_proj_from_fock", "n n -> n n", static={"nocc": 1})
_say("apax.utils.jax_md_reduced.space:transform", "d d, n d -> n d", surrogate=_FRACTIONAL)
_say("mlip.models.esen.eulers:safe_acos", "n -> n", static={"eps": 1e-7})
_say("mlip.models.esen.eulers:safe_atan2", "n, n -> n", static={"eps": 1e-7})

# solvers, and what they are made of

_QP = {"solver_tol": 1e-5, "target_kappa": 1e-3, "max_iter": 30}  # which are its defaults
for _how in ("explicit", "implicit"):
    _say(f"qpax.{_how}.elastic_qp:solve_qp_elastic_primal", "2 2, 2, 2 2, 2, ", static=_QP)
    _say(f"qpax.{_how}.diff_qp:solve_qp_primal", "2 2, 2, 1 2, 1, 2 2, 2", static=_QP)
_say("jaxmat.tensors.tensor_utils:eigenvalues", "3 3 -> 3")
_say("jaxfmm.near:_take_sorted", "n d, k:int -> k d")
_say("jaxnnls.diff_qp:solve_nnls_primal", "2 2, 2 -> 2", static={"target_kappa": 1e-3})
_say("vmex.core.stability:_top_eigenvalue", "b n+1, b n -> b")
_say("dynamiqs.integrators.core.low_rank_integrator:_cholesky_solve_cached", "n m, m n, n k -> m k")
_say("dynamiqs.integrators.core.low_rank_integrator:_qr_solve_cached", ("n m", ("n m", "m m"), "n k"))
_say("sparsax:solve.<locals>._solve_a", "4, 3 -> 3")
_say("sparsax:lu_solve.<locals>._lu", "4, 3 -> 3")
_say("sparsax:logdet.<locals>._logdet_a", "4 -> ")
_FAKE = '"Note, that this is meant to take gradients t=0; the forward pass is, in fact, just the identity."'
_say("bijx.lie:_local_curve.<locals>.fake_expm", "", surrogate=_FAKE)
_say("piquasso._math.jax.utils:eig", "n n", static={"eps": 1e-6})
for _rule in ("attention.base:_softmax", "flex_attention.base:_softmax"):
    _say(f"tokamax._src.ops.{_rule}", "n d", static={"normalize": True})
_ideal(
    "pyscfad.xtb.qmmm_pbc.itrf:lambertw",
    "n -> n",
    special.lambertw,
    static={"tol": 1e-6, "max_iter": 4},
    domain="z > 0",
)
_say("spyx.experimental.compress:packed_spike_dense", "1 8, 8 2 -> 1 2")
