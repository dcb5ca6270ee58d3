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
    "distrax": Suite("distrax", ("distrax/_src/utils/math_test.py",), shipped=True),
    "jaxopt": Suite(
        "jaxopt",
        ("tests/isotonic_test.py", "tests/projection_test.py", "tests/perturbations_test.py"),
        ("-k", "isotonic or (simplex and not jacobian) or argmax"),
    ),
    "lineax": Suite("lineax", ("tests/test_norm.py", "tests/test_misc.py", "tests/test_operator.py"), graphs=True),
    "equinox": Suite(
        "equinox",
        ("tests/test_ad.py", "tests/test_errors.py", "tests/test_debug.py", "tests/test_nn.py"),
        graphs=True,
    ),
    "optimistix": Suite("optimistix", ("tests/test_misc.py", "tests/test_ad.py")),
    "numpyro": Suite("numpyro", ("test/test_distributions_util.py",), ("-k", "log1mexp or logdiffexp"), graphs=True),
    "ott-jax": Suite(
        "ott-jax", ("tests/math/lse_test.py", "tests/math/math_utils_test.py", "tests/tools/soft_sort_test.py")
    ),
    "e3nn-jax": Suite(
        "e3nn-jax",
        ("tests/_src/spherical_harmonics/sh_test.py", "tests/_src/utils/einsum_test.py"),
        ("-k", "einsum or check_grads or edge_cases"),
    ),
    "flax": Suite("flax", ("tests/nnx/transforms_test.py", "tests/linen/linen_transforms_test.py")),
    "tensorflow_probability": Suite("tfp-nightly", ("benchmarks.suites.tfp_math",), script=True),
}

BY_HAND = {
    "tests.test_operator:test_jacrev_operator.<locals>.f": (
        "on purpose: of 2x the test's rule returns three times the seed"
    ),
    "optax._src.utils:_scale_gradient": "on purpose: it scales the gradient, and the test asks for that",
    "rlax._src.clipping:clip_gradient": "on purpose: it clips the gradient",
    "ott.math.utils:norm": "a mistake: `jax.value_and_grad(norm)` at zeros(3) returns 1.732 for the value, which is 0",
    "flax.core.lift:custom_vjp.<locals>.inner.<locals>.f": "on purpose: the test's rule returns the gradient's sign",
    "nnx.transforms_test:TestCustomVJP.test_basic_call.<locals>.f": (
        "the test's rule cannot be differentiated and never is: it unpacks a cotangent in two"
    ),
    "nnx.transforms_test:TestCustomVJP.test_basic_call_with_state.<locals>.f": (
        "the test's rule cannot be differentiated and never is: it unpacks a cotangent in two"
    ),
    "nnx.transforms_test:TestCustomVJP.test_tree_mode_basic_call.<locals>.f": (
        "the test's rule cannot be differentiated and never is: it returns cotangents of another shape"
    ),
    "nnx.transforms_test:TestCustomVJP.test_custom_vjp_diff_arg_mutation.<locals>.f": (
        "the test's rule leaves out the cotangent of what it changes: of f(m) + m.x the gradient is 2, and should be 3"
    ),
    "tests.test_ad:test_grad_jit_new.<locals>.f": "on purpose: the test's rule adds 2 to the gradient",
    "tests.test_ad:test_grad_jit_old.<locals>.f": "on purpose: the test's rule adds 2 to the gradient",
    "tests.test_ad:test_filter_custom_vjp_symbolic_zero.<locals>.f": (
        "the test's rule asserts which arguments move, and fails for others"
    ),
    "tests.test_ad:test_filter_custom_vjp_defvjp.<locals>.f": "on purpose: the test's rule returns (g0 + g1, g2)",
    "tests.test_ad:test_filter_custom_jvp_kwargs.<locals>.call": "on purpose: the test's rule returns tx**2 + ty",
    "tests.test_ad:test_filter_custom_jvp_no_kwargs.<locals>.call": "on purpose: the test's rule returns tx**2",
    "tests.test_ad:test_filter_custom_jvp_exact.<locals>.f": "the test's rule returns x + y for a function that is y",
    "tests.test_ad:test_filter_custom_jvp_symbolic_zero.<locals>.f": (
        "the test's rule asserts which arguments move, and fails for others"
    ),
    "tests.test_debug:test_backward_nan.<locals>.backward_nan": "on purpose: the test's rule returns nan",
}
"""What the refuted rules are, each looked at in floats or in its code."""
