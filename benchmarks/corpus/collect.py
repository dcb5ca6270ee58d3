"""What there is in this checkout that a row can be about: `--collect` writes a row for what has none.

What a person wrote in a row stays as it is. The survey's rows, and those of libraries that are not installed, are
written by hand.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from benchmarks.corpus.entries import CORPUS, ROOT, Entry, Expected, entries, write
from benchmarks.corpus.traps import traps_of

SIDES: tuple[Expected, Expected] = ("right", "wrong")


def collect() -> list[Entry]:
    """Write a row for each that has none; the new ones."""
    known = entries()
    new = [entry for of_source in SOURCES.values() for entry in of_source() if entry.id not in known]
    touched = {entry.source for entry in new}
    write(CORPUS / "entries", [e for e in [*known.values(), *new] if e.source in touched])
    return new


def _library() -> Iterator[Entry]:
    from certgrad.ops import registry

    for name in registry.names():
        yield Entry(id=f"library/{name}", where=f"certgrad.ops:{name}", expected="right")


def _wrong_ops() -> Iterator[Entry]:
    from examples.wrong_rules import rules

    for name in rules.names():
        yield Entry(id=f"wrong_ops/{name}", where=f"examples.wrong_rules:{name}", expected="wrong")


def _pairs() -> Iterator[Entry]:
    from benchmarks.pairs import CLASSES

    for group in CLASSES:
        module = f"benchmarks.pairs.{group}"
        for pair in importlib.import_module(module).PAIRS:
            yield from _twins(f"pairs/{group}:{pair.name}", f"{module}:{pair.name}")


def _twins(id: str, where: str) -> Iterator[Entry]:
    for side, other in zip(SIDES, reversed(SIDES), strict=True):
        yield Entry(id=f"{id}/{side}", where=where, expected=side, twin=f"{id}/{other}")


def _attacks() -> Iterator[Entry]:
    folder = importlib.import_module("tests.attacks").__path__
    for module in sorted(found.name for found in pkgutil.iter_modules(folder) if not found.name.startswith("test_")):
        name = f"tests.attacks.{module}"
        table = vars(importlib.import_module(name))
        for attack in [*table.get("ATTACKS", ()), *table.get("ATTACKS_ON_DEVICES", ())]:
            yield Entry(id=f"attacks/{attack.name}", where=f"{name}:{attack.name}", expected="wrong")


def _traps() -> Iterator[Entry]:
    for path in sorted((ROOT / "tests" / "obligations").glob("test_*.py")):
        if "Trap(" not in path.read_text("utf-8"):
            continue
        module = f"tests.obligations.{path.stem}"
        for name, trap in traps_of(importlib.import_module(module)).items():
            both = _twins(f"traps/{path.stem.removeprefix('test_')}:{name}", f"{module}:{name}")
            for entry in both:
                if trap.right is not None:
                    yield entry
                elif entry.expected == "wrong":
                    yield Entry(id=entry.id, where=entry.where, expected="wrong")


def _rules(source: str, target: str) -> Iterator[Entry]:
    """Rules as `certgrad audit` finds them; by their names those are wrong that say so."""
    from certgrad.rules._declaration import declaration_of
    from certgrad.rules._find import find
    from certgrad.rules._layers import plain_function, unwrapped

    for rule in find(target).rules:
        if rule.problem or rule.rule is None:
            continue
        declared = declaration_of(rule.rule, plain_function(unwrapped(rule.rule)))
        name = rule.name.partition(":")[2]
        intended = declared is not None and declared.surrogate
        expected: Expected = "" if intended else "wrong" if name.startswith("wrong") else "right"
        of = target.rpartition(".")[2]
        where = Path(target).relative_to(ROOT).as_posix() if target.endswith(".py") else target
        of = Path(target).stem if target.endswith(".py") else of
        yield Entry(id=f"{source}/{of}:{name}", where=f"{where}:{name}", expected=expected)


def _modules(source: str, package: str) -> Iterator[Entry]:
    for path in sorted((ROOT / package.replace(".", "/")).glob("[a-z]*.py")):
        yield from _rules(source, f"{package}.{path.stem}")


def _cases() -> Iterator[Entry]:
    for path in sorted((CORPUS / "cases").glob("r*.py")):
        for entry in _rules("cases", str(path)):
            side = entry.id.rpartition(":")[2]
            twin = entry.id.removesuffix(side) + SIDES[side == "right"] if side in SIDES else ""
            yield msgspec.structs.replace(entry, twin=twin)


def _models() -> Iterator[Entry]:
    from benchmarks.models import MODELS

    for module, names in MODELS.items():
        for name in names:
            yield Entry(id=f"models/{name}", where=f"examples.models.{module}:{name}", expected="right")


def _library_models() -> Iterator[Entry]:
    from benchmarks.library_models._model import MODELS

    for module in ("flax_models", "other_models"):
        with suppress(ModuleNotFoundError):
            importlib.import_module(f"benchmarks.library_models.{module}")
    for name, model in MODELS.items():
        yield Entry(id=f"library_models/{name}", where=f"{model.make.__module__}:{name}", expected="right")


SOURCES: dict[str, Callable[[], Iterator[Entry]]] = {
    "attacks": _attacks,
    "cases": _cases,
    "examples": lambda: _modules("examples", "examples.rules"),
    "library": _library,
    "library_models": _library_models,
    "models": _models,
    "ordinary": lambda: _modules("ordinary", "examples.ordinary"),
    "pairs": _pairs,
    "traps": _traps,
    "wrong_ops": _wrong_ops,
}
