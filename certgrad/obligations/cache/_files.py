"""The text of certgrad, and the states of files, without JAX."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import certgrad

_PACKAGE = Path(certgrad.__file__).resolve().parent


def package_is_as_it_was() -> bool:
    """Return whether no file of certgrad was edited since this process first asked for its text."""
    return bool(_package_state()) and _package_state() == state_of(package_files("**/*.py"))


@lru_cache(maxsize=1)
def package_source() -> str:
    """Return a digest of certgrad's own source text."""
    _package_state()
    return source_of(package_files("**/*.py"))


@lru_cache(maxsize=1)
def _package_state() -> list[tuple[str, int, int]]:
    return state_of(package_files("**/*.py"))


def package_files(*patterns: str) -> list[Path]:
    """Return the files of certgrad that fit the patterns, those of each sorted."""
    return [f for pattern in patterns for f in sorted(_PACKAGE.glob(pattern))]


def source_of(files: Sequence[Path]) -> str:
    """Return a digest of the names and contents of files of certgrad."""
    return digest(repr([(str(f.relative_to(_PACKAGE)), digest(f.read_bytes())) for f in files]).encode())


def state_of(files: Iterable[Path]) -> list[tuple[str, int, int]]:
    """Return the name, size and time of each file; [] where one cannot be read."""
    try:
        return [(str(f), status.st_size, status.st_mtime_ns) for f in files for status in (f.stat(),)]
    except OSError:
        return []


def state_below(root: Path) -> str:
    """Return a digest of the names, sizes and times of a package's files, or of a single-file module."""
    files = sorted(root.rglob("*")) if root.is_dir() else [root]
    return digest(repr(state_of(f for f in files if f.suffix in (".py", ".so"))).encode())


def digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=20).hexdigest()
