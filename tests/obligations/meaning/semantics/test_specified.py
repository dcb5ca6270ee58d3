"""What the specification says of where entries go, as terms: places in row-major order at sizes that are drawn."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import fmpq

import certgrad
from certgrad.language.tree import (
    Apply,
    Both,
    Chosen,
    Compare,
    Either,
    Exists,
    Fold,
    ForAll,
    If,
    Index,
    Integer,
    Least,
    Minimum,
    Mul,
    Node,
    Not,
    Number,
    Power,
    Range,
    Size,
    Sort,
    SortedEntry,
    Subtract,
    ToReal,
    Truth,
)
from certgrad.obligations.assume.facts import Facts
from certgrad.obligations.assume.signs import NONNEG, POS
from certgrad.obligations.assume.tensor import argument
from certgrad.obligations.decide.evaluate import evaluate
from certgrad.obligations.meaning.semantics import RULES, Context, UnprovedError, interpret
from certgrad.obligations.meaning.semantics._specified import OWN, SPECIFIED, Entry, Sizes, specified
from certgrad.obligations.terms.atoms import dimension
from certgrad.obligations.terms.polynomials import number
from certgrad.obligations.terms.session import clear_caches
from certgrad.obligations.terms.variables import template
from certgrad.obligations.tracing.jax_internals import shape_polys, symbols
from certgrad.specification.rule import in_bounds


def grouped(factors: list, rng: np.random.Generator) -> tuple:
    """The factors in order, some beside each other multiplied to one size."""
    sizes: list = []
    for factor in factors:
        if sizes and rng.random() < 0.5:
            sizes[-1] = sizes[-1] * factor
        else:
            sizes.append(factor)
    return tuple(sizes)


@pytest.mark.parametrize("seed", range(12))
def test_a_reshape_is_numpy_s(seed: int) -> None:
    clear_caches()
    rng = np.random.default_rng(seed)
    dims = symbols(["m", "n"])
    known = {"m": int(rng.integers(1, 4)), "n": int(rng.integers(3, 5))}
    kinds = [lambda d: 2, lambda d: 3, lambda d: d["n"], lambda d: d["m"], lambda d: d["n"] + 1, lambda d: 2 * d["m"]]
    drawn = [kinds[k] for k in rng.integers(len(kinds), size=3)]
    state = int(rng.integers(2**16))
    shapes = [
        [grouped([f(d) for f in drawn], draws) for draws in (np.random.default_rng(state + k) for k in range(2))]
        for d in (dims, known)
    ]
    (old, new), (old_here, new_here) = shapes
    program = jax.make_jaxpr(lambda x: jax.lax.reshape(x, new))(jax.ShapeDtypeStruct(old, jnp.float32))
    x = argument("x", shape_polys(program.jaxpr.invars[0].aval), "float")
    (out,) = interpret(Context(Facts()), program, [x], [True])
    assert out is not None
    places = np.arange(np.prod(old_here)).reshape(old_here)

    def entry(name: str, index: tuple[int, ...]) -> fmpq:
        return fmpq(int(places[index]))

    for index in np.ndindex(*new_here):
        at = {template(k): i for k, i in enumerate(index)}
        assert evaluate(out.body, known, entry, at) == int(places.reshape(new_here)[index])


@pytest.mark.parametrize(
    "said, why",
    [
        (Index("0") * Size("m"), "an index times a size or another index"),
        (Index("0") * Index("1"), "an index times a size or another index"),
        (Index("0") * Size("m") + Index("0"), "an index times a size, beside what is not shown to be less"),
        (Index("0") // Index("1"), "a division by what is not a size"),
        (Index("0") % Integer(0), "a division by what is not a size"),
        (Truth(Index("0")), "an integer that is written with Truth"),
    ],
)
def test_what_is_not_read(said: Node, why: str) -> None:
    clear_caches()
    with pytest.raises(UnprovedError, match=why):
        Entry(Context(Facts()), [], (dimension("n"), dimension("m")), Sizes({})).index(said)


K = Range("k", Size("m"))
Z = ToReal(Integer(0))


def entry(operand: int, sort: Sort) -> SortedEntry:
    return SortedEntry(str(operand), (Index("0"), Index("k")), sort)


@pytest.mark.parametrize(
    "said, found",
    [
        (Fold("sum", (K,), entry(0, "real")), "1*sum[1.0<1*$m](x[t0.0,b1.0])"),
        (Minimum((K,), entry(0, "real")), "-1*max[1.0<1*$m](-1*x[t0.0,b1.0])"),
        (Exists((K,), entry(1, "boolean")), "1*[1*sum[1.0<1*$m]([1*p[t0.0,b1.0]>0])>0]"),
        (ForAll((K,), entry(1, "boolean")), "1 + -1*[1*$m + -1*sum[1.0<1*$m]([1*p[t0.0,b1.0]>0])>0]"),
    ],
)
def test_binders(said: Node, found: str) -> None:
    assert reader().tensor(said).body.key == found


@pytest.mark.parametrize(
    "said, why",
    [
        (Fold("sum", (K,), entry(1, "boolean")), "a sum of booleans"),
        (Fold("product", (K,), entry(1, "boolean")), "a product of booleans"),
        (Exists((K,), entry(2, "integer")), "a bitwise reduction of integers"),
        (Fold("sum", (K,), entry(0, "real"), (entry(1, "boolean"),)), "a condition on indices that is written with"),
        (Fold("sum", (Range("k", Index("0") // Size("m")),), entry(0, "real")), "a range that depends on an index"),
        (Fold("sum", (Range("k", Index("0") - Integer(5)),), entry(0, "real")), "is not shown to have a size"),
        (Minimum((Range("k", Index("0")),), entry(0, "real")), "a range that may be empty"),
        (If(Both((in_bounds(Integer(0), Index("0")),)), Z, Z), "a size that depends on an index"),
        (If(Both((Compare("=", Index("0") % Integer(2), Integer(0)),)), Z, Z), "a multiple that has no bound"),
        (If(Both((Compare("=", Index("0") % Integer(0), Integer(0)),)), Z, Z), "a division by what is not a size"),
        (Fold("maximum", (Range("k", Index("0")),), entry(0, "real")), "a range that may be empty"),
        (Minimum((Range("k", Size("n") - Size("m")),), entry(0, "real")), "a range that may be empty"),
    ],
)
def test_binders_that_are_not_read(said: Node, why: str) -> None:
    with pytest.raises(UnprovedError, match=why):
        reader().tensor(said)


X, HOLDS, NUMBER = (
    SortedEntry(str(k), (Index("0"), Integer(0)), sort) for k, sort in enumerate(("real", "boolean", "integer"))
)
MORE = "[1*x[t0.0,0]>0]"


@pytest.mark.parametrize(
    "said, found",
    [
        (Compare("<", Z, X), f"1*{MORE}"),
        (Compare("<=", X, Z), f"1 + -1*{MORE}"),
        (Not(Compare("=", X, Z)), f"1*[-1*x[t0.0,0]>0] + 1*{MORE}"),
        (Both((HOLDS, Compare("<", Z, X))), f"1*[1*p[t0.0,0]>0]*{MORE}"),
        (Either((HOLDS, Not(HOLDS))), "1"),
        (If(HOLDS, X, Z), "1*[1*p[t0.0,0]>0]*x[t0.0,0]"),
        (If(Compare("<", X, Z), Z, X), f"1*{MORE}*x[t0.0,0]"),
        (If(Compare("<", Z, X), Z, X), f"-1*{MORE}*x[t0.0,0] + 1*x[t0.0,0]"),
        (
            If(Compare("<=", NUMBER, Integer(0)), X, ToReal(Integer(2))),
            "2*[<i[t0.0,0]>+(-1)==0] + 1*[<i[t0.0,0]>==0]*x[t0.0,0]",
        ),
        (Integer(-1) - NUMBER, "-1 + -1*i[t0.0,0]"),
        (Apply("floor", (X,)), "1*floor(1*x[t0.0,0])"),
        (X + X, "2*x[t0.0,0]"),
        (X - X, "0"),
        (-X, "-1*x[t0.0,0]"),
        (X / X, "1"),
        (Power(X, "3"), "1*x[t0.0,0]^3"),
        (If(Compare("<", X, Number("0")), -X, X), "-1*[-1*x[t0.0,0]>0]*x[t0.0,0] + 1*[1*x[t0.0,0]>0]*x[t0.0,0]"),
        (Apply("log", (X,)) / Apply("log", (Number("2"),)), "1*log(1*x[t0.0,0])*log(2)^-1"),
        (Apply("bitwise and", (NUMBER, NUMBER)), "1*bitwise_and(1*i[t0.0,0];1*i[t0.0,0])"),
    ],
)
def test_entry_by_entry(said: Node, found: str) -> None:
    assert reader().tensor(said).body.key == found


@pytest.mark.parametrize("said", [Apply("quotient", (NUMBER, Size("n"))), Apply("remainder", (NUMBER, Size("n")))])
def test_arithmetic_that_is_not_read(said: Node) -> None:
    with pytest.raises(UnprovedError, match="entries of which"):
        reader().tensor(said)


def drawn(rng: np.random.Generator, depth: int) -> Node:
    """A selection by conditions on the index, of entries and of numbers."""
    if depth == 0:
        return (
            SortedEntry("0", (Index("0"), Integer(0))) if rng.random() < 0.7 else ToReal(Integer(int(rng.integers(3))))
        )
    then, otherwise = drawn(rng, depth - 1), drawn(rng, depth - 1)
    moved = Index("0") - Integer(int(rng.integers(-1, 3)))
    match rng.integers(5):
        case 0:
            return If(Compare("<", moved, Size("m")), then, otherwise)
        case 1:
            return If(Compare("<", moved, Integer(2)), then, otherwise)
        case 2:
            return If(Compare("=", Index("0"), Integer(int(rng.integers(2)))), then, otherwise)
        case 3:
            return If(Both((in_bounds(moved, Size("m")),)), then, otherwise)
    multiple = Compare("=", moved % Integer(2), Integer(0))
    there = SortedEntry("0", (moved // Integer(2), Integer(0)))
    return If(Both((multiple, in_bounds(moved // Integer(2), Size("m")))), there, otherwise)


def number_of(x: Node, i: int, m: int) -> Any:
    """The value at an index; x[i, 0] is 10 + i."""
    match x:
        case If(condition, then, otherwise):
            return number_of(then if number_of(condition, i, m) else otherwise, i, m)
        case Compare(relation, left, right):
            a, b = number_of(left, i, m), number_of(right, i, m)
            return {"<": a < b, "<=": a <= b, "=": a == b}[relation]
        case Both(parts):
            return all(number_of(part, i, m) for part in parts)
        case Subtract(left, right):
            return number_of(left, i, m) - number_of(right, i, m)
        case Apply(function, (left, right)):
            a, b = number_of(left, i, m), number_of(right, i, m)
            return a // b if function == "quotient" else a % b
        case SortedEntry(_, (place, _)):
            return 10 + number_of(place, i, m)
        case ToReal(operand):
            return number_of(operand, i, m)
        case Integer(value):
            return value
    return i if isinstance(x, Index) else m


@pytest.mark.parametrize("seed", range(30))
def test_what_an_index_selects(seed: int) -> None:
    """Whatever conditions stand in whichever branch."""
    read = reader()
    said = drawn(np.random.default_rng(seed), 3)
    found = read.tensor(said).body
    for m in (1, 2, 4):
        for i in range(m + 3):
            entries = lambda name, index: fmpq(10 + index[0])
            assert evaluate(found, {"n": m + 3, "m": m}, entries, {template(0): i}) == number_of(said, i, m), (i, m)


def test_an_axis_of_size_one_is_read_where_it_is() -> None:
    """x[0:1]: its entry is x[0], and no longer any of x."""
    clear_caches()
    x = argument("x", (dimension("n"),), "float")
    read = Entry(Context(Facts()), [x], (number(1),), Sizes({}))
    assert read.tensor(SortedEntry("0", (Integer(0) + Index("0") * Integer(1),))).body.key == "1*x[0]"


UP_TO, FROM = Range("k", Index("0") + Integer(1)), Range("k", Size("n") - Index("0"))
FIRST = SortedEntry("0", (Index("k"), Integer(0)))
LATER = SortedEntry("0", (Index("0") + Index("k"), Integer(0)))


@pytest.mark.parametrize(
    "said, found",
    [
        (
            Fold("sum", (UP_TO,), FIRST),
            "-1*sum[1.0<1*$n]([b1.0+-1t0.0+(-1)>=0]*x[b1.0,0]) + 1*sum[1.0<1*$n](x[b1.0,0])",
        ),
        (Fold("sum", (FROM,), LATER), "1*sum[1.0<1*$n]([b1.0+-1t0.0>=0]*x[b1.0,0])"),
        (Fold("maximum", (UP_TO,), FIRST), "1*max[1.0<1*$n|1*[-1b1.0+t0.0>=0]](1*x[b1.0,0])"),
        (Minimum((FROM,), LATER), "-1*max[1.0<1*$n|1*[b1.0+-1t0.0>=0]](-1*x[b1.0,0])"),
        (Fold("product", (FROM,), LATER), "1*prod[1.0<1*$n|1*[b1.0+-1t0.0>=0]](1*x[b1.0,0])"),
    ],
)
def test_binders_over_as_many_as_an_index_says(said: Node, found: str) -> None:
    """From an index on, the variable is the place itself."""
    assert reader().tensor(said).body.key == found


@pytest.mark.parametrize("size, signs", [(Index("0") + Integer(1), POS), (Index("0"), NONNEG)])
def test_a_sum_of_positive_numbers_is_positive_where_there_is_one(size: Node, signs: int) -> None:
    assert reader().tensor(Fold("sum", (Range("k", size),), Apply("exp", (FIRST,)))).signs == signs


def reader() -> Entry:
    """Reads the entry of a result with one axis of size n."""
    clear_caches()
    shape = dimension("n"), dimension("m")
    operands = [argument(name, shape, dtype) for name, dtype in (("x", "float"), ("p", "bool"), ("i", "int"))]
    return Entry(Context(Facts()), operands, shape[:1], Sizes({}))


def test_a_quotient_by_several_sizes_is_taken_one_after_another() -> None:
    """So a place in row-major order comes apart as it was put together; an axis whose size is a product is one."""
    clear_caches()
    n, m = dimension("n"), dimension("m")
    sizes = Sizes({})
    reader = Entry(Context(Facts()), [], (n * m * number(2),), sizes)
    product = Mul((Size("n"), Size("m")))
    assert reader.index(Index("0") // product) == reader.index(Index("0") // Size("m") // Size("n"))
    sizes.written((m * n,))
    one = Entry(Context(Facts()), [], (n * m * number(2),), sizes)
    assert one.index(Index("0") // next(iter(sizes.axes))).key == "<t0.0//1*$m*$n>"


@pytest.mark.parametrize("factor, verdict", [(1.0, "proved"), (2.0, "refuted")])
def test_booleans_are_numbers_beside_floats(factor: float, verdict: str) -> None:
    @jax.custom_vjp
    def kept(x: jax.Array, mask: jax.Array) -> jax.Array:
        return jnp.dot(x, mask)

    kept.defvjp(lambda x, m: (kept(x, m), m), lambda m, g: (factor * g * m, None))
    assert certgrad.check(kept, "n, n:bool -> ").verdict == verdict


@pytest.mark.parametrize(
    "near, form",
    [
        (If(Compare("<", X, Number("1")), -X, X), If(Compare("<", X, Number("0")), -X, X)),
        (
            If(Compare("<", X, Number("0")), -Number("2"), If(Compare("<", Number("0"), X), Number("2"), Number("0"))),
            If(Compare("<", X, Number("0")), -Number("1"), If(Compare("<", Number("0"), X), Number("1"), Number("0"))),
        ),
    ],
    ids=["abs", "sign"],
)
def test_what_is_nearly_of_a_form_is_not_read_by_it(near: Node, form: Node) -> None:
    assert reader().tensor(near).body != reader().tensor(form).body


def test_a_place_that_is_chosen() -> None:
    x = reader().whole(Chosen("argmax", (K,), (entry(0, "real"),), (), 0))
    assert x.kind == "i"
    assert [c.origin for c in x.smooth] == ["a unique maximum"]


def test_a_least_integer_that_is_no_place_in_order() -> None:
    with pytest.raises(UnprovedError, match="that is not a place in order"):
        reader().tensor(Least((K,), Compare("<", entry(0, "real"), X)))


def test_what_has_a_function_of_its_own_is_never_read_by_the_specification() -> None:
    """Which of both counts does not depend on the order in which modules load."""
    own = {name for name in RULES if name in SPECIFIED and RULES[name] is not specified}
    first = {name for name in own if RULES[name].__module__.endswith("._elementwise")}
    assert own - first == OWN
