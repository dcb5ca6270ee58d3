"""Shapes, ranks, dtypes and values of undeclared arguments."""
