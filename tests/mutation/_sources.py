"""Rules of which mutants are made: where they come from, at names of sizes and at numbers."""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from certgrad.rules.declared.declaration import Declaration
from certgrad.rules.finding.find import find
from certgrad.rules.judging.at_sizes import first_sizes
from certgrad.rules.judging.by_name import approximating, declarations_of
from certgrad.rules.judging.judged import first_look
from certgrad.rules.subject.statement import Attempt, Statement
from certgrad.rules.subject.user_rule import UserRule
from certgrad.signatures.sizes import Star

NAMES, NUMBERS = "names", "numbers"


@dataclass(frozen=True)
class Subject:
    """A rule, and how what certgrad audits is made of it; None where it has no such form."""

    source: str
    name: str
    at: str
    make: Callable[[], Any]

    @property
    def key(self) -> tuple[str, str, str]:
        return self.source, self.name, self.at


Said = tuple[Statement, Attempt]


def said(name: str, function: Callable, signature: Any, options: Mapping[str, Any]) -> Said:
    """A rule and what its author says of it, and at which values."""
    known = {k: options[k] for k in ("differentiable", "domain", "approximates") if k in options}
    return Statement(function, signature, name=name, conformance=False, **known), Attempt(options.get("static"))


def as_audited(statement: Statement, attempt: Attempt) -> UserRule:
    """The rule as an audit sees it."""
    return first_look(statement, attempt).rule


def at_both(source: str, name: str, make: Callable[[], Said]) -> Iterator[Subject]:
    """The rule as its signature stands, and with small numbers for the sizes that this leaves open."""

    def numbers() -> UserRule | None:
        statement, attempt = make()
        rule = statement.rule(attempt)
        sizes = first_sizes(rule)
        stars = any(isinstance(d, Star) for s in rule.signature.inputs for d in s.dims)
        return as_audited(statement, replace(attempt, sizes=sizes)) if sizes and not stars else None

    yield Subject(source, name, NAMES, lambda: as_audited(*make()))
    yield Subject(source, name, NUMBERS, numbers)


def classes() -> Iterator[Subject]:
    """The right rules of the pairs, and those of Pallas kernels."""
    from benchmarks.pairs import CLASSES

    for module in CLASSES:
        for pair in importlib.import_module(f"benchmarks.pairs.{module}").PAIRS:
            name = f"{module}: {pair.name}"

            def make(pair: Any = pair, name: str = name) -> Said:
                return said(name, pair.make()[0], pair.signature, pair.options)

            yield from at_both("classes", name, make)
    for title, (right, signature) in kernels().items():
        name = f"pallas: {title}"
        yield from at_both("classes", name, lambda f=right, s=signature, n=name: said(n, f, s, {}))


def kernels() -> dict[str, tuple[Callable, str]]:
    """Rules of Pallas kernels: those of the tests, and JAX's own that run at small sizes."""
    from jax.experimental.pallas.ops.gpu import attention, layer_norm, rms_norm

    from tests.pallas import kernels as k
    from tests.pallas import test_rules as rules

    found = {title: (right, signature) for title, (right, _, signature) in rules.PAIRS.items()}
    found["softmax, any number of blocks"] = rules.softmax(k.softmax_backward), "2*r n -> 2*r n"
    found["softmax, any number of columns"] = rules.softmax(k.softmax_backward), "4 n -> 4 n"
    found["layer_norm of JAX"] = rules.normalised(layer_norm.layer_norm), "1 2 3, 3, 3 -> 1 2 3"
    found["rms_norm of JAX"] = rules.normalised(rms_norm.rms_norm), "1 2 3, 3, 3 -> 1 2 3"
    blocks = dict.fromkeys(attention.BlockSizes.get_default().__dataclass_fields__, 2)
    sizes = attention.BlockSizes(**blocks)

    def attend(q: Any, keys: Any, v: Any) -> Any:
        return attention.mha(q, keys, v, None, 1.0, False, sizes, "triton", None, 2, None, True)

    found["flash attention of JAX"] = attend, "1 4 1 2, 1 4 1 2, 1 4 1 2 -> 1 4 1 2"
    return found


def libraries() -> Iterator[Subject]:
    """The parts of libraries, with the derivatives that JAX makes of them: at all names that do, and at numbers."""
    from benchmarks.libraries import LIBRARIES, library

    for title in LIBRARIES:
        try:
            parts = library(title).PARTS
        except ImportError:
            continue
        for part, how in parts.items():
            if how.why:
                continue
            name = f"{title}: {part}"
            for at, which in ((NAMES, 0), (NUMBERS, -1)):
                yield Subject("libraries", name, at, partial(_part, name, how, which))


def _part(name: str, part: Any, which: int) -> UserRule | None:
    """A part at the first or at the last of the sizes that it is certified for."""
    attempts = [call for _, call in part.attempts()]
    if which and len(attempts) < 2:
        return None
    call = attempts[which]
    specs = [spec.partition(": ")[2] or spec for spec in call.specs]
    names = [f"a{k}" for k in range(len(specs))]
    function = eval(f"lambda {', '.join(names)}: fn({', '.join(names)})", {"fn": call.fn})
    return as_audited(*said(name, function, ", ".join(specs), {}))


def survey() -> Iterator[Subject]:
    """The rules of the survey that its report says are proved, as `benchmarks/wild` declares them."""
    wild = Path(__file__).resolve().parents[2] / "benchmarks" / "wild"
    report = json.loads((wild.parents[1] / "reports" / "wild.json").read_text("utf-8"))
    sys.path.insert(0, str(wild))
    for package in report.values():
        for row in package["rules"]:
            if row["verdict"].startswith("proved") and row.get("origin") != "recorded":
                yield from at_both("survey", row["name"], partial(_surveyed, row["name"]))


def _surveyed(name: str) -> Said:
    declared = importlib.import_module("declared").DECLARED
    target, _, attribute = name.partition(":")
    table: dict[str, Any] = {}
    for known, how in declared.items():
        if known == name or known.startswith(f"{target.partition('.')[0]}."):
            table[known] = (how if isinstance(how, Declaration) else how(),)
    found = next(one for one in find(f"{target}:{attribute}").rules)
    chosen = declarations_of(replace(found, name=name), table)[0]
    options = {k: v for k, v in chosen.options.items() if v is not None}
    statement, attempt = said(name, found.rule, chosen.signature, options)
    return replace(statement, elsewhere=approximating(table)), attempt


def ops() -> Iterator[Subject]:
    """The ops of the library, each case alone; those of `index_rules`; and the rules of the examples that are right."""
    from tests.mutation._subjects import SUBJECTS
    from tests.mutation._verdicts import alone
    from tests.mutation.code_rules import OPTIONS, examples

    for op in SUBJECTS.values():
        for k, case in enumerate(op.cases):
            yield Subject("library", f"{op.name}, case {k}", NAMES, partial(alone, op, case))
    for one in examples():
        options = {k: v for k in OPTIONS if (v := getattr(one.declared, k)) is not None}
        if not one.declared.surrogate:
            make = partial(said, one.name, one.function, one.declared.signature, options)
            yield from at_both("library", f"examples: {one.name}", make)


SOURCES: dict[str, Callable[[], Iterator[Subject]]] = {
    "classes": classes,
    "survey": survey,
    "libraries": libraries,
    "library": ops,
}


def drawn(source: str) -> list[Subject]:
    """The rules of a source in an order drawn from their names, so that any part of a run is spread over all."""
    return sorted(SOURCES[source](), key=lambda s: hashlib.sha256(" ".join(s.key).encode()).hexdigest())
