"""What each door may say of each example: a table of kinds and twins, by groups of doors, and the cells apart from it.

A letter stands for what a door says: `P` that it is proved, `R` that it is wrong, `U` neither, `E` an error in words,
as JAX has it; `H` that it is proved where the listed hypotheses hold, which exclude what is wrong; `-` that the door
does not take the example.
"""

from __future__ import annotations

from importlib import import_module

from certgrad.obligations.certificate import PROOFS
from tests.doors.doors import DOORS
from tests.doors.examples import Example

OF_RULES = ("check", "audit", "plugin", "run")
OF_GRAPHS = ("run --graphs", "@op", "@composed", "certify", "certify_step", "equal", "compile_graph", "graph")

# kind: (right: of rules, of graphs, verify, coq), (the same of the wrong twin)
TABLE = {
    "zeros": (("P", "P", "P", "PU"), ("R", "R", "R", "U")),
    "jumps": (("P", "P", "P", "P"), ("UR", "UR", "RU", "U")),
    "edits": (("P", "P", "P", "P"), ("UR", "UR", "RU", "U")),
    "sizes": (("PU", "PU", "PU", "PU"), ("R", "R", "R", "U")),
    "products": (("P", "P", "P", "PU"), ("R", "UR", "R", "U")),
    "draws": (("PU", "PU", "PU", "PU"), ("R", "R", "RU", "U")),
    "cancelled": (("P", "P", "P", "P"), ("R", "U", "R", "U")),
    "refused": (("P", "P", "P", "P"), ("R", "UR", "R", "U")),
    "lookups": (("P", "P", "P", "PU"), ("R", "UR", "R", "U")),
    "large": (("P", "PU", "P", "P"), ("R", "UR", "R", "U")),
    "excluded": (("P", "P", "P", "PU"), ("R", "UR", "R", "U")),
}

APART = {
    # JAX refuses the function when the example is called, or is made: no door has anything to look at.
    ("refused", "wrong", "run --graphs"): "-",
    ("refused", "wrong", "@op"): "E",
    ("refused", "wrong", "@composed"): "E",
    # What is wrong at the node is no part of the function's derivative, which these compare.
    ("cancelled", "wrong", "@op"): "PU",
    ("cancelled", "wrong", "equal"): "PU",
    # The claim is about the arrays that were given, of length 3, where the rule is right.
    ("edits", "wrong", "run --graphs"): "PUR",
    # Two functions are equal where the listed hypotheses hold: at x = 0 one of them is undefined.
    ("excluded", "wrong", "equal"): "HUR",
    # A size at which the rule is another one is excluded by a listed hypothesis.
    ("edits", "wrong", "@composed"): "HUR",
}
"""What a door says of all variants of a kind."""

OF_A_DTYPE = "in_a_dtype"
"""The edit that is right in float32 and float64: a claim that names these, or the dtype of the trace, is right."""

WORDS = {
    "P": PROOFS,
    "H": ("proved under hypotheses",),
    "U": ("unproved",),
    "R": ("refuted",),
    "E": ("error",),
    "-": ("nothing recorded",),
}
OF_ITS_OWN = {
    "plugin": {"P": ("passed",), "U": ("skipped", "failed"), "R": ("failed",)},
    "compile_graph": {"P": ("runs",), "U": ("not certified",), "R": ("not certified",)},
    "verify": {"P": ("verified",), "U": ("not a proof", "not checked"), "R": ("failed",)},
    "coq": {"P": ("stated",), "U": ("not stated",)},
}

CELLS = [
    (Example(module, variant, wrong), door)
    for module in (import_module(f"tests.doors.{kind}") for kind in TABLE)
    for variant in module.VARIANTS
    for wrong in (False, True)
    for door in DOORS
]


def may_say(example: Example, door: str) -> frozenset[str]:
    """What a door may say of an example."""
    of_rules, of_graphs, verify, coq = TABLE[example.kind][example.wrong]
    twin = "wrong" if example.wrong else "right"
    letters = of_rules if door in OF_RULES else {"verify": verify, "coq": coq}.get(door, of_graphs)
    letters = APART.get((example.kind, twin, door), letters)
    if example.variant.rule == OF_A_DTYPE and door not in ("verify", "coq"):
        letters = "PUR"
    words = WORDS | OF_ITS_OWN.get(door, {})
    return frozenset(word for letter in letters for word in words[letter])
