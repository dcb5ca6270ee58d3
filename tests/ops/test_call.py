"""What a call accepts, and what it says of what it does not accept."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad import ops

X = jnp.ones((2, 3))


def refuses(error, call, message):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == message


def test_constraint_names_op_parameter_value_and_constraint():
    refuses(
        ValueError,
        lambda: ops.layer_norm(X, X[0], X[0], eps=0),
        "layer_norm: eps = 0 violates the constraint eps > 0, which its proof assumes.",
    )
    refuses(
        ValueError,
        lambda: ops.clamp(X, lo=1, hi=-1.5),
        "clamp: hi = -1.5 violates the constraint hi >= lo, which its proof assumes.",
    )


def test_traced_parameter_is_refused():
    refuses(
        TypeError,
        lambda: jax.jit(lambda slope: ops.leaky_relu(X, negative_slope=slope))(0.1),
        "leaky_relu: negative_slope is a traced value (~float32[]), but must be a concrete number: the rules have no "
        "derivative with respect to negative_slope, and it would silently be zero. "
        "Pass a Python number, or mark it static in jit.",
    )
    with pytest.raises(TypeError, match="alpha is a traced value"):
        jax.grad(lambda alpha: ops.elu(1.0, alpha=alpha))(1.0)


def test_parameter_is_one_finite_number():
    refuses(TypeError, lambda: ops.scale(X, c="2"), "scale: c must be a number, not '2'.")
    refuses(TypeError, lambda: ops.scale(X, c=True), "scale: c must be a number, not True.")
    refuses(TypeError, lambda: ops.scale(X, c=[1.0]), "scale: c must be a number, not [1.0].")
    refuses(ValueError, lambda: ops.scale(X, c=np.nan), "scale: c = nan is not a finite real number.")
    assert ops.scale(2.0, c=np.float32(1.5)) == 3.0
    assert ops.scale(jnp.bfloat16(2), c=np.float64(1.5)).dtype == jnp.bfloat16
    assert ops.scale(2.0, c=jnp.asarray(1.5)) == 3.0


def test_shapes_that_do_not_fit_name_arguments_and_signature():
    refuses(
        ValueError,
        lambda: ops.bmm(X, X),
        "bmm: the shapes a (2, 3), b (2, 3) do not fit its signature '*b n k, *b k m -> *b n m'.",
    )
    refuses(
        ValueError,
        lambda: ops.rms_norm(X, jnp.ones(2)),
        "rms_norm: the shapes x (2, 3), gamma (2) do not fit its signature '*b n, n -> *b n'.",
    )
    with pytest.raises(ValueError, match="Incompatible shapes for broadcasting"):
        ops.add(X, jnp.ones(2))


def test_case_that_is_not_proved_is_refused():
    refuses(
        ValueError,
        lambda: ops.mse(X, X, reduction="avg"),
        "mse: reduction='avg' is none of the cases that its rules are proved for: "
        "reduction=none; reduction=mean; reduction=sum.",
    )
    with pytest.raises(
        ValueError, match=r"^integer_pow: n=9 is none of the cases that its rules are proved for: n=0; n=1"
    ):
        ops.integer_pow(X, n=9)
    with pytest.raises(ValueError, match=r"n=2\.0 is none of the cases"):
        ops.integer_pow(X, n=2.0)


def test_dtypes_of_arguments():
    refuses(
        TypeError,
        lambda: ops.exp(X + 1j),
        "exp: x is complex64. The rules are proved over the real numbers only.",
    )
    refuses(
        TypeError,
        lambda: ops.where(X, X, X),
        "where: mask is float32, but must be bool. Compare it, as in mask != 0.",
    )
    assert ops.add(jnp.bfloat16(1), jnp.float32(1)).dtype == jnp.float32
    assert ops.add(jnp.bfloat16(1), 1.0).dtype == jnp.bfloat16
    assert ops.add(1, jnp.float32(1)).dtype == jnp.float32
    assert ops.add(1, 2).dtype == jnp.int32
    assert ops.exp(1).dtype == jnp.float32
    assert jax.grad(lambda x: ops.add(x, jnp.float32(1)))(jnp.bfloat16(1)).dtype == jnp.bfloat16


def test_arguments_bind_as_in_python():
    with pytest.raises(TypeError, match="missing a required argument: 'hi'"):
        ops.clamp(X, lo=0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'slope'"):
        ops.relu(X, slope=1)
    with pytest.raises(TypeError, match="too many positional arguments"):
        ops.elu(X, 2.0)
    np.testing.assert_array_equal(ops.sub(y=X, x=3 * X), 2 * X)


@pytest.mark.slow
def test_numpy_and_python_values_are_arrays():
    assert ops.relu(-1.0) == 0.0
    assert isinstance(ops.relu(np.ones(2)), jax.Array)
    np.testing.assert_array_equal(ops.matmul(np.eye(2), [[1.0], [2.0]]), [[1], [2]])
