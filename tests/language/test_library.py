"""The hypotheses of the library: equal text is equal tree, and each tree means what the calculus' clause does."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest
from flint import fmpq

from benchmarks.statements import digests
from certgrad.graph.certificate import decode
from certgrad.language import coding
from certgrad.language import tree as t
from certgrad.language.arithmetic import UnfitError
from certgrad.language.text import text
from certgrad.obligations.balls import Undecided, precision
from certgrad.obligations.balls.statements import evaluate
from certgrad.obligations.decide.evaluate import Evaluation
from certgrad.obligations.decide.evaluate import evaluate as value_of
from certgrad.obligations.generality.traces import Traces
from certgrad.obligations.prove import satisfiable
from certgrad.obligations.prove.problem import build, posed
from certgrad.obligations.prove.prove import prove
from certgrad.obligations.terms.functions import UndecidedError
from certgrad.obligations.tracing.jax_internals import dim_poly
from certgrad.obligations.wording.stated import Reads
from certgrad.ops import Composed, registry
from certgrad.report import json
from tests.language.boundaries import near_boundaries

SAMPLE = "atan2 cdist cummax triplet_margin max_pool1d norm pow sort std take tversky".split()
REPORTS = Path(__file__).parents[2] / "reports"


def hypotheses() -> Iterator[tuple[str, t.Statement]]:
    """Of every certificate that is kept, of ops and of models."""
    for path in sorted((REPORTS / "certificates").glob("*.json")):
        for claim in json.decode(path.read_bytes()).claims:
            for case in claim.cases:
                yield from ((h.text, h.tree) for h in case.hypotheses)
    for path in sorted((REPORTS / "graphs").glob("*.json")):
        model = decode(path.read_bytes())
        yield from ((h.formula, h.tree) for h in model.hypotheses)
        for lemma in model.lemmas:
            yield from zip(lemma.hypotheses, lemma.statements, strict=True)


def test_equal_text_is_equal_tree() -> None:
    assert len(digests(hypotheses())) > 80


def test_equal_text_is_equal_tree_in_the_survey() -> None:
    """Of published rules."""
    found: dict[str, str] = {}

    def gathered(value: Any) -> None:
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            if key == "statements":
                for shown, digest in inner.items():
                    assert found.setdefault(shown, digest) == digest, shown
            elif isinstance(inner, dict | list):
                gathered(inner)

    gathered(msgspec.json.decode((REPORTS / "wild.json").read_bytes()))
    assert len(found) > 40


def agreement(name: str, points: int) -> int:
    """How often a hypothesis, read back from its JSON, and the clause were asked; they agree."""
    op = registry.get(name)
    traces = Traces(op)
    return sum(agree(op, traces.at(family.prove[0]), points) for family in traces.families)


def agree(op: Any, trace: Any, points: int) -> int:
    shapes, rng, asked = trace.shapes, Random(5), 0
    problem = build(posed(op, shapes, trace.programs))
    kinds = {op.arg_names[k]: dtype for k, dtype in enumerate(shapes.dtypes)}
    sizes = {n: [dim_poly(d) for d in s] for n, s in zip(op.arg_names, shapes.inputs, strict=True)}
    for kind in op.kinds:
        outcome = prove(problem, kind)
        read = Reads(sizes | dict.fromkeys(op.params, ()), outcome.ranges, outcome.tests)
        for clause in outcome.hypotheses:
            tree = coding.decode(coding.encode(read(clause)))
            named = [n.name for n in t.walk(tree) if isinstance(n, t.Size)]
            for k in range(points):
                dims = dict.fromkeys([*names_of(sizes.values()), *named], 2 + k % 2)
                arrays = {n: drawn(rng, s, dims, kinds.get(n, "float")) for n, s in read.shapes.items()}
                near = list(near_boundaries(tree, arrays, dims)) if kinds.get("x") == "float" and k % 4 == 0 else []
                for point in (arrays, *rng.sample(near, min(3, len(near)))):
                    try:
                        found, expected = evaluate(tree, point, dims), clause_holds(clause, dims, point, outcome.tests)
                    except (Undecided, UndecidedError, ZeroDivisionError, UnfitError):
                        continue  # `asked` counts what is left
                    if found is not None:
                        assert found == expected, (text(tree), point, dims)
                        asked += 1
    return asked


def clause_holds(clause: Any, dims: Any, point: Any, tests: Any) -> bool:
    def value(tensor: str, index: tuple[int, ...]) -> fmpq:
        array = point[tensor]
        at = index[len(index) - array.ndim :] if array.ndim else ()
        if any(not 0 <= k < n for k, n in zip(at, array.shape, strict=True)):
            raise UndecidedError
        return fmpq(int(array[at])) if isinstance(array[at], int) else array[at]

    return bool(satisfiable._holds(clause, Evaluation(dims, value), next(iter(dims.values()), 2), tests, {}, {}))


def names_of(shapes: Iterable[Any]) -> list[str]:
    return sorted({a.name for s in shapes for n in s for m in n for a, _ in m})


def drawn(rng: Random, shape: Any, dims: Any, kind: str) -> Any:
    counts = tuple(int(value_of(n, dims, lambda *_: fmpq(0)).unique_fmpz()) for n in shape)
    out = np.empty(counts, dtype=object)
    for at in np.ndindex(*counts):
        out[at] = fmpq(rng.randint(-6, 6), 1 if rng.random() < 0.5 else 4) if kind == "float" else rng.randint(0, 1)
    return out


@pytest.mark.one_in(9)
@pytest.mark.parametrize("name", SAMPLE)
def test_a_tree_means_what_its_clause_does(name: str) -> None:
    with precision(128):
        assert agreement(name, 12) > 3


@pytest.mark.slow
@pytest.mark.parametrize("name", [op.name for op in registry if not isinstance(op, Composed)])
def test_a_tree_means_what_its_clause_does_in_the_library(name: str) -> None:
    with precision(128):
        agreement(name, 1000)
