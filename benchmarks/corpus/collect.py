"""What there is in this checkout that a row can be about: `--collect` writes a row for what has none.

What a person wrote in a row stays as it is. The rows of the survey, of published rules, and of libraries that are not
installed, are written by hand.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

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


class Table(NamedTuple):
    """A table of rules in a module of `tests/obligations`: an expression in that module for each of its keys."""

    module: str
    name: str
    rule: str
    signature: str
    """An expression too; empty for an op, which has its own."""
    expected: Expected
    without: tuple[str, ...] = ()
    """Keys of rules that may be proved at the sizes at which they are right: tests say of them what is enough."""


SAME = "'n -> n'"
WORKED_OUT = "a platform at a size that is worked out"
LEFT_OUT = ("a large size", "a threshold")
TABLES = (
    Table("conformance.test_what_happens", "SIZES", "scaled(SIZES[{}])", SAME, "wrong", LEFT_OUT),
    Table("conformance.test_what_happens", "TRACED", "scaled(TRACED[{}])", SAME, "wrong"),
    Table("conformance.test_what_happens", "STATE", "scaled(STATE[{}])", SAME, "wrong"),
    Table("conformance.test_what_happens", "OTHER_PATHS", "scaled(OTHER_PATHS[{}])", SAME, "right"),
    Table("conformance.test_ways", "QUESTIONS", "squares(QUESTIONS[{}])", "'n -> '", "wrong", (WORKED_OUT,)),
    Table("conformance.test_plain_values", "WRONG", "WRONG[{}][0]", "WRONG[{}][1]", "wrong"),
    Table("conformance.test_plain_values", "RIGHT", "RIGHT[{}][0]", "RIGHT[{}][1]", "right"),
    Table("decide.test_related_rules", "OPEN", "OPEN[{}]", SAME, "wrong"),
    Table("generality.test_ranks_between", "AT_RANK_TWO", "doubled_where(AT_RANK_TWO[{}])", "'*s -> *s'", "wrong"),
    Table("generality.test_ranks_between", "AT_RANK_FIVE", "doubled_where(AT_RANK_FIVE[{}])", "'*s -> *s'", "wrong"),
    Table("laws.test_roots_of_unity", "PAIRS", "PAIRS[{}][1]", "PAIRS[{}][0]", "right"),
    Table("laws.test_roots_of_unity", "PAIRS", "PAIRS[{}][2]", "PAIRS[{}][0]", "wrong"),
    Table("laws.test_spectral_powers", "WRONG", "rule(*WRONG[{}])", "'n n ->'", "wrong"),
    Table("test_index_rules", "FREE", "by_jax(*FREE[{}])", "", "right"),
    Table("test_traps_hypotheses", "VACUOUS", "VACUOUS[{}]", "", "wrong"),
)


def _tests() -> Iterator[Entry]:
    for table in TABLES:
        module = f"tests.obligations.{table.module}"
        names = vars(importlib.import_module(module))
        stem = table.module.rpartition(".")[2].removeprefix("test_")
        for key in filter(lambda key: key not in table.without, names[table.name]):
            rule, signature = (text.format(repr(key)) for text in (table.rule, table.signature))
            yield Entry(
                id=f"tests/{stem}:{table.name}: {key}/{table.expected}",
                where=f"{module}:{rule}",
                expected=table.expected,
                signature=eval(signature, names) if signature else "",
            )


def _rules(source: str, target: str) -> Iterator[Entry]:
    """Rules as `certgrad audit` finds them; by their names those are wrong that say so."""
    from certgrad.rules.declared.declaration import declaration_of
    from certgrad.rules.finding.find import find
    from certgrad.rules.subject.layers import plain_function, unwrapped

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
    "tests": _tests,
    "traps": _traps,
    "wrong_ops": _wrong_ops,
}
