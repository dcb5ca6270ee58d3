"""Terms: atoms, polynomials, index expressions, powers, sums. The lowest floor: it knows no hypothesis and no JAX."""
