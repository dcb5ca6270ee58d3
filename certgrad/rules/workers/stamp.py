"""Whole audits of a target, served without an import of the user's code, and without JAX, while nothing has changed.

A stamp holds what came of an audit with what it rests on (`Grounds`, which the processes of the audit tell): the text
of every file that was imported, or searched for calls, what stands beside them, and the installed packages. It is
written only where each verdict could be served by itself as well (`remembered.py`), and where the imports do nothing,
and read nothing, beyond the project. Comments and blank lines may differ: the lines that results name are then those of
today.
"""

from __future__ import annotations

import io
import os
import platform
import sys
import tokenize
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib.machinery import all_suffixes
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from certgrad.errors import UsageError
from certgrad.obligations.cache import Folder, digest, entry_name, package_is_as_it_was, package_source, state_below
from certgrad.report.audited import RuleResult
from certgrad.rules.syntax.files import file_at, files_beside, files_in
from certgrad.rules.syntax.ignores import COMMENT

from .lines import ChangedError, Lines, with_current_lines

if TYPE_CHECKING:
    from .worker import Request

_ELSEWHERE = frozenset("_ OLDPWD PWD SHLVL COLUMNS LINES JAX_PLATFORMS".split())
"""Variables of the environment that say where a shell stands, and the one that is the same in every audit of code. All
others count.
"""
_SILENT = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.ENCODING)
MOST_BYTES = 2**20
"""Bytes of files that are kept, so that comments in them may differ; beyond, a change of a comment counts."""


class Text(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A file: a digest of its bytes, and these, compressed; empty where there are too many."""

    whole: str
    packed: bytes = b""


class _Code(NamedTuple):
    """The code of a file without comments and blank lines."""

    tokens: str
    """A digest; empty where the file cannot be taken apart."""
    lines: Lines
    """Its lines with code, each with a checksum."""


class Grounds(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What the verdicts of a process rest on, beside what `Stamps` itself knows."""

    certain: list[str]
    """The rules of which another process would say the same while all of this is as it is."""
    modules: list[str]
    """The files of the rules' modules, around which calls are looked for,"""
    beside: list[str]
    """and the files in which they are, in order."""
    texts: dict[str, Text]
    """These, and all others that were imported or passed over."""
    folders: dict[str, str]
    """What can be imported from folders, by a digest of the names."""
    packages: dict[str, str]
    """The states of installed packages."""


class Stamp(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """An audit: its key, its grounds, what its target means (`Seen`, as JSON), and its results."""

    key: str
    grounds: Grounds
    seen: bytes
    results: list[RuleResult]


class Stamps:
    """The audits in a folder, as they may be served to this process."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder

    def key(self, request: Request) -> str:
        """Return what is known before anything is imported: the request, certgrad's text, Python, the environment, and
        the project's configuration.
        """
        asked = msgspec.structs.replace(request, cache="", skip=[])
        variables = sorted((name, value) for name, value in os.environ.items() if name not in _ELSEWHERE)
        python = [sys.version, sys.executable, str(sys.flags), sys.path[1:], sys.platform, platform.machine()]
        around = [asked, os.getcwd(), variables, python, package_source(), _configuration()]
        return digest(repr(around).encode(errors="surrogatepass"))

    def recall(self, request: Request, key: str) -> Stamp | None:
        """Return an earlier audit of the target, if one now would say the same, with the lines of today."""
        name = entry_name(f"all of {request.target}", key)
        try:
            stamp = msgspec.msgpack.decode(self.folder.read(name) or b"", type=Stamp)
            if stamp.key != key:
                return None
            stamp = msgspec.structs.replace(stamp, results=_as_now(stamp))
        except (msgspec.MsgspecError, ValueError, LookupError, RecursionError, OSError, zlib.error, ChangedError):
            return None
        self.folder.used(name)
        return stamp

    def keep(
        self, request: Request, key: str, seen: bytes, results: Sequence[RuleResult], told: Sequence[Grounds]
    ) -> None:
        """Store an audit with all its results, if each is certain and nothing changed meanwhile.

        Args:
            request: what was asked.
            key: its key before the audit.
            seen: what the target means (`Seen`, as JSON).
            results: those of its rules.
            told: what the results of each process rest on.
        """
        certain = {name for one in told for name in one.certain}
        if not told or request.skip or not certain.issuperset(one.name for one in results):
            return
        with suppress(ChangedError, UsageError, OSError):
            first = told[0]
            if self.key(request) != key or not package_is_as_it_was():
                return
            grounds = Grounds(
                certain=[],
                modules=first.modules,
                beside=first.beside,
                texts=_merged_tables(one.texts for one in told),
                folders=_merged_tables(one.folders for one in told),
                packages=_merged_tables(one.packages for one in told),
            )
            if any((one.modules, one.beside) != (first.modules, first.beside) for one in told):
                return
            kept = [msgspec.structs.replace(one, seconds=0.0) for one in results]
            entry = msgspec.msgpack.encode(Stamp(key, grounds, seen, kept))
            self.folder.write(entry_name(f"all of {request.target}", key), entry)


def _merged_tables(tables: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in (item for table in tables for item in table.items()):
        if out.setdefault(name, value) != value:
            raise ChangedError
    return out


def _configuration() -> list[tuple[str, bytes]]:
    """Return the files that say how rules are to be audited."""
    from certgrad.rules.project.configuration import nearest

    configured = nearest(Path.cwd())
    files = (configured.folder / "pyproject.toml", configured.recorded_file)
    return [(str(file), file.read_bytes() if file.is_file() else b"") for file in files]


def _code_of(data: bytes) -> _Code:
    """Return a file, taken apart."""
    rows: dict[int, int] = {}
    kept: list[Any] = []
    try:
        for token in tokenize.tokenize(io.BytesIO(data).readline):
            if token.type == tokenize.NL or (token.type == tokenize.COMMENT and not COMMENT.search(token.string)):
                continue
            if token.type in _SILENT:
                kept.append((token.type, token.string.strip("\r\n")))
                continue
            places = [(rows.setdefault(row, len(rows)), column) for row, column in (token.start, token.end)]
            kept.append((token.type, token.string, places))
    except (tokenize.TokenError, SyntaxError, ValueError):
        return _Code("", [])
    lines = data.splitlines()
    checked = [(row, zlib.crc32(lines[row - 1].strip())) for row in rows if row <= len(lines)]
    return _Code(digest(repr(kept).encode(errors="surrogatepass")), checked)


def importable_in(folder: str) -> str:
    """Return a digest of the names of what can be imported from a folder, and of the packages installed there."""
    suffixes = (*all_suffixes(), ".pth")
    try:
        with os.scandir(folder) as entries:
            names = [e.name for e in entries if e.name.endswith(suffixes) or e.is_dir()]
    except OSError:
        names = []
    return digest(repr(sorted(n for n in names if not n.startswith((".", "__pycache__")))).encode())


def _as_now(stamp: Stamp) -> list[RuleResult]:
    """Return the results of a stamp, with the lines of today. Raises ChangedError, or OSError."""
    grounds = stamp.grounds
    if any(importable_in(folder) != names for folder, names in grounds.folders.items()):
        raise ChangedError
    edited: dict[str, tuple[Lines, Lines]] = {}
    for file, text in grounds.texts.items():
        data = Path(file).read_bytes()
        if digest(data) != text.whole:
            before, now = _code_of(zlib.decompress(text.packed) if text.packed else b""), _code_of(data)
            if not text.packed or not now.tokens or before.tokens != now.tokens:
                raise ChangedError
            edited[file] = before.lines, now.lines
    files_in.cache_clear()
    file_at.cache_clear()
    beside = dict.fromkeys(f.name for module in grounds.modules for f in files_beside(Path(module)))
    if [*beside] != grounds.beside or any(state_below(Path(p)) != state for p, state in grounds.packages.items()):
        raise ChangedError
    return [with_current_lines(one, grounds.texts, edited) for one in stamp.results] if edited else stamp.results
