"""The induction over a graph's nodes: one step a node, each the instance of a lemma."""
