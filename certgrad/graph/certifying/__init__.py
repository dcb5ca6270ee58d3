"""The certificate of a graph: the induction, and what is looked at before and after it."""
