"""Deciding whether a term is zero: case splits, sums over index sets, pairing, induction."""
