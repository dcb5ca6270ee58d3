"""Declarations as TOML read back as what they were."""

import tomllib

import pytest

from certgrad.rules.declared.declaration import Declaration
from certgrad.rules.declared.statics import Default, each, real
from certgrad.rules.declared.written import UnwritableError, inline
from certgrad.rules.project.configuration import declaration_from


@pytest.mark.parametrize(
    "declared, text",
    [
        (Declaration("n d, d"), '"n d, d"'),
        (Declaration(""), '""'),
        (Declaration("n", {"c": Default(2.0)}), '"n"'),
        (Declaration("n", {"c": real()}), '{ signature = "n", static = { c = { real = "" } } }'),
        (Declaration("n", {"k": each(0, 1), "s": 'a"b'}), None),
        (Declaration("n d", sizes={"n": 8, "d": 4}), '{ signature = "n d", sizes = [{ n = 8, d = 4 }] }'),
    ],
)
def test_a_declaration_reads_back(declared: Declaration, text: str | None, tmp_path: object) -> None:
    written = inline(declared)
    assert text in (None, written)
    table = tomllib.loads(f"[signatures]\n'm:f' = {written}\n")["signatures"]
    read = declaration_from("m:f", table["m:f"], tmp_path)  # type: ignore[arg-type]
    assert read.signature == declared.signature
    assert read.static == {k: v for k, v in declared.static.items() if not isinstance(v, Default)}


def test_what_text_cannot_say_is_not_written() -> None:
    with pytest.raises(UnwritableError, match="f is of type tuple"):
        inline(Declaration("n", {"f": (1, 2)}))
    with pytest.raises(UnwritableError, match="an object of a class"):
        inline(Declaration(("n", object())))
