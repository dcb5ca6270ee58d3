"""What JAX's primitives mean: one plain rule each, which no part of the calculus had a hand in."""
