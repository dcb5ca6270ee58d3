"""Shell completion: names of ops and of files, codes."""

from collections.abc import Iterator
from pathlib import Path


def codes(incomplete: str) -> list[tuple[str, str]]:
    """Return the codes with their titles; after a comma, for a further one."""
    from certgrad.report.codes import CODES, REMARKS

    before, comma, begun = incomplete.rpartition(",")
    table = {**CODES, **REMARKS}
    return [(f"{before}{comma}{c}", one.title) for c, one in table.items() if c.startswith(begun.upper())]


def outputs(incomplete: str) -> list[str]:
    """Return the formats, each with the `=` before the path."""
    return [f"{name}=" for name in formats(incomplete)]


def formats(incomplete: str) -> list[str]:
    """Return the formats of an audit, those of plugins among them."""
    from certgrad.cli import _output

    return [str(name) for name in _output.names() if name.startswith(incomplete)]


def subjects(incomplete: str) -> Iterator[str]:
    """Codes and ops: what `certgrad explain` takes."""
    from certgrad.cli import _library

    yield from (code for code, _ in codes(incomplete))
    yield from (name for name in _library.names() if name.startswith(incomplete))


def targets(incomplete: str) -> Iterator[str]:
    """Ops of the library, Python files and folders."""
    folder, _, begun = incomplete.rpartition("/")
    for one in sorted(Path(folder or ".").glob(f"{begun}*")):
        if one.name.startswith(".") or not (one.is_dir() or one.suffix == ".py"):
            continue
        yield f"{one}/" if one.is_dir() else str(one)
    if not folder:
        from certgrad.cli import _library

        yield from (name for name in _library.names() if name.startswith(begun))
