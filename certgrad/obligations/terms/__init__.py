"""Terms: atoms, polynomials, index expressions, powers, sums, rewriting. The lowest floor: it knows no hypothesis and no JAX."""
