"""What a row of the corpus holds, and its files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

Expected = Literal["right", "wrong", ""]
ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "corpus"

SOURCES = {
    "library": "the ops of the library",
    "ordinary": "rules as people write them: `examples/ordinary`",
    "examples": "right, wrong and intended rules: `examples/rules`",
    "wrong_ops": "wrong rules that look right: `examples/wrong_rules.py`",
    "cases": "rules from public reports of mistakes: `corpus/cases`",
    "pairs": "right rules and wrong twins by a stranger: `benchmarks/pairs`",
    "traps": "what the calculus might get wrong: `tests/obligations`",
    "attacks": "wrong rules by strangers: `tests/attacks`",
    "tests": "rules of tests: `tests/obligations`",
    "models": "models: `examples/models`",
    "library_models": "models of libraries: `benchmarks/library_models`",
    "libraries": "parts of libraries: `benchmarks/libraries`",
    "survey": "rules of packages: `benchmarks/wild`",
    "published": "rules of packages and of public reports, with nothing declared",
}
"""What the entries of each file are."""


class CorpusError(Exception):
    """A file of the corpus cannot be used. The message names the file and the line."""


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A rule, and what it is known to be. The part of `id` before the first slash is the source, and names the file."""

    id: str
    where: str
    """`module:object`, or `folder/file.py:object`; what that is depends on the source (`subjects`). Of tests the object
    is an expression in the module."""
    expected: Expected = ""
    """Whether the rule is its function's derivative; empty where nobody decided that, or where it is none by intent."""
    twin: str = ""
    """The entry of the same function with, or without, the mistake."""
    signature: str | list[Any] = ""
    """As `certgrad.check` takes it; empty where the object has its own. Of a published rule, to which nothing is given,
    it is what should be inferred: the most general one of the ranks that are meant."""
    options: dict[str, Any] = {}
    """Further arguments of `certgrad.check`."""
    domain: list[str] = []
    needs: str = ""
    """The package without which the entry is not run."""
    stands: str = ""
    """Why the record stands and the entry is not run here, if it is not."""
    cause: str = ""
    """Words that what is said to be wrong has to hold, of a wrong rule whose mistake is named, and truly."""
    limit: float = 0.0
    """Seconds of the processor that it may take, where its function alone takes more than the command's limit."""
    note: str = ""
    """What is to be known of the rule beside that."""
    outside: str = ""
    """Why the code lies outside of what the claim is about, if it does: it is not written in good faith."""

    @property
    def source(self) -> str:
        return self.id.partition("/")[0]


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What came of an entry."""

    id: str
    verdict: str
    """That of the certificate, or else `not audited`, `not tried`, `failed`, `out of time`, `crashed` or `raised X`."""
    seconds: float
    """Of the processor; of imports with those of the entry's own module alone."""
    hypotheses: list[Any] | None = None
    """Their trees as in certificates, each once; None where they were not recorded."""
    excluded: bool = False
    """The hypotheses, or the sizes of the claim, exclude the points at which the rule is known to be wrong."""
    sizes: list[dict[str, int]] = []
    """The sizes that the verdict is about, where it is not about all."""
    scope: list[str] = []
    limits: list[str] = []
    """What alone the claims are about: some dtypes, some values of static arguments."""
    without_gradient: list[str] = []
    laws: list[str] = []
    """The rules of the calculus that the proof applied, or the lemmas of a graph."""
    reason: str = ""
    """Why nothing definite came of it, or why it did not at more sizes."""
    asks: list[str] = []
    """What the certificate of a graph asks, in its words: they name lines and values, which trees do not."""
    causes: dict[str, str] = {}
    """What is said to be wrong with the cotangent of each argument, of a refuted rule."""
    version: str = ""
    """Of the library whose part it is."""
    inferred: str = ""
    """The shapes that were inferred, where nothing declares them."""
    choices: str = ""
    """What was said of other choices of ranks than that."""

    @property
    def source(self) -> str:
        return self.id.partition("/")[0]


Row = TypeVar("Row", Entry, Record)


def entries(folder: Path = CORPUS) -> dict[str, Entry]:
    """All entries by id, in the order of the files' names and lines. Raises CorpusError."""
    return _rows(folder / "entries", Entry)


def records(folder: Path = CORPUS) -> dict[str, Record]:
    """The records by id. Raises CorpusError."""
    return _rows(folder / "records", Record)


def write(folder: Path, rows: Iterable[Entry] | Iterable[Record]) -> None:
    """A file a source, a line a row, in the order of their ids: a difference of two versions is read line by line."""
    by_source: dict[str, list[Entry | Record]] = {}
    for row in rows:
        by_source.setdefault(row.source, []).append(row)
    folder.mkdir(parents=True, exist_ok=True)
    for source, of_source in by_source.items():
        lines = [msgspec.json.encode(row) + b"\n" for row in sorted(of_source, key=lambda row: row.id)]
        (folder / f"{source}.jsonl").write_bytes(b"".join(lines))


def by_source(rows: Mapping[str, Row]) -> dict[str, list[Row]]:
    """The rows of each source."""
    out: dict[str, list[Row]] = {}
    for row in rows.values():
        out.setdefault(row.source, []).append(row)
    return out


def _rows(folder: Path, kind: type[Row]) -> dict[str, Row]:
    out: dict[str, Row] = {}
    for path in sorted(folder.glob("*.jsonl")):
        if path.stem not in SOURCES:
            raise CorpusError(f"{path}: there is no source {path.stem!r}, but {', '.join(SOURCES)}.")
        for place, row in _lines(path, kind):
            if row.source != path.stem:
                raise CorpusError(f"{place}: the id {row.id!r} does not begin with '{path.stem}/'.")
            if row.id in out:
                raise CorpusError(f"{place}: the id {row.id!r} stands twice.")
            out[row.id] = row
    return out


def _lines(path: Path, kind: type[Row]) -> Iterator[tuple[str, Row]]:
    decoder = msgspec.json.Decoder(kind)
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        place = f"{path}:{number}"
        try:
            yield place, decoder.decode(line)
        except msgspec.DecodeError as error:
            raise CorpusError(f"{place}: {error}") from error
