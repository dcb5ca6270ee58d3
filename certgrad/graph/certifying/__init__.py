"""The certificate of a graph: the induction, and the checks before and after it."""
