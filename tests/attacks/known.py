"""Attacks that come out wrongly today, and what comes out. Empty is the aim: who mends one takes its entry away, or
says in `excluded_by` which hypothesis, as it is printed then, is false where the rule is wrong."""

EQUAL_STATICS = "proved: a helper is traced anew, where JAX has the program of an equal static argument"

KNOWN: dict[tuple[str, str], str] = {
    (f"static_values_{name}", door): EQUAL_STATICS
    for name in ("static_jit_by_equality", "checkpointed")
    for door in ("check", "equal")
}
