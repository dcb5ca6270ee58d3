"""Attacks that come out wrongly today, and what comes out. Empty is the aim: who mends one takes its entry away, or
says in `excluded_by` which hypothesis, as it is printed then, is false where the rule is wrong."""

EQUAL_STATICS = (
    "proved: the two pullbacks return the same as they are called; a rule that is under jit inside of one of them is "
    "served with the program of a static argument that is equal to its own"
)

KNOWN: dict[tuple[str, str], str] = {
    (f"static_values_{name}", "equal"): EQUAL_STATICS for name in ("static_jit_by_equality", "checkpointed")
}
