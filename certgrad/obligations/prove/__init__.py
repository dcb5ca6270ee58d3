"""One obligation at one family of shapes: the problem, its proof, and a point that satisfies its hypotheses."""
