"""Mutation: each traced rule is broken in small ways, and no broken one may be proved.

The rules are those of the library, and those of `index_rules`, which slice, pad, scan, convolve, look up and reshape.
`_interpreter` runs a rule's traced program with one equation changed, `_changes` and `_index_changes` list the changes,
`_points` finds where a mutant breaks a law (with the ball evaluator, independent of the calculus), `_verdicts` asks
the kernel. `python -m tests.mutation` runs a large sample and prints the shares.
"""
