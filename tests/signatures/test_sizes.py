"""Sizes: read, printed as they are written, evaluated, and with sizes in place of names."""

import pytest
from jax import export

from certgrad.signatures.sizes import NoSizeError, Star, integer_size, named_size, parse_axis, parse_size, size_at

COMPACT = ["n", "1", "2*n-1", "2*4*c", "(n)+1", "((1))", "2*(2*n-1)", "n+1", "1*n-3", "-n+4", "mod(n, 2)"]


@pytest.mark.parametrize("text", COMPACT)
def test_a_size_is_printed_as_it_is_written(text):
    assert str(parse_size(text)) == text
    assert repr((parse_size(text),)) == repr((text,))


def test_what_jax_writes_is_printed_as_jax_writes_it():
    a, b = export.symbolic_shape("a, b")
    products = [a - 1, 2 * a * b - 3 * a + 4, a * a, 4 - a, 1 - 2 * a, a**3 * b, -a * b]
    others = [(a + 1) // 2, (4 - a) % 3, 5 - ((a + 1) // 2) * b, (a * a) // 2 * b]
    for dim in [*products, *others]:
        size = parse_size(dim)
        assert size.spaced == str(dim)
        assert size.evaluate({"a": 3, "b": 5}) == dim._evaluate({"a": 3, "b": 5})
        assert {*size.names} == {*dim._get_vars()}


@pytest.mark.parametrize(
    "text",
    ["", "n n", "2n", "n+", "+n", "n--1", "f(n, 2)", "mod(n)", "n)", "(n", "*n", "n^m", "steps 0a", "x.shape[0]"],
)
def test_what_is_no_size_is_refused(text):
    with pytest.raises(NoSizeError):
        parse_size(text)


@pytest.mark.parametrize("text", ["-n", "(n)", "n^2", "mod(n, 2)", "n + 1", "**n", "*2"])
def test_what_no_signature_says_is_refused(text):
    with pytest.raises(NoSizeError):
        parse_axis(text)


def test_an_axis_is_a_size_or_a_group():
    assert parse_axis("*s") == Star("s")
    assert parse_axis("2*n") == parse_size("2*n")


@pytest.mark.parametrize(
    "text, table, written",
    [
        ("2*c", {"c": "4*c"}, "2*4*c"),
        ("2*c", {"c": "c+1"}, "2*(c+1)"),
        ("a-c", {"c": "c+1"}, "a-(c+1)"),
        ("c", {"c": "c+1"}, "c+1"),
        ("c+c", {"c": "-1"}, "-1-1"),
        ("c^2", {"c": "2*c"}, "(2*c)^2"),
        ("floordiv(c, 2)", {"c": "2*d"}, "floordiv(2*d, 2)"),
        ("a", {"c": "1"}, "a"),
    ],
)
def test_sizes_in_place_of_names(text, table, written):
    put = parse_size(text).at({name: parse_size(size) for name, size in table.items()})
    assert str(put) == written
    numbers = {"a": 7, "c": 3, "d": 4}
    inside = {**numbers, **{name: parse_size(size).evaluate(numbers) for name, size in table.items()}}
    assert put.evaluate(numbers) == parse_size(text).evaluate(inside)


def test_a_renamed_size_reads_its_names_elsewhere():
    assert str(parse_size("2*n-m").renamed({"n": "m", "m": "n"})) == "2*m-n"


@pytest.mark.parametrize(
    "text, parts", [("n", (1, "n", 0)), ("2*n", (2, "n", 0)), ("n+1", (1, "n", 1)), ("2*n-1", (2, "n", -1))]
)
def test_sizes_that_tell_what_a_name_stands_for(text, parts):
    assert parse_size(text).of_one_name == parts


@pytest.mark.parametrize("text", ["3", "n*m", "2*n*m", "n*m*k", "-n", "n+m", "n+1+1", "0*n", "n^2", "mod(n, 2)"])
def test_sizes_that_do_not(text):
    assert parse_size(text).of_one_name is None


def test_only_a_remainder_of_a_name_has_a_divisor():
    assert parse_size("mod(n, 3)").remainder == ("n", 3)
    assert parse_size("mod(n+1, 3)").remainder is parse_size("2*mod(n, 3)").remainder is None
    assert parse_size("floordiv(n, 3)").remainder is None


def test_simple_forms_lose_ones_and_outer_parentheses():
    written = ["1*n+1*m-3", "(n)", "(1)", "(n)+1", "1*1", "1"]
    assert [str(parse_size(text).simplified) for text in written] == ["n+m-3", "n", "1", "(n)+1", "1", "1"]


def test_names_values_and_bounds():
    assert (named_size("n").name, named_size("n").value, integer_size(3).name, integer_size(3).value) == (
        "n",
        None,
        None,
        3,
    )
    assert parse_size("n*m-n").names == ("n", "m")
    assert parse_size("n*m-n").occurrences == ("n", "m", "n")
    assert parse_size("2*n-mod(m, 3)").most(10) == 23
    assert size_at("floordiv(n, 2)", {"floordiv(n, 2)": 9}) == 9
    assert size_at("floordiv(n, 2)+1", {"n": 5}) == 3
    with pytest.raises(KeyError):
        size_at("n+1", {})
