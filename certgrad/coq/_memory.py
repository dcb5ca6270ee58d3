"""Results of Coq, remembered by digest, one theorem at a time.

An acceptance is remembered by the theorem's statement, its programs, and the definitions of the library that these
mention, directly or not; tactics and the time of the proof do not matter. A failure is remembered by these, the tactics
and the time limit. The results of a whole file are remembered too, by a key for all that the file is printed from, so
that it need not be printed again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from certgrad.process.files import write_atomically

from ._export import Section
from ._library import Library, sources
from ._names import mentioned
from ._theorem import Theorem

_SENTENCE = re.compile(r"^(?:Definition|Fixpoint|Record|Inductive)\s+([\w']+).*?\.(?=\s*$)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Judged:
    """The result of one theorem: whether Coq accepts it, and else the reason why not."""

    name: str
    kind: str
    accepted: bool
    reason: str = ""
    seconds: float = 0.0
    """Processor time of the proof."""
    stated: bool = True
    """False where the rule has no program that such a claim is about: there is nothing to prove."""
    way: int | None = None
    """The number of the theorem's proof script that found the proof."""

    @property
    def why(self) -> str:
        """The reason without Coq's message."""
        return "no proof was found" if self.reason.startswith("no proof was found:") else self.reason


class Memory:
    """A folder of results. If `used` is false, nothing is stored and nothing is recalled."""

    def __init__(self, library: Library, limit: int, used: bool = True) -> None:
        self.library, self.limit, self.used = library, limit, used
        self._sentences: dict[str, str] | None = None

    def recall(self, section: Section, theorem: Theorem) -> Judged | None:
        """Return the remembered result of a theorem; None if there is none.

        It was accepted, by whatever tactics, or was not proved by these tactics within a limit at least as long.
        """
        if not self.used:
            return None
        accepted = self._read(self._says(section, theorem))
        if accepted is not None and isinstance(accepted.get("way"), int):  # older entries have no way
            return Judged(theorem.name, theorem.kind, True, "", accepted["seconds"], way=accepted["way"])
        tried = self._read(self._trial(section, theorem))
        if tried is None or tried["limit"] < self.limit:
            return None
        return Judged(theorem.name, theorem.kind, False, tried["reason"], tried["seconds"])

    def keep(self, section: Section, theorem: Theorem, judged: Judged) -> None:
        """Store a result. An error of the file system is ignored: the theorem will be proved again."""
        if not self.used:
            return
        if judged.accepted:
            self._write(self._says(section, theorem), asdict(judged))
        else:
            self._write(self._trial(section, theorem), {**asdict(judged), "limit": self.limit})

    def known_file(self, key: str) -> tuple[Judged, ...] | None:
        """Return the remembered results of the file with this key, by this library and limit; None without any."""
        if not self.used:
            return None
        try:
            return msgspec.json.decode(self._file(key).read_bytes(), type=tuple[Judged, ...])
        except (OSError, msgspec.MsgspecError):
            return None

    def keep_file(self, key: str, judged: tuple[Judged, ...]) -> None:
        """Store the results of the file with this key."""
        if self.used:
            _write(self._file(key), msgspec.json.encode(judged))

    def _file(self, key: str) -> Path:
        return self._path("files", _digest(self.library.digest, str(self.limit), key))

    def _says(self, section: Section, theorem: Theorem) -> str:
        """Return the digest of all that the theorem's truth depends on."""
        text = "\n".join(
            [*(d.text for d in (*section.before, *section.definitions)), f"{theorem.name}: {theorem.statement}"]
        )
        return _digest(self.library.version, *self._mentioned(text), text)

    def _trial(self, section: Section, theorem: Theorem) -> str:
        """Return the digest of all that a failure depends on, but for the limit."""
        return _digest(self._says(section, theorem), self.library.digest, *theorem.ways)

    def _mentioned(self, text: str) -> Iterable[str]:
        """Yield the definitions of the library that a text mentions, directly or through other definitions."""
        if self._sentences is None:
            self._sentences = {
                m[1]: m[0] for file in sorted(sources().glob("*.v")) for m in _SENTENCE.finditer(file.read_text())
            }
        return (self._sentences[word] for word in sorted(mentioned([text], self._sentences)))

    def _path(self, kind: str, digest: str) -> Path:
        return self.library.cache / kind / digest[:2] / f"{digest[2:34]}.json"

    def _read(self, digest: str) -> dict[str, Any] | None:
        try:
            data = json.loads(self._path("judged", digest).read_text())
            return data if isinstance(data, dict) and isinstance(data.get("seconds"), float) else None
        except (OSError, ValueError):
            return None

    def _write(self, digest: str, data: dict[str, Any]) -> None:
        _write(self._path("judged", digest), json.dumps(data).encode())


def _write(path: Path, data: bytes) -> None:
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, data)


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()
