"""The terminal: when there is one, and when it is left alone."""

import io
import sys
import time

import pytest

from certgrad.cli import _console


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_what_is_piped_is_plain_and_as_wide_as_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.delenv("COLUMNS", raising=False)
    assert (_console.width(), _console.coloured()) == (None, False)
    monkeypatch.setenv("COLUMNS", "132")
    assert (_console.width(), _console.coloured()) == (132, False)


@pytest.mark.parametrize("no_color, term, coloured", [("", "xterm", True), ("1", "xterm", False), ("", "dumb", False)])
def test_a_terminal_keeps_its_width_where_colour_is_declined(
    monkeypatch: pytest.MonkeyPatch, no_color: str, term: str, coloured: bool
) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", "77")
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("NO_COLOR", no_color)
    assert (_console.width(), _console.coloured()) == (77, coloured)


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


def test_without_a_terminal_a_line_says_now_and_then_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    error = io.StringIO()
    monkeypatch.setattr(sys, "stderr", error)
    monkeypatch.setattr(_console, "EVERY", 0.02)
    with _console.watching(shown=True) as watch:
        watch.more(3)
        watch.began("module", "pkg")
        watch.more(0)
        watch.began("rule", "pkg:f")
        watch.began("rule", "pkg:g")
        watch.finished("pkg:g")
        for _ in range(500):
            if error.getvalue().count("\n") >= 2:
                break
            time.sleep(0.01)
    lines = error.getvalue().splitlines()
    assert set(lines) == {"proving pkg:f (1 of 3 done, 0 s)"}
    with _console.watching(shown=False) as watch:
        time.sleep(0.1)
    assert error.getvalue().splitlines() == lines


def test_what_is_looked_up_is_not_called_proving() -> None:
    watch = _console.Watch(verb="proving", before=_console.LOOKING_UP)
    watch.began("module", "pkg.a")
    assert str(watch).startswith("importing pkg.a (")
    watch.more(3)
    watch.finished("pkg.a:f")
    assert str(watch).startswith("looking up what is known (1 of 3 done, ")
    watch.began("rule", "pkg.a:g")
    assert str(watch).startswith("proving pkg.a:g (1 of 3 done, ")
    watch.finished("pkg.a:g")
    assert str(watch).startswith("proving (2 of 3 done, ")
