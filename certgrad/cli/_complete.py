"""Shell completion of codes, formats, ops and files. Each function takes the text that was typed so far."""

from collections.abc import Iterator
from pathlib import Path


def codes(incomplete: str) -> list[tuple[str, str]]:
    """Return the codes that complete the last item of a comma separated list, each with its title."""
    from certgrad.report.codes import CODES, REMARKS

    previous, comma, begun = incomplete.rpartition(",")
    table = {**CODES, **REMARKS}
    return [(f"{previous}{comma}{c}", entry.title) for c, entry in table.items() if c.startswith(begun.upper())]


def outputs(incomplete: str) -> list[str]:
    """Return the formats that complete the text, each followed by `=`, after which a path comes."""
    return [f"{name}=" for name in formats(incomplete)]


def formats(incomplete: str) -> list[str]:
    """Return the formats of an audit that complete the text, those of plugins included."""
    from certgrad.cli import _output

    return [str(name) for name in _output.names() if name.startswith(incomplete)]


def subjects(incomplete: str) -> Iterator[str]:
    """Yield the codes and ops that complete the text, for `certgrad explain`."""
    from certgrad.cli import _library

    yield from (code for code, _ in codes(incomplete))
    yield from (name for name in _library.names() if name.startswith(incomplete))


def targets(incomplete: str) -> Iterator[str]:
    """Yield the Python files, folders and ops of the library that complete the text."""
    folder, _, begun = incomplete.rpartition("/")
    for path in sorted(Path(folder or ".").glob(f"{begun}*")):
        if path.name.startswith(".") or not (path.is_dir() or path.suffix == ".py"):
            continue
        yield f"{path}/" if path.is_dir() else str(path)
    if not folder:
        from certgrad.cli import _library

        yield from (name for name in _library.names() if name.startswith(begun))
