"""`python -m tests.doors`: asks every door about every example and writes reports/doors.md."""

from __future__ import annotations

import sys

from tests.doors.doors import DOORS, ROOT, verdict_through
from tests.doors.examples import Example
from tests.doors.expected import CELLS, TABLE, may_say

PAGE = ROOT / "reports" / "doors.md"
NOT_RUN = "not run"
HEAD = """# Every door says the same

Made by `python -m tests.doors`. Each example is a rule in a function of arrays, right or wrong in one of the ways in
which a door of certgrad was once mistaken: the first of each kind is what was reported, the others are variants of it.
`tests/doors` has the examples as code, what each door may say of each (`expected.py`), and a test for each cell. What
is set **bold** is not what the door may say.

`run` and `run --graphs` call the function at arrays with axes of length 3, and what they say is of these. `@op` has the
rule's VJP beside JAX's JVP of the function without the rule; `equal` compares the gradient by the rule with the one
without it. `compile_graph` runs what is certified. `verify` and `coq` are given the certificate of the right rule, and
the code of this one: what an edit is after an audit. `coq` says whether a theorem is stated, not whether Coq accepts
it. A claim about an edit that a dtype decides is right where it names dtypes in which the rule is right. `error` is an
error in words, where JAX refuses to trace the example.
"""


def main() -> int:
    said = {}
    for example, door in CELLS:
        said[example, door] = verdict_through(door, example)
    PAGE.write_text(page(said), "utf-8")
    return int(any(word not in may_say(*cell) for cell, word in said.items()))


def page(said: dict[tuple[Example, str], str]) -> str:
    """The page of what was said of each cell; a cell may be left out."""
    parts = [HEAD]
    for kind in TABLE:
        of_kind = list(dict.fromkeys(e for e, _ in CELLS if e.kind == kind))
        about = (of_kind[0].module.__doc__ or "").strip()
        parts.append(f"## {kind}\n\n{about}\n")
        rows = [["example", "is", *DOORS], ["---"] * (2 + len(DOORS))]
        for example in of_kind:
            words = [_marked(example, door, said.get((example, door), NOT_RUN)) for door in DOORS]
            rows.append([example.variant.name, "wrong" if example.wrong else "right", *words])
        parts.append("\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n")
    return "\n".join(parts)


def _marked(example: Example, door: str, word: str) -> str:
    return word if word == NOT_RUN or word in may_say(example, door) else f"**{word}**"


if __name__ == "__main__":
    sys.exit(main())
