"""Roots of systems of equations, enclosed: Newton's method finds one, Krawczyk's test proves that there is one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flint import arb, arb_mat, ctx

Vector = list[arb]
STEPS = 25


def enclosed_root(
    residual: Callable[[Vector], Vector], jacobian: Callable[[Vector], arb_mat], start: Sequence[arb]
) -> Vector | None:
    """Return balls around the one root near the point that Newton's method comes to from `start`.

    None where it does not come to one, or where it is not proved that a root is there.

    Krawczyk: for a box X around m and a matrix Y, let K = m − Y·R(m) + (1 − Y·R′(X))·(X − m). If K lies in the interior
    of X then R has exactly one root in X; it lies in K, and R′ is invertible on X. All bounds are rigorous.
    """
    at = _middles(start)
    for _ in range(STEPS):
        try:
            step = jacobian(at).mid().solve(_column(residual(at)).mid()).entries()
        except ZeroDivisionError:
            return None
        moved = _middles([x - d for x, d in zip(at, step, strict=True)])
        if not all(x.is_finite() for x in moved):
            return None
        close = all(abs(x - y) <= _relative_tolerance(x, 2 * ctx.prec // 3) for x, y in zip(moved, at, strict=True))
        at = moved
        if close:
            return _krawczyk(residual, jacobian, at)
    return None


def _krawczyk(residual: Callable[[Vector], Vector], jacobian: Callable[[Vector], arb_mat], at: Vector) -> Vector | None:
    n = len(at)
    try:
        inverse = jacobian(at).mid().inv().mid()
    except ZeroDivisionError:
        return None
    shift = inverse * _column(residual(at))
    box = [x + arb(0, _relative_tolerance(x, ctx.prec // 2)) for x in at]
    spread = _column([x - m for x, m in zip(box, at, strict=True)])
    identity = arb_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])
    image = (_column(at) - shift + (identity - inverse * jacobian(box)) * spread).entries()
    in_interior = all(x.is_finite() and b.contains_interior(x) for x, b in zip(image, box, strict=True))
    return image if in_interior else None


def _relative_tolerance(x: arb, bits: int) -> arb:
    """Return a distance that is small relative to x: about |x|·2^−bits, and 2^−bits near 0."""
    return (1 + abs(x)).upper() * arb(2) ** -bits


def _column(values: Vector) -> arb_mat:
    return arb_mat(len(values), 1, values)


def _middles(values: Sequence[arb]) -> Vector:
    return [arb(x).mid() for x in values]
