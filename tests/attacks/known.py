"""Attacks that come out wrongly today, and what comes out. Empty is the aim: who mends one takes its entry away, or
says in `excluded_by` which hypothesis, as it is printed then, is false where the rule is wrong."""

KNOWN: dict[tuple[str, str], str] = {}
