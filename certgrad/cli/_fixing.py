"""`certgrad audit --fix`: inferred and assumed declarations written beside the rules, marked as inferred."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from certgrad.cli._code import pluralized
from certgrad.report.audited import from_here
from certgrad.rules.declared.fix import Beside, write
from certgrad.rules.project.marked import of_result

if TYPE_CHECKING:
    from certgrad.report.audited import RuleResult


def fixed(results: "Sequence[RuleResult]") -> list[str]:
    """Write the inferred declarations into the files of the rules.

    Returns notes: for each file how many were written, and the rules beside which nothing could be written.
    """
    files: dict[str, list[tuple[Beside, str]]] = {}
    without: list[str] = []
    for result in results:
        wanted = None if result.of else of_result(result)
        if wanted is not None and _is_ours(result):
            files.setdefault(result.place.file, []).append((wanted, result.named))
        elif wanted is not None:
            without.append(result.named)
    notes: list[str] = []
    for file, wanted_of in files.items():
        # Several rules may come of one line, which takes a declaration only if it is the same for all of them.
        pairs = [
            (wanted, name)
            for wanted, name in wanted_of
            if _agree(wanted, [declaration for declaration, _ in wanted_of])
        ]
        done = _try_write(Path(file), {wanted.line: wanted for wanted, _ in pairs})
        without += [name for wanted, name in wanted_of if wanted.line not in done]
        if done:
            marked = f"{pluralized(len(done), 'declaration')} marked as inferred"
            read = "read what is marked, and remove the marks (findings name the lines before that)"
            notes.append(f"{from_here(file)}: {marked}: {read}")
    if without:
        notes.append(
            f"nothing can be written beside {', '.join(without)}: [tool.certgrad.signatures] takes a declaration"
        )
    return notes


def _agree(wanted: Beside, others: Sequence[Beside]) -> bool:
    """Return whether all declarations for the line of `wanted` are equal to it."""
    return all(wanted == declaration for declaration in others if declaration.line == wanted.line)


def _try_write(file: Path, wanted: Mapping[int, Beside]) -> set[int]:
    """Write declarations into a file; return the lines beside which some were written, none if it is not writable."""
    try:
        return write(file, [*wanted.values()])
    except OSError:
        return set()


def _is_ours(one: "RuleResult") -> bool:
    """Return whether the file of a rule is below the working directory and not an installed one."""
    place = one.place
    file = Path(place.file)
    return bool(place.line) and file.is_relative_to(Path.cwd()) and "site-packages" not in file.parts
