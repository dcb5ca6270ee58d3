"""Mutation: each traced rule of the library is broken in small ways, and no broken one may be proved.

`_interpreter` runs a rule's traced program with one equation changed, `_changes` lists the changes, `_points` finds
where a mutant breaks a law (with the ball evaluator, independent of the calculus), `_verdicts` asks the kernel.
`python -m tests.mutation` runs a large sample and prints the shares.
"""
