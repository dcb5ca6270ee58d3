"""`certgrad list` and `certgrad table`."""

from collections.abc import Callable

from certgrad.report import markdown
from tests.cli.conftest import Library, Result
from tests.report import fabricated


def test_list(library: Library, certgrad: Callable[..., Result]) -> None:
    assert certgrad("list").out.splitlines() == [
        "sigmoid  *s -> *s  One line.",
        "relu     *s -> *s  One line.",
        "log      *s -> *s  One line.",
    ]


def test_table(library: Library, certgrad: Callable[..., Result]) -> None:
    result = certgrad("table")
    assert (result.code, result.out) == (0, markdown.table(fabricated.PROVED))
