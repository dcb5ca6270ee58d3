"""Results as JSON lines: each is written whole, and a run that goes on after another one knows what that found."""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import certgrad


@functools.cache
def code() -> str:
    """A digest of the package's code: results of another calculus are other results."""
    found = hashlib.sha256()
    root = Path(certgrad.__file__).parent
    for path in sorted(root.rglob("*.py")):
        found.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()[:16]


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file; what a run that was stopped left of its last one is no line."""
    if path.exists():
        for line in path.read_text("utf-8").splitlines(keepends=True):
            if line.endswith("\n"):
                yield json.loads(line)


class Lines:
    """A file of results to which lines are added."""

    def __init__(self, path: Path, any_code: bool = False) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._mended(path)
        self.all = list(read(path))
        self.known = [line for line in self.all if any_code or line["code"] == code()]
        """What is done already, by this code, or by any."""
        self.now = path.with_suffix(".now")
        """What is being done: if it ends the process, that is a result too."""
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    @staticmethod
    def _mended(path: Path) -> None:
        """Without the rest of a line that was being written when a run was stopped."""
        if path.exists() and (text := path.read_bytes()) and not text.endswith(b"\n"):
            with path.open("r+b") as file:
                file.truncate(text.rfind(b"\n") + 1)

    def add(self, line: Mapping[str, Any]) -> None:
        """Write one line, in one piece."""
        os.write(self.file, (json.dumps({**line, "code": code()}, ensure_ascii=False) + "\n").encode())

    def begin(self, what: Mapping[str, Any]) -> None:
        """Note what is done next."""
        self.now.write_text(json.dumps(what), "utf-8")

    def ended(self, why: str) -> bool:
        """Add a line for what ended the process; whether something was noted that did."""
        try:
            what = json.loads(self.now.read_text("utf-8"))
        except (OSError, ValueError):
            return False
        self.add(
            what | ({"verdict": why} if what["kind"] == "rule" else {"outcome": "ended", "laws": [], "detail": why})
        )
        self.now.unlink()
        return True
