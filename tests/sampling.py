"""Which cases of a test run: of those marked `one_in(n)` every n-th, unless they are asked for."""

from collections.abc import Sequence


def asked_for(keyword: str, arguments: Sequence[str]) -> bool:
    """Cases are named: by `-k`, where it does not only exclude, or as `test_file.py::test[case]`."""
    return bool(keyword and not keyword.startswith("not ")) or any("[" in argument for argument in arguments)


def excludes_slow(expression: str) -> bool:
    """Under this `-m` no test marked `slow` runs."""
    return "not slow" in expression and " or " not in expression
