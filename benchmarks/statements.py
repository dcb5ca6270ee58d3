"""Which statement each text of a hypothesis stands for: kept beside the texts, so that a test can compare them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from certgrad.language.coding import encode
from certgrad.language.tree import OffBoundaries, Statement, Words


def digests(hypotheses: Iterable[tuple[str, Statement]]) -> dict[str, str]:
    """A digest of the tree that each text was printed from.

    A text with two trees raises an AssertionError. What is said in words is of the program beside it, and left out.
    """
    found: dict[str, str] = {}
    for text, tree in hypotheses:
        if not isinstance(tree, Words | OffBoundaries):
            digest = hashlib.sha256(encode(tree).encode()).hexdigest()[:16]
            assert found.setdefault(text, digest) == digest, f"two statements read {text!r}"
    return found
