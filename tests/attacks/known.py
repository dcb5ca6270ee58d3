"""Attacks that come out wrongly today, and what comes out. Empty is the aim: who mends one takes its entry away, or
says in `excluded_by` which hypothesis, as it is printed then, is false where the rule is wrong."""

KNOWN: dict[tuple[str, str], str] = {
    ("a_prime_in_bwd", "check"): "proved",
    ("late_a_context_variable_in_bwd", "check"): "proved",
    ("late_a_file_in_bwd", "check"): "proved",
    ("late_lru_cache_in_bwd", "check"): "proved",
    ("traced_by_frame_walk_in_bwd", "check"): "proved",
    ("traced_by_own_caller_in_bwd", "check"): "proved",
    ("traced_by_own_caller_in_fwd", "check"): "proved",
}
