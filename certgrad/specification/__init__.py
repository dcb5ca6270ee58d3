"""What JAX's primitives mean: one plain rule each. It imports nothing of the calculus, and the calculus nothing of it."""
