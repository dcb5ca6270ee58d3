"""The page on the limits of a search is current, and each limit says what it limits."""

from pathlib import Path

from benchmarks.pages import limits

PAGE = Path(__file__).parents[3] / "docs" / "limits.md"


def test_the_page_is_current() -> None:
    current = PAGE.read_text(encoding="utf-8") == limits.render()
    assert current, "docs/limits.md is not current: run `python -m benchmarks.pages.limits > docs/limits.md`."


def test_each_limit_says_what_it_limits() -> None:
    silent = [f"{module}: {names}" for module, names, _, text in limits.limits() if not text]
    assert not silent, "a docstring below the number says what it limits and what happens when it is reached"


def test_numbers_that_stand_for_something_are_no_limits() -> None:
    listed = {(module, name) for module, names, *_ in limits.limits() for name in names.split(", ")}
    assert ("obligations/terms/budget", "STEPS") in listed
    assert ("obligations/differentiate/seams", "MAX_FORMS") in listed
    assert not {name for module, name in listed if module == "obligations/assume/signs"}
    assert not {name for _, name in listed if name.endswith(("BITS", "FORMAT", "PRECISION"))}
