"""`certgrad list` and `certgrad table`."""

from collections.abc import Callable

import pytest

from certgrad.cli import _library
from certgrad.report import markdown
from tests.cli.conftest import FakeOp, Library, Result
from tests.report import fabricated


def test_list(library: Library, certgrad: Callable[..., Result]) -> None:
    assert certgrad("list").out.splitlines() == [
        "sigmoid  *s -> *s  One line.",
        "relu     *s -> *s  One line.",
        "log      *s -> *s  One line.",
    ]


def test_a_row_that_is_wider_than_the_page_takes_two_lines(
    library: Library, certgrad: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = {"relu": "A sentence that is too long to stand beside the name and the signature."}
    monkeypatch.setattr(_library, "get", lambda name: FakeOp(name, doc=docs.get(name, "Short.")))
    monkeypatch.setenv("COLUMNS", "80")
    assert certgrad("list").out.splitlines() == [
        "sigmoid  *s -> *s  Short.",
        "relu     *s -> *s",
        "    A sentence that is too long to stand beside the name and the signature.",
        "log      *s -> *s  Short.",
    ]


def test_table(library: Library, certgrad: Callable[..., Result]) -> None:
    result = certgrad("table")
    assert (result.code, result.out) == (0, markdown.table(fabricated.PROVED))
    assert result.err.startswith("note: proving the 3 ops of certgrad's own library; `certgrad audit PATH` audits ")


def test_names_of_ops_are_known_from_their_text() -> None:
    assert all(map(_library.has, [*_library.names(), *_library.aliases()]))
    assert not _library.has("mykernels")
