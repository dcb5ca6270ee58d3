"""Access to JAX's internals that needs no calculus: programs, the programs that equations run, keys, solvers."""
