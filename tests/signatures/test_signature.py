"""Signatures: what parses, what it means, what the message for the rest says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certgrad.errors import SignatureError
from certgrad.ops import registry
from certgrad.signatures.cases import names_in
from certgrad.signatures.signature import ArraySpec, Signature, for_people, parse
from certgrad.signatures.sizes import Star, parse_size

TEXTS = [
    "*s -> *s",
    "n k, k m -> n m",
    "*b n d, *b m d, *b m e -> *b n e",
    "*s -> ",
    "*s:bool, *s, *s -> *s",
    ":int, n -> n",
    "*a 2*n *c -> *a n *c",
    "n+1 2*n*m -> 1 n",
]


@pytest.mark.parametrize("text", TEXTS)
def test_prints_as_it_was_written(text):
    assert str(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)


def test_all_signatures_of_the_library_round_trip():
    for op in registry:
        for case in op.cases:
            assert parse(str(case.signature), names_in(tuple(case.statics.values()))) == case.signature


def test_parts():
    signature = parse("*b:bool, *b 2*n 3, :int -> n")
    assert [spec.dtype for spec in signature.inputs] == ["bool", "float", "int"]
    assert signature.inputs[1].dims == (Star("b"), parse_size("2*n"), parse_size("3"))
    assert signature.inputs[2].dims == ()
    assert (signature.stars, signature.names) == (("b",), ("n",))
    assert parse_size("3").value == 3
    assert parse_size("n").name == "n"
    assert parse_size("2*n").name is parse_size("2*n").value is None


def test_blanks_do_not_matter():
    assert parse("  n   k ,k m->n m") == parse("n k, k m -> n m")


@pytest.mark.parametrize("text", ["n, scalar:int, scalar -> scalar", "n, ():int, () -> ()", "n, :int, -> "])
def test_a_scalar_has_a_name(text):
    assert parse(text) == parse("n, :int,  -> ")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("n 2, ,  -> ", "n 2, scalar, scalar -> scalar"),
        ("n d, :int", "n d, scalar:int"),
        ("n d, ():int -> n, ()", "n d, scalar:int -> n, scalar"),
        ("{w: n d, b: ()}, n", "{w: n d, b: scalar}, n"),
        ("*a n *c -> *a *c", "*a n *c -> *a *c"),
        ("no (signature", "no (signature"),
    ],
)
def test_people_see_scalars(text, shown):
    assert for_people(text) == shown
    if "{" not in text and "->" in text:
        assert parse(shown) == parse(text)


def test_shapes():
    (spec,) = parse("*b 2*n n+1 -> n").inputs
    assert spec.shape({"n": 3}, {"b": (7, 8)}) == (7, 8, 6, 4)
    assert parse_size("2*n*m-n+1").evaluate({"n": 3, "m": 5}) == 28


@pytest.mark.parametrize(
    "text, message",
    [
        ("n scalar -> n", "'scalar' is an array without dims, and stands alone.\n  n scalar -> n\n    ^"),
        ("scalar n -> n", "'scalar' is an array without dims, and stands alone.\n  scalar n -> n\n  ^"),
        ("n d", "a signature has exactly one '->' between what goes in and what comes out.\n  n d\n     ^"),
        (
            "n -> n -> n",
            "a signature has exactly one '->' between what goes in and what comes out.\n  n -> n -> n\n         ^",
        ),
        (
            "n d!, m -> n",
            "'d!' is no dim; a dim is a name, an integer, 2*m, n+1, or *s for any axes.\n  n d!, m -> n\n    ^",
        ),
        (
            "n ... -> n",
            "'...' is no dim; a dim is a name, an integer, 2*m, n+1, or *s for any axes.\n  n ... -> n\n    ^",
        ),
        ("*s *s -> *s", "'*s' stands twice in one array.\n  *s *s -> *s\n     ^"),
        (
            "n:f33 -> n",
            "':f33' is no dtype; write :int, :bool, :key, or one of JAX such as :uint32.\n  n:f33 -> n\n   ^",
        ),
        ("n:int m -> n", "':int' is the last thing of an array.\n  n:int m -> n\n        ^"),
        ("n -> m", "'m' stands in an output but in no input, so its size is unknown.\n  n -> m\n       ^"),
        ("n -> *s", "'*s' stands in an output but in no input, so its size is unknown.\n  n -> *s\n       ^"),
    ],
)
def test_message_points_at_what_is_wrong(text, message):
    with pytest.raises(SignatureError) as caught:
        parse(text)
    assert str(caught.value) == f"The signature does not parse: {message}"


names = st.sampled_from(["n", "m", "k"])
dims = st.one_of(names, st.integers(1, 9).map(str), st.tuples(st.integers(2, 9), names).map(lambda p: f"{p[0]}*{p[1]}"))
arrays = st.tuples(st.lists(dims, max_size=3), st.sampled_from(["float", "int", "bool"])).map(
    lambda pair: ArraySpec(tuple(map(parse_size, pair[0])), pair[1])
)


LETTERS = "\0\n" + "".join(map(chr, range(32, 0x250))) + "∞λ한\u200b\U0001f600"
"""Of all of Unicode, of which hypothesis would make a table first: two seconds."""


@given(st.lists(arrays, min_size=1, max_size=3))
def test_any_signature_round_trips(inputs):
    signature = Signature(tuple(inputs), (ArraySpec(()),))
    assert parse(str(signature)) == signature


@given(st.text(LETTERS, max_size=20))
def test_any_text_parses_or_is_refused_with_a_caret(text):
    message = ""
    try:
        parse(text)
    except SignatureError as error:
        message = str(error)
    assert not message or message.endswith("^")
