"""Factors that are enclosed, and how they move: beside numpy, and small steps."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flint import arb

from certgrad.numbers.factors import (
    Matrix,
    eigen,
    moved_eigen,
    moved_orthogonal,
    moved_singular,
    orthogonal,
    singular,
)
from certgrad.process.threads import precision

A = np.array([[2.0, 1.0, 0.5], [1.0, -1.0, 0.25], [0.5, 0.25, 3.0]])
TALL = np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.25]])
STEP = arb(2) ** -100


def _balls(a: Any) -> Matrix:
    return np.vectorize(arb, otypes=[object])(a)


def _floats(a: Matrix) -> np.ndarray:
    return np.vectorize(float, otypes=[float])(np.vectorize(lambda x: x.mid(), otypes=[object])(a))


def _eigen_moved(found: Any, da: Matrix) -> Any:
    return moved_eigen(*found, da)


def _singular_moved(found: Any, da: Matrix) -> Any:
    return moved_singular(*found, da)


def _orthogonal_moved(found: Any, da: Matrix) -> Any:
    return moved_orthogonal(*found, da)


CASES: list[tuple[Callable[..., Any], Callable[..., Any], np.ndarray, np.ndarray]] = [
    (eigen, _eigen_moved, A, A[::-1, ::-1] @ A @ A[::-1, ::-1]),
    (singular, _singular_moved, TALL, TALL[::-1] ** 2),
    (orthogonal, _orthogonal_moved, TALL, TALL[::-1] ** 2),
]


@pytest.mark.parametrize("factors, moved, a, da", CASES)
def test_they_move_as_small_steps_say(factors: Any, moved: Any, a: np.ndarray, da: np.ndarray) -> None:
    da = (da + da.T) / 2 if factors is eigen else da
    with precision(512):
        here = factors(_balls(a))
        there = factors(_balls(a) + _balls(da) * STEP)
        for before, after, slope in zip(here, there, moved(here, _balls(da)), strict=True):
            assert np.allclose(_floats((after - before) / STEP), _floats(_balls(0 * before) + slope), atol=1e-12)


def test_they_are_those_of_numpy() -> None:
    with precision(256):
        values, vectors = eigen(_balls(A))
        assert np.allclose(_floats(values), np.linalg.eigvalsh(A))
        assert np.allclose(_floats(_balls(A) @ vectors), _floats(vectors * values))
        values, u, v = singular(_balls(TALL))
        assert np.allclose(_floats(values), np.linalg.svd(TALL, compute_uv=False))
        assert np.allclose(_floats((u * values) @ v.T), TALL)
        q, r = orthogonal(_balls(TALL))
        assert np.allclose(_floats(q @ r), TALL)
        assert all(r[k, k] > 0 for k in range(2))


def test_what_is_not_told_apart_is_said() -> None:
    with precision(256):
        with pytest.raises(ValueError, match="eigenvalues that are not told apart"):
            eigen(_balls(np.eye(2)))
        with pytest.raises(ValueError, match="a singular value that may be 0"):
            singular(_balls([[1.0, 0.0], [0.0, 0.0]]))
        with pytest.raises(ValueError, match="may not have full rank"):
            orthogonal(_balls([[1.0, 2.0], [1.0, 2.0]]))
