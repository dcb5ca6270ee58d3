"""The suites, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Suite:
    """Tests of a package, those that come to its derivative rules."""

    package: str
    """The distribution. The tests of a checkout are run in the folder of that name, on what is there."""
    files: tuple[str, ...]
    """Tests, or the module of a script in their place."""
    options: tuple[str, ...] = ()
    """For pytest: which tests of the files, say."""
    shipped: bool = False
    """The installed package has its tests with it; no checkout is needed."""
    script: bool = False
    graphs: bool = False
    """Run it once more with `--graphs`."""


SUITES = {
    "optax": Suite(
        "optax",
        (
            "optax/projections/_projections_test.py",
            "optax/losses/_classification_test.py",
            "optax/_src/utils_test.py",
        ),
        ("-k", "simplex or SoftmaxCrossEntropy or scale_gradient or ScaleGradient"),
        shipped=True,
    ),
    "rlax": Suite("rlax", ("rlax/_src/clipping_test.py",), shipped=True),
    "distrax": Suite(
        "distrax",
        ("distrax/_src/utils/math_test.py", "distrax/_src/distributions/von_mises_test.py"),
        ("-k", "math_test or grad or sample_gradient"),
        shipped=True,
    ),
    "jaxopt": Suite(
        "jaxopt",
        ("tests/isotonic_test.py", "tests/projection_test.py", "tests/perturbations_test.py"),
        ("-k", "isotonic or (simplex and not jacobian) or argmax"),
    ),
    "lineax": Suite("lineax", ("tests/test_norm.py", "tests/test_misc.py"), graphs=True),
    "equinox": Suite("equinox", ("tests/test_ad.py", "tests/test_errors.py", "tests/test_debug.py"), graphs=True),
    "optimistix": Suite("optimistix", ("tests/test_misc.py", "tests/test_ad.py")),
    "numpyro": Suite("numpyro", ("test/test_distributions_util.py",), ("-k", "log1mexp or logdiffexp"), graphs=True),
    "ott-jax": Suite("ott-jax", ("tests/math/lse_test.py", "tests/math/math_utils_test.py")),
    "e3nn-jax": Suite(
        "e3nn-jax",
        ("tests/_src/spherical_harmonics/sh_test.py", "tests/_src/utils/einsum_test.py"),
        ("-k", "einsum or (check_grads and 2x0e) or edge_cases"),
    ),
    "quadax": Suite("quadax", ("tests/test_derivatives.py",), ("-k", "test_jacrev_wrt_args or test_integer_limits")),
    "flax": Suite(
        "flax",
        ("tests/nnx/transforms_test.py", "tests/linen/linen_transforms_test.py"),
        ("-k", "custom_vjp or CustomVJP"),
    ),
    "tensorflow_probability": Suite("tfp-nightly", ("benchmarks.suites.tfp_math",), script=True),
}
