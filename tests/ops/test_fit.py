"""Which shapes fit a signature."""

import jax
import pytest

from certgrad.ops._fit import fit
from certgrad.ops._signature import parse


@pytest.mark.parametrize(
    "signature, shapes, sizes",
    [
        ("n k, k m -> n m", [(2, 3), (3, 4)], {"n": 2, "k": 3, "m": 4}),
        ("n k, k m -> n m", [(2, 3), (4, 4)], None),
        ("n k, k m -> n m", [(2, 3)], None),
        ("*b n, n -> *b n", [(5, 6, 2), (2,)], {"*b": (5, 6), "n": 2}),
        ("*b n, n -> *b n", [(2,), (2,)], {"*b": (), "n": 2}),
        ("*b n, n -> *b n", [(), ()], None),
        ("*b n, *b -> n", [(3, 2), (3,)], {"*b": (3,), "n": 2}),
        ("*b n, *b -> n", [(3, 2), (4,)], None),
        ("*a n *c, n -> n", [(2, 3, 4), (3,)], {"*a": (2,), "n": 3, "*c": (4,)}),
        ("n 1 -> n", [(3, 1)], {"n": 3}),
        ("n 1 -> n", [(3, 2)], None),
        ("n, 2*n+1 -> n", [(3,), (7,)], {"n": 3}),
        ("n, 2*n+1 -> n", [(3,), (6,)], None),
    ],
)
def test_fit(signature, shapes, sizes):
    assert fit(parse(signature), shapes) == sizes


def test_a_multiple_whose_name_is_unknown_must_divide():
    assert fit(parse("*a 2*n *c -> n"), [(4,)]) is not None
    assert fit(parse("*a 2*n *c -> n"), [(3,)]) is None
    assert fit(parse("*a 2*n *c -> n"), [(3, 4)]) is not None


def test_symbolic_dims():
    n, m = jax.export.symbolic_shape("n, m")
    assert fit(parse("n k, k m -> n m"), [(n, m), (m, 3)]) == {"n": n, "k": m, "m": 3}
    assert fit(parse("n k, k m -> n m"), [(n, m), (n, 3)]) is None
