"""A graph's values and hypotheses at concrete points."""
