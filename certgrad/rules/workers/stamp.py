"""Whole audits of a target, served without an import of the user's code, and without JAX, while nothing has changed.

A stamp holds the results of an audit with their grounds (`Grounds`, from the processes of the audit): the text of every
file that was imported or searched for calls, the files beside them, and the installed packages. It is written only if
each verdict could be served by itself as well (`remembered.py`), and if the imports do and read nothing beyond the
project. Comments and blank lines may differ since: the line numbers in the results are then brought up to date.
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
"""Variables of the environment that are not part of a key: those of the shell itself, and the one that every process
sets. All others are.
"""
_SILENT = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.ENCODING)
MOST_BYTES = 2**20
"""Bytes of files that a stamp keeps, so that comments in them may differ; beyond, a changed comment counts as well."""


class Text(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The text of a file: a digest of its bytes, and the bytes, compressed; b"" if there are too many to keep."""

    whole: str
    packed: bytes = b""


class _Code(NamedTuple):
    """The code of a file without comments and blank lines."""

    tokens: str
    """A digest of the tokens; "" if the file does not tokenize."""
    lines: Lines
    """The lines with code, each with a checksum."""


class Grounds(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What the verdicts of a process rest on, beyond what is in the key of a stamp."""

    certain: list[str]
    """The rules for which another process would have the same result while the grounds are unchanged."""
    modules: list[str]
    """The files of the rules' modules; calls of the rules are searched for in the files beside them."""
    beside: list[str]
    """The files that were searched for calls, in order."""
    texts: dict[str, Text]
    """The files that were imported, searched for calls, or passed over."""
    folders: dict[str, str]
    """By folder a digest of the names of what can be imported from it."""
    packages: dict[str, str]
    """By folder the state of an installed package."""


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
        """Return a digest of what is known before any import.

        That is the request, certgrad's own text, Python, the environment, and the project's configuration.
        """
        question = msgspec.structs.replace(request, cache="", skip=[])
        variables = sorted((name, value) for name, value in os.environ.items() if name not in _ELSEWHERE)
        python = [sys.version, sys.executable, str(sys.flags), sys.path[1:], sys.platform, platform.machine()]
        parts = [question, os.getcwd(), variables, python, package_source(), _configuration()]
        return digest(repr(parts).encode(errors="surrogatepass"))

    def recall(self, request: Request, key: str) -> Stamp | None:
        """Return an earlier audit of the target, with current line numbers; None if none is stored or up to date."""
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
            request: the request of the audit.
            key: the key of that request before the audit.
            seen: what the target means (`Seen`, as JSON).
            results: the results of the target's rules.
            told: the grounds of the results of each process.
        """
        certain = {name for grounds in told for name in grounds.certain}
        if not told or request.skip or not certain.issuperset(result.name for result in results):
            return
        with suppress(ChangedError, UsageError, OSError):
            first = told[0]
            if self.key(request) != key or not package_is_as_it_was():  # something was edited during the audit
                return
            grounds = Grounds(
                certain=[],
                modules=first.modules,
                beside=first.beside,
                texts=_merged_tables(g.texts for g in told),
                folders=_merged_tables(g.folders for g in told),
                packages=_merged_tables(g.packages for g in told),
            )
            if any((g.modules, g.beside) != (first.modules, first.beside) for g in told):
                return
            kept = [msgspec.structs.replace(result, seconds=0.0) for result in results]
            entry = msgspec.msgpack.encode(Stamp(key, grounds, seen, kept))
            self.folder.write(entry_name(f"all of {request.target}", key), entry)


def _merged_tables(tables: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the entries of several tables in one. Raises ChangedError if two give a name different values."""
    out: dict[str, Any] = {}
    for name, value in (item for table in tables for item in table.items()):
        if out.setdefault(name, value) != value:
            raise ChangedError
    return out


def _configuration() -> list[tuple[str, bytes]]:
    """Return the files of the project's configuration with their bytes; b"" for one that does not exist."""
    from certgrad.rules.project.configuration import nearest

    configured = nearest(Path.cwd())
    files = (configured.folder / "pyproject.toml", configured.recorded_file)
    return [(str(file), file.read_bytes() if file.is_file() else b"") for file in files]


def _code_of(data: bytes) -> _Code:
    """Return the code of a file: a digest of its tokens without comments, and its lines with code.

    In place of a token's row stands its number among the rows with code, so that blank lines make no difference.
    Comments that certgrad reads (`# certgrad: ignore`) count as code.
    """
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
    """Return a digest of the names of modules, folders and `.pth` files in a folder, which may not exist."""
    suffixes = (*all_suffixes(), ".pth")
    try:
        with os.scandir(folder) as entries:
            names = [e.name for e in entries if e.name.endswith(suffixes) or e.is_dir()]
    except OSError:
        names = []
    return digest(repr(sorted(n for n in names if not n.startswith((".", "__pycache__")))).encode())


def _as_now(stamp: Stamp) -> list[RuleResult]:
    """Return the results of a stamp, with current line numbers. Raises ChangedError or OSError if grounds changed."""
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
    return [with_current_lines(result, grounds.texts, edited) for result in stamp.results] if edited else stamp.results
