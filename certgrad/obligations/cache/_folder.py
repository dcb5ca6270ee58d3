"""Entries as files of one folder: written whole or not at all, read warily, and not without bound.

Several processes may read and write at once, and any of them may be killed at any moment. A file gets its name only
when all of it is on the disk, so that nobody meets half an entry; a temporary file that a killed process left is
removed by a later `prune`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from certgrad.errors import UsageError

DEFAULT_FOLDER = Path(".certgrad_cache")
MAX_ENTRY = 8 * 2**20
"""The most bytes of one entry; a larger file is not read. Entries of this library have some kilobytes."""
MAX_TOTAL = 64 * 2**20
"""The most bytes of all entries together: the oldest entries are removed when there are more."""
_SUFFIX = ".entry"
_TEMPORARY = ".writing-"
_ABANDONED_AFTER = 3600.0
"""Seconds after which a temporary file counts as abandoned, and is removed."""
_DIGEST = 32
"""Bytes of an entry's digest, in front of it."""
_IGNORE = "# Made by certgrad: what earlier audits proved. It may be removed at any time.\n*\n"


class Folder:
    """A folder of entries. Errors of the disk are not raised; `problem` says why writing failed, "" if it did not.

    Raises UsageError if `path` is neither a text nor a Path.
    """

    def __init__(self, path: Path | str, max_total: int = MAX_TOTAL) -> None:
        if not isinstance(path, (str, Path)):
            raise UsageError(f"{path!r} is no folder: give its path, as a text or a pathlib.Path.")
        self.path = Path(path)
        self.max_total = max_total
        self.problem = ""

    def read(self, name: str) -> bytes | None:
        """Return the entry of that name; None if there is none, or if it is damaged, too large or no plain file."""
        try:
            with open(self._file(name), "rb", opener=_without_waiting) as stream:
                status = os.fstat(stream.fileno())
                if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_ENTRY + _DIGEST:
                    return None
                data = stream.read(MAX_ENTRY + _DIGEST + 1)
        except OSError:
            return None
        digest, entry = data[:_DIGEST], data[_DIGEST:]
        return entry if len(entry) <= MAX_ENTRY and _digest(entry) == digest else None

    def has(self, beginning: str) -> bool:
        """Return whether the name of a file in the folder begins so."""
        with contextlib.suppress(OSError), os.scandir(self.path) as entries:
            return any(entry.name.startswith(beginning) for entry in entries)
        return False

    def write(self, name: str, entry: bytes) -> None:
        """Store an entry, in the place of an older one of that name; one above `MAX_ENTRY` is not stored."""
        if len(entry) > MAX_ENTRY:
            return
        try:
            self._make()
            handle, temporary = tempfile.mkstemp(prefix=_TEMPORARY, dir=self.path)
            try:
                with open(handle, "wb") as stream:
                    stream.write(_digest(entry) + entry)
                    stream.flush()
                    os.fsync(stream.fileno())
                os.replace(temporary, self._file(name))
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
                raise
        except OSError as error:
            self.problem = self.problem or f"{self.path}: {error.strerror or error}"

    def used(self, name: str) -> None:
        """Set an entry's time to now, so that it is removed last."""
        with contextlib.suppress(OSError):
            os.utime(self._file(name))

    def prune(self) -> None:
        """Remove the oldest entries above the limit, and temporary files that killed processes left."""
        now = time.time()
        entries: list[tuple[float, int, str]] = []
        for entry, status in self._files():
            if entry.name.startswith(_TEMPORARY) and now - status.st_mtime > _ABANDONED_AFTER:
                _remove(entry.path)
            elif entry.name.endswith(_SUFFIX):
                entries.append((status.st_mtime, status.st_size, entry.path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= self.max_total:
                return
            _remove(path)
            total -= size

    def _files(self) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
        """Yield the plain files in the folder, each with its status; none if the folder cannot be read."""
        try:
            with os.scandir(self.path) as entries:
                for entry in entries:
                    with contextlib.suppress(OSError):  # another process may just have removed it
                        if entry.is_file(follow_symlinks=False):
                            yield entry, entry.stat(follow_symlinks=False)
        except OSError:
            return

    def _file(self, name: str) -> Path:
        return self.path / f"{name}{_SUFFIX}"

    def _make(self) -> None:
        """Make the folder, with a `.gitignore` that keeps it out of version control."""
        self.path.mkdir(parents=True, exist_ok=True)
        ignore = self.path / ".gitignore"
        if not ignore.exists():
            ignore.write_text(_IGNORE, encoding="utf-8")


def entry_name(subject: str, key: str) -> str:
    """Return the name of an entry: the subject's name in letters that fit a file's name, and the key."""
    return f"{re.sub(r'[^A-Za-z0-9_]', '-', subject)[:80]}-{key}"


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe is opened without waiting for a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _digest(entry: bytes) -> bytes:
    return hashlib.blake2b(entry, digest_size=_DIGEST).digest()
