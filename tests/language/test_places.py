"""Statements at all places at once agree with statements asked place by place."""

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import jax
import msgspec
import numpy as np
import pytest

from certgrad.language import evaluate, places
from certgrad.language import tree as t
from certgrad.language.arithmetic import UnfitError
from certgrad.language.coding import encode
from certgrad.language.floats import Floats
from certgrad.language.parse import parse
from certgrad.signatures.sizes import NoSizeError, parse_size

pytestmark = pytest.mark.usefixtures("proofs_alone")

REPORTS = Path(__file__).resolve().parents[2] / "reports"
LENGTH = 3


def stated(found: Any) -> Iterator[t.Statement]:
    """The trees in a certificate."""
    if isinstance(found, list):
        try:
            yield msgspec.convert(found, t.Statement)
            return
        except msgspec.ValidationError:
            pass
    for inner in found.values() if isinstance(found, dict) else found if isinstance(found, list) else ():
        yield from stated(inner)


@pytest.fixture(scope="module")
def statements() -> list[t.Statement]:
    files = sorted(REPORTS.glob("**/*.json"))
    found = {encode(s): s for f in files for s in stated(json.loads(f.read_text("utf-8")))}
    return [*found.values()]


def point(statement: t.Statement, rng: np.random.Generator, whole: bool) -> tuple[dict[str, Any], dict[str, int]]:
    """Arrays and sizes that the statement may be asked of."""
    ranks: dict[str, int] = {}
    sizes: dict[str, int] = {}
    indexing = {n.name for e in t.walk(statement) if isinstance(e, t.Entry) for ix in e.index for n in t.walk(ix)
                if isinstance(n, t.Entry)}  # fmt: skip
    for node in t.walk(statement):
        if isinstance(node, t.Entry):
            ranks[node.name] = len(node.index)
        elif isinstance(node, t.Array):
            ranks.setdefault(node.name, 2)
        elif isinstance(node, t.Axis):
            ranks[node.array] = max(ranks.get(node.array, 0), node.position + 1)
        elif isinstance(node, t.Size):
            try:
                sizes |= dict.fromkeys(parse_size(node.name).names, LENGTH)
            except NoSizeError:
                continue
    shapes = {name: (LENGTH,) * rank for name, rank in ranks.items()}
    arrays = {
        n: rng.integers(-1, 3, shape) if whole or n in indexing else np.round(2 * rng.normal(size=shape)) / 2
        for n, shape in shapes.items()
    }
    return arrays, sizes


@pytest.mark.slow
def test_every_hypothesis_of_the_reports(statements: list[t.Statement]) -> None:
    rng = np.random.default_rng(0)
    compared = 0
    with jax.enable_x64(True):
        for statement in statements:
            for k in range(4):
                arrays, sizes = point(statement, rng, bool(k % 2))
                exact = {name: x.astype(object) for name, x in arrays.items()}
                try:
                    failing = list(evaluate.question(statement, Floats()).failing(exact, sizes))
                    holds = np.asarray(places.question(statement, arrays, sizes).holds())
                except UnfitError:
                    continue
                compared += 1
                assert holds.all() == (not failing), encode(statement)
                if failing and failing[0]:
                    assert [tuple(map(int, at)) for at in np.argwhere(~holds)] == failing
    assert len(statements) > 50
    assert compared > 3 * len(statements)


def test_the_first_failing_place_is_told() -> None:
    labels = np.array([0, 2, 1, -1, 5, -2])
    at_least = t.ForAll((t.Range("i", t.Axis("y", 0)),), t.Compare(">=", t.Entry("y", (t.Index("i"),)), t.ZERO))
    one = places.question(at_least, {"y": labels}, {})
    found = one.counted()
    assert (int(found.failing), int(found.first), [int(x) for x in found.sides or ()]) == (2, 3, [-1, 0])
    assert one.axes == (("i", 6),)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_elimination_with_pivots(seed: int) -> None:
    """The two evaluators agree, where pivots are tied or the matrix is singular too."""
    rng = np.random.default_rng(seed)
    over = (t.Range("k", t.Axis("x", 0)), t.Range("l", t.Axis("x", 1)))
    entry, place = t.Entry("x", (t.Index("k"), t.Index("l"))), t.Index("j")
    statements: list[t.Statement] = [t.Compare(">", t.Matrix("pivot gap", over, entry), t.ZERO)]
    for kind in ("pivots", "pivoted"):
        there = t.Compare("=", t.Chosen(kind, over, (entry,), (), 0, (place,)), place)
        statements.append(t.ForAll((t.Range("j", t.Axis("x", 0)),), there))
    seen = set()
    with jax.enable_x64(True):
        for _ in range(8):
            x = rng.integers(-2, 3, (2, 2)).astype(float) if seed % 2 else rng.normal(size=(3, 3))
            for statement in statements:
                failing = list(evaluate.question(statement, Floats()).failing({"x": x.astype(object)}, {}))
                holds = np.asarray(places.question(statement, {"x": x}, {}).holds())
                assert holds.all() == (not failing), x
                seen.add(bool(failing))
    assert seen == {True, False}


def test_an_entry_that_does_not_exist_is_undefined() -> None:
    """Where an index leads outside, nothing holds, not even a difference."""
    index = t.Entry("k", (t.Index("i"),))
    different = t.ForAll((t.Range("i", t.Axis("k", 0)),), t.Compare("!=", t.Entry("x", (index,)), t.ONE))
    found = places.question(different, {"x": np.array([3.0, 1.0]), "k": np.array([0, 1, -1, 2])}, {}).holds()
    assert found.tolist() == [True, False, False, False]


def window(lower: int, upper: int) -> tuple[tuple[t.Range, ...], t.Term, tuple[t.Statement, ...]]:
    """The entries x[i, 3k + lower] to x[i, 3k + upper]."""
    k, a = t.Index("k"), t.Index("a")
    first = t.Add((t.Mul((t.Number("3"), k)), t.Number(str(lower))))
    last = t.Add((t.Mul((t.Number("3"), k)), t.Number(str(upper))))
    where = (t.Compare(">=", a, first), t.Compare("<=", a, last))
    return (t.Range("a", t.Axis("x", 1)),), t.Entry("x", (t.Index("i"), a)), where


def over_windows(windows: int, of: t.Statement) -> t.Statement:
    return t.ForAll((t.Range("i", t.Axis("x", 0)), t.Range("k", t.Number(str(windows)))), of)


@pytest.mark.slow
@pytest.mark.parametrize(("lower", "upper"), [(0, 2), (-2, 2), (1, 1), (2, 4)])
def test_of_a_window_its_places_are_looked_at(lower: int, upper: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long axis, of which each window has a few entries: as they are cut out by hand, those outside left out."""
    rows, n = 8, 90
    monkeypatch.setattr(places, "MAX_TERMS", rows * (n // 3) * n // 2)
    over, body, where = window(lower, upper)
    x = np.random.default_rng(0).integers(-3, 3, (rows, n))
    parts = [row[max(k + lower, 0) : k + upper + 1] for row in x for k in range(0, n, 3)]

    once = places.question(over_windows(n // 3, t.Unique(over, body, where)), {"x": x}, {}).holds()
    assert once.ravel().tolist() == [len(part) > 0 and int((part == part.max()).sum()) == 1 for part in parts]

    for kind, value in (("maximum", lambda part: max(part, default=1)), ("sum", np.sum), ("product", np.prod)):
        fold = t.Fold(kind, over, body, where)
        zero = places.question(over_windows(n // 3, t.Compare("=", fold, t.ZERO)), {"x": x}, {}).holds()
        assert zero.ravel().tolist() == [value(part) == 0 for part in parts]


def test_a_maximum_that_is_attained_once_or_is_0() -> None:
    over, body, where = window(0, 2)
    zero = t.Compare("=", t.Fold("maximum", over, body, where), t.ZERO)
    x = np.array([[0.0, 0, 0, 1, 1, 0, 2, 1, 0, -1, -1, -2]])
    either = over_windows(4, t.Either((t.Unique(over, body, where), zero)))
    assert places.question(either, {"x": x}, {}).holds().tolist() == [[True, False, True, False]]


def test_words_cannot_be_asked() -> None:
    with pytest.raises(UnfitError, match="words"):
        places.question(t.Words("it is so"), {}, {}).holds()


def test_whole_arrays_broadcast() -> None:
    one = places.question(parse("x > y", ("x", "y")), {"x": np.arange(3.0), "y": np.ones((2, 1))}, {})
    assert one.holds().tolist() == [[False, False, True]] * 2
    with pytest.raises(UnfitError, match="broadcast"):
        places.question(parse("x > y", ("x", "y")), {"x": np.arange(3.0), "y": np.ones(2)}, {})


def test_an_array_of_which_a_length_alone_is_named_has_no_part_in_broadcasting() -> None:
    statement = parse("label < x.shape[1]", ("label", "x"))
    arrays = {"label": np.array([0, 3, 4]), "x": np.ones((3, 4))}
    assert places.question(statement, arrays, {}).holds().tolist() == [True, True, False]
    assert [*evaluate.question(statement, Floats()).failing(arrays, {})] == [(2,)]


@pytest.mark.parametrize(
    "statement",
    [
        t.Compare(">", t.Entry("x", (t.Index("i"),)), t.Number("0")),
        t.Compare(">", t.Array("x"), t.Entry("x", (t.Number("0"),))),
    ],
    ids=["unbound", "entries and whole arrays"],
)
def test_what_fits_no_arrays(statement: t.Statement) -> None:
    with pytest.raises(UnfitError):
        places.question(statement, {"x": np.ones(3)}, {})


LARGE = {
    "200000000000000000000*x + 1 > 0": [1.0, -1.0, 0.0],
    "k < 30000000000": [5, 6, -7],
    "k - 1 >= 0": [0, 1, 2],
    "300*k <= 600": [2, 3, 100],
}
"""Statements with numbers that a type of integers does not hold, with what they are asked of."""


@pytest.mark.one_in(6)
@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint32", "int32"])
@pytest.mark.parametrize("text", LARGE)
def test_numbers_that_no_integer_of_jax_holds(text: str, dtype: str, wide: bool) -> None:
    name = "x" if "x" in text else "k"
    values = [abs(v) for v in LARGE[text]] if dtype.startswith("u") else LARGE[text]
    statement = parse(text, (name,))
    with jax.enable_x64(wide):
        array = np.asarray(values, np.float32 if name == "x" else dtype)
        found = places.question(statement, {name: array}, {}).holds()
        asked = evaluate.question(statement, Floats())
        each = [asked.holds({name: np.asarray(v)}, {}) for v in array.tolist()]
    assert np.asarray(found).tolist() == each


@pytest.mark.slow
def test_floats_overflow_to_infinity() -> None:
    floats = Floats()
    assert floats.mul(10**400, 0.5) == floats.add(10**400, 0.5) == floats.power(1e200, Fraction(2)) == np.inf
    assert floats.power(-1e200, Fraction(3)) == -np.inf
