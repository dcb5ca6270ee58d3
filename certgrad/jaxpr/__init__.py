"""Access to JAX's internals, apart from any calculus: programs, what equations run, keys, solvers."""
