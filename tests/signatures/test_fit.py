"""Which shapes fit a signature."""

import jax
import pytest

from certgrad.ops._declare import axis_of, case, size_of
from certgrad.signatures.fit import covers, fits
from certgrad.signatures.signature import parse


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
    assert next(fits(parse(signature), shapes), None) == sizes


def test_a_multiple_whose_name_is_unknown_must_divide():
    assert next(fits(parse("*a 2*n *c -> n"), [(4,)]), None) is not None
    assert next(fits(parse("*a 2*n *c -> n"), [(3,)]), None) is None
    assert next(fits(parse("*a 2*n *c -> n"), [(3, 4)]), None) is not None


def test_symbolic_dims():
    n, m = jax.export.symbolic_shape("n, m")
    assert next(fits(parse("n k, k m -> n m"), [(n, m), (m, 3)]), None) == {"n": n, "k": m, "m": 3}
    assert next(fits(parse("n k, k m -> n m"), [(n, m), (n, 3)]), None) is None


def test_a_size_that_another_array_gives():
    assert next(fits(parse("*a n+m-1 *c, n -> n"), [(4,), (3,)])) == {"*a": (), "n": 3, "m": 2, "*c": ()}
    assert next(fits(parse("n+m, n -> n"), [(4,), (5,)]), None) is None
    assert next(fits(parse("n+m -> n"), [(4,)]), None) is None, "nothing says how much of it is n"


def test_keywords_that_are_sizes():
    one = case("*a p+n+q-2 *c -> *a n *c", start=size_of("p-1"), length=size_of("n"), axis=axis_of("n"))
    assert covers(one, [(5, 3)], {"start": 1, "length": 3, "axis": 0})
    assert covers(one, [(5, 3)], {"start": 0, "length": 5, "axis": 0})
    assert not covers(one, [(5, 3)], {"start": 1, "length": 5, "axis": 0}), "it ends beyond the array"
    assert not covers(one, [(5, 3)], {"start": -1, "length": 3, "axis": 0})
    assert not covers(one, [(5, 3)], {"start": 1, "length": 3, "axis": 1}), "that axis is too short"
    merged = case("n m -> n*m", shape=(size_of("n*m"),))
    assert covers(merged, [(2, 3)], {"shape": (6,)})
    assert not covers(merged, [(2, 3)], {"shape": (5,)})
    two = case("*a n *b m *c -> *a *b *c", axis=axis_of("n", "m"))
    assert covers(two, [(2, 3, 4)], {"axis": (0, 2)})
    assert not covers(two, [(2, 3, 4)], {"axis": (2, 0)}), "axes are sorted before they come here"
