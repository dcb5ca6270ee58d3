"""The theorems on putting nodes together, checked by exact arithmetic at integer matrices of several sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from random import Random

import numpy as np

from certgrad.graph.certificate import Theorem
from certgrad.graph.induction.theorems import needed_statements, traced

_SIZES = 4


def contradictions(theorems: Sequence[Theorem], kinds: set[str], rng: Random) -> Iterator[str]:
    """Yield how a certificate's theorems differ from those that its kinds of nodes need, or fail at drawn matrices."""
    statements = needed_statements(kinds)
    if [t.name for t in theorems] != [s.name for s in statements]:
        yield f"its theorems are {', '.join(t.name for t in theorems) or 'none'}"
        return
    for theorem, statement in zip(theorems, statements, strict=True):
        if (theorem.statement, theorem.verdict, theorem.digest) != (statement.text, "proved", traced(statement)[3]):
            yield f"the theorem on {theorem.name} is not the one that is proved"
        for _ in range(_SIZES):
            texts = (*statement.matrices.values(), *statement.vectors.values())
            sizes = {name: rng.randint(1, 3) for name in sorted({n for text in texts for n in text.split()})}
            shapes = {text: [sizes[name] for name in text.split()] for text in texts}
            matrices = {name: _drawn(shapes[text], rng) for name, text in statement.matrices.items()}
            vectors = [_drawn(shapes[text], rng) for text in statement.vectors.values()]
            tangents = statement.tangents(matrices, *vectors)
            seeds = [_drawn(t.shape, rng) for t in tangents]
            swept = statement.sweep(matrices, *seeds)
            # ⟨tangents, seeds⟩ = ⟨vectors, sweep(seeds)⟩ is the adjoint law; integers make it exact.
            left = sum(int(a @ b) for a, b in zip(tangents, seeds, strict=True))
            right = sum(int(a @ b) for a, b in zip(vectors, swept, strict=True))
            if left != right:
                yield f"the theorem on {theorem.name} fails at integer matrices"
                break


def _drawn(shape: Sequence[int], rng: Random) -> np.ndarray:
    return np.array([rng.randint(-9, 9) for _ in range(prod(shape))], object).reshape(shape)
