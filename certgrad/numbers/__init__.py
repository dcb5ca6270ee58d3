"""Rigorous enclosures that both the balls and exact evaluation take: roots of equations, factors of matrices."""
