"""Shapes, ranks, dtypes and values of arguments of which nobody says anything."""
