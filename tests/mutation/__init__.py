"""Mutation: each traced rule is broken in small ways, and no broken one may be proved.

The rules are those of the library, and those of `index_rules`, which slice, pad, scan, convolve, look up and reshape.
`_interpreter` runs a rule's traced program with one equation changed, `_changes` and `_index_changes` list the changes,
`_points` finds where a mutant breaks a law (with the ball evaluator, independent of the calculus), `_verdicts` asks
the kernel. `python -m tests.mutation` runs a large sample and prints the shares.

Rules in code, of the pairs, the survey, the libraries and the examples, are broken by `python -m tests.mutation.rules`:
`_surgery` changes one equation of a traced program wherever it stands, `_rules_mutated` makes of it what the audit sees
and what is evaluated, `_asked` decides whether it breaks a law and asks for the verdict, `_sources` lists the rules,
`_runs` and `_lines` write a line for each mutant. `python -m tests.mutation.page` counts them.
"""
