"""The terminal: when there is one, and when it is left alone."""

import io
import sys

import pytest

from certgrad.cli import _console


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_no_terminal_has_no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert _console.width() is None


def test_a_terminal_has_its_width_unless_colour_is_declined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", "77")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert _console.width() == 77
    monkeypatch.setenv("NO_COLOR", "1")
    assert _console.width() is None


@pytest.mark.parametrize(
    "stream, shown, drawn", [(Terminal, True, True), (Terminal, False, False), (io.StringIO, True, False)]
)
def test_the_bar_is_drawn_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO], shown: bool, drawn: bool
) -> None:
    error = stream()
    monkeypatch.setattr(sys, "stderr", error)
    monkeypatch.setenv("TERM", "xterm")
    assert list(_console.progress([1, 2, 3], 3, shown=shown)) == [1, 2, 3]
    assert ("proving" in error.getvalue()) is drawn
