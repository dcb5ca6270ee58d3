"""The grounds of this process's verdicts: files, folders and packages, by which a later audit sees what changed."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Collection
from pathlib import Path

from certgrad.obligations.cache import UnknownError, beyond_project, digest, home_of, packages_of
from certgrad.rules.finding.find import Findings
from certgrad.rules.syntax.files import files_beside

from .stamp import MOST_BYTES, Grounds, Text, importable_in


def grounds(found: Findings, before: Collection[str], since: float, certain: Collection[str]) -> Grounds | None:
    """Return what the verdicts on these rules rest on; None if that cannot be known.

    It cannot be known if an import does or reads something beyond the project, if a file cannot be read, or if a file
    was written after the first import, so that its text may not be the imported one.

    Args:
        found: the rules of the target, and its files.
        before: the names of the modules that were loaded before any of the user's.
        since: when the first of the user's modules was imported, in seconds of the clock.
        certain: the rules whose result another process could take from the rule's own entry in the cache.
    """
    homes = {rule.name.partition(":")[0] for rule in found.rules}
    own_packages = frozenset(name.partition(".")[0] for name in homes)
    loaded = {name: module for name, module in sorted(sys.modules.items()) if name != "__main__" and module is not None}
    users = {name: module for name, module in loaded.items() if home_of(name, own_packages) == "own"}
    new_modules = [name for name, module in users.items() if name not in before and _is_of_files(module)]
    try:
        if beyond_project(new_modules, own_packages):
            return None
        packages = packages_of(new_modules, own_packages, since)
        files = {name: file for name, module in users.items() if (file := getattr(module, "__file__", None))}
        modules = sorted(file for name, file in files.items() if name in homes and file.endswith(".py"))
        beside = {f.name: f.text for module in modules for f in files_beside(Path(module))}
        read = {file: Path(file).read_bytes() for file in (*files.values(), *found.files, *found.passed_over)}
        texts: dict[str, Text] = {}
        bytes_left = MOST_BYTES
        for file, data in {**read, **beside}.items():
            status = Path(file).stat()
            if max(status.st_mtime, status.st_ctime) >= since:
                return None
            bytes_left -= len(data)  # beyond `MOST_BYTES` a text is kept as its digest alone
            texts[file] = Text(digest(data), zlib.compress(data, 1) if bytes_left >= 0 else b"")
    except (UnknownError, OSError):
        return None
    cwd = Path.cwd()
    # A new file in one of these folders could be imported in the place of another.
    places = [cwd, cwd / "src", *sys.path, *(Path(file).parent for file in texts)]
    places += [path for module in users.values() for path in getattr(module, "__path__", ())]
    folders = {str(place): importable_in(str(place)) for place in places}
    return Grounds(
        certain=sorted(certain),
        modules=modules,
        beside=[*beside],
        texts=texts,
        folders=folders,
        packages=packages,
    )


def _is_of_files(module: object) -> bool:
    """Return whether a module has a file or is a package; one without was made by the code of another module."""
    return bool(getattr(module, "__file__", None) or getattr(module, "__path__", None))
