"""Bounds on rounding: no measured error is beyond its bound, cancellation shows, and what is not bounded says why."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from certgrad.accel.bounds import Box
from certgrad.accel.rounding import ACCURACY, MODEL, rounding_bound
from certgrad.accel.rounding._bound import bound_of
from certgrad.accel.rounding._measured import measured
from certgrad.errors import UsageError

RANDOM = np.random.default_rng(0)
DTYPES = ("float64", "float32", "bfloat16")


def box(*shape: int, radius: float = 2.0**-4, around: float = 0.0) -> Box:
    middle = np.round(RANDOM.normal(size=shape) * 16) / 16 + around
    return Box(middle - radius, middle + radius)


def attention(q: Any, k: Any, v: Any) -> Any:
    return jax.nn.softmax(q @ k.T / 2.0) @ v


def layer_norm(x: Any) -> Any:
    c = x - x.mean()
    return c * jax.lax.rsqrt((c * c).mean() + 1e-5)


def perceptron(x: Any, W: Any, V: Any) -> Any:
    return jnp.mean(jnp.tanh(x @ W) @ V)


def loop(xs: Any) -> Any:
    return jax.lax.scan(lambda c, x: (jnp.tanh(c * 0.7 + x), c * x), jnp.zeros((), xs.dtype), xs)


PROGRAMS: dict[str, tuple[Any, tuple]] = {
    "softmax": (jax.nn.softmax, (box(5),)),
    "logsumexp": (jax.nn.logsumexp, (box(5),)),
    "attention": (attention, (box(4, 3), box(4, 3), box(4, 2))),
    "layer norm": (layer_norm, (box(6),)),
    "a perceptron": (perceptron, (box(2, 3), box(3, 4), box(4, 2))),
    "a loop": (loop, (box(5),)),
    "relu": (lambda x: jax.nn.relu(x * 1.1) / 3.0, (box(4, radius=1.0),)),
    "powers": (lambda x: x**3 / jnp.sqrt(x) + x**-2, (box(4, around=4.0),)),
    "labels": (lambda x: -jax.nn.log_softmax(x)[jnp.array([1, 0, 1])], (box(4),)),
    "sums": (lambda x: jnp.cumsum(jnp.sin(x) * 0.1) - jnp.sum(x), (box(7),)),
}


@pytest.mark.one_in(30)
@pytest.mark.parametrize("vjp", [False, True], ids=["forward", "vjp"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_measured_error_is_beyond_its_bound(name: str, dtype: str, vjp: bool) -> None:
    f, args = PROGRAMS[name]
    with jax.enable_x64(True):
        bound = rounding_bound(f, *args, dtype=dtype, vjp=vjp)
        assert bound.bounded, str(bound)
        typed = [jax.ShapeDtypeStruct(a.lower.shape, dtype) for a in args]
        flat: list[Any] = list(args)
        function = f
        if vjp:
            outs, tree = jax.tree.flatten(jax.eval_shape(f, *typed))
            flat += [Box(np.full(y.shape, -1.0), np.ones(y.shape)) for y in outs]
            count = len(typed)
            typed = [*typed, *outs]

            def function(*given: Any) -> Any:
                return jax.vjp(f, *given[:count])[1](jax.tree.unflatten(tree, given[count:]))

        found = measured(function, flat, typed, dtype, 40)
        for most, error in zip(found, jax.tree.leaves(bound.error), strict=True):
            assert (most <= error).all()


def test_an_error_that_is_subtracted_from_itself_cancels() -> None:
    def twice(x: Any) -> Any:
        y = jnp.exp(x)
        return y - y, y + (x - y)

    none, small = rounding_bound(twice, box(3)).error
    assert (
        none < 1e-18
    ).all()  # what y is off by is the same number twice; what is left is of the 64 bits of the bound
    assert (small < 4e-7).all()


def test_what_cancels_has_a_large_bound() -> None:
    careless = rounding_bound(lambda x: (x + 1e4) - 1e4, box(3, around=2.0))
    careful = rounding_bound(lambda x: x + (1e4 - 1e4), box(3, around=2.0))
    assert careful.units < 2
    assert careless.units > 1000
    assert "within" in str(careless)


def test_larger_boxes_have_larger_bounds() -> None:
    units = [rounding_bound(jnp.exp, Box(np.zeros(1), np.full(1, top))).error.max() for top in (1.0, 2.0, 4.0)]
    assert units[0] < units[1] < units[2]


def test_a_comparison_that_may_fall_either_way_counts_both_ways() -> None:
    def seam(x: Any) -> Any:
        y = x * 1.1
        return jnp.where(y > 1, y + 1, y)

    wide = rounding_bound(seam, Box(np.full(1, 0.5), np.full(1, 1.5)))
    assert wide.bounded
    assert wide.notes == ["gt may fall either way: both ways count"]
    assert wide.error.max() > 1  # near the seam what is computed may be on the other side
    exact = rounding_bound(lambda x: jnp.where(x > 1, x + 1, x), Box(np.full(1, 0.5), np.full(1, 1.5)))
    assert not exact.notes  # what is given is not rounded, so that both take the same side
    assert exact.units < 1


def test_what_is_not_bounded_says_why() -> None:
    def branch(x: Any) -> Any:
        return jax.lax.cond(x[0] * 3 > 0, lambda x: x + 1, lambda x: x * 2, x)

    around = Box(np.full(2, -1.0), np.ones(2))
    assert "a truth value that is open over the box" in rounding_bound(branch, around).reason
    assert rounding_bound(branch, Box(np.full(2, 0.5), np.ones(2))).bounded
    over = rounding_bound(lambda x: jnp.exp(x * 100), Box(np.zeros(1), np.ones(1)))
    assert not over.bounded
    assert over.notes == ["exp may overflow in float32"]
    assert rounding_bound(lambda x: jnp.exp(x * 100), Box(np.zeros(1), np.full(1, 0.5))).bounded
    assert "1 / 0" not in str(rounding_bound(lambda x: 1 / x, around))
    assert not rounding_bound(lambda x: 1 / x, around).bounded
    unknown = rounding_bound(jax.scipy.special.gammaln, Box(np.ones(1), np.full(1, 2.0)))
    assert unknown.reason == "nothing is assumed of how lgamma is rounded"
    assert str(unknown) == "not bounded in float32: nothing is assumed of how lgamma is rounded"


def test_what_is_asked_wrongly() -> None:
    with pytest.raises(UsageError, match="There is no bound in float8; there are float64"):
        rounding_bound(jnp.exp, box(1), dtype="float8")
    with pytest.raises(UsageError, match="is empty or not finite"):
        rounding_bound(jnp.exp, Box(np.ones(1), np.zeros(1)))


def test_a_wrong_bound_would_be_seen() -> None:
    """The measured errors are large enough that a bound of a tenth is broken."""
    given = [box(64, around=3.0)]
    typed = [jax.ShapeDtypeStruct((64,), jnp.float32)]
    found = measured(lambda x: jnp.sum(x * 0.1), given, typed, "float32", 40)
    bound = bound_of(lambda x: x * 0.1, given, typed, "float32")
    entry = measured(lambda x: x * 0.1, given, typed, "float32", 40)
    assert (entry[0] > bound.error / 10).any()
    assert found[0] > 0


_DRAWN = {
    "log": (1e-6, 1e6),
    "log1p": (-0.999, 1e3),
    "rsqrt": (1e-6, 1e6),
    "cbrt": (1e-6, 1e6),
    "pow": (0.1, 10.0),
    "sin": (-8192, 8192),
    "cos": (-8192, 8192),
    "exp": (-80, 80),
    "exp2": (-100, 100),
    "expm1": (-20, 20),
    "sinh": (-20, 20),
    "cosh": (-20, 20),
    "logistic": (-60, 60),
}


def _points(name: str, count: int, dtype: Any) -> list:
    low, high = _DRAWN.get(name, (-8.0, 8.0))
    x = RANDOM.uniform(low, high, size=count)
    x = np.concatenate([x, x / 1000 if low < 0 else x])
    given = [x, RANDOM.uniform(-8, 8, size=x.shape)] if name == "pow" else [x]
    return [np.asarray(jnp.asarray(v, dtype)) for v in given]


@pytest.mark.one_in(14)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", ACCURACY)
def test_the_assumed_accuracy_is_that_of_this_machine(name: str, dtype: str) -> None:
    """Measured at points, against float64: no proof of the assumption."""
    function = getattr(jax.lax, name)
    with jax.enable_x64(True):
        given = _points(name, 200_000, dtype)
        found = np.asarray(jax.jit(function)(*map(jnp.asarray, given)), np.float64)
        exact = np.asarray(function(*(jnp.asarray(v, jnp.float64) for v in given)))
    normal = (np.abs(exact) > 1.2e-38) & (np.abs(exact) < 3e38)
    relative = np.abs(found - exact)[normal] / np.abs(exact)[normal]
    assert relative.max() <= ACCURACY[name] * float(jnp.finfo(dtype).eps)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ACCURACY)
def test_the_assumed_accuracy_in_64_bits(name: str) -> None:
    function = getattr(jax.lax, name)
    with jax.enable_x64(True):
        given = _points(name, 300, jnp.float64)
        typed = [jax.ShapeDtypeStruct(v.shape, jnp.float64) for v in given]
        found = measured(function, given, typed, "float64", 1)[0]
        exact = np.abs(np.asarray(function(*map(jnp.asarray, given))))
    assert (found <= ACCURACY[name] * 2.0**-52 * exact).all()


def test_the_model_is_listed() -> None:
    assert rounding_bound(jnp.exp, box(1)).model is MODEL
    assert any("in any order" in line for line in MODEL)
