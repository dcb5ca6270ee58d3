"""The specification as a document: `python -m benchmarks.pages.semantics > docs/semantics.md`."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import jax
from jax import export

from certgrad.language import definedness
from certgrad.language import tree as language
from certgrad.language.definedness import defined
from certgrad.language.functions import FUNCTIONS
from certgrad.language.tree import TRUE
from certgrad.specification import program as programs
from certgrad.specification.program import Defined, Determined, Loop, Program
from certgrad.specification.reading import meaning
from certgrad.specification.rule import RULES, STRUCTURED

from .definitions import definition_lines
from .examples import calls
from .written import text

CHAPTERS = (
    "elementwise comparisons casts shape reductions cumulative contractions order gather_scatter windows "
    "control linear_algebra opaque"
).split()
HEAD = """# What JAX's primitives mean

This page is generated from `certgrad/specification/`, by `python -m benchmarks.pages.semantics`. It says, for each
primitive of JAX that the op library and the models use, what an entry of its result is, as an expression in entries of
its operands, and where that is defined. From *Elementwise* on, a chapter is a file of `primitives/`. The statements
that a proof assistant checks are made from it; the calculus reads it in arithmetic and wherever entries move, are
compared, selected or summed, and is tested against it elsewhere. It is tested against JAX itself, at drawn shapes,
parameters and entries, and at corners.

What it says is over the reals: floats are read as the real numbers that they stand for (a literal as the shortest
decimal that rounds to it), integers as exact, as if none left the range of its type.
"""


def document() -> str:
    """The page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield HEAD
    yield "## The language"
    yield ""
    yield inspect.cleandoc(language.__doc__ or "")
    yield ""
    yield inspect.cleandoc(definedness.__doc__ or "")
    yield ""
    yield inspect.cleandoc(programs.__doc__ or "")
    yield ""
    yield "## Functions"
    yield ""
    yield "| name | what it is | where it is defined |"
    yield "| --- | --- | --- |"
    names = [language.Index(v) for v in "xyzw"]
    for name, meant in FUNCTIONS.items():
        if not meant.says:
            continue
        domain = meant.domain(*names[: len(meant.arguments)])
        where = "everywhere" if domain == TRUE else text(domain)
        yield f"| {name} | {_cell(meant.says)} | {_cell(where)} |"
    shown = _examples()
    for chapter in CHAPTERS:
        module = importlib.import_module(f"certgrad.specification.primitives.{chapter}")
        yield ""
        yield f"## {chapter.replace('_', ' ').capitalize()}"
        yield ""
        yield inspect.cleandoc(module.__doc__ or "")
        yield from _rules(module.__name__, shown)


def _cell(said: str) -> str:
    return said.replace("|", "\\|")


def _rules(module: str, shown: dict[str, list[str]]) -> Iterator[str]:
    """The rules of a module, those that share one together."""
    together: dict[Any, list[str]] = {}
    for name, f in (*RULES.items(), *STRUCTURED.items()):
        if f.__module__ == module:
            together.setdefault(f, []).append(name)
    for f, names in together.items():
        yield ""
        yield f"**{', '.join(names)}**: {inspect.cleandoc(f.__doc__ or '')}"
        for name in names:
            if name in shown:
                yield ""
                yield "```text"
                yield from shown[name]
                yield "```"


def _examples() -> dict[str, list[str]]:
    """By primitive, what an example of it says."""
    n, m = export.symbolic_shape("n, m", constraints=["n >= 4", "m >= 4"])
    out = {}
    for name, (call, arguments) in calls(n, m).items():
        with jax.enable_x64(False):
            program = meaning(jax.make_jaxpr(call)(*arguments), ["x", "y", "z"][: len(arguments)])
        out[name] = list(_example(program, name))
    return out


def _example(program: Program, name: str) -> Iterator[str]:
    """The definitions that are the primitive's, each with where it is defined, as far as that is a condition."""
    own = [d for d in program.definitions if isinstance(d, Defined) and d.primitive == name]
    if name in RULES and own:
        for d in own[:2]:
            yield from definition_lines(d)
            needs = _conditions(defined(d.entry))
            if needs:
                yield f"  defined where {' ∧ '.join(needs)}"
        return
    for one in program.definitions:
        if isinstance(one, (Loop, Determined)) or name in ("scan", "while", "cond"):
            yield from definition_lines(one)


def _conditions(formula: language.Node) -> list[str]:
    """The parts of a condition that are not only about entries being defined."""
    parts = formula.parts if isinstance(formula, language.Both) else (formula,)
    return [text(p, 2) for p in parts if not isinstance(p, language.IsDefined) and p != TRUE and not _of_entries(p)]


def _of_entries(formula: language.Node) -> bool:
    """Return whether it is a condition that says only that entries are defined."""
    if isinstance(formula, (language.ForAll, language.Exists)):
        return _of_entries(formula.holds)
    if isinstance(formula, language.Both):
        return all(map(_of_entries, formula.parts))
    if isinstance(formula, language.If):
        return _of_entries(formula.then) and _of_entries(formula.otherwise)
    return isinstance(formula, language.IsDefined) or formula == TRUE


if __name__ == "__main__":
    print(document(), end="")
