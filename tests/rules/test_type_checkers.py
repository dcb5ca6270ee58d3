"""Rules whose types are checked as they run: by beartype, and by jaxtyping with it."""

import jax
import pytest

import certgrad

from .judging.test_check import custom_vjp

beartype = pytest.importorskip("beartype").beartype
jaxtyping = pytest.importorskip("jaxtyping")
checked = jaxtyping.jaxtyped(typechecker=beartype)
Vector = jaxtyping.Float[jax.Array, "n"]
CALLS: list = []


def square(bwd):
    return custom_vjp(lambda x: x**2, lambda x: (x**2, x), bwd)


@beartype
def typed(x: jax.Array, g: jax.Array) -> tuple[jax.Array]:
    return (2 * x * g,)


@checked
def shaped(x: Vector, g: Vector) -> tuple[Vector]:
    return (2 * x * g,)


@pytest.mark.parametrize("bwd", [typed, shaped])
def test_a_right_rule_is_proved(bwd):
    assert certgrad.check(square(bwd), "n -> n").verdict == "proved"


@checked
def thrice(x: Vector, g: Vector) -> tuple[Vector]:
    return (3 * x * g,)


@checked
def pair(x: Vector, g: Vector) -> int:
    return 2


def caught(x, g):
    """Above a length of 3 the check raises an error, which is caught."""
    try:
        pair(x, g[:-1] if x.shape[0] > 3 else g)
    except Exception:
        return (3 * x * g,)
    return (2 * x * g,)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("bwd", [thrice, caught])
def test_a_wrong_rule_is_refuted(bwd):
    assert certgrad.check(square(bwd), "n -> n").verdict == "refuted"


@beartype
def traced(v: jax.core.Tracer) -> None:
    pass


def asking_by_a_check(x, g):
    """3·x·g on arrays."""
    try:
        traced(x)
    except Exception:
        return (3 * x * g,)
    return (2 * x * g,)


@checked
def asking(x: Vector, g: Vector) -> tuple[Vector]:
    return ((2 if isinstance(g, jax.core.Tracer) else 3) * x * g,)


@beartype
def counting(x: object, g: object) -> tuple:
    CALLS.append(1)
    return ((2 if len(CALLS) < 1000 else 3) * x * g,)


@pytest.mark.parametrize(
    ("bwd", "said"),
    [
        (asking_by_a_check, "traced is annotated with Tracer"),
        (asking, "asking asks whether a value is traced"),
        (counting, "counting changes CALLS"),
    ],
)
def test_what_is_checked_is_searched_as_ever(bwd, said):
    report = certgrad.check(square(bwd), "n -> n")
    assert report.verdict == "unproved"
    assert said in report.claims[0].cases[0].reason
