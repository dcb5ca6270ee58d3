"""A graph, its steps and its certificate in words."""
